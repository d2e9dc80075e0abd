//! Parts of a corpus by the start of the matrices' names: `a/,b/`.

use sparsight::records::CorpusRecord;
use std::collections::BTreeSet;

/// Prefixes; none accepts every name.
#[derive(Debug, Clone)]
pub(crate) struct NamePrefixes<'a>(&'a [String]);

impl<'a> NamePrefixes<'a> {
    pub(crate) fn new(prefixes: &'a [String]) -> Self {
        Self(prefixes)
    }

    pub(crate) fn accept(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|prefix| name.starts_with(prefix))
    }

    /// What could have been written instead.
    pub(crate) fn hint(corpus: &[CorpusRecord]) -> String {
        let folders: BTreeSet<&str> =
            corpus.iter().filter_map(|r| r.matrix.split_inclusive('/').next()).collect();
        if folders.is_empty() {
            return "the profile holds no corpus; `sparsight measure PATHS -o DIR` adds one".to_owned();
        }
        format!("the corpus holds {}", folders.into_iter().take(10).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::NamePrefixes;

    #[test]
    fn no_prefix_accepts_every_name_and_some_accept_their_own() {
        assert!(NamePrefixes::new(&[]).accept("a/x"));
        let prefixes = ["a/".to_owned(), "b/".to_owned()];
        let some = NamePrefixes::new(&prefixes);
        assert!(some.accept("a/x") && some.accept("b/y") && !some.accept("ab/x"));
    }
}
