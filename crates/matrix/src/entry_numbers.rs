//! Place of every entry of a matrix in any format: a matrix of the same pattern is converted whose
//! values are the numbers of its entries.
//!
//! ```text
//! values    5 7 9     ->  ELL  5 9 | 7 0           what was converted
//! numbered  1 2 3     ->  ELL  1 3 | 2 0           entry 1 stands first, then 3, then 2; 0 is padding
//! ```
//! A conversion moves values and never computes with them, so the bits of a whole number come through it as they are.

use crate::{Csr, Infeasible, Scalar};
use rayon::prelude::*;

/// The pattern of `a` with the numbers of the entries, counted from 1, in place of the values: see [`Scalar::of_number`].
/// O(nnz), in parallel.
///
/// # Errors
/// [`Infeasible::TooManyNonZeros`] if the bits of a value are too few for the number of the last entry.
///
/// # Panics
/// Never: there is a number for each entry.
pub fn numbered<T: Scalar>(a: &Csr<T>) -> Result<Csr<T>, Infeasible> {
    let nnz = a.nnz() as u64;
    if T::DTYPE.bytes() == 4 && nnz >= u64::from(u32::MAX) {
        return Err(Infeasible::TooManyNonZeros { nnz });
    }
    let numbers = (1..=nnz).into_par_iter().map(T::of_number).collect();
    Ok(a.with_values(numbers).expect("there is a number for each entry"))
}

/// The new value of each place: `values` are those of the entries in the order of CSR, `numbers` the entry at each place, 0 for
/// padding. O(places), in parallel.
///
/// # Panics
/// If there are as many numbers as places, but no value for one of them.
pub fn replace_values<T: Scalar>(places: &mut [T], numbers: &[T], values: &[T]) {
    assert_eq!(places.len(), numbers.len(), "a number for each place");
    places.par_iter_mut().zip(numbers).for_each(|(place, number)| {
        *place = match number.number() {
            0 => T::default(),
            number => values[number as usize - 1],
        };
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Recipe;
    use crate::{Format, HostArray, Limits, Stored};

    /// The arrays of values of a matrix in a format.
    fn values<T: Scalar>(stored: &dyn Stored<T>) -> Vec<Vec<T>> {
        let arrays = stored.arrays().into_iter();
        arrays
            .filter_map(|(_, array)| if let HostArray::Values(v) = array { Some(v.to_vec()) } else { None })
            .collect()
    }

    fn replaced_values_are_those_of_a_new_conversion<T: Scalar>() {
        for recipe in ["stencil2d,n=19", "power-law,n=900", "arrow,n=300"] {
            let a: Csr<T> = recipe.parse::<Recipe>().unwrap().generate().unwrap();
            let new: Vec<T> = (0..a.nnz()).map(|i| T::from_f64(1.5 + i as f64)).collect();
            let wanted = a.with_values(new.clone()).unwrap();
            for format in Format::all() {
                let Ok(mut stored) = format.convert(&a, &Limits::NONE) else { continue };
                let numbers = values(format.convert(&numbered(&a).unwrap(), &Limits::NONE).unwrap().as_ref());
                let arrays = stored.values_mut();
                assert_eq!(arrays.len(), numbers.len(), "{format}");
                for (places, numbers) in arrays.into_iter().zip(&numbers) {
                    replace_values(places, numbers, &new);
                }
                let wanted = format.convert(&wanted, &Limits::NONE).unwrap();
                assert_eq!(values(stored.as_ref()), values(wanted.as_ref()), "{format} of {recipe}");
            }
        }
    }

    #[test]
    fn replaced_values_are_those_of_a_new_conversion_in_every_format() {
        replaced_values_are_those_of_a_new_conversion::<f32>();
        replaced_values_are_those_of_a_new_conversion::<f64>();
    }
}
