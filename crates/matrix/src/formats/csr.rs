#![doc = include_str!("csr.md")]

use super::{
    CsrRows, Elsewhere, FormatFamily, FormatOf, HostArray, Layout, NamedArrays, NamedNumbers, Shape, Stored,
};
use crate::{Bytes, Csr, Features, Infeasible, Limits, Scalar};
use std::fmt;
use std::marker::PhantomData;

/// CSR as one of the storage formats.
pub(super) static FORMAT: FormatFamily = FormatFamily {
    name: "csr",
    description: include_str!("csr.md"),
    stays_in_csr: true,
    elsewhere: &[
        Elsewhere { library: "cuSPARSE", name: "cusparseCreateCsr" },
        Elsewhere { library: "Ginkgo", name: "matrix::Csr" },
        Elsewhere { library: "PETSc", name: "MATAIJ, on a GPU MATAIJCUSPARSE" },
        Elsewhere { library: "Kokkos Kernels", name: "CrsMatrix" },
        Elsewhere { library: "SciPy", name: "csr_array" },
    ],
    ..FormatFamily::base(&CsrFormat)
};

/// Conversions of CSR to itself.
pub(super) struct CsrFormat;

impl<T: Scalar> FormatOf<T> for CsrFormat {
    fn check(&self, _: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        Csr::<T>::check(f.into(), limits)
    }

    fn convert(&self, _: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Csr::<T>::check(a.into(), limits)?;
        Ok(Box::new(a.clone()))
    }

    fn layout(&self, _: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        Csr::<T>::check(csr.size(), limits)?;
        Ok(Layout { keeps: &["row_ptr", "col_idx", "values"], ..Layout::default() })
    }
}

impl<T: Scalar> Stored<T> for Csr<T> {
    fn arrays(&self) -> NamedArrays<'_, T> {
        let row_ptr = HostArray::Offsets { offsets: self.row_ptr().into(), nnz: self.nnz() as u64 };
        vec![
            ("row_ptr", row_ptr),
            ("col_idx", HostArray::u32s(self.col_idx())),
            ("values", HostArray::values(self.values())),
        ]
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        vec![Self::values_mut(self)]
    }
}

/// A matrix in CSR with a table beside it: the entries stay where CSR has them.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrWith<T, B> {
    /// The entries.
    pub csr: Csr<T>,
    /// The table.
    pub table: B,
}

/// A table beside CSR that tells kernels how to share out the rows.
pub trait CsrTable: fmt::Debug + Send + Sync + Sized + 'static {
    /// Arrays of the CSR that kernels read beside the table.
    const KEEPS: &'static [&'static str];

    /// Checks the format like [`FormatOf::check`].
    ///
    /// # Errors
    /// [`Infeasible`] with the numbers.
    fn check_features<T: Scalar>(shape: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible>;

    /// The table of a matrix.
    ///
    /// # Errors
    /// [`Infeasible`] if `limits` are exceeded; nothing large has been allocated then.
    fn try_of<T: Scalar>(shape: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Self, Infeasible>;

    /// Numbers of the matrix.
    fn numbers(&self) -> NamedNumbers;

    /// Arrays of a matrix with `nnz` non-zeros.
    fn arrays<T: Scalar>(&self, nnz: u64) -> NamedArrays<'static, T>;

    /// Order of the rows, as [`Stored::row_order`].
    fn row_order(&self) -> &[u32] {
        &[]
    }
}

/// Conversions of CSR to CSR with a table.
pub(super) struct TableFormat<B>(pub(super) PhantomData<fn() -> B>);

impl<T: Scalar, B: CsrTable> FormatOf<T> for TableFormat<B> {
    fn check(&self, shape: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        B::check_features::<T>(shape, f, limits)
    }

    fn convert(&self, shape: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        let table = B::try_of::<T>(shape, a.into(), limits)?;
        Ok(Box::new(CsrWith { csr: a.clone(), table }))
    }

    fn layout(&self, shape: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let table = B::try_of::<T>(shape, csr, limits)?;
        let (numbers, arrays) = (table.numbers(), table.arrays(csr.size().nnz));
        Ok(Layout { numbers, arrays, keeps: B::KEEPS, ..Layout::default() })
    }
}

impl<T: Scalar, B: CsrTable> Stored<T> for CsrWith<T, B> {
    fn numbers(&self) -> NamedNumbers {
        self.table.numbers()
    }

    fn row_order(&self) -> &[u32] {
        self.table.row_order()
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        let mut arrays = self.csr.arrays();
        arrays.retain(|(name, _)| B::KEEPS.contains(name));
        arrays.extend(self.table.arrays(self.csr.nnz() as u64));
        arrays
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        Stored::values_mut(&mut self.csr)
    }
}
