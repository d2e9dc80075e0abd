//! Reads a matrix file several times and prints a JSON line: seconds of the fastest read and what the file held.
//!
//! ```text
//! read_matrix FILE [--threads N] [--repeat N]
//! ```

use sparsight_matrix::Dtype;
use sparsight_matrix::io::{self, ReadOptions};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut path, mut threads, mut repeat) = (None, 0, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--threads" => threads = args.next().ok_or("--threads needs a number")?.parse()?,
            "--repeat" => repeat = args.next().ok_or("--repeat needs a number")?.parse()?,
            _ => path = Some(PathBuf::from(arg)),
        }
    }
    let path = path.ok_or("usage: read_matrix FILE [--threads N] [--repeat N]")?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut best_s = f64::INFINITY;
    let mut last = None;
    for _ in 0..repeat.max(1) {
        drop(last.take());
        let start = Instant::now();
        last = Some(pool.install(|| io::read::<f64>(&path, &ReadOptions::default()))?);
        best_s = best_s.min(start.elapsed().as_secs_f64());
    }
    let loaded = last.ok_or("no read")?;
    let (a, stored) = (&loaded.matrix, &loaded.stored);
    let matrix_bytes = 8 * (a.nrows() + 1) + (4 + Dtype::F64.bytes() as usize) * a.nnz();
    println!(
        r#"{{"time_s":{best_s},"threads":{},"nrows":{},"ncols":{},"nnz":{},"entries":{},"duplicates":{},"layout":"{}","field":"{}","symmetry":"{}","matrix_bytes":{matrix_bytes},"peak_rss_bytes":{}}}"#,
        pool.current_num_threads(),
        a.nrows(),
        a.ncols(),
        a.nnz(),
        stored.entries,
        stored.duplicates,
        stored.layout,
        stored.field,
        stored.symmetry,
        peak_resident_bytes().map_or("null".to_owned(), |b| b.to_string()),
    );
    Ok(())
}

/// The most memory that this process held at once, pages of the mapped file included.
fn peak_resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
