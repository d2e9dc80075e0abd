//! Addresses of arrays on a GPU. Who gives one has asked the array itself where it lies, how long it is and of which type:
//! `python/sparsight/_vectors.py` and `_resident.py`. It lives as long as what is queued with it, by the rules of its own library.

use crate::buffers::Value;
use crate::failure::{Failure, Kind, SHARED};
use sparsight::device::{DeviceIndices, DeviceSlice, DeviceSliceMut};

/// Address of an array, and its number of entries.
pub(crate) type At = (u64, usize);

/// Address of indices, their number, and the bits of each: 32 or 64.
pub(crate) type IndicesAt = (u64, usize, u32);

/// A GPU that reads a number across the boundary of its size gives up the whole process.
fn aligned<T>(what: &str, address: u64) -> Result<(), Failure> {
    let bytes = align_of::<T>() as u64;
    if address.is_multiple_of(bytes) {
        return Ok(());
    }
    let text = format!("{what} begins at an address that is no multiple of the {bytes} bytes of an entry");
    Err(Failure::new(Kind::BadVector, text).hinted("a copy of it does"))
}

/// Entries to be read.
pub(crate) fn read<'a, T: Value>(what: &str, (address, len): At) -> Result<DeviceSlice<'a, T>, Failure> {
    aligned::<T>(what, address)?;
    // SAFETY: as said above.
    Ok(unsafe { DeviceSlice::from_raw(address, len) })
}

/// Returns true if both share memory.
pub(crate) fn overlap<T>((one, one_len): At, (other, other_len): At) -> bool {
    let end = |start: u64, len: usize| start.saturating_add((size_of::<T>() * len) as u64);
    other < end(one, one_len) && one < end(other, other_len)
}

/// Entries to be written, beside an x that is read.
pub(crate) fn write<'a, T: Value>(what: &str, at: At, x: At) -> Result<DeviceSliceMut<'a, T>, Failure> {
    let (address, len) = at;
    aligned::<T>(what, address)?;
    if overlap::<T>(at, x) {
        return Err(Failure::new(Kind::BadVector, format!("{what} shares memory with x")).hinted(SHARED));
    }
    // SAFETY: as said above.
    Ok(unsafe { DeviceSliceMut::from_raw(address, len) })
}

/// Indices to be read. Those with a sign are read as those without: whether they lie inside of the matrix is looked at on the GPU.
pub(crate) fn indices<'a>(what: &str, (address, len, bits): IndicesAt) -> Result<DeviceIndices<'a>, Failure> {
    Ok(match bits {
        32 => {
            aligned::<u32>(what, address)?;
            // SAFETY: as said above.
            DeviceIndices::U32(unsafe { DeviceSlice::from_raw(address, len) })
        }
        64 => {
            aligned::<u64>(what, address)?;
            // SAFETY: as said above.
            DeviceIndices::U64(unsafe { DeviceSlice::from_raw(address, len) })
        }
        _ => {
            let text = format!("{what} has indices of {bits} bits");
            return Err(Failure::new(Kind::BadMatrix, text).hinted("indices are int32 or int64"));
        }
    })
}
