//! Ways to carry a time over from one device to another: the transfer, and what one would do without it.

use super::Carried;
use serde::Serialize;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::{Seconds, display_as_serialized};

/// A way from the time on the reference to that on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferMethod {
    /// Equation of Guo and Wang 2013, from a handful of benchmark matrices on both devices, without the lower bounds that the
    /// answer of `transfer` keeps.
    #[serde(rename = "guo-wang-2013")]
    GuoWang2013,
    /// Part by part as the facts of both say, with weights from matrices that both have measured if there are such: [`Rescaling`](sparsight_model::Rescaling).
    Rescaling,
    /// `T_ref` as it is.
    Unchanged,
    /// `T_ref` times one factor for everything, from matrices that both have measured if there are such.
    OneFactor,
    /// `T_ref` times the ratio of the copy bandwidths: what memory alone would say.
    #[serde(rename = "by-bandwidth")]
    CopyBandwidth,
    /// `T_ref` times the ratio of the multiprocessors, on a CPU of the workers.
    #[serde(rename = "by-multiprocessors")]
    Multiprocessors,
}

impl TransferMethod {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 6] = [
        Self::Rescaling,
        Self::GuoWang2013,
        Self::Unchanged,
        Self::OneFactor,
        Self::CopyBandwidth,
        Self::Multiprocessors,
    ];

    /// The time on `target`; `None` where a rate that it takes is not known.
    pub(super) fn time(
        self,
        carried: &Carried<'_>,
        reference: &DeviceFacts,
        target: &DeviceFacts,
    ) -> Option<Seconds> {
        let scale = match self {
            Self::GuoWang2013 => return Some(carried.transferred.time),
            Self::Rescaling => return Some(carried.rescaled),
            Self::Unchanged => 1.0,
            Self::OneFactor => carried.one_factor?,
            Self::CopyBandwidth => reference.copy_bytes_per_s / target.copy_bytes_per_s,
            Self::Multiprocessors => f64::from(reference.multiprocessors) / f64::from(target.multiprocessors),
        };
        (scale.is_finite() && scale > 0.0).then_some(Seconds(scale * carried.transferred.reference.0))
    }
}

display_as_serialized!(TransferMethod);
