//! Why a product takes as long as it does, in one sentence: what about the matrix costs how much.
//!
//! ```text
//! cost = time of what is recommended for the matrix - time of what is recommended for the matrix without it
//! ```
//! Both are predictions. Looking at a second matrix takes as long as looking at the first, so it is done once at most: for what
//! can cost most, which is estimated from the features of the matrix at hand ([`Suspect`]). Where nothing can cost more than is
//! said, it is not done at all. What needs no second matrix (launch, upload, what a file says) is compared at once.
//!
//! A reason is given if it costs more than [`LEAST`], and no more than [`MOST`] are.

mod suspects;

use crate::advise::{Advised, Before, Reason, TIE};
use crate::{Advice, Advisor, Objective};
use sparsight_matrix::{Csr, Dtype, Features, Scalar, Seconds};
use suspects::Suspect;

/// Share of the time that a reason costs at least. Derived: a prediction is off by about [`TIE`], so the difference of two says
/// nothing below twice that.
const LEAST: f64 = 2.0 * TIE;

/// Reasons that are given at most, those that cost most. Chosen: a sentence or two are read.
const MOST: usize = 2;

/// Share of the time from which on a part dominates it. Chosen: the larger half.
const HALF: f64 = 0.5;

/// Knowledge of a matrix beside its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// True if the values are those of the file, so that stored zeros can be counted.
    pub has_values: bool,
    /// The stored values are complex.
    pub is_complex: bool,
    /// Entries that stood on places already taken.
    pub duplicates: u64,
    /// An order was chosen by the caller: no other one is tried.
    pub is_reordered: bool,
}

/// The question.
pub(crate) struct Case<'a, T> {
    a: &'a Csr<T>,
    features: &'a Features,
    used: &'a Advised,
    told: Told,
    dtype: Dtype,
}

impl Advisor<'_> {
    /// Why a product with `a` takes as long as `advice` says, which was given for its `features`, the value type and the objective: at
    /// most two reasons, what costs most first. Looks at one more matrix at most: O(nnz).
    pub fn reasons<T: Scalar>(
        &self,
        a: &Csr<T>,
        told: Told,
        (features, advice): (&Features, &Advice),
        (dtype, objective): (Dtype, &Objective),
    ) -> Vec<Reason> {
        let Some(verdict) = advice.verdict(objective.products).filter(|_| !advice.is_empty) else {
            return Vec::new();
        };
        let used = verdict.recommended();
        let case = Case { a, features, used, told, dtype };
        let (facts, time, products) =
            (&self.profile().facts_here(), used.prediction.time, objective.products);
        let in_all = Seconds(used.cost(products));
        // Of a product, as a share of all that is counted.
        let share = |cost_s: f64| cost_s * products.unwrap_or(1) as f64 / in_all.0;
        let mut found: Vec<(f64, Reason)> = Vec::new();
        if told.is_complex {
            found.push((f64::INFINITY, Reason::Complex { bytes_factor: case.complex_factor() }));
        }
        let factor = case.duplicates_factor();
        if factor > 1.0 + LEAST {
            found.push((
                factor - 1.0,
                Reason::Duplicates { duplicates: told.duplicates, bytes_factor: factor },
            ));
        }
        let launch = share(facts.launch_s.0);
        if facts.kind.is_gpu() && launch >= HALF {
            found.push((launch, Reason::Launch { cost_s: facts.launch_s, of_s: time }));
        }
        if let (Some(products), Some(cost_s)) = (products, used.preparation) {
            let share = cost_s.0 / in_all.0;
            let of = match (facts.kind.is_gpu(), used.candidate.format().is_csr()) {
                (false, _) => Before::Conversion,
                (true, true) => Before::Upload,
                (true, false) => Before::ConversionAndUpload,
            };
            if share >= HALF {
                found.push((share, Reason::Upload { of, products, cost_s, of_s: in_all }));
            }
        }
        let suspects = Suspect::all(&case, facts).into_iter().filter(|(most, _)| share(*most) > LEAST);
        if let Some((_, suspect)) = suspects.max_by(|a, b| a.0.total_cmp(&b.0)) {
            let predicted = |features: &Features| -> Option<Seconds> {
                let advice = self.advise(features, dtype, objective).ok()?;
                Some(advice.verdict(products)?.recommended().prediction.time)
            };
            let reason = suspect.without(&case).and_then(|without| {
                let cost_s = Seconds(time.0 - predicted(&without)?.0);
                Some((share(cost_s.0), suspect.reason(&case, &without, cost_s)))
            });
            found.extend(reason.filter(|(share, _)| *share > LEAST));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(MOST);
        found.into_iter().map(|(_, reason)| reason).collect()
    }
}

