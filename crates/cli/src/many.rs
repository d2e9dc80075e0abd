//! Commands that look at several matrices, one after the other, and at nothing but their structure.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use sparsight::matrix::{Dtype, Features};

/// Result of a command for several matrices.
pub(crate) struct Looked {
    /// Number of matrices that could not be read; each was named.
    unreadable: usize,
    /// Set if the user interrupted.
    ended: Result<(), Failure>,
}

impl Looked {
    /// Exit code, when the answer is out; `is_good`: false if the answer is no.
    pub(crate) fn exit(self, is_good: bool) -> Result<Exit, Failure> {
        self.ended.map_err(|failure| failure.keeping(|| "what was looked at is shown above".to_owned()))?;
        Ok(if is_good && self.unreadable == 0 { Exit::Done } else { Exit::No })
    }
}

/// Gives `each` the structure of each of `sources`. One that cannot be read is named and passed over, unless it is the only one.
///
/// # Errors
/// Of `each`, and why the only matrix cannot be read.
pub(crate) fn structures<'s>(
    sources: &'s [MatrixSource],
    context: &Context,
    mut each: impl FnMut(&'s MatrixSource, Features) -> Result<(), Failure>,
) -> Result<Looked, Failure> {
    if let [source] = sources {
        each(source, structure(source, context)?)?;
        return Ok(Looked { unreadable: 0, ended: Ok(()) });
    }
    context.interrupt.listen();
    let bar = context.printer.progress(sources.len() as u64, "matrices");
    let mut looked = Looked { unreadable: 0, ended: Ok(()) };
    for (at, source) in (0..).zip(sources) {
        bar.at(at, source.title());
        looked.ended = context.interrupt.check();
        if looked.ended.is_err() {
            break;
        }
        match structure(source, context) {
            Ok(features) => each(source, features)?,
            Err(Failure::Reported { message, .. }) => {
                context.printer.warning(format_args!("skipped: {message}"));
                looked.unreadable += 1;
            }
            Err(other) => return Err(other),
        }
    }
    Ok(looked)
}

fn structure(source: &MatrixSource, context: &Context) -> Result<Features, Failure> {
    Ok(match context.dtype() {
        Dtype::F32 => Features::of(&source.load_places::<f32>(context)?),
        Dtype::F64 | Dtype::Mixed => Features::of(&source.load_places::<f64>(context)?),
    })
}
