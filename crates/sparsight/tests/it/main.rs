//! The library as its users call it: advice, plans, products, on this processor and on a GPU where there is one.

mod contests_agree_with_bench;
mod examples_run;
mod facts_beyond_the_l2;
#[path = "../../../device/tests/it/gpu.rs"]
mod gpu;
mod hopeless_candidates_are_run_once;
mod mixed_precision;
mod plans_are_carried_out;
mod plans_are_optimal;
mod slowed_clocks_are_told;
mod support;
mod tries_on_a_gpu;
