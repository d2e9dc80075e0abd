//! `compare --weights`: how much each of several matrices counts in the means.

use crate::failure::Failure;
use crate::matrix_source::MatrixSource;
use sparsight::matrix::io::read_regular_text;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Weights of matrices.
///
/// Each line is that of a matrix, no matrix has two of them, and one weight at least is above 0: [`Weights::of_file`] checks it.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Number of the line, and the weight in it.
    by_name: HashMap<String, (usize, f64)>,
}

impl Weights {
    /// The weights of `sources` in a file, if there is one; else each has weight 1.
    ///
    /// # Errors
    /// If it cannot be read, and where it says what cannot be meant: with file and line.
    pub(super) fn of_file(file: Option<&Path>, sources: &[MatrixSource]) -> Result<Self, Failure> {
        let Some(path) = file else { return Ok(Self::default()) };
        let text = read_regular_text(path).map_err(|error| error.to_string());
        let weights = text.and_then(|text| Self::parsed(&text)).and_then(|weights| {
            weights.check(sources)?;
            Ok(weights)
        });
        weights.map_err(|why| Failure::input(format!("{}: {why}", path.display())))
    }

    fn parsed(text: &str) -> Result<Self, String> {
        let mut by_name = HashMap::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            // A recipe of the gallery has commas, too.
            let parts = line.rsplit_once(',').map(|(name, weight)| (name.trim(), weight.trim()));
            let weight = parts.and_then(|(_, weight)| weight.parse::<f64>().ok());
            match (parts, weight.filter(|weight| weight.is_finite() && *weight >= 0.0)) {
                (Some((name, _)), Some(weight)) => {
                    let name = name.trim_matches('"');
                    if let Some((first, _)) = by_name.insert(name.to_owned(), (number, weight)) {
                        return Err(twice(number, name, first));
                    }
                }
                (Some(_), None) if number == 1 && weight.is_none() => {}
                _ => return Err(format!("line {number} is no NAME,WEIGHT with a weight of 0 or more")),
            }
        }
        Ok(Self { by_name })
    }

    /// Checks what stands at the type.
    fn check(&self, sources: &[MatrixSource]) -> Result<(), String> {
        let mut used = HashSet::new();
        for source in sources {
            let lines: Vec<usize> = self.lines_of(source).map(|(line, _)| line).collect();
            if let [one, other] = lines[..] {
                return Err(twice(one.max(other), &source.title(), one.min(other)));
            }
            used.extend(lines);
        }
        let lines = self.by_name.iter().map(|(name, (line, _))| (*line, name));
        if let Some((line, name)) = lines.clone().filter(|(line, _)| !used.contains(line)).min() {
            return Err(format!("line {line}: {name} is none of the matrices"));
        }
        match lines.max() {
            Some((last, _)) if !sources.iter().any(|source| self.of(source) > 0.0) => {
                Err(format!("line {last}: every matrix has weight 0, so that there is no mean"))
            }
            _ => Ok(()),
        }
    }

    /// Weight of a matrix, by its name in tables or in a corpus.
    pub(super) fn of(&self, source: &MatrixSource) -> f64 {
        self.lines_of(source).next().map_or(1.0, |(_, weight)| weight)
    }

    /// Number and weight of the lines about a matrix.
    fn lines_of(&self, source: &MatrixSource) -> impl Iterator<Item = (usize, f64)> {
        let (title, record) = (source.title(), source.record_name());
        let record = (record != title).then_some(record);
        [Some(title), record].into_iter().flatten().filter_map(move |name| self.by_name.get(&name).copied())
    }
}

/// Why a second line about a matrix is an error.
fn twice(line: usize, name: &str, first: usize) -> String {
    format!("line {line}: {name} has a weight already, in line {first}")
}
