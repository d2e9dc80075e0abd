//! Warnings about a machine that was busy while it was measured on.

use crate::printer::Printer;
pub(crate) use sparsight::Noise;

/// A warning, if there is reason for one.
pub(crate) fn warn(noise: &Noise, printer: &Printer) {
    if let Some(reasons) = noise.reasons() {
        warn_of(&reasons, printer);
    }
}

/// A warning for these reasons.
pub(crate) fn warn_of(reasons: &str, printer: &Printer) {
    printer.warning(format_args!("the machine was not quiet, and times may be off: {reasons}"));
}
