//! One mixing function for everything here that is random but follows from a seed.

/// The finaliser of `SplitMix64` (Steele, Lea and Flood 2014): every bit of the input moves every bit out.
/// `cuda/benchmark_matrix.cu` has the same arithmetic.
pub const fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
