//! Predictions of a device without models of its own, those of another one rescaled, and of a machine on which every product costs more
//! or less than on that of the profile:
//!
//! ```text
//! T = T_profile + (launch here - launch of the profile + small product here - small product of the profile) / 2
//! ```
//! Products of two launches move by as much: how far these overlap was not measured.

use super::{Answered, Predictor, predictions};
use crate::profile::Rescaled;
use sparsight_kernels::{Candidate, DeviceFacts};
use sparsight_matrix::{Features, Seconds};
use sparsight_model::{Between, Model, PredictError, Predicted, Term};

/// Asks a predictor of a profile and carries its answers over.
#[derive(Debug, Clone)]
pub struct CarriedPredictor<'p> {
    inner: Box<Predictor<'p>>,
    target: Target<'p>,
}

#[derive(Debug, Clone)]
enum Target<'p> {
    Device { rescaled: &'p Rescaled, facts: &'p DeviceFacts },
    Machine { launch: Seconds, difference: Seconds },
}

impl<'p> CarriedPredictor<'p> {
    pub(super) fn to_device(inner: Predictor<'p>, rescaled: &'p Rescaled, facts: &'p DeviceFacts) -> Self {
        Self { inner: Box::new(inner), target: Target::Device { rescaled, facts } }
    }

    /// `launch`: in the profile with what products cost more here, and in the profile.
    pub(super) fn to_machine(inner: Predictor<'p>, launch: Seconds, of_profile: Seconds) -> Self {
        let difference = Seconds(launch.0 - of_profile.0);
        Self { inner: Box::new(inner), target: Target::Machine { launch, difference } }
    }

    /// Predicts like [`Predictor::answer_each`].
    pub(super) fn answer_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Answered> {
        self.carried(self.inner.answer_each(candidates, features), candidates, features)
    }

    /// Predicts like [`Predictor::answer_possible`]. What is possible on another device is not for the reference to say.
    pub(super) fn answer_possible(&self, possible: &[Candidate], features: &Features) -> Vec<Answered> {
        match self.target {
            Target::Device { .. } => self.answer_each(possible, features),
            Target::Machine { .. } => {
                self.carried(self.inner.answer_possible(possible, features), possible, features)
            }
        }
    }

    fn carried(
        &self,
        mut answers: Vec<Answered>,
        candidates: &[Candidate],
        features: &Features,
    ) -> Vec<Answered> {
        for (answer, candidate) in answers.iter_mut().zip(candidates) {
            let Ok((_, prediction)) = answer else { continue };
            match self.target {
                Target::Device { rescaled, facts: to } => {
                    let between = Between { from: &rescaled.reference.device.facts, to };
                    rescaled.rescaling.carry(prediction, candidate, features, between);
                }
                Target::Machine { launch, difference } => prediction.move_by(difference, launch),
            }
        }
        answers
    }
}

impl Model for CarriedPredictor<'_> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn predict(&self, candidate: &Candidate, features: &Features) -> Predicted {
        self.predict_each(std::slice::from_ref(candidate), features).swap_remove(0)
    }

    fn predict_each(&self, candidates: &[Candidate], features: &Features) -> Vec<Predicted> {
        predictions(self.answer_each(candidates, features))
    }

    /// The sum of the profile or on the reference, the time that is added or the factor, and the time here.
    fn explain(&self, candidate: &Candidate, features: &Features) -> Result<Vec<Term>, PredictError> {
        let mut terms = self.inner.explain(candidate, features)?;
        let here = self.predict(candidate, features)?.time.0;
        let (name, value, unit) = match self.target {
            Target::Device { .. } => {
                let there = self.inner.predict(candidate, features)?.time.0;
                ("T / T on the reference", here / there, "")
            }
            Target::Machine { difference, .. } => {
                ("what products take longer here than in the profile", difference.0, "s")
            }
        };
        terms.push(Term { part: "", name, value, unit });
        terms.push(Term { part: "", name: "T here", value: here, unit: "s" });
        Ok(terms)
    }
}

#[cfg(test)]
mod tests {
    use crate::model_name::ModelName;
    use crate::{Advisor, Objective, Profile};
    use sparsight_kernels::LaunchCost;
    use sparsight_matrix::gallery::Recipe;
    use sparsight_matrix::{Csr, Dtype, Features, Seconds};
    use sparsight_model::Model;

    #[test]
    fn every_candidate_takes_so_much_longer_as_every_product_does_here() {
        let a: Csr<f64> = "stencil2d,n=60".parse::<Recipe>().unwrap().generate().unwrap();
        let features = Features::of(&a);
        let of = |profile: &Profile| {
            let advice = Advisor::new(profile).advise(&features, Dtype::F64, &Objective::default()).unwrap();
            advice.ours().map(|one| (one.candidate, one.prediction.time.0)).collect::<Vec<_>>()
        };
        let shipped = || Profile::shipped("nvidia-h200").unwrap();
        let launch = shipped().device.facts.launch_s;
        let on_machine = |launch: f64| {
            shipped().on_machine(&LaunchCost { launch_s: Seconds(launch), small_product_s: None })
        };
        let there = of(&shipped());
        for more in [0.4e-6, -0.2e-6] {
            let here = of(&on_machine(launch.0 + more));
            assert_eq!(here.len(), there.len());
            for ((candidate, here), (known, there)) in here.iter().zip(&there) {
                assert_eq!(candidate, known, "the order stays");
                assert!((here - there - more).abs() < 1e-12, "{candidate}: {there} {here}");
            }
        }
        assert_eq!(of(&on_machine(0.0)), there, "a launch that was not measured");

        let small = shipped().device.facts.small_product_s.unwrap();
        let here = LaunchCost {
            launch_s: Seconds(launch.0 + 0.2e-6),
            small_product_s: Some(Seconds(small.0 + 0.4e-6)),
        };
        let here = shipped().on_machine(&here);
        assert!((here.launch_here.unwrap().0 - launch.0 - 0.3e-6).abs() < 1e-12);
        assert!((of(&here)[0].1 - there[0].1 - 0.3e-6).abs() < 1e-12);
        let absurd = LaunchCost { launch_s: Seconds(1e-9), small_product_s: Some(Seconds(1e-9)) };
        assert_eq!(shipped().on_machine(&absurd).launch_here, Some(Seconds(0.5 * launch.0)));
        let mut unmeasured = shipped();
        unmeasured.device.facts.launch_s = Seconds(0.0);
        assert_eq!(unmeasured.on_machine(&absurd).launch_here, None);

        let profile = on_machine(launch.0 + 0.4e-6);
        let objective = Objective::default();
        let predictor = Advisor::new(&profile)
            .predictor(ModelName::Best, objective.placement, objective.row_length)
            .unwrap();
        let (candidate, time) = of(&profile)[0];
        let explained = predictor.explain(&candidate, &features).unwrap().last().unwrap().value;
        assert_eq!(explained.to_bits(), time.to_bits());
    }
}
