//! Products that must not run at the same time, in streams of several owners: an event between them.
//!
//! Only our own stream is known by its handle. Another's handle may stand for several streams, as that of the stream of each
//! thread does, or for a new one where an old one was.

use super::context::{Context, named};
use crate::DeviceError;
use crate::gpu::{Fence, Stream};
use cudarc::driver::{result, sys};
use std::sync::Arc;

/// Orders products by an event. In our own stream they follow each other by themselves, and nothing is recorded.
#[derive(Debug)]
pub(super) struct StreamFence {
    context: Arc<Context>,
    event: sys::CUevent,
    /// Where the last product was queued.
    last: sys::CUstream,
}

// SAFETY: handles that the driver takes from any thread.
unsafe impl Send for StreamFence {}

impl StreamFence {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(Self {
            context: Arc::clone(context),
            event: named("cuEventCreate", event)?,
            last: context.stream(),
        })
    }

    fn raw(&self, stream: Option<Stream<'_>>) -> sys::CUstream {
        stream.map_or(self.context.stream(), |stream| stream.as_raw().cast())
    }

    fn record(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: the event is alive, and so is the stream: ours always, another's while something is queued in it.
        named("cuEventRecord", unsafe { result::event::record(self.event, stream) })
    }
}

impl Fence for StreamFence {
    fn enter(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let stream = self.raw(stream);
        if stream == self.last && stream == self.context.stream() {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        // Our own stream lives; another's may be gone by now, so that its event was recorded behind the product.
        if self.last == self.context.stream() {
            self.record(self.last)?;
        }
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both are alive.
        named("cuStreamWaitEvent", unsafe { result::stream::wait_event(stream, self.event, flags) })
    }

    fn leave(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let stream = self.raw(stream);
        self.last = stream;
        if stream == self.context.stream() {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        let recorded = self.record(stream);
        if recorded.is_err() {
            // Without an event, whoever comes next must find nothing running.
            // SAFETY: the caller's stream is alive.
            let _ = unsafe { result::stream::synchronize(stream) };
        }
        recorded
    }
}

impl Drop for StreamFence {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: created in `new`, destroyed only here.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}
