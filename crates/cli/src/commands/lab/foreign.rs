//! `sparsight lab foreign`: times of other people's, carried from GPU to GPU.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::printer::Printer;
use crate::table::{Columns, Table, cell_or};
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
        out.line(format_args!("\nmedian, mean error with {} measured on both", text::matrices(count)))?;
        out.line(errors(answer, count, &of_all, &|_| String::new()))?;
        out.line("\nby format")?;
        let by_format = |row: &&ForeignError| row.format.is_some();
        out.line(errors(answer, count, &by_format, &|row| row.format.clone().unwrap_or_default()))?;
        out.line("\nby non-zeros")?;
        let by_size = |row: &&ForeignError| row.size.is_some();
        out.line(errors(answer, count, &by_size, &|row| row.size.unwrap_or_default().to_owned()))?;
        out.line("\ntime of the best format over that of the one chosen by the carried times")?;
        out.line(Table::of(
            answer.evaluation.choices.iter().filter(|row| row.matrices == count),
            [
                ("<from", &|row| row.from.clone()),
                ("<to", &|row| row.to.clone()),
                ("<by", &|row| row.method.to_string()),
                ("best / chosen", &|row| format!("{:.3}", row.best_over_chosen)),
            ],
        ))?;
        out.line("\n90 % intervals: around learned times, made without the GPU; around calibrated ones, as the product makes them")?;
        out.line(Table::of(
            answer.evaluation.coverage.iter().filter(|row| row.matrices == count),
            [
                ("<GPU left out", &|row| row.to.clone()),
                ("<times", &|row| row.method.to_string()),
                ("inside", &|row| percent(row.inside)),
                ("high / low", &|row| format!("{:.2}", row.high_over_low)),
            ],
        ))?;
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
    let pairs = rows.chunk_by(|a, b| (&a.from, &a.to, class(a)) == (&b.from, &b.to, class(b)));
    let mut columns = Columns::of(pairs).with([
        ("<from", &|of| of[0].from.clone()),
        ("<to", &|of| of[0].to.clone()),
        ("<", &|of| class(of[0])),
    ]);
    for method in methods {
        let of_method = |of: &[&ForeignError]| {
            let row = of.iter().find(|row| row.method == method);
            cell_or("", row.map(|row| format!("{}, {}", percent(row.median), percent(row.mean))))
        };
        columns = columns.with([(&method.to_string(), &|of| of_method(of))]);
    }
    columns.table()
}
