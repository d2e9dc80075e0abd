//! A matrix in row blocks, each in its own format. A CPU has no launches to save: both executions run the parts one after
//! another, each on all workers.

use super::Cpu;
use super::epilogue::CpuEpilogue;
use crate::lengths::{check_length, check_lengths};
use crate::partition::{entries_of, rows_of};
use crate::product::ValuePlaces;
use crate::stock::Stock;
use crate::timing::{Batch, Caches, try_took};
use crate::{Device, DeviceError, LoadedEpilogue, Partition, Preparation, Product};
use rayon::prelude::*;
use sparsight_kernels::{Candidate, CpuScratch, Epilogue};
use sparsight_matrix::{Csr, Limits, Scalar, Stored, numbered, replace_values};
use std::ops::Range;

/// Rows that a task scales. Chosen: some microseconds of work.
const ROWS_PER_TASK: usize = 1 << 12;

/// [`Product`] of [`Cpu`].
pub(super) struct CpuPartitioned<T: Scalar> {
    cpu: Cpu,
    /// Rows and columns.
    size: (usize, usize),
    /// Bytes of all parts.
    bytes: u64,
    parts: Vec<Part<T>>,
    rooms: Stock<Room<T>>,
    preparation: Preparation,
}

struct Part<T: Scalar> {
    rows: Range<usize>,
    candidate: Candidate,
    matrix: Box<dyn Stored<T>>,
    entries: Range<u64>,
    places: ValuePlaces<Vec<Vec<T>>>,
}

/// Buffers of one product at a time.
struct Room<T: Scalar> {
    /// Scratch of each part.
    scratch: Vec<CpuScratch<T>>,
    /// A x of the longest part, where y is more than that.
    sums: Vec<T>,
    /// x and y of products that are timed, made when first needed.
    own: Option<(Vec<T>, Vec<T>)>,
}

impl<T: Scalar> Room<T> {
    fn of(parts: &[Part<T>]) -> Self {
        let scratch = parts.iter().map(|part| CpuScratch::of(part.matrix.as_ref())).collect();
        Self { scratch, sums: Vec::new(), own: None }
    }
}

impl<T: Scalar> Part<T> {
    /// y = A x.
    fn product(&self, x: &[T], y: &mut [T], scratch: &mut CpuScratch<T>, workers: usize) {
        let Candidate { kernel, block, .. } = self.candidate;
        kernel.multiply_on_cpu(self.matrix.as_ref(), block, (x, y), scratch, workers);
    }

    /// The number of the entry at each place of each array of values.
    fn find_numbers(&self, a: &Csr<T>) -> Result<Vec<Vec<T>>, DeviceError> {
        let numbered = numbered(&rows_of(a, &self.rows))?;
        let mut numbers = self.candidate.format().convert(&numbered, &Limits::NONE)?;
        if numbers.numbers() != self.matrix.numbers() || numbers.bytes() != self.matrix.bytes() {
            return Err(DeviceError::OtherPattern);
        }
        Ok(numbers.values_mut().into_iter().map(|numbers| numbers.to_vec()).collect())
    }
}

impl<T: Scalar> CpuPartitioned<T> {
    /// Cutting the parts out counts as conversion.
    pub(super) fn load(cpu: &Cpu, a: &Csr<T>, partition: &Partition) -> Result<Self, DeviceError> {
        partition.check::<T>(a.nrows())?;
        let limits = Device::<T>::limits(cpu);
        cpu.run(|| Self::converted(cpu, a, partition, &limits))
    }

    fn converted(cpu: &Cpu, a: &Csr<T>, partition: &Partition, limits: &Limits) -> Result<Self, DeviceError> {
        let part = |(rows, candidate): &(Range<usize>, Candidate)| {
            let matrix = candidate.format().convert(&rows_of(a, rows), limits)?;
            let (entries, places) = (entries_of(a, rows), ValuePlaces::of(candidate.format()));
            Ok(Part { rows: rows.clone(), candidate: *candidate, matrix, entries, places })
        };
        let ((parts, rooms), convert) = try_took(|| {
            let parts = partition.parts().iter().map(part).collect::<Result<Vec<_>, DeviceError>>()?;
            let rooms = Stock::of(vec![Room::of(&parts)]);
            Ok::<_, DeviceError>((parts, rooms))
        })?;
        let preparation = Preparation { convert, ..Preparation::default() };
        let bytes = parts.iter().map(|part| part.matrix.bytes()).sum();
        Ok(Self { cpu: cpu.clone(), size: (a.nrows(), a.ncols()), bytes, parts, rooms, preparation })
    }

    /// Gives `work` what no other product uses meanwhile.
    ///
    /// # Errors
    /// The error of `work`.
    fn in_room<R>(
        &self,
        work: impl FnOnce(&mut Room<T>) -> Result<R, DeviceError>,
    ) -> Result<R, DeviceError> {
        self.rooms.with(|| Ok(Room::of(&self.parts)), work)
    }
}

