//! Flags: what every command shares, and the list of commands.

use crate::commands::{
    advise::Advise, bench::Bench, calibrate::Calibrate, compare::Compare, completions::Completions,
    evaluate::Evaluate, fit::Fit, gallery::Gallery, info::Info, kernels::Kernels, measure::Measure,
    plan::Plan, predict::Predict, profile::Profile, repair::Repair, report::Report, rules::Rules,
    transfer::Transfer,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::text::words;
use clap::{Parser, Subcommand, ValueEnum};
use sparsight::Objective;
use sparsight::kernels::{BLOCKS, Candidate, DeviceKind, Kernel, Selection, every_candidate_on};
use sparsight::matrix::{Bytes, Dtype, suggested};
use sparsight::model::{PlacementRule, RowLengthRule};
use sparsight::models::ModelName;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::num::{NonZeroU64, NonZeroUsize};
use std::str::FromStr;

/// How fast y = A x will be on a GPU in every storage format, kernel and block size, before anything is run.
#[derive(Debug, Parser)]
#[command(name = "sparsight", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A paragraph a line: clap breaks lines for the terminal.
const AFTER_HELP: &str = "\
A matrix is a file (.mtx, SuiteSparse .tar, both also with .gz, .xz, .bz2 or .zst, .npz of scipy.sparse; of any other name its \
content tells), a folder of them, - for standard input, gallery:NAME[,key=value...], or GROUP/NAME of the SuiteSparse collection \
(https://sparse.tamu.edu) whose file is here; with derived:STEPS: before it one made from it (unknowns=B, layers=L, transpose, rcm, \
shuffle=SEED, with commas between).

A device is cpu, cuda[:N], M multiprocessors of it cuda[:N]/smM, the name or folder of a profile such as nvidia-h200, or a data \
sheet NAME.toml (docs/profile-format.md). A GPU without a profile is calibrated.

  sparsight advise gallery:stencil2d,n=1000
  sparsight advise A.mtx --iterations 1000
  sparsight advise A.mtx --device cpu --verify";

/// Flags of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Global {
    /// Value type, f32 or f64 [default: f64; for profile and measure: both]
    #[arg(long, global = true, value_name = "TYPE", value_parser = dtype)]
    pub(crate) dtype: Option<Dtype>,
    /// Print one JSON object instead of a table
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Rows of a ranking to show [default: 10; with --json: all]
    #[arg(long, global = true, value_name = "N", value_parser = from_1)]
    pub(crate) top: Option<NonZeroUsize>,
    /// Seed of x and of --values random
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Errors only on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// More on stderr about what is done and why
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
    /// Worker threads [default: one a logical CPU]
    #[arg(short, long, global = true, value_name = "N", value_parser = from_1)]
    pub(crate) jobs: Option<NonZeroUsize>,
}

/// A number of which there has to be one.
fn from_1(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number from 1 on"))
}

/// What a matrix and its vectors are; in mixed precision they differ, which is asked for with `--values`.
fn dtype(text: &str) -> Result<Dtype, String> {
    let found = Dtype::ALL.into_iter().find(|dtype| dtype.to_string() == text);
    found.ok_or_else(|| format!("unknown value type '{text}': f32 or f64"))
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless the environment says otherwise (`NO_COLOR`)
    Auto,
    Always,
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Advise(Advise),
    Compare(Compare),
    Predict(Predict),
    Plan(Plan),
    Bench(Bench),
    Calibrate(Calibrate),
    Profile(Profile),
    Measure(Measure),
    Fit(Fit),
    Repair(Repair),
    Report(Report),
    Rules(Rules),
    Evaluate(Evaluate),
    Transfer(Transfer),
    Info(Info),
    /// What is here: processors, CUDA devices or why there are none, profiles
    Devices,
    Kernels(Kernels),
    Gallery(Gallery),
    Completions(Completions),
}

impl Command {
    /// Whether values that a file does not store are drawn at random.
    pub(crate) fn random_values(&self) -> bool {
        match self {
            Self::Advise(command) => command.values.random(),
            Self::Plan(command) => command.values.random(),
            Self::Bench(command) => command.values.random(),
            Self::Measure(command) => command.values.random(),
            _ => false,
        }
    }
}

