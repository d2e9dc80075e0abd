//! `sparsight compare`: one matrix on several devices.

mod given;
mod gpus;
mod weights;

use crate::args::{KernelFlags, ModelFlags, block, kernel, products};
use crate::context::{Context, with_scalar};
use crate::csv::{CANDIDATE, CsvFlag, Layout, PREDICTED};
use crate::device_choice::{DeviceName, ProfileFlags};
use crate::failure::{Exit, Failure};
use crate::links;
use crate::many::structures;
use crate::matrix_source::{MatrixSource, matrices};
use crate::table::{Columns, Table, cell_or};
use crate::text::{
    BOLD, assumed, between, candidate, counted, described, grouped, known_from, matrices, title,
};
use given::{Given, for_devices};
use sparsight::answer::{CompareAnswer, CompareManyAnswer, MatrixSummary, MeanSpeed};
use sparsight::compare::{Compared, Comparison, Contender, compare};
use sparsight::kernels::{Candidate, DeviceKind, Selection};
use sparsight::matrix::Dtype;
use sparsight::{Error, Profile};
use std::num::NonZeroU64;
use std::path::PathBuf;
use weights::Weights;

/// Predict the fastest candidate of each of several devices
///
/// Shows what limits each device, and the products per price and per joule if prices and power are given.
///
/// Nothing is run, and the devices need not be here, except a processor without a profile. With --top N, the first N
/// candidates of each device are shown, else the best.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    #[arg(required = true, help = matrices!("; of several also the mean speed over all of them"))]
    paths: Vec<String>,
    /// Devices to compare with the first of them: names or folders of profiles, data sheets NAME.toml, cpu, or
    /// cuda[:N]
    #[arg(long, value_name = "DEVICES", value_delimiter = ',', required = true)]
    devices: Vec<DeviceName>,
    /// Products y = A x to come: compare the total of conversion, upload and all products
    #[arg(long, value_name = "N", value_parser = products, allow_negative_numbers = true)]
    iterations: Option<NonZeroU64>,
    /// Also show one candidate on every device: the fastest on the first device of these kernels or candidates,
    /// such as csr-vector, "csr-vector t8" or "csr-vector t8 b256"
    #[arg(long = "kernel", value_name = "NAME", value_delimiter = ',', value_parser = kernel)]
    kernels: Vec<Selection>,
    /// Block sizes of that candidate [default: all]
    #[arg(
        long = "block",
        value_name = "THREADS",
        value_delimiter = ',',
        value_parser = block,
        requires = "kernels"
    )]
    blocks: Vec<u32>,
    /// Price of a device, for products a second per unit of price
    #[arg(long, value_name = "DEVICE=NUMBER", value_delimiter = ',')]
    price: Vec<Given>,
    /// Unit of the prices
    #[arg(long, value_name = "UNIT", default_value = "price", requires = "price")]
    unit: String,
    /// Power of a device at work, for products a joule
    #[arg(long, value_name = "DEVICE=WATTS", value_delimiter = ',')]
    power: Vec<Given>,
    /// Weights of several matrices in the mean: a file with lines NAME,WEIGHT; a matrix without a line has weight 1
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Compare N of each device, with rows distributed in order; prices and watts are those of one
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = links::number)]
    gpus: Vec<usize>,
    /// Links between the GPUs of every device: a links.json or a TOML file (docs/gpus.md) [default: those of each profile]
    #[arg(long, value_name = "FILE", requires = "gpus")]
    links: Option<PathBuf>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    csv: CsvFlag,
}

/// A row a candidate of a device.
const TABLE: Layout = Layout {
    rows: &["devices", "candidates"],
    outer: &["device=id", "device_name=name", "price", "power_w", "products"],
    inner: &[
        &CANDIDATE,
        &PREDICTED,
        &[
            "limited_by=limit.by",
            "conversion_s",
            "in_all_s",
            "speed",
            "speed_low",
            "speed_high",
            "products_per_s",
            "products_per_s_per_price",
            "products_per_joule",
        ],
    ],
};

/// A candidate of a device for a matrix, if one is possible.
type Row<'a> = (&'a MatrixSummary, &'a DeviceName, Option<&'a Compared>);

