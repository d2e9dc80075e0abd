//! A matrix on several GPUs of this process, ready for products.

use crate::advice::Advice;
use crate::buffers::{Values, Vectors, fill_values};
use crate::devices::LinkedGpus;
use crate::failure::{Failure, Kind, SHARED};
use crate::forked;
use crate::linked::{Linked, planned, together};
use crate::matrix::Matrix;
use crate::on_gpus::{Parts, answer, links_of};
use crate::pieces::{Piece, Piecewise, Whole, multiply, next_operator};
use crate::typed::{Typed, map_typed, with_typed};
use pyo3::prelude::*;
use sparsight::answer::OnGpus;
use sparsight::device::DeviceError;
use sparsight::device::gpu::{DeviceArray, DistributedProduct, GpuShare};
use sparsight::matrix::Csr;
use sparsight::profile::KnownLinks;
use std::path::PathBuf;

/// A distributed product of either value type.
type AnyDistributed = Typed<DistributedProduct<f32>, DistributedProduct<f64>>;

/// A matrix on several GPUs. Several threads may multiply with it, one after the other.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct Distributed {
    product: Linked<AnyDistributed>,
    gpus: LinkedGpus,
    /// Number by which its pieces know it.
    number: u64,
    /// Rows and columns.
    size: (usize, usize),
    /// Prediction in the form of `on_gpus` for this number of GPUs.
    #[pyo3(get)]
    planned_json: String,
    /// Bytes of the matrix on each GPU, with what the exchange needs, x and y not counted.
    #[pyo3(get)]
    memory_bytes: Vec<u64>,
    /// Seconds of conversion and upload, on the GPU where they took longest.
    #[pyo3(get)]
    preparation_s: f64,
}

impl Distributed {
    fn new(product: AnyDistributed, gpus: LinkedGpus, planned_json: String, size: (usize, usize)) -> Self {
        let (memory_bytes, took) = with_typed!(&product, p => (p.memory_bytes(), p.preparation()));
        // They work side by side.
        let preparation_s = took.iter().map(|one| one.total().0).fold(0.0, f64::max);
        let (product, number) = (Linked::new(product), next_operator());
        Self { product, gpus, number, size, planned_json, memory_bytes, preparation_s }
    }

    /// Whole vector of a piece on the GPU of that rank.
    fn whole(&self, rank: usize, is_x: bool) -> Whole {
        Whole::new(self.number, rank, is_x, self.size.0 == self.size.1)
    }

    /// Refuses what are not its pieces, in the order of its GPUs.
    fn check(&self, what: &str, pieces: &[Py<Piece>], fits: impl Fn(&Whole) -> bool) -> Result<(), Failure> {
        let refused = |text: String| {
            Err(Failure::new(Kind::BadVector, text).hinted(
                "scatter(x), zeros() and multiply(xs) give a piece for each GPU, in the order of its devices",
            ))
        };
        let (given, gpus) = (pieces.len(), self.gpus.indexes.len());
        if given != gpus {
            return refused(format!("{what} has {given} pieces for {gpus} GPUs"));
        }
        for (rank, piece) in pieces.iter().enumerate() {
            let whole = &piece.get().whole;
            if whole.operator != self.number {
                return refused(format!("{what}[{rank}] is a piece of another operator"));
            }
            if whole.rank != rank {
                return refused(format!("{what}[{rank}] is the piece of another GPU"));
            }
            if !fits(whole) {
                let other = if whole.is_x { "an x" } else { "a y" };
                return refused(format!(
                    "{what}[{rank}] is a piece of {other}, and the matrix is not square"
                ));
            }
        }
        Ok(())
    }

    /// Room for a vector, all 0: a piece a GPU.
    fn rooms<T: Piecewise>(
        &self,
        product: &DistributedProduct<T>,
        is_x: bool,
    ) -> Result<Vec<Piece>, Failure> {
        // One rank after the other: if one has no memory left, the others need not be told.
        let arrays = product.shares().map(|share| share.zeroed(self.whole(0, is_x).room(share)));
        let arrays = arrays.collect::<Result<_, DeviceError>>()?;
        Ok(self.pieces(product, arrays, is_x))
    }

