//! The CUDA kernels, compiled as C++ and run by a CPU that plays a GPU warp by warp, against the reference.
//!
//! It shows wrong indices, wrong masks, accesses behind an array and entries of y written by the wrong means, on
//! machines without a GPU. It shows no speed, and no races between warps beyond those that two orders of them
//! reveal. Without g++ it is skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

mod emulator;

use emulator::{
    Arg, Emulator, Launch, awkward, gxx_is_missing, matrix, offsets, scalars, to_scalars, wide_differences,
    words,
};
use sparsight_kernels::{
    BenchmarkMatrix, BinEnds, Candidate, Chunk, FUSED_PARTS, Format, FusedParts, HELPER_BLOCK, Kernel,
    Placement, RowLengthDistribution, benchmark_matrix_source, fused_source, row_chunks, source,
};
use sparsight_matrix::{
    BroEll, BroEllShape, Bytes, Coo, Csr, Dtype, Ell, Hyb, Jad, JadLayout, Limits, RowBins, Scalar, Segment,
    Sell, SellShape, Tile, TileShape, TileTable, mix, reference,
};

/// Launches for `chunks`; `in_pieces` cuts each into launches of one block, as if grids could not be larger.
fn launches(
    (kernel, block): (u64, u64),
    chunks: impl Iterator<Item = Chunk>,
    teams_a_block: u64,
    args: &[Arg],
    in_pieces: bool,
) -> Vec<Launch> {
    let launch = |first: u64, grid: u64| {
        let args = std::iter::once(Arg::Number(first)).chain(args.iter().copied()).collect();
        Launch { kernel, grid, block, backwards: in_pieces, args }
    };
    let pieces = |chunk: Chunk| {
        let grid = u64::from(chunk.grid);
        if in_pieces {
            (0..grid).map(|i| launch(chunk.first_row + i * teams_a_block, 1)).rev().collect()
        } else {
            vec![launch(chunk.first_row, grid)]
        }
    };
    chunks.flat_map(pieces).collect()
}

/// An argument with what it points to.
enum Piece {
    Number(u64),
    Array(Vec<u8>),
    /// So many counters of 32 bits, 0 before and after a product.
    Counters(usize),
}
use Piece::{Array, Counters, Number};

/// Launches of one entry point, without x, y, alpha and beta.
struct Stage {
    kernel: u64,
    /// Teams of threads, and how many threads each.
    teams: (u64, u32),
    args: Vec<Piece>,
    /// Takes y and beta alone.
    clears: bool,
}

fn stage(kernel: u64, teams: (u64, u32), args: impl IntoIterator<Item = Piece>) -> Stage {
    Stage { kernel, teams, args: args.into_iter().collect(), clears: false }
}

fn ell<T: Scalar>(part: &Ell<T>) -> Stage {
    let (nrows, width, stride) = (part.nrows() as u64, part.width() as u64, part.stride() as u64);
    let entries = [Array(words(part.col_idx())), Array(scalars(part.values()))];
    stage(0, (nrows, 1), [nrows, width, stride].map(Number).into_iter().chain(entries))
}

fn coo<T: Scalar>(part: &Coo<T>, items: u32) -> Stage {
    let nnz = part.nnz() as u64;
    let columns = [part.row_idx(), part.col_idx()].map(words).map(Array);
    let args = std::iter::once(Number(nnz)).chain(columns).chain([Array(scalars(part.values()))]);
    stage(1, (nnz.div_ceil(u64::from(32 * items)), 32), args)
}

/// Segments, a poisoned partial sum for each, and their counters.
fn of_segments<T: Scalar>(segments: &[Segment]) -> [Piece; 3] {
    let all: Vec<u32> = segments.iter().flat_map(Segment::words).collect();
    let partials = scalars(&vec![T::from_f64(f64::NAN); segments.len()]);
    [Array(words(&all)), Array(partials), Counters(segments.len())]
}