impl<T: Scalar> Case<'_, T> {
    /// Imaginary parts are as many bytes as real ones.
    fn complex_factor(&self) -> f64 {
        let Features { nrows, ncols, nnz, .. } = *self.features;
        let values = self.used.candidate.dtype.bytes() * nnz + self.dtype.bytes() * (nrows + ncols);
        1.0 + values as f64 / self.used.bytes.0.max(1) as f64
    }

    /// A duplicate is a column and a value.
    fn duplicates_factor(&self) -> f64 {
        let more = self.told.duplicates * (4 + self.used.candidate.dtype.bytes());
        1.0 + more as f64 / self.used.bytes.0.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use sparsight_matrix::gallery::Recipe;

    fn made(recipe: &str) -> Csr<f64> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    fn reasons(a: &Csr<f64>, told: Told, products: Option<u64>) -> Vec<Reason> {
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let (advisor, features) = (Advisor::new(&profile), Features::of(a));
        let objective = Objective { products, ..Objective::default() };
        let advice = advisor.advise(&features, Dtype::F64, &objective).unwrap();
        advisor.reasons(a, told, (&features, &advice), (Dtype::F64, &objective))
    }

    const READ: Told = Told { has_values: true, is_complex: false, duplicates: 0, is_reordered: false };

    /// The mesh with rows of `length` entries in place of some of its own.
    fn with_long_rows(mesh: &Csr<f64>, rows: &[usize], length: usize) -> Csr<f64> {
        let (mut row_ptr, mut cols) = (vec![0], Vec::new());
        for row in 0..mesh.nrows() {
            if rows.contains(&row) {
                cols.extend((0..length as u32).map(|at| at * (mesh.ncols() / length) as u32));
            } else {
                cols.extend_from_slice(mesh.row(row).0);
            }
            row_ptr.push(cols.len() as u64);
        }
        let values = vec![1.0; cols.len()];
        Csr::try_new(mesh.nrows(), mesh.ncols(), row_ptr, cols, values).unwrap()
    }

    #[test]
    fn a_few_long_rows_are_named_with_what_they_cost() {
        let mesh = made("stencil2d,n=700");
        assert_eq!(reasons(&mesh, READ, None), [], "nothing stands out in a mesh");
        let long = with_long_rows(&mesh, &[7, 100_000, 200_000, 300_000], 42_254);
        let found = reasons(&long, READ, None);
        let [Reason::LongRows { rows: 4, longest: 42_254, cost_s, of_s }] = found[..] else {
            panic!("{found:?}")
        };
        assert!(cost_s.0 > LEAST * of_s.0 && cost_s < of_s, "{found:?}");
        let text = found[0].to_string();
        assert!(
            text.starts_with("4 rows of up to 42,254 non-zeros cost ") && text.ends_with(" us."),
            "{text}"
        );
    }

    #[test]
    fn stored_zeros_are_counted_where_values_are_known() {
        let fem = made("fem,n=24");
        let values =
            fem.values().iter().enumerate().map(|(at, value)| if at % 2 == 0 { 0.0 } else { *value });
        let (row_ptr, col_idx) = (fem.row_ptr().to_vec(), fem.col_idx().to_vec());
        let half = Csr::try_new(fem.nrows(), fem.ncols(), row_ptr, col_idx, values.collect()).unwrap();
        let found = reasons(&half, READ, None);
        let [Reason::StoredZeros { zeros, entries, cost_s, of_s }] = found[..] else { panic!("{found:?}") };
        assert_eq!((zeros, entries), (half.nnz().div_ceil(2) as u64, half.nnz() as u64));
        assert!(cost_s.0 > LEAST * of_s.0, "{found:?}");
        assert_eq!(reasons(&half, Told::default(), None), [], "values that are made up are no zeros");
    }

    #[test]
    fn a_bad_numbering_is_named_unless_an_order_was_chosen() {
        let shuffled = made("stencil2d,n=300,shuffle=1");
        let found = reasons(&shuffled, READ, None);
        let [Reason::Numbering { fetched, fetched_reordered, .. }] = found[..] else { panic!("{found:?}") };
        assert!(fetched > 5.0 * fetched_reordered && fetched_reordered >= 1.0, "{found:?}");
        assert_eq!(reasons(&shuffled, Told { is_reordered: true, ..READ }, None), []);
    }

    #[test]
    fn empty_rows_are_named() {
        let found = reasons(&made("hypersparse,n=3000000,filled=0.05"), READ, None);
        let is_empty = |reason: &Reason| matches!(reason, Reason::EmptyRows { rows: 3_000_000, .. });
        assert!(found.iter().any(is_empty), "{found:?}");
    }

    #[test]
    fn launch_and_upload_are_named_where_they_take_most_of_the_time() {
        let small = reasons(&made("stencil2d,n=30"), READ, None);
        assert!(matches!(small[..], [Reason::Launch { .. }]), "{small:?}");
        let few = reasons(&made("fem,n=24"), READ, Some(10));
        let [Reason::Upload { of: Before::Upload, products: 10, cost_s, of_s }] = few[..] else {
            panic!("{few:?}")
        };
        assert!(cost_s.0 > 0.9 * of_s.0 && cost_s < of_s);
        assert_eq!(reasons(&made("fem,n=24"), READ, Some(1_000_000)), []);
    }

    #[test]
    fn facts_of_the_file_come_first_and_at_most_two_reasons_are_given() {
        let told = Told { is_complex: true, duplicates: 4_000, ..Told::default() };
        let found = reasons(&made("stencil2d,n=30"), told, Some(10));
        let [Reason::Complex { bytes_factor }, _] = found[..] else { panic!("{found:?}") };
        assert!((1.3..2.0).contains(&bytes_factor), "{bytes_factor}");
        let found = reasons(&made("stencil2d,n=300"), Told { duplicates: 448_800, ..READ }, None);
        let [Reason::Duplicates { duplicates: 448_800, bytes_factor }] = found[..] else {
            panic!("{found:?}")
        };
        assert!((1.5..2.0).contains(&bytes_factor), "{bytes_factor}");
    }
}
