//! Errors of devices.

use crate::PartitionError;
use sparsight_kernels::{EpilogueError, OwnKernelError};
use sparsight_matrix::{CsrError, Infeasible};
use thiserror::Error;

/// A sparse library of a GPU's maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorName {
    /// NVIDIA's.
    Cusparse,
    /// AMD's.
    Rocsparse,
}

impl VendorName {
    const fn wanted(self) -> &'static str {
        match self {
            Self::Cusparse => "cuSPARSE library of CUDA 12.4 or newer",
            Self::Rocsparse => "rocSPARSE library of ROCm 6.0 or newer",
        }
    }
}

/// A device's refusal or failure. Hints on what to do are given by [`DeviceError::hint`].
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No CUDA driver on this machine.
    #[error("no CUDA driver (libcuda) was found")]
    NoDriver,
    /// The loader would look for libraries in folders to which other users can write: driver, NVRTC and cuSPARSE are not
    /// loaded.
    #[error("no GPU library is loaded: LD_LIBRARY_PATH holds {element}")]
    LoaderPath {
        /// The element and what is wrong with it, in words.
        element: String,
    },
    /// No HIP runtime on this machine.
    #[error("no HIP runtime (libamdhip64) was found (looked in: {searched})")]
    NoHip {
        /// Places that were searched.
        searched: String,
    },
    /// No run-time compiler of HIP.
    #[error("no HIPRTC library was found (looked in: {searched})")]
    NoHiprtc {
        /// Places that were searched.
        searched: String,
    },
    /// The driver has no such device.
    #[error("there is no {interface} device {index}: the driver reports {count}")]
    NoSuchDevice {
        /// `CUDA` or `HIP`.
        interface: &'static str,
        /// The requested number.
        index: usize,
        /// Number of devices that the driver reports.
        count: usize,
    },
    /// The device exists, but its driver cannot part it like that.
    #[error("CUDA device {index} has no part of {asked} multiprocessors: possible parts have {possible}")]
    NoSuchPart {
        /// The device.
        index: usize,
        /// Multiprocessors asked for.
        asked: u32,
        /// Numbers that can be had: `8 to 128 in steps of 8`.
        possible: String,
    },
    /// No run-time compiler.
    #[error("no NVRTC library was found (looked in: {searched})")]
    NoNvrtc {
        /// Places that were searched.
        searched: String,
    },
    /// No library of the vendor's, or one without what is called here.
    #[error("no {} was found (looked in: {searched})", library.wanted())]
    NoVendor {
        /// The library.
        library: VendorName,
        /// Places that were searched.
        searched: String,
    },
    /// Kernel that cannot run on this device, or not with these sizes.
    #[error("{kernel} does not run here: {reason}")]
    CannotRun {
        /// The kernel with its knobs.
        kernel: String,
        /// The reason, with the numbers.
        reason: String,
    },
    /// A kernel does not compile.
    #[error("{kernel} does not compile:\n{log}")]
    Compile {
        /// Entry point or candidate.
        kernel: String,
        /// NVRTC's log.
        log: String,
    },
    /// A kernel of the user's own lacks something for this matrix.
    #[error(transparent)]
    OwnKernel(#[from] OwnKernelError),
    /// A line of an epilogue that this device does not compute.
    #[error(transparent)]
    Epilogue(#[from] EpilogueError),
    /// An epilogue that was loaded for another product.
    #[error("the epilogue was loaded for another prepared matrix than the one that is multiplied with")]
    OtherEpilogue,
    /// A call of the driver, or of one of the vendor's libraries, failed.
    #[error("{call} failed: {reason}")]
    Driver {
        /// The call, in words.
        call: String,
        /// The driver's name for the error.
        reason: String,
    },
    /// The matrix cannot be held.
    #[error(transparent)]
    Infeasible(#[from] Infeasible),
    /// The arrays on the device are no matrix in CSR.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// The matrix has another pattern than the prepared one.
    #[error("the matrix has another pattern than the one that was prepared")]
    OtherPattern,
    /// Values cannot be replaced before their places are known.
    #[error("values of a matrix in {format} cannot be replaced before their places are known")]
    PlacesUnknown {
        /// The format with its shape.
        format: String,
    },
    /// A matrix cannot be multiplied in these parts.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A vector of the wrong length.
    #[error("{vector} has {got} entries instead of {expected}")]
    Length {
        /// `x`, `y`, `the new values`, or another in words.
        vector: &'static str,
        /// Columns, rows or non-zeros of the matrix.
        expected: usize,
        /// Entries given.
        got: usize,
    },
    /// Vectors on a device were given to one that works in the host's memory.
    #[error("this device works in the host's memory and takes no vectors on a device")]
    NoDeviceVectors,
    /// A vector of another device than the matrix: of another GPU, or of the same one opened a second time.
    #[error("{vector} is on another device than the matrix, or on the same GPU opened a second time")]
    OtherDevice {
        /// `x` or `y`.
        vector: &'static str,
    },
    /// GPUs that share a matrix cannot exchange data.
    #[error("the GPUs cannot exchange data: {reason}")]
    Link {
        /// The reason, in words.
        reason: String,
    },
    /// No library that brings data from GPU to GPU.
    #[error("no NCCL library was found (looked in: {searched})")]
    NoNccl {
        /// Places that were searched.
        searched: String,
    },
    /// y is wrong.
    #[error("{candidate} computes y[{row}] = {got}, expected {expected} within {bound:.1e}")]
    WrongResult {
        /// Id of the candidate.
        candidate: String,
        /// First wrong row.
        row: usize,
        /// Computed.
        got: f64,
        /// Reference.
        expected: f64,
        /// Accepted difference.
        bound: f64,
    },
    /// The program was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl DeviceError {
    /// Returns whether a GPU, its driver, or a library that it needs is not here.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::NoDriver
                | Self::LoaderPath { .. }
                | Self::NoSuchDevice { .. }
                | Self::NoSuchPart { .. }
                | Self::NoNvrtc { .. }
                | Self::NoHip { .. }
                | Self::NoHiprtc { .. }
                | Self::NoNccl { .. }
                | Self::NoVendor { .. }
        )
    }

    /// A hint on what the user can do, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoDriver => Some(
                "install NVIDIA's driver (R570 or newer), use --device cpu, or name a profile such as nvidia-h200 \
                 to predict without a GPU",
            ),
            Self::LoaderPath { .. } => Some(
                "set LD_LIBRARY_PATH to absolute folders to which only you and root can write, without a colon at \
                 either end, and restart the program",
            ),
            Self::NoSuchDevice { .. } | Self::NoSuchPart { .. } => {
                Some("`sparsight devices` lists what is here")
            }
            Self::NoNvrtc { .. } => Some(
                "`pip install nvidia-cuda-nvrtc` (CUDA 13) or nvidia-cuda-nvrtc-cu12, or set CUDA_PATH or \
                 LD_LIBRARY_PATH to a CUDA toolkit",
            ),
            Self::NoHip { .. } => Some(
                "install ROCm 6.0 or newer, or set ROCM_PATH or LD_LIBRARY_PATH to it; docs/hip.md says what runs on AMD's GPUs",
            ),
            Self::NoHiprtc { .. } => Some(
                "install the package of HIPRTC (hip-runtime-amd), or set ROCM_PATH or LD_LIBRARY_PATH to ROCm",
            ),
            Self::NoVendor { library: VendorName::Rocsparse, .. } => Some(
                "install the package rocsparse of ROCm 6.0 or newer, or set ROCM_PATH or LD_LIBRARY_PATH to ROCm",
            ),
            Self::NoVendor { library: VendorName::Cusparse, .. } => Some(
                "`pip install nvidia-cusparse` (CUDA 13) or nvidia-cusparse-cu12, or set CUDA_PATH or LD_LIBRARY_PATH to a \
                 CUDA toolkit",
            ),
            Self::NoNccl { .. } => {
                Some("`pip install nvidia-nccl-cu13`, or set LD_LIBRARY_PATH to the folder of libnccl.so.2")
            }
            Self::PlacesUnknown { .. } => {
                Some("call `allow_updates` with the matrix once, after it was prepared")
            }
            Self::WrongResult { .. } => Some("this is a bug in the kernel: its time is not kept"),
            _ => None,
        }
    }
}
