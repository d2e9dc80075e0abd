//! A GPU's share of a matrix that is distributed over several.
//!
//! ```text
//! own stream      | interior rows                |           | boundary rows, which read the halo, too
//! link's stream   |  pack  |  exchange of x      | <- whichever is later
//! ```
//! `pack` brings the entries that others read into one piece; what comes from them is written behind the own entries of x at once.
//! Sources: Saad and Malevsky, 1995 (interior and boundary rows); the order of the halo is that of its owners, so that
//! nothing has to be unpacked.

use super::array::check_device;
use super::device::Shared;
use super::free_grid::FreeGrid;
use super::link::{Link, Message};
use super::product::GpuProduct;
use super::{DeviceArray, Extent, GpuDevice, Vectors};
use crate::lengths::check_length;
use crate::timing::try_took;
use crate::{DeviceError, DeviceSliceMut, Partition, Preparation, Product};
use sparsight_kernels::DOT_PIECES;
use sparsight_matrix::{Csr, Scalar, Seconds, Share};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Entries of the driver's queues that a share fills at most before it waits for them. The queues hold about 1,024: a launch into a
/// full one waits there, where no limit ends it if another rank has gone. Chosen: room is left for what the link adds. It is 64
/// products of a share that has one launch each for interior and boundary; the price: once in so many products the GPU has nothing to
/// do for about as long as queueing one takes.
const MOST_QUEUED: u32 = 640;

/// Entries of a product beside its launches: orders between the streams, packing, sending.
const EXCHANGE_ENTRIES: u32 = 8;

/// Plan of a share: its interior and its boundary.
#[derive(Debug, Clone, PartialEq)]
pub struct SharePlan {
    /// Row blocks of the interior.
    pub interior: Partition,
    /// Row blocks of the boundary.
    pub boundary: Partition,
}

/// A share on its GPU, with its end of the link.
///
/// Vectors are arrays of this GPU: a y of [`rows`](GpuShare::rows) entries; an x of [`width`](GpuShare::width), of which the first are
/// its own, in the order of [`Share::columns`], and the rest is room for what the others give, overwritten in each product. After
/// the first product nothing is allocated.
#[derive(Debug)]
pub struct GpuShare<T: Scalar> {
    gpu: Arc<Shared>,
    link: Arc<dyn Link>,
    /// `None` for no rows.
    interior: Option<GpuProduct<T>>,
    boundary: Option<GpuProduct<T>>,
    interior_rows: usize,
    rows: usize,
    /// Entries of x: own ones, all of them.
    own: usize,
    width: usize,
    exchanged: Exchanged<T>,
    helpers: FreeGrid,
    vectors: FreeGrid,
    sums: Sums,
    /// Entries that were queued since it was last waited for.
    queued: AtomicU32,
    preparation: Preparation,
    memory_bytes: u64,
}

/// Entries that are sent, and the places of received ones.
#[derive(Debug)]
struct Exchanged<T> {
    /// Places of the given entries in x, receiver by receiver.
    places: DeviceArray<u32>,
    /// Room for them.
    packed: DeviceArray<T>,
    gives: Vec<Message>,
    /// Messages to receive, as if x lay at 0.
    gets: Vec<Message>,
    /// Messages to receive for the x of the last product.
    there: Vec<Message>,
}

/// Room for a dot product.
#[derive(Debug)]
struct Sums {
    pieces: DeviceArray<f64>,
    result: DeviceArray<f64>,
}

impl<T: Scalar> GpuShare<T> {
    /// Brings `share` to `device` as planned; `link` is that device's end. All ranks call it, in any order: nothing is exchanged.
    ///
    /// # Errors
    /// As [`Device::load`](crate::Device::load).
    pub fn load(
        device: &GpuDevice,
        share: &Share<T>,
        plan: &SharePlan,
        link: Arc<dyn Link>,
    ) -> Result<Self, DeviceError> {
        let gpu = device.shared();
        let load = |a: &Csr<T>, partition: &Partition| {
            let is_empty = a.nrows() == 0;
            (!is_empty).then(|| GpuProduct::load(gpu, a, partition, device.converts())).transpose()
        };
        let interior = load(share.interior(), &plan.interior)?;
        let boundary = load(share.boundary(), &plan.boundary)?;
        let (mut preparation, mut memory_bytes) = (Preparation::default(), 0);
        for product in [&interior, &boundary].into_iter().flatten() {
            let took = product.preparation();
            preparation.convert.0 += took.convert.0;
            preparation.upload.0 += took.upload.0;
            preparation.on_device |= took.on_device;
            memory_bytes += product.memory_bytes();
        }
        let memory = gpu.memory();
        let exchange = share.exchange();
        let places: Vec<u32> =
            exchange.gives().iter().flat_map(|(_, places)| places.iter().copied()).collect();
        let packed = DeviceArray::new(&memory, places.len())?;
        let places = DeviceArray::of(&memory, &places)?;
        memory_bytes += places.extent().bytes + packed.extent().bytes;
        let gives = exchange.gives().iter().map(|(peer, places)| (*peer, places.len()));
        let own = share.columns().len();
        let exchanged = Exchanged {
            gives: messages::<T>(packed.address(), gives),
            gets: messages::<T>(own as u64 * T::DTYPE.bytes(), exchange.gets().iter().copied()),
            there: Vec::new(),
            places,
            packed,
        };
        Ok(Self {
            interior_rows: share.interior().nrows(),
            rows: share.rows().len(),
            own,
            width: own + share.halo().len(),
            helpers: gpu.conversion(T::DTYPE, 0)?,
            vectors: gpu.vector_kernels(T::DTYPE)?,
            sums: Sums {
                pieces: DeviceArray::new(&memory, DOT_PIECES)?,
                result: DeviceArray::new(&memory, 1)?,
            },
            queued: AtomicU32::new(0),
            gpu: Arc::clone(gpu),
            link,
            interior,
            boundary,
            exchanged,
            preparation,
            memory_bytes,
        })
    }

