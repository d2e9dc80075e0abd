//! Ways to carry a time over from one device to another: the transfer, and what one would do without it.

use super::Carried;
use sparsight_kernels::DeviceFacts;
use sparsight_matrix::Seconds;
use std::fmt;

/// A way from the time on the reference to that on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferMethod {
    /// By a handful of benchmark matrices on both devices.
    Transfer,
    /// Part by part as the facts of both say, with weights from matrices that both have measured if there are such: [`Rescaling`](sparsight_model::Rescaling).
    Rescaling,
    /// `T_ref` as it is.
    Unchanged,
    /// `T_ref` times the ratio of the copy bandwidths: what memory alone would say.
    CopyBandwidth,
    /// `T_ref` times the ratio of the multiprocessors, on a CPU of the workers.
    Multiprocessors,
}

impl TransferMethod {
    /// All, in the order in which tables list them.
    pub const ALL: [Self; 5] =
        [Self::Transfer, Self::Rescaling, Self::Unchanged, Self::CopyBandwidth, Self::Multiprocessors];

    /// The time on `target`; `None` where a rate that it takes is not known.
    pub(super) fn time(
        self,
        carried: &Carried<'_>,
        reference: &DeviceFacts,
        target: &DeviceFacts,
    ) -> Option<Seconds> {
        let scale = match self {
            Self::Transfer => return Some(carried.transferred.time),
            Self::Rescaling => return Some(carried.rescaled),
            Self::Unchanged => 1.0,
            Self::CopyBandwidth => reference.copy_bytes_per_s / target.copy_bytes_per_s,
            Self::Multiprocessors => f64::from(reference.multiprocessors) / f64::from(target.multiprocessors),
        };
        (scale.is_finite() && scale > 0.0).then_some(Seconds(scale * carried.transferred.reference.0))
    }
}

impl fmt::Display for TransferMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Transfer => "transfer",
            Self::Rescaling => "rescaling",
            Self::Unchanged => "unchanged",
            Self::CopyBandwidth => "by-bandwidth",
            Self::Multiprocessors => "by-multiprocessors",
        })
    }
}
