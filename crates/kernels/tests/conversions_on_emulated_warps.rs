//! The CUDA kernels that lay out formats, run by the emulator of `emulator/`, against the conversions on the host:
//! every array the same, byte by byte. Without g++ it is skipped; `SPARSIGHT_REQUIRE_GXX=1` turns that into a failure.

mod emulator;

use emulator::{
    Arg, Emulator, Launch, awkward, gxx_is_missing, matrix, offsets, scalars, wide_differences, words,
};
use sparsight_kernels::{HELPER_BLOCK, conversion_source};
use sparsight_matrix::{
    BroEll, BroEllShape, Coo, Csr, Ell, Hyb, Jad, JadLayout, Limits, RowLengths, Scalar, Sell, SellLayout,
    SellShape,
};

/// What is in arrays that a kernel must write all of.
const BEFORE: u8 = 7;

/// Arrays for one matrix: its CSR first.
struct Arrays<'a, T> {
    emulator: &'a Emulator,
    a: &'a Csr<T>,
    all: Vec<Vec<u8>>,
}

impl<'a, T: Scalar> Arrays<'a, T> {
    const ROW_PTR: Arg = Arg::Array(0);
    const COLUMNS: Arg = Arg::Array(1);
    const VALUES: Arg = Arg::Array(2);

    fn new(emulator: &'a Emulator, offset_bytes: u64, a: &'a Csr<T>) -> Self {
        let all = vec![offsets(a.row_ptr(), offset_bytes), words(a.col_idx()), scalars(a.values())];
        Self { emulator, a, all }
    }

    fn given(&mut self, bytes: Vec<u8>) -> Arg {
        self.all.push(bytes);
        Arg::Array(self.all.len() as u64 - 1)
    }

    /// Room for as many bytes, full of something else.
    fn room(&mut self, bytes: usize) -> Arg {
        self.given(vec![BEFORE; bytes])
    }

    fn entries(&mut self, count: usize) -> [Arg; 2] {
        [self.room(4 * count), self.room(count * T::DTYPE.bytes() as usize)]
    }

    /// Runs one kernel and keeps what it wrote.
    fn run(&mut self, kernel: &str, args: &[Arg]) {
        let entry_points = conversion_source(T::DTYPE, 8).entry_points;
        let kernel = entry_points.iter().position(|name| *name == kernel).unwrap() as u64;
        let (grid, block) = (2, HELPER_BLOCK.into());
        let launch = Launch { kernel, grid, block, backwards: false, args: args.to_vec() };
        self.all = self.emulator.run(&self.all, &[launch]);
    }

    /// Forgets all but the CSR.
    fn clear(&mut self) {
        self.all.truncate(3);
    }

    fn get(&self, array: Arg) -> &[u8] {
        let Arg::Array(at) = array else { unreachable!("a number") };
        &self.all[at as usize]
    }

    fn slices(&mut self, slice: u64, slice_ptr: &[u64], permutation: &[u32]) -> [Arg; 2] {
        let [cols, values] = self.entries(slice_ptr[slice_ptr.len() - 1] as usize);
        let places = (slice_ptr.len() as u64 - 1) * slice;
        let order = if permutation.is_empty() { Arg::Number(0) } else { self.given(words(permutation)) };
        let slice_ptr = self.given(offsets(slice_ptr, 8));
        let rows = [places, self.a.nrows() as u64, slice].map(Arg::Number);
        let arrays = [Self::ROW_PTR, Self::COLUMNS, Self::VALUES, order, slice_ptr, cols, values];
        self.run("lay_slices", &[rows.as_slice(), &arrays].concat());
        [cols, values]
    }

    fn ell(&mut self, width: u64) -> [Arg; 2] {
        let stride = Ell::<T>::stride_for(self.a.nrows() as u64);
        if stride == 0 {
            return self.entries(0);
        }
        self.slices(stride, &[0, width * stride], &[])
    }

    fn is(&self, arrays: [Arg; 2], (cols, values): (&[u32], &[T]), what: &str) {
        assert_eq!(self.get(arrays[0]), words(cols), "columns of {what}");
        assert_eq!(self.get(arrays[1]), scalars(values), "values of {what}");
    }
}

