//! Flags that several commands share.

use crate::failure::Failure;
use crate::printer::{PrintFlags, Printer};
use crate::text::words;
use sparsight::Objective;
use sparsight::kernels::{BLOCKS, Candidate, DeviceKind, Kernel, Selection, every_candidate_on};
use sparsight::matrix::{Bytes, Dtype, suggested};
use sparsight::model::{PlacementRule, RowLengthRule};
use sparsight::models::ModelName;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::num::{NonZeroU64, NonZeroUsize};

/// Flags of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Global {
    /// Value type, f32 or f64 [default: f64; for lab profile and lab measure: both]
    #[arg(long, global = true, value_name = "TYPE", value_parser = dtype)]
    pub(crate) dtype: Option<Dtype>,
    /// Rows of a ranking to show [default: 10; with --json: all]
    #[arg(long, global = true, value_name = "N", value_parser = from_1, allow_negative_numbers = true)]
    pub(crate) top: Option<NonZeroUsize>,
    /// Seed of x and of --values random
    #[arg(long, global = true, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Worker threads [default: one a logical CPU]
    #[arg(short, long, global = true, value_name = "N", value_parser = from_1, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) printing: PrintFlags,
}

/// A whole number from 1 on.
fn from_1(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number from 1 on"))
}

/// Value type of the matrix and its vectors; mixed precision, where they differ, is requested with `--values`.
fn dtype(text: &str) -> Result<Dtype, String> {
    let found = Dtype::ALL.into_iter().find(|dtype| dtype.to_string() == text);
    found.ok_or_else(|| format!("unknown value type '{text}': f32 or f64"))
}

/// Flags of the model, and of what represents columns and row lengths in it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ModelFlags {
    /// Model that predicts: strip (of the papers), strip-uniform or strip-normal (the same, from benchmark matrices with
    /// such row lengths), strip-cache (with a second regime beyond the L2), boosting, linear or neighbours (learned from
    /// measured matrices), or best (for each kernel the learned model that is best in cross-validation; without one
    /// strip-cache, on a CPU strip) [default: best]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<ModelName>,
    /// Benchmark matrices that represent the columns, in strip models: banded (next to the diagonal), scattered (anywhere) or
    /// blend (of both, by how much of x is found in the cache)
    #[arg(long, value_name = "RULE", default_value = "blend", value_parser = placement)]
    pub(crate) placement: PlacementRule,
    /// Statistic that represents the row lengths, in strip models: mode, max, mean, median, p5, p25, p75, p90, p95, p99,
    /// or paper, for csr-vector the mode and for one thread per row the maximum
    #[arg(long, value_name = "STATISTIC", default_value = "paper")]
    pub(crate) row_length: RowLengthRule,
}

impl ModelFlags {
    /// The model asked for, else `best`.
    pub(crate) fn model(self) -> ModelName {
        self.model.unwrap_or(ModelName::Best)
    }

    /// The objective for an advisor, for `products` products to come.
    pub(crate) fn objective(self, products: Option<NonZeroU64>) -> Objective {
        let Self { model, placement, row_length } = self;
        Objective {
            products: products.map(NonZeroU64::get),
            model,
            placement,
            row_length,
            ..Objective::default()
        }
    }
}

/// A kernel or a candidate of the catalogue, in any form in which an answer prints it.
pub(crate) fn kernel(text: &str) -> Result<Selection, String> {
    text.parse().map_err(|_| unknown("kernel", text, Kernel::all(), Kernel::name))
}

/// Returns whether `text` names an item of the catalogue, with its knobs or without.
pub(crate) fn names(text: &str, short: &str, item: impl Display) -> bool {
    text == short || text == item.to_string()
}

/// `text` with slashes, if it names one of `all`; else the names of all.
pub(crate) fn catalogued<T: Copy + Display>(
    what: &str,
    text: &str,
    all: impl Iterator<Item = T> + Clone,
    short: fn(T) -> &'static str,
) -> Result<String, String> {
    let words: Vec<&str> = text.split([' ', '/']).filter(|word| !word.is_empty()).collect();
    let id = words.join("/");
    if all.clone().any(|item| names(&id, short(item), item)) {
        Ok(id)
    } else {
        Err(unknown(what, text, all, short))
    }
}

/// The error for an unknown name, with the known ones and the one that may be meant.
fn unknown<T: Copy + Display>(
    what: &str,
    text: &str,
    all: impl Iterator<Item = T> + Clone,
    short: fn(T) -> &'static str,
) -> String {
    let typed = words(text).to_ascii_lowercase();
    let known: Vec<String> = all.clone().map(words).collect();
    let shorts: Vec<&str> = all.map(short).collect();
    let names = || known.iter().map(String::as_str);
    let there_are = format!("there are {}", known.join(", "));
    let begun = beginning(&typed, shorts.iter().copied()).or_else(|| beginning(&typed, names()));
    let meant = match begun {
        Some(begun) => format!("did you mean {begun}? {there_are}"),
        None => suggested(&typed, names().chain(shorts), there_are),
    };
    format!("unknown {what} '{text}': {meant}")
}

