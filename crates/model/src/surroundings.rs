//! Distance of a matrix to the matrices that were learned from, and the nearest of them.
//!
//! ```text
//! z_j = (v_j - mean_j) / sd_j                over the matrices learned from; v_j: logarithms and shares, below
//! d(a, b) = sqrt(mean over j of (z_j(a) - z_j(b))^2)
//! distance = the least d to a matrix that was learned from
//! ```
//! It is compared with the same distance of each of these matrices to the others, other seeds of its recipe and what was
//! derived from the same matrix left out. A coordinate is kept as a whole number of sixteenths of a standard deviation.

use crate::learned::Quantity;
use crate::{Storable, packed};
use serde::{Deserialize, Serialize};
use sparsight_matrix::Features;
use sparsight_matrix::derived::instance;

/// Quantities that places are made of. Chosen among six lists of 11 to 33 by holding out two folders in turn: its distance goes best
/// with errors of all candidates and of those near the best (rank correlations 0.46 and 0.34).
const AXES: usize = Quantity::ALL.len() + 3;

/// Steps to one standard deviation.
const STEPS: f64 = 16.0;

/// Shares of the matrices whose distances are kept: every twentieth.
const QUANTILES: usize = 21;

/// The places of the matrices that were learned from, in the order of their names, which are stored elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    axes: Vec<Axis>,
    /// Quantiles of the distances of the matrices to their nearest neighbours, least first.
    among: Vec<f32>,
    matrices: usize,
    /// Axis by axis the place of every matrix. Stored as bytes.
    #[serde(skip)]
    places: Vec<i8>,
}

/// Mean and standard deviation of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Axis(f32, f32);

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        Self(mean as f32, variance.sqrt() as f32)
    }

    /// Coordinate in [`STEPS`]; a quantity that is the same everywhere tells nothing, and a damaged one stays within bounds.
    fn place(self, value: f64) -> i8 {
        let (mean, sd) = (f64::from(self.0), f64::from(self.1));
        if sd.is_nan() || sd <= 0.0 {
            return 0;
        }
        // A NaN becomes 0, what is too far the last place.
        ((value - mean) / sd * STEPS).round() as i8
    }
}

/// A matrix that was learned from, by its number, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// Number in the order of names.
    pub matrix: usize,
    /// Distance in standard deviations of the matrices learned from, a quadratic mean over all quantities.
    pub distance: f64,
}

impl Surroundings {
    /// Surroundings of matrices by name, each once, whose features hold [`Locality`](sparsight_matrix::Locality); `None` with fewer than two.
    pub fn of(matrices: &[(&str, &Features)]) -> Option<Self> {
        let rows: Vec<[f64; AXES]> = matrices.iter().map(|(_, f)| quantities(f)).collect::<Option<_>>()?;
        if rows.len() < 2 {
            return None;
        }
        let axes: Vec<Axis> = (0..AXES).map(|at| Axis::of(rows.iter().map(move |row| row[at]))).collect();
        let places = (0..AXES).flat_map(|at| rows.iter().map(move |row| (at, row[at])));
        let places = places.map(|(at, value)| axes[at].place(value)).collect();
        let mut all = Self { axes, among: Vec::new(), matrices: rows.len(), places };
        let nearest_other = |(at, (name, _)): (usize, &(&str, &Features))| {
            let own = all.place(at);
            let others = (0..matrices.len()).filter(|&other| instance(matrices[other].0) != instance(name));
            others.map(|other| all.distance(&own, other)).min_by(f64::total_cmp)
        };
        let mut distances: Vec<f64> = matrices.iter().enumerate().filter_map(nearest_other).collect();
        distances.sort_by(f64::total_cmp);
        let quantile = |at: usize| distances.get((distances.len() - 1) * at / (QUANTILES - 1));
        let among =
            if distances.is_empty() { Vec::new() } else { (0..QUANTILES).filter_map(quantile).collect() };
        all.among = among.into_iter().map(|d| *d as f32).collect();
        Some(all)
    }

    /// Matrices that were learned from.
    pub fn matrices(&self) -> usize {
        self.matrices
    }

    /// The `count` nearest, the nearest first; none for features without
    /// [`Locality`](sparsight_matrix::Locality).
    pub fn nearest(&self, features: &Features, count: usize) -> Vec<Near> {
        let Some(values) = quantities(features) else { return Vec::new() };
        let own: Vec<i8> = self.axes.iter().zip(values).map(|(axis, value)| axis.place(value)).collect();
        let near = |matrix| Near { matrix, distance: self.distance(&own, matrix) };
        let mut all: Vec<Near> = (0..self.matrices).map(near).collect();
        all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        all.truncate(count);
        all
    }

    /// Share of the matrices learned from that are closer to their nearest neighbour than `distance`.
    pub fn farther_than(&self, distance: f64) -> f64 {
        let below = self.among.iter().filter(|among| f64::from(**among) < distance).count();
        // The last quantile that is below; the first is that of nothing. A damaged file may hold more of them.
        (below.saturating_sub(1) as f64 / (QUANTILES - 1) as f64).min(1.0)
    }

    /// The place of a matrix that was learned from.
    fn place(&self, matrix: usize) -> Vec<i8> {
        (0..self.axes.len()).map(|axis| self.places[axis * self.matrices + matrix]).collect()
    }

    fn distance(&self, own: &[i8], matrix: usize) -> f64 {
        let apart = |(axis, place): (usize, &i8)| {
            let steps = f64::from(*place) - f64::from(self.places[axis * self.matrices + matrix]);
            steps * steps
        };
        let squares: f64 = own.iter().enumerate().map(apart).sum();
        (squares / own.len().max(1) as f64).sqrt() / STEPS
    }
}

