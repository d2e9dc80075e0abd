//! The device that is known and the one that is asked about, and what no time that is carried over may fall below.
//!
//! ```text
//! launch      of an empty kernel on the device asked about
//! copies      (compulsory bytes - L2) / rate of copies there: what lies in no cache comes no faster
//! smaller     the time on the known device, if the other is better in no respect
//! ```
//! What the L2 can hold has no such floor: it may come faster than by copies, by an amount that was not measured.

use serde::Serialize;
use sparsight_kernels::{Candidate, DeviceFacts, compulsory_bytes};
use sparsight_matrix::{Features, Seconds};

/// The device that is known and the one that is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Between<'a> {
    /// Known.
    pub from: &'a DeviceFacts,
    /// Asked about.
    pub to: &'a DeviceFacts,
}

/// Lower bound to which a carried-over time was raised, since no product takes less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Floor {
    /// A launch of an empty kernel.
    Launch,
    /// Bytes beyond the L2, at the rate of copies.
    Copies,
    /// The time on the known device, as the other is better in no respect.
    Smaller,
}

/// A floor that exceeds a time by less is the same number, computed in another order.
const ROUNDING: f64 = 1e-9;

impl Between<'_> {
    /// `time` on the device asked about, of what takes `reference` on the known one, raised to the highest floor; and which that
    /// was, if it was raised.
    pub fn floored(
        &self,
        candidate: &Candidate,
        features: &Features,
        reference: Seconds,
        time: Seconds,
    ) -> (Seconds, Option<Floor>) {
        let smaller = if self.is_to_smaller() { reference.0 } else { 0.0 };
        let floors = [
            (Floor::Launch, self.to.launch_s.0),
            (Floor::Copies, self.by_copies(candidate, features)),
            (Floor::Smaller, smaller),
        ];
        let mut raised = (time, None);
        for (floor, least) in floors {
            if least > raised.0.0 * (1.0 + ROUNDING) {
                raised = (Seconds(least), Some(floor));
            }
        }
        raised
    }

    /// Returns whether the device asked about is better in no respect. What was not measured is not known to be worse.
    pub fn is_to_smaller(&self) -> bool {
        let Self { from, to } = self;
        let has_rates = |facts: &DeviceFacts| facts.copy_bytes_per_s > 0.0 && facts.launch_s.0 > 0.0;
        has_rates(from)
            && has_rates(to)
            && to.multiprocessors <= from.multiprocessors
            && to.threads_per_multiprocessor <= from.threads_per_multiprocessor
            && to.l2_bytes <= from.l2_bytes
            && to.copy_bytes_per_s <= from.copy_bytes_per_s
            && to.launch_s >= from.launch_s
    }

    /// Bytes that the L2 of the target cannot hold, at its rate of copies.
    fn by_copies(&self, candidate: &Candidate, features: &Features) -> f64 {
        let beyond = compulsory_bytes(candidate, features).0.saturating_sub(self.to.l2_bytes.0) as f64;
        if self.to.copy_bytes_per_s > 0.0 { beyond / self.to.copy_bytes_per_s } else { 0.0 }
    }
}
