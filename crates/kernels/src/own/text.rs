//! Text of a user's kernel file: directives in comments, and the heads of its kernels.

/// Fault with its place.
type Wrong = (usize, String);

/// A file taken apart; lines count from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileText {
    pub(super) format: Option<(usize, String)>,
    pub(super) blocks: Vec<u32>,
    pub(super) kernels: Vec<KernelText>,
}

/// The head of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KernelText {
    pub(super) entry: String,
    pub(super) line: usize,
    /// The directive above it, as it was written.
    pub(super) threads: Option<(usize, String)>,
    pub(super) parameters: Vec<ParameterText>,
}

/// `const float* __restrict__ values` is `values`, of `float`, a pointer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParameterText {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) is_pointer: bool,
    pub(super) line: usize,
}

/// Prefix of a directive.
const DIRECTIVE: &str = "// sparsight:";

/// Most threads of a block, on every GPU; and what a block is a multiple of: a warp.
const MOST_THREADS: u32 = 1024;
const WARP: u32 = 32;

impl FileText {
    pub(super) fn of(text: &str) -> Result<Self, Wrong> {
        let (mut format, mut blocks) = (None, Vec::new());
        let mut threads: Vec<(usize, String)> = Vec::new();
        for (line, words) in (1..).zip(text.lines()) {
            let Some(words) = words.trim_start().strip_prefix(DIRECTIVE) else { continue };
            let words = words.trim();
            let (key, value) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
            match (key, value.trim()) {
                // As tables name it, `sell c32 s1`, or with slashes.
                ("format", id) => {
                    let words: Vec<&str> = id.split_whitespace().collect();
                    format = Some((line, words.join("/")));
                }
                ("blocks", sizes) => {
                    let all: Result<Vec<u32>, String> = sizes.split_whitespace().map(block).collect();
                    blocks = all.map_err(|why| (line, why))?;
                }
                ("threads", count) => threads.push((line, count.to_owned())),
                (key, _) => return Err((line, format!("'{key}' is none of format, blocks and threads"))),
            }
        }
        let mut kernels = kernels(&without_comments(text))?;
        let mut before = 0;
        for kernel in &mut kernels {
            let above = |(line, _): &&(usize, String)| (before..kernel.line).contains(line);
            kernel.threads = threads.iter().rev().find(above).cloned();
            before = kernel.line;
        }
        match (threads.last(), kernels.last()) {
            (_, None) => {
                Err((1, "there is no kernel (extern \"C\" __global__ void NAME(...)) in it".to_owned()))
            }
            (Some((line, _)), Some(kernel)) if *line > kernel.line => {
                Err((*line, "no kernel follows that these threads are for".to_owned()))
            }
            _ => Ok(Self { format, blocks, kernels }),
        }
    }
}

fn block(text: &str) -> Result<u32, String> {
    let found = text
        .parse()
        .ok()
        .filter(|threads: &u32| (WARP..=MOST_THREADS).contains(threads) && threads.is_multiple_of(WARP));
    found.ok_or_else(|| {
        format!("'{text}' is no number of threads of a block: a multiple of {WARP} up to {MOST_THREADS}")
    })
}

/// `text` with blanks in place of comments, on the same lines. What a literal holds does not matter here.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        code += before;
        let length = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if let Some(inside) = from.strip_prefix("/*") {
            inside.find("*/").map_or(from.len(), |end| end + 4)
        } else {
            code.push('/');
            rest = &from[1..];
            continue;
        };
        code.push(' ');
        code.extend(from[..length].chars().filter(|c| *c == '\n'));
        rest = &from[length..];
    }
    code + rest
}

/// The heads of all kernels that are defined, in their order.
fn kernels(code: &str) -> Result<Vec<KernelText>, Wrong> {
    let mut found = Vec::new();
    let is_c_throughout = code.split("extern \"C\"").skip(1).any(|rest| rest.trim_start().starts_with('{'));
    for (at, word) in code.match_indices("__global__") {
        let line = line_of(code, at);
        let wrong = |problem: &str| (line, problem.to_owned());
        let declared = code[..at].rsplit([';', '}']).next().unwrap_or_default();
        let mut rest = &code[at + word.len()..];
        let (name, inside) = loop {
            let (head, behind) =
                rest.split_once('(').ok_or_else(|| wrong("a kernel without parameters in parentheses"))?;
            let name = head.trim_end().rsplit(|c: char| !is_of_name(c)).next().unwrap_or_default();
            let end = closing(behind).ok_or_else(|| wrong("a parenthesis of the kernel is not closed"))?;
            rest = &behind[end + 1..];
            if name != "__launch_bounds__" {
                break (name, &behind[..end]);
            }
        };
        if rest.trim_start().starts_with(';') {
            continue;
        }
        if declared.contains("template") {
            return Err(wrong(
                "the kernel is a template; instantiate it in one that is declared extern \"C\"",
            ));
        }
        if !is_c_throughout && !declared.contains("extern \"C\"") {
            return Err(wrong("the kernel is not declared extern \"C\""));
        }
        if name.is_empty() {
            return Err(wrong("the kernel has no name"));
        }
        let begin = inside.as_ptr() as usize - code.as_ptr() as usize;
        let mut parameters = Vec::new();
        let mut place = begin;
        for text in inside.split(',') {
            let first = place + text.len() - text.trim_start().len();
            if !(text.trim().is_empty() || text.trim() == "void") {
                parameters.push(parameter(text, line_of(code, first))?);
            }
            place += text.len() + 1;
        }
        found.push(KernelText { entry: name.to_owned(), line, threads: None, parameters });
    }
    Ok(found)
}

fn parameter(text: &str, line: usize) -> Result<ParameterText, Wrong> {
    let is_pointer = text.contains('*');
    let apart = text.replace('*', " ");
    let meaningless = ["const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__"];
    let words: Vec<&str> = apart.split_whitespace().filter(|word| !meaningless.contains(word)).collect();
    match words.split_last() {
        Some((name, of))
            if !of.is_empty() && name.chars().all(is_of_name) && text.matches('*').count() < 2 =>
        {
            Ok(ParameterText { name: (*name).to_owned(), of: of.join(" "), is_pointer, line })
        }
        _ => Err((line, format!("'{}' is no parameter with a type and a name", text.trim()))),
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// End of the parenthesis within which `text` begins.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, c)| {
        open += i32::from(c == '(') - i32::from(c == ')');
        (open == 0).then_some(at)
    })
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}
