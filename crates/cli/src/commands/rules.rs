//! `sparsight rules`: decision rules about a matrix, as source code for a library.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::name_prefixes::NamePrefixes;
use crate::text::{described, matrices, percent, shown};
use serde::Serialize;
use sparsight::answer::Answer;
use sparsight::kernels::{Candidate, catalogue_on};
use sparsight::matrix::display_as_serialized;
use sparsight::profile::{Missing, ProfileFolder};
use sparsight::records::CorpusRecord;
use sparsight::{Error, Profile};
use sparsight_lab::answer::{JudgedRules, RulesAnswer};
use sparsight_lab::rules::{Language, Rules as Learned};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Print decision rules as source code, learned from a profile
///
/// The rules are nested ifs over features that follow from the row offsets alone, learned from the measured matrices of the profile.
/// Prints a function that gives the id of the candidate to run (`sparsight kernels --source ID` prints its kernel), with what
/// choosing so costs on matrices that it was not learned from. Nothing is run.
#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    /// Folder of the profile
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Candidates to choose from: cusparse (its CSR, COO and sliced ELL), csr (our kernels for CSR as it is) or all of ours except BSR and
    /// DIA, whose feasibility does not follow from the row offsets
    #[arg(long, value_name = "SET", default_value = "all")]
    candidates: Set,
    /// Most leaves of the tree
    #[arg(long, value_name = "N", default_value = "8", value_parser = leaves)]
    leaves: NonZeroUsize,
    /// Language of the source: hpp (C++), c, py or rs; or json, the tree as in --json
    #[arg(long, value_name = "LANGUAGE", default_value = "hpp")]
    format: Form,
    /// Matrices to learn from, by the start of their names, such as a/,b/; the others are the test set [default: those of `lab fit
    /// --train`]
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    train: Vec<String>,
}

/// Most leaves that can be asked for: more are no rules to read. Chosen.
const MOST_LEAVES: usize = 256;

fn leaves(text: &str) -> Result<NonZeroUsize, String> {
    let count = text.parse().ok().filter(|count: &NonZeroUsize| count.get() <= MOST_LEAVES);
    count.ok_or_else(|| format!("'{text}' is not a number of leaves from 1 to {MOST_LEAVES}"))
}

/// Output language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text(Language),
    Json,
}

impl Form {
    /// The language of the text, which the JSON answer holds, too.
    fn language(self) -> Language {
        match self {
            Self::Text(language) => language,
            Self::Json => Language::Hpp,
        }
    }
}

impl FromStr for Form {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "json" {
            return Ok(Self::Json);
        }
        text.parse().map(Self::Text).map_err(|why: String| format!("{why}, json"))
    }
}

/// Candidates to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Set {
    Cusparse,
    Csr,
    All,
}

display_as_serialized!(Set);

impl Set {
    /// Returns true if rules may choose the candidate; never for blocks and diagonals, of which row offsets tell nothing.
    fn holds(self, candidate: &Candidate) -> bool {
        let (vendors, format) = (candidate.kernel.is_vendors(), candidate.format());
        match self {
            Self::Cusparse => vendors && format.name() != "bcsr",
            Self::Csr => !vendors && format.is_csr(),
            Self::All => !vendors && !["bsr", "dia"].contains(&format.name()),
        }
    }
}

impl Rules {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let folder = ProfileFolder::open(&self.folder)?;
        let device = folder.device()?;
        let path = self.folder.display().to_string();
        if device.provenance.source.is_some() {
            return Err(Error::Lacking { profile: path, missing: Missing::OfElsewhere }.into());
        }
        let corpus = folder.measured()?;
        let train = match &self.train[..] {
            [] => {
                Profile::load(&self.folder).map_or(Vec::new(), |profile| profile.models.index.train.clone())
            }
            given => given.to_vec(),
        };
        let train = NamePrefixes::new(&train);
        let (known, others): (Vec<&CorpusRecord>, Vec<&CorpusRecord>) =
            corpus.iter().partition(|record| train.accept(&record.matrix));
        if known.is_empty() && !corpus.is_empty() {
            let text = format!("{}: no matrix of the corpus to learn rules from", self.folder.display());
            return Err(Failure::input(text).hinted(NamePrefixes::hint(&corpus)));
        }
        let candidates: Vec<Candidate> = catalogue_on(device.facts.kind, dtype)
            .filter(|candidate| self.candidates.holds(candidate))
            .collect();
        if candidates.is_empty() {
            let (set, on) = (self.candidates, described(&device.facts));
            let text = format!("--candidates {set}: none of these runs on {on}");
            return Err(
                Failure::input(text).hinted("`--candidates csr` and `--candidates all` are kernels of ours")
            );
        }
        let learned = Learned::learn(&path, known.iter().copied(), &candidates, self.leaves.get())?;
        let of = |records: &[&CorpusRecord]| learned.judge(records.iter().copied());
        let judged = of(&others).map(|quality| JudgedRules { seen: false, quality });
        let judged = judged.or_else(|| of(&known).map(|quality| JudgedRules { seen: true, quality }));
        let judged = judged.ok_or_else(|| Failure::input("no matrix to judge the rules by"))?;
        let date = device.provenance.date.clone();
        let heading = self.heading((&device.facts.name, &date), &learned, &judged);
        let name = format!("{}-{}", folder.name(), self.candidates);
        let text = learned.text(self.format.language(), &name, &heading);
        let of = [folder.name(), device.facts.name.clone(), date];
        let answer = RulesAnswer::of(of, &learned, judged, text);
        context.printer.answer(&answer, || match self.format {
            Form::Text(_) => context.printer.line(answer.text.trim_end()),
            Form::Json => context.printer.line(answer.to_json()),
        })
    }

    fn heading(&self, (device, date): (&str, &str), learned: &Learned, judged: &JudgedRules) -> String {
        let profile = shown(&self.folder.display().to_string());
        let (device, date) = (shown(device), shown(date));
        let (set, leaves, dtype) = (self.candidates, self.leaves, learned.dtype);
        let JudgedRules { seen, quality } = judged;
        let language = match self.format.language() {
            Language::Hpp => String::new(),
            other => format!(" --format {other}"),
        };
        let train = if self.train.is_empty() {
            String::new()
        } else {
            let names = self.train.join(",");
            format!(" --train {}", if names.is_empty() { "''".to_owned() } else { shown(&names) })
        };
        let on =
            if *seen { "which it was learned from: on others it costs more" } else { "that it has not seen" };
        format!(
            "y = A x in {dtype} on {device}: which of {} candidates to run. By its profile of {date}.\n\
             Made by `sparsight rules {profile} --candidates {set} --leaves {leaves} --dtype {dtype}{train}{language}`, from {}.\n\
             On {} {on}: {} slower than the best of these candidates on average\n\
             (geometric mean), within 5 % of it on {}, at worst {:.2} times as slow.",
            learned.candidates.len(),
            matrices(learned.matrices),
            matrices(quality.count),
            percent(quality.mean_ratio - 1.0),
            percent(quality.within_5_percent),
            quality.worst_ratio,
        )
    }
}
