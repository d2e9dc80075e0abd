//! Packs the text of the shipped profiles, a third of a megabyte, so that the program holds it in a fifth: see `profile/shipped.rs`.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{env, fs};

const PROFILES: [&str; 2] = ["nvidia-h200", "nvidia-h100"];
const TEXTS: [&str; 3] = ["models/index.json", "transfer.json", "calibration.json"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    for profile in PROFILES {
        for name in TEXTS {
            let path = Path::new("profiles").join(profile).join(name);
            println!("cargo::rerun-if-changed={}", path.display());
            let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&text)?;
            let to = Path::new(&out).join(profile).join(name);
            fs::create_dir_all(to.parent().ok_or("a file stands in a folder")?)?;
            fs::write(to, packed.finish()?)?;
        }
    }
    Ok(())
}
