//! A user's CUDA kernel: a file whose parameters state by their names what they are given.
//!
//! ```text
//! // sparsight: format csr              the format whose arrays it reads; csr unless it is said
//! // sparsight: blocks 128 256          threads a block, each of which is tried; 256 unless it is said
//! // sparsight: threads nrows * 32      how many threads the kernel below is launched with; nrows unless it is said
//! extern "C" __global__ void mine(unsigned int nrows, const OFFSET* row_ptr, const unsigned int* col_idx,
//!                                 const VALUE* values, const VALUE* x, VALUE* y)
//! ```
//! All kernels of a file, in their order, are one product y = A x. A parameter's name is that of an array or a number of the format
//! ([`Stored`](sparsight_matrix::Stored); a dot in it is an underscore in C), or of the product: `x`, `y`, `alpha`, `beta`. Types are held to those of the
//! arrays as far as they are C's own, before anything is run.
//!
//! Deliberately absent: dynamic shared memory, kernels that are templates, and launches in two dimensions.

mod text;

use crate::source::{c_type, offset, stored, vectors};
use crate::{KernelSource, LaunchArg, PlannedLaunch};
use sparsight_matrix::{Csr, Dtype, Format, HostArray, Limits, NamedNumbers, Scalar};
use text::{FileText, KernelText, ParameterText};
use thiserror::Error;

/// Fault of a user's kernel file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}")]
pub struct OwnKernelError {
    /// The file, as it was called.
    pub file: String,
    /// Line of the file, counted from 1.
    pub line: usize,
    /// Text of the problem.
    pub problem: String,
}

/// A product y = A x by the kernels of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnKernel {
    name: String,
    text: String,
    format: Format,
    dtype: Dtype,
    blocks: Vec<u32>,
    steps: Vec<OwnStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnStep {
    entry: String,
    line: usize,
    threads: Threads,
    args: Vec<OwnArg>,
}

