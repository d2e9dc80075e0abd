//! The first GPU, for one test at a time: tests do not change each other's times, a kernel that waits for its host does not
//! wait for another test's, and no test allocates while another captures a graph.
//!
//! The tests of `sparsight` use this file, too.

use sparsight_device::DeviceError;
use sparsight_device::cuda::Cuda;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A GPU that no other test of this program uses.
pub struct Held {
    gpu: Cuda,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Held {
    type Target = Cuda;

    fn deref(&self) -> &Cuda {
        &self.gpu
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Cuda {
        &mut self.gpu
    }
}

/// The right to use the GPUs, once the other tests of this program are done with them.
pub fn alone() -> MutexGuard<'static, ()> {
    static GPUS: Mutex<()> = Mutex::new(());
    GPUS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first GPU; `None`, said so, on a machine without one.
///
/// # Panics
/// If it cannot be opened though there is one, or if `SPARSIGHT_REQUIRE_GPU` is set and there is none.
pub fn gpu() -> Option<Held> {
    let alone = alone();
    match Cuda::open(0) {
        Ok(gpu) => Some(Held { gpu, _alone: alone }),
        Err(
            error @ (DeviceError::NoDriver
            | DeviceError::LoaderPath { .. }
            | DeviceError::NoSuchDevice { .. }),
        ) if std::env::var_os("SPARSIGHT_REQUIRE_GPU").is_none() => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}
