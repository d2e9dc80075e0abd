//! Rules as a text that a library can paste: nested ifs, in C++, C or Python.

use super::{Guard, Quantity, Rule, Rules};
use sparsight_kernels::Candidate;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::str::FromStr;

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A C++ header, from C++11 on: an `inline` function in the namespace `sparsight_rules`.
    Hpp,
    /// C, from C99 on: a `static` function.
    C,
    /// Python.
    Py,
}

impl Language {
    /// All, as people write them.
    pub const ALL: [(Self, &'static str); 3] = [(Self::Hpp, "hpp"), (Self::C, "c"), (Self::Py, "py")];
}

impl FromStr for Language {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(_, name)| *name == text);
        found.map(|(language, _)| language).ok_or_else(|| format!("'{text}' is none of hpp, c, py"))
    }
}

/// Quantities that are arguments; the other three follow from them.
const ARGUMENTS: [Quantity; 6] = [
    Quantity::Rows,
    Quantity::Columns,
    Quantity::NonZeros,
    Quantity::RowMin,
    Quantity::RowMax,
    Quantity::RowStd,
];

impl Rules {
    /// A function that chooses, with `heading` above it, a line of which becomes a comment. Its name is made of `name` and the value
    /// type, so that the rules of several GPUs can stand side by side: of `nvidia-h200-all`, `nvidia_h200_all_f64`, in C with
    /// `sparsight_` before it.
    pub fn text(&self, language: Language, name: &str, heading: &str) -> String {
        let mut text = String::new();
        let comment = if language == Language::Py { "#" } else { "//" };
        for line in heading.lines() {
            let line = format!("{comment} {line}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.before(language, &identifier(name)));
        let otherwise = self.otherwise_in(language, &identifier(name));
        ifs(&mut text, &self.rule, (language, &otherwise), 1);
        text.push_str(match language {
            Language::Hpp => "}\n\n}  // namespace sparsight_rules\n",
            Language::C => "}\n",
            Language::Py => "",
        });
        text
    }

    /// The name of the constant for what is run otherwise.
    fn otherwise_in(&self, language: Language, name: &str) -> String {
        let dtype = self.dtype;
        match language {
            Language::Hpp => format!("{name}_{dtype}_otherwise"),
            Language::C => format!("sparsight_{name}_{dtype}_otherwise"),
            Language::Py => format!("{}_OTHERWISE", format!("{name}_{dtype}").to_uppercase()),
        }
    }

    /// Up to the first question.
    fn before(&self, language: Language, name: &str) -> String {
        let names: Vec<&str> = ARGUMENTS.iter().map(|quantity| quantity.name()).collect();
        let (dtype, otherwise) = (self.dtype, quoted(self.otherwise));
        let mut asked = self.rule.asked();
        let guards = self.rule.taken().into_iter().filter_map(|taken| Guard::of(taken.format()));
        asked.extend(guards.flat_map(|guard| guard.asked()));
        let constant = self.otherwise_in(language, name);
        let of_c = || unused(&asked) + &derived(&asked, language);
        let about = |comment: &str| {
            [
                "The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.",
                "A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple",
                "of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.",
            ]
            .map(|line| format!("{comment} {line}\n"))
            .concat()
        };
        match language {
            Language::Hpp => {
                let arguments = names.join(", double ");
                format!(
                    "#pragma once\n\nnamespace sparsight_rules {{\n\nconstexpr const char* {constant} = {otherwise};\n\n{}inline \
                     const char* {name}_{dtype}(double {arguments})\n{{\n{}",
                    about("//"),
                    of_c()
                )
            }
            Language::C => {
                let arguments = names.join(", double ");
                format!(
                    "static const char* const {constant} = {otherwise};\n\n{}static const char* \
                     sparsight_{name}_{dtype}(double {arguments})\n{{\n{}",
                    about("//"),
                    of_c()
                )
            }
            Language::Py => format!(
                "{constant} = {otherwise}\n\n\n{}def {name}_{dtype}({}):\n{}",
                about("#"),
                names.join(", "),
                derived(&asked, language)
            ),
        }
    }
}

/// `name` as a name in all three languages.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let plain: String = name.chars().map(plain).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() {
        format!("gpu_{plain}")
    } else {
        plain
    }
}

