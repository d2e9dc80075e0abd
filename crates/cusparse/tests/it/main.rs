//! The drop-in in front of a stand-in for cuSPARSE, on a stand-in for the driver, in programs that know nothing of any of them. Each run
//! compares every y with a loop, and fails if one is wrong.
//!
//! Without g++ the tests are skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

mod choices;
mod contract;
mod other_threads;
mod pass_through;
mod reports;
mod stand_in;
