//! `sparsight lab foreign`: times of other people's, carried from GPU to GPU.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;
use crate::table::Table;
use crate::text::{self, counted};
use sparsight_lab::answer::ForeignAnswer;
use sparsight_lab::foreign::{ForeignDraws, ForeignError, ForeignMethod, ForeignTable, evaluate_foreign};
use std::path::PathBuf;

/// Judge how far other people's times carry from one GPU to another
///
/// The table has a row a GPU and matrix, separated by tabs: gpu, name, rows, cols, nnz, a column `FORMAT_us` of microseconds for each
/// format, and where known group, `row_max` and `row_variance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Foreign {
    /// Table of times
    #[arg(value_name = "TABLE.tsv")]
    table: PathBuf,
    /// GPUs to carry times between, such as those measured with the same code: K40m,P100 (several times; default: all)
    #[arg(long = "among", value_name = "GPU,GPU", value_parser = listed)]
    groups: Vec<Listed>,
    /// Facts of the GPUs: gpu, `memory_gb_per_s`, `l2_mb`, separated by tabs
    #[arg(long, value_name = "FACTS.tsv")]
    facts: Option<PathBuf>,
    /// Numbers of matrices measured on both GPUs
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [0, 10, 400])]
    matrices: Vec<usize>,
    /// Draws of each number
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    draws: u16,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Names separated by commas.
#[derive(Debug, Clone)]
struct Listed(Vec<String>);

fn listed(text: &str) -> Result<Listed, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() < 2 { Err("name at least two GPUs".to_owned()) } else { Ok(Listed(names)) }
}

impl Foreign {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let mut table = ForeignTable::read(&self.table)?;
        if let Some(facts) = &self.facts {
            table.read_facts(facts)?;
        }
        let position = |name: &String| {
            table.gpus.iter().position(|gpu| gpu.name == *name).ok_or_else(|| {
                let known: Vec<_> = table.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
                Failure::input(format!("--among: the table has no GPU {name}; it has {}", known.join(", ")))
            })
        };
        let groups = match &self.groups[..] {
            [] => vec![(0..table.gpus.len()).collect()],
            some => {
                some.iter().map(|group| group.0.iter().map(position).collect()).collect::<Result<_, _>>()?
            }
        };
        let draws =
            ForeignDraws { matrices: self.matrices.clone(), draws: self.draws.into(), seed: self.seed };
        let evaluation = evaluate_foreign(&table, &groups, &draws);
        let name = |at: &usize| table.gpus[*at].name.clone();
        let answer = ForeignAnswer {
            table: self.table.clone(),
            implausible: table.implausible,
            groups: groups.iter().map(|group: &Vec<usize>| group.iter().map(name).collect()).collect(),
            draws: draws.draws,
            seed: self.seed,
            evaluation,
        };
        let sizes = (table.gpus.len(), table.matrices.len());
        context.printer.answer(&answer, || print(&answer, sizes, &self.matrices, &context.printer))
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn print(
    answer: &ForeignAnswer,
    (gpus, matrices): (usize, usize),
    counts: &[usize],
    out: &Printer,
) -> Result<(), Failure> {
    out.line(format_args!(
        "{}, {}; {} of each number of matrices, seed {}",
        counted(gpus as u64, "GPU"),
        text::matrices(matrices),
        counted(answer.draws as u64, "draw"),
        answer.seed
    ))?;
    if answer.implausible > 0 {
        let times = counted(answer.implausible as u64, "time");
        out.line(format_args!("left out, since far below a launch: {times}"))?;
    }
    let of_all = |row: &&ForeignError| row.format.is_none() && row.size.is_none();
    for &count in counts {
        out.line("")?;
        out.line(format_args!("median, mean error with {} measured on both", text::matrices(count)))?;
        out.line(errors(answer, count, &of_all, &|_| String::new()))?;
        out.line("")?;
        out.line("by format")?;
        let by_format = |row: &&ForeignError| row.format.is_some();
        out.line(errors(answer, count, &by_format, &|row| row.format.clone().unwrap_or_default()))?;
        out.line("")?;
        out.line("by non-zeros")?;
        let by_size = |row: &&ForeignError| row.size.is_some();
        out.line(errors(answer, count, &by_size, &|row| row.size.unwrap_or_default().to_owned()))?;
        out.line("")?;
        out.line("time of the best format over that of the one chosen by the carried times")?;
        let mut table = Table::new(&["<from", "<to", "<by", "best / chosen"]);
        for row in answer.evaluation.choices.iter().filter(|row| row.matrices == count) {
            let quality = format!("{:.3}", row.best_over_chosen);
            table.row([row.from.clone(), row.to.clone(), row.method.to_string(), quality]);
        }
        out.line(table)?;
        out.line("")?;
        out.line("90 % intervals: around learned times, made without the GPU; around calibrated ones, as the product makes them")?;
        let mut table = Table::new(&["<GPU left out", "<times", "inside", "high / low"]);
        for row in answer.evaluation.coverage.iter().filter(|row| row.matrices == count) {
            let (inside, wide) = (percent(row.inside), format!("{:.2}", row.high_over_low));
            table.row([row.to.clone(), row.method.to_string(), inside, wide]);
        }
        out.line(table)?;
    }
    Ok(())
}

/// A row a pair and `class`, a column a method.
fn errors(
    answer: &ForeignAnswer,
    count: usize,
    is_taken: &dyn Fn(&&ForeignError) -> bool,
    class: &dyn Fn(&ForeignError) -> String,
) -> Table {
    let rows = answer.evaluation.errors.iter().filter(|row| row.matrices == count).filter(is_taken);
    let rows: Vec<_> = rows.collect();
    let mut methods: Vec<ForeignMethod> = rows.iter().map(|row| row.method).collect();
    methods.sort_unstable();
    methods.dedup();
    let names: Vec<String> = methods.iter().map(ToString::to_string).collect();
    let titles = ["<from", "<to", "<"].into_iter().chain(names.iter().map(String::as_str));
    let mut table = Table::new(&titles.collect::<Vec<_>>());
    for of_one in rows.chunk_by(|a, b| (&a.from, &a.to, class(a)) == (&b.from, &b.to, class(b))) {
        let cell = |method: &ForeignMethod| {
            let row = of_one.iter().find(|row| row.method == *method);
            row.map_or(String::new(), |row| format!("{}, {}", percent(row.median), percent(row.mean)))
        };
        let first = of_one[0];
        let begin = [first.from.clone(), first.to.clone(), class(first)];
        table.row(begin.into_iter().chain(methods.iter().map(cell)));
    }
    table
}
