//! The context of a command: common flags, printer, interruption, and the command as it was typed.

use crate::args::Global;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::workers;
use sparsight::matrix::Dtype;
use sparsight::matrix::io::PatternValues;
use std::ffi::OsString;
use std::sync::OnceLock;

/// `$run` with `$scalar` as the type of vectors of a value type.
macro_rules! with_scalar {
    ($dtype:expr, $scalar:ident => $run:expr) => {
        match $dtype {
            sparsight::matrix::Dtype::F32 => {
                type $scalar = f32;
                $run
            }
            sparsight::matrix::Dtype::F64 | sparsight::matrix::Dtype::Mixed => {
                type $scalar = f64;
                $run
            }
        }
    };
}
pub(crate) use with_scalar;

/// Common flags and what is set up by them.
pub(crate) struct Context {
    pub(crate) printer: Printer,
    pub(crate) interrupt: Interrupt,
    pub(crate) seed: u64,
    /// Values for files that store none.
    pub(crate) pattern: PatternValues,
    dtype: Option<Dtype>,
    top: Option<usize>,
}

/// Rows of a ranking that fit on a screen beside what surrounds them. Chosen.
const TOP: usize = 10;

impl Context {
    /// Starts the worker threads. `random_values`: the values of files that store none are drawn by the seed.
    pub(crate) fn new(printer: Printer, global: &Global, random_values: bool) -> Result<Self, Failure> {
        workers::start(global.jobs, &printer)?;
        Ok(Self {
            printer,
            interrupt: Interrupt::new(),
            seed: global.seed,
            pattern: if random_values { PatternValues::Seeded(global.seed) } else { PatternValues::Ones },
            dtype: global.dtype,
            top: global.top.map(usize::from),
        })
    }

    /// The one value type of this command.
    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype.unwrap_or(Dtype::F64)
    }

    /// The value type given with `--dtype`, if any.
    pub(crate) fn named_dtype(&self) -> Option<Dtype> {
        self.dtype
    }

    /// The value types of a command that does both unless told otherwise.
    pub(crate) fn dtypes(&self) -> Vec<Dtype> {
        self.dtype.map_or_else(|| Dtype::ALL.to_vec(), |dtype| vec![dtype])
    }

    /// Rows of a table.
    pub(crate) fn top(&self) -> usize {
        self.top_or(TOP)
    }

    /// Rows to show: `--top`, else `default`.
    pub(crate) fn top_or(&self, default: usize) -> usize {
        self.top.unwrap_or(default)
    }

    /// Entries of a list in JSON: all, unless `--top` is given.
    pub(crate) fn top_in_json(&self) -> usize {
        self.top.unwrap_or(usize::MAX)
    }
}

/// Name and arguments of the program.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps name and arguments of the program for [`command_as_typed`], and returns them.
pub(crate) fn typed(words: Vec<OsString>) -> &'static [OsString] {
    WORDS.get_or_init(|| words)
}

/// The command that was given, quoted for a shell, so that it can be given again.
pub(crate) fn command_as_typed() -> String {
    let words = WORDS.get().into_iter().flatten().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("sparsight".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,=+%@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_blanks_or_quotes_is_quoted_for_a_shell() {
        assert_eq!(quoted("gallery:stencil2d,n=1000"), "gallery:stencil2d,n=1000");
        assert_eq!(["a b", "", "it's", "$(x)"].map(quoted), ["'a b'", "''", r"'it'\''s'", "'$(x)'"]);
    }
}
