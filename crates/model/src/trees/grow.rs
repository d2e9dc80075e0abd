//! Growing trees: squared loss, histograms, splits looked for along random projections.

use super::bins::{BINS, Bins};
use super::packed::Limits;
use super::tree::Tree;
use crate::random::Random;
use rayon::prelude::*;
use sparsight_matrix::mix;

/// Parameters of the growth of trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth {
    /// Forests grown each by itself, whose mean predicts.
    pub(crate) forests: usize,
    /// Trees of each.
    pub(crate) trees: usize,
    /// Depth, at most what the forest can hold.
    pub(crate) depth: u32,
    pub(crate) learning_rate: f32,
    /// Weight that a leaf must hold; a row has the mean weight of its outputs.
    pub(crate) min_leaf: f32,
    /// Added to the weight of a leaf, which draws its numbers towards 0.
    pub(crate) l2: f32,
    /// Share of the inputs that a tree may look at.
    pub(crate) inputs_per_tree: f64,
    /// Share of the rows that a tree is grown from.
    pub(crate) rows_per_tree: f64,
    /// Random projections of the residuals, along which splits are looked for. One is exact where there is one output.
    pub(crate) projections: usize,
    pub(crate) seed: u64,
}

/// A row of the training data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) inputs: &'a [i32],
    /// A number for each output; anything where nothing is known.
    pub(crate) responses: &'a [f32],
    /// Weight of each response; 0 where nothing is known.
    pub(crate) weights: &'a [f32],
}

/// Trees whose sum gives the responses of `rows`, at least one, each counting by its weight. The first tree is a leaf:
/// where all begin. Leaves are in units of `1 / per_one`. Deterministic.
///
/// # Panics
/// If trees are to be deeper than `limits`, or rows have more inputs: both are constants of this crate.
pub(super) fn grow(rows: &[Row<'_>], growth: &Growth, limits: Limits, per_one: f64) -> Vec<Tree> {
    assert!(growth.depth <= limits.depth && rows[0].inputs.len() as u64 <= limits.inputs);
    let bins = Bins::of(rows);
    let outputs = rows[0].responses.len();
    let start: Vec<f32> = (0..outputs)
        .map(|output| {
            let weight: f32 = rows.iter().map(|r| r.weights[output]).sum();
            let sum: f32 = rows.iter().map(|r| r.weights[output] * r.responses[output]).sum();
            if weight > 0.0 { sum / weight } else { 0.0 }
        })
        .collect();
    let one = |at: usize| {
        let seed = mix(growth.seed + at as u64);
        Boosted::new(rows, &bins, &start, growth, per_one, seed).grown()
    };
    let forests: Vec<Vec<Tree>> = (0..growth.forests).into_par_iter().map(one).collect();
    let start = start.into_iter().map(|start| (f64::from(start) * per_one).round() as i32);
    std::iter::once(Tree::constant(start)).chain(forests.into_iter().flatten()).collect()
}

/// A forest while it grows.
struct Boosted<'a, 'r> {
    rows: &'a [Row<'r>],
    bins: &'a Bins,
    growth: &'a Growth,
    /// Units of a leaf in one.
    per_one: f64,
    random: Random,
    /// Row after row, what is still to be learned of each output.
    residuals: Vec<f32>,
}

