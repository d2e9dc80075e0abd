//! Who computes a product.

use crate::stand_in::{Products, Run};

const OURS: Products = Products { plain: 200, tabled: 0, cusparse: 0 };
const THEIRS: Products = Products { plain: 0, tabled: 0, cusparse: 200 };

#[test]
fn products_are_ours_after_many_calls() {
    for queue in ["0", "1"] {
        let Some(said) = Run::of("many-products").with("STAND_IN_QUEUE", queue).said() else { return };
        assert_eq!(said.only("steady"), OURS, "{said:?}");
        assert_eq!(said.errors, "");
    }
}

#[test]
fn cusparse_computes_what_it_computes_faster() {
    for cusparse_us in ["5", "10.2"] {
        let run = Run::of("many-products").with("STAND_IN_CUSPARSE_US", cusparse_us);
        let Some(said) = run.said() else { return };
        assert_eq!(said.only("steady"), THEIRS, "{cusparse_us}: {said:?}");
    }
}

#[test]
fn all_types_of_values_and_offsets_and_both_bases_are_ours() {
    for arguments in ["f32", "wide", "one", "f32 wide one", "fresh", "f32 fresh", "shifted"] {
        let Some(said) = Run::of(&format!("many-products {arguments}")).said() else { return };
        assert_eq!(said.only("steady"), OURS, "{arguments}: {said:?}");
    }
}

#[test]
fn kernels_with_tables_run_after_a_preprocess_step() {
    for (arguments, candidate) in [
        ("f32", "csr-binned/"),
        ("wide", "csr-binned/"),
        ("size=1000,30000,100000", "csr-balanced/"),
        ("size=1000,30000,100000 wide", "csr-balanced/"),
    ] {
        let run = Run::of(&format!("many-products preprocess products=20 {arguments}")).with_fast_tables();
        let Some(said) = run.with("SPARSIGHT_CUSPARSE", "report").said() else { return };
        assert_eq!(said.only("steady"), Products { plain: 0, tabled: 20, cusparse: 0 }, "{said:?}");
        assert!(said.errors.contains(candidate), "{candidate} in {said:?}");
    }
}

#[test]
fn kernels_with_tables_are_not_used_without_a_preprocess_step_or_for_base_one() {
    for arguments in ["many-products", "many-products preprocess one"] {
        let Some(said) = Run::of(arguments).with_fast_tables().said() else { return };
        assert_eq!(said.only("steady"), OURS, "{said:?}");
    }
}

#[test]
fn kernels_with_tables_do_not_read_arrays_that_are_not_aligned() {
    let Some(said) = Run::of("many-products preprocess shifted").with_fast_tables().said() else { return };
    assert_eq!(said.only("steady").tabled, 0, "{said:?}");
}

#[test]
fn a_kernel_that_cannot_be_launched_leaves_its_products_to_cusparse() {
    for kernel in ["csr_vector", "csr_scalar"] {
        let Some(said) = Run::of("many-products").with("STAND_IN_FAILS", kernel).said() else { return };
        let steady = said.only("steady");
        assert!(steady == OURS || steady == THEIRS, "{kernel}: {said:?}");
    }
    // From some product on.
    let run = Run::of("many-products").with("STAND_IN_FAILS", "csr_vector").with("STAND_IN_FAILS_FROM", "60");
    let Some(said) = run.said() else { return };
    let steady = said.only("steady");
    assert!(steady.cusparse > 100 && steady.plain + steady.cusparse == 200, "{said:?}");
    let run = Run::of("many-products preprocess").with_fast_tables().with("STAND_IN_FAILS", "csr_binned");
    let Some(said) = run.with("STAND_IN_FAILS_FROM", "60").said() else { return };
    let steady = said.only("steady");
    assert!(steady.tabled > 0 && steady.cusparse > 100, "{said:?}");
}

#[test]
fn a_kernel_that_is_not_compiled_is_left_out() {
    let Some(said) = Run::of("many-products").with("STAND_IN_NOT_COMPILED", "csr_vector").said() else {
        return;
    };
    let steady = said.only("steady");
    assert!(steady == OURS || steady == THEIRS, "{said:?}");
}

#[test]
fn a_panic_leaves_all_products_to_cusparse() {
    let Some(said) = Run::of_theirs("many-products").with_libraries(&["lacking", "nvrtc", "cusparse"]).said()
    else {
        return;
    };
    assert_eq!(said.only("steady"), THEIRS, "{said:?}");
    assert_eq!(said.errors.matches("panicked").count(), 1, "{said:?}");
}

#[test]
fn more_patterns_than_are_kept_do_not_end_the_choice() {
    let Some(said) = Run::of("many-patterns").said() else { return };
    assert_eq!(said.only("steady"), OURS, "{said:?}");
}
