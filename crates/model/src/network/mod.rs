//! A small neural network: a smooth function where trees have steps.
//!
//! ```text
//! z_i = (v_i - mean_i) / spread_i, within -5..5                    inputs, whole numbers, within what was seen; 0 without a spread
//! h = s(A z + a_c)        one row of `a` for each class c
//! g = s(B h + b)
//! y = w g + y_c           the mean over several networks
//! s(u) = (u + sqrt(u^2 + 1)) / 2
//! ```
//! Trees answer in steps, a network smoothly, and their errors differ: the mean of both errs less than the trees. All classes
//! share A, B and w, so that what one of them has few rows of is learned from the others.
//!
//! Two layers, trained by Adam (Kingma and Ba 2015) with weight decay apart from the gradient (Loshchilov and Hutter 2019) on Huber's
//! loss. s asks for nothing but a square root: answers are the same, to the last bit, on every machine.

mod layers;
mod train;

use crate::packed::{push, push_signed, take, take_signed};
use layers::{FIRST, Layers};
use std::ops::Range;
pub(crate) use train::Row;

/// Networks over the same inputs, whose mean answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Network {
    inputs: Vec<Seen>,
    nets: Vec<Layers>,
}

/// Sums of the first layer of each network over inputs that several rows share.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    place: Range<usize>,
    first: Vec<[f32; FIRST]>,
}

/// What was seen of an input.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    least: i32,
    most: i32,
    mean: i32,
    /// Standard deviation; 0 where it is always the same, so that it does not count.
    spread: i32,
}

impl Seen {
    /// Standard deviations at which an input is held. Chosen.
    const FAR: f32 = 5.0;

    fn of(values: impl Iterator<Item = i32> + Clone) -> Self {
        let count = values.clone().count() as f64;
        let least = values.clone().min().unwrap_or(0);
        let most = values.clone().max().unwrap_or(0);
        let mean = values.clone().map(f64::from).sum::<f64>() / count;
        let spread =
            (values.map(|v| (f64::from(v) - mean) * (f64::from(v) - mean)).sum::<f64>() / count).sqrt();
        Self { least, most, mean: mean.round() as i32, spread: spread.round() as i32 }
    }

    fn scaled(self, value: i32) -> f32 {
        if self.spread <= 0 {
            return 0.0;
        }
        // `clamp` would panic on a damaged model, whose least may be the larger.
        let away = value.max(self.least).min(self.most).saturating_sub(self.mean);
        (away as f32 / self.spread as f32).clamp(-Self::FAR, Self::FAR)
    }
}