impl<'a, 'r> Boosted<'a, 'r> {
    fn new(
        rows: &'a [Row<'r>],
        bins: &'a Bins,
        start: &[f32],
        growth: &'a Growth,
        per_one: f64,
        seed: u64,
    ) -> Self {
        let residuals =
            rows.iter().flat_map(|row| row.responses.iter().zip(start).map(|(y, start)| y - start));
        Self { rows, bins, growth, per_one, random: Random(seed), residuals: residuals.collect() }
    }

    fn grown(mut self) -> Vec<Tree> {
        (0..self.growth.trees).map(|_| self.tree()).collect()
    }

    fn tree(&mut self) -> Tree {
        let inputs = self.some_inputs();
        let drawn: Vec<bool> =
            self.rows.iter().map(|_| self.random.happens(self.growth.rows_per_tree)).collect();
        let projected = self.projected(&drawn);
        let rows: Vec<usize> = (0..self.rows.len()).collect();
        let grown = Tree::default();
        let mut growing =
            Growing { boosted: self, inputs: &inputs, drawn: &drawn, projected: &projected, grown };
        let histogram = growing.histogram(&rows);
        growing.grow(rows, histogram, 0);
        growing.grown
    }

    /// Inputs that a tree may look at, by their place among the bins.
    fn some_inputs(&mut self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.bins.inputs.len()).collect();
        let some = (all.len() as f64 * self.growth.inputs_per_tree).ceil() as usize;
        for at in 0..some {
            let other = at + self.random.below(all.len() - at);
            all.swap(at, other);
        }
        all.truncate(some);
        all
    }

    /// Row after row, the weighted residuals along random directions, each plus or minus every output (Achlioptas
    /// 2003), and the mean weight; zeros for rows that were not drawn.
    fn projected(&mut self, drawn: &[bool]) -> Vec<f32> {
        let outputs = self.rows[0].weights.len();
        let signs: Vec<f32> = (0..outputs * self.growth.projections)
            .map(|_| if self.random.next().is_multiple_of(2) { 1.0 } else { -1.0 })
            .collect();
        let mut all = Vec::with_capacity(self.rows.len() * (self.growth.projections + 1));
        for ((row, residuals), &drawn) in self.rows.iter().zip(self.residuals.chunks(outputs)).zip(drawn) {
            let scale = if drawn { (outputs as f32).recip() } else { 0.0 };
            let weighted: Vec<f32> = residuals.iter().zip(row.weights).map(|(r, w)| r * w).collect();
            let along = |signs: &[f32]| weighted.iter().zip(signs).map(|(r, sign)| r * sign).sum::<f32>();
            // The projections' scale does not matter: they are compared with each other alone.
            all.extend(signs.chunks(outputs).map(|signs| if drawn { along(signs) } else { 0.0 }));
            all.push(scale * row.weights.iter().sum::<f32>());
        }
        all
    }
}

/// A tree while it grows.
struct Growing<'t, 'a, 'r> {
    boosted: &'t mut Boosted<'a, 'r>,
    inputs: &'t [usize],
    drawn: &'t [bool],
    projected: &'t [f32],
    /// The tree so far.
    grown: Tree,
}

/// Sums of projections and weights, for each input and each of its intervals.
type Histogram = Vec<f32>;

struct Split {
    gain: f32,
    /// Place among the tree's inputs.
    input: usize,
    /// The last interval of the left side.
    bin: u8,
}

