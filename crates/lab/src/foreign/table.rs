//! A table of times that other people measured, and the facts of the GPUs in it.

use sparsight::Error;
use sparsight_model::accuracy::quantile;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What ends the name of a column of times, in microseconds.
const TIME: &str = "_us";
/// Columns without which there is no row.
const REQUIRED: [&str; 5] = ["gpu", "name", "rows", "cols", "nnz"];
/// A time below this share of the median of a GPU's shortest percent is a failed run: no product takes less than a launch. Chosen.
const IMPLAUSIBLE: f64 = 0.1;
const SHORTEST: f64 = 0.005;

/// Sizes and row lengths of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignMatrix {
    /// `group/name`, or `name` where the table has no groups.
    pub name: String,
    /// Number of rows.
    pub nrows: f64,
    /// Number of columns.
    pub ncols: f64,
    /// Number of non-zeros.
    pub nnz: f64,
    /// Length of the longest row; the mean where it is not known.
    pub row_max: f64,
    /// Variance of the row lengths; 0 where it is not known.
    pub row_variance: f64,
}

impl ForeignMatrix {
    /// Mean length of a row.
    pub fn row_mean(&self) -> f64 {
        self.nnz / self.nrows
    }

    /// Bytes of A in CSR with values of 8 bytes and indices of 4, of x and of y.
    pub fn bytes(&self) -> f64 {
        12.0 * self.nnz + 4.0 * (self.nrows + 1.0) + 8.0 * (self.nrows + self.ncols)
    }
}

/// Rates of a GPU as its maker states them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignFacts {
    /// Bytes a second of device memory.
    pub memory_bytes_per_s: f64,
    /// Bytes of the last cache that all multiprocessors share.
    pub l2_bytes: f64,
}

/// Times of one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignGpu {
    /// Name in the table.
    pub name: String,
    /// Facts, if they were given.
    pub facts: Option<ForeignFacts>,
    /// Seconds, matrix after matrix and in each the formats; `NaN` where none was measured.
    pub times: Vec<f64>,
}

/// A table of times.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignTable {
    /// Names of the columns of times, without `_us`.
    pub formats: Vec<String>,
    /// Matrices, by name.
    pub matrices: Vec<ForeignMatrix>,
    /// GPUs, by name.
    pub gpus: Vec<ForeignGpu>,
    /// Times left out, since they are far below a launch.
    pub implausible: usize,
}

