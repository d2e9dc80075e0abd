//! A colour for each kernel of a plan.

use sparsight::answer::{ReportedPart, ReportedPlan};

/// Classes of the style, in the order in which kernels get them; what comes behind these shares the last.
const CLASSES: [&str; 6] = ["k1", "k2", "k3", "k4", "k5", "plain"];

/// Kernels, each with its class.
#[derive(Debug)]
pub(super) struct Colours<'a>(Vec<&'a str>);

impl<'a> Colours<'a> {
    /// The kernel of the whole matrix first, then those of the parts by how much time they take.
    pub(super) fn of(plan: &'a ReportedPlan) -> Self {
        let mut parts: Vec<_> = super::cut(plan).flat_map(|strategy| &strategy.parts).collect();
        parts.sort_by(|a, b| b.time.predicted.0.total_cmp(&a.time.predicted.0));
        let mut kernels: Vec<&str> = Vec::new();
        for part in plan.single.iter().chain(parts) {
            if !kernels.contains(&kernel(part)) {
                kernels.push(kernel(part));
            }
        }
        Self(kernels)
    }

    pub(super) fn class(&self, part: &ReportedPart) -> &'static str {
        let place = self.0.iter().position(|known| *known == kernel(part)).unwrap_or(CLASSES.len());
        CLASSES[place.min(CLASSES.len() - 1)]
    }

    /// Each with its class, in this order; those that share the last one are left out but for the first.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a str, &'static str)> {
        self.0.iter().copied().zip(CLASSES)
    }
}

/// What has a colour: the kernel with its knobs, `csr-vector/t8` of the id `csr-vector/t8/b128/f64`.
pub(super) fn kernel(part: &ReportedPart) -> &str {
    part.id.rsplitn(3, '/').last().unwrap_or(&part.id)
}
