//! The matrices that break kernels which are nearly right, small enough to be run thread by thread.

use sparsight_matrix::{Csr, Scalar, mix};

/// A matrix with rows of these lengths, columns and values scattered.
pub fn matrix<T: Scalar>(lengths: &[usize]) -> Csr<T> {
    let ncols = lengths.iter().copied().max().unwrap_or(0).max(1) + 7;
    let mut row_ptr = vec![0];
    let (mut col_idx, mut values) = (Vec::new(), Vec::new());
    for (row, &length) in lengths.iter().enumerate() {
        // Every column between the first and the last at most once, increasing.
        let first = (row * 31) % (ncols - length + 1);
        col_idx.extend((first..first + length).map(|col| col as u32));
        values.extend((0..length).map(|k| T::from_f64(((row * 37 + k * 11) % 101) as f64 / 50.0 - 0.99)));
        row_ptr.push(col_idx.len() as u64);
    }
    Csr::try_new(lengths.len(), ncols, row_ptr, col_idx, values).unwrap()
}

/// A matrix of the diagonals at these offsets, column minus row, of which `has(row, place in the list)` says which entries
/// are there.
fn of_diagonals<T: Scalar>(
    (nrows, ncols): (usize, usize),
    offsets: &[i64],
    has: impl Fn(usize, usize) -> bool,
) -> Csr<T> {
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::new());
    for row in 0..nrows {
        for (place, offset) in offsets.iter().enumerate() {
            let col = row as i64 + offset;
            if (0..ncols as i64).contains(&col) && has(row, place) {
                col_idx.push(col as u32);
            }
        }
        row_ptr.push(col_idx.len() as u64);
    }
    let values = (0..col_idx.len()).map(|k| T::from_f64((k * 11 % 101) as f64 / 50.0 - 0.99)).collect();
    Csr::try_new(nrows, ncols, row_ptr, col_idx, values).unwrap()
}

/// Matrices whose non-zeros stand on few diagonals.
pub fn diagonal<T: Scalar>() -> Vec<(&'static str, Csr<T>)> {
    let all = |_: usize, _: usize| true;
    vec![
        ("the diagonal", of_diagonals((100, 100), &[0], all)),
        ("a stencil", of_diagonals((1000, 1000), &[-40, -1, 0, 1, 40], all)),
        ("diagonals with gaps", of_diagonals((777, 777), &[-30, -2, 0, 1, 5, 60], |i, d| (i + d) % 3 > 0)),
        ("a wide rectangle", of_diagonals((33, 500), &[0, 2, 300, 499], all)),
        (
            "a high rectangle",
            of_diagonals((500, 33), &[-499, -300, -7, -6, 0, 32], |i, d| d != 1 || i % 2 == 0),
        ),
        ("the corners", of_diagonals((65, 65), &[-64, 0, 64], all)),
        ("nine diagonals", of_diagonals((257, 260), &[-9, -4, -3, -2, -1, 0, 1, 2, 100], all)),
    ]
}

/// A matrix whose non-zeros stand in blocks of `side` rows and columns, of which each third row of blocks has more; of some blocks
/// an entry is missing.
fn of_blocks<T: Scalar>((nrows, ncols): (usize, usize), side: usize) -> Csr<T> {
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::new());
    for row in 0..nrows {
        let at = row / side;
        let mut blocks: Vec<usize> =
            (0..2 + at % 3 * 4).map(|k| (at * 7 + k * k * 5) % ncols.div_ceil(side)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let cols = blocks.into_iter().flat_map(|block| block * side..(block + 1) * side);
        col_idx.extend(cols.filter(|col| *col < ncols && (row + col) % 11 > 0).map(|col| col as u32));
        row_ptr.push(col_idx.len() as u64);
    }
    let values = (0..col_idx.len()).map(|k| T::from_f64((k * 7 % 101) as f64 / 50.0 - 0.99)).collect();
    Csr::try_new(nrows, ncols, row_ptr, col_idx, values).unwrap()
}

/// Matrices whose non-zeros stand in blocks: several slices, with the last row and the last column of blocks
/// cut, and whole.
pub fn blocked<T: Scalar>() -> Vec<(&'static str, Csr<T>)> {
    vec![
        ("blocks of 2", of_blocks((301, 299), 2)),
        ("blocks of 3", of_blocks((400, 401), 3)),
        ("blocks of 4", of_blocks((515, 130), 4)),
        ("blocks of 6", of_blocks((787, 790), 6)),
        ("a single block", of_blocks((5, 5), 6)),
        ("whole blocks of 2", of_blocks((600, 602), 2)),
        ("whole blocks of 3", of_blocks((1200, 1188), 3)),
        ("whole blocks of 4", of_blocks((1204, 400), 4)),
        ("whole blocks of 6", of_blocks((1206, 1200), 6)),
    ]
}

