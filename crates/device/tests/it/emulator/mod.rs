//! A GPU that is played by this machine's processor, warp by warp: the second implementation of [`Gpu`].
//!
//! It shows wrong indices, wrong masks, wrong arguments, accesses behind an array and entries of y written by the wrong
//! means, on machines without a GPU. It shows no speed, and no races between warps beyond those that two orders of them
//! reveal. Launches are queued and run when they are waited for.

pub mod link;
pub mod matrices;
mod program;

use program::{Arg, Launch, Program};
use sparsight_device::gpu::{
    BatchRequest, DeviceMatrix, Fence, Gpu, GpuDevice, LaunchShape, Link, Memory, Module, Parameters,
    Vectors, VendorProduct,
};
use sparsight_device::{DeviceError, Stream};
use sparsight_kernels::{DeviceFacts, Kernel, KernelSource, Vendor};
use sparsight_matrix::{Bytes, Infeasible, Seconds};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Order in which blocks and warps run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Blocks and warps in their order.
    Forwards,
    /// The opposite order.
    Backwards,
    /// A launch for each block, as if grids could not be larger.
    InPieces,
}

#[derive(Debug)]
pub struct EmulatedGpu {
    facts: DeviceFacts,
    memory: Arc<EmulatedMemory>,
    order: Order,
    wave: u32,
}

#[derive(Debug)]
pub struct EmulatedMemory(Mutex<State>);

#[derive(Debug)]
struct State {
    next: u64,
    arrays: BTreeMap<u64, Vec<u8>>,
    queued: Vec<(Arc<Program>, Queued)>,
    backwards: bool,
    name: String,
}

#[derive(Debug)]
struct Queued {
    kernel: usize,
    shape: LaunchShape,
    args: Vec<u64>,
}

/// First address of arrays: no number that a kernel is told, and the bits of no factor.
const FIRST_ADDRESS: u64 = 0x7e00_0000_0000;

/// Arrays that were allocated, by the name of the GPU: tests run side by side.
static ALLOCATED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Number of arrays allocated so far on emulated GPUs of that name.
pub fn allocated(name: &str) -> usize {
    ALLOCATED.lock().unwrap().get(name).copied().unwrap_or(0)
}

/// Far enough apart that no access behind one is one to the next.
const APART: u64 = 1 << 24;

/// Content of a new array: NaN in both value types, and an impossible index.
const UNWRITTEN: u8 = 0xff;

/// True if g++ or the text of the emulator is missing and a skip is allowed, as on a GPU machine that was given the test programs alone.
pub fn gxx_is_missing() -> bool {
    let missing = if Command::new("g++").arg("--version").output().is_err() {
        "no g++"
    } else if !program::is_here() {
        "no source tree"
    } else {
        return false;
    };
    assert!(std::env::var_os("SPARSIGHT_REQUIRE_GXX").is_none(), "{missing}");
    println!("skipped: {missing}");
    true
}

impl EmulatedGpu {
    /// An emulated GPU as a device.
    pub fn device(order: Order) -> GpuDevice {
        GpuDevice::new(Self::named("emulated", order, 32))
    }

    /// One that executes waves of 64 threads, as HIP's.
    pub fn with_waves_of_64(order: Order) -> GpuDevice {
        GpuDevice::new(Self::named("emulated", order, 64))
    }

    /// Likewise, with row offsets of 64 bits.
    pub fn with_waves_of_64_and_wide_offsets(order: Order) -> GpuDevice {
        GpuDevice::with_wide_offsets(Self::named("emulated", order, 64))
    }

    /// An emulated GPU with row offsets of 64 bits.
    pub fn with_wide_offsets(order: Order) -> GpuDevice {
        GpuDevice::with_wide_offsets(Self::named("emulated", order, 32))
    }

    /// Several of them, linked in this process.
    pub fn linked(count: usize, order: Order) -> (Vec<GpuDevice>, Vec<Arc<dyn Link>>) {
        Self::linked_as(&vec!["emulated"; count], order)
    }

