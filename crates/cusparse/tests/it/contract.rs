//! What a program may change between two products, and what not.

use crate::stand_in::{Products, Run, Said};

fn uses_tables(products: Products) -> bool {
    products.tabled >= 200 && products.plain == 0 && products.cusparse == 0
}

fn check(said: &Said, name: &str, tables: bool) {
    for products in said.products(name) {
        let is_right = if tables { uses_tables(products) } else { products.tabled == 0 };
        assert!(is_right, "{name}: {products:?} in {said:?}");
    }
}

#[test]
fn another_pattern_in_the_same_arrays_gives_its_own_y() {
    let run = Run::of("another-pattern products=4500").with("STAND_IN_QUEUE", "0");
    let Some(said) = run.said() else { return };
    let all = said.products("steady");
    assert_eq!(all.len(), 3, "{said:?}");
    // From time to time a pattern begins from the start, and cuSPARSE is timed again.
    assert!(all.iter().all(|products| products.plain > 4400 && products.cusparse >= 4), "{said:?}");
}

#[test]
fn tables_are_used_with_the_buffer_of_the_preprocess_step_alone() {
    let Some(said) = Run::of("another-buffer").with_fast_tables().said() else { return };
    check(&said, "own", true);
    check(&said, "other", false);
    check(&said, "before", false);
    check(&said, "active", true);
}

#[test]
fn tables_end_with_their_descriptor() {
    let Some(said) = Run::of("another-descriptor").with_fast_tables().said() else { return };
    assert_eq!(said.number("same address"), 1);
    check(&said, "first", true);
    check(&said, "second", false);
    check(&said, "third", true);
}

#[test]
fn a_second_preprocess_step_makes_tables_of_the_new_pattern() {
    let Some(said) = Run::of("preprocessed-again").with_fast_tables().said() else { return };
    check(&said, "steady", true);
}

#[test]
fn nothing_is_read_of_a_matrix_after_its_descriptor_is_destroyed() {
    let Some(said) = Run::of("destroyed-early").with("STAND_IN_READ_MS", "3").said() else { return };
    for what in ["freed while it was read", "copies of freed memory", "copies of what is not there"] {
        assert_eq!(said.number(what), 0, "{what}: {said:?}");
    }
    assert!(said.number("reads") > 0, "{said:?}");
}

#[test]
fn products_captured_into_a_graph_follow_the_values() {
    for (arguments, is_ours) in [("captured", true), ("captured f32", true), ("captured preprocess", false)] {
        let Some(said) = Run::of(arguments).with_fast_tables().said() else { return };
        let replayed = said.products("replayed");
        assert_eq!(said.told.matches("nodes 20\n").count(), 2, "{said:?}");
        let first = Products { plain: 0, tabled: 0, cusparse: 100 };
        let second = if is_ours { Products { plain: 100, cusparse: 0, ..first } } else { first };
        assert_eq!(replayed, [first, second], "{said:?}");
        assert_eq!(said.told.matches(" counts 0\n").count(), 2, "{said:?}");
        assert_eq!(said.number("captured events"), 0);
    }
}

#[test]
fn no_table_is_made_for_a_preprocess_step_that_was_captured() {
    let Some(said) = Run::of("preprocess-captured").with_fast_tables().said() else { return };
    check(&said, "steady", false);
    assert!(said.products("steady").iter().all(|products| products.plain == 200), "{said:?}");
}

#[test]
fn tables_are_used_by_a_plan_until_it_ends_or_its_matrix_gets_other_arrays() {
    let Some(said) = Run::of("plans").with_fast_tables().said() else { return };
    check(&said, "first", true);
    assert_eq!(said.number("same address"), 1);
    check(&said, "second", true);
    let others = Products { plain: 0, tabled: 0, cusparse: 200 };
    assert_eq!(said.only("other values"), others, "{said:?}");
    assert_eq!(said.number("ours with another y"), 0);
    assert_eq!(said.number("ours with an epilogue"), 0);
}

#[test]
fn planned_products_of_each_type_are_ours() {
    for arguments in ["many-products plan f32", "many-products plan wide", "many-products plan one"] {
        let Some(said) = Run::of(arguments).with_fast_tables().said() else { return };
        // Tables are made of row offsets from 0 on.
        let products = said.only("steady");
        let is_right = if arguments.ends_with("one") { products.plain >= 200 } else { uses_tables(products) };
        assert!(is_right, "{arguments}: {said:?}");
    }
}

#[test]
fn nothing_that_a_reset_of_the_device_took_is_used() {
    for arguments in ["reset", "reset preprocess", "reset plan", "reset plan one"] {
        let Some(said) = Run::of(arguments).with_fast_tables().with("STAND_IN_QUEUE", "0").said() else {
            return;
        };
        assert_eq!(said.number("uses of what a reset took"), 0, "{said:?}");
        assert_eq!(said.number("freed twice"), 0, "{said:?}");
        assert_eq!(said.told.matches("same address 1\n").count(), 6, "{said:?}");
        // Kernels are found again on the device as it is after the reset.
        let steady = said.products("steady");
        let ours = |products: &Products| products.plain + products.tabled >= 200 && products.cusparse == 0;
        assert!(steady.len() == 2 && steady.iter().all(ours), "{said:?}");
    }
}
