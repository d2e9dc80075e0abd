//! A candidate: kernel, knobs, block size and value type; what is predicted, ranked, run and recorded.

use crate::{BLOCKS, DeviceKind, Kernel};
use sparsight_matrix::{Dtype, Format, serde_as_text};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A way to compute y = A x. Its text id, `csr-vector/t8/b256/f64`, is stable and is how it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// Kernel and knobs.
    pub kernel: Kernel,
    /// Threads a block on a GPU, rows (COO: sixteenths of the non-zeros) a task on a CPU; 0 where the
    /// vendor's library decides.
    pub block: u32,
    /// Precision that it is computed in.
    pub dtype: Dtype,
}

/// Every candidate for `dtype` that is ranked on a GPU; in mixed precision, all of our own.
pub fn catalogue(dtype: Dtype) -> impl Iterator<Item = Candidate> {
    every_candidate(dtype).filter(|candidate| !candidate.kernel.is_retired())
}

/// The [`catalogue`], and those that are run only where they are named ([`Kernel::is_retired`]).
pub fn every_candidate(dtype: Dtype) -> impl Iterator<Item = Candidate> {
    Kernel::all()
        .filter(move |kernel| dtype != Dtype::Mixed || !kernel.is_vendors())
        .flat_map(move |kernel| kernel.blocks().iter().map(move |&block| Candidate { kernel, block, dtype }))
}

/// Candidates that are ranked on devices of that kind, in the same order: on a CPU retired ones too, since how they do there was not
/// measured.
pub fn catalogue_on(kind: DeviceKind, dtype: Dtype) -> impl Iterator<Item = Candidate> {
    every_candidate_on(kind, dtype).filter(move |candidate| candidate.kernel.is_ranked_on(kind))
}

/// The part of [`every_candidate`] that devices of that kind have, in the same order.
pub fn every_candidate_on(kind: DeviceKind, dtype: Dtype) -> impl Iterator<Item = Candidate> {
    every_candidate(dtype).filter(move |candidate| candidate.kernel.runs_on(kind))
}

impl Candidate {
    /// Candidate of plain CSR for a processor that was not calibrated: no slower than a plain loop on any matrix that was
    /// measured.
    pub fn on_an_unknown_cpu(dtype: Dtype) -> Self {
        let kernel = Kernel::on_an_unknown_cpu();
        Self { kernel, block: BLOCKS[BLOCKS.len() / 2], dtype }
    }

    /// Format that it reads.
    pub fn format(&self) -> Format {
        self.kernel.format()
    }

    /// The name in texts for people, without the value type: `csr-vector t16 b128`, `cusparse-csr a1 (vendor)`,
    /// `ell b64 (f32 values)`. A [`Selection`](crate::Selection) reads it, as it reads the id.
    pub fn in_words(&self) -> String {
        let kernel = self.kernel.to_string().replace('/', " ");
        match (self.block, self.dtype) {
            (0, _) => format!("{kernel} (vendor)"),
            (block, Dtype::Mixed) => format!("{kernel} b{block} (f32 values)"),
            (block, _) => format!("{kernel} b{block}"),
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            0 => f.pad(&format!("{}/{}", self.kernel, self.dtype)),
            block => f.pad(&format!("{}/b{block}/{}", self.kernel, self.dtype)),
        }
    }
}

/// Text that names no candidate of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no candidate of the catalogue, such as csr-vector/t8/b256/f64")]
pub struct ParseCandidateError(pub String);

impl FromStr for Candidate {
    type Err = ParseCandidateError;
    fn from_str(text: &str) -> Result<Self, ParseCandidateError> {
        let error = || ParseCandidateError(text.to_owned());
        let (rest, dtype) = text.rsplit_once('/').ok_or_else(error)?;
        let dtype: Dtype = dtype.parse().map_err(|_| error())?;
        // A routine of the vendor's has no block size, though its knobs may have the same letter.
        let without_block = rest.parse().ok().filter(|kernel: &Kernel| kernel.blocks().contains(&0));
        if let Some(kernel) = without_block {
            // The vendor's library has none that computes in mixed precision as ours do.
            if dtype == Dtype::Mixed {
                return Err(error());
            }
            return Ok(Self { kernel, block: 0, dtype });
        }
        let (kernel, block) = rest.rsplit_once("/b").ok_or_else(error)?;
        let kernel: Kernel = kernel.parse().map_err(|_| error())?;
        let block = block.parse().ok().filter(|&block| block > 0).ok_or_else(error)?;
        if kernel.blocks().contains(&block) { Ok(Self { kernel, block, dtype }) } else { Err(error()) }
    }
}

