//! Parts of a corpus by the start of the matrices' names: `a/,b/`; with `+` before it, `+a/`, what was derived from such matrices.

use sparsight::matrix::derived::origin;
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
        let origin = origin(name);
        let is_derived = origin != name;
        let accepts = |prefix: &String| match prefix.strip_prefix('+') {
            Some(prefix) => is_derived && name.starts_with(prefix),
            // What goes beyond the name of the origin asks for one that was derived.
            None => name.starts_with(prefix.as_str()) && (!is_derived || prefix.len() > origin.len()),
        };
        self.0.is_empty() || self.0.iter().any(accepts)
    }

    /// The prefixes that the corpus has.
    pub(crate) fn hint(corpus: &[CorpusRecord]) -> String {
        let folder = |r: &CorpusRecord| {
            let derived = if origin(&r.matrix) == r.matrix { "" } else { "+" };
            Some(format!("{derived}{}", r.matrix.split_inclusive('/').next()?))
        };
        let folders: BTreeSet<String> = corpus.iter().filter_map(folder).collect();
        if folders.is_empty() {
            return "the profile holds no corpus; `sparsight lab measure PATHS -o DIR` adds one".to_owned();
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

    #[test]
    fn derived_matrices_are_asked_for_by_a_plus() {
        let prefixes = ["a/".to_owned(), "+b/".to_owned()];
        let some = NamePrefixes::new(&prefixes);
        assert!(some.accept("a/x") && !some.accept("a/x+layers=3"));
        assert!(some.accept("b/y+layers=3,unknowns=2") && !some.accept("b/y") && !some.accept("b/c++"));
        assert!(NamePrefixes::new(&[]).accept("a/x+layers=3"));
        let whole = ["a/x+layers=3".to_owned()];
        assert!(NamePrefixes::new(&whole).accept("a/x+layers=3"));
        assert!(!NamePrefixes::new(&whole).accept("a/x"));
    }
}
