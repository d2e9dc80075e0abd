//! What every command is given: the common flags, the printer, and whether to stop.

use crate::args::Global;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::workers;
use sparsight::matrix::Dtype;
use sparsight::matrix::io::PatternValues;

/// Common flags and what they set up.
pub(crate) struct Context {
    pub(crate) printer: Printer,
    pub(crate) interrupt: Interrupt,
    pub(crate) seed: u64,
    /// Values of files that store none.
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

    /// The value type that was named.
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

    /// Rows of which as many are shown when nothing is said.
    pub(crate) fn top_or(&self, default: usize) -> usize {
        self.top.unwrap_or(default)
    }

    /// Entries of a list in JSON, where nobody has to scroll.
    pub(crate) fn top_in_json(&self) -> usize {
        self.top.unwrap_or(usize::MAX)
    }
}
