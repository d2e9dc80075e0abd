//! Rules as a text that a library can paste: nested ifs, in C++, C, Python or Rust.

use super::{Guard, Quantity, Rule, Rules};
use serde::Serialize;
use sparsight_kernels::Candidate;
use sparsight_matrix::display_as_serialized;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::str::FromStr;

/// A language. Displayed as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// A C++ header, from C++11 on: an `inline` function in the namespace `sparsight_rules`.
    Hpp,
    /// C, from C99 on: a `static` function.
    C,
    /// Python.
    Py,
    /// Rust: a function of the crate.
    Rs,
}

impl Language {
    /// All.
    pub const ALL: [Self; 4] = [Self::Hpp, Self::C, Self::Py, Self::Rs];
}

display_as_serialized!(Language);

impl FromStr for Language {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|language| language.to_string() == text);
        found.ok_or_else(|| format!("'{text}' is none of hpp, c, py, rs"))
    }
}

impl Rules {
    /// A function that chooses, with `heading` above it, each line of which becomes a comment and nothing else, whatever names stand in
    /// it: what some language takes for the end of a line is written as in a string of Rust. The function's name is made of `name` and the value
    /// type, so that the rules of several GPUs can stand side by side: of `nvidia-h200-all`, `nvidia_h200_all_f64`, in C with
    /// `sparsight_` before it.
    pub fn text(&self, language: Language, name: &str, heading: &str) -> String {
        let mut text = String::new();
        for line in heading.lines() {
            text.push_str(&commented(language, line));
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.before(language, &identifier(name)));
        let otherwise = self.otherwise_in(language, &identifier(name));
        ifs(&mut text, &self.rule, (language, &otherwise), 1);
        text.push_str(match language {
            Language::Hpp => "}\n\n}  // namespace sparsight_rules\n",
            Language::C | Language::Rs => "}\n",
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
            Language::Py | Language::Rs => format!("{}_OTHERWISE", format!("{name}_{dtype}").to_uppercase()),
        }
    }

    /// Up to the first question.
    fn before(&self, language: Language, name: &str) -> String {
        let names = Quantity::ARGUMENTS.map(|quantity| quantity.to_string());
        let (dtype, otherwise) = (self.dtype, quoted(self.otherwise));
        let mut asked = self.rule.asked();
        let guards = self.rule.taken().into_iter().filter_map(|taken| Guard::of(taken.format()));
        asked.extend(guards.flat_map(|guard| guard.asked()));
        let constant = self.otherwise_in(language, name);
        let about = |comment: &str| {
            [
                "The id of the candidate to run; row_min, row_max and row_std: least, largest and standard deviation of the row lengths.",
                "A format that could store more than 8 times the non-zeros, besides rows that fill up its last slice (ELL: to a multiple",
                "of 32), is not returned, but the one that is called otherwise; run that, too, where there is no memory for a format.",
            ]
            .map(|line| format!("{comment} {line}\n"))
            .concat()
        };
        let of_c = |constant_is: &str, function_is: &str| {
            format!(
                "{constant_is} {constant} = {otherwise};\n\n{}{function_is}{name}_{dtype}(double {})\n{{\n{}{}",
                about("//"),
                names.join(", double "),
                unused(&asked, language),
                derived(&asked, language)
            )
        };
        match language {
            Language::Hpp => {
                let begin = "#pragma once\n\nnamespace sparsight_rules {\n\nconstexpr const char*";
                of_c(begin, "inline const char* ")
            }
            Language::C => of_c("static const char* const", "static const char* sparsight_"),
            Language::Py => format!(
                "{constant} = {otherwise}\n\n\n{}def {name}_{dtype}({}):\n{}",
                about("#"),
                names.join(", "),
                derived(&asked, language)
            ),
            Language::Rs => {
                let is_guarded = self.rule.taken().iter().any(|taken| Guard::of(taken.format()).is_some());
                let fallback = format!("pub(crate) const {constant}: &str = {otherwise};\n\n");
                format!(
                    "{}{}pub(crate) fn {name}_{dtype}({}: f64) -> &'static str {{\n{}{}",
                    if is_guarded { fallback } else { String::new() },
                    about("//"),
                    names.join(": f64, "),
                    unused(&asked, language),
                    derived(&asked, language)
                )
            }
        }
    }
}

/// A line as a comment that ends with it.
fn commented(language: Language, line: &str) -> String {
    // Ends of lines of Python, C and Unicode, and what turns the direction of writing.
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let shown = |c: char| if acts(c) { c.escape_unicode().to_string() } else { c.to_string() };
    let line: String = line.trim_end().chars().map(shown).collect();
    match language {
        // Python reads the encoding of a file from such words in its first two lines.
        Language::Py => format!("# {}", line.replace("coding:", "coding :").replace("coding=", "coding ="))
            .trim_end()
            .to_owned(),
        // A backslash, or three letters that stand for one, would join the next line to the comment.
        Language::Hpp | Language::C if line.ends_with('\\') || line.ends_with("??/") => format!("// {line}."),
        Language::Rs | Language::Hpp | Language::C => format!("// {line}").trim_end().to_owned(),
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

/// The quantities asked for that follow from the arguments; 0 where they are divided by nothing.
fn derived(asked: &BTreeSet<Quantity>, language: Language) -> String {
    let line = |name: &str, value: &str, guard: &str| match language {
        Language::Py => format!("    {name} = {value} if {guard} > 0 else 0.0\n"),
        Language::Rs => format!("    let {name} = if {guard} > 0.0 {{ {value} }} else {{ 0.0 }};\n"),
        Language::Hpp | Language::C => format!("    const double {name} = {guard} > 0 ? {value} : 0.0;\n"),
    };
    let mut text = String::new();
    if asked.contains(&Quantity::RowMean) || asked.iter().any(|quantity| is_ratio(*quantity)) {
        text += &line("row_mean", "nnz / rows", "rows");
    }
    for (ratio, of) in [(Quantity::RowStdOverMean, "row_std"), (Quantity::RowMaxOverMean, "row_max")] {
        if asked.contains(&ratio) {
            text += &line(&ratio.to_string(), &format!("{of} / row_mean"), "nnz");
        }
    }
    text
}

/// Tells compilers which arguments are not asked for.
fn unused(asked: &BTreeSet<Quantity>, language: Language) -> String {
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
    for argument in Quantity::ARGUMENTS.iter().filter(|argument| !is_used(argument)) {
        let before = if language == Language::Rs { "let _ = " } else { "(void)" };
        let _ = writeln!(text, "    {before}{argument};");
    }
    text
}

fn quoted(candidate: Candidate) -> String {
    format!("\"{candidate}\"")
}

/// The expression for a candidate: itself, or `otherwise` where its guard does not hold.
fn returned(candidate: Candidate, language: Language, otherwise: &str) -> String {
    let (id, Some(guard)) = (quoted(candidate), Guard::of(candidate.format())) else {
        return quoted(candidate);
    };
    let mut holds = format!("{} <= {:?}", Quantity::RowMaxOverMean, guard.row_max_over_mean);
    if let Some(most) = guard.row_std_over_mean {
        let or = if language == Language::Py { "or" } else { "||" };
        let _ = write!(holds, " {or} {} <= {most:?}", Quantity::RowStdOverMean);
    }
    match language {
        Language::Py => format!("{id} if {holds} else {otherwise}"),
        Language::Rs => format!("if {holds} {{ {id} }} else {{ {otherwise} }}"),
        Language::Hpp | Language::C => format!("{holds} ? {id} : {otherwise}"),
    }
}

fn ifs(text: &mut String, rule: &Rule<Candidate>, (language, otherwise): (Language, &str), depth: usize) {
    let indent = "    ".repeat(depth);
    // Writing to a text cannot fail.
    match rule {
        Rule::Take(candidate) => {
            let end = if language == Language::Py { "" } else { ";" };
            let _ = writeln!(text, "{indent}return {}{end}", returned(*candidate, language, otherwise));
        }
        Rule::Ask { quantity, threshold, at_most, more } => {
            let asks = format!("{quantity} <= {threshold:?}");
            let (opens, closes) = match language {
                Language::Py => (format!("if {asks}:"), String::new()),
                Language::Rs => (format!("if {asks} {{"), format!("{indent}}}\n")),
                Language::Hpp | Language::C => (format!("if ({asks}) {{"), format!("{indent}}}\n")),
            };
            let _ = writeln!(text, "{indent}{opens}");
            ifs(text, at_most, (language, otherwise), depth + 1);
            *text += &closes;
            ifs(text, more, (language, otherwise), depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_ends_with_its_line_and_says_nothing_of_an_encoding() {
        for language in [Language::Hpp, Language::C, Language::Py] {
            let comment = commented(language, "a\rb\u{2028}c\u{0}d\u{2067}");
            assert!(comment.ends_with(" a\\u{d}b\\u{2028}c\\u{0}d\\u{2067}"), "{comment}");
        }
        assert_eq!(commented(Language::Py, "on coding: utf-7, coding=x"), "# on coding : utf-7, coding =x");
        assert_eq!(commented(Language::C, "by folder\\ "), "// by folder\\.");
        assert_eq!(commented(Language::Hpp, "by folder??/"), "// by folder??/.");
        assert_eq!([Language::C, Language::Py].map(|language| commented(language, "")), ["//", "#"]);
    }
}