/// What the candidate launches on `a`. Mirrors the CUDA device.
fn stages<T: Scalar>(candidate: &Candidate, offset_bytes: u64, a: &Csr<T>) -> Vec<Stage> {
    let (nrows, block) = (a.nrows() as u64, candidate.block);
    let entries = || [Array(words(a.col_idx())), Array(scalars(a.values()))];
    let row_ptr = || Array(offsets(a.row_ptr(), offset_bytes));
    let by_rows = |args: Vec<Piece>| vec![stage(0, (nrows, 1), std::iter::once(Number(nrows)).chain(args))];
    match candidate.kernel {
        Kernel::CsrScalar | Kernel::CsrVector { .. } => {
            let args = [Number(nrows), row_ptr()].into_iter().chain(entries());
            vec![stage(0, (nrows, candidate.kernel.threads_per_row().unwrap()), args)]
        }
        Kernel::CsrBalanced(shape) => {
            let table = TileTable::of(a.row_ptr(), shape);
            let tiles: Vec<u32> = table.tiles().iter().flat_map(Tile::words).collect();
            let args = std::iter::once(Array(words(&tiles)))
                .chain(of_segments::<T>(table.segments()))
                .chain([row_ptr()])
                .chain(entries());
            vec![stage(0, (table.tiles().len() as u64, block), args)]
        }
        Kernel::CsrBinned => {
            let bins = RowBins::of(a.row_ptr());
            let (ends, starts) = (BinEnds::of(&bins), offsets(bins.starts(), offset_bytes));
            let args = (ends.args().map(Number).into_iter())
                .chain([words(bins.order()), starts, words(bins.lengths())].map(Array))
                .chain(of_segments::<T>(bins.segments()))
                .chain(entries());
            vec![stage(0, (ends.blocks(block), block), args)]
        }
        Kernel::Vendor(_) => unreachable!("has no source"),
        Kernel::Ell => vec![ell(&Ell::from_csr(a, &Limits::NONE).unwrap())],
        Kernel::Coo | Kernel::CooShort { .. } => {
            let items = candidate.kernel.coo_items().unwrap();
            let clear = Stage { clears: true, ..stage(0, (nrows, 1), [Number(nrows)]) };
            vec![clear, coo(&Coo::from_csr(a, &Limits::NONE).unwrap(), items)]
        }
        Kernel::Hyb => {
            let hyb = Hyb::from_csr(a, &Limits::NONE).unwrap();
            vec![ell(hyb.ell()), coo(hyb.coo(), candidate.kernel.coo_items().unwrap())]
        }
        Kernel::Jad => {
            let jad = Jad::from_csr(a, &Limits::NONE).unwrap();
            by_rows(vec![
                Number(jad.diagonal_ptr().len() as u64 - 1),
                Array(words(jad.permutation())),
                Array(offsets(jad.diagonal_ptr(), 8)),
                Array(words(jad.col_idx())),
                Array(scalars(jad.values())),
            ])
        }
        Kernel::Sell(shape) | Kernel::SellTeam { shape, .. } => {
            let sell = Sell::from_csr(a, shape, &Limits::NONE).unwrap();
            let args = [
                Number(nrows),
                Array(offsets(sell.slice_ptr(), 8)),
                Array(words(sell.permutation())),
                Array(words(sell.col_idx())),
                Array(scalars(sell.values())),
            ];
            vec![stage(0, (nrows, candidate.kernel.threads_per_row().unwrap()), args)]
        }
        Kernel::BroEll(shape) => {
            let bro = BroEll::from_csr(a, shape, &Limits::NONE).unwrap();
            by_rows(vec![
                Array(offsets(bro.column_ptr(), 8)),
                Array(offsets(bro.symbol_ptr(), 8)),
                Array(bro.bits().to_vec()),
                Array(offsets(bro.symbols(), 8)),
                Array(scalars(bro.values())),
            ])
        }
    }
}

/// y = alpha A x + beta y by the emulated candidate.
fn product<T: Scalar>(
    emulator: &Emulator,
    candidate: &Candidate,
    offset_bytes: u64,
    a: &Csr<T>,
    factors: (f64, f64),
    (x, y): (&[T], &[T]),
    in_pieces: bool,
) -> Vec<T> {
    let mut arrays = vec![scalars(x), scalars(y)];
    let vectors = (Arg::Array(0), Arg::Array(1));
    let mut counters = Vec::new();
    let all =
        launches_of((&mut arrays, &mut counters), candidate, offset_bytes, a, factors, vectors, in_pieces);
    let after = emulator.run(&arrays, &all);
    for array in counters {
        assert!(after[array].iter().all(|&byte| byte == 0), "{candidate} leaves counters behind");
    }
    to_scalars(&after[1])
}

