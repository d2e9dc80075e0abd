//! `--csv`: one table, whose columns are fields of the JSON answer ([docs/csv.md](../../../docs/csv.md)).
//!
//! ```text
//! matrices ->  candidates                       a row for each object of the innermost list
//! outer columns     inner columns               looked up around it, and in it
//! ```
//! Quoted as RFC 4180 says, with plain line ends; what is absent is an empty cell.

use serde_json::Value;
use sparsight::answer::Answer;

/// `--csv`, for commands whose answer is a table.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct CsvFlag {
    /// Print one table of comma-separated values, with a header (docs/csv.md)
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// Layout of a command's table, after the columns of the matrix. A column is `name` of a field or
/// `name=path.to.field`; numbers of a path are places in a list.
pub(crate) struct Layout {
    /// The lists, each within an object of the one before, whose last gives the rows; none: the answer is a row.
    pub(crate) rows: &'static [&'static str],
    /// Columns of what stands around a row, innermost first.
    pub(crate) outer: &'static [&'static str],
    /// Columns of the row itself, one list behind the other.
    pub(crate) inner: &'static [&'static [&'static str]],
}

/// Columns of a *candidate* of docs/answers.md.
pub(crate) const CANDIDATE: [&str; 6] = ["id", "format", "kernel", "threads_per_row", "block", "dtype"];

/// Columns of its predicted time.
pub(crate) const PREDICTED: [&str; 4] = ["predicted_s", "low_s", "high_s", "model"];

/// Columns of a *matrix* of docs/answers.md, with which each table begins.
const MATRIX: [&str; 7] = [
    "matrix=matrix.name",
    "nrows=matrix.nrows",
    "ncols=matrix.ncols",
    "nnz=matrix.nnz",
    "row_mean=matrix.row_mean",
    "row_min=matrix.row_min",
    "row_max=matrix.row_max",
];

/// A table under way.
pub(crate) struct Csv {
    layout: &'static Layout,
    text: String,
}

impl Csv {
    /// The header alone.
    pub(crate) fn new(layout: &'static Layout) -> Self {
        let names = layout.columns().map(|column| Value::from(split(column).0));
        let text = line(names.map(Some));
        Self { layout, text }
    }

    /// Adds the rows of an answer.
    pub(crate) fn add(&mut self, answer: &impl Answer) {
        let value = serde_json::to_value(answer.document()).expect("plain data serialises");
        self.rows(&mut vec![&value], self.layout.rows);
    }

    fn rows(&mut self, around: &mut Vec<&Value>, lists: &[&str]) {
        let Some((list, within)) = lists.split_first() else {
            let (inner, outer) = around.split_last().expect("the answer itself at least");
            let outer = MATRIX.iter().chain(self.layout.outer).map(|column| {
                let everywhere = outer.iter().rev().chain(self.layout.rows.is_empty().then_some(inner));
                everywhere.copied().find_map(|object| field(object, split(column).1))
            });
            let inner = self.layout.inner.concat().into_iter().map(|column| field(inner, split(column).1));
            self.text += &line(outer.chain(inner).map(Option::<&Value>::cloned));
            return;
        };
        let innermost = *around.last().expect("the answer itself at least");
        for object in innermost[*list].as_array().into_iter().flatten() {
            around.push(object);
            self.rows(around, within);
            around.pop();
        }
    }

    /// The whole table.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl Layout {
    fn columns(&self) -> impl Iterator<Item = &'static str> {
        MATRIX.iter().chain(self.outer).copied().chain(self.inner.concat())
    }
}

/// The name of a column, and where its field is.
fn split(column: &'static str) -> (&'static str, &'static str) {
    column.split_once('=').unwrap_or((column, column))
}

fn field<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    let step = |value: &'v Value, key: &str| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    };
    path.split('.').try_fold(object, step)
}

fn line(cells: impl Iterator<Item = Option<Value>>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.map(|value| quoted(&value)).unwrap_or_default()).collect();
    cells.join(",") + "\n"
}

/// A cell: quoted where it holds what separates cells and rows. Text that a spreadsheet would take for a formula, such as the name of a
/// file that begins with `=`, has an apostrophe before it; numbers are numbers.
fn quoted(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_formula_and_a_number_below_0_stays_one() {
        let cell = |text: &str| quoted(&Value::from(text));
        assert_eq!(cell("=1+2.mtx"), "'=1+2.mtx");
        assert_eq!(cell("@SUM(A1,A2)"), "\"'@SUM(A1,A2)\"");
        assert_eq!(["+a", "-a", "\ta"].map(cell), ["'+a", "'-a", "'\ta"]);
        assert_eq!(cell("\r=a"), "\"'\r=a\"");
        assert_eq!([cell("a=1"), quoted(&Value::from(-1.5))], ["a=1", "-1.5"]);
    }

    #[test]
    fn cells_with_separators_are_quoted() {
        let cell = |text: &str| quoted(&Value::from(text));
        assert_eq!(cell("plain text"), "plain text");
        assert_eq!(cell("gallery:arrow,n=5"), "\"gallery:arrow,n=5\"");
        assert_eq!(cell("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(cell("a\r\nb"), "\"a\r\nb\"");
        assert_eq!(
            [Value::Null, Value::from(6.7e-6), Value::from(true)].each_ref().map(quoted),
            ["", "6.7e-6", "true"]
        );
    }
}
