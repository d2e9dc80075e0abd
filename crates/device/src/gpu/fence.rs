//! Products that must not run at the same time, in streams of several owners: an event between them.
//!
//! Only our own stream is known by its handle. Another's handle may stand for several streams, as that of the stream of each
//! thread does, or for a new one where an old one was.
//!
//! A product that is captured into a graph runs whenever the graph is launched: the graph waits for the event as it is then, and
//! records it. From the first capture on every product records the event, since a graph may be launched behind it.

use super::Fence;
use super::driver::{Driver, Stamp};
use crate::{DeviceError, Stream};
use std::sync::Arc;

/// Orders products by an event. In our own stream they follow each other by themselves, and nothing is recorded.
#[derive(Debug)]
pub(crate) struct StreamFence<D: Driver> {
    driver: Arc<D>,
    event: D::Event,
    /// Set if the last product was queued in our own stream.
    was_own: bool,
    /// Set if a product was captured into a graph.
    in_graph: bool,
}

impl<D: Driver> StreamFence<D> {
    pub(crate) fn new(driver: &Arc<D>) -> Result<Self, DeviceError> {
        let _entered = driver.enter()?;
        let event = driver.new_event(Stamp::None)?;
        Ok(Self { driver: Arc::clone(driver), event, was_own: true, in_graph: false })
    }

    fn is_own(&self, stream: Stream<'_>) -> bool {
        stream.as_raw() == self.driver.stream().as_raw()
    }
}

impl<D: Driver> Fence for StreamFence<D> {
    fn enter(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let own = self.driver.stream();
        let stream = stream.unwrap_or(own);
        let (is_own, is_captured) = (self.is_own(stream), self.driver.is_captured(stream)?);
        if is_own && self.was_own && !self.in_graph && !is_captured {
            return Ok(());
        }
        let _entered = self.driver.enter()?;
        // Our own stream lives; another's may be gone by now, so that its event was recorded behind the product.
        if self.was_own && !is_own && !self.in_graph {
            self.driver.record(&self.event, own, false)?;
        }
        self.in_graph |= is_captured;
        self.driver.hold(stream, &self.event, is_captured)
    }

    fn leave(&mut self, stream: Option<Stream<'_>>) -> Result<(), DeviceError> {
        let stream = stream.unwrap_or(self.driver.stream());
        self.was_own = self.is_own(stream);
        if self.was_own && !self.in_graph {
            return Ok(());
        }
        let is_captured = self.driver.is_captured(stream);
        let _entered = self.driver.enter()?;
        let recorded = is_captured.and_then(|captured| self.driver.record(&self.event, stream, captured));
        if recorded.is_err() {
            // Without an event, nothing may run when the next product comes.
            let _ = self.driver.wait_for(stream);
        }
        recorded
    }
}
