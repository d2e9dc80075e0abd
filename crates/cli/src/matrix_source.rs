//! Source of a matrix: a file, `-` for standard input, a pipe, `gallery:NAME[,key=value...]`, or any of them with
//! `derived:STEPS:` before it. Several, or a folder, are a batch.

/// The help of the argument MATRIX, with what the command does with several.
macro_rules! matrices {
    ($and:literal) => {
        concat!(
            "Matrices: files (Matrix Market, .npz of scipy.sparse, Harwell-Boeing and Rutherford-Boeing, plain, compressed or in a tar or \
             zip archive), folders of them, - for standard input, gallery:NAME[,key=value...] (`sparsight gallery`) or GROUP/NAME of the SuiteSparse collection",
            $and
        )
    };
}

pub(crate) use matrices;

mod walk;

use crate::context::Context;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::text::{counted, grouped, shown};
use sparsight::advise::Told;
use sparsight::matrix::derived::{self, Derivation};
use sparsight::matrix::gallery::{self, Recipe, Size};
use sparsight::matrix::io::{self, Field, Loaded, PatternValues, ReadError, ReadOptions, Stored};
use sparsight::matrix::{Csr, Scalar};
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use walk::Walk;

/// Bytes of a file per non-zero: between 3 of a compressed pattern and 20 of text. Chosen.
const BYTES_PER_NON_ZERO: u64 = 8;

/// Non-zeros of a row, where nothing is known of it. Chosen.
const ROW: u128 = 10;

/// A matrix to come.
#[derive(Debug, Clone)]
pub(crate) enum MatrixSource {
    /// A file that exists, or at least was named.
    File(PathBuf),
    /// Standard input, or a pipe, which are read once; where that is, and whether it was read.
    Stream { path: Option<PathBuf>, was_read: Arc<AtomicBool> },
    /// A recipe of the gallery, and how it was written.
    Gallery { recipe: Recipe, written: String },
    /// Made from another.
    Derived { steps: Derivation, from: Box<MatrixSource> },
    /// A folder without a matrix, and why it cannot be read, if that is why: a batch passes over it as over an unreadable file.
    Nothing { folder: PathBuf, cause: Option<String> },
}