/// The names that begin with what was typed, `csr-scalar or csr-vector`; `None` if none does. Equal ones follow each other.
fn beginning<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut names: Vec<&str> = names.filter(|name| !typed.is_empty() && name.starts_with(typed)).collect();
    names.dedup();
    let last = names.pop()?;
    Some(if names.is_empty() { last.to_owned() } else { format!("{} or {last}", names.join(", ")) })
}

/// Flags that select a part of the catalogue.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KernelFlags {
    /// Kernels to consider, as any answer prints them: ell, "csr-vector t8", cusparse-csr; a candidate such as
    /// "csr-vector t8 b256" or csr-vector/t8/b256/f64 selects that one alone [default: all]
    #[arg(long = "kernel", value_name = "NAME", value_delimiter = ',', value_parser = kernel)]
    pub(crate) kernels: Vec<Selection>,
    /// Block sizes to consider; the vendor's routines, which have none, are included if they are named [default: all]
    #[arg(long = "block", value_name = "THREADS", value_delimiter = ',', value_parser = block)]
    pub(crate) blocks: Vec<u32>,
}

/// A block size of the catalogue.
pub(crate) fn block(text: &str) -> Result<u32, String> {
    // Of a candidate's name it may be b256.
    let digits = text.strip_prefix('b').unwrap_or(text);
    let found = BLOCKS.into_iter().find(|block| block.to_string() == digits);
    found.ok_or_else(|| format!("block sizes are {}", BLOCKS.map(|block| block.to_string()).join(", ")))
}

impl KernelFlags {
    /// The candidates of one value type that devices of that kind have; an error if there are none among those named.
    pub(crate) fn candidates(&self, kind: DeviceKind, dtype: Dtype) -> Result<Vec<Candidate>, Failure> {
        let named = |c: &Candidate| self.kernels.iter().any(|k| k.selects(c));
        // Kernels that are not ranked are included where their knobs are named, or their family if none of it is ranked.
        let is_unranked =
            |k: &Selection| Kernel::all().filter(|one| k.names(*one)).all(|one| !one.is_ranked_on(kind));
        let of_old = |kernel: Kernel| self.kernels.iter().any(|k| k.is_exactly(kernel) || is_unranked(k));
        let is_left = |c: &Candidate| c.kernel.is_ranked_on(kind) || of_old(c.kernel);
        let kernel = |c: &Candidate| (self.kernels.is_empty() || named(c)) && is_left(c);
        let block = |c: &Candidate| {
            let asked = self.blocks.is_empty() || self.blocks.contains(&c.block);
            asked || c.kernel.is_vendors() && named(c)
        };
        let found: Vec<_> = every_candidate_on(kind, dtype).filter(|c| kernel(c) && block(c)).collect();
        if found.is_empty() {
            let names: Vec<String> = self.kernels.iter().map(ToString::to_string).collect();
            let names = names.join(", ");
            if !every_candidate_on(kind, dtype).any(|c| kernel(&c)) {
                return Err(Failure::input(format!("{names} does not run on a CPU"))
                    .hinted("`sparsight kernels --device cpu` lists what does"));
            }
            let of_kernel = every_candidate_on(kind, dtype).filter(kernel).map(|c| c.block);
            let blocks: BTreeSet<u32> = of_kernel.filter(|&block| block > 0).collect();
            let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
            return Err(Failure::input(format!("{names} has no such block size"))
                .hinted(format!("it runs in blocks of {} threads", blocks.join(", "))));
        }
        Ok(found)
    }

    /// Notes that the value type in a candidate's name is ignored if it is not the requested one.
    pub(crate) fn note_value_types(&self, asked: &[Dtype], printer: &Printer) {
        let others = self.kernels.iter().filter_map(|name| Some((name, name.dtype()?)));
        for (name, dtype) in others.filter(|(_, dtype)| !asked.contains(dtype)) {
            let flag =
                if dtype == Dtype::Mixed { "--values f32".to_owned() } else { format!("--dtype {dtype}") };
            let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
            printer.note(format_args!(
                "{name} is evaluated in {}; use `{flag}` for {dtype}",
                asked.join(" and ")
            ));
        }
    }
}

/// A [`PlacementRule`] from its name.
pub(crate) fn placement(text: &str) -> Result<PlacementRule, String> {
    match text {
        "banded" => Ok(PlacementRule::Banded),
        // As profiles and JSON say.
        "scattered" | "strewn" => Ok(PlacementRule::Scattered),
        "blend" => Ok(PlacementRule::Blend),
        _ => Err(format!("unknown rule '{text}': banded, scattered or blend")),
    }
}

