//! Epilogues: what is done with the sum of a row where a product y = A x would store it.
//!
//! ```text
//! s = (A x)_i                      the row's sum
//! y_i = line(s, i, operands)       an expression of C over numbers: s * d[i] + beta * z[i]
//! w_i = line(out, s, i, ...)       further outputs; `out` is the new y_i
//! dots                             sums over all rows of products of two of y, x, s and the vectors
//! ```
//! A line reads entry i of vectors and nothing else, so that it cannot leave them: a vector is named as `d[i]` only. It sees what
//! was there before the product: `y[i]` and `w[i]` are the old entries, also where the new ones are stored at the same place. Dot
//! products take the new ones.
//!
//! On GPUs the lines are compiled (`text.rs`), on a CPU they are read and computed (`expression.rs`).
//!
//! Deliberately absent: entries other than i, several statements, and sums of anything but products of two.

mod expression;
mod text;

pub use expression::{Chunk, Lines, MOST_ROWS};
pub use text::{THREADS_AT_ONCE, dots_pass_source, epilogue_pass_source, epilogue_source};

use std::fmt;
use thiserror::Error;

/// Most vectors that a line names, outputs not counted. Chosen: with the outputs and scalars, and the arguments of any kernel,
/// they stay within 48 parameters.
pub const MOST_VECTORS: usize = 8;

/// Most outputs beside y. Chosen: an iteration of a Krylov method renews four vectors.
pub const MOST_OUTPUTS: usize = 3;

/// Most scalars. Chosen, as the vectors.
pub const MOST_SCALARS: usize = 8;

/// Most dot products. Chosen: `BiCGStab` takes two of one product, a residual's norm comes on top.
pub const MOST_DOTS: usize = 3;

/// An expression for `y_i` of the row's sum, further outputs, and dot products over all rows.
///
/// Sums and scalars are `f64` whatever the vectors are: over millions of rows `f32` would lose half of its digits, and what a solver
/// computes of them, a step length, goes into every entry of a vector.
///
/// ```
/// use sparsight_kernels::Epilogue;
/// // y = A x, and the sum of y_i x_i: what an iteration of CG takes.
/// let product = Epilogue::product().with_dot("y", "x")?;
/// // A step of a gradient method.
/// let step = Epilogue::try_new("z[i] - tau * (s - b[i])", &["z", "b"], &["tau"])?.with_dot("y", "y")?;
/// assert_eq!((step.vectors().len(), step.scalars().len(), step.dots().len()), (2, 1, 1));
/// assert!(Epilogue::try_new("s; y[i] = 0", &[], &[]).is_err());
/// # Ok::<(), sparsight_kernels::EpilogueError>(())
/// ```
///
/// # Invariants
/// Checked when it is made.
/// * Names are identifiers of C, each used once, and none of those that lines have already.
/// * Lines hold no character that ends an expression, their parentheses are closed, and vectors are read at `[i]`.
/// * At most [`MOST_VECTORS`], [`MOST_OUTPUTS`], [`MOST_SCALARS`] and [`MOST_DOTS`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Epilogue {
    line: String,
    vectors: Vec<String>,
    scalars: Vec<String>,
    outputs: Vec<Output>,
    dots: Vec<[DotOf; 2]>,
}

/// A vector that is written beside y.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Output {
    /// Name of the vector.
    pub name: String,
    /// Expression for its entry i, of which `out` is the new `y_i`.
    pub line: String,
}

/// A factor of a dot product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DotOf {
    /// The new y.
    Y,
    /// x; the matrix must be square.
    X,
    /// The sums of the rows, A x.
    S,
    /// A vector, by its place in [`Epilogue::vectors`].
    Vector(usize),
    /// The new entries of an output, by its place in [`Epilogue::outputs`].
    Output(usize),
}

