//! Epilogues on the CPU: a pass over rows behind the product, which leaves its sums in memory.
//!
//! Rows are cut into pieces; each piece adds up its own part of the dot products row by row, and these are added up in their order:
//! the same result with any number of threads.

use super::Cpu;
use crate::epilogue::check_reads_x;
use crate::lengths::check_lengths;
use crate::stock::Stock;
use crate::timing::{Batch, Caches};
use crate::{DeviceError, HostOperands, LoadedEpilogue, Product};
use sparsight_kernels::{Chunk, Epilogue, Lines, MOST_DOTS, MOST_OUTPUTS, MOST_ROWS};
use sparsight_matrix::Scalar;

/// Rows of a piece. Chosen: a multiple of what is computed at once, and some tens of microseconds of work.
const ROWS_OF_PIECE: usize = 32 * MOST_ROWS;

/// [`LoadedEpilogue`] of the CPU.
#[derive(Debug)]
pub(super) struct CpuEpilogue<T> {
    cpu: Cpu,
    epilogue: Epilogue,
    lines: Lines,
    size: (usize, usize),
    rooms: Stock<Room<T>>,
}

/// The sums of the rows, and the dot products of each piece.
#[derive(Debug)]
struct Room<T> {
    sums: Vec<T>,
    dots: Vec<[f64; MOST_DOTS]>,
}

/// What pieces read.
struct Work<'a, T> {
    epilogue: &'a Epilogue,
    lines: &'a Lines,
    sums: &'a [T],
    x: &'a [T],
    vectors: &'a [&'a [T]],
    scalars: &'a [f64],
}

impl<T: Scalar> CpuEpilogue<T> {
    /// # Errors
    /// [`DeviceError::Epilogue`] for a line that a processor does not compute; [`DeviceError::Length`].
    pub(super) fn load(cpu: &Cpu, epilogue: &Epilogue, size: (usize, usize)) -> Result<Self, DeviceError> {
        check_reads_x(epilogue, size)?;
        let (cpu, lines, epilogue) = (cpu.clone(), Lines::read(epilogue)?, epilogue.clone());
        Ok(Self { cpu, epilogue, lines, size, rooms: Stock::of(Vec::new()) })
    }

    fn room(&self) -> Room<T> {
        let pieces = self.size.0.div_ceil(ROWS_OF_PIECE);
        Room { sums: vec![T::default(); self.size.0], dots: vec![[0.0; MOST_DOTS]; pieces] }
    }
}

impl<T: Scalar> Work<'_, T> {
    /// The pieces whose dot products are `dots`, the first of which begins with row `first`; `y` and `outputs` are their rows.
    fn pieces(
        &self,
        first: usize,
        y: &mut [T],
        outputs: [&mut [T]; MOST_OUTPUTS],
        dots: &mut [[f64; MOST_DOTS]],
        workers: usize,
    ) {
        match dots {
            [] => {}
            [dots] => self.piece(first, y, outputs, dots),
            _ => {
                let middle = dots.len() / 2;
                let rows = middle * ROWS_OF_PIECE;
                let (y1, y2) = y.split_at_mut(rows);
                let (outputs1, outputs2) = halves(outputs, rows);
                let (dots1, dots2) = dots.split_at_mut(middle);
                let before = || self.pieces(first, y1, outputs1, dots1, workers);
                let behind = || self.pieces(first + rows, y2, outputs2, dots2, workers);
                if workers > 1 {
                    rayon::join(before, behind);
                } else {
                    before();
                    behind();
                }
            }
        }
    }

    fn piece(
        &self,
        first: usize,
        y: &mut [T],
        mut outputs: [&mut [T]; MOST_OUTPUTS],
        dots: &mut [f64; MOST_DOTS],
    ) {
        *dots = [0.0; MOST_DOTS];
        let mut row = first;
        for y in y.chunks_mut(MOST_ROWS) {
            let end = row + y.len();
            let (now, rest) = halves(outputs, y.len());
            outputs = rest;
            let x = if self.x.is_empty() { self.x } else { &self.x[row..end] };
            let mut chunk = Chunk {
                first: row,
                sums: &self.sums[row..end],
                x,
                y,
                vectors: self.vectors,
                outputs: now,
                scalars: self.scalars,
            };
            self.lines.compute(self.epilogue, &mut chunk, &mut dots[..]);
            row = end;
        }
    }
}

