//! Lines of epilogues on a CPU: read once, computed for runs of rows.
//!
//! ```text
//! line      c ? c : line | c          c        || && == != < <= > >= + - * / and unary - + !, as C ranks them
//! operand   1.5 | s | i | out | beta | d[i] | fmin(.., ..) | ( line )
//! ```
//! Everything is computed in `f64` and rounded where an entry is stored; GPUs compute lines in the type of the vectors.
//!
//! Own, since of the crates for expressions none has C's `?:` and subscripts beside its operators.

use super::{Epilogue, EpilogueError, Output, is_of_name};
use sparsight_matrix::Scalar;

/// Most rows that are computed at once. Chosen: the values of an operand stay in the first cache.
pub const MOST_ROWS: usize = 128;

/// Most parentheses and operands within each other. Chosen: each takes 1 KiB of the stack.
const MOST_DEPTH: usize = 64;

/// A name, and what it stands for with one operand.
type Unary = (&'static str, fn(f64) -> f64);
/// Likewise with two.
type Binary = (&'static str, fn(f64, f64) -> f64);

/// Functions with one argument and with two.
const UNARY: [Unary; 4] = [("fabs", f64::abs), ("sqrt", f64::sqrt), ("exp", f64::exp), ("log", f64::ln)];
const BINARY: [Binary; 2] = [("fmin", f64::min), ("fmax", f64::max)];

pub(super) fn is_function(name: &str) -> bool {
    UNARY.iter().any(|(known, _)| *known == name) || BINARY.iter().any(|(known, _)| *known == name)
}

/// Operators with two operands, those that bind least first.
#[expect(clippy::float_cmp, reason = "C's == is exact")]
const RANKS: [&[Binary]; 6] = [
    &[("||", |a, b| truth(a != 0.0 || b != 0.0))],
    &[("&&", |a, b| truth(a != 0.0 && b != 0.0))],
    &[("==", |a, b| truth(a == b)), ("!=", |a, b| truth(a != b))],
    &[
        ("<=", |a, b| truth(a <= b)),
        (">=", |a, b| truth(a >= b)),
        ("<", |a, b| truth(a < b)),
        (">", |a, b| truth(a > b)),
    ],
    &[("+", |a, b| a + b), ("-", |a, b| a - b)],
    &[("*", |a, b| a * b), ("/", |a, b| a / b)],
];

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The lines of an epilogue, to be computed on a CPU.
#[derive(Debug, Clone)]
pub struct Lines {
    /// That of y, then those of the outputs.
    lines: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Number(f64),
    Sum,
    Row,
    Out,
    X,
    Y,
    Vector(usize),
    Output(usize),
    Scalar(usize),
    Of(fn(f64) -> f64, Box<Node>),
    OfTwo(fn(f64, f64) -> f64, Box<[Node; 2]>),
    /// The second where the first is not 0, else the third.
    Choice(Box<[Node; 3]>),
}

/// Some neighbouring rows and their operands: slices with an entry for each of these rows.
#[derive(Debug)]
pub struct Chunk<'a, T> {
    /// Number of the first row.
    pub first: usize,
    /// Sums of the rows, A x.
    pub sums: &'a [T],
    /// x; empty if the epilogue does not read it.
    pub x: &'a [T],
    /// y: the old entries, and afterwards the new ones.
    pub y: &'a mut [T],
    /// All entries of the vectors that are read.
    pub vectors: &'a [&'a [T]],
    /// The outputs; those that an epilogue lacks are empty.
    pub outputs: [&'a mut [T]; super::MOST_OUTPUTS],
    /// Scalars.
    pub scalars: &'a [f64],
}

impl Lines {
    /// Reads all lines of an epilogue.
    ///
    /// # Errors
    /// [`EpilogueError::NeedsGpu`] for the first that holds more than arithmetic, comparisons, `?:` and the functions `fmin`, `fmax`,
    /// `fabs`, `sqrt`, `exp` and `log`.
    pub fn read(epilogue: &Epilogue) -> Result<Self, EpilogueError> {
        let read = |line: &str| {
            let mut reader = Reader { epilogue, line, rest: line, depth: 0 };
            let read = reader.choice().and_then(|(node, _)| match reader.rest.trim_start() {
                "" => Ok(node),
                rest => Err(format!("a processor does not know what '{rest}' is there")),
            });
            read.map_err(|problem| EpilogueError::NeedsGpu { line: line.to_owned(), problem })
        };
        let outputs = epilogue.outputs().iter().map(|Output { line, .. }| line.as_str());
        Ok(Self {
            lines: std::iter::once(epilogue.line()).chain(outputs).map(read).collect::<Result<_, _>>()?,
        })
    }

    /// Computes y and the outputs of at most [`MOST_ROWS`] rows, and adds their dot products, row by row, to `dots`.
    ///
    /// # Panics
    /// If there are more rows, or a slice has not as many entries as there are.
    pub fn compute<T: Scalar>(&self, epilogue: &Epilogue, chunk: &mut Chunk<'_, T>, dots: &mut [f64]) {
        let count = chunk.sums.len();
        let mut new = [[0.0; MOST_ROWS]; 1 + super::MOST_OUTPUTS];
        for at in 0..self.lines.len() {
            let (out, behind) = new.split_at_mut(at.min(1));
            let values = &mut behind[at - at.min(1)][..count];
            self.lines[at].compute(chunk, out.first().map(|out| &out[..count]), values);
            // As it is stored.
            for value in values {
                *value = T::from_f64(*value).to_f64();
            }
        }
        for (dot, [first, second]) in dots.iter_mut().zip(epilogue.dots()) {
            let of = |what: &super::DotOf, row: usize| match *what {
                super::DotOf::Y => new[0][row],
                super::DotOf::Output(output) => new[1 + output][row],
                super::DotOf::X => chunk.x[row].to_f64(),
                super::DotOf::S => chunk.sums[row].to_f64(),
                super::DotOf::Vector(vector) => chunk.vectors[vector][chunk.first + row].to_f64(),
            };
            for row in 0..count {
                *dot += of(first, row) * of(second, row);
            }
        }
        let outputs = chunk.outputs.iter_mut().map(|output| &mut **output);
        for (to, values) in std::iter::once(&mut *chunk.y).chain(outputs).zip(&new[..self.lines.len()]) {
            to.iter_mut().zip(values).for_each(|(to, value)| *to = T::from_f64(*value));
        }
    }
}

impl Node {
    /// Sets `to` to the values of all rows of a chunk.
    fn compute<T: Scalar>(&self, chunk: &Chunk<'_, T>, out: Option<&[f64]>, to: &mut [f64]) {
        let copy =
            |to: &mut [f64], from: &[T]| to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f64());
        match self {
            Self::Number(number) => to.fill(*number),
            Self::Scalar(scalar) => to.fill(T::from_f64(chunk.scalars[*scalar]).to_f64()),
            Self::Row => to.iter_mut().zip(chunk.first..).for_each(|(to, row)| *to = row as f64),
            Self::Out => to.copy_from_slice(out.expect("only outputs name it")),
            Self::Sum => copy(to, chunk.sums),
            Self::X => copy(to, chunk.x),
            Self::Y => copy(to, chunk.y),
            Self::Vector(vector) => copy(to, &chunk.vectors[*vector][chunk.first..]),
            Self::Output(output) => copy(to, chunk.outputs[*output]),
            Self::Of(function, of) => {
                of.compute(chunk, out, to);
                for to in to {
                    *to = function(*to);
                }
            }
            Self::OfTwo(function, of) => {
                let mut second = [0.0; MOST_ROWS];
                of[0].compute(chunk, out, to);
                of[1].compute(chunk, out, &mut second[..to.len()]);
                to.iter_mut().zip(second).for_each(|(to, second)| *to = function(*to, second));
            }
            Self::Choice(of) => {
                let mut both = [[0.0; MOST_ROWS]; 2];
                of[0].compute(chunk, out, to);
                of[1..]
                    .iter()
                    .zip(&mut both)
                    .for_each(|(of, both)| of.compute(chunk, out, &mut both[..to.len()]));
                for (row, to) in to.iter_mut().enumerate() {
                    *to = both[usize::from(*to == 0.0)][row];
                }
            }
        }
    }
}