/// y = A x, part after part.
fn product<T: Scalar>(
    parts: &[Part<T>],
    scratch: &mut [CpuScratch<T>],
    (x, y): (&[T], &mut [T]),
    workers: usize,
) {
    for (part, scratch) in parts.iter().zip(scratch) {
        part.product(x, &mut y[part.rows.clone()], scratch, workers);
    }
}

/// y = alpha A x + beta y, rounded as the CUDA kernels do it.
fn scaled_product<T: Scalar>(
    parts: &[Part<T>],
    Room { scratch, sums, .. }: &mut Room<T>,
    (alpha, beta): (f64, f64),
    (x, y): (&[T], &mut [T]),
    workers: usize,
) {
    sums.resize(parts.iter().map(|part| part.rows.len()).max().unwrap_or_default(), T::default());
    for (part, scratch) in parts.iter().zip(scratch) {
        let rows = part.rows.clone();
        let sums = &mut sums[..rows.len()];
        part.product(x, sums, scratch, workers);
        scale((alpha, beta), (sums, &mut y[rows]), workers);
    }
}

/// y = alpha x + beta y, rounded likewise.
pub(super) fn scale<T: Scalar>((alpha, beta): (f64, f64), (x, y): (&[T], &mut [T]), workers: usize) {
    let factors = (T::from_f64(alpha), T::from_f64(beta));
    let scale = |(y, x): (&mut [T], &[T])| {
        for (y, &x) in y.iter_mut().zip(x) {
            let product = factors.0 * x;
            // With beta = 0, y is not read: it may be NaN.
            *y = if beta == 0.0 { product } else { product + factors.1 * *y };
        }
    };
    if workers > 1 {
        y.par_chunks_mut(ROWS_PER_TASK).zip(x.par_chunks(ROWS_PER_TASK)).for_each(scale);
    } else {
        scale((y, x));
    }
}

impl<T: Scalar> Product<T> for CpuPartitioned<T> {
    fn preparation(&self) -> Preparation {
        self.preparation
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    fn multiply(&self, alpha: f64, x: &[T], beta: f64, y: &mut [T]) -> Result<(), DeviceError> {
        check_lengths(self.size, x.len(), y.len())?;
        self.in_room(|room| {
            self.cpu.multiply(self.bytes, |workers| {
                if (alpha, beta) == (1.0, 0.0) {
                    product(&self.parts, &mut room.scratch, (x, y), workers);
                } else {
                    scaled_product(&self.parts, room, (alpha, beta), (x, y), workers);
                }
            });
            Ok(())
        })
    }

    fn allow_updates(&mut self, a: &Csr<T>) -> Result<(), DeviceError> {
        let is_same =
            |part: &Part<T>| part.rows.end <= a.nrows() && entries_of(a, &part.rows) == part.entries;
        if (a.nrows(), a.ncols()) != self.size || !self.parts.iter().all(is_same) {
            return Err(DeviceError::OtherPattern);
        }
        let find = |part: &Part<T>| ValuePlaces::found(part.candidate.format(), || part.find_numbers(a));
        // All of them, before any is taken over.
        let found: Vec<_> = self.cpu.run(|| self.parts.iter().map(find).collect::<Result<_, _>>())?;
        for (part, places) in self.parts.iter_mut().zip(found) {
            part.places = places;
        }
        Ok(())
    }

    fn update_values(&mut self, values: &[T]) -> Result<(), DeviceError> {
        let nnz = self.parts.last().map_or(0, |part| part.entries.end);
        check_length("the new values", nnz as usize, values.len())?;
        // All of them, before any is changed.
        let known = |part: &Part<T>| part.places.numbers(part.candidate.format()).map(drop);
        self.parts.iter().try_for_each(known)?;
        let cpu = self.cpu.clone();
        cpu.run(|| {
            self.parts.iter_mut().try_for_each(|Part { candidate, matrix, entries, places, .. }| {
                let values = &values[entries.start as usize..entries.end as usize];
                match places.numbers(candidate.format())? {
                    None => matrix.values_mut().into_iter().for_each(|places| places.copy_from_slice(values)),
                    Some(numbers) => {
                        for (places, numbers) in matrix.values_mut().into_iter().zip(numbers) {
                            replace_values(places, numbers, values);
                        }
                    }
                }
                Ok(())
            })
        })
    }

    fn batch(&self, products: u32, caches: Caches) -> Result<Batch, DeviceError> {
        let size = self.size;
        self.in_room(|Room { scratch, own, .. }| {
            let (x, y) = own.get_or_insert_with(|| (crate::random_x(size.1, 0), vec![T::default(); size.0]));
            self.cpu.time(products, caches, || {
                self.cpu.multiply(self.bytes, |workers| product(&self.parts, scratch, (x, y), workers));
                Ok(())
            })
        })
    }

    fn load_epilogue(&self, epilogue: &Epilogue) -> Result<Box<dyn LoadedEpilogue<T>>, DeviceError> {
        Ok(Box::new(CpuEpilogue::load(&self.cpu, epilogue, self.size)?))
    }
}
