//! Products that must not run at the same time, in streams of several owners: an event between them.
//!
//! Only our own stream is known by its handle. Another's handle may stand for several streams, as that of the stream of each
//! thread does, or for a new one where an old one was.
//!
//! A product that is captured into a graph runs whenever the graph is launched: the graph waits for the event as it is then, and
//! records it. From the first capture on every product records the event, since a graph may be launched behind it.

use super::capture::is_captured;
use super::context::{Context, named};
use crate::gpu::Fence;
use crate::{DeviceError, Stream};
use cudarc::driver::{result, sys};
use std::sync::Arc;

/// Orders products by an event. In our own stream they follow each other by themselves, and nothing is recorded.
#[derive(Debug)]
pub(super) struct StreamFence {
    context: Arc<Context>,
    event: sys::CUevent,
    /// Stream of the last product.
    last: sys::CUstream,
    /// Set if a product was captured into a graph.
    in_graph: bool,
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
            last: context.stream,
            in_graph: false,
        })
    }

    fn raw(&self, stream: Option<Stream<'_>>) -> sys::CUstream {
        stream.map_or(self.context.stream, |stream| stream.as_raw().cast())
    }

    /// Records the event, or lets the graph do so that is being captured.
    fn record(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        use sys::CUevent_record_flags::{CU_EVENT_RECORD_DEFAULT, CU_EVENT_RECORD_EXTERNAL};
        let is_captured = is_captured(stream)?;
        let flags = if is_captured { CU_EVENT_RECORD_EXTERNAL } else { CU_EVENT_RECORD_DEFAULT };
        // SAFETY: the event is alive, and so is the stream: ours always, another's while something is queued in it.
        let recorded = unsafe { sys::cuEventRecordWithFlags(self.event, stream, flags as u32) };
        named("cuEventRecordWithFlags", recorded.result())
    }
}

impl Fence for StreamFence {
    fn enter(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let (stream, own) = (self.raw(stream), self.context.stream);
        let _entered = self.context.enter()?;
        let is_captured = is_captured(stream)?;
        if stream == self.last && stream == own && !self.in_graph && !is_captured {
            return Ok(());
        }
        // Our own stream lives; another's may be gone by now, so that its event was recorded behind the product.
        if self.last == own && stream != own && !self.in_graph {
            self.record(self.last)?;
        }
        self.in_graph |= is_captured;
        let flags = if is_captured {
            sys::CUevent_wait_flags::CU_EVENT_WAIT_EXTERNAL
        } else {
            sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT
        };
        // SAFETY: both are alive.
        named("cuStreamWaitEvent", unsafe { result::stream::wait_event(stream, self.event, flags) })
    }

    fn leave(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let stream = self.raw(stream);
        self.last = stream;
        if stream == self.context.stream && !self.in_graph {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        let recorded = self.record(stream);
        if recorded.is_err() {
            // Without an event, nothing may run when the next product comes.
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
