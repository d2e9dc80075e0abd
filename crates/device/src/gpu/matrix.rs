//! A matrix on a GPU: named arrays and numbers, and the launches that multiply with it.

use super::array::DeviceBytes;
use super::{Extent, Memory};
use crate::DeviceError;
use bytemuck::cast_slice;
use rayon::prelude::*;
use sparsight_kernels::{Candidate, LaunchArg, PlannedLaunch, SHARED_ROOM};
use sparsight_matrix::{Dtype, Element, Format, HostArray, NamedArrays, NamedNumbers, Scalar};
use std::sync::Arc;

/// A matrix, or some rows of one, on a GPU in one format.
#[derive(Debug)]
pub struct DeviceMatrix {
    pub(super) format: Format,
    pub(crate) dtype: Dtype,
    arrays: Vec<(&'static str, DeviceBytes)>,
    numbers: NamedNumbers,
    /// Width of row offsets; 4 where there are none.
    offset_bytes: u64,
}

impl DeviceMatrix {
    /// A matrix without arrays yet.
    pub(super) fn new<T: Scalar>(
        format: Format,
        (nrows, ncols, nnz): (u64, u64, u64),
        offset_bytes: u64,
    ) -> Self {
        let numbers = vec![("nrows", nrows), ("ncols", ncols), ("nnz", nnz)];
        Self { format, dtype: T::DTYPE, arrays: Vec::new(), numbers, offset_bytes }
    }

    /// Brings arrays to the device.
    pub(super) fn add<T: Scalar>(
        &mut self,
        memory: &Arc<dyn Memory>,
        arrays: &NamedArrays<'_, T>,
    ) -> Result<(), DeviceError> {
        for (name, array) in arrays {
            self.keep(name, upload(memory, array, self.offset_bytes)?);
        }
        Ok(())
    }

    /// Adds an array that is there.
    pub(super) fn keep(&mut self, name: &'static str, array: DeviceBytes) {
        self.arrays.push((name, array));
    }

    /// Room for an array, not initialised.
    pub(super) fn room(
        &mut self,
        memory: &Arc<dyn Memory>,
        name: &'static str,
        element: Element,
        len: u64,
    ) -> Result<(), DeviceError> {
        self.keep(name, DeviceBytes::new(memory, len.saturating_mul(element.bytes(self.dtype.bytes())))?);
        Ok(())
    }

    /// Adds numbers.
    pub(super) fn tell(&mut self, numbers: &NamedNumbers) {
        self.numbers.extend(numbers);
    }

    /// Format of the matrix.
    pub fn format(&self) -> Format {
        self.format
    }

    /// A number by name.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.numbers.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }

    /// Returns whether it may have the pattern of `other`: no known size differs.
    pub(super) fn is_sized_as(&self, other: &Self) -> bool {
        let agrees = |(name, number): &(&str, u64)| other.number(name).is_none_or(|of| of == *number);
        self.format == other.format && self.numbers.iter().all(agrees)
    }

    /// Arrays of the matrix.
    pub(super) fn into_arrays(self) -> impl Iterator<Item = (&'static str, DeviceBytes)> {
        self.arrays.into_iter()
    }

    /// An array by name.
    pub(super) fn array(&self, name: &str) -> Option<&DeviceBytes> {
        self.arrays.iter().find(|(known, _)| *known == name).map(|(_, array)| array)
    }

    /// Room that the thread blocks of a product leave partial sums in for each other, the same in every format: all that is written but y.
    pub(super) fn shared_room(&self) -> impl Iterator<Item = &DeviceBytes> {
        let is_room = |name: &str| SHARED_ROOM.iter().any(|room| name.ends_with(room));
        self.arrays
            .iter()
            .filter(move |(name, array)| is_room(name) && array.bytes() > 0)
            .map(|(_, array)| array)
    }

