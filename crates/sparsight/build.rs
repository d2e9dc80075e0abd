//! Packs the text of the shipped profiles that is not packed yet, so that the program holds it in a fifth: see `profile/shipped.rs`.

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::error::Error;
use std::io::{Read, Write};
use std::path::Path;
use std::{env, fs};

const PROFILES: [&str; 2] = ["nvidia-h200", "nvidia-h100"];
const TEXTS: [&str; 2] = ["models/index.json", "calibration.json"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    for profile in PROFILES {
        for name in TEXTS {
            let path = Path::new("profiles").join(profile).join(name);
            let to = Path::new(&out).join(profile).join(name);
            fs::create_dir_all(to.parent().ok_or("a file stands in a folder")?)?;
            fs::write(to, packed(&path)?)?;
        }
    }
    Ok(())
}

/// A file, or what stands under its name with `.gz` behind, packed again. Both together are ambiguous.
fn packed(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let (plain, gz) = (path.display().to_string(), format!("{}.gz", path.display()));
    if path.exists() && Path::new(&gz).exists() {
        return Err(format!(
            "{plain} and {gz} are both there: pack the newer one (`gzip -9n`), or remove one"
        )
        .into());
    }
    // The folder, too: the other of the two may come.
    println!("cargo::rerun-if-changed={}", path.parent().unwrap_or(path).display());
    let read = |path: &str| fs::read(path).map_err(|error| format!("{path}: {error}"));
    let mut bytes = Vec::new();
    if path.exists() {
        bytes = read(&plain)?;
    } else {
        let unpacked = MultiGzDecoder::new(&read(&gz)?[..]).read_to_end(&mut bytes);
        unpacked.map_err(|error| format!("{gz}: {error}"))?;
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&bytes)?;
    Ok(packed.finish()?)
}