    /// Several with waves of 64 threads, linked in this process.
    pub fn linked_with_waves_of_64(count: usize, order: Order) -> (Vec<GpuDevice>, Vec<Arc<dyn Link>>) {
        Self::linked_in_waves(&vec!["emulated"; count], order, 64)
    }

    /// Emulated GPUs, one for each name, linked in this process.
    pub fn linked_as(names: &[&str], order: Order) -> (Vec<GpuDevice>, Vec<Arc<dyn Link>>) {
        Self::linked_in_waves(names, order, 32)
    }

    fn linked_in_waves(names: &[&str], order: Order, wave: u32) -> (Vec<GpuDevice>, Vec<Arc<dyn Link>>) {
        let gpus: Vec<_> = names.iter().map(|name| Self::named(name, order, wave)).collect();
        let links = link::linked(gpus.iter().map(|gpu| gpu.memory()).collect());
        (gpus.into_iter().map(GpuDevice::new).collect(), links)
    }

    fn named(name: &str, order: Order, wave: u32) -> Arc<dyn Gpu> {
        let facts = DeviceFacts {
            warps_per_multiprocessor: 2048 / wave,
            l2_bytes: Bytes(1 << 20),
            memory_bytes: Bytes(1 << 30),
            compute_capability: Some((9, 0)),
            driver: "none".to_owned(),
            // No multiprocessors: the helpers take 16 blocks for each, which is slow here, and one block at least.
            ..DeviceFacts::of_gpu(name, 0, 2048)
        };
        let backwards = order == Order::Backwards;
        let state = State {
            next: FIRST_ADDRESS,
            arrays: BTreeMap::new(),
            queued: Vec::new(),
            backwards,
            name: name.to_owned(),
        };
        Arc::new(Self { facts, memory: Arc::new(EmulatedMemory(Mutex::new(state))), order, wave })
    }
}

impl State {
    /// The array that holds an address, and how far from its beginning.
    fn find(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, array) = self.arrays.range(..=address).next_back()?;
        let offset = address - start;
        (offset <= array.len() as u64).then_some((start, offset))
    }

    /// Runs everything queued.
    fn flush(&mut self) -> Result<(), DeviceError> {
        let queued = std::mem::take(&mut self.queued);
        for alike in queued.chunk_by(|a, b| Arc::ptr_eq(&a.0, &b.0)) {
            let mut used: Vec<u64> = Vec::new();
            let mut launches = Vec::new();
            for (_, Queued { kernel, shape, args }) in alike {
                let arg = |&word: &u64| match self.find(word) {
                    Some((start, offset)) => {
                        let at = used.iter().position(|known| *known == start).unwrap_or_else(|| {
                            used.push(start);
                            used.len() - 1
                        });
                        Arg::Array(at, offset)
                    }
                    None => Arg::Number(word),
                };
                let args = args.iter().map(arg).collect();
                let (grid, block) = (shape.grid.0, shape.block.0);
                launches.push(Launch { kernel: *kernel, grid, block, backwards: self.backwards, args });
            }
            let arrays: Vec<&[u8]> = used.iter().map(|start| self.arrays[start].as_slice()).collect();
            let back = alike[0]
                .0
                .run(&arrays, &launches)
                .map_err(|reason| DeviceError::Driver { call: "emulating a launch".to_owned(), reason })?;
            for (start, array) in used.into_iter().zip(back) {
                self.arrays.insert(start, array);
            }
        }
        Ok(())
    }
}

