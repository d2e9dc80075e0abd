//! Ranking by an iteration of a solver: the products of every candidate, and the launches between them.
//!
//! A candidate whose kernel takes no epilogue or no dot products pays for a second launch after each product, so the fastest product
//! need not be the fastest iteration. An iteration is taken to be captured in a CUDA graph: its launches follow each other as the
//! products of a measured batch do.

use super::{Advice, Advised, Advisor, put_known_first};
use crate::{Error, Objective, Profile};
use serde::Serialize;
use sparsight_kernels::{Candidate, DeviceKind, THREADS_AT_ONCE, compulsory_bytes};
use sparsight_matrix::{Bytes, Dtype, Features, Seconds};
use sparsight_model::{InLaunch, IteratedProduct, Iteration, IterationCost, Prediction};

/// What candidates were ranked by in place of a product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByIteration {
    /// The solver.
    pub name: Iteration,
    /// Candidate for products with A^T, where an iteration has them: the fastest in it, beside every candidate for A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transposed: Option<Transposed>,
}

/// The products with A^T.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transposed {
    /// The candidate.
    pub id: Candidate,
    /// Time of one product by itself.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// Memory of A^T on the device in its format.
    pub memory_bytes: Bytes,
}

impl Advisor<'_> {
    /// [`Advisor::advise`] for an iteration of a solver: candidates are ranked by its time, or by that of `products` iterations with
    /// conversion and upload, and break-evens are counted in iterations. Candidates of ours that add by atomics, whose y differs in its
    /// last bits from run to run, are left out where there are others. O(1) in the matrix.
    ///
    /// `transposed`: features of A^T, where [`Iteration::needs_transpose`]; its candidate is chosen here, and what it takes to prepare it
    /// is added to that of each candidate for A.
    ///
    /// ```
    /// use sparsight::model::Iteration;
    /// use sparsight::{Advisor, Dtype, Objective, Profile, matrix::{Features, gallery::Recipe}};
    /// let features = Features::of(&"stencil2d,n=300".parse::<Recipe>()?.generate::<f64>()?);
    /// let (profile, objective) = (Profile::shipped("nvidia-h200")?, Objective::default());
    /// let advice = Advisor::new(&profile).advise_iteration((&features, None), Dtype::F64, &objective, Iteration::Cg)?;
    /// let time = advice.ranked[0].iteration.unwrap();
    /// // In a graph a product takes less than by itself.
    /// assert!(time.in_products < advice.ranked[0].prediction.time && time.in_products < time.time);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Advisor::advise`]; [`Error::NotSquare`] if the solver is for square matrices.
    ///
    /// # Panics
    /// If the iteration needs A^T and its features are not given.
    pub fn advise_iteration(
        &self,
        (features, transposed): (&Features, Option<&Features>),
        dtype: Dtype,
        objective: &Objective,
        iteration: Iteration,
    ) -> Result<Advice, Error> {
        let (nrows, ncols) = (features.nrows, features.ncols);
        if nrows != ncols && !iteration.needs_transpose() {
            return Err(Error::NotSquare { what: iteration.title(), nrows, ncols });
        }
        let mut advice = repeatable(self.advise(features, dtype, objective)?);
        let cost = cost(self.profile());
        let turned = transposed.filter(|_| iteration.needs_transpose());
        let of_transposed =
            turned.map(|turned| Ok::<_, Error>((turned, repeatable(self.advise(turned, dtype, objective)?))));
        let of_transposed = of_transposed.transpose()?;
        assert!(
            of_transposed.is_some() || !iteration.needs_transpose(),
            "features of A^T are given for an iteration that multiplies with it"
        );
        let (size, kind) = ((nrows, ncols), self.profile().device.facts.kind);
        let time = |a: &Advised, t: Option<(&Features, &Advised)>| {
            let turned = t.map(|(features, advised)| iterated(advised, features, kind));
            let entry = a.candidate.dtype.vector_bytes();
            cost.time(iteration, iterated(a, features, kind), turned, size, entry)
        };
        let Some(first) = advice.ranked.first().cloned() else { return Ok(advice) };
        // What stands between products depends on the kernel alone: the best beside one candidate for A is the best beside each.
        let best = of_transposed.as_ref().and_then(|(features, advice)| {
            let all = advice.ranked.iter().filter_map(|one| {
                let time = time(&first, Some((features, one)))?.time.0;
                let ready = one.preparation.map_or(f64::INFINITY, |preparation| preparation.0);
                Some((objective.products.map_or(time, |n| ready + n as f64 * time), one))
            });
            Some((*features, all.min_by(|a, b| a.0.total_cmp(&b.0))?.1))
        });
        if of_transposed.is_some() && best.is_none() {
            advice.ranked.clear();
            return Ok(advice);
        }
        for advised in &mut advice.ranked {
            advised.iteration = time(advised, best);
            if let Some((_, turned)) = best {
                let both = advised.preparation.zip(turned.preparation);
                advised.preparation = both.map(|(a, t)| Seconds(a.0 + t.0));
            }
        }
        let transposed = best.map(|(_, one)| Transposed {
            id: one.candidate,
            prediction: one.prediction.clone(),
            memory_bytes: one.memory,
        });
        advice.iteration = Some(ByIteration { name: iteration, transposed });
        advice.rank(objective.products);
        put_known_first(&mut advice.ranked);
        advice.count_from(advice.usually_run(objective.products));
        Ok(advice)
    }
}