impl ForeignTable {
    /// Reads a table of values separated by tabs: a row a GPU and matrix, columns by their names in the first line. A second row of the
    /// same GPU and matrix replaces the first.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Malformed`] without one of the columns `gpu`, `name`, `rows`, `cols`, `nnz`, or with a number that is none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let lines = Lines::read(path, &REQUIRED)?;
        let times: Vec<&str> = lines.columns.iter().filter_map(|name| name.strip_suffix(TIME)).collect();
        if times.is_empty() {
            return Err(lines.malformed(1, "no column of times: name one FORMAT_us, in microseconds"));
        }
        let (mut matrices, mut gpus) =
            (BTreeMap::<String, ForeignMatrix>::new(), BTreeMap::<String, BTreeMap<String, Vec<f64>>>::new());
        for row in &lines.rows {
            let size = |column| match lines.number(row, column)? {
                Some(number) if number >= 1.0 => Ok(number),
                _ => Err(lines.malformed(row.0, format!("{column} is not a number from 1 on"))),
            };
            let name = match lines.cell(row, "group") {
                Some(group) => format!("{group}/{}", lines.required(row, "name")?),
                None => lines.required(row, "name")?.to_owned(),
            };
            let (nrows, ncols, nnz) = (size("rows")?, size("cols")?, size("nnz")?);
            let known = matrices.entry(name.clone()).or_insert_with(|| ForeignMatrix {
                name: name.clone(),
                nrows,
                ncols,
                nnz,
                row_max: (nnz / nrows).max(1.0),
                row_variance: 0.0,
            });
            if let Some(row_max) = lines.number(row, "row_max")? {
                known.row_max = row_max.max(1.0);
            }
            if let Some(variance) = lines.number(row, "row_variance")? {
                known.row_variance = variance.max(0.0);
            }
            let time = |format: &&str| {
                let time = lines.number(row, &format!("{format}{TIME}"))?;
                Ok(time.filter(|us| *us > 0.0).map_or(f64::NAN, |us| us * 1e-6))
            };
            let times = times.iter().map(time).collect::<Result<Vec<f64>, Error>>()?;
            gpus.entry(lines.required(row, "gpu")?.to_owned()).or_default().insert(name, times);
        }
        let mut implausible = 0;
        let of_gpu = |(name, measured): (String, BTreeMap<String, Vec<f64>>)| {
            let none = vec![f64::NAN; times.len()];
            let of_matrix = |matrix| measured.get(matrix).unwrap_or(&none).iter().copied();
            let mut times: Vec<f64> = matrices.keys().flat_map(of_matrix).collect();
            implausible += without_implausible(&mut times);
            ForeignGpu { name, facts: None, times }
        };
        let gpus = gpus.into_iter().map(of_gpu).collect();
        let formats = times.into_iter().map(str::to_owned).collect();
        Ok(Self { formats, gpus, matrices: matrices.into_values().collect(), implausible })
    }

    /// Reads facts of the GPUs, of which columns `gpu`, `memory_gb_per_s` (10^9 bytes) and `l2_mb` (10^6 bytes) are taken.
    ///
    /// # Errors
    /// As [`ForeignTable::read`].
    pub fn read_facts(&mut self, path: &Path) -> Result<(), Error> {
        let lines = Lines::read(path, &["gpu", "memory_gb_per_s", "l2_mb"])?;
        for row in &lines.rows {
            let positive = |column| match lines.number(row, column)? {
                Some(number) if number > 0.0 => Ok(number),
                _ => Err(lines.malformed(row.0, format!("{column} is not a number above 0"))),
            };
            let facts = ForeignFacts {
                memory_bytes_per_s: positive("memory_gb_per_s")? * 1e9,
                l2_bytes: positive("l2_mb")? * 1e6,
            };
            let name = lines.required(row, "gpu")?;
            for gpu in self.gpus.iter_mut().filter(|gpu| gpu.name == name) {
                gpu.facts = Some(facts);
            }
        }
        Ok(())
    }

    /// Position of the time of a matrix in a format.
    pub(super) fn at(&self, matrix: usize, format: usize) -> usize {
        matrix * self.formats.len() + format
    }
}

/// Makes times far below a launch `NaN`, and counts them.
fn without_implausible(times: &mut [f64]) -> usize {
    let mut known: Vec<f64> = times.iter().copied().filter(|time| time.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    let least = IMPLAUSIBLE * quantile(&known, SHORTEST).unwrap_or(0.0);
    let faults = times.iter_mut().filter(|time| **time < least);
    faults.map(|time| *time = f64::NAN).count()
}

/// Lines of a table: number of the line, from 1, and its cells.
struct Lines<'p> {
    path: &'p Path,
    columns: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

impl<'p> Lines<'p> {
    fn read(path: &'p Path, required: &[&str]) -> Result<Self, Error> {
        let mut text = String::new();
        let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
        read.map_err(|source| Error::File { path: path.to_owned(), source })?;
        let cells = |line: &str| line.split('\t').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let kept = |(_, line): &(usize, &str)| !line.trim().is_empty() && !line.starts_with('#');
        let mut lines = (1..).zip(text.lines()).filter(kept);
        let columns = lines.next().map_or(Vec::new(), |(_, line)| cells(line));
        let all = Self { path, columns, rows: lines.map(|(at, line)| (at, cells(line))).collect() };
        match required.iter().find(|name| !all.columns.iter().any(|column| column == *name)) {
            Some(missing) => {
                Err(all.malformed(1, format!("no column {missing}; columns are separated by tabs")))
            }
            None => Ok(all),
        }
    }

    /// A cell that is there and not empty.
    fn cell<'r>(&self, row: &'r (usize, Vec<String>), column: &str) -> Option<&'r str> {
        let at = self.columns.iter().position(|name| name == column)?;
        row.1.get(at).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    fn required<'r>(&self, row: &'r (usize, Vec<String>), column: &str) -> Result<&'r str, Error> {
        self.cell(row, column).ok_or_else(|| self.malformed(row.0, format!("{column} is empty")))
    }

    fn number(&self, row: &(usize, Vec<String>), column: &str) -> Result<Option<f64>, Error> {
        let Some(cell) = self.cell(row, column) else { return Ok(None) };
        let number = cell.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Some).ok_or_else(|| self.malformed(row.0, format!("{column}: '{cell}' is no number")))
    }

    fn malformed(&self, line: usize, reason: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.to_owned(), line, reason: reason.into() }
    }
}
