//! `sparsight profiles`: shared profiles of other machines, examined before they are used.

use super::commands;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output_file;
use crate::table::{Table, cell_or};
use crate::text::{percent, shown};
use sparsight::Profile;
use sparsight::matrix::io::read_regular;
use sparsight::profile::{ProfileFolder, folders_of_user};
use sparsight_lab::answer::{ProfilesAddAnswer, ProfilesIndexAnswer};
use sparsight_lab::received::{
    HeldOutQuality, INDEX_FILE, IndexedProfile, ProfilesIndex, RefusedProfile, accept, examine,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Add a shared profile of another machine, or index profiles to share
///
/// A shared profile is a file NAME.tar.gz that `sparsight lab profile --share` or `lab fit --share` wrote, with an index.json beside it.
/// Nothing is fetched: another program brings both files (docs/shared-profiles.md).
#[derive(Debug, clap::Args)]
pub(crate) struct Profiles {
    #[command(subcommand)]
    command: ProfilesCommand,
}

commands! {
    enum ProfilesCommand {
        Add(Add),
        Index(Index),
    }
}

/// Examine a shared profile, and use it from then on
///
/// Its checksum is that of the index, its device and its times are possible ones, and on matrices that its models have not seen they
/// choose no worse than a fixed candidate, with intervals that hold; models that have seen all are fitted again without a fifth of the
/// matrices, which takes as long as `lab fit`. `--device NAME` finds it then, and so does `--device cuda:0` on a GPU of that name.
#[derive(Debug, clap::Args)]
struct Add {
    /// The file, NAME.tar.gz
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Index that lists the file [default: index.json beside it]
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
}

/// Examine profiles, and list them in the index.json beside them
///
/// What the index says of other files stays.
#[derive(Debug, clap::Args)]
struct Index {
    /// Files NAME.tar.gz of one folder
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Profiles {
    pub(crate) fn run(&self, context: &Context) -> Result<Exit, Failure> {
        self.command.run(context)
    }
}

impl Add {
    fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let address = self.file.to_string_lossy();
        if address.starts_with("http://") || address.starts_with("https://") {
            let folder = address.rsplit_once('/').map_or("", |(folder, _)| folder);
            let text = "sparsight opens no network connection, so a profile is added from a file";
            return Err(Failure::input(text).hinted(format!(
                "`curl -fLO {address} && curl -fLO {folder}/{INDEX_FILE}`, then `sparsight profiles add` and the name of the file"
            )));
        }
        let (folder, file) = placed(&self.file)?;
        let path = self.index.clone().unwrap_or_else(|| folder.join(INDEX_FILE));
        let hint = "the index comes from where the file does; of your own files `sparsight profiles index FILE` writes it";
        let Some(index) = ProfilesIndex::read(&path)? else {
            return Err(Failure::input(format!("{}: there is no such index", path.display())).hinted(hint));
        };
        let Some(indexed) = index.of_file(&file) else {
            return Err(
                Failure::input(format!("{}: does not list {}", path.display(), shown(&file))).hinted(hint)
            );
        };
        let name = &indexed.name;
        if Profile::shipped_names().any(|shipped| shipped == name) {
            let text = format!("'{}' is the name of a profile of the program", shown(name));
            return Err(Failure::input(text).hinted("a profile that is shared has a name of its own"));
        }
        let Some(profiles) = folders_of_user().into_iter().next() else {
            return Err(Failure::input("there is no folder for profiles of the user")
                .hinted("SPARSIGHT_PROFILES=DIR names one"));
        };
        let to = profiles.join(name);
        if to.exists() {
            let text = format!("{}: there is a profile of that name", to.display());
            return Err(Failure::input(text).hinted("remove or rename it, and add the new one then"));
        }
        let archive = contents(&self.file)?;
        let unpacked = Unpacked::within(&profiles)?;
        let examined = accept(&archive, indexed, &unpacked.0).map_err(|refused| of(&self.file, &refused))?;
        fs::rename(&unpacked.0, &to).map_err(|error| Failure::input(format!("{}: {error}", to.display())))?;
        let answer = ProfilesAddAnswer {
            same_kernels: ProfileFolder::open(&to)?.device()?.provenance.is_of_these_kernels(),
            profile: examined,
            indexed_quality: indexed.quality.clone(),
            folder: to,
        };
        context.printer.answer(&answer, || {
            let profile = &answer.profile;
            let out = &context.printer;
            if !answer.same_kernels {
                out.note(format_args!(
                    "{} was measured with other kernels than those of this program: its times are those of the kernels of its date",
                    shown(&profile.name)
                ));
            }
            out.line(format_args!(
                "{} of {}, in {}",
                shown(&profile.chip),
                shown(&profile.date),
                answer.folder.display()
            ))?;
            print(std::slice::from_ref(profile), context)?;
            out.line(format_args!("`sparsight advise A.mtx --device {}` uses it", shown(&profile.name)))
        })
    }
}

impl Index {
    fn run(&self, context: &Context) -> Result<Exit, Failure> {
        let mut folders = Vec::new();
        let mut examined = Vec::new();
        for path in &self.files {
            let (folder, file) = placed(path)?;
            let unpacked = Unpacked::within(&folder)?;
            examined
                .push(examine(&contents(path)?, &file, &unpacked.0).map_err(|refused| of(path, &refused))?);
            folders.push(folder);
        }
        folders.dedup();
        let [folder] = &folders[..] else {
            return Err(Failure::input("an index is of the files of one folder")
                .hinted("index the files of each folder by themselves"));
        };
        let file = folder.join(INDEX_FILE);
        let index = ProfilesIndex::read(&file)?.unwrap_or_default().with(&examined);
        let text = serde_json::to_string_pretty(&index).expect("plain data serialises") + "\n";
        output_file::write(&file, text.as_bytes())?;
        let answer = ProfilesIndexAnswer { file, profiles: index.profiles };
        context.printer.answer(&answer, || {
            print(&answer.profiles, context)?;
            context.printer.line(format_args!("{}", answer.file.display()))
        })
    }
}

/// A line for each value type of each profile.
fn print(profiles: &[IndexedProfile], context: &Context) -> Result<(), Failure> {
    let rows: Vec<(&IndexedProfile, &HeldOutQuality)> = profiles
        .iter()
        .flat_map(|profile| profile.quality.iter().map(move |quality| (profile, quality)))
        .collect();
    context.printer.line(Table::of(
        rows,
        [
            ("<profile", &|(profile, _)| shown(&profile.name)),
            ("<device", &|(profile, _)| shown(&profile.chip)),
            ("<measured", &|(profile, _)| shown(&profile.date)),
            ("<type", &|(_, quality)| quality.dtype.to_string()),
            ("held out", &|(_, quality)| quality.matrices.to_string()),
            ("best / chosen", &|(_, quality)| format!("{:.3}", quality.best_over_chosen)),
            ("best / fixed", &|(_, quality)| format!("{:.3}", quality.best_over_fixed)),
            ("median error", &|(_, quality)| percent(quality.median_error)),
            ("in interval", &|(_, quality)| cell_or("-", quality.covered.map(percent))),
        ],
    ))
}

/// The folder of a file, and its name.
fn placed(path: &Path) -> Result<(PathBuf, String), Failure> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| name.ends_with(".tar.gz")).ok_or_else(|| {
        Failure::input(format!("{}: the name of a shared profile ends in .tar.gz", path.display()))
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")).to_owned(), name))
}

fn contents(path: &Path) -> Result<Vec<u8>, Failure> {
    read_regular(path).map_err(|source| sparsight::Error::File { path: path.to_owned(), source }.into())
}

/// The failure of a file.
fn of(path: &Path, refused: &RefusedProfile) -> Failure {
    let hint = refused.hint();
    let failure = Failure::input(format!("{}: {refused}", path.display()));
    match hint {
        Some(hint) => failure.hinted(hint),
        None => failure,
    }
}

/// A folder for the files of a profile that is examined; what is left of it goes.
struct Unpacked(PathBuf);

impl Unpacked {
    fn within(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(format!(".examined-{}", std::process::id()));
        let failed = |error: std::io::Error| {
            Failure::input(format!("{}: {error}", folder.display()))
                .hinted("the folder has to be one that you may write to: SPARSIGHT_PROFILES=DIR names another for `profiles add`")
        };
        fs::create_dir_all(folder).map_err(failed)?;
        fs::create_dir(&path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // It was renamed, or is not needed.
        _ = fs::remove_dir_all(&self.0);
    }
}