/// Adds numbers to sums, as many. Most are two, a projection and a weight, for which a loop takes twice as long.
fn add(sums: &mut [f32], more: &[f32]) {
    if let ([a, b], [c, d]) = (&mut *sums, more) {
        (*a, *b) = (*a + c, *b + d);
        return;
    }
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

impl Growing<'_, '_, '_> {
    fn width(&self) -> usize {
        self.boosted.growth.projections + 1
    }

    fn projected(&self, row: usize) -> &[f32] {
        &self.projected[row * self.width()..][..self.width()]
    }

    fn histogram(&self, rows: &[usize]) -> Histogram {
        let width = self.width();
        let mut histogram = vec![0.0; self.inputs.len() * BINS * width];
        for &row in rows.iter().filter(|&&row| self.drawn[row]) {
            let projected = self.projected(row);
            for (at, &input) in self.inputs.iter().enumerate() {
                let bin = usize::from(self.boosted.bins.bin(row, input));
                add(&mut histogram[(at * BINS + bin) * width..][..width], projected);
            }
        }
        histogram
    }

    /// Adds the subtree of `rows`, whose residuals it takes off.
    fn grow(&mut self, rows: Vec<usize>, histogram: Histogram, depth: u32) {
        let split = if depth < self.boosted.growth.depth { self.split(&rows, &histogram) } else { None };
        let Some(split) = split else { return self.leaf(&rows) };
        let (input, bins) = (self.inputs[split.input], self.boosted.bins);
        let threshold = bins.edges[input][usize::from(split.bin) + 1];
        let (left, right): (Vec<usize>, Vec<usize>) =
            rows.into_iter().partition(|&row| bins.bin(row, input) <= split.bin);
        // The sums of one side are those of both less those of the other.
        let smaller = self.histogram(if left.len() < right.len() { &left } else { &right });
        let mut larger = histogram;
        for (sum, smaller) in larger.iter_mut().zip(&smaller) {
            *sum -= smaller;
        }
        let (of_left, of_right) =
            if left.len() < right.len() { (smaller, larger) } else { (larger, smaller) };
        self.grown.push_split(bins.inputs[input] as u16, threshold);
        self.grow(left, of_left, depth + 1);
        self.grow(right, of_right, depth + 1);
    }

    /// The split that takes most off the squared residuals; `None` if none does that leaves enough on both sides.
    fn split(&self, rows: &[usize], histogram: &Histogram) -> Option<Split> {
        let (width, growth) = (self.width(), self.boosted.growth);
        let mut all = vec![0.0; width];
        for &row in rows {
            add(&mut all, self.projected(row));
        }
        let weight = all[width - 1];
        let before = all[..width - 1].iter().map(|sum| sum * sum).sum::<f32>() / (weight + growth.l2);
        let mut best: Option<Split> = None;
        let mut left = vec![0.0_f32; width];
        for (at, of_input) in histogram.chunks(BINS * width).enumerate() {
            left.fill(0.0);
            let bins = self.boosted.bins.edges[self.inputs[at]].len();
            for (bin, sums) in of_input.chunks(width).take(bins - 1).enumerate() {
                add(&mut left, sums);
                let (on_left, on_right) = (left[width - 1], weight - left[width - 1]);
                if on_left < growth.min_leaf || on_right < growth.min_leaf {
                    continue;
                }
                let (mut of_left, mut of_right) = (0.0, 0.0);
                for (left, all) in left[..width - 1].iter().zip(&all) {
                    of_left += left * left;
                    of_right += (all - left) * (all - left);
                }
                let gain = of_left / (on_left + growth.l2) + of_right / (on_right + growth.l2) - before;
                if gain > best.as_ref().map_or(f32::EPSILON, |best| best.gain) {
                    best = Some(Split { gain, input: at, bin: bin as u8 });
                }
            }
        }
        best
    }

    /// Adds a leaf, whose numbers are taken off the residuals of its rows.
    fn leaf(&mut self, rows: &[usize]) {
        let Boosted { rows: all, growth, per_one, residuals, .. } = &mut *self.boosted;
        let outputs = all[0].weights.len();
        let (mut sums, mut weights) = (vec![0.0_f32; outputs], vec![growth.l2; outputs]);
        for &row in rows.iter().filter(|&&row| self.drawn[row]) {
            let of_row = residuals[row * outputs..][..outputs].iter().zip(all[row].weights);
            for ((residual, weight), (sum, weights)) in of_row.zip(sums.iter_mut().zip(&mut weights)) {
                *sum += residual * weight;
                *weights += weight;
            }
        }
        // In whole units, so that later trees see what the rounding leaves.
        let unit = growth.forests as f32 / *per_one as f32;
        let numbers =
            sums.iter().zip(&weights).map(|(sum, weight)| growth.learning_rate * sum / weight / unit);
        let leaf: Vec<i32> = numbers.map(|number| number.round() as i32).collect();
        for &row in rows {
            for (residual, number) in residuals[row * outputs..][..outputs].iter_mut().zip(&leaf) {
                *residual -= unit * *number as f32;
            }
        }
        self.grown.push_leaf(leaf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::{ScalarForest, VectorForest};

    const GROWTH: Growth = Growth {
        forests: 1,
        trees: 200,
        depth: 6,
        learning_rate: 0.06,
        min_leaf: 10.0,
        l2: 1.0,
        inputs_per_tree: 1.0,
        rows_per_tree: 0.7,
        projections: 1,
        seed: 2016,
    };

    /// A function made of pieces, and another one.
    fn pieces(x: &[i32]) -> [f32; 2] {
        let first = match (x[0] < 300, x[1] < 700) {
            (true, _) => -1.0,
            (false, true) => 0.5,
            (false, false) => 2.0,
        };
        [first, if x[2] < 500 { 0.25 } else { -0.75 }]
    }

    fn inputs() -> Vec<[i32; 3]> {
        let mut random = Random(1);
        (0..800).map(|_| [0; 3].map(|_: i32| random.below(1000) as i32)).collect()
    }

    fn rows<'a>(inputs: &'a [[i32; 3]], responses: &'a [Vec<f32>], weights: &'a [f32]) -> Vec<Row<'a>> {
        let row = |(inputs, responses): (&'a [i32; 3], &'a Vec<f32>)| Row { inputs, responses, weights };
        inputs.iter().zip(responses).map(row).collect()
    }

    #[test]
    fn a_function_made_of_pieces_is_recovered() {
        let inputs = inputs();
        let one: Vec<Vec<f32>> = inputs.iter().map(|x| pieces(x)[..1].to_vec()).collect();
        let both: Vec<Vec<f32>> = inputs.iter().map(|x| pieces(x).to_vec()).collect();
        let scalar = ScalarForest::grow(&rows(&inputs, &one, &[1.0]), &GROWTH);
        let growth = Growth { projections: 4, forests: 2, ..GROWTH };
        let vector = VectorForest::grow(&rows(&inputs, &both, &[1.0; 2]), &growth);
        for x in [[100, 900, 5], [600, 100, 900], [900, 950, 5]] {
            let expected = pieces(&x).map(f64::from);
            let (alone, together) = (scalar.sum(&x), vector.sums(&x));
            assert!((alone - expected[0]).abs() < 0.05, "{x:?}: {alone}, {expected:?}");
            for (got, wanted) in together.iter().zip(expected) {
                assert!((got - wanted).abs() < 0.05, "{x:?}: {together:?}, {expected:?}");
            }
        }
    }

    #[test]
    fn rows_of_weight_zero_do_not_change_the_trees() {
        let inputs = inputs();
        let [wrong, right] = [7.0, 1.0].map(|y| vec![vec![y]; inputs.len()]);
        let mut taught = rows(&inputs, &right, &[1.0]);
        for (row, wrong) in taught.iter_mut().zip(&wrong).step_by(3) {
            (row.responses, row.weights) = (wrong, &[0.0]);
        }
        let forest = ScalarForest::grow(&taught, &GROWTH);
        assert!(inputs.iter().all(|x| (forest.sum(x) - 1.0).abs() < 1e-4));
    }

    /// Trees that may follow every row.
    const EXACT: Growth =
        Growth { trees: 40, learning_rate: 1.0, min_leaf: 1.0, l2: 0.0, rows_per_tree: 1.0, ..GROWTH };

    #[test]
    fn trees_without_regularisation_reproduce_the_training_data() {
        // Fewer values than intervals: every row has one of its own, on both sides of every threshold.
        let inputs: Vec<[i32; 3]> = (0..50).map(|at| [3 * at - 70, 1, -at * at]).collect();
        let responses: Vec<Vec<f32>> =
            (0..50).map(|at| vec![(at * 37 % 50) as f32 / 32.0, (at * 11 % 50) as f32 / 64.0]).collect();
        let one: Vec<Vec<f32>> = responses.iter().map(|both| both[..1].to_vec()).collect();
        let scalar = ScalarForest::grow(&rows(&inputs, &one, &[1.0]), &EXACT);
        let growth = Growth { projections: 4, trees: 400, learning_rate: 0.5, ..EXACT };
        let vector = VectorForest::grow(&rows(&inputs, &responses, &[1.0; 2]), &growth);
        for (x, y) in inputs.iter().zip(&responses) {
            assert!((scalar.sum(x) - f64::from(y[0])).abs() < 2e-4, "{x:?}: {} {y:?}", scalar.sum(x));
            for (got, wanted) in vector.sums(x).into_iter().zip(y) {
                assert!((got - f64::from(*wanted)).abs() < 0.02, "{x:?}: {:?} {y:?}", vector.sums(x));
            }
        }
    }

    #[test]
    fn every_leaf_holds_the_least_weight() {
        let inputs = inputs();
        let responses: Vec<Vec<f32>> = inputs.iter().map(|x| vec![x[0] as f32]).collect();
        let limits = Limits { depth: 6, inputs: 3, thresholds: u16::MAX, largest: i32::MAX };
        let leaves = |min_leaf| {
            let growth = Growth { min_leaf, trees: 1, ..EXACT };
            grow(&rows(&inputs, &responses, &[1.0]), &growth, limits, 1.0)[1].leaves.len()
        };
        // 800 rows of weight 1.
        assert_eq!((leaves(800.0), leaves(401.0)), (1, 1));
        assert!((2..=8).contains(&leaves(100.0)) && leaves(1.0) > 32, "{} {}", leaves(100.0), leaves(1.0));
    }

    #[test]
    fn the_same_seed_grows_the_same_trees() {
        let inputs = inputs();
        let responses: Vec<Vec<f32>> = inputs.iter().map(|x| pieces(x).to_vec()).collect();
        let grown = |seed| {
            let growth = Growth { trees: 20, projections: 3, inputs_per_tree: 0.5, seed, ..GROWTH };
            VectorForest::grow(&rows(&inputs, &responses, &[1.0; 2]), &growth)
        };
        assert_eq!(grown(1), grown(1));
        assert_ne!(grown(1), grown(2));
    }
}
