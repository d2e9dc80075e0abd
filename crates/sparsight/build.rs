//! Packs the shipped profiles into one file, `sparsight-profiles.tar`, which is compiled in or installed beside what needs it: see
//! `files/profiles_file.rs`.
//!
//! ```text
//! VERSION                                          schema, version, checksum of all that follows, length of the file
//! profiles/nvidia-h200/models/index.json.gz        text, packed here
//! profiles/nvidia-h200/models/strip.gz ...         as in the repository: the models that `best` asks
//! profiles/nvidia-h200/calibration.json.gz         text, packed here
//! ```

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use std::error::Error;
use std::io::{Read, Write};
use std::path::Path;
use std::{env, fs};

/// What is named here has to stand in `include` of the crate's Cargo.toml: `profiles` is a link to the folder at the root.
const PROFILES: [&str; 2] = ["nvidia-h200", "nvidia-h100"];
const TEXTS: [&str; 2] = ["models/index.json", "calibration.json"];
/// Files of `models/`: those that `best` asks. The others are in the repository.
const MODELS: [&str; 7] = [
    "strip.gz",
    "strip-cache.gz",
    "strip-uniform.gz",
    "strip-normal.gz",
    "boosting.gz",
    "comparison.gz",
    "surroundings.gz",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    // Of the content, not of how it was packed: another version of zlib-rs packs otherwise.
    let mut checksum = Crc::new();
    let mut add = |name: String, content: &[u8], stored: Vec<u8>| {
        checksum.update(name.as_bytes());
        checksum.update(content);
        files.push((name, stored));
    };
    for profile in PROFILES {
        let folder = Path::new("profiles").join(profile);
        for name in TEXTS {
            let text = text(&folder.join(name))?;
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&text)?;
            add(format!("profiles/{profile}/{name}.gz"), &text, packed.finish()?);
        }
        for name in MODELS {
            let model = read(&folder.join("models").join(name))?;
            add(format!("profiles/{profile}/models/{name}"), &model, model.clone());
        }
    }
    let version = format!("sparsight/profiles/1 {} {:08x}", env::var("CARGO_PKG_VERSION")?, checksum.sum());
    // Each with a head of one block, and two blocks at the end.
    let blocks = files.iter().map(|(_, bytes)| 1 + bytes.len().div_ceil(512)).sum::<usize>() + 2 + 2;
    let first = ("VERSION".to_owned(), format!("{version} {}\n", 512 * blocks).into_bytes());
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in [first].iter().chain(&files) {
        let mut head = tar::Header::new_gnu();
        head.set_size(bytes.len() as u64);
        head.set_mode(0o644);
        tar.append_data(&mut head, name, &bytes[..])?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("sparsight-profiles.tar"), tar.into_inner()?)?;
    println!("cargo::rustc-env=SPARSIGHT_PROFILES_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// The text of a file, or of what stands under its name with `.gz` behind. Both together are ambiguous.
fn text(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let (plain, gz) = (path.display().to_string(), format!("{}.gz", path.display()));
    if path.exists() && Path::new(&gz).exists() {
        return Err(format!(
            "{plain} and {gz} are both there: pack the newer one (`gzip -9n`), or remove one"
        )
        .into());
    }
    if path.exists() {
        return read(path);
    }
    let mut bytes = Vec::new();
    let unpacked = MultiGzDecoder::new(&read(Path::new(&gz))?[..]).read_to_end(&mut bytes);
    unpacked.map_err(|error| format!("{gz}: {error}"))?;
    Ok(bytes)
}

fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    // The folder, too: of a text that is packed or not the other one may come.
    println!("cargo::rerun-if-changed={}", path.parent().unwrap_or(path).display());
    Ok(fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?)
}
