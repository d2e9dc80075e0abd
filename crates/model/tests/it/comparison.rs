//! `Comparison`: learned from a made-up corpus, stored, read back, and joined with times that are wrong.

use crate::made_up::located;
use sparsight_kernels::{BLOCKS, Candidate, DeviceFacts, Kernel, catalogue};
use sparsight_matrix::{Dtype, Features, RowLengths, Seconds};
use sparsight_model::{
    Comparison, Judged, LearningSample, LogInterval, MIN_MATRICES, Origin, PredictError, Storable,
};

fn facts() -> DeviceFacts {
    DeviceFacts { launch_s: Seconds(1e-6), ..crate::made_up::gpu("made up", 4, 2048) }
}

fn matrix(i: u64) -> (String, Features) {
    let (nrows, row) = (500 * (1 + i * 7 % 60), 1 + i * 13 % 90);
    let lengths = RowLengths::from_counts([(row, nrows)]);
    (format!("made/{i}"), located(Features::from_row_lengths(&lengths, nrows, row, 0.5)))
}

/// COO is the best of short rows and the ELL kernel of long ones; others take twice as long, and blocks of 1024 a
/// tenth longer. Matrices differ in what all candidates have in common.
fn law(candidate: &Candidate, features: &Features) -> Seconds {
    let favourite = if features.row_max < 40 { Kernel::known("coo") } else { Kernel::known("ell") };
    let slower = if candidate.kernel == favourite { 1.0 } else { 2.0 };
    let block = if candidate.block == 1024 { 1.1 } else { 1.0 };
    Seconds(1e-6 * (features.nrows % 7000 + 1000) as f64 * slower * block)
}

fn samples(corpus: &[(String, Features)]) -> Vec<LearningSample<'_>> {
    corpus
        .iter()
        .flat_map(|(matrix, features)| {
            let best = catalogue(Dtype::F64).map(|c| law(&c, features).0).fold(f64::INFINITY, f64::min);
            catalogue(Dtype::F64).map(move |candidate| LearningSample {
                matrix,
                features,
                candidate,
                time: law(&candidate, features),
                best: Seconds(best),
                origin: Origin::Real,
            })
        })
        .collect()
}

fn fit(corpus: &[(String, Features)]) -> Result<Comparison, PredictError> {
    Comparison::fit(&facts(), &samples(corpus), &[])
}

fn corpus(count: u64) -> Vec<(String, Features)> {
    (0..count).map(matrix).collect()
}

#[test]
fn ratios_are_learned_although_times_cannot_be_known() {
    let comparison = fit(&corpus(120)).unwrap();
    assert_eq!(comparison.matrices(), 120);
    assert!(comparison.choice().within_5_percent > 0.95, "{:?}", comparison.choice());
    let candidates: Vec<Candidate> = catalogue(Dtype::F64).collect();
    for i in [130, 140, 150] {
        let (_, features) = matrix(i);
        let best = candidates.iter().map(|c| law(c, &features).0).fold(f64::INFINITY, f64::min);
        let ratios = comparison.log_ratios(&candidates, &features, &facts());
        for (candidate, ratio) in candidates.iter().zip(ratios) {
            let (ratio, expected) = (ratio.unwrap(), (law(candidate, &features).0 / best).ln());
            // What is far from the best counts little, so it is known less well.
            let allowed = 0.02 + 0.3 * expected;
            assert!((ratio - expected).abs() < allowed, "{i} {candidate}: {ratio} {expected}");
        }
    }
}

#[test]
fn joined_times_are_those_of_single_kernels_in_the_order_of_the_comparison() {
    let comparison = fit(&corpus(120)).unwrap();
    let (_, features) = matrix(130);
    let candidates: Vec<Candidate> = catalogue(Dtype::F64).collect();
    let first = |times: &[Seconds]| {
        let of = times.iter().zip(&candidates).min_by(|a, b| a.0.0.total_cmp(&b.0.0)).unwrap();
        (of.1.kernel, of.0.0)
    };
    let best = candidates.iter().min_by(|a, b| law(a, &features).0.total_cmp(&law(b, &features).0)).unwrap();
    // Each kernel errs by itself: another kernel than the best is underestimated so far that it would come first.
    let wrong = |c: &Candidate| if c.kernel == Kernel::known("csr-scalar") { 0.45 } else { 1.0 };
    let before: Vec<Seconds> = candidates.iter().map(|c| Seconds(law(c, &features).0 * wrong(c))).collect();
    assert_eq!(first(&before).0, Kernel::known("csr-scalar"));
    let ratios = comparison.log_ratios(&candidates, &features, &facts());
    let mut alone: Vec<Option<Seconds>> = before.iter().copied().map(Some).collect();
    let after: Vec<Seconds> = Comparison::joined(&ratios, &alone).into_iter().flatten().collect();
    let (kernel, time) = first(&after);
    assert_eq!(kernel, best.kernel);
    assert!((time / law(best, &features).0 - 1.0).abs() < 0.05, "{time}");
    for ((candidate, alone), joined) in candidates.iter().zip(&before).zip(&after) {
        assert!(joined.0 >= first(&before).1, "never below what was predicted for any: {candidate}");
        let far = law(candidate, &features).0 > 1.5 * law(best, &features).0;
        if far && candidate.kernel != Kernel::known("csr-scalar") {
            assert_eq!(joined, alone, "what is far behind keeps its own time: {candidate}");
        }
    }
    // A candidate without a prediction gets none, and the others are joined as if it had not been asked for.
    let at = candidates.iter().position(|candidate| candidate == best).unwrap();
    let mut ratios = ratios;
    alone[at] = None;
    let mut without = Comparison::joined(&ratios, &alone);
    assert_eq!(without.remove(at), None);
    ratios.remove(at);
    alone.remove(at);
    assert_eq!(without, Comparison::joined(&ratios, &alone), "as if it had not been asked for");
}

