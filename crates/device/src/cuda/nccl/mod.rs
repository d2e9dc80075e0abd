//! NVIDIA's library that brings data from GPU to GPU, NCCL: found when the program runs, called through cudarc's `sys` layer.
//!
//! ```text
//! Nccl::link            GPUs of this process: an end each
//! Nccl::join            one GPU of this process, the others in other processes, who were told the same identity
//! ```
//! Calls of NCCL may wait for other ranks for ever. So each that may is watched ([`limit`]): when its time is over, the
//! communicator is aborted, which ends what waits on the host and on the GPU.

mod api;
mod end;
mod meeting;

use super::Cuda;
use crate::DeviceError;
use crate::gpu::Link;
use api::api;
use cudarc::nccl::sys;
use end::End;
pub use meeting::Ranks;
use std::ffi::{CStr, c_char};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Time that a rank waits for the others before it gives up. Chosen: several times what opening a communicator on eight GPUs takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The library.
#[derive(Debug, Clone, Copy)]
pub struct Nccl;

/// Identity of a communicator, shared by all ranks: 128 bytes that one of them draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity([u8; 128]);

impl Identity {
    /// The identity of a new communicator.
    ///
    /// # Errors
    /// [`DeviceError::NoNccl`], or a failed call.
    pub fn new() -> Result<Self, DeviceError> {
        let api = api()?;
        let mut id = sys::ncclUniqueId { internal: [0; 128] };
        // SAFETY: the library is there, and the pointer is to a live value.
        named("ncclGetUniqueId", unsafe { (api.ncclGetUniqueId)(&raw mut id) })?;
        // `c_char` has a sign on some systems.
        Ok(Self(id.internal.map(|byte| u8::from_ne_bytes(byte.to_ne_bytes()))))
    }

    /// Bytes of the identity, to be sent to the other ranks.
    pub fn bytes(&self) -> &[u8; 128] {
        &self.0
    }

    /// The one with these bytes.
    pub fn from_bytes(bytes: [u8; 128]) -> Self {
        Self(bytes)
    }

    fn raw(self) -> sys::ncclUniqueId {
        sys::ncclUniqueId { internal: self.0.map(|byte| c_char::from_ne_bytes(byte.to_ne_bytes())) }
    }
}

impl Nccl {
    /// The version of the library: major, minor, patch.
    ///
    /// # Errors
    /// [`DeviceError::NoNccl`], or a failed call.
    pub fn version() -> Result<(u32, u32, u32), DeviceError> {
        let api = api()?;
        let mut version = 0;
        // SAFETY: the library is there, and the pointer is to a live value.
        named("ncclGetVersion", unsafe { (api.ncclGetVersion)(&raw mut version) })?;
        let version = version.cast_unsigned();
        Ok((version / 10_000, version / 100 % 100, version % 100))
    }

    /// Links GPUs of this process, rank `i` being `gpus[i]`. Takes a second or two.
    ///
    /// # Errors
    /// [`DeviceError::NoNccl`]; [`DeviceError::Link`] with NCCL's reason, if a GPU is named twice for one, or if it took longer than a
    /// minute.
    pub fn link(gpus: &[Cuda]) -> Result<Vec<Arc<dyn Link>>, DeviceError> {
        Self::link_within(gpus, LIMIT)
    }

    /// Links with another limit on how long a rank waits for the others, now and in products.
    ///
    /// # Errors
    /// As [`Nccl::link`].
    pub fn link_within(gpus: &[Cuda], limit: Duration) -> Result<Vec<Arc<dyn Link>>, DeviceError> {
        let index = |gpu: &Cuda| gpu.gpu.context.device;
        let is_new = |(at, gpu): (usize, &Cuda)| gpus[..at].iter().all(|before| index(before) != index(gpu));
        if !gpus.iter().enumerate().all(is_new) {
            return Err(broken("a GPU is named twice"));
        }
        let identity = Identity::new()?;
        let joining: Vec<_> = gpus
            .iter()
            .enumerate()
            .map(|(rank, gpu)| Self::begin(gpu, &identity, rank, gpus.len(), limit))
            .collect();
        let ends: Vec<Arc<End>> =
            joining.into_iter().map(|joining| joining.end(limit)).collect::<Result<_, _>>()?;
        // An end that gives up tells the others of this process.
        for end in &ends {
            end.know(&ends);
        }
        Ok(ends.into_iter().map(|end| end as Arc<dyn Link>).collect())
    }