/// A node, and whether C computes it in whole numbers.
type Read = Result<(Node, bool), String>;

struct Reader<'a> {
    epilogue: &'a Epilogue,
    line: &'a str,
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// Takes `token` off the rest if it is next.
    fn take(&mut self, token: &str) -> bool {
        let after = self.rest.trim_start().strip_prefix(token);
        // A single character of a longer operator, such as << or ||, is another operator.
        let is_whole = after.is_some_and(|after| {
            !"<>=&|".contains(token) || token.is_empty() || !after.starts_with(['<', '>', '=', '&', '|'])
        });
        if let Some(after) = after.filter(|_| is_whole) {
            self.rest = after;
        }
        is_whole
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) {
            Ok(())
        } else {
            Err(format!("a processor wants '{token}' in front of '{}'", self.rest))
        }
    }

    fn choice(&mut self) -> Read {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(format!("more than {MOST_DEPTH} operands are within each other"));
        }
        let (condition, is_whole) = self.rank(0)?;
        let read = if self.take("?") {
            let (yes, yes_whole) = self.choice()?;
            self.expect(":")?;
            let (no, no_whole) = self.choice()?;
            (Node::Choice(Box::new([condition, yes, no])), yes_whole && no_whole)
        } else {
            (condition, is_whole)
        };
        self.depth -= 1;
        Ok(read)
    }

    fn rank(&mut self, rank: usize) -> Read {
        let Some(operators) = RANKS.get(rank) else { return self.unary() };
        let (mut node, mut is_whole) = self.rank(rank + 1)?;
        let mut count = 0;
        while let Some((name, function)) = operators.iter().find(|(name, _)| self.take(name)) {
            let (second, second_whole) = self.rank(rank + 1)?;
            count += 1;
            if count > MOST_DEPTH {
                return Err(format!("more than {MOST_DEPTH} operands follow each other"));
            }
            is_whole &= second_whole;
            if is_whole && *name == "/" {
                return Err(
                    "C divides whole numbers, and drops what is behind the point: write 1.0 for 1".to_owned()
                );
            }
            if let (true, "*", Node::Number(a), Node::Number(b)) = (is_whole, *name, &node, &second)
                && a * b > f64::from(i32::MAX)
            {
                return Err("C multiplies whole numbers in 32 bits: write 1.0 for 1".to_owned());
            }
            node = Node::OfTwo(*function, Box::new([node, second]));
            // Of a comparison C makes 0 or 1.
            is_whole |= rank < 4;
        }
        Ok((node, is_whole))
    }

    fn unary(&mut self) -> Read {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(format!("more than {MOST_DEPTH} operands are within each other"));
        }
        let read = if self.take("-") {
            let (node, is_whole) = self.unary()?;
            (Node::Of(|a| -a, Box::new(node)), is_whole)
        } else if self.take("+") {
            self.unary()?
        } else if self.take("!") {
            (Node::Of(|a| truth(a == 0.0), Box::new(self.unary()?.0)), true)
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Ok(read)
    }

    fn operand(&mut self) -> Read {
        if self.take("(") {
            let read = self.choice()?;
            self.expect(")")?;
            return Ok(read);
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let end = self.rest.find(|c: char| !is_of_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let place = |names: &[String]| names.iter().position(|known| known == name);
        let vector = |node: Node, reader: &mut Self| {
            ["[", "i", "]"].iter().try_for_each(|token| reader.expect(token)).map(|()| (node, false))
        };
        if let Some(scalar) = place(self.epilogue.scalars()) {
            return Ok((Node::Scalar(scalar), false));
        }
        if let Some(at) = place(self.epilogue.vectors()) {
            return vector(Node::Vector(at), self);
        }
        if let Some(at) = self.epilogue.outputs().iter().position(|output| output.name == name) {
            return vector(Node::Output(at), self);
        }
        if let Some((_, function)) = UNARY.iter().find(|(known, _)| *known == name) {
            self.expect("(")?;
            let (of, _) = self.choice()?;
            self.expect(")")?;
            return Ok((Node::Of(*function, Box::new(of)), false));
        }
        if let Some((_, function)) = BINARY.iter().find(|(known, _)| *known == name) {
            self.expect("(")?;
            let (first, _) = self.choice()?;
            self.expect(",")?;
            let (second, _) = self.choice()?;
            self.expect(")")?;
            return Ok((Node::OfTwo(*function, Box::new([first, second])), false));
        }
        match name {
            "s" => Ok((Node::Sum, false)),
            "i" => Ok((Node::Row, true)),
            "out" => Ok((Node::Out, false)),
            "x" => vector(Node::X, self),
            "y" => vector(Node::Y, self),
            "" => Err(format!("a processor does not know what '{}' is in '{}'", self.rest, self.line)),
            name => Err(format!(
                "a processor does not know '{name}': it computes with + - * / ?:, comparisons, fmin, fmax, fabs, sqrt, exp and log"
            )),
        }
    }

    /// A number of C: digits with a point or an exponent; `f` behind it says which type it is.
    fn number(&mut self) -> Read {
        let mut end = 0;
        let bytes = self.rest.as_bytes();
        while end < bytes.len() {
            let is_sign = matches!(bytes[end], b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
            if !(bytes[end].is_ascii_alphanumeric() || bytes[end] == b'.' || is_sign) {
                break;
            }
            end += 1;
        }
        let (text, rest) = self.rest.split_at(end);
        let number = text.strip_suffix(['f', 'F']).unwrap_or(text);
        let value = number.parse().map_err(|_| format!("a processor does not know the number '{text}'"))?;
        let is_whole = !text.contains(['.', 'e', 'E', 'f', 'F']);
        if is_whole && (value > f64::from(i32::MAX) || text.len() > 1 && text.starts_with('0')) {
            return Err(format!("C reads the whole number '{text}' in its own way: write 1.0 for 1"));
        }
        self.rest = rest;
        Ok((Node::Number(value), is_whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a line with s = 3, row 2, d = 5, beta = 0.5, y = 7, x = 11.
    fn value(line: &str) -> Result<f64, String> {
        let epilogue = Epilogue::try_new(line, &["d"], &["beta"]).map_err(|error| error.to_string())?;
        let lines = Lines::read(&epilogue).map_err(|error| error.to_string())?;
        let mut y = [7.0];
        let d = [0.0, 0.0, 5.0];
        let mut chunk = Chunk {
            first: 2,
            sums: &[3.0],
            x: &[11.0],
            y: &mut y,
            vectors: &[&d],
            outputs: [&mut [], &mut [], &mut []],
            scalars: &[0.5],
        };
        lines.compute(&epilogue, &mut chunk, &mut []);
        Ok(y[0])
    }

    #[test]
    fn operators_rank_as_in_c() {
        for (line, expected) in [
            ("s + 2 * d[i]", 13.0),
            ("(s + 2) * d[i]", 25.0),
            ("s - 1 - 1", 1.0),
            ("12 / s / 2", 2.0),
            ("-s * -d[ i ] + +i", 17.0),
            ("s < d[i] == 1 ? y[i] : x[i]", 7.0),
            ("s >= d[i] ? 1 : s == 3 && beta != 0.5 || i > 2 ? 2 : 4", 4.0),
            ("!s + 1", 1.0),
            ("fmin(s, 2) + fmax(d[i], 9.5) + fabs(-s) + sqrt(4 * s - 3)", 17.5),
            ("exp(log(s))", 3.0_f64.ln().exp()),
            ("1.5e-1f * s + .5 + 2.E0", 0.15 * 3.0 + 2.5),
            ("1e+1 - s", 7.0),
            ("s > 0 ? s : 0 / beta", 3.0),
            ("s <= 3", 1.0),
        ] {
            assert_eq!(value(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_only_a_compiler_knows_needs_a_gpu() {
        for (line, why) in [
            ("pow(s, 2)", "does not know 'pow'"),
            ("s % 2", "does not know what '% 2'"),
            ("010 * s", "whole number '010'"),
            ("3000000000 * s", "whole number '3000000000'"),
            ("65536 * 65536 * s", "in 32 bits"),
            ("1 / 2 * s", "C divides whole numbers"),
            ("s * (i / 2)", "C divides whole numbers"),
            ("s * ((s > 1) / 2)", "C divides whole numbers"),
            ("s << 1", "does not know what '<< 1'"),
            ("s | 1", "does not know what '| 1'"),
            ("s +", "does not know what ''"),
            ("0x1p3 * s", "the number '0x1p3'"),
            ("(float)s", "does not know 'float'"),
            ("s, 2", "does not know what ', 2'"),
            ("s ? 1", "wants ':'"),
        ] {
            let error = value(line).unwrap_err();
            assert!(error.contains(why) && error.contains("needs a GPU"), "{line}: {error}");
        }
        let deep = format!("{}s{}", "(".repeat(100), ")".repeat(100));
        assert!(value(&deep).unwrap_err().contains("within each other"));
        let long = vec!["s"; 200].join(" + ");
        assert!(value(&long).unwrap_err().contains("follow each other"));
    }

    #[test]
    fn outputs_see_the_new_y_and_dots_what_was_stored() {
        let epilogue = Epilogue::try_new("s + y[i]", &[], &[])
            .and_then(|epilogue| epilogue.with_output("w", "2 * out - w[i]"))
            .and_then(|epilogue| epilogue.with_dot("y", "w"))
            .and_then(|epilogue| epilogue.with_dot("s", "x"))
            .unwrap();
        let (mut y, mut w) = ([1.0_f32, 2.0], [10.0_f32, 20.0]);
        let mut dots = [0.0; 2];
        let mut chunk = Chunk {
            first: 0,
            sums: &[3.0, f32::NAN],
            x: &[1.0, 0.0],
            y: &mut y,
            vectors: &[],
            outputs: [&mut w, &mut [], &mut []],
            scalars: &[],
        };
        Lines::read(&epilogue).unwrap().compute(&epilogue, &mut chunk, &mut dots);
        assert_eq!((y[0], w[0]), (4.0, -2.0));
        assert!(y[1].is_nan() && w[1].is_nan() && dots.iter().all(|dot| dot.is_nan()));
    }
}
