//! Tables of `lab evaluate`.

use super::Group;
use super::summary::name_of;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::table::Table;
use crate::text::{BOLD, candidate, described, matrices, percent, words};
use sparsight::Profile;
use sparsight::matrix::Dtype;
use sparsight::model::PlacementRule;
use sparsight_lab::evaluate::{
    AccuracyRow, Baseline, ChoiceRow, Chooser, ClassRow, Evaluation, Miss, Scope, VendorRow, WinsRow,
};
use std::fmt::Display;

/// An evaluation and how to show it.
pub(super) struct Tables<'e> {
    pub(super) evaluation: &'e Evaluation,
    pub(super) by: Group,
    pub(super) out: Titled<'e>,
}

/// Output of tables with titles.
pub(super) struct Titled<'p> {
    pub(super) markdown: bool,
    pub(super) out: &'p Printer,
}

impl Titled<'_> {
    /// Prints a table; nothing for one without rows.
    pub(super) fn table(&self, title: &str, table: &Table) -> Result<(), Failure> {
        if table.is_empty() {
            return Ok(());
        }
        if self.markdown {
            self.line(format!("**{title}**\n"))?;
            self.line(table.markdown())?;
        } else {
            self.line(format!("{BOLD}{title}{BOLD:#}"))?;
            self.line(table)?;
        }
        self.line("")
    }

    pub(super) fn line(&self, text: impl Display) -> Result<(), Failure> {
        self.out.line(text)
    }
}

impl Tables<'_> {
    pub(super) fn print(&self, profile: &Profile) -> Result<(), Failure> {
        let Evaluation {
            rows, formats, classes, choices, beside_vendor, wins, misses, matrices: counts, ..
        } = self.evaluation;
        for (&dtype, &counts) in counts {
            for scope in [Scope::All, Scope::BeyondLaunch, Scope::LikeBenchmarks] {
                let table = match self.by {
                    Group::Kernel => errors("<kernel", rows, dtype, scope),
                    Group::Format => errors("<format", formats, dtype, scope),
                };
                let device = described(&profile.device.facts);
                self.out.table(&format!("{device}, {dtype}, {}", counted(scope, counts)), &table)?;
            }
            let title = format!("Errors of best by how long a product takes, {dtype}");
            self.out.table(&title, &self::classes(classes.iter().filter(|r| r.dtype == dtype)))?;
            let title = format!("What the first-ranked candidate costs, {dtype}");
            self.out.table(&title, &self::choices(choices.iter().filter(|r| r.dtype == dtype)))?;
            let title = format!("Time of the vendor's fastest routine over that of ours, {dtype}");
            let of_dtype = beside_vendor.iter().filter(|r| r.dtype == dtype);
            self.out.table(&title, &self::beside_vendor(of_dtype))?;
            let title = format!("Which strip model is nearest, {dtype}");
            self.out.table(&title, &self::wins(wins.iter().filter(|r| r.dtype == dtype)))?;
            let title = format!("Worst predicted, {dtype}");
            self.out.table(&title, &worst(misses.iter().filter(|m| m.dtype == dtype)))?;
        }
        self.notes()
    }

    fn notes(&self) -> Result<(), Failure> {
        for (model, &count) in &self.evaluation.trained_on {
            let tested = self.evaluation.rows.iter().any(|r| r.model == *model);
            let count = matrices(count);
            self.out.line(if tested {
                format!("{model}: without {count} that it was trained on")
            } else {
                format!("{model}: not evaluated, it was trained on all of these matrices ({count})")
            })?;
        }
        let of_errors = [
            "in the 90 % interval: of matrices that the intervals were not calibrated with",
            "error: |predicted - measured| / measured over matrices and block sizes",
        ];
        let of_choices = [
            "best / chosen: geometric mean of the best measured time over that of the first-ranked candidate",
            "recommended: what `advise` names to use: of those that are as good the one that is soonest ready",
            "not possible, no time: matrices whose first-ranked candidate is refused or has no time; the next one counts, of recommended none",
            "csr-by-mean: csr-vector with the power of two nearest to the mean row length, csr-scalar below 2; b256",
            "ell-rule: ell if the longest row is below 3 times the mean and it fits, else csr-by-mean; b256",
            "best-single: the best fixed choice, known only afterwards",
        ];
        let of_choices = of_choices.iter().filter(|_| !self.evaluation.choices.is_empty());
        of_errors.iter().chain(of_choices).try_for_each(|note| self.out.line(note))?;
        if !self.evaluation.wins.is_empty() {
            self.out
                .line("wins: matrices on which the model alone has the least mean error over block sizes")?;
        }
        Ok(())
    }
}

