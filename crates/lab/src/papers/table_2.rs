//! Features of a matrix that `linear` and `neighbours` use: Table 2 of Lehnert et al. 2016.
//!
//! The paper found the choice, format by format, to be essential. Its formats are COO, CSR, ELL, SELL-C-sigma and
//! BRO-ELL; a kernel of another kind takes the columns of the nearest, see [`nearest`]. The block size, in the paper a
//! feature of every model, is none here: what is learned is learned for each block size apart, as the paper does for
//! thread mappings.

use super::kernels::{FORMATS, KernelInPapers};
use sparsight_kernels::Kernel;
use sparsight_model::Quantity;

/// Mark of `linear` in the table.
pub(super) const LINEAR: char = 'L';
/// Mark of `neighbours`.
pub(super) const NEIGHBOURS: char = 'N';

/// Table 2: what looks at a feature, for each of [`FORMATS`].
const TABLE: [(Quantity, [&str; 5]); 11] = [
    (Quantity::Rows, ["L", "LN", "L", "", ""]),
    (Quantity::NonZeros, ["LN", "N", "LN", "LN", "LN"]),
    (Quantity::RowMin, ["L", "L", "N", "LN", "LN"]),
    (Quantity::RowMax, ["L", "", "LN", "L", "L"]),
    (Quantity::RowMode, ["L", "L", "", "L", "L"]),
    (Quantity::RowMedian, ["L", "LN", "L", "L", "L"]),
    (Quantity::MinDistance, ["L", "", "N", "L", "L"]),
    (Quantity::MaxDistance, ["", "L", "LN", "", ""]),
    (Quantity::Bandwidth, ["L", "L", "L", "L", ""]),
    (Quantity::Dispersion, ["L", "", "LN", "LN", "L"]),
    (Quantity::Density, ["", "LN", "", "L", "L"]),
];

/// The features that the method with this mark takes for `kernel`, in the order of the table.
pub(super) fn selected(method: char, kernel: Kernel) -> Vec<Quantity> {
    let formats = KernelInPapers::of(kernel).table_2;
    let looked_at = |cells: &[&str; 5]| {
        FORMATS.iter().zip(cells).any(|(format, cell)| formats.contains(format) && cell.contains(method))
    };
    TABLE.iter().filter(|(_, cells)| looked_at(cells)).map(|(quantity, _)| *quantity).collect()
}

/// The features that the method with this mark takes, with their formats, `nRows of COO CSR ELL`: distinguishes versions of the table.
pub(super) fn described(method: char) -> Vec<String> {
    let entry = |(quantity, cells): &(Quantity, [&str; 5])| {
        let formats = FORMATS.iter().zip(cells).filter(|(_, cell)| cell.contains(method));
        let formats: Vec<&str> = formats.map(|(format, _)| *format).collect();
        (!formats.is_empty()).then(|| format!("{} of {}", quantity.name(), formats.join(" ")))
    };
    TABLE.iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Quantity::{
        Density, Dispersion, MaxDistance, MinDistance, NonZeros, RowMax, RowMedian, RowMin, Rows,
    };

    #[test]
    fn every_kernel_takes_features_of_formats_in_the_table() {
        for kernel in Kernel::all() {
            assert!(
                KernelInPapers::of(kernel).table_2.iter().all(|format| FORMATS.contains(format)),
                "{kernel}"
            );
            for method in [LINEAR, NEIGHBOURS] {
                assert!(!selected(method, kernel).is_empty(), "{kernel}");
            }
        }
        let csr = Kernel::known("csr-vector/t8");
        let both = [Rows, NonZeros, RowMin, RowMax, RowMedian, MinDistance, MaxDistance, Dispersion, Density];
        assert_eq!(selected(NEIGHBOURS, csr), both, "the union, in the order of the table");
        assert_eq!(selected(NEIGHBOURS, Kernel::known("coo")), [NonZeros]);
        let marks = |letter| TABLE.iter().flat_map(|(_, cells)| cells).filter(|c| c.contains(letter)).count();
        assert_eq!((marks('L'), marks('N')), (40, 16), "crosses of Table 2, less blocksize");
    }
}