/// Fault of an epilogue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EpilogueError {
    /// A line that is no expression of what it may name.
    #[error("the epilogue '{line}' {problem}")]
    Line {
        /// The line.
        line: String,
        /// The fault, as a predicate.
        problem: String,
    },
    /// A name that cannot be one of an operand.
    #[error("'{name}' cannot name an operand of an epilogue: {problem}")]
    Name {
        /// The name.
        name: String,
        /// The fault.
        problem: &'static str,
    },
    /// More operands than a kernel takes.
    #[error("an epilogue has at most {most} {what}")]
    TooMany {
        /// `vectors`, `outputs`, `scalars` or `dot products`.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// A line that GPUs may compile and a processor cannot compute.
    #[error("the epilogue '{line}' needs a GPU: {problem}")]
    NeedsGpu {
        /// The line.
        line: String,
        /// What a processor does not know.
        problem: String,
    },
}

/// What lines name beside operands.
const OF_THE_ROW: [&str; 5] = ["s", "i", "x", "y", "out"];

/// Words of C++ that are no identifiers, and the types of the kernels.
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const \
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float for \
    friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public \
    register reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct switch template this \
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

impl Epilogue {
    /// An epilogue that stores `line` as `y_i`. `vectors` have an entry for each row, `scalars` are numbers; the line names both,
    /// the vectors as `d[i]`, beside `s`, `i`, `x[i]` (of a square matrix) and `y[i]`, the entry before the product.
    ///
    /// # Errors
    /// [`EpilogueError::Line`], [`EpilogueError::Name`], [`EpilogueError::TooMany`].
    pub fn try_new(line: &str, vectors: &[&str], scalars: &[&str]) -> Result<Self, EpilogueError> {
        Self::of_lines(line, vectors, scalars, &[])
    }

    /// The same with further outputs, name and line of each: all lines may read their old entries, that of y, too.
    ///
    /// ```
    /// use sparsight_kernels::Epilogue;
    /// // A step of CG: y is p, and q and r are renewed from the old p, q and r.
    /// let step = [("q", "s + beta * q[i]"), ("r", "r[i] - alpha * (s + beta * q[i])")];
    /// let step = Epilogue::of_lines("r[i] + beta * y[i]", &[], &["alpha", "beta"], &step)?;
    /// assert_eq!(step.outputs().len(), 2);
    /// # Ok::<(), sparsight_kernels::EpilogueError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Epilogue::try_new`].
    pub fn of_lines(
        line: &str,
        vectors: &[&str],
        scalars: &[&str],
        outputs: &[(&str, &str)],
    ) -> Result<Self, EpilogueError> {
        let mut made = Self {
            line: line.to_owned(),
            vectors: Vec::new(),
            scalars: Vec::new(),
            outputs: Vec::new(),
            dots: Vec::new(),
        };
        at_most("vectors", MOST_VECTORS, vectors.len())?;
        at_most("scalars", MOST_SCALARS, scalars.len())?;
        for name in vectors {
            made.check_name(name)?;
            made.vectors.push((*name).to_owned());
        }
        for name in scalars {
            made.check_name(name)?;
            made.scalars.push((*name).to_owned());
        }
        at_most("outputs", MOST_OUTPUTS, outputs.len())?;
        for (name, line) in outputs {
            made.check_name(name)?;
            made.outputs.push(Output { name: (*name).to_owned(), line: (*line).to_owned() });
        }
        made.check_line(line, false)?;
        outputs.iter().try_for_each(|(_, line)| made.check_line(line, true))?;
        Ok(made)
    }

    /// Writes a further vector, called `name`: `line` is its entry i, in which `out` is the new `y_i`. Its old entry is `name[i]`, in
    /// all lines that are added from here on.
    ///
    /// # Errors
    /// As [`Epilogue::try_new`].
    pub fn with_output(mut self, name: &str, line: &str) -> Result<Self, EpilogueError> {
        at_most("outputs", MOST_OUTPUTS, self.outputs.len() + 1)?;
        self.check_name(name)?;
        self.outputs.push(Output { name: name.to_owned(), line: line.to_owned() });
        self.check_line(line, true)?;
        Ok(self)
    }