fn converted_is_what_the_host_makes<T: Scalar>(
    emulator: &Emulator,
    offset_bytes: u64,
    a: &Csr<T>,
    what: &str,
) {
    let (nrows, limits) = (a.nrows() as u64, Limits::NONE);
    let mut arrays = Arrays::new(emulator, offset_bytes, a);
    let (row_ptr, columns, values) = (Arrays::<T>::ROW_PTR, Arrays::<T>::COLUMNS, Arrays::<T>::VALUES);

    let ell = Ell::from_csr(a, &limits).unwrap();
    let got = arrays.ell(ell.width() as u64);
    arrays.is(got, (ell.col_idx(), ell.values()), &format!("ELL, '{what}'"));

    let hyb = Hyb::from_csr(a, &limits).unwrap();
    let width = RowLengths::of(a).hyb_split().width;
    let got = arrays.ell(width);
    arrays.is(got, (hyb.ell().col_idx(), hyb.ell().values()), &format!("HYB, '{what}'"));
    let starts = arrays.given(offsets(&Hyb::<T>::coo_starts(a.row_ptr(), width), 8));
    let rows = arrays.room(4 * hyb.coo().nnz());
    let got = arrays.entries(hyb.coo().nnz());
    let csr = [Arg::Number(nrows), Arg::Number(width), row_ptr, columns, values];
    arrays.run("lay_coo", &[csr.as_slice(), &[starts, rows], &got].concat());
    assert_eq!(arrays.get(rows), words(hyb.coo().row_idx()), "rows of HYB, '{what}'");
    arrays.is(got, (hyb.coo().col_idx(), hyb.coo().values()), &format!("COO of HYB, '{what}'"));

    arrays.clear();
    let coo = Coo::from_csr(a, &limits).unwrap();
    let rows = arrays.room(4 * a.nnz());
    let none = [Arg::Number(0); 2];
    let csr = [Arg::Number(nrows), Arg::Number(0), row_ptr, columns, values, Arg::Number(0), rows];
    arrays.run("lay_coo", &[csr.as_slice(), &none].concat());
    assert_eq!(arrays.get(rows), words(coo.row_idx()), "rows of COO, '{what}'");

    let (jad, layout) = (Jad::from_csr(a, &limits).unwrap(), JadLayout::of(a.row_ptr()));
    let got = arrays.entries(a.nnz());
    let permutation = arrays.given(words(layout.permutation()));
    let diagonal_ptr = arrays.given(offsets(layout.diagonal_ptr(), 8));
    let csr = [Arg::Number(nrows), row_ptr, columns, values, permutation, diagonal_ptr];
    arrays.run("lay_diagonals", &[csr.as_slice(), &got].concat());
    arrays.is(got, (jad.col_idx(), jad.values()), &format!("JAD, '{what}'"));

    for shape in SellShape::ALL {
        arrays.clear();
        let (sell, layout) = (Sell::from_csr(a, shape, &limits).unwrap(), SellLayout::of(a.row_ptr(), shape));
        assert_eq!((layout.slice_ptr(), layout.permutation()), (sell.slice_ptr(), sell.permutation()));
        let got = arrays.slices(shape.slice.into(), layout.slice_ptr(), layout.permutation());
        arrays.is(got, (sell.col_idx(), sell.values()), &format!("SELL {shape}, '{what}'"));
    }

    for shape in BroEllShape::ALL {
        arrays.clear();
        bro_ell_is_what_the_host_makes(&mut arrays, shape, what);
    }
}

fn bro_ell_is_what_the_host_makes<T: Scalar>(arrays: &mut Arrays<'_, T>, shape: BroEllShape, what: &str) {
    let (a, nrows) = (arrays.a, arrays.a.nrows() as u64);
    let csr = [Arrays::<T>::ROW_PTR, Arrays::<T>::COLUMNS, Arrays::<T>::VALUES];
    let bro = BroEll::from_csr(a, shape, &Limits::NONE).unwrap();
    let column_ptr = shape.column_ptr(a.row_ptr());
    assert_eq!(column_ptr, bro.column_ptr(), "{shape}, '{what}'");
    assert_eq!(shape.entries(nrows, &column_ptr), bro.values().len() as u64, "{shape}, '{what}'");

    let rows = [nrows, shape.slice.into()].map(Arg::Number);
    let slices = column_ptr.len() - 1;
    let column_ptr = arrays.given(offsets(&column_ptr, 8));
    let bits = arrays.room(bro.bits().len());
    let symbols_a_slice = arrays.room(8 * slices);
    arrays.run("bro_widths", &[rows.as_slice(), &csr[..2], &[column_ptr, bits, symbols_a_slice]].concat());
    assert_eq!(arrays.get(bits), bro.bits(), "widths of {shape}, '{what}'");
    let expected: Vec<u64> = bro.symbol_ptr().windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(arrays.get(symbols_a_slice), offsets(&expected, 8), "symbols a slice of {shape}, '{what}'");

    let symbol_ptr = arrays.given(offsets(bro.symbol_ptr(), 8));
    let symbols = arrays.room(8 * bro.symbols().len());
    let values = arrays.room(bro.values().len() * T::DTYPE.bytes() as usize);
    let packed = [column_ptr, symbol_ptr, bits, symbols, values];
    arrays.run("bro_pack", &[rows.as_slice(), &csr, &packed].concat());
    assert_eq!(arrays.get(symbols), offsets(bro.symbols(), 8), "symbols of {shape}, '{what}'");
    assert_eq!(arrays.get(values), scalars(bro.values()), "values of {shape}, '{what}'");
}

fn check_all<T: Scalar>(offset_bytes: u64) {
    if gxx_is_missing() {
        return;
    }
    let name = format!("conversions-{}", T::DTYPE);
    let emulator = Emulator::compile(&name, &conversion_source(T::DTYPE, offset_bytes));
    for (what, lengths) in awkward() {
        converted_is_what_the_host_makes(&emulator, offset_bytes, &matrix::<T>(&lengths), what);
    }
    converted_is_what_the_host_makes(&emulator, offset_bytes, &wide_differences::<T>(), "wide differences");
}

#[test]
fn formats_in_single_precision_are_laid_out_as_on_the_host() {
    check_all::<f32>(4);
}

#[test]
fn formats_in_double_precision_with_wide_offsets_are_laid_out_as_on_the_host() {
    check_all::<f64>(8);
}
