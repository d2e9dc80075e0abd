//! Thousands of small damages to small files: whatever happens, the reader answers.

mod npz_writer;

use npz_writer::{archive, float64, format, int64};
use sparsight_matrix::Bytes;
use sparsight_matrix::io::{self, ReadOptions};
use std::path::Path;

/// splitmix64, so that every run does the same.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// One to four damages: a byte changed, taken out or put in, a piece repeated or the end cut off.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const LIKELY: &[u8] = b"0123456789 \n\r\t%.-+eEdDnaif\0\xff";
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

#[test]
fn damaged_matrix_market_text_gives_a_matrix_or_an_error_and_never_a_panic() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut seeds: Vec<Vec<u8>> = std::fs::read_dir(fixtures)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    seeds.sort();
    for text in [
        "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 4 -2.5e-1\n1 1 1\n3 1 0\n1 3 .5\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n2 2\n",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\r\n% c\r\n9 9 2\r\n3 1 7\r\n5 2 1d3\r\n",
        "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n0\n6\n",
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
    ] {
        seeds.push(text.as_bytes().to_vec());
    }
    let options = ReadOptions { memory: Some(Bytes(1 << 24)), ..ReadOptions::default() };
    let mut random = Random(1);
    for round in 0..20_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        damage(&mut bytes, &mut random);
        if let Err(error) = io::read_matrix_market::<f64>(&bytes, Path::new("a.mtx"), &options) {
            let text = error.to_string();
            assert!(text.starts_with("a.mtx:") && !text.contains('\n'), "{text}");
        }
    }
}

#[test]
fn damaged_npz_archives_give_a_matrix_or_an_error_and_never_a_panic() {
    let coo = [
        int64("row", &[2, 0, 2, 0]),
        int64("col", &[3, 2, 1, 0]),
        format("coo"),
        int64("shape", &[3, 4]),
        float64("data", &[4.0, 2.0, 3.0, 1.0]),
    ];
    let compressed = |name| {
        [
            int64("indices", &[2, 0, 1, 1]),
            int64("indptr", &[0, 2, 2, 4]),
            format(name),
            int64("shape", &[3, 3]),
            float64("data", &[1.0, 2.0, 3.0, 4.0]),
        ]
    };
    let seeds = [
        archive(&coo, false),
        archive(&coo, true),
        archive(&compressed("csr"), false),
        archive(&compressed("csc"), false),
    ];
    let options = ReadOptions { memory: Some(Bytes(1 << 24)), ..ReadOptions::default() };
    let mut random = Random(2);
    for round in 0..10_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        damage(&mut bytes, &mut random);
        if let Err(error) = io::read_npz::<f32>(&bytes, Path::new("a.npz"), &options) {
            assert!(error.to_string().starts_with("a.npz: "), "{error}");
        }
    }
}
