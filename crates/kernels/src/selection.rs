//! Selections of kernels and candidates as a person types them: any form in which an answer of this project prints them.

use crate::{Candidate, Kernel};
use sparsight_matrix::Dtype;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Candidates by a name: `csr-vector`, `csr-vector/t8`, `csr-vector t8 b256`, `ell/b256`, `bsr/b3/t4/b128/f64`,
/// `ell b64 (f32 values)`, `cusparse-csr a1 (vendor)`.
///
/// A name without a block size stands for all of the kernel, and that of a family for all of its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// A family's name, or the id of one kernel.
    kernel: String,
    /// True if a block size or a value type was given: then an id means that kernel alone, and not its family.
    is_candidate: bool,
    block: Option<u32>,
    dtype: Option<Dtype>,
}

impl Selection {
    /// Selection with this block size, whatever was given.
    #[must_use]
    pub fn with_block(self, block: u32) -> Self {
        Self { block: Some(block), ..self }
    }

    /// The block size, if one was given.
    pub fn block(&self) -> Option<u32> {
        self.block
    }

    /// The value type, if one was given; it selects nothing by itself.
    pub fn dtype(&self) -> Option<Dtype> {
        self.dtype
    }

    /// Returns whether it stands for this kernel.
    pub fn names(&self, kernel: Kernel) -> bool {
        let is_one = self.is_candidate && Kernel::all().any(|known| known.id() == self.kernel);
        self.is_exactly(kernel) || !is_one && self.kernel == kernel.name()
    }

    /// Returns whether this kernel is named with all of its knobs.
    pub fn is_exactly(&self, kernel: Kernel) -> bool {
        self.kernel == kernel.id()
    }

    /// Returns whether it stands for this candidate, of whatever value type.
    pub fn selects(&self, candidate: &Candidate) -> bool {
        self.names(candidate.kernel) && self.block.is_none_or(|block| block == candidate.block)
    }

    /// The one candidate that it stands for, of `dtype` where none was given; `None` if it leaves the kernel or its block size open.
    pub fn candidate(&self, dtype: Dtype) -> Option<Candidate> {
        let kernel: Kernel = self.kernel.parse().ok()?;
        let block = if kernel.is_vendors() { 0 } else { self.block? };
        let dtype = self.dtype.unwrap_or(dtype);
        (!kernel.is_vendors() || dtype != Dtype::Mixed).then_some(Candidate { kernel, block, dtype })
    }
}

/// Displays the selection as tables do: `csr-vector t8 b256`.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kernel.replace('/', " "))?;
        self.block.map_or(Ok(()), |block| write!(f, " b{block}"))
    }
}

/// Text that names nothing of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no kernel or candidate of the catalogue, such as csr-vector, \"csr-vector t8\" or csr-vector/t8/b256/f64"
)]
pub struct ParseSelectionError(pub String);

impl FromStr for Selection {
    type Err = ParseSelectionError;
    fn from_str(text: &str) -> Result<Self, ParseSelectionError> {
        let error = || ParseSelectionError(text.to_owned());
        let bare = text.trim();
        // As `kernels` writes what is retired.
        let bare = bare.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(bare);
        let (bare, mixed) = match bare.strip_suffix("(f32 values)") {
            Some(rest) => (rest, Some(Dtype::Mixed)),
            None => (bare.strip_suffix("(vendor)").unwrap_or(bare), None),
        };
        let mut words: Vec<&str> = bare.split(['/', ' ']).filter(|word| !word.is_empty()).collect();
        let last = words.last().and_then(|word| word.parse::<Dtype>().ok());
        words.truncate(words.len() - usize::from(last.is_some()));
        let dtype = mixed.or(last);
        let is_known = |name: &str| Kernel::all().any(|k| k.id() == name || k.name() == name);
        let all = words.join("/");
        if is_known(&all) {
            let is_candidate = dtype.is_some();
            return Ok(Self { kernel: all, is_candidate, block: None, dtype });
        }
        let (block, words) = words.split_last().ok_or_else(error)?;
        let block: u32 = block
            .strip_prefix('b')
            .and_then(|digits| digits.parse().ok())
            .filter(|&b| b > 0)
            .ok_or_else(error)?;
        let selection = Self { kernel: words.join("/"), is_candidate: true, block: Some(block), dtype };
        let has_block = |kernel: Kernel| selection.names(kernel) && kernel.blocks().contains(&block);
        if Kernel::all().any(has_block) { Ok(selection) } else { Err(error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::every_candidate;

    fn selected(text: &str) -> Vec<String> {
        let selection: Selection = text.parse().unwrap_or_else(|error| panic!("{error}"));
        every_candidate(Dtype::F64).filter(|c| selection.selects(c)).map(|c| c.to_string()).collect()
    }

    #[test]
    fn every_candidate_is_found_by_every_form_of_its_name() {
        for dtype in [Dtype::F32, Dtype::F64, Dtype::Mixed] {
            for candidate in every_candidate(dtype) {
                let id = candidate.to_string();
                let without = id.rsplit_once('/').unwrap().0.to_owned();
                let spaced = without.replace('/', " ");
                let remark = match (candidate.kernel.is_vendors(), dtype) {
                    (true, _) => " (vendor)",
                    (_, Dtype::Mixed) => " (f32 values)",
                    _ => "",
                };
                for text in
                    [&id, &without, &spaced, &format!("{spaced}{remark}"), &format!(" {spaced} {dtype}")]
                {
                    let selection: Selection = text.parse().unwrap_or_else(|error| panic!("{error}"));
                    assert!(selection.selects(&candidate), "{text}");
                    assert_eq!(selection.candidate(dtype), Some(candidate), "{text}");
                    let one = selected(text);
                    assert!(one.len() == 1 || candidate.kernel.is_vendors(), "{text}: {one:?}");
                }
            }
        }
    }

    #[test]
    fn a_name_that_leaves_something_open_stands_for_all_of_it() {
        assert_eq!(selected("csr-vector t8").len(), 5);
        assert_eq!(selected("csr-vector/t8"), selected("csr-vector t8"));
        assert_eq!(selected("csr-vector b256").len(), selected("csr-vector").len() / 5);
        assert!(selected("coo").len() > 5, "the family");
        assert_eq!(selected("coo b256"), ["coo/b256/f64"], "the candidate");
        assert_eq!(selected("(bsr b6)").len(), 5);
        assert_eq!("coo".parse::<Selection>().unwrap().candidate(Dtype::F64), None);
        for wrong in [
            "",
            "csr",
            "csr-vector t3",
            "ell b100",
            "b256",
            "ell b0",
            "ell b256 f16",
            "cusparse-csr a1 b64",
            "()",
        ] {
            assert!(wrong.parse::<Selection>().is_err(), "{wrong}");
        }
    }
}
