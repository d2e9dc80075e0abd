//! The weights of a network, and what it answers.
//!
//! Loops count up to constants: so they are compiled for several numbers at once.

#![expect(clippy::inline_always, reason = "compiled for wider registers as part of the one function that is")]
#![expect(
    clippy::needless_range_loop,
    reason = "loops over iterators are not compiled for several numbers at once"
)]

use crate::packed::{push_signed, take_signed};

/// Width of the first layer.
pub(super) const FIRST: usize = 96;
/// Width of the second.
pub(super) const SECOND: usize = 32;

/// Stored weights are whole multiples of one over this, within plus and minus [`LARGEST`].
const PER_ONE: f32 = 4096.0;
const LARGEST: f32 = 4096.0;

/// One network.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layers {
    inputs: usize,
    classes: usize,
    /// All of [`Parts`], one behind the other.
    pub(super) weights: Vec<f32>,
}

/// The weights, by what they are for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'w> {
    /// A transposed, a row for each input.
    first: &'w [[f32; FIRST]],
    /// a, a row for each class.
    classes: &'w [[f32; FIRST]],
    /// B transposed, a row for each number of the first layer.
    pub(super) second: &'w [[f32; SECOND]; FIRST],
    /// b, then w.
    pub(super) rest: &'w [[f32; SECOND]; 2],
    /// `y_c`, where each class starts.
    start: &'w [f32],
}

/// [`Parts`] to be changed.
#[derive(Debug)]
pub(super) struct PartsMut<'w> {
    pub(super) first: &'w mut [[f32; FIRST]],
    pub(super) classes: &'w mut [[f32; FIRST]],
    pub(super) second: &'w mut [[f32; SECOND]; FIRST],
    pub(super) rest: &'w mut [[f32; SECOND]; 2],
    pub(super) start: &'w mut [f32],
}

/// What each layer sums for a row, before s.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) first: [f32; FIRST],
    pub(super) second: [f32; SECOND],
}

/// s: 0 far below zero, the number itself far above it.
#[inline(always)]
pub(super) fn smooth(u: f32) -> f32 {
    0.5 * (u + (u * u + 1.0).sqrt())
}

/// f of each number.
#[inline(always)]
pub(super) fn each<const N: usize>(numbers: &[f32; N], f: impl Fn(f32) -> f32) -> [f32; N] {
    let mut all = [0.0; N];
    for at in 0..N {
        all[at] = f(numbers[at]);
    }
    all
}

/// Adds `number * row` to `sums`.
#[inline(always)]
pub(super) fn add<const N: usize>(sums: &mut [f32; N], number: f32, row: &[f32; N]) {
    for at in 0..N {
        sums[at] += number * row[at];
    }
}

impl Layers {
    pub(super) fn empty(inputs: usize, classes: usize) -> Self {
        let count = FIRST * (inputs + classes + SECOND) + 2 * SECOND + classes;
        Self { inputs, classes, weights: vec![0.0; count] }
    }

    /// How many weights, the first of them, decay: A, a and B.
    pub(super) fn decaying(&self) -> usize {
        FIRST * (self.inputs + self.classes + SECOND)
    }

    #[inline(always)]
    pub(super) fn parts(&self) -> Parts<'_> {
        let (first, rest) = self.weights.split_at(FIRST * self.inputs);
        let (classes, rest) = rest.split_at(FIRST * self.classes);
        let (second, rest) = rest.split_at(FIRST * SECOND);
        let (rest, start) = rest.split_at(2 * SECOND);
        Parts {
            first: first.as_chunks().0,
            classes: classes.as_chunks().0,
            second: second.as_chunks().0.try_into().expect("as many rows"),
            rest: rest.as_chunks().0.try_into().expect("two rows"),
            start,
        }
    }

    pub(super) fn parts_mut(&mut self) -> PartsMut<'_> {
        let (first, rest) = self.weights.split_at_mut(FIRST * self.inputs);
        let (classes, rest) = rest.split_at_mut(FIRST * self.classes);
        let (second, rest) = rest.split_at_mut(FIRST * SECOND);
        let (rest, start) = rest.split_at_mut(2 * SECOND);
        PartsMut {
            first: first.as_chunks_mut().0,
            classes: classes.as_chunks_mut().0,
            second: second.as_chunks_mut().0.try_into().expect("as many rows"),
            rest: rest.as_chunks_mut().0.try_into().expect("two rows"),
            start,
        }
    }

    /// [`Parts::answer`] in the widest registers of the processor: the same operations in the same order.
    pub(super) fn answer(&self, scaled: &[f32], class: usize) -> f32 {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(parts: &Parts<'_>, scaled: &[f32], class: usize) -> f32 {
                parts.answer(&parts.sums(scaled, class), class)
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { wide(&self.parts(), scaled, class) };
            }
        }
        let parts = self.parts();
        parts.answer(&parts.sums(scaled, class), class)
    }

    /// As it is stored; `None` if a weight is not finite.
    pub(super) fn rounded(mut self) -> Option<Self> {
        for weight in &mut self.weights {
            *weight = (weight.clamp(-LARGEST, LARGEST) * PER_ONE).round() / PER_ONE;
        }
        self.weights.iter().all(|weight| weight.is_finite()).then_some(self)
    }

    pub(super) fn pack(&self, bytes: &mut Vec<u8>) {
        self.weights.iter().for_each(|weight| push_signed(bytes, (weight * PER_ONE) as i64));
    }

    /// `None` if `bytes` end early.
    pub(super) fn unpack(inputs: usize, classes: usize, bytes: &mut &[u8]) -> Option<Self> {
        let mut layers = Self::empty(inputs, classes);
        for weight in &mut layers.weights {
            *weight = take_signed(bytes)? as f32 / PER_ONE;
        }
        Some(layers)
    }
}

impl Parts<'_> {
    #[inline(always)]
    pub(super) fn sums(&self, scaled: &[f32], class: usize) -> Sums {
        let mut first = self.classes[class];
        for (number, row) in scaled.iter().zip(self.first) {
            add(&mut first, *number, row);
        }
        let (numbers, mut second) = (each(&first, smooth), self.rest[0]);
        for at in 0..FIRST {
            add(&mut second, numbers[at], &self.second[at]);
        }
        Sums { first, second }
    }

    #[inline(always)]
    pub(super) fn answer(&self, sums: &Sums, class: usize) -> f32 {
        self.start[class] + product(&each(&sums.second, smooth), &self.rest[1])
    }
}

/// In eight sums, which are added side by side.
#[inline(always)]
pub(super) fn product(a: &[f32; SECOND], b: &[f32; SECOND]) -> f32 {
    let mut sums = [0.0; 8];
    for part in 0..SECOND / 8 {
        for at in 0..8 {
            sums[at] += a[8 * part + at] * b[8 * part + at];
        }
    }
    let halves: [f32; 4] = std::array::from_fn(|at| sums[at] + sums[at + 4]);
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