    /// Adds up the product of two vectors over all rows: each is `y` (the new one), `x`, `s` or the name of a vector or output.
    ///
    /// # Errors
    /// [`EpilogueError::Name`], [`EpilogueError::TooMany`].
    pub fn with_dot(mut self, first: &str, second: &str) -> Result<Self, EpilogueError> {
        at_most("dot products", MOST_DOTS, self.dots.len() + 1)?;
        let of = |name: &str| {
            let vector = || self.vectors.iter().position(|known| known == name);
            let output = || self.outputs.iter().position(|output| output.name == name);
            match name {
                "y" => Ok(DotOf::Y),
                "x" => Ok(DotOf::X),
                "s" => Ok(DotOf::S),
                name => {
                    vector().map(DotOf::Vector).or_else(|| output().map(DotOf::Output)).ok_or_else(|| {
                        EpilogueError::Name {
                            name: name.to_owned(),
                            problem: "a dot product is of y, x, s and the epilogue's vectors",
                        }
                    })
                }
            }
        };
        let dot = [of(first)?, of(second)?];
        self.dots.push(dot);
        Ok(self)
    }

    /// The product as it is: `y_i` = s, for dot products alone.
    pub fn product() -> Self {
        Self::known("s", &[], &[])
    }

    /// y = alpha A x + beta z, of the scalars `alpha` and `beta` and the vector `z`, which is not read where `beta` is 0.
    pub fn axpby() -> Self {
        Self::known("beta == 0 ? alpha * s : alpha * s + beta * z[i]", &["z"], &["alpha", "beta"])
    }

    /// y = D A x, D the diagonal matrix of the vector `d`.
    pub fn scale() -> Self {
        Self::known("d[i] * s", &["d"], &[])
    }

    /// The projection of z + tau (A x + c) on the bounds `lower` and `upper`, a step of PDHG: of the scalar `tau` and the vectors `z`,
    /// `c`, `lower` and `upper`. NaN stays NaN; a bound that is infinite is none.
    pub fn project() -> Self {
        let step = "z[i] + tau * (s + c[i])";
        let line = format!("{step} < lower[i] ? lower[i] : {step} > upper[i] ? upper[i] : {step}");
        Self::known(&line, &["z", "c", "lower", "upper"], &["tau"])
    }

    fn known(line: &str, vectors: &[&str], scalars: &[&str]) -> Self {
        Self::try_new(line, vectors, scalars).expect("the lines of this file are right")
    }

    /// Expression for `y_i`.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Names of the vectors that are read, in the order in which a product is given them.
    pub fn vectors(&self) -> &[String] {
        &self.vectors
    }

    /// Names of the scalars, in the order in which a product is given them.
    pub fn scalars(&self) -> &[String] {
        &self.scalars
    }

    /// Vectors that are written beside y, in the order in which a product is given them.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Factors of the dot products, in the order of their results.
    pub fn dots(&self) -> &[[DotOf; 2]] {
        &self.dots
    }

    /// Returns whether entries of x are read by the number of their row: only of square matrices.
    pub fn reads_x(&self) -> bool {
        self.names("x") || self.dots.as_flattened().contains(&DotOf::X)
    }

    /// Returns whether the y before the product is read.
    pub fn reads_y(&self) -> bool {
        self.names("y")
    }

