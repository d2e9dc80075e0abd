//! Events: marks in a stream, which other streams wait for, and which the device stamps with the time.

use super::Cuda;
use super::context::{Context, named};
use crate::gpu::Stamp;
use crate::{DeviceError, Stream};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUevent_flags, CUevent_record_flags, CUevent_wait_flags};
use sparsight_matrix::Seconds;
use std::sync::Arc;

/// A mark in a stream.
#[derive(Debug)]
pub(super) struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: as for `Context`, whose handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: the driver's functions on events may be called from several threads.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(context: &Arc<Context>, stamp: Stamp) -> Result<Self, DeviceError> {
        let raw = result::event::create(match stamp {
            Stamp::WithTime => CUevent_flags::CU_EVENT_DEFAULT,
            Stamp::None => CUevent_flags::CU_EVENT_DISABLE_TIMING,
        });
        Ok(Self { context: Arc::clone(context), raw: named("cuEventCreate", raw)? })
    }

    /// Queues the mark in a stream, or lets the graph do so into which it is captured.
    pub(super) fn record(&self, stream: Stream<'_>, is_captured: bool) -> Result<(), DeviceError> {
        let stream = stream.as_raw().cast();
        if !is_captured {
            // SAFETY: the event is alive, and so is the stream: ours always, another's as its maker has promised.
            return named("cuEventRecord", unsafe { result::event::record(self.raw, stream) });
        }
        let flags = CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL as u32;
        // SAFETY: as above.
        let recorded = unsafe { sys::cuEventRecordWithFlags(self.raw, stream, flags) };
        named("cuEventRecordWithFlags", recorded.result())
    }

    /// Makes the work queued in `stream` from now on, or the graph into which it is captured, begin when the mark was reached.
    pub(super) fn hold(&self, stream: Stream<'_>, is_captured: bool) -> Result<(), DeviceError> {
        use CUevent_wait_flags::{CU_EVENT_WAIT_DEFAULT, CU_EVENT_WAIT_EXTERNAL};
        let flags = if is_captured { CU_EVENT_WAIT_EXTERNAL } else { CU_EVENT_WAIT_DEFAULT };
        // SAFETY: as above.
        let waits = unsafe { result::stream::wait_event(stream.as_raw().cast(), self.raw, flags) };
        named("cuStreamWaitEvent", waits)
    }

    /// Seconds from this mark to `end`, both of which were reached.
    pub(super) fn seconds_until(&self, end: &Self) -> Result<f64, DeviceError> {
        // SAFETY: both were created with time stamps and recorded in the same stream, which was waited for.
        let ms = named("cuEventElapsedTime", unsafe { result::event::elapsed(self.raw, end.raw) })?;
        Ok(f64::from(ms) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: created in `new`, destroyed only here.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}

/// Time between two points of a stream of another library, asked for without waiting.
#[derive(Debug)]
pub struct Stopwatch {
    context: Arc<Context>,
    begin: Event,
    end: Event,
}

impl Cuda {
    /// A stopwatch for streams of this device.
    ///
    /// # Errors
    /// A failed call.
    pub fn stopwatch(&self) -> Result<Stopwatch, DeviceError> {
        let context = Arc::clone(&self.gpu.context);
        let _entered = context.enter()?;
        let event = || Event::new(&context, Stamp::WithTime);
        let (begin, end) = (event()?, event()?);
        Ok(Stopwatch { context: Arc::clone(&context), begin, end })
    }
}

impl Stopwatch {
    /// Marks the beginning of what is timed.
    ///
    /// # Errors
    /// A failed call.
    pub fn begin(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        self.record(&self.begin, stream)
    }

    /// Marks its end.
    ///
    /// # Errors
    /// A failed call.
    pub fn end(&self, stream: Stream<'_>) -> Result<(), DeviceError> {
        self.record(&self.end, stream)
    }

    fn record(&self, event: &Event, stream: Stream<'_>) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        event.record(stream, false)
    }

    /// The time, `None` while its end was not reached.
    ///
    /// # Errors
    /// A failed call.
    pub fn time(&self) -> Result<Option<Seconds>, DeviceError> {
        let _entered = self.context.enter()?;
        let _beside = Cuda::beside_captures()?;
        // SAFETY: the event is alive.
        let state = unsafe { sys::cuEventQuery(self.end.raw) };
        if state == sys::CUresult::CUDA_ERROR_NOT_READY {
            return Ok(None);
        }
        named("cuEventQuery", state.result())?;
        self.begin.seconds_until(&self.end).map(|time| Some(Seconds(time)))
    }
}