/// Threads of a launch: `count * times / per`, rounded up.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Threads {
    count: Count,
    times: u64,
    per: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Count {
    /// A number of the matrix.
    Named(String),
    Fixed(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OwnArg {
    Of(LaunchArg),
    /// A number of the matrix, in a parameter of so many bytes.
    Number(&'static str, u64),
    /// Row offsets, in a parameter that points at numbers of so many bytes; `None`: at `OFFSET`s.
    Offsets(&'static str, Option<u64>),
}

/// Most parameters of a kernel.
const MOST_PARAMETERS: usize = 24;

/// Threads a block where the file says nothing.
const USUAL_BLOCK: u32 = 256;

impl OwnKernel {
    /// Reads a file called `name` (in messages, and as its id) for products in `dtype`, `f32` or `f64`.
    ///
    /// # Errors
    /// The first line at which something is missing, unknown, or of another type than the array that it names.
    pub fn read(name: &str, text: &str, dtype: Dtype) -> Result<Self, OwnKernelError> {
        let wrong = |(line, problem)| OwnKernelError { file: name.to_owned(), line, problem };
        let FileText { format, blocks, kernels } = FileText::of(text).map_err(wrong)?;
        let format = match format {
            None => Format::csr(),
            Some((line, id)) => id.parse().map_err(|error| wrong((line, format!("{error}"))))?,
        };
        let known = match dtype {
            Dtype::F32 => Known::of::<f32>(format),
            Dtype::F64 | Dtype::Mixed => Known::of::<f64>(format),
        };
        let steps =
            kernels.iter().map(|kernel| known.step(kernel)).collect::<Result<_, _>>().map_err(wrong)?;
        let blocks = if blocks.is_empty() { vec![USUAL_BLOCK] } else { blocks };
        Ok(Self { name: name.to_owned(), text: text.to_owned(), format, dtype, blocks, steps })
    }

    /// Name: that of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Format that it reads.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Precision that it is computed in.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Threads a block, each to be tried.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// `my.cu/b128/f64`.
    pub fn id(&self, block: u32) -> String {
        format!("{}/b{block}/{}", self.name, self.dtype)
    }

    /// Returns whether all of its kernels take `alpha` and `beta`; the others compute y = A x and nothing else.
    pub fn scales(&self) -> bool {
        let has = |step: &OwnStep, arg| step.args.contains(&OwnArg::Of(arg));
        self.steps.iter().all(|step| has(step, LaunchArg::Alpha) && has(step, LaunchArg::Beta))
    }

    /// Source for row offsets of that many bytes; positions in messages of the compiler are those of the file.
    pub fn source(&self, block: u32, offset_bytes: u64) -> KernelSource {
        let file = self.name.replace(['"', '\\', '\n'], "_");
        KernelSource {
            text: format!("#line 1 \"{file}\"\n{}\n", self.text),
            definitions: vec![
                stored(self.dtype),
                vectors(self.dtype),
                format!("BLOCK={block}"),
                offset(offset_bytes),
            ],
            entry_points: self.steps.iter().map(|step| step.entry.clone()).collect(),
        }
    }

    /// The launches of one product on a matrix whose numbers `number` knows.
    ///
    /// # Errors
    /// A type that is too narrow for this matrix, or more thread blocks than a launch has.
    ///
    /// # Panics
    /// If `number` does not know a number of [`OwnKernel::format`].
    pub fn launches(
        &self,
        block: u32,
        offset_bytes: u64,
        most_blocks: u32,
        number: impl Fn(&str) -> Option<u64>,
    ) -> Result<Vec<PlannedLaunch>, OwnKernelError> {
        let known = |name: &str| {
            number(name).expect("the format has the numbers that were looked up when it was read")
        };
        let mut launches = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let wrong = |problem| OwnKernelError { file: self.name.clone(), line: step.line, problem };
            let args: Result<Vec<LaunchArg>, String> = step
                .args
                .iter()
                .map(|arg| match *arg {
                    OwnArg::Of(arg) => Ok(arg),
                    OwnArg::Number(name, bytes) => match known(name) {
                        value if bytes == 4 && value > u64::from(u32::MAX) => {
                            Err(format!("{name} is {value} here, more than 32 bits hold"))
                        }
                        value => Ok(LaunchArg::Number(value)),
                    },
                    OwnArg::Offsets(name, Some(bytes)) if bytes != offset_bytes => Err(format!(
                        "{name} has entries of {offset_bytes} bytes for this matrix, not {bytes}: write OFFSET, which is always right"
                    )),
                    OwnArg::Offsets(name, _) => Ok(LaunchArg::Array("", name)),
                })
                .collect();
            let Threads { count, times, per } = &step.threads;
            let count = match count {
                Count::Named(name) => known(name),
                Count::Fixed(count) => *count,
            };
            let blocks = count.saturating_mul(*times).div_ceil(*per).div_ceil(block.into());
            if blocks > most_blocks.into() {
                return Err(wrong(format!(
                    "{blocks} thread blocks are more than a launch has ({most_blocks})"
                )));
            }
            if blocks > 0 {
                let args = args.map_err(wrong)?;
                let grid = blocks as u32;
                launches.push(PlannedLaunch {
                    step: at,
                    grid,
                    stride: block.into(),
                    args,
                    may_overlap: false,
                });
            }
        }
        Ok(launches)
    }
}

/// Array or number of a format, with its type.
struct Known {
    format: Format,
    dtype: Dtype,
    arrays: Vec<(&'static str, Of)>,
    numbers: Vec<&'static str>,
}

/// Element of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Integers(u64),
    Values,
    Offsets,
    /// Memory between launches, of whatever its writer puts there.
    Room,
}

impl Known {
    /// Looked up in a small matrix: four full blocks of 12 rows, which every format can hold.
    fn of<T: Scalar>(format: Format) -> Self {
        let cols = (0..48_u32).flat_map(|row| row / 12 * 12..row / 12 * 12 + 12).collect();
        let offsets = (0..=48).map(|row| 12 * row).collect();
        let small =
            Csr::try_new(48, 48, offsets, cols, vec![T::from_f64(1.0); 48 * 12]).expect("it is a matrix");
        let held = format.convert(&small, &Limits::NONE).expect("it pads nothing");
        let of = |array: &HostArray<'_, T>| match array {
            HostArray::U8(_) => Of::Integers(1),
            HostArray::U32(_) => Of::Integers(4),
            HostArray::U64(_) => Of::Integers(8),
            HostArray::Offsets { .. } => Of::Offsets,
            HostArray::Values(_) => Of::Values,
            HostArray::Room { .. } => Of::Room,
        };
        let arrays = held.arrays().iter().map(|(name, array)| (*name, of(array))).collect();
        let numbers: NamedNumbers = held.numbers();
        let numbers = ["nrows", "ncols", "nnz"].into_iter().chain(numbers.into_iter().map(|(name, _)| name));
        let mut numbers: Vec<&'static str> = numbers.collect();
        numbers.dedup();
        Self { format, dtype: T::DTYPE, arrays, numbers }
    }

    fn step(&self, kernel: &KernelText) -> Result<OwnStep, (usize, String)> {
        let KernelText { entry, line, threads, parameters } = kernel;
        if parameters.len() > MOST_PARAMETERS {
            return Err((*line, format!("{} parameters are more than {MOST_PARAMETERS}", parameters.len())));
        }
        let threads = match threads {
            None => Threads { count: Count::Named("nrows".to_owned()), times: 1, per: 1 },
            Some((line, text)) => self.threads(text).map_err(|problem| (*line, problem))?,
        };
        let arg =
            |parameter: &ParameterText| self.arg(parameter).map_err(|problem| (parameter.line, problem));
        let args = parameters.iter().map(arg).collect::<Result<Vec<_>, _>>()?;
        Ok(OwnStep { entry: entry.clone(), line: *line, threads, args })
    }

    /// `nrows`, `nrows * 32`, `nnz / 4`, `65536`.
    fn threads(&self, text: &str) -> Result<Threads, String> {
        let wrong = || {
            let numbers = self.numbers.join(", ");
            format!(
                "'{text}' is no number of threads such as nrows, nrows * 32 or nnz / 4; there are {numbers}"
            )
        };
        let (count, times, per) = match (text.split_once('*'), text.split_once('/')) {
            (Some((count, times)), None) => (count, times, "1"),
            (None, Some((count, per))) => (count, "1", per),
            _ => (text, "1", "1"),
        };
        let factor =
            |text: &str| text.trim().parse().ok().filter(|factor: &u64| *factor > 0).ok_or_else(wrong);
        let count = match self.number(count.trim()) {
            Some(name) => Count::Named(name.to_owned()),
            None => Count::Fixed(factor(count)?),
        };
        Ok(Threads { count, times: factor(times)?, per: factor(per)? })
    }

    fn number(&self, name: &str) -> Option<&'static str> {
        self.numbers.iter().copied().find(|known| in_c(known) == name)
    }

    fn arg(&self, parameter: &ParameterText) -> Result<OwnArg, String> {
        let ParameterText { name, of, is_pointer, .. } = parameter;
        let (type_of, value) = (CType::of(of, self.dtype), c_type(self.dtype));
        if *is_pointer {
            let vector =
                [("x", LaunchArg::X), ("y", LaunchArg::Y)].into_iter().find(|(known, _)| known == name);
            let array = self.arrays.iter().find(|(known, _)| in_c(known) == *name);
            let (what, arg) = match (vector, array) {
                (Some((_, arg)), _) => (Of::Values, OwnArg::Of(arg)),
                (None, Some((name, Of::Offsets))) => {
                    let bytes = if let Some(CType::Integer(bytes)) = type_of { Some(bytes) } else { None };
                    (Of::Offsets, OwnArg::Offsets(name, bytes))
                }
                (None, Some((name, what))) => (*what, OwnArg::Of(LaunchArg::Array("", name))),
                (None, None) => return Err(self.unknown(name)),
            };
            // What is not C's own may be a vector type or the user's struct.
            let fits = match (type_of, what) {
                (None, _) | (_, Of::Room) => true,
                (Some(CType::Integer(bytes)), Of::Integers(wanted)) => bytes == wanted,
                (Some(CType::Integer(bytes)), Of::Offsets) => bytes >= 4,
                (Some(CType::Offset), what) => what == Of::Offsets,
                (Some(CType::Value(bytes)), Of::Values) => bytes == self.dtype.bytes(),
                _ => false,
            };
            let wanted = match what {
                Of::Values => format!("VALUE, which is {value} here"),
                Of::Offsets => "OFFSET".to_owned(),
                Of::Integers(1) => "unsigned char".to_owned(),
                Of::Integers(4) => "unsigned int".to_owned(),
                Of::Integers(_) | Of::Room => "unsigned long long".to_owned(),
            };
            return if fits { Ok(arg) } else { Err(format!("{name} points at {of}; it has to be {wanted}")) };
        }
        let factor = [("alpha", LaunchArg::Alpha), ("beta", LaunchArg::Beta)]
            .into_iter()
            .find(|(known, _)| known == name);
        if let Some((_, arg)) = factor {
            let is_double = type_of == Some(CType::Value(8));
            return if is_double {
                Ok(OwnArg::Of(arg))
            } else {
                Err(format!("{name} is a double, not {of}"))
            };
        }
        // Of which row our own kernels start with, where one is pasted.
        let is_first = name.starts_with("first_");
        let Some(number) = self.number(name) else {
            if is_first {
                return Ok(OwnArg::Of(LaunchArg::Number(0)));
            }
            return Err(self.unknown(name));
        };
        match type_of {
            Some(CType::Integer(bytes @ (4 | 8))) => Ok(OwnArg::Number(number, bytes)),
            _ => Err(format!("{name} is a whole number: unsigned int or unsigned long long, not {of}")),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let arrays: Vec<String> = self.arrays.iter().map(|(name, _)| in_c(name)).collect();
        let numbers: Vec<String> = self.numbers.iter().map(|name| in_c(name)).collect();
        format!(
            "nothing of {} is called {name}: there are the arrays {}, x and y, and the numbers {}",
            self.format,
            arrays.join(", "),
            numbers.join(", ")
        )
    }
}

/// A name as a parameter has it.
fn in_c(name: &str) -> String {
    name.replace('.', "_")
}

/// A type that the language has, or a definition that the file is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CType {
    Integer(u64),
    Value(u64),
    Offset,
}

impl CType {
    /// `None` for any other.
    fn of(text: &str, dtype: Dtype) -> Option<Self> {
        Some(match text {
            "VALUE" | "STORED" => Self::Value(dtype.bytes()),
            "OFFSET" => Self::Offset,
            "float" => Self::Value(4),
            "double" => Self::Value(8),
            "char" | "signed char" | "unsigned char" | "uint8_t" | "int8_t" => Self::Integer(1),
            "short" | "unsigned short" | "uint16_t" | "int16_t" => Self::Integer(2),
            "int" | "unsigned" | "unsigned int" | "signed" | "uint32_t" | "int32_t" => Self::Integer(4),
            "long"
            | "unsigned long"
            | "long long"
            | "unsigned long long"
            | "long long int"
            | "unsigned long long int"
            | "uint64_t"
            | "int64_t"
            | "size_t" => Self::Integer(8),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