/// The first `rows` of each output, and the others; those that an epilogue lacks have none.
fn halves<T>(
    outputs: [&mut [T]; MOST_OUTPUTS],
    rows: usize,
) -> ([&mut [T]; MOST_OUTPUTS], [&mut [T]; MOST_OUTPUTS]) {
    let mut behind = [(); MOST_OUTPUTS].map(|()| &mut [][..]);
    let mut place = behind.iter_mut();
    let before = outputs.map(|output| {
        let (before, rest) = output.split_at_mut(rows.min(output.len()));
        if let Some(place) = place.next() {
            *place = rest;
        }
        before
    });
    (before, behind)
}

impl<T: Scalar> LoadedEpilogue<T> for CpuEpilogue<T> {
    fn epilogue(&self) -> &Epilogue {
        &self.epilogue
    }

    fn is_in_launch(&self) -> bool {
        false
    }

    fn multiply(
        &self,
        product: &dyn Product<T>,
        x: &[T],
        y: &mut [T],
        operands: HostOperands<'_, '_, T>,
        dots: &mut [f64],
    ) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        operands.check(&self.epilogue, self.size.0, dots.len())?;
        self.rooms.with(
            || Ok(self.room()),
            |Room { sums, dots: of_pieces }| {
                product.multiply(1.0, x, 0.0, sums)?;
                let mut outputs = [(); MOST_OUTPUTS].map(|()| &mut [][..]);
                outputs
                    .iter_mut()
                    .zip(operands.outputs.iter_mut())
                    .for_each(|(to, output)| *to = &mut **output);
                let HostOperands { vectors, scalars, .. } = operands;
                let x = if self.epilogue.reads_x() { x } else { &[] };
                let work = Work { epilogue: &self.epilogue, lines: &self.lines, sums, x, vectors, scalars };
                // Read and written once each.
                let bytes =
                    (2 + vectors.len() + self.epilogue.outputs().len()) as u64 * size_of_val(y) as u64;
                self.cpu.multiply(bytes, |workers| work.pieces(0, y, outputs, of_pieces, workers));
                dots.fill(0.0);
                for piece in of_pieces {
                    dots.iter_mut().zip(piece).for_each(|(dot, piece)| *dot += *piece);
                }
                Ok(())
            },
        )
    }

    fn batch(&self, product: &dyn Product<T>, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let (nrows, ncols) = self.size;
        let (x, mut y) = (crate::random_x(ncols, 0), vec![T::default(); nrows]);
        let several =
            |count: usize, seed: u64| (0..count as u64).map(|at| crate::random_x(nrows, seed + at)).collect();
        let vectors: Vec<Vec<T>> = several(self.epilogue.vectors().len(), 1);
        let mut outputs: Vec<Vec<T>> = several(self.epilogue.outputs().len(), 9);
        let vectors: Vec<&[T]> = vectors.iter().map(Vec::as_slice).collect();
        let scalars = vec![1.0; self.epilogue.scalars().len()];
        let mut dots = vec![0.0; self.epilogue.dots().len()];
        self.cpu.time(products, caches, || {
            let mut outputs: [&mut [T]; MOST_OUTPUTS] = {
                let mut of = outputs.iter_mut();
                [(); MOST_OUTPUTS].map(|()| of.next().map_or(&mut [][..], Vec::as_mut_slice))
            };
            let outputs = &mut outputs[..self.epilogue.outputs().len()];
            let operands = HostOperands { vectors: &vectors, outputs, scalars: &scalars };
            self.multiply(product, &x, &mut y, operands, &mut dots)
        })
    }
}
