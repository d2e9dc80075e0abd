//! Strip sizes and numbers of strips that the papers print, from the catalogue that the models use.

use crate::made_up::gpu;
use sparsight_kernels::{Kernel, strip};

/// A warp per row of CSR.
fn warp() -> Kernel {
    Kernel::known("csr-vector/t32")
}

#[test]
fn the_c2050_has_the_strips_of_the_2014_paper() {
    let c2050 = gpu("Tesla C2050", 14, 1536);
    assert_eq!(strip(warp(), &c2050).size, 672);
    assert_eq!(strip(Kernel::known("ell"), &c2050).size, 21_504);
    assert_eq!(strip(Kernel::known("coo"), &c2050).size, 21_504);
}

#[test]
fn the_22_matrices_of_the_2014_paper_have_the_strips_of_its_table_3() {
    let csr = strip(warp(), &gpu("Tesla C2050", 14, 1536));
    for (name, rows, strips) in [
        ("linverse", 11_999, 18),
        ("ex11", 16_614, 25),
        ("neos", 479_119, 713),
        ("finan512", 74_752, 112),
        ("nasasrb", 54_870, 82),
        ("hcircuit", 105_676, 158),
        ("OPF_6000", 29_902, 45),
        ("OPF_10000", 43_887, 66),
        ("dense", 2_000, 3),
        ("protein", 36_417, 55),
        ("spheres", 83_334, 125),
        ("cantilever", 62_451, 93),
        ("harbor", 46_835, 70),
        ("QCD", 49_152, 74),
        ("ship", 140_874, 210),
        ("epidemiology", 525_825, 783),
        ("wind tunnel", 217_918, 325),
        ("economics", 206_500, 308),
        ("accelerator", 121_192, 181),
        ("circuit", 170_998, 255),
        ("webbase", 1_000_005, 1_489),
        ("LP", 4_284, 7),
    ] {
        assert_eq!(csr.strips(rows), strips, "{name}");
    }
}

#[test]
fn an_h200_has_strips_of_8448_16896_and_270336_rows() {
    let h200 = gpu("NVIDIA H200", 132, 2048);
    assert_eq!(strip(warp(), &h200).size, 8_448);
    assert_eq!(strip(Kernel::known("csr-vector/t16"), &h200).size, 16_896);
    assert_eq!(strip(Kernel::known("csr-scalar"), &h200).size, 270_336);
    assert_eq!(strip(Kernel::known("ell"), &h200).size, 270_336);
}