/// Which model, and what stands for the columns and the row lengths.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ModelFlags {
    /// Model that predicts: strip (the papers'), strip-uniform or strip-normal (the same, from benchmark matrices with
    /// such row lengths), strip-cache (with a second regime beyond the L2), boosting, linear or neighbours (learned from
    /// measured matrices) or best (for each kernel the learned one that cross-validation found best, where nothing was
    /// learned strip-cache, for a cpu strip) [default: best]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<ModelName>,
    /// Benchmark matrices that stand for the columns, in strip models: banded (next to the diagonal), scattered (anywhere) or
    /// blend (of both, by how much of x is found in the cache)
    #[arg(long, value_name = "RULE", default_value = "blend", value_parser = placement)]
    pub(crate) placement: PlacementRule,
    /// Statistic that stands for the row lengths, in strip models: mode, max, mean, median, p5, p25, p75, p90, p95, p99,
    /// or paper, for csr-vector the mode and for one thread per row the maximum
    #[arg(long, value_name = "STATISTIC", default_value = "paper")]
    pub(crate) row_length: RowLengthRule,
}

impl ModelFlags {
    /// The model asked for, else `best`.
    pub(crate) fn model(self) -> ModelName {
        self.model.unwrap_or(ModelName::Best)
    }

    /// What is asked of an advisor, with as many products to come.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelName(Selection);

impl KernelName {
    /// Whether the kernel is called so.
    pub(crate) fn names(&self, kernel: Kernel) -> bool {
        self.0.names(kernel)
    }

    /// What of the name says nothing of a kernel, for whoever looks at kernels alone.
    pub(crate) fn beyond_the_kernel(&self) -> bool {
        self.0.block().is_some() || self.0.dtype().is_some()
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for KernelName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| unknown("kernel", text, Kernel::all(), Kernel::name))
    }
}

/// Whether `text` is the name of an item of the catalogue, with its knobs or without.
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

/// What there is instead, and which of it was meant.
fn unknown<T: Copy + Display>(
    what: &str,
    text: &str,
    all: impl Iterator<Item = T> + Clone,
    short: fn(T) -> &'static str,
) -> String {
    let known: Vec<String> = all.clone().map(words).collect();
    let names = known.iter().map(String::as_str).chain(all.map(short));
    let there_are = format!("there are {}", known.join(", "));
    format!("unknown {what} '{text}': {}", suggested(&words(text), names, there_are))
}

/// Which part of the catalogue.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KernelFlags {
    /// Kernels to look at, as any answer prints them: ell, "csr-vector t8", cusparse-csr; a candidate such as
    /// "csr-vector t8 b256" or csr-vector/t8/b256/f64 is looked at alone [default: all]
    #[arg(long = "kernel", value_name = "NAME", value_delimiter = ',')]
    pub(crate) kernels: Vec<KernelName>,
    /// Block sizes to look at; the vendor's routines, which have none, are looked at if they are named [default: all]
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
        let named = |c: &Candidate| self.kernels.iter().any(|k| k.0.selects(c));
        // What is retired is looked at where its knobs are named, too.
        let of_old = |kernel: Kernel| self.kernels.iter().any(|k| k.0.is_exactly(kernel));
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

    /// Says where a value type was pasted along that is not the one asked for: it selects nothing.
    pub(crate) fn note_value_types(&self, asked: &[Dtype], context: &Context) {
        let others = self.kernels.iter().filter_map(|name| Some((name, name.0.dtype()?)));
        for (name, dtype) in others.filter(|(_, dtype)| !asked.contains(dtype)) {
            let flag =
                if dtype == Dtype::Mixed { "--values f32".to_owned() } else { format!("--dtype {dtype}") };
            let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
            context.printer.note(format_args!(
                "{name} is looked at in {}; `{flag}` asks for {dtype}",
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
    let wrong = || format!("'{text}' is no size such as 64MB, 1.5GB or 4096");
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }

    /// Where `SPARSIGHT_MAN` names a folder, the man pages are there afterwards, for whoever packages the program. Not a command of
    /// the program: what writes them would make it larger by 0.14 MB.
    #[test]
    fn every_command_has_a_man_page() {
        let own = tempfile::tempdir().unwrap();
        let folder =
            std::env::var_os("SPARSIGHT_MAN").map_or(own.path().to_owned(), std::path::PathBuf::from);
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = Args::command();
        command.build();
        let names =
            command.get_subcommands().map(|of| of.get_name().to_owned()).filter(|name| name != "help");
        let names: Vec<String> = names.collect();
        clap_mangen::generate_to(command, &folder).unwrap();
        let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        assert!(page("sparsight").contains("sparsight\\-advise(1)"), "{}", page("sparsight"));
        assert!(names.len() > 15, "{names:?}");
        for name in names {
            let page = page(&format!("sparsight-{name}"));
            assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{name}: {page}");
        }
    }

    #[test]
    fn the_vendors_routines_are_selected_by_their_own_names_alone() {
        let ids = |kernels: &[&str], blocks: &[u32], kind| {
            let kernels = kernels.iter().map(|name| name.parse().unwrap()).collect();
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
        assert!("csr".parse::<KernelName>().is_err());
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
}