impl MatrixSource {
    /// Parses what was written on the command line.
    pub(crate) fn named(text: &str) -> Result<Self, Failure> {
        if text.starts_with(gallery::PREFIX) {
            return Ok(Self::Gallery { recipe: text.parse()?, written: text.to_owned() });
        }
        if let Some((steps, from)) = derivation(text)? {
            return Ok(Self::Derived { steps, from: Box::new(Self::named(from)?) });
        }
        let is_pipe = |path: &Path| path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir());
        let path = PathBuf::from(text);
        Ok(match text {
            "-" => Self::Stream { path: None, was_read: Arc::default() },
            _ if is_pipe(&path) => Self::Stream { path: Some(path), was_read: Arc::default() },
            _ => Self::File(
                SuiteSparse::named(text).and_then(|matrix| matrix.file_here(Path::new(""))).unwrap_or(path),
            ),
        })
    }

    /// All matrices that `paths` name: folders are replaced by the matrices below them, in order. Each file comes once, however
    /// many names and links lead to it; files beside a matrix that are none are passed over, and `printer` says which. A folder that
    /// cannot be read or holds no matrix is among them as one that cannot be read.
    ///
    /// # Errors
    /// If there are such folders and nothing else, and for a wrong recipe or derivation.
    pub(crate) fn batch(paths: &[String], printer: &Printer) -> Result<Vec<Self>, Failure> {
        let found = Self::found(paths, printer)?;
        let nothing: Option<Vec<Failure>> = found.iter().map(Self::why_nothing).collect();
        match nothing.and_then(|all| all.into_iter().next()) {
            Some(first) => Err(first),
            None => Ok(found),
        }
    }

    /// What [`MatrixSource::batch`] gives, also if it is folders without a matrix alone.
    fn found(paths: &[String], printer: &Printer) -> Result<Vec<Self>, Failure> {
        let mut walk = Walk::new(printer);
        for path in paths {
            if let Some((steps, from)) = derivation(path)? {
                let derive = |from| Self::Derived { steps: steps.clone(), from: Box::new(from) };
                walk.found.extend(Self::found(&[from.to_owned()], printer)?.into_iter().map(derive));
                continue;
            }
            match Self::named(path)? {
                Self::File(folder) if folder.is_dir() => {
                    walk.met_any = false;
                    walk.collect(&folder);
                    if !walk.met_any {
                        walk.found.push(Self::Nothing { folder, cause: None });
                    }
                }
                Self::File(file) => {
                    if Path::new(path).parent().is_some_and(|group| !file.starts_with(group)) {
                        let read = file.display();
                        printer.note(format_args!("{path}: there is no such file, so {read} is read"));
                    }
                    walk.add(file);
                }
                Self::Stream { path: None, .. } if std::mem::replace(&mut walk.met_stdin, true) => {}
                Self::Stream { path: Some(pipe), .. } if !walk.is_new(&pipe) => {}
                made => walk.found.push(made),
            }
        }
        Ok(walk.found)
    }

    /// Why there is no matrix, if it is a folder without one.
    fn why_nothing(&self) -> Option<Failure> {
        match self {
            Self::Nothing { folder, cause } => Some(nothing_in(folder, cause.as_deref())),
            Self::Derived { from, .. } => from.why_nothing(),
            Self::File(_) | Self::Stream { .. } | Self::Gallery { .. } => None,
        }
    }

    /// The file or pipe that is read, or the folder without a matrix.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Nothing { folder: path, .. } => Some(path),
            Self::Stream { path, .. } => Some(path.as_deref().unwrap_or(Path::new("/dev/stdin"))),
            Self::Derived { from, .. } => from.file(),
            Self::Gallery { .. } => None,
        }
    }

    /// The transposed matrix.
    pub(crate) fn transposed(self) -> Self {
        let steps = "transpose".parse().expect("it is a step");
        Self::Derived { steps, from: Box::new(self) }
    }

    /// It, made from the matrix that it is derived from, which was read already; any other is that matrix.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn derived_from<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>, Failure> {
        let Self::Derived { steps, .. } = self else { return Ok(a.clone()) };
        steps.apply(a).map_err(|error| Failure::input(format!("{}: {error}", self.title())))
    }

    /// Name in text: the file's name, or the recipe as it was written.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::File(path) | Self::Nothing { folder: path, .. } => {
                shown(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
            }
            Self::Stream { path: None, .. } => "stdin".to_owned(),
            Self::Stream { path: Some(path), .. } => shown(&path.to_string_lossy()),
            Self::Gallery { written, .. } => written.clone(),
            Self::Derived { steps, from } => format!("{}+{steps}", from.title()),
        }
    }

    /// Name in records: folder and stem, `a/AAT_sp98ar`, or the recipe with all its parameters; a derived matrix is
    /// `a/AAT_sp98ar+unknowns=3`.
    pub(crate) fn record_name(&self) -> String {
        let path = match self {
            Self::Gallery { recipe, .. } => return recipe.to_string(),
            Self::Derived { steps, from } => return format!("{}+{steps}", from.record_name()),
            Self::Stream { .. } => return self.title(),
            Self::File(path) | Self::Nothing { folder: path, .. } => path,
        };
        let file = self.title();
        let stem = io::file_stem(&file).unwrap_or(&file);
        let folder = path.parent().and_then(Path::file_name);
        folder
            .map_or_else(|| stem.to_owned(), |folder| format!("{}/{stem}", shown(&folder.to_string_lossy())))
    }

    /// About how many non-zeros it has, without opening it: for the time left, and nothing else.
    pub(crate) fn expected_nnz(&self) -> u64 {
        match self {
            Self::Gallery { recipe, .. } => u64::try_from(recipe.size().nnz).unwrap_or(u64::MAX),
            Self::Derived { steps, from } => {
                let nnz = u128::from(from.expected_nnz());
                let rows = nnz / ROW;
                u64::try_from(steps.size(Size { nrows: rows, ncols: rows, nnz }).nnz).unwrap_or(u64::MAX)
            }
            Self::Stream { .. } | Self::Nothing { .. } => 0,
            Self::File(path) => path.metadata().map_or(0, |file| file.len() / BYTES_PER_NON_ZERO),
        }
    }

    /// Reads or generates it, with progress.
    ///
    /// # Errors
    /// Whatever is wrong with the file or the recipe, as bad input.
    pub(crate) fn load<T: Scalar>(&self, context: &Context) -> Result<Csr<T>, Failure> {
        Ok(self.read(context, false)?.0)
    }

    /// Loads the matrix and what is known of it beside its pattern: with its values, if it can be read twice and has real and finite
    /// ones; else as [`MatrixSource::load_places`].
    ///
    /// # Errors
    /// As [`MatrixSource::load`].
    pub(crate) fn load_told<T: Scalar>(&self, context: &Context) -> Result<(Csr<T>, Told), Failure> {
        let with_values = (!self.is_read_once()).then(|| self.read(context, false).ok()).flatten();
        let has_values = with_values.is_some();
        let (matrix, stored) = with_values.map_or_else(|| self.read(context, true), Ok)?;
        let told = Told {
            has_values,
            is_complex: is_complex(stored),
            duplicates: stored.map_or(0, |stored| stored.duplicates),
            ..Told::default()
        };
        Ok((matrix, told))
    }

    fn is_read_once(&self) -> bool {
        match self {
            Self::Stream { .. } => true,
            Self::Derived { from, .. } => from.is_read_once(),
            Self::File(_) | Self::Gallery { .. } | Self::Nothing { .. } => false,
        }
    }

    /// Loads the places alone: the values may be complex, of which a note is given, or not finite, and are made up.
    ///
    /// # Errors
    /// As [`MatrixSource::load`].
    pub(crate) fn load_places<T: Scalar>(&self, context: &Context) -> Result<Csr<T>, Failure> {
        let (matrix, stored) = self.read(context, true)?;
        self.note_complex(stored, &context.printer);
        Ok(matrix)
    }

    /// Notes that the values are complex, if they are.
    fn note_complex(&self, stored: Option<Stored>, out: &Printer) {
        if is_complex(stored) {
            let title = self.title();
            out.note(format_args!("{title}: the values are complex, and the answer is for real ones"));
        }
    }

    fn read<T: Scalar>(
        &self,
        context: &Context,
        places_only: bool,
    ) -> Result<(Csr<T>, Option<Stored>), Failure> {
        match self {
            Self::Gallery { recipe, .. } => {
                context.printer.detail(format_args!("generating {recipe}"));
                Ok((recipe.generate::<T>()?, None))
            }
            Self::Derived { steps, from } => {
                let (a, stored) = from.read::<T>(context, places_only)?;
                context.printer.detail(format_args!("deriving {steps}"));
                Ok((self.derived_from(&a)?, stored))
            }
            Self::Nothing { folder, cause } => Err(nothing_in(folder, cause.as_deref())),
            Self::File(path) => {
                let text = path.to_string_lossy();
                if let Some(matrix) = SuiteSparse::named(&text).filter(|_| !path.exists()) {
                    let SuiteSparse { group, name } = matrix;
                    let text = format!(
                        "{text}: there is no such file or folder, nor a matrix {name} here, in {name} or in {group}"
                    );
                    return Err(Failure::input(text).hinted(matrix.hint()));
                }
                self.with_options(context, places_only, path, |options| io::read::<T>(path, options))
            }
            Self::Stream { path, was_read } => {
                let name = PathBuf::from(self.title());
                if was_read.swap(true, Ordering::Relaxed) {
                    let text = format!("{}: can be read but once, and is asked for again", name.display());
                    return Err(Failure::input(text).hinted("keep it in a file first"));
                }
                let Some(path) = path else {
                    let stdin = std::io::stdin();
                    if stdin.is_terminal() {
                        context.printer.note("reading a matrix from standard input, up to Ctrl-D");
                    }
                    return self.with_options(context, places_only, &name, |options| {
                        io::read_stream::<T>(stdin, &name, options)
                    });
                };
                let pipe = File::open(path)
                    .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
                self.with_options(context, places_only, path, |options| {
                    io::read_stream::<T>(pipe, path, options)
                })
            }
        }
    }

    /// Reads with progress, and says what was found.
    fn with_options<T: Scalar>(
        &self,
        context: &Context,
        places_only: bool,
        path: &Path,
        read: impl FnOnce(&ReadOptions<'_>) -> Result<Loaded<T>, ReadError>,
    ) -> Result<(Csr<T>, Option<Stored>), Failure> {
        let bar = context.printer.progress(0, "reading");
        let report = |p: io::Progress| bar.of(p.done.0, p.total.0, self.title());
        let pattern = context.pattern;
        let options = ReadOptions { pattern, places_only, progress: Some(&report), ..ReadOptions::default() };
        let Loaded { matrix, stored, remarks } = read(&options)?;
        let made_up = !places_only && stored.field == Field::Pattern && pattern != PatternValues::Ones;
        let made_up =
            made_up.then(|| "the file stores no values: they are random (--values random)".to_owned());
        for said in
            remarks.iter().filter(|remark| remark.is_worth_saying()).map(ToString::to_string).chain(made_up)
        {
            context.printer.note(format_args!("{}: {said}", path.display()));
        }
        context.printer.detail(format_args!(
            "{}: {}, {}, {}, {}",
            path.display(),
            stored.layout,
            stored.field,
            stored.symmetry,
            counted(stored.entries, "stored value")
        ));
        if stored.duplicates > 0 {
            let merged = match stored.duplicates {
                1 => "1 duplicate entry was merged".to_owned(),
                more => format!("{} duplicate entries were merged", grouped(more)),
            };
            context.printer.note(format_args!("{}: {merged}", path.display()));
        }
        Ok((matrix, Some(stored)))
    }
}

