//! Share of a matrix on several GPUs, each of them with a process of its own; all processes make the same calls.
//!
//! ```text
//! every process   plans the same; `meet` tells its digest to the others, and gives the identity that rank 0 has drawn
//!                 joins, and brings its share to its GPU
//! ```
//! How the processes talk to each other before they are linked is Python's business: `python/sparsight/_ranks.py`.

use crate::advice::Advice;
use crate::buffers::{Values, fill_indices, fill_values};
use crate::devices::{LinkedGpus, identity};
use crate::failure::{Failure, Kind, SHARED};
use crate::forked;
use crate::linked::{Linked, planned, together};
use crate::matrix::Matrix;
use crate::on_gpus::{Parts, answer, links_of};
use crate::pieces::{Piece, Piecewise, Whole, multiply, next_operator};
use crate::typed::{Typed, map_typed, other_type, with_typed};
use pyo3::prelude::*;
use sparsight::device::gpu::GpuShare;
use sparsight::distributed::Distributed;
use std::path::PathBuf;

/// A share of either value type.
type AnyShare = Typed<GpuShare<f32>, GpuShare<f64>>;

/// This process' share of a matrix.
#[pyclass(frozen, module = "sparsight._core")]
pub(crate) struct Rank {
    share: Linked<AnyShare>,
    gpu: LinkedGpus,
    /// Number by which its pieces know it.
    number: u64,
    /// Rows and columns of the whole matrix.
    size: (usize, usize),
    /// Rows and columns that are its own, in the order in which pieces have them.
    own: [Vec<u32>; 2],
    /// Prediction in the form of `on_gpus` for this number of GPUs.
    #[pyo3(get)]
    planned_json: String,
    /// Bytes of the share on the GPU, with what the exchange needs, x and y not counted.
    #[pyo3(get)]
    memory_bytes: u64,
    /// Seconds of conversion and upload.
    #[pyo3(get)]
    preparation_s: f64,
}

impl Rank {
    fn new(
        share: AnyShare,
        own: [Vec<u32>; 2],
        gpu: LinkedGpus,
        planned_json: String,
        size: (usize, usize),
    ) -> Self {
        let (memory_bytes, took) = with_typed!(&share, share => (share.memory_bytes(), share.preparation()));
        let (share, number, preparation_s) = (Linked::new(share), next_operator(), took.total().0);
        Self { share, gpu, number, size, own, planned_json, memory_bytes, preparation_s }
    }

    /// A piece with these entries, and room behind them for what others give.
    fn piece<T: Piecewise>(
        &self,
        share: &GpuShare<T>,
        mut entries: Vec<T>,
        is_x: bool,
    ) -> Result<Piece, Failure> {
        let own = entries.len();
        let whole = Whole::new(self.number, 0, is_x, self.size.0 == self.size.1);
        entries.resize(whole.room(share), T::default());
        let mut array = share.zeroed(entries.len())?;
        array.write(&entries)?;
        Ok(Piece::new(array, own, self.gpu.indexes[0], whole))
    }

    /// Refuses what is no piece of this operator.
    fn check(&self, what: &str, piece: &Piece, fits: bool) -> Result<(), Failure> {
        let refused = |text: &str| {
            let text = format!("{what} is a piece of {text}");
            Err(Failure::new(Kind::BadVector, text).hinted("scatter(x), zeros() and multiply(x) give one"))
        };
        match &piece.whole {
            whole if whole.operator != self.number => refused("another operator"),
            whole if !fits && whole.is_x => refused("an x, and the matrix is not square"),
            _ if !fits => refused("a y, and the matrix is not square"),
            _ => Ok(()),
        }
    }
}

#[pymethods]
impl Rank {
    /// Number of its GPU on this host.
    #[getter]
    fn index(&self) -> usize {
        self.gpu.indexes[0]
    }

    /// Numbers of own rows and columns.
    #[getter]
    fn own_lengths(&self) -> (usize, usize) {
        (self.own[0].len(), self.own[1].len())
    }

    /// Writes the numbers of its own rows, or columns, into an int64 array.
    fn own(&self, py: Python<'_>, columns: bool, numbers: &Bound<'_, PyAny>) -> PyResult<()> {
        fill_indices(py, "numbers", numbers, &self.own[usize::from(columns)])
    }