    /// Entries of y.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Entries of x that are its own.
    pub fn own(&self) -> usize {
        self.own
    }

    /// Entries of x in all.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The share's end of the link.
    pub fn link(&self) -> &dyn Link {
        self.link.as_ref()
    }

    /// Time of conversion and upload.
    pub fn preparation(&self) -> Preparation {
        self.preparation
    }

    /// Bytes on the device, with what the exchange needs, without x and y.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Room for a vector of so many entries, all 0.
    ///
    /// # Errors
    /// [`DeviceError::Infeasible`] if there is not that much memory.
    pub fn zeroed(&self, len: usize) -> Result<DeviceArray<T>, DeviceError> {
        DeviceArray::zeroed(&self.gpu.memory(), len)
    }

    /// y = alpha A x + beta y, this share of it: queued in the device's own stream and not waited for; all ranks do it. With
    /// `beta = 0`, y may hold anything. Where 64 products with an exchange are queued already, these are waited for before, as long
    /// as [`Link::wait`] does.
    ///
    /// # Errors
    /// [`DeviceError::Length`], [`DeviceError::OtherDevice`], [`DeviceError::Link`].
    pub fn multiply(
        &mut self,
        alpha: f64,
        x: &mut DeviceArray<T>,
        beta: f64,
        y: &mut DeviceArray<T>,
    ) -> Result<(), DeviceError> {
        self.multiply_slices(alpha, x.as_mut_slice(), beta, y.as_mut_slice())
    }

    /// Multiplies with foreign memory, or with a part of an array.
    ///
    /// # Errors
    /// As [`GpuShare::multiply`].
    #[expect(clippy::needless_pass_by_value, reason = "so that x and y cannot be the same memory")]
    pub fn multiply_slices(
        &mut self,
        alpha: f64,
        x: DeviceSliceMut<'_, T>,
        beta: f64,
        y: DeviceSliceMut<'_, T>,
    ) -> Result<(), DeviceError> {
        check_length("x", self.width, x.len())?;
        check_length("y", self.rows, y.len())?;
        let memory = self.gpu.memory();
        check_device(x.of, "x", memory.as_ref())?;
        check_device(y.of, "y", memory.as_ref())?;
        let v = Vectors { x: x.address, y: y.address, alpha, beta };
        self.bring(v.x)?;
        if let Some(interior) = &self.interior {
            // SAFETY: x and y are longer than it is wide and high.
            unsafe { interior.queue(&v, None)? };
        }
        if self.is_alone() {
            return Ok(());
        }
        self.link.lead()?;
        if let Some(boundary) = &self.boundary {
            let y = v.y + self.interior_rows as u64 * T::DTYPE.bytes();
            // SAFETY: x is as long as it is wide, and behind the interior rows y has its.
            unsafe { boundary.queue(&Vectors { y, ..v }, None)? };
        }
        Ok(())
    }

    /// True if no other part is connected to it.
    fn is_alone(&self) -> bool {
        self.exchanged.gives.is_empty() && self.exchanged.gets.is_empty() && self.boundary.is_none()
    }

    /// Queues in the link's stream: what others read goes, what is read of theirs comes.
    fn bring(&mut self, x: u64) -> Result<(), DeviceError> {
        if self.is_alone() {
            return Ok(());
        }
        let launches: u32 =
            [&self.interior, &self.boundary].into_iter().flatten().map(GpuProduct::entries).sum();
        self.make_room(launches + EXCHANGE_ENTRIES)?;
        let Exchanged { places, packed, gives, gets, there } = &mut self.exchanged;
        self.link.follow()?;
        let count = places.len() as u64;
        let args = [count, places.address(), x, packed.address()];
        there.clear();
        there.extend(gets.iter().map(|message| Message { bytes: at(message.bytes, x), ..*message }));
        // SAFETY: there is a place in x for each number, and room for each entry; x is as long as own entries and halo.
        unsafe {
            self.helpers.launch_in(self.link.stream(), "to_order", count, &args)?;
            self.link.exchange(gives, there)
        }
    }

