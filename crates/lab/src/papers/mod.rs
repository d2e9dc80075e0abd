//! The models of the papers that no answer of the library needs.
//!
//! | paper | model | module |
//! |---|---|---|
//! | Guo and Wang 2013 | the time on one device from that on another | [`guo_wang_2013`] |
//! | Lehnert, Berrendorf, Ecker and Mannuss 2016 | `linear` and `neighbours` | [`linear`], [`neighbours`] |
//!
//! The strip models (Guo and Wang 2012; Guo, Wang and Chen 2014; Wang, Gu and Li 2017), the boosted trees of Lehnert et al. and
//! the partition of rows (Guo, Wang and Chen 2014) answer in the library and are there.

pub mod guo_wang_2013;
mod kernels;
pub mod linear;
pub mod neighbours;
mod table_2;

pub use kernels::TransferRule;
pub use linear::Linear;
pub use neighbours::Neighbours;

use sparsight::models::{LearnedKind, ModelName, add_models};

/// The name of [`Linear`].
pub const LINEAR: ModelName = ModelName::Added("linear");
/// The name of [`Neighbours`].
pub const NEIGHBOURS: ModelName = ModelName::Added("neighbours");

/// Adds `linear` and `neighbours` to the models of this process: they are fitted, read from profiles, and asked like the others.
/// A profile that is opened before does not know them.
pub fn add_papers_models() {
    add_models(|| vec![LearnedKind::of::<Linear>(LINEAR), LearnedKind::of::<Neighbours>(NEIGHBOURS)]);
}
