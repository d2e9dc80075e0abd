//! `compare --gpus`: devices by numbers of GPUs in one table.

use super::{Compare, readable};
use crate::context::Context;
use crate::csv::Layout;
use crate::failure::{Exit, Failure};
use crate::links;
use crate::matrix_source::MatrixSource;
use crate::table::{Columns, cell_or};
use crate::text::{between, percent, title};
use sparsight::Advisor;
use sparsight::answer::{
    CompareGpusAnswer, ComparedGpus, ComparedOnGpus, LinksAnswer, MatrixSummary, NumbersOfDevice,
    NumbersOfGpus, OnGpus, TooFewGpus,
};
use sparsight::compare::Contender;
use sparsight::distributed::{Deal, numbers_of_gpus};
use sparsight::matrix::{Csr, Features, Scalar};
use sparsight::profile::KnownLinks;

/// A row a number of GPUs of a device.
const TABLE: Layout = Layout {
    rows: &["devices", "gpus"],
    outer: &["device=id", "device_name=name", "price", "power_w", "best"],
    inner: &[&[
        "count",
        "predicted_s",
        "low_s",
        "high_s",
        "speed",
        "speedup",
        "efficiency",
        "limited_by=limit",
        "extrapolated",
        "exchanged_bytes",
        "most_exchanged_bytes",
        "memory_bytes",
        "products_per_s",
        "products_per_s_per_price",
        "products_per_joule",
    ]],
};

/// A number of GPUs, which hold the matrix or do not.
type Row<'a> = Result<&'a ComparedOnGpus, &'a TooFewGpus>;

/// Predictions for each number of GPUs of a device.
type Numbers = Vec<Result<OnGpus, TooFewGpus>>;