    fn pieces<T: Piecewise>(
        &self,
        product: &DistributedProduct<T>,
        arrays: Vec<DeviceArray<T>>,
        is_x: bool,
    ) -> Vec<Piece> {
        let owned = product.owned().map(|(rows, columns)| if is_x { columns.len() } else { rows.len() });
        let all = arrays.into_iter().zip(owned).zip(&self.gpus.indexes).enumerate();
        all.map(|(rank, ((array, own), &index))| Piece::new(array, own, index, self.whole(rank, is_x)))
            .collect()
    }

    fn multiplied<T: Piecewise>(
        &self,
        product: &mut DistributedProduct<T>,
        (alpha, beta): (f64, f64),
        (xs, ys): (&[Py<Piece>], &[Py<Piece>]),
    ) -> Result<(), Failure> {
        // The stream in which a piece was written is unknown.
        self.gpus.wait()?;
        product.each(|share, _, _| {
            let rank = share.link().rank();
            multiply(share, (alpha, beta), (xs[rank].get(), ys[rank].get()))
        })?;
        Ok(())
    }

    fn scattered<T: Piecewise>(
        &self,
        product: &DistributedProduct<T>,
        x: &[T],
    ) -> Result<Vec<Piece>, Failure> {
        let columns = product.owned().map(|(_, columns)| columns.len()).sum();
        if x.len() != columns {
            return Err(DeviceError::Length { vector: "x", expected: columns, got: x.len() }.into());
        }
        let own: Vec<Vec<T>> = product
            .owned()
            .map(|(_, columns)| columns.iter().map(|&column| x[column as usize]).collect())
            .collect();
        let filled = |(share, mut entries): (&GpuShare<T>, Vec<T>)| {
            entries.resize(self.whole(0, true).room(share), T::default());
            let mut array = share.zeroed(entries.len())?;
            array.write(&entries)?;
            Ok(array)
        };
        let arrays = product.shares().zip(own).map(filled).collect::<Result<_, DeviceError>>()?;
        Ok(self.pieces(product, arrays, true))
    }

    fn gathered<T: Piecewise>(
        &self,
        product: &DistributedProduct<T>,
        pieces: &[Py<Piece>],
        is_x: bool,
    ) -> Result<Vec<T>, Failure> {
        self.gpus.wait()?;
        let owned = || product.owned().map(|(rows, columns)| if is_x { columns } else { rows });
        let mut whole = vec![T::default(); owned().map(<[u32]>::len).sum()];
        for (numbers, piece) in owned().zip(pieces) {
            let entries = piece.get().array::<T>().read()?;
            numbers.iter().zip(&entries).for_each(|(&number, &entry)| whole[number as usize] = entry);
        }
        Ok(whole)
    }
}

#[pymethods]
impl Distributed {
    /// Numbers of its GPUs.
    #[getter]
    fn indexes(&self) -> Vec<usize> {
        self.gpus.indexes.clone()
    }

    /// y = alpha A x + beta y with arrays of the host.
    fn multiply_host(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        alpha: f64,
        beta: f64,
    ) -> PyResult<()> {
        let mut vectors = Vectors::of(x, y)?;
        self.product.with(py, |product| {
            with_typed!(product.as_mut().with(vectors.as_mut())?, (product, (x, y)) => {
                // SAFETY: taken to be written, and shares nothing with x.
                let y = unsafe { y.entries_mut() };
                Ok(product.multiply(alpha, x.entries(), beta, y)?)
            })
        })
    }

    /// Pieces of an x, or of a y, all 0.
    fn zeros(&self, py: Python<'_>, is_x: bool) -> PyResult<Vec<Piece>> {
        self.product.with(py, |product| with_typed!(product, p => self.rooms(p, is_x)))
    }

