//! BRO-ELL as one of the storage formats.

use super::BroEll;
use crate::formats::family::padded_values;
use crate::formats::{
    CsrRows, Element, FormatFamily, FormatOf, HostArray, Knob, Layout, NamedArrays, NamedNumbers, NumberOf,
    PaddingBound, Shape, Step, Stored,
};
use crate::{BroEllShape, BroEllSize, Bytes, Csr, Features, Infeasible, Limits, MatrixSize, Scalar};

/// BRO-ELL.
pub(in crate::formats) static FORMAT: FormatFamily = FormatFamily {
    name: "bro-ell",
    knobs: &[Knob { letter: 'r', meaning: "rows of a slice" }],
    shapes: || BroEllShape::ALL.map(|shape| [shape.slice, 0]).to_vec(),
    description: include_str!("../bro_ell.md"),
    padding_bound: |[slice, _]| PaddingBound::Slices(slice),
    device_bytes: |shape, f, dtype| {
        BroEll::<f32>::device_bytes(f.nrows, shape.into(), size_of(shape, f), dtype)
    },
    stored_entries: |shape, f| size_of(shape, f).entries,
    padding: Some(|shape, f, dtype| {
        let size = size_of(shape, f);
        let padded = size.entries.saturating_sub(f.nnz);
        // Their share of the symbols: how many bits each entry has is not known one by one.
        let symbols = 8.0 * size.symbols as f64 * padded as f64 / size.entries.max(1) as f64;
        Bytes(padded_values(size.entries, f, dtype).0.saturating_add(symbols as u64))
    }),
    bits_per_column: Some(|shape, f| f.padded.bro_ell(shape.into()).map(|size| size.bits_a_column(f.nnz))),
    ..FormatFamily::base(&BroEllFormat)
};

impl From<Shape> for BroEllShape {
    fn from([slice, _]: Shape) -> Self {
        Self { slice }
    }
}

/// Unknown only where the columns are not: in old records, and for row lengths alone. Then the non-zeros with columns of
/// 32 bits.
fn size_of(shape: Shape, f: &Features) -> BroEllSize {
    let unknown = || BroEllSize { entries: f.nnz, symbols: f.nnz.div_ceil(2), columns: 0 };
    f.padded.bro_ell(shape.into()).unwrap_or_else(unknown)
}

struct BroEllFormat;

impl<T: Scalar> FormatOf<T> for BroEllFormat {
    fn check(&self, shape: Shape, f: &Features, limits: &Limits) -> Result<Bytes, Infeasible> {
        BroEll::<T>::check(f.into(), shape.into(), size_of(shape, f), limits)
    }

    fn convert(&self, shape: Shape, a: &Csr<T>, limits: &Limits) -> Result<Box<dyn Stored<T>>, Infeasible> {
        Ok(Box::new(BroEll::from_csr(a, shape.into(), limits)?))
    }

    /// The number of symbols is known only when the device has read the columns.
    fn layout(&self, shape: Shape, csr: CsrRows<'_>, limits: &Limits) -> Result<Layout<T>, Infeasible> {
        let shape = BroEllShape::from(shape);
        let of_matrix @ MatrixSize { nrows, .. } = csr.size();
        let column_ptr = shape.column_ptr(csr.row_ptr);
        let slices = column_ptr.len() as u64 - 1;
        let columns = column_ptr.last().copied().unwrap_or_default();
        let entries = shape.entries(nrows, &column_ptr);
        let size = move |symbols| BroEllSize { entries, symbols, columns };
        BroEll::<T>::check(of_matrix, shape, size(0), limits)?;
        // A difference takes 32 bits at most, and a row's last symbol may be hardly filled; and a number a slice, on the
        // way.
        let most = BroEll::<T>::device_bytes(nrows, shape, size(entries / 2 + nrows), T::DTYPE).0;
        let room = HostArray::room;
        let fits = move |number: &NumberOf<'_>, limits: &Limits| {
            BroEll::<T>::check(of_matrix, shape, size(number("symbol_count")), limits).map(drop)
        };
        Ok(Layout {
            numbers: vec![("slice", shape.slice.into()), ("entries", entries)],
            arrays: vec![("column_ptr", HostArray::u64s(column_ptr)), ("bits", room(Element::U8, columns))],
            scratch: vec![("symbols_per_slice", room(Element::U64, slices))],
            steps: vec![
                // A warp a slice.
                Step::Run { routine: "bro_widths", threads: 32 * slices, part: "", with: &[] },
                Step::AddUp { lengths: "symbols_per_slice", starts: "symbol_ptr", total: "symbol_count" },
                Step::Check(Box::new(fits)),
                Step::room("symbols", Element::U64, |number| number("symbol_count")),
                Step::room("values", Element::Value, move |_| entries),
                Step::Run { routine: "bro_pack", threads: nrows, part: "", with: &[] },
            ],
            most: Bytes(most.saturating_add(8 * (slices + 1))),
            ..Layout::default()
        })
    }
}

impl<T: Scalar> Stored<T> for BroEll<T> {
    fn numbers(&self) -> NamedNumbers {
        vec![("slice", self.shape.slice.into()), ("entries", self.values.len() as u64)]
    }

    fn arrays(&self) -> NamedArrays<'_, T> {
        vec![
            ("column_ptr", HostArray::u64s(&self.column_ptr)),
            ("symbol_ptr", HostArray::u64s(&self.symbol_ptr)),
            ("bits", HostArray::U8(self.bits.as_slice().into())),
            ("symbols", HostArray::u64s(&self.symbols)),
            ("values", HostArray::values(&self.values)),
        ]
    }

    fn values_mut(&mut self) -> Vec<&mut [T]> {
        vec![&mut self.values]
    }
}