/// The launches of a product; what the matrix consists of is added to the arrays, in which x and y are already, and the
/// places of counters to the second list.
fn launches_of<T: Scalar>(
    (arrays, counters): (&mut Vec<Vec<u8>>, &mut Vec<usize>),
    candidate: &Candidate,
    offset_bytes: u64,
    a: &Csr<T>,
    factors: (f64, f64),
    (x, y): (Arg, Arg),
    in_pieces: bool,
) -> Vec<Launch> {
    let block = candidate.block;
    let [alpha, beta] = [factors.0, factors.1].map(|factor| Arg::Number(factor.to_bits()));
    let mut all = Vec::new();
    for Stage { kernel, teams: (count, threads), args, clears } in stages(candidate, offset_bytes, a) {
        let mut given = Vec::new();
        for piece in args {
            given.push(match piece {
                Number(value) => Arg::Number(value),
                Array(_) | Counters(_) => Arg::Array(arrays.len() as u64),
            });
            match piece {
                Number(_) => {}
                Array(bytes) => arrays.push(bytes),
                Counters(count) => {
                    counters.push(arrays.len());
                    arrays.push(words(&vec![0; count]));
                }
            }
        }
        given.extend(if clears { vec![y, beta] } else { vec![x, y, alpha, beta] });
        let chunks = row_chunks(count, threads, block);
        let teams_a_block = u64::from(block / threads);
        all.extend(launches((kernel, block.into()), chunks, teams_a_block, &given, in_pieces));
    }
    all
}

/// One launch for parts with these kernels in turn.
struct Fused<'a> {
    emulator: &'a Emulator,
    kernels: &'a [Kernel],
    block: u32,
    offset_bytes: u64,
}

impl Fused<'_> {
    /// y = alpha A x + beta y, the rows cut as `cuts` say. Mirrors what the CUDA device launches.
    fn product<T: Scalar>(
        &self,
        cuts: &[usize],
        a: &Csr<T>,
        factors: (f64, f64),
        (x, y): (&[T], &[T]),
        backwards: bool,
    ) -> Vec<T> {
        let mut arrays = vec![scalars(x)];
        let mut parts = FusedParts::new();
        let mut pointers = Vec::new();
        let (mut ys, mut counters) = (Vec::new(), Vec::new());
        for (part, cut) in cuts.windows(2).enumerate() {
            let variant = part % self.kernels.len();
            let kernel = self.kernels[variant];
            let candidate = Candidate { kernel, block: self.block, dtype: T::DTYPE };
            // Each part writes an array of its own, behind which nothing may be touched.
            ys.push(arrays.len());
            arrays.push(scalars(&y[cut[0]..cut[1]]));
            let vectors = (Arg::Array(0), Arg::Array(arrays.len() as u64 - 1));
            let rows = a.rows(cut[0]..cut[1]);
            let all = launches_of(
                (&mut arrays, &mut counters),
                &candidate,
                self.offset_bytes,
                &rows,
                factors,
                vectors,
                false,
            );
            for launch in all {
                let numbers: Vec<u64> =
                    launch.args.iter().map(|arg| if let Arg::Number(n) = *arg { n } else { 0 }).collect();
                // A whole block where threads are not given to rows.
                let step = u64::from(self.block / kernel.threads_per_row().unwrap_or(self.block));
                let place = parts.push(variant, launch.grid as u32, step, &numbers);
                let arrays = launch.args.iter().enumerate().filter(|(_, arg)| matches!(arg, Arg::Array(_)));
                pointers.extend(arrays.map(|(i, arg)| (place + i, *arg)));
            }
        }
        let mut args: Vec<Arg> = parts.words().iter().map(|&word| Arg::Number(word)).collect();
        for (place, pointer) in pointers {
            args[place] = pointer;
        }
        let launch = Launch { kernel: 0, grid: parts.blocks(), block: self.block.into(), backwards, args };
        let arrays = self.emulator.run(&arrays, &[launch]);
        for array in counters {
            assert!(arrays[array].iter().all(|&byte| byte == 0), "a part leaves counters behind");
        }
        ys.into_iter().flat_map(|at| to_scalars::<T>(&arrays[at])).collect()
    }
}