/// A size such as `64MB`, `1.5 GB` or `4096`; prefixes are decimal, with an `i` binary.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    let wrong = || format!("'{text}' is not a size such as 64MB, 1.5GB or 4096");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let scale = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "tb" | "t" => 1e12,
        "kib" => f64::from(1 << 10),
        "mib" => f64::from(1 << 20),
        "gib" => f64::from(1 << 30),
        _ => return Err(wrong()),
    };
    let bytes = number * scale;
    if bytes.is_finite() && bytes >= 1.0 { Ok(Bytes(bytes as u64)) } else { Err(wrong()) }
}

/// A number of products: `1000`, `1e6`, `1,000,000` or `1_000_000`.
pub(crate) fn products(text: &str) -> Result<NonZeroU64, String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | '_')).collect();
    let in_words = digits.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && (1.0..=1e18).contains(n));
    let number = digits.parse::<u64>().ok().or(in_words.map(|n| n as u64));
    number
        .and_then(NonZeroU64::new)
        .ok_or_else(|| format!("'{text}' is not a number of products such as 1000 or 1e6"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendors_routines_are_selected_by_their_own_names_alone() {
        let ids = |kernels: &[&str], blocks: &[u32], kind| {
            let kernels = kernels.iter().map(|name| kernel(name).unwrap()).collect();
            let flags = KernelFlags { kernels, blocks: blocks.to_vec() };
            let found = flags.candidates(kind, Dtype::F32).ok()?;
            Some(found.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let both = vec!["cusparse-csr/a1/f32".to_owned(), "cusparse-csr/a2/f32".to_owned()];
        assert_eq!(ids(&["cusparse-csr"], &[], DeviceKind::Cuda), Some(both.clone()));
        assert_eq!(ids(&["cusparse-csr"], &[64], DeviceKind::Cuda), Some(both.clone()));
        assert_eq!(ids(&["cusparse-csr/a2"], &[], DeviceKind::Cuda), Some(both[1..].to_vec()));
        assert_eq!(ids(&["cusparse-csr"], &[], DeviceKind::Cpu), None);
        let ours = ids(&["csr-scalar", "csr-vector"], &[], DeviceKind::Cuda).unwrap();
        assert!(ours.len() == 30 && !ours.iter().any(|id| id.starts_with("cusparse")), "{ours:?}");
        let small = ids(&[], &[64], DeviceKind::Cuda).unwrap();
        assert!(small.iter().all(|id| id.ends_with("/b64/f32")), "{small:?}");
        let csr = kernel("csr").unwrap_err();
        let meant =
            "did you mean csr-scalar, csr-vector, csr-balanced, csr-binned or csr-segmented? there are ";
        assert!(csr.starts_with(&format!("unknown kernel 'csr': {meant}")), "{csr}");
        let upper = kernel("CSR").unwrap_err();
        assert!(upper.starts_with(&format!("unknown kernel 'CSR': {meant}")), "{upper}");
        let shape = kernel("sell/c512").unwrap_err();
        assert!(shape.contains("did you mean sell c512 s2048? there are "), "{shape}");
        assert!(kernel("").unwrap_err().starts_with("unknown kernel '': there are "));
        for pasted in [
            "csr-vector t8 b256",
            "csr-vector/t8/b256",
            "csr-vector/t8/b256/f64",
            "csr-vector t8 b256 (f32 values)",
        ] {
            assert_eq!(
                ids(&[pasted], &[], DeviceKind::Cuda),
                Some(vec!["csr-vector/t8/b256/f32".to_owned()])
            );
        }
        assert_eq!(ids(&["cusparse-csr a2 (vendor)"], &[], DeviceKind::Cuda), Some(both[1..].to_vec()));
        assert_eq!(ids(&["csr-vector t8 b256"], &[64], DeviceKind::Cuda), None);
        assert_eq!((block("b256"), block("256")), (Ok(256), Ok(256)));
    }

    #[test]
    fn sizes_are_read_with_their_prefixes() {
        assert_eq!(size("64MB"), Ok(Bytes(64_000_000)));
        assert_eq!(size("1.5 GiB"), Ok(Bytes(3 << 29)));
        assert_eq!(size("4096"), Ok(Bytes(4096)));
        for wrong in ["", "MB", "-1", "1 parsec", "0", "nan", "1e400"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn products_are_read_as_people_write_them() {
        let read = |text: &str| products(text).map(NonZeroU64::get);
        for text in ["1000000", "1e6", "1,000,000", "1_000_000", "1E6"] {
            assert_eq!(read(text), Ok(1_000_000));
        }
        for wrong in ["0", "-1", "1.5", "1e30", "many", "", "nan", "1e-3"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
