//! The examples are run, not only compiled.

#[path = "../../examples/advise.rs"]
mod advise;
#[path = "../../examples/conjugate_gradients.rs"]
mod conjugate_gradients;
#[path = "../../examples/time_your_own_kernel.rs"]
mod time_your_own_kernel;

#[test]
fn the_advise_example_runs() {
    advise::main().unwrap();
}

#[test]
fn the_example_that_times_a_kernel_of_your_own_runs() {
    time_your_own_kernel::main().unwrap();
}

#[test]
fn the_example_that_solves_a_system_runs() {
    conjugate_gradients::main().unwrap();
}