    /// The entries of an array of the host, each on the GPU that owns it.
    fn scatter(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Vec<Piece>> {
        let x = Values::read("x", x)?;
        self.product.with(py, |product| {
            let both = product.as_ref().with(x.as_ref())?;
            with_typed!(both, (product, x) => self.scattered(product, x.entries()))
        })
    }

    /// y = alpha A x + beta y with pieces, after everything that is queued on their GPUs, and waited for.
    #[allow(clippy::needless_pass_by_value)] // Python gives lists, which become ours.
    fn multiply(
        &self,
        py: Python<'_>,
        xs: Vec<Py<Piece>>,
        ys: Vec<Py<Piece>>,
        alpha: f64,
        beta: f64,
    ) -> PyResult<()> {
        self.check("xs", &xs, |whole| whole.is_x)?;
        self.check("out", &ys, |whole| whole.is_y)?;
        if xs.iter().zip(&ys).any(|(x, y)| x.is(y)) {
            return Err(Failure::new(Kind::BadVector, "out shares memory with xs").hinted(SHARED).into());
        }
        self.product
            .with(py, |product| with_typed!(product, p => self.multiplied(p, (alpha, beta), (&xs, &ys))))
    }

    /// Entries of the vector in these pieces.
    #[allow(clippy::needless_pass_by_value)] // As above.
    fn length_of(&self, pieces: Vec<Py<Piece>>) -> PyResult<usize> {
        let is_x = pieces.first().is_some_and(|piece| piece.get().whole.is_x);
        self.check("pieces", &pieces, |whole| if is_x { whole.is_x } else { whole.is_y })?;
        Ok(if is_x { self.size.1 } else { self.size.0 })
    }

    /// Copies pieces of an x or a y into an array of the caller's, after everything that is queued on their GPUs.
    #[allow(clippy::needless_pass_by_value)] // As above.
    fn gather(&self, py: Python<'_>, pieces: Vec<Py<Piece>>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let is_x = pieces.first().is_some_and(|piece| piece.get().whole.is_x);
        self.check("pieces", &pieces, |whole| if is_x { whole.is_x } else { whole.is_y })?;
        let gathered = self
            .product
            .with(py, |product| Ok(map_typed!(product, product => self.gathered(product, &pieces, is_x)?)))?;
        with_typed!(&gathered, entries => fill_values(py, out, entries))
    }

    /// Waits for everything that is queued on its GPUs.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Ok(forked::work(py, || self.gpus.wait())??)
    }

    /// Gives its memory back now. Waits for what is queued.
    fn free(&self, py: Python<'_>) {
        self.product.free(py);
    }

    /// True if `free` was called.
    #[getter]
    fn is_freed(&self) -> bool {
        self.product.is_freed()
    }
}

/// Request beside the matrix.
struct Wanted<'a> {
    gpus: &'a LinkedGpus,
    parts: &'a Parts,
    known: &'a KnownLinks,
}

fn make<T: Piecewise>(
    a: &Csr<T>,
    advice: &Advice,
    wanted: &Wanted<'_>,
) -> Result<(DistributedProduct<T>, OnGpus), Failure> {
    let (size, count) = ((a.nrows(), a.ncols()), wanted.gpus.indexes.len());
    let (distributed, planned) = planned(a, advice, count, wanted.parts, wanted.known)?;
    let _together = together();
    let product = distributed.prepare(size, &wanted.gpus.devices(), wanted.gpus.link()?)?;
    Ok((product, planned))
}

/// Deals the rows of the matrix out to the GPUs with these numbers and brings each share there.
#[pyfunction]
#[pyo3(signature = (matrix, advice, indexes, parts, links))]
#[allow(clippy::needless_pass_by_value)] // Python gives a list and a path, which become ours.
pub(crate) fn prepare_distributed(
    py: Python<'_>,
    matrix: &Matrix,
    advice: &Advice,
    indexes: Vec<usize>,
    parts: Option<&Bound<'_, PyAny>>,
    links: Option<PathBuf>,
) -> PyResult<Distributed> {
    forked::refuse()?;
    let parts = Parts::read(parts)?;
    let made = forked::work(py, || {
        let (known, links) = links_of(links.as_deref(), &advice.profile)?;
        // Parts that do not fit are told before a GPU is looked for.
        let (rows, columns) = matrix.size();
        parts.deal((rows, columns), indexes.len())?;
        let gpus = LinkedGpus::open(indexes)?;
        let wanted = Wanted { gpus: &gpus, parts: &parts, known: &known };
        let (product, planned) = map_typed!(&matrix.csr, a => make(a, advice, &wanted)?).split();
        let planned = answer(matrix, advice, &parts, links, vec![Ok(planned)])?;
        Ok::<_, Failure>(Distributed::new(product, gpus, planned, (rows, columns)))
    })?;
    Ok(made?)
}
