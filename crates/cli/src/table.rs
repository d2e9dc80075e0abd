//! Tables without lines: columns two spaces apart, numbers to the right.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row};
use std::fmt;

/// Rows under a header.
#[derive(Debug)]
pub(crate) struct Table {
    inner: comfy_table::Table,
    /// True for each column that holds words.
    words: Vec<bool>,
}

impl Table {
    /// A table with these columns. A name that starts with `<` is that of a column of words, set to the left; one
    /// that starts with `~` holds text that may be broken to fit the terminal; all others are set to the right.
    pub(crate) fn new(columns: &[&str]) -> Self {
        let mut inner = comfy_table::Table::new();
        let breaks = columns.iter().any(|name| name.starts_with('~'));
        let arrangement = if breaks { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
        inner.load_style(NOTHING).set_content_arrangement(arrangement);
        let title = |name: &str| Cell::new(name.trim_start_matches(['<', '~'])).add_attribute(Attribute::Dim);
        inner.set_header(columns.iter().map(|name| title(name)).collect::<Vec<_>>());
        for (column, name) in inner.column_iter_mut().zip(columns) {
            column.set_padding((2, 0));
            if !name.starts_with('~') {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if !name.starts_with(['<', '~']) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self { inner, words: columns.iter().map(|name| name.starts_with(['<', '~'])).collect() }
    }

    /// Adds a row; cells that are missing at its end stay empty.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.words.len(), String::new());
        self.inner.add_row(Row::from(cells));
    }
}

/// A title, as [`Table::new`] takes it, and the cell of a row below it.
/// The cell of something that may be absent.
pub(crate) fn cell_or(absent: &str, known: Option<impl fmt::Display>) -> String {
    known.map_or_else(|| absent.to_owned(), |known| known.to_string())
}

type Column<'c, R> = (&'c str, &'c dyn Fn(&R) -> String);

/// A table to which columns are added.
pub(crate) struct Columns<R> {
    titles: Vec<String>,
    rows: Vec<(R, Vec<String>)>,
}

impl<R> Columns<R> {
    /// No columns yet.
    pub(crate) fn of(rows: impl IntoIterator<Item = R>) -> Self {
        Self { titles: Vec::new(), rows: rows.into_iter().map(|row| (row, Vec::new())).collect() }
    }

    /// Adds columns.
    pub(crate) fn with<const N: usize>(mut self, columns: [Column<'_, R>; N]) -> Self {
        for (title, cell) in columns {
            self.titles.push(title.to_owned());
            self.rows.iter_mut().for_each(|(row, cells)| cells.push(cell(row)));
        }
        self
    }

    /// Adds columns if `are_shown`.
    pub(crate) fn with_if<const N: usize>(self, are_shown: bool, columns: [Column<'_, R>; N]) -> Self {
        if are_shown { self.with(columns) } else { self }
    }

    pub(crate) fn table(self) -> Table {
        let titles: Vec<&str> = self.titles.iter().map(String::as_str).collect();
        let mut table = Table::new(&titles);
        self.rows.into_iter().for_each(|(_, cells)| table.row(cells));
        table
    }
}

impl Table {
    /// A table with a row for each of `rows`.
    pub(crate) fn of<R, const N: usize>(
        rows: impl IntoIterator<Item = R>,
        columns: [Column<'_, R>; N],
    ) -> Self {
        Columns::of(rows).with(columns).table()
    }

    /// Returns whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The table as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |row: &Row| {
            let cells: Vec<String> = row.cell_iter().map(Cell::content).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rule: Vec<&str> = self.words.iter().map(|&words| if words { "---" } else { "---:" }).collect();
        let header = self.inner.header().map(line).unwrap_or_default();
        let rows: Vec<String> = self.inner.row_iter().map(line).collect();
        format!("{header}\n| {} |\n{}", rule.join(" | "), rows.join("\n"))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.trim_fmt())
    }
}
