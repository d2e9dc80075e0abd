//! The arrays of each format on the device.

use super::context::Context;
use super::memory::DeviceArray;
use crate::DeviceError;
use rayon::prelude::*;
use sparsight_kernels::Format;
use sparsight_matrix::{BroEllShape, Csr, Scalar, SellShape};
use std::sync::Arc;

/// Row offsets of CSR, 32 bits wide while they fit.
#[derive(Debug)]
pub(super) enum Offsets {
    Narrow(DeviceArray<u32>),
    Wide(DeviceArray<u64>),
}

impl Offsets {
    pub(super) fn address(&self) -> u64 {
        match self {
            Self::Narrow(array) => array.address(),
            Self::Wide(array) => array.address(),
        }
    }

    /// Room for `len` of `offset_bytes`, 4 or 8, not initialised.
    pub(super) fn new(context: &Arc<Context>, len: usize, offset_bytes: u64) -> Result<Self, DeviceError> {
        Ok(match offset_bytes {
            4 => Self::Narrow(DeviceArray::new(context, len)?),
            _ => Self::Wide(DeviceArray::new(context, len)?),
        })
    }

    /// Uploads `offsets`, of which the last is the number of non-zeros.
    pub(super) fn of<T: Scalar>(context: &Arc<Context>, offsets: &[u64]) -> Result<Self, DeviceError> {
        let nnz = offsets.last().copied().unwrap_or_default();
        if Csr::<T>::offset_bytes(nnz) == 4 {
            let narrow: Vec<u32> = offsets.par_iter().map(|&offset| offset as u32).collect();
            Ok(Self::Narrow(DeviceArray::of(context, &narrow)?))
        } else {
            Ok(Self::Wide(DeviceArray::of(context, offsets)?))
        }
    }

    pub(super) const fn bytes(&self) -> u64 {
        match self {
            Self::Narrow(_) => 4,
            Self::Wide(_) => 8,
        }
    }
}

#[derive(Debug)]
pub(super) struct CooArrays<T> {
    pub(super) row_idx: DeviceArray<u32>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

#[derive(Debug)]
pub(super) struct EllArrays<T> {
    pub(super) width: u64,
    pub(super) stride: u64,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

#[derive(Debug)]
pub(super) struct JadArrays<T> {
    pub(super) permutation: DeviceArray<u32>,
    pub(super) diagonal_ptr: DeviceArray<u64>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

#[derive(Debug)]
pub(super) struct SellArrays<T> {
    pub(super) shape: SellShape,
    /// Non-zeros, without the padding.
    pub(super) nnz: u64,
    pub(super) slice_ptr: DeviceArray<u64>,
    pub(super) permutation: DeviceArray<u32>,
    pub(super) col_idx: DeviceArray<u32>,
    pub(super) values: DeviceArray<T>,
}

#[derive(Debug)]
pub(super) struct BroEllArrays<T> {
    pub(super) shape: BroEllShape,
    pub(super) column_ptr: DeviceArray<u64>,
    pub(super) symbol_ptr: DeviceArray<u64>,
    pub(super) bits: DeviceArray<u8>,
    pub(super) symbols: DeviceArray<u64>,
    pub(super) values: DeviceArray<T>,
}

/// The arrays of one format.
#[derive(Debug)]
pub(super) enum Matrix<T> {
    Csr { row_ptr: Offsets, col_idx: DeviceArray<u32>, values: DeviceArray<T> },
    Coo(CooArrays<T>),
    Ell(EllArrays<T>),
    Hyb(EllArrays<T>, CooArrays<T>),
    Jad(JadArrays<T>),
    Sell(SellArrays<T>),
    BroEll(BroEllArrays<T>),
}

impl<T> Matrix<T> {
    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Csr { .. } => Format::Csr,
            Self::Coo(_) => Format::Coo,
            Self::Ell(_) => Format::Ell,
            Self::Hyb(..) => Format::Hyb,
            Self::Jad(_) => Format::Jad,
            Self::Sell(sell) => Format::Sell(sell.shape),
            Self::BroEll(bro) => Format::BroEll(bro.shape),
        }
    }
}
