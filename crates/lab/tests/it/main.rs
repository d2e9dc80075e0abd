//! The laboratory: measuring, fitting, judging, transfers, rules.

mod a_profile_is_measured_fitted_and_used;
mod corpus;
#[path = "../../../matrix/tests/it/damage.rs"]
mod damage;
mod foreign_times;
mod golden_transfer;
mod linear;
#[path = "../../../model/tests/it/made_up.rs"]
mod made_up;
mod models_are_learned_and_advise;
mod models_are_read_when_asked_for;
mod mutated_profiles;
mod neighbours;
mod profiles_for_a_transfer;
mod rules_keep_their_promise;
#[path = "../../../sparsight/tests/it/support.rs"]
mod support;
mod transfer_laws;
mod transfers_are_evaluated;
