//! Models by themselves: laws, golden numbers, what they refuse.

mod boosting;
mod comparison;
mod fitted_lines;
mod golden_strips;
mod h200_table;
mod intervals;
mod laws;
mod made_up;
mod prepared_strip;
mod ranking;
mod safety;