    /// Before `entries` are queued that other ranks may hold up: where much is queued already, that is waited for.
    fn make_room(&self, entries: u32) -> Result<(), DeviceError> {
        let queued = self.queued.load(Ordering::Relaxed);
        if queued > 0 && queued + entries > MOST_QUEUED {
            self.wait()?;
        }
        self.queued.fetch_add(entries, Ordering::Relaxed);
        Ok(())
    }

    /// y = alpha x + beta y of the first entries of two arrays, as many as both have, queued as products are and not waited for.
    ///
    /// # Errors
    /// [`DeviceError::Link`], or a failed call.
    pub fn combine(
        &self,
        alpha: f64,
        x: &DeviceArray<T>,
        beta: f64,
        y: &mut DeviceArray<T>,
    ) -> Result<(), DeviceError> {
        self.check_own(x, y)?;
        if !self.is_alone() {
            self.make_room(1)?;
        }
        let count = x.len().min(y.len()) as u64;
        let args = [count, alpha.to_bits(), x.address(), beta.to_bits(), y.address()];
        // SAFETY: both are that long.
        unsafe { self.vectors.launch("combine", count, &args) }
    }

    /// The sum of `x[i] y[i]` over the first entries of two arrays, as many as both have, and over all ranks; all of them do it
    /// and wait for it. The same on all ranks, and the same each time.
    ///
    /// # Errors
    /// [`DeviceError::Link`], or a failed call.
    pub fn dot(&mut self, x: &DeviceArray<T>, y: &DeviceArray<T>) -> Result<f64, DeviceError> {
        self.check_own(x, y)?;
        let count = x.len().min(y.len()) as u64;
        let Sums { pieces, result } = &self.sums;
        // SAFETY: both vectors are that long; there is room for a sum a piece, and for one.
        unsafe {
            let args = [count, x.address(), y.address(), pieces.address()];
            self.vectors.launch("dot_pieces", 32 * DOT_PIECES as u64, &args)?;
            self.vectors.launch("dot_sum", 32, &[pieces.address(), result.address()])?;
            self.link.follow()?;
            self.link.sum(result.extent())?;
            self.link.lead()?;
        }
        self.wait()?;
        result.read_number()
    }

    /// Refuses arrays of another GPU.
    fn check_own(&self, x: &DeviceArray<T>, y: &DeviceArray<T>) -> Result<(), DeviceError> {
        let memory = self.gpu.memory();
        check_device(x.as_slice().of, "x", memory.as_ref())?;
        check_device(y.as_slice().of, "y", memory.as_ref())
    }

    /// Waits for what was queued, as long as [`Link::wait`] does.
    ///
    /// # Errors
    /// [`DeviceError::Link`], or a failure of a kernel.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.link.wait()?;
        self.queued.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Seconds that `products` products take back to back, on the host's clock: from when all ranks were ready until this one has
    /// ended its last. All ranks do it, and with the same number.
    ///
    /// # Errors
    /// As [`GpuShare::multiply`].
    pub fn time(
        &mut self,
        products: u32,
        x: &mut DeviceArray<T>,
        y: &mut DeviceArray<T>,
    ) -> Result<Seconds, DeviceError> {
        self.timed(products, |share| share.multiply(1.0, x, 0.0, y))
    }

    /// Time that `count` times `once` take from when all ranks were ready, the wait for the last included.
    fn timed(
        &mut self,
        count: u32,
        mut once: impl FnMut(&mut Self) -> Result<(), DeviceError>,
    ) -> Result<Seconds, DeviceError> {
        self.meet()?;
        let ((), time) = try_took(|| {
            (0..count).try_for_each(|_| once(self))?;
            self.wait()
        })?;
        Ok(time)
    }

    /// Waits until all ranks have come here.
    fn meet(&self) -> Result<(), DeviceError> {
        // SAFETY: one number lies there.
        unsafe { self.link.sum(self.sums.result.extent())? };
        self.wait()
    }

    /// Seconds that `exchanges` exchanges take back to back without any product: what [`GpuShare::time`] has beside its products.
    ///
    /// # Errors
    /// As [`GpuShare::multiply`].
    pub fn time_exchange(&mut self, exchanges: u32, x: &mut DeviceArray<T>) -> Result<Seconds, DeviceError> {
        check_length("x", self.width, x.len())?;
        check_device(x.as_slice().of, "x", self.gpu.memory().as_ref())?;
        self.timed(exchanges, |share| {
            share.bring(x.address())?;
            share.link.lead()
        })
    }
}

/// Waits for messages that may still be under way to its memory, as long as [`Link::wait`] does.
impl<T: Scalar> Drop for GpuShare<T> {
    fn drop(&mut self) {
        let _ = self.link.wait();
    }
}

/// Messages of `counts` entries for each peer, one behind the other from `address` on.
fn messages<T: Scalar>(address: u64, counts: impl Iterator<Item = (usize, usize)>) -> Vec<Message> {
    let mut next = address;
    let message = |(peer, count): (usize, usize)| {
        let bytes = Extent { address: next, bytes: count as u64 * T::DTYPE.bytes() };
        next += bytes.bytes;
        Message { peer, bytes }
    };
    counts.map(message).collect()
}

fn at(extent: Extent, base: u64) -> Extent {
    Extent { address: base + extent.address, ..extent }
}