impl Network {
    /// Networks that give the responses of `rows`, at least one, of so many classes. Deterministic.
    pub(crate) fn train(rows: &[Row<'_>], classes: usize, nets: usize) -> Self {
        let count = rows[0].inputs.len();
        let inputs: Vec<Seen> =
            (0..count).map(|at| Seen::of(rows.iter().map(move |row| row.inputs[at]))).collect();
        let scaled: Vec<f32> = rows.iter().flat_map(|row| scaled(&inputs, row.inputs)).collect();
        let nets = train::nets(rows, &scaled, classes, nets);
        Self { inputs, nets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nets.is_empty()
    }

    /// What many rows have in common whose inputs from place `from` on are `shared`. The caller says which these are; there may be none.
    pub(crate) fn begin(&self, from: usize, shared: &[i32]) -> Begun {
        let place = from..from + shared.len();
        let Some(seen) = self.inputs.get(place.clone()) else { return Begun::default() };
        let scaled: Vec<f32> = scaled(seen, shared).collect();
        let first = self.nets.iter().map(|net| net.begin(&scaled, from)).collect();
        Begun { place, first }
    }

    /// The answer for a row of class `class`, which is one of those that it was trained with; 0 without networks. The shared inputs
    /// are those that `begun` was made of.
    pub(crate) fn answer(&self, inputs: &[i32], begun: &Begun, class: usize) -> f64 {
        let [before, behind] = [0..begun.place.start, begun.place.end..self.inputs.len()]
            .map(|place| scaled(&self.inputs[place.clone()], &inputs[place]).collect::<Vec<f32>>());
        let parts = [(0, &before[..]), (begun.place.end, &behind[..])];
        let answer = |(at, net): (usize, &Layers)| {
            f64::from(net.answer_of(&net.sums(begun.first.get(at), parts, class), class))
        };
        self.nets.iter().enumerate().map(answer).sum::<f64>() / self.nets.len().max(1) as f64
    }

    /// Adds all to `bytes`.
    pub(crate) fn pack(&self, bytes: &mut Vec<u8>) {
        push(bytes, self.nets.len() as u64);
        if self.nets.is_empty() {
            return;
        }
        for seen in &self.inputs {
            for number in [seen.least, seen.most, seen.mean, seen.spread] {
                push_signed(bytes, number.into());
            }
        }
        for net in &self.nets {
            net.pack(bytes);
        }
    }

    /// The networks of so many inputs and classes that `bytes` begin with, which are cut off from them.
    pub(crate) fn unpack(inputs: usize, classes: usize, bytes: &mut &[u8]) -> Result<Self, String> {
        let early = || "the network ends early, or holds too large a number".to_owned();
        let nets = take(bytes).ok_or_else(early)?;
        if nets == 0 {
            return Ok(Self::default());
        }
        let seen = |bytes: &mut &[u8]| {
            let mut number = || take_signed(bytes).ok_or_else(early);
            Ok::<_, String>(Seen { least: number()?, most: number()?, mean: number()?, spread: number()? })
        };
        let seen = (0..inputs).map(|_| seen(bytes)).collect::<Result<_, _>>()?;
        // A weight takes a byte: damaged numbers ask for no more than there is.
        if nets.saturating_mul((FIRST * (inputs + classes)) as u64) > bytes.len() as u64 {
            return Err(early());
        }
        let layers = |_| Layers::unpack(inputs, classes, bytes).ok_or_else(early);
        Ok(Self { inputs: seen, nets: (0..nets).map(layers).collect::<Result<_, _>>()? })
    }
}

fn scaled<'a>(seen: &'a [Seen], inputs: &'a [i32]) -> impl Iterator<Item = f32> + 'a {
    seen.iter().zip(inputs).map(|(seen, value)| seen.scaled(*value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const CLASSES: usize = 3;

    /// Rows of two inputs that count and one that is always the same; the last class has few of them.
    fn rows() -> Vec<([i32; 3], usize)> {
        let mut random = Random(7);
        let inputs = |random: &mut Random| [random.below(4000) as i32 - 2000, random.below(900) as i32, 17];
        (0..600).map(|at| (inputs(&mut random), if at < 30 { 2 } else { at % 2 })).collect()
    }

    fn law([a, b, _]: [i32; 3], class: usize) -> f32 {
        let (a, b) = (a as f32 / 1000.0, b as f32 / 900.0);
        0.2 * class as f32 + 0.1 * a * b - 0.15 * (a - 0.5).max(0.0)
    }

    fn trained(rows: &[([i32; 3], usize)]) -> Network {
        let row = |(inputs, class): &'_ ([i32; 3], usize)| (law(*inputs, *class), *class);
        let known: Vec<(f32, usize)> = rows.iter().map(row).collect();
        let rows = rows.iter().zip(&known).map(|((inputs, _), (response, class))| Row {
            inputs,
            class: *class,
            response: *response,
            weight: 1.0,
        });
        Network::train(&rows.collect::<Vec<_>>(), CLASSES, 2)
    }

    fn alone(network: &Network, inputs: [i32; 3], class: usize) -> f64 {
        network.answer(&inputs, &Begun::default(), class)
    }

    #[test]
    fn a_smooth_law_is_learned_also_of_a_class_with_few_rows() {
        let rows = rows();
        let (taught, others) = rows.split_at(500);
        let network = trained(taught);
        let off = |rows: &mut dyn Iterator<Item = ([i32; 3], usize)>| {
            let off = rows.map(|(inputs, class)| {
                (alone(&network, inputs, class) - f64::from(law(inputs, class))).abs()
            });
            let off: Vec<f64> = off.collect();
            off.iter().sum::<f64>() / off.len() as f64
        };
        // The responses themselves are spread over 0.8.
        let error = off(&mut others.iter().copied());
        assert!(error < 0.02, "{error}");
        let error = off(&mut others.iter().map(|(inputs, _)| (*inputs, 2)));
        assert!(error < 0.05, "{error}");
    }

    #[test]
    fn beyond_what_was_seen_the_answer_is_that_of_the_border() {
        let rows = rows();
        let network = trained(&rows[..100]);
        let most = rows[..100].iter().map(|(inputs, _)| inputs[0]).max().unwrap();
        let [border, far, other] = [[most, 5, 17], [i32::MAX, 5, 17], [most, 5, i32::MIN]]
            .map(|inputs| alone(&network, inputs, 0).to_bits());
        assert_eq!(border, far);
        assert_eq!(border, other, "what is always the same does not count");
    }

    #[test]
    fn rows_that_share_inputs_are_answered_as_each_alone() {
        let rows = rows();
        let network = trained(&rows[..100]);
        for (inputs, class) in &rows[100..120] {
            for shared in [0..2, 1..2, 1..3, 0..3, 2..2] {
                let begun = network.begin(shared.start, &inputs[shared.clone()]);
                let off = network.answer(inputs, &begun, *class) - alone(&network, *inputs, *class);
                assert!(off.abs() < 1e-6, "{shared:?}: {off}");
            }
        }
    }

    #[test]
    fn a_network_is_unpacked_as_it_was_packed_and_damage_is_refused() {
        let network = trained(&rows()[..100]);
        let mut bytes = Vec::new();
        network.pack(&mut bytes);
        bytes.push(9);
        let mut rest = &bytes[..];
        assert_eq!(Network::unpack(3, CLASSES, &mut rest), Ok(network));
        assert_eq!(rest, [9], "what follows is left");
        for length in (0..bytes.len() - 1).step_by(97) {
            let error = Network::unpack(3, CLASSES, &mut &bytes[..length]).unwrap_err();
            assert!(error.contains("ends early"), "{error}");
        }
        // Other weights or a refusal, but no panic.
        for at in (0..bytes.len()).step_by(31) {
            for value in [0, 127, 255] {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Ok(network) = Network::unpack(3, CLASSES, &mut &changed[..]) {
                    alone(&network, [i32::MIN, i32::MAX, 0], 2);
                }
            }
        }
        let mut none = Vec::new();
        Network::default().pack(&mut none);
        assert_eq!(none, [0]);
        assert_eq!(Network::unpack(3, CLASSES, &mut &none[..]), Ok(Network::default()));
        assert!(alone(&Network::default(), [1, 2, 3], 0).abs() < f64::MIN_POSITIVE);
    }
}