impl Compare {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let dtype = context.dtype();
        let sources = MatrixSource::batch(&self.paths, &context.printer)?;
        let price = for_devices("--price", &self.price, &self.devices)?;
        let power = for_devices("--power", &self.power, &self.devices)?;
        let weights = Weights::of_file(self.weights.as_deref(), &sources)?;
        self.common().note_value_types(&[dtype], &context.printer);
        let profiles = self.profiles(context, dtype)?;
        let objective = self.model.objective(self.iterations);
        let given = price.into_iter().zip(power);
        let contenders: Vec<Contender<'_>> = profiles
            .iter()
            .zip(given)
            .map(|(profile, (price, power_w))| Contender { profile, price, power_w })
            .collect();
        if !self.gpus.is_empty() {
            return match sources.as_slice() {
                [one] => with_scalar!(dtype, T => self.run_gpus::<T>(one, &contenders, context)),
                more => Err(Failure::one_matrix("--gpus", more.len())),
            };
        }
        let (mut weighted, mut found) = (Vec::new(), Vec::new());
        let looked = structures(&sources, context, |source, features| {
            let comparison = compare(&contenders, &features, dtype, &objective, &self.wanted(dtype)?)
                .map_err(|error| self.lacking(error, &profiles, dtype))?;
            let matrix = MatrixSummary::of(source.title(), &features);
            let ids = self.devices.iter().map(ToString::to_string);
            let all = CompareAnswer::of(matrix, dtype, objective.products, ids, &contenders, &comparison);
            let unit = (!self.price.is_empty()).then(|| self.unit.clone());
            let answer = CompareAnswer { unit, ..all.shortened(context.top_or(1)) };
            weighted.push((answer, weights.of(source)));
            found.push(comparison);
            Ok(())
        })?;
        let has_weight = weighted.iter().any(|(_, weight)| *weight > 0.0);
        if let Some(file) = self.weights.as_ref().filter(|_| !has_weight) {
            looked.unless_ended()?;
            let text = format!("{}: no matrix with a weight above 0 could be read", file.display());
            return Err(Failure::input(text));
        }
        let out = &context.printer;
        let none = found.iter().flat_map(|found| &found.devices).any(|device| device.ranked.is_empty());
        if self.csv.csv {
            let answers: Vec<CompareAnswer> = weighted.into_iter().map(|(answer, _)| answer).collect();
            out.csv(&TABLE, &answers)?;
        } else if let ([(answer, _)], [comparison], [_]) = (&weighted[..], &found[..], &sources[..]) {
            out.answer(answer, || self.print(&answer.matrix, &contenders, comparison, context))?;
        } else {
            let answer = CompareManyAnswer::of(weighted);
            out.answer(&answer, || self.print_many(&answer, &found, &contenders, context))?;
        }
        looked.exit(!none, "looked at")
    }

    fn profiles(&self, context: &Context, dtype: Dtype) -> Result<Vec<Profile>, Failure> {
        let profile = |name: &DeviceName| {
            ProfileFlags { device: Some(name.clone()), profile: None }.resolve(context, dtype)
        };
        self.devices.iter().map(profile).collect()
    }

    /// Candidates that could be the common one.
    fn wanted(&self, dtype: Dtype) -> Result<Vec<Candidate>, Failure> {
        if self.kernels.is_empty() {
            return Ok(Vec::new());
        }
        self.common().candidates(DeviceKind::Cuda, dtype)
    }

    /// Possible common candidates, as flags.
    fn common(&self) -> KernelFlags {
        KernelFlags { kernels: self.kernels.clone(), blocks: self.blocks.clone() }
    }

    /// A profile without what is asked of it, with the command that makes it.
    fn lacking(&self, error: Error, profiles: &[Profile], dtype: Dtype) -> Failure {
        let Error::Lacking { profile: name, .. } = &error else { return error.into() };
        let found = self.devices.iter().zip(profiles).find(|(_, profile)| profile.place() == *name);
        let Some((device, profile)) = found else { return error.into() };
        let kind = profile.device.facts.kind.first_device();
        Failure::from(error).hinted(format!(
            "`sparsight lab profile --device {kind} --dtype {dtype} -o {device}` on a machine with {} measures and fits it",
            described(&profile.device.facts)
        ))
    }

    /// The devices, and the origin of their data.
    fn print_devices(&self, contenders: &[Contender<'_>], context: &Context) -> Result<(), Failure> {
        let out = &context.printer;
        let products = self.iterations.map(|n| format!("   {}", counted(n.get(), "product")));
        out.line(format_args!("{}{}", context.dtype(), products.unwrap_or_default()))?;
        let width = self.devices.iter().map(|device| device.to_string().len()).max().unwrap_or_default();
        for (device, contender) in self.devices.iter().zip(contenders) {
            let (what, known) = (described(&contender.profile.device.facts), known_from(contender.profile));
            let assumed = assumed(&contender.profile.device).replace('\n', "\n  ");
            out.line(format_args!("  {device:<width$}  {what}   {known}{assumed}"))?;
        }
        out.line("")
    }

    /// A line a matrix and device, and the means.
    fn print_many(
        &self,
        answer: &CompareManyAnswer,
        found: &[Comparison],
        contenders: &[Contender<'_>],
        context: &Context,
    ) -> Result<(), Failure> {
        let out = &context.printer;
        self.print_devices(contenders, context)?;
        let all = answer.matrices.iter().zip(found);
        let rows = all.flat_map(|(answer, comparison)| self.rows(&answer.matrix, comparison, 1));
        out.line(self.table(true, rows))?;
        out.line("")?;
        let weighted = if self.weights.is_some() { ", weighted" } else { "" };
        let first = &self.devices[0];
        let [of_first, others @ ..] = &answer.mean_speeds[..] else { return Ok(()) };
        for mean in others {
            let MeanSpeed { id, count, mean_speed: Some(speed), .. } = mean else { continue };
            let over = matrices(*count);
            let open = if mean.is_open() { ": either may be the faster one" } else { "" };
            let ends = mean.mean_speed_low.zip(mean.mean_speed_high);
            let ends = ends.map(|(low, high)| format!("; 90 % between {low:.2} and {high:.2}{open}"));
            out.line(format_args!(
                "{id} is {speed:.2} times as fast as {first} over {over} (geometric mean{weighted}{}).",
                ends.unwrap_or_default()
            ))?;
            let worth = |of: fn(&MeanSpeed) -> Option<f64>| Some(of(mean)? / of(of_first)?);
            if let Some(times) = worth(|of| of.mean_products_per_s_per_price) {
                out.line(format_args!(
                    "  For the same price, {times:.2} times as many products as {first}."
                ))?;
            }
            if let Some(times) = worth(|of| of.mean_products_per_joule) {
                out.line(format_args!(
                    "  For the same energy, {times:.2} times as many products as {first}."
                ))?;
            }
        }
        Ok(())
    }

    fn print(
        &self,
        matrix: &MatrixSummary,
        contenders: &[Contender<'_>],
        comparison: &Comparison,
        context: &Context,
    ) -> Result<(), Failure> {
        let out = &context.printer;
        out.line(title(matrix))?;
        self.print_devices(contenders, context)?;
        out.line(self.table(false, self.rows(matrix, comparison, context.top_or(1))))?;
        if let Some(common) = &comparison.common {
            out.line("")?;
            out.line(format_args!("{BOLD}{}{BOLD:#} on each", candidate(common)))?;
            let (mut rows, mut refused) = (Vec::new(), Vec::new());
            for (device, compared) in self.devices.iter().zip(&comparison.devices) {
                match &compared.common {
                    Some(Ok(one)) => rows.push((matrix, device, Some(one))),
                    Some(Err(why)) => refused.push(format!("{device}: {why}")),
                    None => {}
                }
            }
            out.line(self.table(false, rows))?;
            for refusal in refused {
                out.line(format_args!("  not possible on {refusal}"))?;
            }
        } else if !self.kernels.is_empty() {
            out.line("")?;
            out.line("  no device has a prediction for --kernel")?;
        }
        let remarks: Vec<String> = self.remarks(comparison).collect();
        if !remarks.is_empty() {
            out.line("")?;
        }
        remarks.iter().try_for_each(|remark| out.line(format_args!("  {remark}")))
    }

    /// The first `top` candidates of each device; of a device without any, a row that says so.
    fn rows<'a>(
        &'a self,
        matrix: &'a MatrixSummary,
        comparison: &'a Comparison,
        top: usize,
    ) -> impl Iterator<Item = Row<'a>> {
        self.devices.iter().zip(&comparison.devices).flat_map(move |(device, compared)| {
            let none = compared.ranked.is_empty().then_some(None);
            compared.ranked.iter().take(top).map(Some).chain(none).map(move |one| (matrix, device, one))
        })
    }

    fn table<'a>(&self, names_matrices: bool, rows: impl IntoIterator<Item = Row<'a>>) -> Table {
        let of =
            |one: Option<&Compared>, cell: &dyn Fn(&Compared) -> String| one.map_or_else(String::new, cell);
        let in_all = |one: &Compared| one.in_all(self.iterations?.get());
        let columns = Columns::of(rows)
            .with_if(
                names_matrices,
                [
                    ("<matrix", &|(matrix, ..)| matrix.name.clone()),
                    ("non-zeros", &|(matrix, ..)| grouped(matrix.nnz)),
                ],
            )
            .with([
                ("<device", &|(_, device, _)| device.to_string()),
                ("<candidate", &|(.., one)| {
                    cell_or("not possible", one.map(|one| candidate(&one.advised.candidate)))
                }),
                ("predicted", &|(.., one)| of(*one, &|one| one.advised.prediction.time.to_string())),
                ("90 % between", &|(.., one)| {
                    of(*one, &|one| between(one.advised.prediction.low, one.advised.prediction.high))
                }),
                ("<limited by", &|(.., one)| of(*one, &|one| one.limit.to_string())),
            ])
            .with_if(
                self.iterations.is_some(),
                [("in all", &|(.., one)| of(*one, &|one| cell_or("?", in_all(one))))],
            )
            .with([
                ("speed", &|(.., one)| {
                    of(*one, &|one| cell_or("?", one.speed.map(|s| format!("{:.2}", s.ratio))))
                }),
                ("products/s", &|(.., one)| of(*one, &|one| cell_or("?", one.products_per_s.map(readable)))),
            ]);
        self.with_worth(columns, |(.., one)| {
            one.map(|one| [one.products_per_s_per_price, one.products_per_joule])
        })
    }

    /// Adds what a product is worth, where prices and power are given: products a second for a unit of price, and products a joule.
    fn with_worth<R>(&self, columns: Columns<R>, of: impl Fn(&R) -> Option<[Option<f64>; 2]>) -> Table {
        let cell =
            |row: &R, at: usize| cell_or("", of(row).map(|worth| cell_or("?", worth[at].map(readable))));
        let per_price = format!("products/s a {}", self.unit);
        columns
            .with_if(!self.price.is_empty(), [(&per_price, &|row| cell(row, 0))])
            .with_if(!self.power.is_empty(), [("products a joule", &|row| cell(row, 1))])
            .table()
    }

    /// Notes on an uncertain order and on matrices beyond the measured range.
    fn remarks(&self, comparison: &Comparison) -> impl Iterator<Item = String> {
        let named = |keep: &dyn Fn(&DeviceName, &Compared) -> bool| {
            let best = self.devices.iter().zip(&comparison.devices);
            let best = best.filter_map(|(device, of)| Some((device, of.ranked.first()?)));
            let names = best.filter(|(device, one)| keep(device, one)).map(|(device, _)| device.to_string());
            names.collect::<Vec<_>>().join(", ")
        };
        let first = &self.devices[0];
        let open = named(&|device, one| device != first && one.speed.is_some_and(|speed| speed.is_open()));
        let beyond = named(&|_, one| !one.advised.prediction.extrapolates.is_empty());
        let remark = |what: String, devices: String| (!devices.is_empty()).then(|| what + &devices);
        let open = remark(format!("faster or slower than {first} is open, the intervals overlap: "), open);
        let beyond = remark("less sure, the matrix lies beyond what was measured on: ".to_owned(), beyond);
        open.into_iter().chain(beyond)
    }
}

/// Three digits that count: `105,263`, `10.5`, `3.21e-4`.
fn readable(number: f64) -> String {
    match number {
        _ if number >= 100.0 => grouped(number.round() as u64),
        _ if number >= 10.0 => format!("{number:.1}"),
        _ if number >= 0.1 => format!("{number:.2}"),
        _ => format!("{number:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_readable() {
        assert_eq!([105_263.2, 10.54, 0.5, 3.214e-4].map(readable), ["105,263", "10.5", "0.50", "3.21e-4"]);
    }
}
