//! Tables of `lab evaluate`.

use super::Group;
use super::summary::name_of;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::table::{Columns, Table, cell_or};
use crate::text::{BOLD, candidate, described, matrices, percent, words};
use sparsight::Profile;
use sparsight::matrix::Dtype;
use sparsight::model::PlacementRule;
use sparsight_lab::evaluate::{
    AccuracyRow, Baseline, ChoiceRow, Chooser, ClassRow, Evaluation, Miss, Scope, VendorRow, WinsRow,
};
use std::fmt::Display;

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

/// Prints all tables of an evaluation.
pub(super) fn print(
    evaluation: &Evaluation,
    by: Group,
    profile: &Profile,
    out: &Titled<'_>,
) -> Result<(), Failure> {
    let Evaluation { rows, formats, classes, choices, beside_vendor, wins, misses, matrices: counts, .. } =
        evaluation;
    for (&dtype, &counts) in counts {
        for scope in [Scope::All, Scope::BeyondLaunch, Scope::LikeBenchmarks] {
            let table = match by {
                Group::Kernel => errors("<kernel", rows, dtype, scope),
                Group::Format => errors("<format", formats, dtype, scope),
            };
            let device = described(&profile.device.facts);
            out.table(&format!("{device}, {dtype}, {}", counted(scope, counts)), &table)?;
        }
        let title = format!("Errors of best by how long a product takes, {dtype}");
        out.table(&title, &self::classes(classes.iter().filter(|r| r.dtype == dtype)))?;
        let title = format!("What the first-ranked candidate costs, {dtype}");
        out.table(&title, &self::choices(choices.iter().filter(|r| r.dtype == dtype)))?;
        let title = format!("Time of the vendor's fastest routine over that of ours, {dtype}");
        let of_dtype = beside_vendor.iter().filter(|r| r.dtype == dtype);
        out.table(&title, &self::beside_vendor(of_dtype))?;
        let title = format!("Which strip model is nearest, {dtype}");
        out.table(&title, &self::wins(wins.iter().filter(|r| r.dtype == dtype)))?;
        let title = format!("Worst predicted, {dtype}");
        out.table(&title, &worst(misses.iter().filter(|m| m.dtype == dtype)))?;
    }
    notes(evaluation, out)
}

