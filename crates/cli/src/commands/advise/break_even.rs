//! `advise --gpus --break-even`: from which size of a family of the gallery on several GPUs are faster.

use super::Advise;
use super::gpus::Way;
use crate::context::{Context, with_scalar};
use crate::failure::{Exit, Failure};
use crate::matrix_source::MatrixSource;
use crate::table::{Columns, cell_or};
use crate::text::{BOLD, assumed, grouped, heading};
use sparsight::answer::{BreakEvenAnswer, FasterFrom, LinksAnswer, NumbersOfGpus, SizeTried, TimeOnGpus};
use sparsight::distributed::{break_even, largest_where, numbers_of_gpus};
use sparsight::matrix::gallery::{Accepts, PREFIX, Recipe, Value};
use sparsight::matrix::{Bytes, Features, Scalar, available_memory};
use sparsight::profile::KnownLinks;
use sparsight::{Advisor, Profile};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Non-zeros of the smallest matrix that is tried. Chosen: below every size from which several GPUs pay.
const FEWEST: u128 = 100_000;

/// Non-zeros of the largest matrix that is tried. Chosen: a minute and some gigabytes.
const MOST: u64 = 100_000_000;

/// Bytes a non-zero that making and dealing out a matrix takes at one time: the matrix, being made or in shares, and the patterns of
/// these. Chosen: about twice what was seen.
const BYTES_PER_NON_ZERO: u64 = 64;

/// Sizes that are tried, for the bar. Chosen: about what it comes to.
const ABOUT: u64 = 12;

/// A recipe with a parameter of any value.
struct Family<'a> {
    recipe: &'a Recipe,
    parameter: &'a str,
}

impl Family<'_> {
    /// Recipe with that value; `None` where it makes no matrix of the gallery's.
    fn member(&self, value: u64) -> Option<Recipe> {
        let of = |(name, given): (&str, Value)| match given {
            _ if name == self.parameter => format!("{name}={value}"),
            given => format!("{name}={given}"),
        };
        let given: Vec<String> = self.recipe.arguments().map(of).collect();
        let text = format!("{PREFIX}{},{}", self.recipe.generator().name, given.join(","));
        text.parse().ok()
    }

    /// Non-zeros of the matrix; larger than any matrix where there is no such recipe.
    fn nnz(&self, value: u64) -> u128 {
        self.member(value).map_or(u128::MAX, |recipe| recipe.size().nnz)
    }

    /// Values whose matrices have [`FEWEST`] to `most` non-zeros.
    fn values(&self, most: u64) -> Result<RangeInclusive<u64>, Failure> {
        let name = self.recipe.generator().name;
        let parameters = self.recipe.generator().parameters;
        let whole = parameters.iter().filter_map(|known| match known.accepts {
            Accepts::Whole { min, max } if known.name != "seed" => Some((known.name, min, max)),
            _ => None,
        });
        let Some((_, min, max)) = whole.clone().find(|(known, ..)| *known == self.parameter) else {
            let known: Vec<&str> = whole.map(|(known, ..)| known).collect();
            return Err(Failure::input(format!(
                "--break-even varies a whole number of the recipe, and '{}' of {name} is none",
                self.parameter
            ))
            .hinted(format!("{name} has {}", known.join(", "))));
        };
        let last = largest_where(min..=max - 1, |value| self.nnz(value) <= u128::from(most));
        let below = largest_where(min..=last, |value| self.nnz(value) < FEWEST);
        let first = if self.nnz(below) < FEWEST { (below + 1).min(last) } else { below };
        if self.nnz(first) >= self.nnz(last) {
            return Err(Failure::input(format!(
                "with {} the non-zeros of {name} do not grow from {FEWEST} on",
                self.parameter
            )));
        }
        Ok(first..=last)
    }
}

impl Advise {
    pub(super) fn run_break_even(
        &self,
        parameter: &str,
        source: &MatrixSource,
        profile: &Profile,
        (known, links): (KnownLinks, LinksAnswer),
        context: &Context,
    ) -> Result<Exit, Failure> {
        let MatrixSource::Gallery { recipe, written } = source else {
            return Err(Failure::input("--break-even takes a recipe of the gallery, whose size it varies")
                .hinted("advise gallery:stencil3d --gpus 2,4 --break-even n"));
        };
        let counts = numbers_of_gpus(self.gpus.counts())?;
        if counts.iter().all(|&count| count < 2) {
            return Err(Failure::input(
                "--break-even compares several GPUs with one, and --gpus names no number above 1",
            )
            .hinted("advise gallery:stencil3d --gpus 2,4 --break-even n"));
        }
        let deal = self.gpus.way(None)?;
        let family = Family { recipe, parameter };
        let room = available_memory().map_or(u64::MAX, |Bytes(free)| free / BYTES_PER_NON_ZERO);
        let most_nnz = MOST.min(room);
        let values = family.values(most_nnz)?;
        let bar = context.printer.progress(ABOUT, "varying");
        let mut tried: BTreeMap<u64, SizeTried> = BTreeMap::new();
        let mut from = Vec::new();
        let nnz = |value| u64::try_from(family.nnz(value)).unwrap_or(u64::MAX);
        for &count in counts.iter().filter(|&&count| count > 1) {
            let value = break_even(values.clone(), nnz, |value| -> Result<bool, Failure> {
                if let Some(known) = tried.get(&value) {
                    return Ok(known.is_faster_on(count));
                }
                context.interrupt.check()?;
                let about = grouped(nnz(value));
                bar.at((tried.len() as u64).min(ABOUT), format!("{parameter}={value}, {about} non-zeros"));
                let links = (&known, &deal);
                let size = with_scalar!(context.dtype(), T => {
                    self.tried::<T>(&family, value, &counts, profile, links)
                })?;
                let is_faster = size.is_faster_on(count);
                tried.insert(value, size);
                Ok(is_faster)
            })?;
            let nnz = value.and_then(|value| tried.get(&value)).map(|size| size.nnz);
            from.push(FasterFrom { count, value, nnz });
        }
        drop(bar);
        let none = from.iter().any(|one| one.value.is_none());
        let answer = BreakEvenAnswer {
            recipe: written.clone(),
            parameter: parameter.to_owned(),
            device: profile.into(),
            dtype: context.dtype(),
            deal: self.gpus.dealt(),
            links,
            most_nnz,
            from,
            sizes: tried.into_values().collect(),
        };
        context.printer.answer(&answer, || print(&answer, &counts, profile, known.measured_on, context))?;
        Ok(if none { Exit::No } else { Exit::Done })
    }