#[test]
fn intervals_of_joined_times_are_as_wide_as_held_out_times_ask_for() {
    let corpus = corpus(120);
    let samples = samples(&corpus);
    // Every second matrix takes a tenth more than predicted in all candidates, and intervals end at 5 %.
    let beyond = |matrix: &str| if matrix.ends_with(['0', '2', '4', '6', '8']) { 1.1 } else { 1.0 };
    let judged: Vec<Judged<'_>> = samples
        .iter()
        .map(|&sample| Judged {
            sample,
            predicted: Seconds(sample.time.0 / beyond(sample.matrix)),
            interval: LogInterval::new(-1.05_f64.ln(), 1.05_f64.ln()),
        })
        .collect();
    let comparison = Comparison::fit(&facts(), &samples, &judged).unwrap();
    let candidates: Vec<Candidate> = catalogue(Dtype::F64).collect();
    let (_, features) = matrix(130);
    let times: Vec<Option<Seconds>> = candidates.iter().map(|c| Some(law(c, &features))).collect();
    let ratios = comparison.log_ratios(&candidates, &features, &facts());
    let expected = 1.1_f64.ln() / 1.05_f64.ln();
    for factor in comparison.interval_factors(&candidates, &ratios, &times) {
        assert!((factor / expected - 1.0).abs() < 0.25, "{factor} in place of {expected}");
    }
    let short = vec![Some(Seconds(2e-6)); candidates.len()];
    let factors = comparison.interval_factors(&candidates, &ratios, &short);
    assert_eq!(factors, vec![1.0; candidates.len()], "of that size nothing was held out");
    let unknown = vec![None; candidates.len()];
    let factors = comparison.interval_factors(&candidates, &unknown, &times);
    assert_eq!(factors, vec![1.0; candidates.len()], "what was not compared keeps its interval");
    let without = fit(&corpus).unwrap();
    let factors = without.interval_factors(&candidates, &ratios, &times);
    assert_eq!(factors, vec![1.0; candidates.len()], "nothing was judged");
}

#[test]
fn candidates_without_a_comparison_are_unchanged() {
    let comparison = fit(&corpus(40)).unwrap();
    let (_, features) = matrix(50);
    let single = Candidate { kernel: Kernel::known("coo"), block: BLOCKS[0], dtype: Dtype::F32 };
    let alone = [Some(Seconds(1e-6))];
    assert_eq!(comparison.log_ratios(&[single], &features, &facts()), [None], "no f32 was measured");
    assert_eq!(Comparison::joined(&[None], &alone), alone);
    let block = Candidate { block: 96, dtype: Dtype::F64, ..single };
    assert_eq!(comparison.log_ratios(&[block], &features, &facts()), [None], "nor this block size");
    let unlocated = Features { locality: None, ..features };
    assert_eq!(comparison.log_ratios(&[single], &unlocated, &facts()), [None]);
    assert!(Comparison::joined(&[], &[]).is_empty());

    let few = fit(&corpus(MIN_MATRICES as u64 - 1)).unwrap_err();
    assert!(matches!(few, PredictError::TooFewMatrices { model: "comparison", .. }), "{few}");
}

#[test]
fn the_same_samples_give_the_same_comparison_and_another_format_is_refused() {
    let comparison = fit(&corpus(40)).unwrap();
    let text = serde_json::to_string(&comparison.split().0).unwrap();
    assert_eq!(fit(&corpus(40)).unwrap(), comparison, "the same again");
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        serde_json::from_str::<Comparison>(&text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(refused("comparison/6", "comparison/0").contains("fit it again"));
    assert!(refused("n / S", "n").contains("fit it again"));
}

#[test]
fn a_stored_comparison_reads_back_and_is_empty_without_its_bytes() {
    let comparison = fit(&corpus(40)).unwrap();
    let (text, body) = comparison.split();
    let json = serde_json::to_string(&text).unwrap();
    let text: Comparison = serde_json::from_str(&json).unwrap();
    assert_eq!(text.clone().join(&body).unwrap(), comparison);
    let (_, features) = matrix(50);
    let single = Candidate { kernel: Kernel::known("coo"), block: BLOCKS[0], dtype: Dtype::F64 };
    assert_eq!(text.log_ratios(&[single], &features, &facts()), [None]);
    assert!(text.clone().join(&body[..body.len() - 1]).unwrap_err().contains("end within a number"));
    assert!(
        text.clone().join(&[&body[..], &[0]].concat()).unwrap_err().contains("1 unexpected bytes follow")
    );
    let fewer = json.replacen("\"blocks\":[64,", "\"blocks\":[", 1);
    let fewer: Comparison = serde_json::from_str(&fewer).unwrap();
    assert!(fewer.join(&body).unwrap_err().contains("candidates"), "trees of others");
}