impl Storable for Surroundings {
    const FORMAT: &'static str = "sparsight/surroundings/1";

    fn split(&self) -> (Self, Vec<u8>) {
        let body = self.places.iter().map(|place| place.cast_unsigned()).collect();
        (Self { places: Vec::new(), ..self.clone() }, body)
    }

    fn join(self, body: &[u8]) -> Result<Self, String> {
        if self.axes.len() != AXES {
            return Err(format!("{} quantities in place of {AXES}", self.axes.len()));
        }
        let count = self.matrices.saturating_mul(AXES);
        if body.len() < count {
            return Err("its places end early".to_owned());
        }
        let (places, rest) = body.split_at(count);
        packed::end(rest)?;
        Ok(Self { places: places.iter().map(|place| place.cast_signed()).collect(), ..self })
    }
}

/// Coordinates of a place: the features of Lehnert et al. 2016 as logarithms, which `linear` and `neighbours` use, and the reuse of
/// x; the same for every value type. `None` without [`Locality`](sparsight_matrix::Locality).
fn quantities(f: &Features) -> Option<[f64; AXES]> {
    let locality = f.locality.as_ref()?;
    let of_x = [f.x_reuse, locality.warp_sectors[1], locality.multiprocessor_sectors[1]]
        .map(|share| share.clamp(0.0, 1.0));
    let mut all = [0.0; AXES];
    for (to, of) in all.iter_mut().zip(Quantity::ALL.map(|quantity| quantity.ln(f)).into_iter().chain(of_x)) {
        *to = of;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight_matrix::{Csr, gallery::Recipe};

    fn features(recipe: &str) -> Features {
        let a: Csr<f32> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
        Features::of(&a)
    }

    fn known() -> (Vec<(String, Features)>, Surroundings) {
        let recipes = [
            "stencil2d,n=60",
            "stencil2d,n=70",
            "stencil3d,n=16",
            "arrow,n=3000,seed=1",
            "arrow,n=3000,seed=2",
            "stencil2d,n=200",
        ];
        let all: Vec<_> = recipes.map(|r| (format!("gallery:{r}"), features(r))).to_vec();
        let named: Vec<(&str, &Features)> = all.iter().map(|(name, f)| (name.as_str(), f)).collect();
        let surroundings = Surroundings::of(&named).unwrap();
        (all, surroundings)
    }

    #[test]
    fn a_training_matrix_is_nearest_to_itself() {
        let (all, surroundings) = known();
        for (at, (name, f)) in all.iter().enumerate() {
            // The two arrows are the same.
            let nearest = surroundings.nearest(f, 2);
            let own = nearest.iter().find(|near| near.matrix == at).unwrap();
            assert!(own.distance < 1e-12 && nearest[0].distance < 1e-12, "{name}: {nearest:?}");
        }
        let nearest = surroundings.nearest(&features("stencil2d,n=64"), 3);
        assert!(nearest[..2].iter().all(|near| near.matrix < 2), "{nearest:?}");
        assert!(nearest[0].distance <= nearest[1].distance && nearest[1].distance < nearest[2].distance);
        let unlike = surroundings.nearest(&features("power-law,n=40000"), 1)[0].distance;
        assert!(unlike > 3.0 * nearest[0].distance, "{unlike} against {}", nearest[0].distance);
        assert!(surroundings.farther_than(unlike) > surroundings.farther_than(nearest[0].distance));
        assert!(
            (surroundings.farther_than(1e9) - 1.0).abs() < 1e-12 && surroundings.farther_than(0.0) == 0.0
        );
        let nowhere = Features { locality: None, ..all[0].1.clone() };
        assert!(surroundings.nearest(&nowhere, 3).is_empty());
    }

    #[test]
    fn another_seed_is_no_other_matrix() {
        let (all, surroundings) = known();
        // Two arrows lie in one place: what the others are held against is how far each is from a stencil.
        assert!(surroundings.nearest(&all[3].1, 2)[1].distance < 1e-12);
        assert!(surroundings.among[0] > 0.0, "{:?}", surroundings.among);
    }

    #[test]
    fn stored_surroundings_read_back_and_damaged_ones_are_refused() {
        let (_, surroundings) = known();
        let (text, body) = surroundings.split();
        let text: Surroundings = serde_json::from_str(&serde_json::to_string(&text).unwrap()).unwrap();
        assert_eq!(text.clone().join(&body).unwrap(), surroundings);
        assert!(text.clone().join(&body[1..]).unwrap_err().contains("end early"));
        assert!(
            text.clone().join(&[&body[..], &[0]].concat()).unwrap_err().contains("unexpected bytes follow")
        );
        let huge = Surroundings { matrices: usize::MAX, ..text.clone() };
        assert!(huge.join(&body).unwrap_err().contains("end early"));
        let few = Surroundings { axes: Vec::new(), ..text };
        assert!(few.join(&body).unwrap_err().contains("0 quantities in place of 14"));
    }

    #[test]
    fn wild_features_have_a_place() {
        let (all, surroundings) = known();
        let wild =
            Features { row_std: f64::NAN, x_reuse: f64::INFINITY, nrows: u64::MAX, ..all[0].1.clone() };
        let near = surroundings.nearest(&wild, 1)[0];
        assert!(near.distance.is_finite() && near.distance > 0.0);
    }
}