    /// Address of the array of that name; 0 if it is empty.
    ///
    /// # Panics
    /// If there is none.
    pub fn address(&self, name: &str) -> u64 {
        self.array(name).expect("the format has the arrays that its kernels name").address()
    }

    /// A copy of the bytes of an array on the host, after everything queued before it.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Panics
    /// If there is no such array.
    pub fn bytes_of(&self, name: &str) -> Result<Vec<u8>, DeviceError> {
        let array = self.array(name).expect("the format has the arrays that its kernels name");
        let mut bytes = vec![0; array.bytes() as usize];
        array.read(&mut bytes)?;
        Ok(bytes)
    }

    /// A copy of an array of 64-bit words on the host, after everything queued before it.
    ///
    /// # Errors
    /// A failed call.
    ///
    /// # Panics
    /// If there is no such array.
    pub fn words(&self, name: &str) -> Result<Vec<u64>, DeviceError> {
        let array = self.array(name).expect("the format has the arrays that its kernels name");
        array.read_words()
    }

    /// Width of row offsets in bytes, 4 or 8; 4 where there are none.
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// The memory of all arrays.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.arrays.iter().map(|(_, array)| array.extent())
    }

    /// Bytes of all arrays.
    pub(super) fn bytes(&self) -> u64 {
        self.arrays.iter().map(|(_, array)| array.bytes()).sum()
    }

    /// The launches of one product with a kernel of ours.
    ///
    /// # Panics
    /// If the candidate reads another format, is none of its kernel's block sizes, or is not ours.
    pub(super) fn launches(&self, candidate: &Candidate, most_blocks: u32) -> Vec<PlannedLaunch> {
        assert_eq!(candidate.format(), self.format, "{candidate} does not read the format of this operand");
        assert!(candidate.kernel.blocks().contains(&candidate.block), "{candidate} is none of the catalogue");
        let recipe = candidate.kernel.recipe().expect("the vendor's routines are not launched by us");
        recipe.launches(candidate.kernel.knobs(), candidate.block, most_blocks, |name| self.number(name))
    }

    /// An argument as the word that a kernel is given; 0 for what is another in each product.
    pub(super) fn word(&self, arg: LaunchArg) -> u64 {
        match arg {
            LaunchArg::Number(number) => number,
            LaunchArg::Array(part, name) => self.of_part(part, name),
            LaunchArg::X | LaunchArg::Y | LaunchArg::Alpha | LaunchArg::Beta => 0,
        }
    }

    /// Address of an array of a part of the matrix, or of all of it.
    fn of_part(&self, part: &str, name: &str) -> u64 {
        let own = self.arrays.iter().find(|(known, _)| known.strip_prefix(part) == Some(name));
        own.map_or_else(|| self.address(name), |(_, array)| array.address())
    }
}

/// Brings one array to a device, row offsets with that many bytes each.
pub(super) fn upload<T: Scalar>(
    memory: &Arc<dyn Memory>,
    array: &HostArray<'_, T>,
    offset_bytes: u64,
) -> Result<DeviceBytes, DeviceError> {
    match array {
        HostArray::U8(data) => DeviceBytes::of(memory, data),
        HostArray::U32(data) => DeviceBytes::of(memory, cast_slice(data)),
        HostArray::U64(data) => DeviceBytes::of(memory, cast_slice(data)),
        HostArray::Values(data) => DeviceBytes::of(memory, cast_slice(data)),
        HostArray::Offsets { offsets, .. } if offset_bytes == 4 => {
            let narrow: Vec<u32> = offsets.par_iter().map(|&offset| offset as u32).collect();
            DeviceBytes::of(memory, cast_slice(&narrow))
        }
        HostArray::Offsets { offsets, .. } => DeviceBytes::of(memory, cast_slice(offsets)),
        HostArray::Room { zeroed, .. } => {
            let mut room = DeviceBytes::new(memory, array.bytes())?;
            if *zeroed {
                room.zero()?;
            }
            Ok(room)
        }
    }
}
