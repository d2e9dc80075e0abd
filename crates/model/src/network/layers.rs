//! The weights of a network, and what it answers.
//!
//! Loops count up to constants: so they are compiled for several numbers at once.

#![expect(clippy::inline_always, reason = "compiled for wider registers as part of the one function that is")]

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
    /// A transposed, a row for each input.
    pub(super) first: Vec<[f32; FIRST]>,
    /// a, a row for each class.
    pub(super) classes: Vec<[f32; FIRST]>,
    /// B transposed, a row for each number of the first layer.
    pub(super) second: Vec<[f32; SECOND]>,
    /// b.
    pub(super) bias: [f32; SECOND],
    /// w.
    pub(super) last: [f32; SECOND],
    /// `y_c`, where each class starts.
    pub(super) start: Vec<f32>,
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

/// Adds each number times its row to `sums`: so many columns at a time that their sums stay in registers, which they do where this is
/// compiled by itself.
#[inline(never)]
fn add_all<const N: usize>(sums: &mut [f32; N], numbers: &[f32], rows: &[[f32; N]]) {
    let (strips, _) = sums.as_chunks_mut::<SECOND>();
    for (at, strip) in strips.iter_mut().enumerate() {
        let mut sums = *strip;
        for (number, row) in numbers.iter().zip(rows) {
            add(&mut sums, *number, &row.as_chunks().0[at]);
        }
        *strip = sums;
    }
}

impl Layers {
    pub(super) fn empty(inputs: usize, classes: usize) -> Self {
        Self {
            first: vec![[0.0; FIRST]; inputs],
            classes: vec![[0.0; FIRST]; classes],
            second: vec![[0.0; SECOND]; FIRST],
            bias: [0.0; SECOND],
            last: [0.0; SECOND],
            start: vec![0.0; classes],
        }
    }

    /// All weights, in the order in which they are stored. The first three, A, a and B, decay.
    pub(super) fn weights(&mut self) -> [&mut [f32]; 6] {
        [
            self.first.as_flattened_mut(),
            self.classes.as_flattened_mut(),
            self.second.as_flattened_mut(),
            &mut self.bias,
            &mut self.last,
            &mut self.start,
        ]
    }

    /// Sums of the first layer over these inputs alone, of which the first has place `from`.
    pub(super) fn begin(&self, scaled: &[f32], from: usize) -> [f32; FIRST] {
        let mut first = [0.0; FIRST];
        add_all(&mut first, scaled, &self.first[from..]);
        first
    }

    /// The sums of a row. `begun` holds those over inputs that [`Layers::begin`] has added before; `parts` are the other inputs, each part
    /// with the place of its first.
    #[inline(always)]
    pub(super) fn sums<'p>(
        &self,
        begun: Option<&[f32; FIRST]>,
        parts: impl IntoIterator<Item = (usize, &'p [f32])>,
        class: usize,
    ) -> Sums {
        let mut first = self.classes[class];
        if let Some(begun) = begun {
            add(&mut first, 1.0, begun);
        }
        for (from, scaled) in parts {
            add_all(&mut first, scaled, &self.first[from..]);
        }
        let mut second = self.bias;
        add_all(&mut second, &each(&first, smooth), &self.second);
        Sums { first, second }
    }

    #[inline(always)]
    pub(super) fn answer_of(&self, sums: &Sums, class: usize) -> f32 {
        self.start[class] + product(&each(&sums.second, smooth), &self.last)
    }

    /// As it is stored; `None` if a weight is not finite.
    pub(super) fn rounded(mut self) -> Option<Self> {
        for weight in self.weights().into_iter().flatten() {
            if !weight.is_finite() {
                return None;
            }
            *weight = (weight.clamp(-LARGEST, LARGEST) * PER_ONE).round() / PER_ONE;
        }
        Some(self)
    }

    pub(super) fn pack(&self, bytes: &mut Vec<u8>) {
        for weight in self.clone().weights().into_iter().flatten() {
            push_signed(bytes, (*weight * PER_ONE) as i64);
        }
    }

    /// `None` if `bytes` end early.
    pub(super) fn unpack(inputs: usize, classes: usize, bytes: &mut &[u8]) -> Option<Self> {
        let mut layers = Self::empty(inputs, classes);
        for weight in layers.weights().into_iter().flatten() {
            *weight = take_signed(bytes)? as f32 / PER_ONE;
        }
        Some(layers)
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
