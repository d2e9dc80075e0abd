//! Products that must not run at the same time, in streams of several owners: an event between them.
//!
//! Deliberately absent: streams that are captured into graphs. A product that needs a fence is not captured.

use super::context::Context;
use super::event::{Event, Stamp};
use crate::gpu::{Driver as _, Fence};
use crate::{DeviceError, Stream};
use std::ffi::c_void;
use std::sync::Arc;

/// Orders products by an event. In our own stream they follow each other by themselves, and nothing is recorded.
#[derive(Debug)]
pub(super) struct StreamFence {
    context: Arc<Context>,
    event: Event,
    /// Stream of the last product.
    last: *mut c_void,
}

// SAFETY: a handle that the runtime takes from any thread.
unsafe impl Send for StreamFence {}

impl StreamFence {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let event = Event::new(context.api, Stamp::None)?;
        Ok(Self { context: Arc::clone(context), event, last: context.stream })
    }
}

impl Fence for StreamFence {
    fn enter(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let own = self.context.stream;
        let stream = stream.map_or(own, Stream::as_raw);
        if stream == own && self.last == own {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        // Another's stream may be gone by now: its mark was made behind the product.
        if self.last == own {
            self.event.record(own)?;
        }
        self.event.hold(stream)
    }

    fn leave(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let own = self.context.stream;
        self.last = stream.map_or(own, Stream::as_raw);
        if self.last == own {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        self.event.record(self.last)
    }
}