    /// A piece with these entries of an x, or of a y: those that are its own.
    fn piece_of(&self, py: Python<'_>, entries: &Bound<'_, PyAny>, is_x: bool) -> PyResult<Piece> {
        let entries = Values::read("x", entries)?;
        let expected = self.own[usize::from(is_x)].len();
        self.share.with(py, |share| {
            with_typed!(share.as_ref().with(entries.as_ref())?, (share, held) => match held.entries() {
                entries if entries.len() == expected => self.piece(share, entries.to_vec(), is_x),
                _ => Err(other_type()),
            })
        })
    }

    /// y = alpha A x + beta y with pieces, after everything that is queued on this GPU, and waited for. All ranks do it.
    fn multiply(&self, py: Python<'_>, x: &Piece, y: &Piece, alpha: f64, beta: f64) -> PyResult<()> {
        self.check("x", x, x.whole.is_x)?;
        self.check("out", y, y.whole.is_y)?;
        if std::ptr::eq(x, y) {
            return Err(Failure::new(Kind::BadVector, "out shares memory with x").hinted(SHARED).into());
        }
        self.share.with(py, |share| {
            // The stream in which a piece was written is unknown.
            self.gpu.wait()?;
            Ok(with_typed!(share, share => multiply(share, (alpha, beta), (x, y)))?)
        })
    }

    /// True if a piece of this operator is that of an x; of a square matrix it is.
    fn is_x(&self, piece: &Piece) -> PyResult<bool> {
        self.check("piece", piece, true)?;
        Ok(piece.whole.is_x)
    }

    /// Copies the own entries of a piece into an array, after everything that is queued on the GPU.
    fn read(&self, py: Python<'_>, piece: &Piece, out: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check("piece", piece, true)?;
        let entries = self.share.with(py, |_| {
            self.gpu.wait()?;
            Ok(piece.read()?)
        })?;
        with_typed!(&entries, entries => fill_values(py, out, entries))
    }

    /// Gives its memory back now. Waits for what is queued.
    fn free(&self, py: Python<'_>) {
        self.share.free(py);
    }

    /// True if `free` was called.
    #[getter]
    fn is_freed(&self) -> bool {
        self.share.is_freed()
    }
}

/// NCCL identity for all ranks of a communicator: 128 bytes, drawn by one of them.
#[pyfunction]
pub(crate) fn nccl_identity(py: Python<'_>) -> PyResult<Vec<u8>> {
    Ok(forked::work(py, identity)??)
}

/// Deals the rows of the matrix out to so many processes and brings the share of this one to its GPU. `meet` is given the digest of what
/// was planned, a line each with a name, a tab and a value, which has to be the same on all; it gives the identity by which they find
/// each other.
#[pyfunction]
#[pyo3(signature = (matrix, advice, index, rank, ranks, parts, links, meet))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // What Python says; a path and a function, which become ours.
pub(crate) fn prepare_rank(
    py: Python<'_>,
    matrix: &Matrix,
    advice: &Advice,
    index: usize,
    rank: usize,
    ranks: usize,
    parts: Option<&Bound<'_, PyAny>>,
    links: Option<PathBuf>,
    meet: Bound<'_, PyAny>,
) -> PyResult<Rank> {
    forked::refuse()?;
    let parts = Parts::read(parts)?;
    let begun = forked::work(py, || {
        let (known, links) = links_of(links.as_deref(), &advice.profile)?;
        let (distributed, on_gpus) =
            map_typed!(&matrix.csr, a => planned(a, advice, ranks, &parts, &known)?).split();
        let gpu = LinkedGpus::open(vec![index])?;
        let said = answer(matrix, advice, &parts, links, vec![Ok(on_gpus)])?;
        let name = gpu.devices()[0].facts().name.clone();
        // Properties that all ranks must share: a line each.
        let digest = with_typed!(&distributed, all => all.digest(&name).to_string());
        Ok::<_, Failure>((distributed, said, gpu, digest))
    })?;
    let (distributed, said, gpu, digest) = begun?;
    let identity: Vec<u8> = meet.call1((digest,))?.extract()?;
    let made = forked::work(py, || {
        let _together = together();
        let link = gpu.join(&identity, rank, ranks)?;
        let device = &gpu.devices()[0];
        let made = map_typed!(&distributed, all => (all.prepare_rank(device, link)?, own(all, rank)));
        Ok::<_, Failure>(made.split())
    })?;
    let (share, own) = made?;
    Ok(Rank::new(share, own, gpu, said, matrix.size()))
}

/// Rows and columns of a rank.
fn own<T: Piecewise>(all: &Distributed<T>, rank: usize) -> [Vec<u32>; 2] {
    let share = &all.shares[rank];
    [share.rows().to_vec(), share.columns().to_vec()]
}