fn check_all<T: Scalar>(block: u32, offset_bytes: u64) {
    if gxx_is_missing() {
        return;
    }
    for kernel in Kernel::ALL {
        // The smallest that it has where it does not have this one.
        let block = if kernel.blocks().contains(&block) { block } else { kernel.blocks()[0] };
        let candidate = Candidate { kernel, block, dtype: T::DTYPE };
        let name = candidate.to_string().replace('/', "-");
        let Some(source) = source(&candidate, offset_bytes) else { continue };
        let emulator = Emulator::compile(&name, &source);
        for (what, lengths) in awkward() {
            let a = matrix::<T>(&lengths);
            if kernel.format() == Format::Ell && lengths.len() > 4000 {
                continue;
            }
            let x: Vec<T> =
                (0..a.ncols()).map(|i| T::from_f64(((i * 29) % 97) as f64 / 60.0 - 0.8)).collect();
            let expected = reference(&a, &x);
            let poison = vec![T::from_f64(f64::NAN); a.nrows()];
            for in_pieces in [false, true] {
                let run = |factors, y: &[T]| {
                    product(&emulator, &candidate, offset_bytes, &a, factors, (&x, y), in_pieces)
                };
                let wrong = expected.first_wrong(&run((1.0, 0.0), &poison));
                assert_eq!(wrong, None, "{candidate} on '{what}', in pieces: {in_pieces}");
                // -2 A x + 8 (A x / 2) = 2 A x; powers of two scale without rounding.
                let half = run((0.5, 0.0), &poison);
                let y: Vec<T> =
                    run((-2.0, 8.0), &half).iter().map(|y| T::from_f64(y.to_f64() / 2.0)).collect();
                let wrong = expected.first_wrong(&y);
                assert_eq!(wrong, None, "{candidate} on '{what}', scaled, in pieces: {in_pieces}");
            }
        }
    }
}

#[test]
fn every_kernel_in_single_precision_matches_the_reference() {
    check_all::<f32>(128, 4);
}

#[test]
fn every_kernel_in_double_precision_with_wide_offsets_matches_the_reference() {
    check_all::<f64>(64, 8);
}

/// `count` parts of `nrows` rows at places that follow from `seed`; some may be empty.
fn random_cuts(nrows: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut cuts: Vec<usize> =
        (1..count as u64).map(|i| mix(seed * 1000 + i) as usize % (nrows + 1)).chain([0, nrows]).collect();
    cuts.sort_unstable();
    cuts
}

fn check_fused<T: Scalar>(block: u32, offset_bytes: u64) {
    if gxx_is_missing() {
        return;
    }
    let kernels = [
        Kernel::CsrScalar,
        Kernel::CsrVector { threads_per_row: 8 },
        Kernel::Ell,
        Kernel::Sell(SellShape::ALL[SellShape::ALL.len() - 1]),
        Kernel::Jad,
        Kernel::BroEll(BroEllShape::ALL[0]),
        Kernel::CsrBalanced(TileShape::ALL[0]),
        Kernel::CsrBinned,
        Kernel::CsrVector { threads_per_row: 32 },
        Kernel::SellTeam { shape: SellShape::ALL[0], threads_per_row: 2 },
    ];
    let variants = kernels.map(|kernel| (kernel, offset_bytes));
    let source = fused_source(&variants, T::DTYPE, block).unwrap();
    let emulator = Emulator::compile(&format!("fused-b{block}-{}", T::DTYPE), &source);
    let fused = Fused { emulator: &emulator, kernels: &kernels, block, offset_bytes };
    for (seed, (what, lengths)) in awkward().into_iter().enumerate() {
        let a = matrix::<T>(&lengths);
        let x: Vec<T> = (0..a.ncols()).map(|i| T::from_f64(((i * 29) % 97) as f64 / 60.0 - 0.8)).collect();
        let expected = reference(&a, &x);
        let poison = vec![T::from_f64(f64::NAN); a.nrows()];
        for count in [1, 5, FUSED_PARTS] {
            let cuts = random_cuts(a.nrows(), count, seed as u64);
            let run = |factors, y: &[T]| fused.product(&cuts, &a, factors, (&x, y), count == 5);
            let half = run((0.5, 0.0), &poison);
            let y = run((-1.0, 4.0), &half);
            assert_eq!(expected.first_wrong(&y), None, "'{what}' in {count} parts");
        }
    }
}

#[test]
fn parts_in_different_formats_run_in_one_launch() {
    check_fused::<f32>(128, 4);
    check_fused::<f64>(64, 8);
}

#[test]
fn bro_ell_reads_differences_that_straddle_two_symbols() {
    if gxx_is_missing() {
        return;
    }
    let a = wide_differences::<f32>();
    let x: Vec<f32> = (0..a.ncols()).map(|i| ((i * 29) % 97) as f32 / 60.0 - 0.8).collect();
    let expected = reference(&a, &x);
    let poison = vec![f32::NAN; a.nrows()];
    // Blocks of fewer and of more rows than a slice.
    for shape in BroEllShape::ALL {
        for block in [64, 1024] {
            let candidate = Candidate { kernel: Kernel::BroEll(shape), block, dtype: Dtype::F32 };
            let name = format!("straddling-{}", candidate.to_string().replace('/', "-"));
            let emulator = Emulator::compile(&name, &source(&candidate, 4).unwrap());
            for in_pieces in [false, true] {
                let y = product(&emulator, &candidate, 4, &a, (1.0, 0.0), (&x, &poison), in_pieces);
                assert_eq!(expected.first_wrong(&y), None, "{candidate}, in pieces: {in_pieces}");
            }
        }
    }
}