    /// Times of each number of GPUs for one member of the family.
    fn tried<T: Scalar>(
        &self,
        family: &Family<'_>,
        value: u64,
        counts: &[usize],
        profile: &Profile,
        (known, deal): (&KnownLinks, &Way),
    ) -> Result<SizeTried, Failure> {
        let recipe = family.member(value).expect("values are of recipes");
        let matrix = recipe.generate::<T>()?;
        let objective = self.model.objective(None);
        let advisor = Advisor::new(profile);
        let advice = advisor.advise(&Features::of(&matrix), T::DTYPE, &objective)?;
        let numbers = NumbersOfGpus { matrix: &matrix, advisor, advice: &advice, objective: &objective };
        let mut gpus = Vec::new();
        for &count in counts {
            let on = if count == 1 {
                numbers.on_one().ok()
            } else {
                numbers.on(count, &*deal.to(&matrix, count)?, known)?.ok().map(|(on, _)| on)
            };
            gpus.extend(on.map(|on| TimeOnGpus { count, predicted_s: on.predicted_s }));
        }
        Ok(SizeTried { value, nnz: matrix.nnz() as u64, gpus })
    }
}

fn print(
    answer: &BreakEvenAnswer,
    counts: &[usize],
    profile: &Profile,
    measured_on: usize,
    context: &Context,
) -> Result<(), Failure> {
    let out = &context.printer;
    let parameter = &answer.parameter;
    out.line(format_args!("{BOLD}{}{BOLD:#}   {parameter} varied", answer.recipe))?;
    out.line(format_args!(
        "{}   links of {}, rows {}{}\n",
        heading(profile, answer.dtype),
        answer.links.source,
        answer.deal,
        assumed(&profile.device)
    ))?;
    for from in &answer.from {
        match (from.value, from.nnz) {
            (Some(value), Some(nnz)) => out.line(format_args!(
                "{BOLD}{} GPUs are faster than one from about {} non-zeros on{BOLD:#} ({parameter} = {value}).",
                from.count,
                rounded(nnz)
            ))?,
            _ => out.line(format_args!(
                "{BOLD}{} GPUs are not faster than one up to {} non-zeros.{BOLD:#}",
                from.count,
                rounded(answer.sizes.last().map_or(0, |size| size.nnz))
            ))?,
        }
    }
    let mut columns = Columns::of(&answer.sizes)
        .with([(parameter, &|size| size.value.to_string()), ("non-zeros", &|size| grouped(size.nnz))]);
    for &count in counts {
        let title = if count == 1 { "one GPU".to_owned() } else { format!("{count} GPUs") };
        columns = columns.with([(&title, &|size| cell_or("does not fit", size.on(count)))]);
    }
    out.line("")?;
    out.line(columns.table())?;
    if counts.iter().any(|&count| count > measured_on.max(1)) {
        let why = if measured_on > 1 {
            format!("with more than {measured_on} GPUs, with which the links were measured")
        } else {
            "as the links are: stated, not measured".to_owned()
        };
        out.line(format_args!("\n  extrapolated {why}"))?;
    }
    Ok(())
}

/// `12 million`, `1.5 million`, `850,000`: two digits that count.
fn rounded(count: u64) -> String {
    let digits = count.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    let count = count.saturating_add(unit / 2) / unit * unit;
    match count {
        _ if count < 1_000_000 => grouped(count),
        _ if count < 10_000_000 => format!("{:.1} million", count as f64 / 1e6),
        _ => format!("{} million", grouped(count / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_as_people_say_them() {
        let said = [0, 7, 99_600, 123_456, 1_549_000, 9_990_000, 12_012_345, 104_000_000].map(rounded);
        let words =
            ["0", "7", "100,000", "120,000", "1.5 million", "10 million", "12 million", "100 million"];
        assert_eq!(said, words);
    }

    #[test]
    fn a_family_has_values_of_the_requested_sizes() {
        let recipe: Recipe = "stencil2d,n=7,points=9".parse().unwrap();
        let family = Family { recipe: &recipe, parameter: "n" };
        let values = family.values(1_000_000).unwrap();
        assert!(family.nnz(*values.start()) >= FEWEST && family.nnz(values.start() - 1) < FEWEST);
        assert!(family.nnz(*values.end()) <= 1_000_000 && family.nnz(values.end() + 1) > 1_000_000);
        for other in ["points", "seed", "m"] {
            assert!(Family { recipe: &recipe, parameter: other }.values(1_000_000).is_err(), "{other}");
        }
    }
}