impl Compare {
    pub(super) fn run_gpus<T: Scalar>(
        &self,
        source: &MatrixSource,
        contenders: &[Contender<'_>],
        context: &Context,
    ) -> Result<Exit, Failure> {
        let unwanted = [
            (self.iterations.is_some(), "--iterations"),
            (!self.kernels.is_empty(), "--kernel"),
            (self.weights.is_some(), "--weights"),
        ];
        if let Some((_, flag)) = unwanted.iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::input(format!("{flag} cannot be used with --gpus")));
        }
        let linked = contenders.iter().map(|one| self.links(one)).collect::<Result<Vec<_>, Failure>>()?;
        let matrix: Csr<T> = source.load_places(context)?;
        let features = Features::of(&matrix);
        let bar = context.printer.progress(contenders.len() as u64, "dealing out");
        let mut all = Vec::new();
        for (done, (contender, linked)) in contenders.iter().zip(linked).enumerate() {
            let id = self.devices[done].to_string();
            bar.at(done as u64, id.clone());
            let known = linked.as_ref().map(|(known, _)| known);
            let numbers = self.numbers(&matrix, &features, contender, known, context)?;
            let links = linked.map(|(_, links)| links);
            all.push(NumbersOfDevice { id, contender: *contender, links, numbers });
        }
        drop(bar);
        let summary = MatrixSummary::of(source.title(), &features);
        let unit = (!self.price.is_empty()).then(|| self.unit.clone());
        let answer = CompareGpusAnswer { unit, ..CompareGpusAnswer::of(summary, T::DTYPE, all) };
        let none = answer.devices.iter().any(|device| device.gpus.is_empty());
        if self.csv.csv {
            context.printer.csv(&TABLE, &[answer])?;
        } else {
            context.printer.answer(&answer, || self.print_numbers(&answer, contenders, context))?;
        }
        Ok(if none { Exit::No } else { Exit::Done })
    }

    /// Links of the contender; a processor has none.
    fn links(&self, contender: &Contender<'_>) -> Result<Option<(KnownLinks, LinksAnswer)>, Failure> {
        if !contender.profile.device.facts.kind.is_gpu() || self.gpus.iter().all(|&count| count == 1) {
            return Ok(None);
        }
        links::find(self.links.as_deref(), contender.profile).map(Some)
    }

    fn numbers<T: Scalar>(
        &self,
        matrix: &Csr<T>,
        features: &Features,
        contender: &Contender<'_>,
        known: Option<&KnownLinks>,
        context: &Context,
    ) -> Result<Numbers, Failure> {
        let advisor = Advisor::new(contender.profile);
        let objective = self.model.objective(None);
        let advice = advisor.advise(features, T::DTYPE, &objective).map_err(|error| {
            let profiles = [contender.profile.clone()];
            self.lacking(error, &profiles, T::DTYPE)
        })?;
        let numbers = NumbersOfGpus { matrix, advisor, advice: &advice, objective: &objective };
        let mut all = vec![numbers.on_one()];
        for count in numbers_of_gpus(&self.gpus)?.into_iter().filter(|&count| count > 1) {
            context.interrupt.check()?;
            let Some(known) = known else { break };
            all.push(numbers.on(count, &Deal::InOrder, known)?.map(|(on, _)| on));
        }
        Ok(all)
    }

    fn print_numbers(
        &self,
        answer: &CompareGpusAnswer,
        contenders: &[Contender<'_>],
        context: &Context,
    ) -> Result<(), Failure> {
        let out = &context.printer;
        out.line(title(&answer.matrix))?;
        self.print_devices(contenders, context)?;
        let rows = answer.devices.iter().flat_map(|device| {
            let fit = device.gpus.iter().map(Ok);
            fit.chain(device.too_few.iter().map(Err)).map(move |one| (device, one))
        });
        let of =
            |one: Row<'_>, cell: &dyn Fn(&ComparedOnGpus) -> String| one.map_or_else(|_| String::new(), cell);
        let columns = Columns::of(rows).with([
            ("<device", &|(device, _)| device.id.clone()),
            ("GPUs", &|(_, one)| match one {
                Ok(one) => format!("{}{}", one.on.count, if one.on.extrapolated { " *" } else { "" }),
                Err(few) => few.count.to_string(),
            }),
            ("predicted", &|(_, one)| match one {
                Ok(one) => one.on.predicted_s.to_string(),
                Err(_) => "does not fit".to_owned(),
            }),
            ("90 % between", &|(_, one)| of(*one, &|one| between(one.on.low_s, one.on.high_s))),
            ("<limited by", &|(_, one)| of(*one, &|one| cell_or("", one.on.limit))),
            ("speed", &|(_, one)| {
                of(*one, &|one| cell_or("?", one.speed.map(|speed| format!("{speed:.2}"))))
            }),
            ("efficiency", &|(_, one)| of(*one, &|one| cell_or("", one.on.efficiency.map(percent)))),
            ("products/s", &|(_, one)| of(*one, &|one| readable(one.products_per_s))),
        ]);
        let worth = |one: &ComparedOnGpus| [one.products_per_s_per_price, one.products_per_joule];
        out.line(self.with_worth(columns, |(_, one)| one.ok().map(worth)))?;
        if let Some((device, one)) = most(answer, |one| Some(1.0 / one.on.predicted_s.0)) {
            out.line(format_args!("\nFastest: {}, {} a product.", named(device, one), one.on.predicted_s))?;
        }
        if let Some((device, one)) = most(answer, |one| one.products_per_s_per_price) {
            out.line(format_args!("Most products for the price: {}.", named(device, one)))?;
        }
        if let Some((device, one)) = most(answer, |one| one.products_per_joule) {
            out.line(format_args!("Most products for the energy: {}.", named(device, one)))?;
        }
        for device in &answer.devices {
            for few in &device.too_few {
                let (count, why) = (few.counted(), &few.why);
                out.line(format_args!("\n  does not fit on {count} of {}: {why}", device.id))?;
            }
        }
        if answer.devices.iter().flat_map(|device| &device.gpus).any(|one| one.on.extrapolated) {
            out.line(format_args!(
                "\n  * extrapolated: more GPUs than the links were measured with, or links that are stated"
            ))?;
        }
        Ok(())
    }
}

/// `2 x nvidia-h200`.
fn named(device: &ComparedGpus, one: &ComparedOnGpus) -> String {
    format!("{} x {}", one.on.count, device.id)
}

/// The largest of these values; empty if none is known.
fn most(
    answer: &CompareGpusAnswer,
    of: impl Fn(&ComparedOnGpus) -> Option<f64>,
) -> Option<(&ComparedGpus, &ComparedOnGpus)> {
    let all = answer.devices.iter().flat_map(|device| device.gpus.iter().map(move |one| (device, one)));
    let known = all.filter_map(|(device, one)| Some((of(one)?, device, one)));
    known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, device, one)| (device, one))
}