fn generated_is_the_formula<T: Scalar>(offset_bytes: u64) {
    if gxx_is_missing() {
        return;
    }
    let name = format!("benchmark-{}", T::DTYPE);
    let emulator = Emulator::compile(&name, &benchmark_matrix_source(T::DTYPE, offset_bytes));
    let empty_value = T::from_f64(f64::NAN);
    for (placement, lengths) in
        Placement::ALL.into_iter().flat_map(|p| RowLengthDistribution::ALL.map(|d| (p, d)))
    {
        for (nrows, row_length, seed) in
            [(1_u64, 1_u64, 0_u64), (33, 33, 5), (1000, 7, u64::MAX), (64, 32, 9), (40, 30, 3)]
        {
            let m = BenchmarkMatrix { nrows, row_length, lengths, placement, seed };
            let rows = m.rows(Bytes(u64::MAX)).unwrap();
            let a = m.to_csr::<T>();
            let layout = JadLayout::of(a.row_ptr());
            let (nnz, width, stride) = (rows.nnz(), rows.longest(), Ell::<T>::stride_for(nrows));
            let room = |count: u64| scalars(&vec![empty_value; count as usize]);
            let no_words = |count: u64| words(&vec![7; count as usize]);
            let arrays = [
                vec![7; ((nrows + 1) * offset_bytes) as usize],
                no_words(nnz),
                no_words(nnz),
                room(nnz),
                no_words(width * stride),
                room(width * stride),
                room(nrows),
                room(nrows),
                offsets(rows.offsets().unwrap_or_default(), offset_bytes),
                words(layout.permutation()),
                offsets(layout.diagonal_ptr(), 8),
                no_words(nnz),
                room(nnz),
            ];
            let launch = |kernel: u64, args: &[Arg]| Launch {
                kernel,
                grid: 2,
                block: HELPER_BLOCK.into(),
                backwards: false,
                args: args.to_vec(),
            };
            let strewn = u64::from(placement == Placement::Strewn);
            let [n, p, longest, strewn, seed, nnz, width, stride] =
                [nrows, row_length, m.longest(), strewn, seed, nnz, width, stride].map(Arg::Number);
            let at = Arg::Array;
            let row_ptr = if rows.offsets().is_some() { at(8) } else { Arg::Number(0) };
            let mut launches = vec![
                launch(2, &[n, longest, strewn, seed, row_ptr, at(2), at(3)]),
                launch(3, &[n, longest, strewn, seed, row_ptr, width, stride, at(4), at(5)]),
                launch(4, &[n, longest, strewn, seed, row_ptr, at(9), at(10), at(11), at(12)]),
                launch(5, &[n, seed, at(6)]),
                launch(6, &[n, at(7)]),
            ];
            if !lengths.is_drawn() {
                launches.extend([launch(0, &[n, p, at(0)]), launch(1, &[nnz, p, at(1)])]);
            }
            let out = emulator.run(&arrays, &launches);
            let coo = Coo::from_csr(&a, &Limits::NONE).unwrap();
            let ell = Ell::from_csr(&a, &Limits::NONE).unwrap();
            let jad = Jad::from_csr(&a, &Limits::NONE).unwrap();
            if !lengths.is_drawn() {
                assert_eq!(out[0], offsets(a.row_ptr(), offset_bytes), "{m:?}");
                assert_eq!(out[1], words(coo.row_idx()), "{m:?}");
            }
            assert_eq!((&out[2], &out[3]), (&words(a.col_idx()), &scalars(a.values())), "{m:?}");
            assert_eq!((&out[4], &out[5]), (&words(ell.col_idx()), &scalars(ell.values())), "{m:?}");
            assert_eq!((&out[11], &out[12]), (&words(jad.col_idx()), &scalars(jad.values())), "{m:?}");
            // As sparsight_device::random_x.
            let x = BenchmarkMatrix { row_length: 1, lengths: RowLengthDistribution::Constant, ..m };
            let x: Vec<T> = (0..nrows).map(|i| T::from_f64(x.value(i, 0))).collect();
            assert_eq!(out[6], scalars(&x), "{m:?}");
            assert!(to_scalars::<T>(&out[7]).iter().all(|y| y.to_f64().is_nan()), "{m:?}");
        }
    }
}

#[test]
fn generated_matrices_are_the_host_formula_number_by_number() {
    generated_is_the_formula::<f32>(4);
    generated_is_the_formula::<f64>(8);
}