const FILES: &str = "a matrix is a file (.mtx, .npz, .rb, .rsa, .tar, .zip, also with .gz, .xz, .bz2 or .zst), - for \
                     standard input, or gallery:NAME; `sparsight gallery` lists the names";

fn is_complex(stored: Option<Stored>) -> bool {
    stored.is_some_and(|stored| stored.field == Field::Complex)
}

/// The error for a folder without a matrix. `cause`: why it cannot be read, if that is why.
fn nothing_in(folder: &Path, cause: Option<&str>) -> Failure {
    match cause {
        Some(cause) => Failure::input(cause),
        None => {
            Failure::input(format!("{}: there is no matrix in this folder", folder.display())).hinted(FILES)
        }
    }
}

/// A matrix by the name that it has in the `SuiteSparse` Matrix Collection: `Williams/cant`.
#[derive(Debug, Clone, Copy)]
struct SuiteSparse<'t> {
    group: &'t str,
    name: &'t str,
}

impl<'t> SuiteSparse<'t> {
    /// Splits a text that is a group and a name without the ending of a file.
    fn named(text: &'t str) -> Option<Self> {
        let (group, name) = text.split_once('/')?;
        let is_word = |word: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            !word.is_empty() && word.chars().all(is_plain)
        };
        (is_word(group) && is_word(name)).then_some(Self { group, name })
    }

    /// The file in which the collection hands it out, or what was unpacked of it, in a folder of the group or below `folder`. Where
    /// something is called so itself, only what was unpacked into it; `None` if it is another file, or a folder of other matrices.
    fn file_here(self, folder: &Path) -> Option<PathBuf> {
        let Self { group, name } = self;
        let of_group = folder.join(group);
        let of_name = of_group.join(name);
        let folders = if of_name.exists() {
            vec![of_name]
        } else {
            vec![of_group, folder.to_owned(), folder.join(name)]
        };
        folders.iter().find_map(|folder| self.file_in(folder))
    }

    /// The file in `folder` that is called so, whatever its ending; of several the first by name.
    fn file_in(self, folder: &Path) -> Option<PathBuf> {
        let entries =
            std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_it = |file: &String| io::file_stem(file) == Some(self.name) && folder.join(file).is_file();
        names.filter(is_it).min().map(|file| folder.join(file))
    }

    /// The hint where to get it.
    fn hint(self) -> String {
        let Self { group, name } = self;
        format!(
            "is {group}/{name} of the SuiteSparse Matrix Collection meant? Its page is https://sparse.tamu.edu/{group}/{name}; what \
             is there under Matrix Market is {name}.tar.gz, which is read as it is: put it into this folder, and {group}/{name} or \
             {name}.tar.gz names it"
        )
    }
}