fn is_ratio(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::RowStdOverMean | Quantity::RowMaxOverMean)
}

/// Those of the quantities asked for that follow from the arguments; 0 where they are divided by nothing.
fn derived(asked: &BTreeSet<Quantity>, language: Language) -> String {
    let line = |name: &str, value: &str, guard: &str| match language {
        Language::Py => format!("    {name} = {value} if {guard} > 0 else 0.0\n"),
        Language::Hpp | Language::C => format!("    const double {name} = {guard} > 0 ? {value} : 0.0;\n"),
    };
    let mut text = String::new();
    if asked.contains(&Quantity::RowMean) || asked.iter().any(|quantity| is_ratio(*quantity)) {
        text += &line("row_mean", "nnz / rows", "rows");
    }
    for (ratio, of) in [(Quantity::RowStdOverMean, "row_std"), (Quantity::RowMaxOverMean, "row_max")] {
        if asked.contains(&ratio) {
            text += &line(ratio.name(), &format!("{of} / row_mean"), "nnz");
        }
    }
    text
}

/// Tells compilers which arguments are not asked for.
fn unused(asked: &BTreeSet<Quantity>) -> String {
    let is_used = |argument: &Quantity| {
        let needs_it = |ratio: &Quantity| match argument {
            Quantity::Rows | Quantity::NonZeros => is_ratio(*ratio) || *ratio == Quantity::RowMean,
            Quantity::RowStd => *ratio == Quantity::RowStdOverMean,
            Quantity::RowMax => *ratio == Quantity::RowMaxOverMean,
            _ => false,
        };
        asked.contains(argument) || asked.iter().any(needs_it)
    };
    let mut text = String::new();
    for argument in ARGUMENTS.iter().filter(|argument| !is_used(argument)) {
        let _ = writeln!(text, "    (void){};", argument.name());
    }
    text
}

fn quoted(candidate: Candidate) -> String {
    format!("\"{candidate}\"")
}

/// What is returned for a candidate: itself, or where its guard does not hold `otherwise`.
fn returned(candidate: Candidate, language: Language, otherwise: &str) -> String {
    let (id, Some(guard)) = (quoted(candidate), Guard::of(candidate.format())) else {
        return quoted(candidate);
    };
    let mut holds = format!("{} <= {:?}", Quantity::RowMaxOverMean.name(), guard.row_max_over_mean);
    if let Some(most) = guard.row_std_over_mean {
        let or = if language == Language::Py { "or" } else { "||" };
        let _ = write!(holds, " {or} {} <= {most:?}", Quantity::RowStdOverMean.name());
    }
    match language {
        Language::Py => format!("{id} if {holds} else {otherwise}"),
        Language::Hpp | Language::C => format!("{holds} ? {id} : {otherwise}"),
    }
}

fn ifs(text: &mut String, rule: &Rule<Candidate>, (language, otherwise): (Language, &str), depth: usize) {
    let indent = "    ".repeat(depth);
    // Writing to a text cannot fail.
    let _ = match (rule, language) {
        (Rule::Take(candidate), _) => {
            let end = if language == Language::Py { "" } else { ";" };
            writeln!(text, "{indent}return {}{end}", returned(*candidate, language, otherwise))
        }
        (Rule::Ask { quantity, threshold, at_most, more }, _) => {
            let name = quantity.name();
            let (opens, closes) = match language {
                Language::Py => (format!("if {name} <= {threshold:?}:"), ""),
                _ => (format!("if ({name} <= {threshold:?}) {{"), "}"),
            };
            let _ = writeln!(text, "{indent}{opens}");
            ifs(text, at_most, (language, otherwise), depth + 1);
            if !closes.is_empty() {
                let _ = writeln!(text, "{indent}{closes}");
            }
            ifs(text, more, (language, otherwise), depth);
            Ok(())
        }
    };
}