/// The matrices that a table of errors counts, and their number.
pub(super) fn counted(scope: Scope, (all, beyond): (usize, usize)) -> String {
    match scope {
        Scope::All => matrices(all),
        Scope::BeyondLaunch => format!("{beyond} of {} beyond twice the launch cost", matrices(all)),
        Scope::LikeBenchmarks => {
            "matrices of two strips or more whose longest row is at most twice the mean".to_owned()
        }
    }
}

/// Group by group, the models below each other.
fn errors<G: Ord + Copy + Display>(
    group: &str,
    rows: &[AccuracyRow<G>],
    dtype: Dtype,
    scope: Scope,
) -> Table {
    let mut rows: Vec<_> = rows.iter().filter(|r| r.dtype == dtype && r.scope == scope).collect();
    rows.sort_by_key(|r| (r.of, r.model));
    let columns = [
        group,
        "<model",
        "<columns",
        "<row length",
        "times",
        "mean",
        "median",
        "90th percentile",
        "worst",
        "in the 90 % interval",
    ];
    let mut table = Table::new(&columns);
    for r in &rows {
        table.row([
            words(r.of),
            r.model.to_string(),
            rule(r.placement).to_owned(),
            r.row_length.to_string(),
            r.error.count.to_string(),
            percent(r.error.mean),
            percent(r.error.median),
            percent(r.error.p90),
            percent(r.error.worst),
            r.covered.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    table
}

/// The rows that `keep` accepts, by who chose.
pub(super) fn choices_by(
    rows: &[ChoiceRow],
    keep: impl Fn(&ChoiceRow) -> bool,
) -> Vec<(String, Vec<&ChoiceRow>)> {
    let mut by_name: Vec<(String, Vec<&ChoiceRow>)> = Vec::new();
    for row in rows.iter().filter(|row| keep(row)) {
        let name = name_of(row);
        match by_name.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => by_name.push((name, vec![row])),
        }
    }
    by_name
}

/// Chooser by chooser: the shares of Lehnert et al. 2016 and the ratios.
pub(super) fn choices<'r>(rows: impl Iterator<Item = &'r ChoiceRow> + Clone) -> Table {
    // What stands for a matrix is a question for models of this device alone.
    let of_models = rows.clone().any(|r| matches!(r.chooser, Chooser::Model { .. }));
    let rules = if of_models { &["<columns", "<row length"][..] } else { &[] };
    let quality = [
        "<matrices",
        "count",
        "within 5 %",
        "5 to 20 %",
        "beyond 20 %",
        "best / chosen",
        "90th percentile of chosen / best",
        "worst",
        "not possible",
        "no time",
    ];
    let mut table = Table::new(&[&["<model"], rules, &quality[..]].concat());
    for r in rows {
        let q = &r.quality;
        let (name, rules) = match r.chooser {
            Chooser::Model { model, placement, row_length } => {
                (model.to_string(), [rule(placement).to_owned(), row_length.to_string()])
            }
            Chooser::Baseline(Baseline::BestSingle(c)) => {
                (format!("best-single: {}", candidate(&c)), ["-", "-"].map(str::to_owned))
            }
            chooser => (words(chooser), ["-", "-"].map(str::to_owned)),
        };
        let quality = [
            r.scope.name().to_owned(),
            q.count.to_string(),
            percent(q.within_5_percent),
            percent(q.within_20_percent),
            percent(q.beyond_20_percent),
            format!("{:.3}", 1.0 / q.mean_ratio),
            format!("{:.2}", q.p90_ratio),
            format!("{:.2}", q.worst_ratio),
            r.first_infeasible.to_string(),
            r.first_unmeasured.to_string(),
        ];
        let rules = rules.into_iter().filter(|_| of_models);
        table.row([name].into_iter().chain(rules).chain(quality));
    }
    table
}

/// Class by class.
fn classes<'r>(rows: impl Iterator<Item = &'r ClassRow>) -> Table {
    let columns =
        ["<matrices", "count", "mean", "median", "90th percentile", "in the 90 % interval", "ln(high / low)"];
    let mut table = Table::new(&columns);
    for r in rows {
        let [mean, median, p90, covered] =
            [r.error.mean, r.error.median, r.error.p90, r.covered].map(percent);
        let (class, count, width) =
            (r.class.name().to_owned(), r.matrices.to_string(), format!("{:.3}", r.log_width));
        table.row([class, count, mean, median, p90, covered, width]);
    }
    table
}