    fn lines(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.line).chain(self.outputs.iter().map(|output| &output.line))
    }

    fn names(&self, name: &str) -> bool {
        self.lines().any(|line| words(line).any(|word| word == name))
    }

    /// Names of the operands so far.
    fn operands(&self) -> impl Iterator<Item = &str> {
        let outputs = self.outputs.iter().map(|output| &output.name);
        self.vectors.iter().chain(&self.scalars).chain(outputs).map(String::as_str)
    }

    fn check_name(&self, name: &str) -> Result<(), EpilogueError> {
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let problem = if !starts_well || !name.chars().all(is_of_name) || name.contains("__") {
            "it is no identifier of C"
        } else if OF_THE_ROW.contains(&name) || expression::is_function(name) {
            "lines have that name already"
        } else if KEYWORDS.split_whitespace().any(|word| word == name) {
            "it is a word of C++"
        } else if name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase()) {
            "names in capitals are those of the kernels"
        } else if self.operands().any(|known| known == name) {
            "another operand has it"
        } else {
            return Ok(());
        };
        Err(EpilogueError::Name { name: name.to_owned(), problem })
    }

    fn check_line(&self, line: &str, has_out: bool) -> Result<(), EpilogueError> {
        let wrong = |problem: String| Err(EpilogueError::Line { line: line.to_owned(), problem });
        if words(line).next().is_none() {
            return wrong("names nothing: an epilogue is an expression such as s * d[i]".to_owned());
        }
        let foreign = |c: char| !(is_of_name(c) || " .,()[]+-*/%<>=!?:&|~^".contains(c));
        if let Some(c) = line.chars().find(|c| foreign(*c)) {
            return wrong(format!("has {c:?}: it is one expression of C, on one line"));
        }
        for (pair, is_what) in [("//", "a comment"), ("/*", "a comment"), ("*)", "a cast to a pointer")] {
            if without_blanks(line).contains(pair) {
                return wrong(format!("has {pair}, {is_what}"));
            }
        }
        if line.replace("&&", "").contains('&') {
            return wrong("has &: logical and is &&".to_owned());
        }
        let mut open = Vec::new();
        for c in line.chars() {
            match c {
                '(' | '[' => open.push(c),
                ')' if open.pop() != Some('(') => {
                    return wrong("closes a parenthesis that is not open".to_owned());
                }
                ']' if open.pop() != Some('[') => {
                    return wrong("closes a bracket that is not open".to_owned());
                }
                _ => {}
            }
        }
        if !open.is_empty() {
            return wrong("does not close all parentheses".to_owned());
        }
        if !has_out && words(line).any(|word| word == "out") {
            return wrong("names `out`, the new y, which it is itself; the old one is y[i]".to_owned());
        }
        self.check_indices(line)
    }

    /// Refuses vectors that are not read at `[i]`, and everything else that is.
    fn check_indices(&self, line: &str) -> Result<(), EpilogueError> {
        let outputs = self.outputs.iter().map(|output| &output.name);
        let vectors: Vec<&str> =
            ["x", "y"].into_iter().chain(self.vectors.iter().chain(outputs).map(String::as_str)).collect();
        let wrong = |problem: String| Err(EpilogueError::Line { line: line.to_owned(), problem });
        let mut brackets = 0;
        for word in words(line) {
            let behind = &line[word.as_ptr() as usize - line.as_ptr() as usize + word.len()..];
            let is_at_i = behind.trim_start().strip_prefix('[').is_some_and(|inside| {
                inside.trim_start().strip_prefix('i').is_some_and(|rest| rest.trim_start().starts_with(']'))
            });
            if vectors.contains(&word) && !is_at_i {
                return wrong(format!(
                    "names the vector {word} without [i]: entry i is {word}[i], and no other is read"
                ));
            }
            if is_at_i && !vectors.contains(&word) {
                return wrong(format!("reads {word}[i], and {word} is none of its vectors"));
            }
            brackets += usize::from(is_at_i);
        }
        if line.matches('[').count() != brackets {
            return wrong("has brackets that are not [i] behind a vector".to_owned());
        }
        Ok(())
    }
}

/// The line, and further outputs.
impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "y[i] = {}", self.line)?;
        self.outputs.iter().try_for_each(|Output { name, line }| write!(f, ", {name}[i] = {line}"))
    }
}