/// Prices on the device of the profile, or on the machine at hand.
fn cost(profile: &Profile) -> IterationCost {
    IterationCost::new(&profile.facts_here())
}

/// Without those of our candidates that add by atomics, if there are others: a solver that is run twice is to take the same way.
fn repeatable(mut advice: Advice) -> Advice {
    let is_repeatable = |one: &Advised| one.candidate.kernel.is_repeatable();
    if advice.ours().any(is_repeatable) {
        advice.ranked.retain(|one| one.candidate.kernel.is_vendors() || is_repeatable(one));
    }
    advice
}

fn iterated<'a>(advised: &'a Advised, features: &Features, kind: DeviceKind) -> IteratedProduct<'a> {
    IteratedProduct {
        prediction: &advised.prediction,
        bytes: compulsory_bytes(&advised.candidate, features),
        in_launch: in_launch(&advised.candidate, features, kind),
    }
}

/// What the kernel of a candidate takes in its launch: epilogues where that is the only one, and dot products unless thread blocks share
/// rows, as `device/src/gpu/epilogue.rs` does it. A processor has no launches.
fn in_launch(candidate: &Candidate, features: &Features, kind: DeviceKind) -> InLaunch {
    let (kernel, is_gpu) = (candidate.kernel, kind.is_gpu());
    let epilogue = !is_gpu || kernel.shares_a_launch();
    let blocks = kernel.thread_blocks(candidate.block, features).ceil();
    InLaunch {
        epilogue,
        dots: epilogue && !(is_gpu && kernel.shares_rows(features)),
        block_sums: is_gpu && blocks * f64::from(candidate.block) > THREADS_AT_ONCE as f64,
        blocks: blocks as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::Csr;
    use sparsight_matrix::gallery::Recipe;

    fn matrix(recipe: &str) -> Csr<f64> {
        recipe.parse::<Recipe>().unwrap().generate().unwrap()
    }

    fn advice(recipe: &str, iteration: Iteration, products: Option<u64>) -> (Advice, Advice) {
        let a = matrix(recipe);
        let (features, turned) = (Features::of(&a), Features::of(&a.transposed().unwrap()));
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let (advisor, objective) = (Advisor::new(&profile), Objective { products, ..Objective::default() });
        let by_product = advisor.advise(&features, Dtype::F64, &objective).unwrap();
        let of = (&features, Some(&turned));
        (by_product, advisor.advise_iteration(of, Dtype::F64, &objective, iteration).unwrap())
    }

    #[test]
    fn candidates_are_ranked_by_the_iteration_and_their_products_stay_as_predicted() {
        for (recipe, iteration) in [
            ("stencil2d,n=300", Iteration::Cg),
            ("power-law,n=30000", Iteration::Bicgstab),
            ("tall,rows=40000,cols=12000,row=5", Iteration::Pdhg),
        ] {
            let (by_product, advice) = advice(recipe, iteration, None);
            let is_ranked =
                |one: &Advised| one.candidate.kernel.is_vendors() || one.candidate.kernel.is_repeatable();
            let ranked: Vec<_> = by_product.ranked.iter().filter(|one| is_ranked(one)).collect();
            assert!(ranked.len() == advice.ranked.len() && ranked.len() < by_product.ranked.len());
            let time = |one: &Advised| one.iteration.unwrap().time;
            let launch = Profile::shipped("nvidia-h200").unwrap().device.facts.launch_s.0;
            // The first may be one of which more is known.
            assert!(advice.ranked[1..].windows(2).all(|two| time(&two[0]) <= time(&two[1])), "{recipe}");
            for one in ranked {
                let other = advice.ranked.iter().find(|other| other.candidate == one.candidate).unwrap();
                assert_eq!(one.prediction, other.prediction);
                let iterated = other.iteration.unwrap();
                let many = if iteration == Iteration::Bicgstab { 2.0 } else { 1.0 };
                assert!(iterated.in_products.0 > many * (one.prediction.time.0 - launch));
                assert!(iterated.low <= iterated.time && iterated.time <= iterated.high);
            }
            let verdict = advice.verdict(None).unwrap();
            let csr = verdict.vendors_csr.unwrap();
            let speedup = time(csr).0 / time(verdict.best).0;
            assert!(
                (verdict.speedup(csr) / speedup - 1.0).abs() < 1e-12,
                "a speedup is that of an iteration"
            );
        }
    }

    #[test]
    fn a_kernel_without_epilogues_pays_for_a_second_launch() {
        let (_, advice) = advice("stencil2d,n=300", Iteration::Cg, None);
        let of = |id: &str| advice.ranked.iter().find(|one| one.candidate.to_string() == id).unwrap();
        let beside = |id: &str| of(id).iteration.unwrap().time.0 - of(id).prediction.time.0;
        let launches = |id: &str| of(id).iteration.unwrap().launches;
        let (ours, segmented, vendors) =
            ("csr-scalar/b256/f64", "csr-segmented/b128/f64", "cusparse-csr/a1/f64");
        assert_eq!([ours, segmented, vendors].map(launches), [2, 3, 3]);
        // Four threads a row are more than run at once: a launch behind them adds up the sums of their blocks.
        assert_eq!(launches("csr-vector/t4/b256/f64"), 3);
        // By hand: a launch behind takes 1.2 us, and 0.5 us of the other are for 3 dot products of 352 thread blocks.
        for id in [segmented, vendors] {
            assert!(beside(id) - beside(ours) > 0.7e-6, "{id}");
        }
    }

    #[test]
    fn an_iteration_with_both_names_the_candidate_for_the_transpose_and_counts_both() {
        let (by_product, advice) = advice("tall,rows=40000,cols=12000,row=5", Iteration::Pdhg, Some(1000));
        let turned = advice.iteration.as_ref().unwrap().transposed.as_ref().unwrap();
        let best = &advice.ranked[0];
        let alone = by_product.ranked.iter().find(|one| one.candidate == best.candidate).unwrap();
        assert!(
            best.memory == alone.memory && best.preparation > alone.preparation && turned.memory_bytes.0 > 0
        );
        // Each is shorter in a graph, by less than a launch.
        let sum = best.prediction.time.0 + turned.prediction.time.0;
        let shorter = sum - best.iteration.unwrap().in_products.0;
        let launch = Profile::shipped("nvidia-h200").unwrap().device.facts.launch_s.0;
        assert!(0.0 < shorter && shorter < 2.0 * launch, "{shorter}");
        let in_all = best.preparation.unwrap().0 + 1000.0 * best.iteration.unwrap().time.0;
        assert!((best.in_all(1000).unwrap().0 / in_all - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_matrix_that_is_not_square_is_refused_where_a_solver_wants_one() {
        let features = Features::of(&matrix("tall,rows=400,cols=120,row=5"));
        let profile = Profile::shipped("nvidia-h200").unwrap();
        let advised = Advisor::new(&profile).advise_iteration(
            (&features, None),
            Dtype::F64,
            &Objective::default(),
            Iteration::Cg,
        );
        let refused = advised.unwrap_err().to_string();
        assert_eq!(refused, "CG is for square matrices, and this one is 400 x 120");
    }
}
