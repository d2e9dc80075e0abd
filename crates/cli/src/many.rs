//! Commands that look at several matrices, one after the other.

use crate::context::{Context, with_scalar};
use crate::csv::Layout;
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::printer::Printer;
use sparsight::answer::Answer;
use sparsight::matrix::Features;

/// Result of a command for several matrices.
pub(crate) struct Looked {
    /// Number of matrices that could not be read; each was named.
    unreadable: usize,
    /// Why it ended before the last matrix, if it did.
    ended: Result<(), Failure>,
}

impl Looked {
    /// Exit code, when the answer is out. `is_good`: false if the answer is no; `done`: what was done with the matrices.
    pub(crate) fn exit(self, is_good: bool, done: &str) -> Result<Exit, Failure> {
        self.ended.map_err(|failure| failure.keeping(|| format!("what was {done} is shown above")))?;
        Ok(if is_good && self.unreadable == 0 { Exit::Done } else { Exit::No })
    }

    /// An error if it ended early: of what has nothing to show.
    pub(crate) fn unless_ended(self) -> Result<Self, Failure> {
        match self.ended {
            Err(failure) => Err(failure),
            Ok(()) => Ok(self),
        }
    }

    /// An error if it ended for another reason than an interruption.
    pub(crate) fn unless_failed(self) -> Result<Self, Failure> {
        match self.ended {
            Err(failure) if !matches!(failure, Failure::Interrupted(_)) => Err(failure),
            _ => Ok(self),
        }
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
    let structure = |source: &MatrixSource| -> Result<Features, Failure> {
        with_scalar!(context.dtype(), T => Ok(Features::of(&source.load_places::<T>(context)?)))
    };
    if let [source] = sources {
        each(source, structure(source)?)?;
        return Ok(Looked { unreadable: 0, ended: Ok(()) });
    }
    let each = |at: usize, features| each(&sources[at], features);
    one_by_one(sources, "matrices", context, structure, each).unless_failed()
}

/// Gives `each` the place of each of `sources` and what `load` makes of it, until one fails or the user interrupts. A matrix that cannot be
/// read is named and passed over, unless it is the only one.
pub(crate) fn one_by_one<M>(
    sources: &[MatrixSource],
    what: &str,
    context: &Context,
    mut load: impl FnMut(&MatrixSource) -> Result<M, Failure>,
    mut each: impl FnMut(usize, M) -> Result<(), Failure>,
) -> Looked {
    context.interrupt.listen();
    let bar = context.printer.progress(sources.len() as u64, what);
    let mut looked = Looked { unreadable: 0, ended: Ok(()) };
    for (at, source) in sources.iter().enumerate() {
        bar.at(at as u64, source.title());
        looked.ended = context.interrupt.check().and_then(|()| match load(source) {
            Err(Failure::Reported { message, .. }) if sources.len() > 1 => {
                context.printer.skipped(&message);
                looked.unreadable += 1;
                Ok(())
            }
            loaded => each(at, loaded?),
        });
        if looked.ended.is_err() {
            break;
        }
    }
    looked
}

/// Prints the answers about the matrices of `sources`: as comma-separated values if `csv` names their columns, the only one by itself, or
/// several as `many`.
pub(crate) fn show<A: Answer, M: Answer>(
    answers: Vec<A>,
    sources: &[MatrixSource],
    csv: Option<&'static Layout>,
    many: impl FnOnce(Vec<A>) -> M,
    (out, text): (&Printer, impl FnOnce(&[A]) -> Result<(), Failure>),
) -> Result<(), Failure> {
    match (csv, &answers[..], sources) {
        (Some(layout), ..) => out.csv(layout, &answers),
        (None, [one], [_]) => out.answer(one, || text(&answers)).map(drop),
        _ if out.is_json() => out.answer(&many(answers), || Ok(())).map(drop),
        _ => text(&answers),
    }
}