fn at_most(what: &'static str, most: usize, count: usize) -> Result<(), EpilogueError> {
    if count <= most { Ok(()) } else { Err(EpilogueError::TooMany { what, most }) }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn without_blanks(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Words of a line that begin with no digit; what follows a digit is of a number.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(is_of_name)?;
            let from = &rest[start..];
            let is_number = from.starts_with(|c: char| c.is_ascii_digit());
            // 1.5e is of the number, the sign of its exponent and what follows it begins with a digit again.
            let end = from.find(|c: char| !(is_of_name(c) || is_number && c == '.')).unwrap_or(from.len());
            rest = &from[end..];
            if !is_number {
                return Some(&from[..end]);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        Epilogue::try_new(line, &["d", "z"], &["beta"]).unwrap_err().to_string()
    }

    #[test]
    fn lines_that_are_no_single_expression_are_refused() {
        for (line, why) in [
            ("s; y[i] = 0", "';'"),
            ("s * {2}", "'{'"),
            ("#define s", "'#'"),
            ("s\n", "'\\n'"),
            ("s // twice", "//, a comment"),
            ("s / * 2 */", "/*, a comment"),
            ("*(double * )beta", "a cast to a pointer"),
            ("s & 1", "&&"),
            ("s) + (s", "closes a parenthesis"),
            ("(s", "does not close"),
            ("s + ]", "closes a bracket"),
            ("", "names nothing"),
            ("1.5e3", "names nothing"),
            ("out * 2", "the old one is y[i]"),
        ] {
            assert!(refused(line).contains(why), "{line}: {}", refused(line));
        }
    }

    #[test]
    fn vectors_are_read_at_i_and_nothing_else_is() {
        for (line, why) in [
            ("s * d", "vector d without [i]"),
            ("s * d[i + 1]", "vector d without [i]"),
            ("*d", "vector d without [i]"),
            ("x[0]", "vector x without [i]"),
            ("beta[i] * s", "beta is none of its vectors"),
            ("s[i]", "s is none of its vectors"),
            ("s * (d[i])[i]", "brackets"),
        ] {
            assert!(refused(line).contains(why), "{line}: {}", refused(line));
        }
        let line = "beta * s + d [ i ] * 1.5e-3f + y[i] - x[i]";
        assert!(Epilogue::try_new(line, &["d"], &["beta"]).is_ok());
    }

    #[test]
    fn names_of_operands_are_identifiers_that_nothing_else_has() {
        let of = |vectors: &[&str], scalars: &[&str]| {
            Epilogue::try_new("s", vectors, scalars).map(drop).map_err(|e| e.to_string())
        };
        for (name, why) in [
            ("2d", "no identifier"),
            ("d d", "no identifier"),
            ("__d", "no identifier"),
            ("", "no identifier"),
            ("x", "already"),
            ("out", "already"),
            ("fmin", "already"),
            ("double", "a word of C++"),
            ("BLOCK", "in capitals"),
        ] {
            assert!(of(&[name], &[]).unwrap_err().contains(why), "{name}");
            assert!(of(&[], &[name]).unwrap_err().contains(why), "{name}");
        }
        assert!(of(&["d"], &["d"]).unwrap_err().contains("another operand"));
        assert_eq!(of(&["D", "alpha_1", "_z"], &["alpha"]), Ok(()));
        assert!(
            of(&["a", "b", "c", "d", "e", "f", "g", "h", "j"], &[])
                .unwrap_err()
                .contains("at most 8 vectors")
        );
    }

    #[test]
    fn dots_and_outputs_name_what_is_there() {
        let epilogue = Epilogue::axpby().with_output("w", "2 * out - w[i]").unwrap();
        let all =
            epilogue.with_dot("y", "x").unwrap().with_dot("w", "s").unwrap().with_dot("z", "z").unwrap();
        assert_eq!(
            all.dots(),
            [[DotOf::Y, DotOf::X], [DotOf::Output(0), DotOf::S], [DotOf::Vector(0), DotOf::Vector(0)]]
        );
        assert!(all.reads_x() && !all.reads_y());
        assert!(all.with_dot("y", "y").unwrap_err().to_string().contains("at most 3 dot products"));
        let unknown = Epilogue::product().with_dot("y", "r").unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "'r' cannot name an operand of an epilogue: a dot product is of y, x, s and the epilogue's vectors"
        );
        assert!(Epilogue::product().with_output("w", "q[i]").is_err());
        assert!(Epilogue::try_new("y[i] + s", &[], &[]).unwrap().reads_y());
    }

    #[test]
    fn lines_that_are_given_together_read_the_old_entries_of_all_outputs() {
        let of = |line: &str, outputs: &[(&str, &str)]| Epilogue::of_lines(line, &[], &["beta"], outputs);
        let step = of("r[i] + beta * y[i]", &[("q", "s + q[i] * r[i]"), ("r", "out - q[i]")]).unwrap();
        assert!(step.reads_y() && step.outputs().len() == 2);
        for (line, outputs, why) in [
            ("r[i]", &[("q", "s")][..], "r is none of its vectors"),
            ("out", &[("q", "s")], "`out`"),
            ("s", &[("beta", "s")], "another operand"),
            ("s", &[("q", "s"), ("q", "s")], "another operand"),
            ("s", &[("a", "s"), ("b", "s"), ("c", "s"), ("d", "s")], "at most 3 outputs"),
        ] {
            let refused = of(line, outputs).unwrap_err().to_string();
            assert!(refused.contains(why), "{line}: {refused}");
        }
    }
}
