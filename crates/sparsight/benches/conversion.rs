//! Where a conversion is faster, on the host or on the GPU: `cargo bench -p sparsight --bench conversion`, with a GPU.
//!
//! For matrices of growing size, each format that both can make: least time of five, conversion and upload together,
//! and how much of it was the conversion. `measure_conversion_threshold` asks the same for a profile.

use sparsight::device::cuda::Cuda;
use sparsight::device::gpu::ConvertOn;
use sparsight::device::{Device, Preparation};
use sparsight::kernels::Format;
use sparsight::matrix::{Csr, Dtype, gallery::Recipe};
use std::error::Error;

const TIMES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut gpu = Cuda::open(0)?;
    println!("{}, {} host threads", gpu.facts().name, std::thread::available_parallelism()?);
    println!(
        "matrix | non-zeros | format | host us | of it conversion | device us | of it conversion | gain"
    );
    for recipe in recipes() {
        let a = recipe.parse::<Recipe>()?.generate::<f64>()?;
        for format in Format::all() {
            let Some(host) = best(&mut gpu, ConvertOn::Host, &a, format) else { continue };
            let Some(device) = best(&mut gpu, ConvertOn::Device, &a, format).filter(|p| p.on_device) else {
                continue;
            };
            let [host_us, host_convert, device_us, device_convert] =
                [host.total(), host.convert, device.total(), device.convert].map(|s| 1e6 * s.0);
            println!(
                "{recipe} | {} | {format} | {host_us:.0} | {host_convert:.0} | {device_us:.0} | {device_convert:.0} | {:.2}",
                a.nnz(),
                host_us / device_us
            );
        }
    }
    Ok(())
}

fn recipes() -> Vec<String> {
    let rows = [1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000, 4_000_000];
    let random = rows.map(|n| format!("random,rows={n},row=16,spread=12"));
    let stencils = [20, 60, 150].map(|n| format!("stencil3d,n={n}"));
    let meshes = [20, 40].map(|n| format!("fem,n={n}"));
    [random.as_slice(), &stencils, &meshes].concat()
}

/// The fastest of some; `None` if the device cannot hold it.
fn best(gpu: &mut Cuda, place: ConvertOn, a: &Csr<f64>, format: Format) -> Option<Preparation> {
    gpu.convert_on(place);
    let once = || Some(gpu.operand(a, format, Dtype::F64).ok()?.preparation());
    let all: Option<Vec<Preparation>> = (0..TIMES).map(|_| once()).collect();
    all?.into_iter().min_by(|a, b| a.total().0.total_cmp(&b.total().0))
}