/// Row lengths that break kernels which are nearly right.
pub fn awkward() -> Vec<(&'static str, Vec<usize>)> {
    let mixed = |n: usize| (0..n).map(|i| (i * i + 3 * i) % 5).collect::<Vec<_>>();
    // 32 threads take 4 non-zeros each.
    let run = 32 * 4;
    vec![
        ("no rows", vec![]),
        ("one empty row", vec![0]),
        ("one entry", vec![1]),
        ("nothing but empty rows", vec![0; 100]),
        ("31 rows", mixed(31)),
        ("32 rows", mixed(32)),
        ("33 rows", mixed(33)),
        ("65 rows", mixed(65)),
        ("1,000 rows", mixed(1000)),
        ("one entry in each of 300 rows", vec![1; 300]),
        (
            "empty rows first, last and between",
            [vec![0; 40], vec![3; 50], vec![0; 70], vec![2; 9], vec![0; 33]].concat(),
        ),
        ("a row of a run", vec![run]),
        ("rows of a run", vec![run; 5]),
        ("rows of half a run", vec![run / 2; 9]),
        ("a row that ends one before the run, one that ends one behind", vec![run - 1, 1, run + 1, run - 1]),
        ("a row over many runs between short ones", vec![2, 5, 7 * run + 3, 1, 0, 4]),
        ("long rows that start within a step", vec![5, 2 * run, 5, 3 * run, 1, run, 31, 33]),
        ("rows of 32 and 33", [vec![32; 10], vec![33; 10]].concat()),
        ("33 entries", vec![0, 33, 0]),
        ("dense", vec![300; 40]),
        // Diagonals that end within a warp, slices of one width and of many, more rows than the largest slice.
        ("every length up to 40", (0..1100).map(|i| (i * 17) % 41).collect()),
        ("one row longer by one", (0..600).map(|i| if i == 333 { 9 } else { 8 }).collect()),
        (
            "HYB with both parts",
            [vec![3; 4096], vec![1; 500], vec![50; 20], vec![0; 100], vec![400; 2]].concat(),
        ),
        // Long rows: over many tiles and segments, alone, beside each other, with borders at every place in a tile.
        ("a giant row alone", vec![9_011]),
        ("giant rows side by side and short ones between", vec![4_100, 5, 6_200, 4_097, 0, 0, 4_095, 1]),
        ("rows around a tile", vec![255, 256, 257, 258, 511, 512, 513, 3, 0, 1023, 1025, 2047, 2049, 2]),
        ("borders of tiles at every place", (0..30).flat_map(|i| [i % 7, 250 + 9 * i]).collect()),
        (
            "a row far longer than its neighbours",
            (0..200).map(|i| if i % 60 == 57 { 190 } else { 2 }).collect(),
        ),
        ("nothing but empty rows between two long ones", [vec![2_300], vec![0; 900], vec![2_300]].concat()),
    ]
}

/// Differences of up to 17 bits, of another width in every column of a slice; the last slice is not full.
pub fn wide_differences<T: Scalar>() -> Csr<T> {
    let mut col_idx = Vec::new();
    let mut row_ptr = vec![0];
    for row in 0..700_u64 {
        let steps = (0..row % 23).map(|k| 1 + mix(64 * row + k) % (1 << (3 + 5 * k % 14)));
        let cols = steps.scan(mix(row) % 1000, |col, step| {
            *col += step;
            Some(*col as u32)
        });
        col_idx.extend(cols);
        row_ptr.push(col_idx.len() as u64);
    }
    let ncols = 1 + *col_idx.iter().max().unwrap() as usize;
    let values = (0..col_idx.len()).map(|k| T::from_f64((k % 101) as f64 / 50.0 - 0.99)).collect();
    Csr::try_new(700, ncols, row_ptr, col_idx, values).unwrap()
}

/// Matrices with awkward rows, with few diagonals, and with blocks.
pub fn all_matrices<T: Scalar>() -> Vec<(&'static str, Csr<T>)> {
    let awkward = awkward().into_iter().map(|(what, lengths)| (what, matrix(&lengths)));
    awkward.chain(diagonal()).chain(blocked()).collect()
}
