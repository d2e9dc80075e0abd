//! Work that was queued once and is kept, to be queued again by one call.

use super::context::{Context, named};
use crate::DeviceError;
use cudarc::driver::sys;
use std::sync::Arc;

/// A graph of everything that a thread queued in the context's own stream, and in streams that waited for it and for which it waited.
///
/// # Invariants
/// `raw` was made in `context`.
#[derive(Debug)]
pub(super) struct Graph {
    context: Arc<Context>,
    raw: sys::CUgraphExec,
}

// SAFETY: a handle that the driver takes from any thread, one at a time; launching takes no other state.
unsafe impl Send for Graph {}

impl Graph {
    /// Of what `queue` queues, which is not run.
    pub(super) fn of(
        context: &Arc<Context>,
        queue: &mut dyn FnMut() -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as the context.
        let begun = unsafe { sys::cuStreamBeginCapture_v2(context.stream(), mode) };
        named("cuStreamBeginCapture", begun.result())?;
        let queued = queue();
        let mut graph = std::ptr::null_mut();
        // Ended whatever happened.
        // SAFETY: begun above, in this thread; the pointer is to a live handle.
        let ended = unsafe { sys::cuStreamEndCapture(context.stream(), &raw mut graph) };
        let ended = named("cuStreamEndCapture", ended.result());
        let mut raw = std::ptr::null_mut();
        let made = queued.and(ended).and_then(|()| {
            // SAFETY: the graph was made above.
            let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut raw, graph, 0) };
            named("cuGraphInstantiate", made.result())
        });
        if !graph.is_null() {
            // SAFETY: made above; what was instantiated does not need it.
            let _ = unsafe { sys::cuGraphDestroy(graph) };
        }
        made.map(|()| Self { context: Arc::clone(context), raw })
    }

    /// Queues it in the context's own stream.
    pub(super) fn launch(&self) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: graph and stream are alive and of one context.
        named("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.raw, self.context.stream()) }.result())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made in `of`, destroyed only here.
            let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}