fn notes(evaluation: &Evaluation, out: &Titled<'_>) -> Result<(), Failure> {
    for (model, &count) in &evaluation.trained_on {
        let tested = evaluation.rows.iter().any(|r| r.model == *model);
        let count = matrices(count);
        out.line(if tested {
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
    let of_choices = of_choices.iter().filter(|_| !evaluation.choices.is_empty());
    of_errors.iter().chain(of_choices).try_for_each(|note| out.line(note))?;
    if !evaluation.wins.is_empty() {
        out.line("wins: matrices on which the model alone has the least mean error over block sizes")?;
    }
    Ok(())
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
    Table::of(
        rows,
        [
            (group, &|r| words(r.of)),
            ("<model", &|r| r.model.to_string()),
            ("<columns", &|r| rule(r.placement).to_owned()),
            ("<row length", &|r| r.row_length.to_string()),
            ("times", &|r| r.error.count.to_string()),
            ("mean", &|r| percent(r.error.mean)),
            ("median", &|r| percent(r.error.median)),
            ("90th percentile", &|r| percent(r.error.p90)),
            ("worst", &|r| percent(r.error.worst)),
            ("in the 90 % interval", &|r| cell_or("-", r.covered.map(percent))),
        ],
    )
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
    let name = |chooser| match chooser {
        Chooser::Model { model, .. } => model.to_string(),
        Chooser::Baseline(Baseline::BestSingle(c)) => format!("best-single: {}", candidate(&c)),
        chooser => words(chooser),
    };
    let rules = |chooser| match chooser {
        Chooser::Model { placement, row_length, .. } => [rule(placement).to_owned(), row_length.to_string()],
        _ => ["-", "-"].map(str::to_owned),
    };
    Columns::of(rows)
        .with([("<model", &|r| name(r.chooser))])
        .with_if(
            of_models,
            [
                ("<columns", &|r| rules(r.chooser)[0].clone()),
                ("<row length", &|r| rules(r.chooser)[1].clone()),
            ],
        )
        .with([
            ("<matrices", &|r| r.scope.to_string()),
            ("count", &|r| r.quality.count.to_string()),
            ("within 5 %", &|r| percent(r.quality.within_5_percent)),
            ("5 to 20 %", &|r| percent(r.quality.within_20_percent)),
            ("beyond 20 %", &|r| percent(r.quality.beyond_20_percent)),
            ("best / chosen", &|r| format!("{:.3}", 1.0 / r.quality.mean_ratio)),
            ("90th percentile of chosen / best", &|r| format!("{:.2}", r.quality.p90_ratio)),
            ("worst", &|r| format!("{:.2}", r.quality.worst_ratio)),
            ("not possible", &|r| r.first_infeasible.to_string()),
            ("no time", &|r| r.first_unmeasured.to_string()),
        ])
        .table()
}

/// Class by class.
fn classes<'r>(rows: impl Iterator<Item = &'r ClassRow>) -> Table {
    Table::of(
        rows,
        [
            ("<matrices", &|r| r.class.to_string()),
            ("count", &|r| r.matrices.to_string()),
            ("mean", &|r| percent(r.error.mean)),
            ("median", &|r| percent(r.error.median)),
            ("90th percentile", &|r| percent(r.error.p90)),
            ("in the 90 % interval", &|r| percent(r.covered)),
            ("ln(high / low)", &|r| format!("{:.3}", r.log_width)),
        ],
    )
}

/// Class by class, what of ours beside what of theirs.
fn beside_vendor<'r>(rows: impl Iterator<Item = &'r VendorRow>) -> Table {
    Table::of(
        rows,
        [
            ("<matrices", &|r| r.class.to_string()),
            ("count", &|r| r.ratios.count.to_string()),
            ("<ours", &|r| r.ours.to_owned()),
            ("<theirs", &|r| r.theirs.to_owned()),
            ("theirs / ours", &|r| format!("{:.3}", r.ratios.mean)),
            ("10th percentile", &|r| format!("{:.3}", r.ratios.p10)),
            ("90th percentile", &|r| format!("{:.3}", r.ratios.p90)),
            ("worst", &|r| format!("{:.3}", r.ratios.worst)),
            ("faster", &|r| r.ratios.wins.to_string()),
            ("over 3 % slower", &|r| r.ratios.behind.to_string()),
        ],
    )
}

/// Kernel by kernel, the strip models beside each other.
fn wins<'r>(rows: impl Iterator<Item = &'r WinsRow> + Clone) -> Table {
    let models = rows.clone().next().map_or(&[][..], |row| &row.models);
    let mut columns = Columns::of(rows)
        .with([("<kernel", &|r| words(r.kernel)), ("matrices", &|r| r.matrices.to_string())]);
    for (at, of) in models.iter().enumerate() {
        let title = format!("{}: mean error", of.model);
        columns = columns.with([
            (&title, &|r| percent(r.models[at].mean_error)),
            ("wins", &|r| r.models[at].wins.to_string()),
        ]);
    }
    columns.with([("tied", &|r| r.tied.to_string())]).table()
}

fn worst<'m>(misses: impl Iterator<Item = &'m Miss>) -> Table {
    Table::of(
        misses,
        [
            ("<kernel", &|m| words(m.kernel)),
            ("<model", &|m| m.model.to_string()),
            ("<matrix", &|m| m.matrix.clone()),
            ("predicted", &|m| m.predicted.to_string()),
            ("measured", &|m| m.measured.to_string()),
            ("error", &|m| percent(m.error)),
        ],
    )
}

fn rule(placement: PlacementRule) -> &'static str {
    match placement {
        PlacementRule::Banded => "banded",
        PlacementRule::Scattered => "scattered",
        PlacementRule::Blend => "blend",
    }
}