/// Class by class, what of ours beside what of theirs.
fn beside_vendor<'r>(rows: impl Iterator<Item = &'r VendorRow>) -> Table {
    let columns = [
        "<matrices",
        "count",
        "<ours",
        "<theirs",
        "theirs / ours",
        "10th percentile",
        "90th percentile",
        "worst",
        "faster",
        "over 3 % slower",
    ];
    let mut table = Table::new(&columns);
    for r in rows {
        let n = r.ratios;
        let [class, ours, theirs] = [r.class.name(), r.ours.name(), r.theirs.name()].map(str::to_owned);
        let [count, wins, behind] = [n.count, n.wins, n.behind].map(|count| count.to_string());
        let [mean, p10, p90, worst] = [n.mean, n.p10, n.p90, n.worst].map(|ratio| format!("{ratio:.3}"));
        table.row([class, count, ours, theirs, mean, p10, p90, worst, wins, behind]);
    }
    table
}

/// Kernel by kernel, the strip models beside each other.
fn wins<'r>(rows: impl Iterator<Item = &'r WinsRow> + Clone) -> Table {
    let models = rows.clone().next().map_or(&[][..], |row| &row.models);
    let columns = models.iter().flat_map(|m| [format!("{}: mean error", m.model), "wins".to_owned()]);
    let columns: Vec<String> =
        ["<kernel", "matrices"].map(str::to_owned).into_iter().chain(columns).collect();
    let names: Vec<&str> = columns.iter().map(String::as_str).chain(["tied"]).collect();
    let mut table = Table::new(&names);
    for r in rows {
        let models = r.models.iter().flat_map(|m| [percent(m.mean_error), m.wins.to_string()]);
        let head = [words(r.kernel), r.matrices.to_string()];
        table.row(head.into_iter().chain(models).chain([r.tied.to_string()]));
    }
    table
}

fn worst<'m>(misses: impl Iterator<Item = &'m Miss>) -> Table {
    let mut table = Table::new(&["<kernel", "<model", "<matrix", "predicted", "measured", "error"]);
    for m in misses {
        table.row([
            words(m.kernel),
            m.model.to_string(),
            m.matrix.clone(),
            m.predicted.to_string(),
            m.measured.to_string(),
            percent(m.error()),
        ]);
    }
    table
}

fn rule(placement: PlacementRule) -> &'static str {
    match placement {
        PlacementRule::Banded => "banded",
        PlacementRule::Scattered => "scattered",
        PlacementRule::Blend => "blend",
    }
}