impl Memory for EmulatedMemory {
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        let state = &mut *self.0.lock().unwrap();
        if bytes > 1 << 26 {
            let have = Bytes(1 << 26);
            return Err(Infeasible::DoesNotFit { need: Bytes(bytes), have }.into());
        }
        *ALLOCATED.lock().unwrap().entry(state.name.clone()).or_default() += 1;
        let address = state.next;
        state.next += bytes.next_multiple_of(APART) + APART;
        state.arrays.insert(address, vec![UNWRITTEN; bytes as usize]);
        Ok(address)
    }

    unsafe fn free(&self, address: u64) {
        let state = &mut *self.0.lock().unwrap();
        // What is queued may still use it.
        let _ = state.flush();
        assert!(state.arrays.remove(&address).is_some(), "freed twice");
    }

    unsafe fn write(&self, address: u64, data: &[u8]) -> Result<(), DeviceError> {
        let state = &mut *self.0.lock().unwrap();
        state.flush()?;
        // Also a part of an array.
        let (start, array) =
            state.arrays.range_mut(..=address).next_back().expect("an array holds the address");
        let offset = (address - start) as usize;
        array[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }

    unsafe fn read(&self, address: u64, data: &mut [u8]) -> Result<(), DeviceError> {
        let state = &mut *self.0.lock().unwrap();
        state.flush()?;
        // Also a part of an array.
        let (start, array) = state.arrays.range(..=address).next_back().expect("an array holds the address");
        let offset = (address - start) as usize;
        data.copy_from_slice(&array[offset..offset + data.len()]);
        Ok(())
    }

    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        let state = &mut *self.0.lock().unwrap();
        state.flush()?;
        state.arrays.get_mut(&address).expect("an array begins there")[..bytes as usize].fill(0);
        Ok(())
    }
}

#[derive(Debug)]
struct EmulatedModule {
    program: Arc<Program>,
    memory: Arc<EmulatedMemory>,
}

impl Module for EmulatedModule {
    unsafe fn queue(
        &self,
        kernel: usize,
        shape: LaunchShape,
        args: &[u64],
        _: Option<Stream<'_>>,
    ) -> Result<(), DeviceError> {
        assert!(shape.parameters == Parameters::OneStruct || args.len() <= 48);
        assert!(shape.block.0.is_multiple_of(32) && shape.shared_bytes == 0);
        let queued = Queued { kernel, shape, args: args.to_vec() };
        self.memory.0.lock().unwrap().queued.push((Arc::clone(&self.program), queued));
        Ok(())
    }
}

impl Gpu for EmulatedGpu {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.memory) as _
    }

    fn available_bytes(&self) -> u64 {
        1 << 26
    }

    fn most_blocks(&self) -> u32 {
        if self.order == Order::InPieces { 1 } else { (1 << 31) - 1 }
    }

    fn load(&self, source: &KernelSource) -> Result<Arc<dyn Module>, DeviceError> {
        let kernel = source.entry_points.join(", ");
        let program =
            Program::compile(source, self.wave).map_err(|log| DeviceError::Compile { kernel, log })?;
        Ok(Arc::new(EmulatedModule { program: Arc::new(program), memory: Arc::clone(&self.memory) }))
    }

    fn overlaps_launches(&self) -> bool {
        false
    }

    fn fence(&self) -> Result<Box<dyn Fence>, DeviceError> {
        Ok(Box::new(NoFence))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.memory.0.lock().unwrap().flush()
    }

    fn time(
        &self,
        BatchRequest { products, .. }: BatchRequest<'_>,
        product: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Seconds, DeviceError> {
        (0..products).try_for_each(|_| product())?;
        self.synchronize()?;
        Ok(Seconds(1e-6 * f64::from(products)))
    }

    fn has_vendor(&self, kernel: Kernel) -> Result<(), DeviceError> {
        let reason = "an emulated GPU has no vendor".to_owned();
        Err(DeviceError::CannotRun { kernel: kernel.to_string(), reason })
    }

    unsafe fn vendor(
        &self,
        _: Vendor,
        _: &DeviceMatrix,
        _: &Vectors,
    ) -> Result<Box<dyn VendorProduct>, DeviceError> {
        unreachable!("it was asked whether there is one")
    }
}

/// Everything runs in the order of queueing.
#[derive(Debug)]
struct NoFence;

impl Fence for NoFence {
    fn enter(&mut self, _: Option<Stream<'_>>) -> Result<(), DeviceError> {
        Ok(())
    }

    fn leave(&mut self, _: Option<Stream<'_>>) -> Result<(), DeviceError> {
        Ok(())
    }
}
