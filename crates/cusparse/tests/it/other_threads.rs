//! Threads and processes.

use crate::stand_in::Run;
use std::time::Duration;

/// Products in one run; with two runs a million.
const MANY: &str = "products=500000";

#[test]
fn four_threads_get_right_products_and_the_memory_does_not_grow() {
    for scenario in ["four-matrices", "one-matrix"] {
        let Some(said) = Run::of(&format!("{scenario} {MANY}")).said() else { return };
        assert!(said.number("grown by kB") < 2048, "{said:?}");
        assert!(said.number("ours") > 400_000, "{said:?}");
        assert!(said.number("events") < 200, "{said:?}");
    }
}

#[test]
fn four_threads_with_tables_get_right_products() {
    let run = Run::of("four-matrices preprocess products=20000").with_fast_tables();
    let Some(said) = run.said() else { return };
    assert!(said.number("grown by kB") < 2048, "{said:?}");
    assert!(said.number("tabled") > 15_000, "{said:?}");
    assert!(said.number("events") < 200, "{said:?}");
}

#[test]
fn captures_of_other_threads_stay_whole() {
    let Some(said) = Run::of("beside-captures").with_fast_tables().said() else { return };
    assert_eq!(said.number("broken captures"), 0, "{said:?}");
    assert_eq!((said.number("whole captures"), said.number("ours")), (1, 1), "{said:?}");
}

#[test]
fn kernels_that_must_not_run_twice_at_a_time_do_not_run_in_streams_of_threads() {
    let Some(said) = Run::of_theirs("per-thread-streams").with_fast_tables().said() else { return };
    assert_eq!(said.number("tabled in threads"), 0, "{said:?}");
}

#[test]
fn children_pass_through_and_their_parent_goes_on() {
    let run = Run::of("forked").with("SPARSIGHT_CUSPARSE", "report").with_fast_tables();
    let Some(said) = run.said() else { return };
    assert_eq!(said.number("right children"), 30, "{said:?}");
    let parent = said.only("parent");
    assert!(parent.cusparse == 0 && parent.tabled >= 200, "{said:?}");
    assert_eq!(said.errors.matches("pattern(s)").count(), 1, "one report: {said:?}");
}

#[test]
fn a_program_ends_while_kernels_are_compiled() {
    let Some(said) = Run::of("ended").with("STAND_IN_COMPILE_MS", "1500").said() else { return };
    assert_eq!(said.number("ours"), 0, "{said:?}");
    assert!(said.time < Duration::from_secs(10), "{said:?}");
}
