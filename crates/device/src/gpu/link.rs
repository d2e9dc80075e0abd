//! Interface of a link between GPUs that share a matrix, implemented for each library that moves data from GPU to GPU.

use super::Extent;
use crate::{DeviceError, Stream};
use std::fmt::Debug;

/// Some bytes for another GPU, or from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The rank of the other.
    pub peer: usize,
    /// Address on this GPU.
    pub bytes: Extent,
}

/// The end of one GPU, or rank. All ranks make the same calls in the same order: what one waits for, another has to do.
///
/// It is for one share at a time. It has a stream of its own beside the device's, so that products run while data is under way.
pub trait Link: Debug + Send + Sync {
    /// This rank, counted from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Stream of the link, `None` if that is the device's own.
    fn stream(&self) -> Option<Stream<'_>>;

    /// Makes the work queued in its stream from now on begin when everything in the device's own stream has ended.
    ///
    /// # Errors
    /// A failed call.
    fn follow(&self) -> Result<(), DeviceError>;

    /// Makes the work queued in the device's own stream from now on begin when everything in its stream has ended.
    ///
    /// # Errors
    /// A failed call.
    fn lead(&self) -> Result<(), DeviceError>;

    /// Queues in its stream: `gives` are sent, `gets` are filled with what their peers give. Does not wait.
    ///
    /// # Errors
    /// [`DeviceError::Link`] if another rank is known to have gone, or a failed call.
    ///
    /// # Safety
    /// All of it lies on this GPU, and stays as it is until it was sent.
    unsafe fn exchange(&self, gives: &[Message], gets: &[Message]) -> Result<(), DeviceError>;

    /// Queues in its stream: each of the `f64` in `numbers` becomes the sum of those of all ranks, the same on all. Does not wait.
    ///
    /// # Errors
    /// As [`Link::exchange`].
    ///
    /// # Safety
    /// So many lie there on this GPU.
    unsafe fn sum(&self, numbers: Extent) -> Result<(), DeviceError>;

    /// Waits for everything queued in both streams, the products of this rank among it: a minute with NCCL, unless another limit was
    /// named.
    ///
    /// # Errors
    /// [`DeviceError::Link`] if another rank has gone, or did not do its part within the time that there is for it; failures of
    /// kernels.
    fn wait(&self) -> Result<(), DeviceError>;

    /// Says to all ranks of this process and, as far as possible, to those of others, that this one gives up: a rank that waits for it
    /// gets an error. It cannot be used afterwards.
    fn abort(&self);
}