/// The steps and what they start from, if `text` is `derived:STEPS:SOURCE`.
fn derivation(text: &str) -> Result<Option<(Derivation, &str)>, Failure> {
    let Some(rest) = text.strip_prefix(derived::PREFIX) else { return Ok(None) };
    let (steps, from) = rest.split_once(':').ok_or_else(|| {
        Failure::input(format!("{text}: what the matrix is derived from is missing")).hinted(DERIVED)
    })?;
    let steps = steps.parse().map_err(|e: derived::DeriveError| Failure::input(format!("{text}: {e}")))?;
    Ok(Some((steps, from)))
}

const DERIVED: &str = "written as derived:unknowns=3,layers=16:SOURCE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_recorded_by_its_folder_and_stem() {
        let name = |path: &str| MatrixSource::File(path.into()).record_name();
        assert_eq!(name("/data/a/AAT_sp98ar.npz"), "a/AAT_sp98ar");
        assert_eq!(name("HB/bcsstk01.tar.gz"), "HB/bcsstk01");
        assert_eq!(name("cant.mtx"), "cant");
        assert_eq!(name("x/odd.name"), "x/odd.name");
        let named = |text: &str| MatrixSource::named(text).unwrap();
        let layered = named("derived:layers=4,rcm:/data/a/cube.npz");
        assert_eq!(
            (layered.record_name(), layered.title()),
            ("a/cube+layers=4,rcm".to_owned(), "cube.npz+layers=4,rcm".to_owned())
        );
        assert_eq!(named("derived:unknowns=3:gallery:dense,rows=10,cols=10").expected_nnz(), 900);
    }

    #[test]
    fn a_matrix_of_a_collection_is_the_file_that_came_from_there() {
        let dir = tempfile::tempdir().unwrap();
        let cant = SuiteSparse::named("Williams/cant").unwrap();
        let found =
            || cant.file_here(dir.path()).map(|path| path.strip_prefix(dir.path()).unwrap().to_owned());
        assert_eq!(found(), None);
        for folder in ["Williams", "cant"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for file in ["cant/cant.mtx", "cant.mtx", "Williams/cant.tar.gz"] {
            std::fs::write(dir.path().join(file), "").unwrap();
            assert_eq!(found(), Some(PathBuf::from(file)));
        }
        // What is called so itself goes first: a folder, in which it was unpacked or not, or a file.
        let itself = dir.path().join("Williams/cant");
        std::fs::create_dir(&itself).unwrap();
        std::fs::write(itself.join("cant_b.mtx"), "").unwrap();
        assert_eq!(found(), None);
        std::fs::write(itself.join("cant.mtx"), "").unwrap();
        assert_eq!(found(), Some(PathBuf::from("Williams/cant/cant.mtx")));
        std::fs::remove_dir_all(&itself).unwrap();
        std::fs::write(&itself, "").unwrap();
        assert_eq!(found(), None);
        assert!(cant.hint().contains("sparse.tamu.edu/Williams/cant"), "{}", cant.hint());
        for other in ["cant", "cant.mtx", "a/b.mtx", "a/b/c", "/cant", "Williams/", "gone/.."] {
            assert!(SuiteSparse::named(other).is_none(), "{other}");
        }
    }
}