    /// Links one GPU of this process with those of other ones, who call this with the same identity and their own ranks.
    ///
    /// # Errors
    /// As [`Nccl::link`].
    pub fn join(
        gpu: &Cuda,
        identity: &Identity,
        rank: usize,
        ranks: usize,
        limit: Duration,
    ) -> Result<Arc<dyn Link>, DeviceError> {
        Ok(Self::begin(gpu, identity, rank, ranks, limit).end(limit)?)
    }

    /// Joins in a separate thread, since the call may never return.
    fn begin(gpu: &Cuda, identity: &Identity, rank: usize, ranks: usize, limit: Duration) -> Joining {
        let (context, id) = (Arc::clone(&gpu.gpu.context), identity.raw());
        let (send, joined) = mpsc::sync_channel(1);
        thread::spawn(move || {
            // The receiver may have given up.
            let _ = send.send(End::join(context, id, rank, ranks, limit));
        });
        Joining { joined, rank }
    }
}

/// A rank that waits for the others.
struct Joining {
    joined: mpsc::Receiver<Result<End, DeviceError>>,
    rank: usize,
}

impl Joining {
    fn end(self, limit: Duration) -> Result<Arc<End>, DeviceError> {
        match self.joined.recv_timeout(limit) {
            Ok(end) => end.map(Arc::new),
            Err(_) => Err(broken(&format!(
                "rank {} did not find the others within {} s",
                self.rank,
                limit.as_secs()
            ))),
        }
    }
}

fn broken(reason: &str) -> DeviceError {
    DeviceError::Link { reason: reason.to_owned() }
}

/// Gives a failed call its name and the library's words.
fn named(call: &'static str, result: sys::ncclResult_t) -> Result<(), DeviceError> {
    if matches!(result, sys::ncclResult_t::ncclSuccess | sys::ncclResult_t::ncclInProgress) {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: the text is the library's own and lives for ever.
    let words = unsafe { CStr::from_ptr((api.ncclGetErrorString)(result)) };
    // SAFETY: without a communicator the last error of the library is given, which may be none.
    let last = unsafe { (api.ncclGetLastError)(std::ptr::null_mut()) };
    // SAFETY: as above.
    let last = if last.is_null() { "" } else { unsafe { CStr::from_ptr(last) }.to_str().unwrap_or_default() };
    let words = words.to_string_lossy();
    let last = last.trim();
    let more = if last.is_empty() { String::new() } else { format!(" ({last})") };
    Err(DeviceError::Link { reason: format!("{call} failed: {words}{more}") })
}

/// A time limit of a call that may wait for other ranks: unless it is dropped before, a thread acts when the time is over.
#[derive(Debug)]
pub(super) struct Limit {
    over: Arc<(Mutex<bool>, Condvar)>,
}

impl Limit {
    /// Calls `act` after `limit`, unless the returned value is dropped before.
    pub(super) fn begin(limit: Duration, act: impl FnOnce() + Send + 'static) -> Self {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let seen = Arc::clone(&over);
        thread::spawn(move || {
            let (is_over, changed) = &*seen;
            let is_over = is_over.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = changed.wait_timeout_while(is_over, limit, |is_over| !*is_over);
            let (is_over, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let is_late = !*is_over;
            drop(is_over);
            if is_late {
                act();
            }
        });
        Self { over }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_nccl_the_error_names_the_searched_places_and_a_package() {
        let told = Ranks { rank: 0, ranks: 2, local: 0, meets_at: "127.0.0.1:0".to_owned() };
        let Err(missing) = Identity::new() else {
            return println!("skipped: NCCL is here, {:?}", Nccl::version());
        };
        // Also of all ranks, at once: rank 0 does not wait for the others before.
        assert_eq!(told.identity(&crate::gpu::PlanDigest::default(), LIMIT), Err(missing.clone()));
        assert_eq!(Nccl::version(), Err(missing.clone()));
        if matches!(missing, DeviceError::LoaderPath { .. }) {
            return;
        }
        assert!(matches!(missing, DeviceError::NoNccl { .. }), "{missing}");
        assert!(missing.to_string().contains("no NCCL library was found"), "{missing}");
        assert!(missing.hint().is_some_and(|hint| hint.contains("nvidia-nccl-cu13")));
    }

    #[test]
    fn a_limit_acts_when_the_time_is_over_and_not_after_it_was_dropped() {
        let (send, acted) = mpsc::channel();
        let late = send.clone();
        let limit = Limit::begin(Duration::from_millis(1), move || late.send("late").unwrap());
        assert_eq!(acted.recv_timeout(Duration::from_secs(10)), Ok("late"));
        drop(limit);
        let limit = Limit::begin(Duration::from_secs(3600), move || send.send("early").unwrap());
        drop(limit);
        // The thread ends and drops its sender.
        assert_eq!(acted.recv_timeout(Duration::from_secs(10)), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