serde_as_text!(Candidate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_unique_and_reads_back() {
        let all: Vec<Candidate> = Dtype::ALL.into_iter().flat_map(every_candidate).collect();
        assert_eq!(all.len(), 2 * (37 * 5 + 6 * 4 + 3 + 14 + 10));
        assert!(
            Dtype::ALL.into_iter().all(|dtype| catalogue(dtype).is_sorted()),
            "ordered as they are listed"
        );
        let ids: std::collections::HashSet<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(ids.len(), all.len());
        let mixed: Vec<Candidate> = every_candidate(Dtype::Mixed).collect();
        assert_eq!(mixed.len(), 37 * 5 + 6 * 4 + 3, "none of the vendor's");
        for candidate in all.into_iter().chain(mixed) {
            assert_eq!(candidate.to_string().parse(), Ok(candidate));
        }
        assert!("cusparse-csr/a1/f32-f64".parse::<Candidate>().is_err());
        assert_eq!("ell/b64/f32-f64".parse::<Candidate>().unwrap().dtype, Dtype::Mixed);
        assert_eq!("csr-vector/t8/b256/f64".parse::<Candidate>().unwrap().block, 256);
    }

    #[test]
    fn retired_kernels_are_not_ranked_but_can_be_named() {
        let retired: Vec<String> = Kernel::all().filter(|k| k.is_retired()).map(|k| k.to_string()).collect();
        let expected = [
            "csr-balanced/i256",
            "sell/c64/s1024",
            "sell/c256/s1024",
            "sell/c512/s2048",
            "bsr/b6",
            "cusparse-spmvop/a1",
            "cusparse-spmvop/a2",
            "rocsparse-csr",
            "rocsparse-csr/a2",
            "rocsparse-csr/a3",
            "rocsparse-csr/a7",
            "rocsparse-coo",
            "rocsparse-ell",
            "rocsparse-bsr/b2",
            "rocsparse-bsr/b3",
            "rocsparse-bsr/b4",
            "rocsparse-bsr/b6",
        ];
        assert!(
            expected.iter().all(|id| retired.contains(&(*id).to_owned())) && retired.len() == expected.len(),
            "{retired:?}"
        );
        assert!(catalogue(Dtype::F32).all(|c| !c.kernel.is_retired()));
        let named: Candidate = "bsr/b6/b128/f64".parse().unwrap();
        assert!(every_candidate_on(DeviceKind::Cuda, Dtype::F64).any(|c| c == named));
        assert!(catalogue_on(DeviceKind::Cpu, Dtype::F64).any(|c| c == named));
    }

    #[test]
    fn the_vendors_routines_have_no_block_size_and_are_not_for_a_cpu() {
        let vendors: Vec<Candidate> = catalogue(Dtype::F64).filter(|c| c.kernel.is_vendors()).collect();
        let ids: Vec<String> = vendors.iter().map(ToString::to_string).collect();
        assert_eq!(
            ids,
            [
                "cusparse-csr/a1/f64",
                "cusparse-csr/a2/f64",
                "cusparse-coo/f64",
                "cusparse-sell/f64",
                "cusparse-bsr/b2/a1/f64",
                "cusparse-bsr/b2/a2/f64",
                "cusparse-bsr/b3/a1/f64",
                "cusparse-bsr/b3/a2/f64",
                "cusparse-bsr/b4/a1/f64",
                "cusparse-bsr/b4/a2/f64",
                "cusparse-bsr/b6/a1/f64",
                "cusparse-bsr/b6/a2/f64"
            ]
        );
        assert!(vendors.iter().all(|c| c.block == 0));
        let on = |kind| every_candidate_on(kind, Dtype::F64).filter(|c| c.kernel.is_vendors());
        assert!(on(DeviceKind::Cuda).all(|c| c.kernel.name().starts_with("cusparse-")));
        assert!(on(DeviceKind::Hip).all(|c| c.kernel.name().starts_with("rocsparse-")));
        assert_eq!((on(DeviceKind::Cuda).count(), on(DeviceKind::Hip).count()), (14, 10));
        assert_eq!(
            on(DeviceKind::Cpu).count()
                + catalogue_on(DeviceKind::Hip, Dtype::F64).filter(|c| c.kernel.is_vendors()).count(),
            0
        );
        assert!(catalogue_on(DeviceKind::Cuda, Dtype::F64).eq(catalogue(Dtype::F64)));
        let for_gpus = |c: &Candidate| match (c.kernel.name(), c.kernel.knobs()) {
            ("sell", [.., threads]) | ("bsr", [_, threads, _]) => threads > 0,
            ("csr-segmented", _) => true,
            _ => c.kernel.id().starts_with("coo/i"),
        };
        let of_a_cpu = every_candidate(Dtype::F64).filter(|c| !c.kernel.is_vendors() && !for_gpus(c));
        assert!(catalogue_on(DeviceKind::Cpu, Dtype::F64).eq(of_a_cpu));
    }

    #[test]
    fn text_that_names_no_candidate_is_refused() {
        for text in [
            "",
            "csr-vector",
            "csr-vector/t3/b256/f64",
            "ell/b100/f32",
            "ell/b128/f16",
            "band/b64/f32",
            "cusparse-csr/a1/b64/f32",
            "ell/f64",
            "ell/b0/f64",
            "cusparse-coo/b0/f64",
            "cusparse-bsr/b2/a1/b0/f64",
        ] {
            assert!(text.parse::<Candidate>().is_err(), "{text}");
        }
    }
}
