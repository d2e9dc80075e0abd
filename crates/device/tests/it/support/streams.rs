//! Foreign streams and graphs, made with the driver's own calls.

use cudarc::driver::{result, sys};
use sparsight_device::Stream;
use sparsight_device::cuda::Cuda;
use std::marker::PhantomData;
use std::ptr;

/// A stream that the driver made in the context of a device.
pub struct OtherStream<'d> {
    raw: sys::CUstream,
    device: PhantomData<&'d Cuda>,
}

impl<'d> OtherStream<'d> {
    /// A stream in the primary context of GPU number 0, which is that of `_device` and becomes the calling thread's.
    pub fn new(_device: &'d Cuda) -> Self {
        let gpu = result::device::get(0).unwrap();
        // SAFETY: the device holds the primary context, which outlives this; it is never released here.
        unsafe { result::ctx::set_current(result::primary_ctx::retain(gpu).unwrap()).unwrap() };
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
        Self { raw, device: PhantomData }
    }

    pub fn stream(&self) -> Stream<'_> {
        // SAFETY: it lives as long as this.
        unsafe { Stream::from_raw(self.raw.cast()) }
    }

    /// Graph of the work that `queue` queues in `source`: it runs when the graph is launched, which is done in this stream.
    pub fn captured_in(&self, source: Stream<'_>, queue: impl FnOnce(Stream<'_>)) -> Graph<'_> {
        let raw_source: sys::CUstream = source.as_raw().cast();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        // SAFETY: the stream lives; the pointers are to live handles.
        unsafe {
            sys::cuStreamBeginCapture_v2(raw_source, mode).result().unwrap();
            queue(source);
            let (mut graph, mut raw) = (ptr::null_mut(), ptr::null_mut());
            sys::cuStreamEndCapture(raw_source, &raw mut graph).result().unwrap();
            sys::cuGraphInstantiateWithFlags(&raw mut raw, graph, 0).result().unwrap();
            sys::cuGraphDestroy(graph).result().unwrap();
            Graph { raw, stream: self }
        }
    }
}

impl Drop for OtherStream<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, ended only here.
        unsafe { result::stream::destroy(self.raw).unwrap() };
    }
}

/// Work that can be launched again and again.
pub struct Graph<'s> {
    raw: sys::CUgraphExec,
    stream: &'s OtherStream<'s>,
}

impl Graph<'_> {
    /// Queues it, and does not wait.
    pub fn launch(&self) {
        // SAFETY: both live.
        unsafe { sys::cuGraphLaunch(self.raw, self.stream.raw).result().unwrap() };
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `captured`, ended only here.
        unsafe { sys::cuGraphExecDestroy(self.raw).result().unwrap() };
    }
}
