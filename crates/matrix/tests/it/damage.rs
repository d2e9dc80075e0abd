//! Small damages to bytes, the same in every run.
//!
//! Each test does a fixed number, and goes on with new ones for as long as `SPARSIGHT_MUTATION_SECONDS` says. The tests
//! of `sparsight-lab` use this file, too.

use std::time::{Duration, Instant};

/// splitmix64, so that every run with the same `SPARSIGHT_MUTATION_SEED`, 0 without one, does the same.
pub struct Random(u64);

impl Random {
    /// Numbers that follow from `of_test` and the environment.
    pub fn new(of_test: u64) -> Self {
        let seed = std::env::var("SPARSIGHT_MUTATION_SEED").ok();
        let seed: u64 = seed.map_or(0, |seed| seed.parse().expect("SPARSIGHT_MUTATION_SEED is a number"));
        Self(of_test.wrapping_add(seed << 8))
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// One to four damages: a byte changed, taken out or put in, a piece repeated or the end cut off.
pub fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const LIKELY: &[u8] = b"0123456789 \n\r\t%.-+eEdDnaif\0\xff,\"{}[]";
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(6) {
            _ if bytes.is_empty() => bytes.push(b'1'),
            0 => bytes[at] = random.below(256) as u8,
            1 => bytes[at] = LIKELY[random.below(LIKELY.len())],
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, LIKELY[random.below(LIKELY.len())]),
            4 => {
                let piece = bytes[at..(at + 1 + random.below(20)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at),
        }
    }
}

/// Calls `attack` with 0, 1, 2, ...: as often as `usual`, and for as long as the environment says. Prints how often.
pub fn rounds(what: &str, usual: usize, mut attack: impl FnMut(usize)) {
    let seconds = std::env::var("SPARSIGHT_MUTATION_SECONDS").ok();
    let until = seconds.map(|text| {
        let seconds = text.parse().expect("SPARSIGHT_MUTATION_SECONDS is a number of seconds");
        Instant::now() + Duration::from_secs_f64(seconds)
    });
    let mut round = 0;
    while round < usual || until.is_some_and(|until| Instant::now() < until) {
        attack(round);
        round += 1;
    }
    println!("{what}: {round} damaged");
}
