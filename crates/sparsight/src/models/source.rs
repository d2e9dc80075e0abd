//! Where the files of a profile's models are.

use crate::Error;
use sparsight_matrix::io::read_regular;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Files by their names.
pub(crate) type Files = &'static [(&'static str, &'static [u8])];

/// Where the files are that an index speaks of.
#[derive(Debug)]
pub(crate) enum Source {
    /// In this folder.
    Folder(PathBuf),
    /// In the program, which was given these of the folder.
    Program(PathBuf, Files),
    /// Nowhere: this process made all models.
    Memory,
}

impl Source {
    /// Whether it has what the index calls `file`, as far as that can be told without looking.
    pub(crate) fn has(&self, file: &str) -> bool {
        match self {
            Self::Program(_, files) => files.iter().any(|(name, _)| *name == file),
            Self::Folder(_) | Self::Memory => true,
        }
    }

    /// Where a file is, for whoever is told about it.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        match self {
            Self::Folder(folder) | Self::Program(folder, _) => folder.join(file),
            Self::Memory => Path::new(file).to_owned(),
        }
    }

    /// The bytes of a file; `None` if the program was not given it, or there are no files.
    ///
    /// # Errors
    /// [`Error::File`], also if the folder does not have it.
    pub(crate) fn read(&self, file: &str) -> Result<Option<Cow<'static, [u8]>>, Error> {
        match self {
            Self::Folder(_) => {
                let path = self.path(file);
                let bytes = read_regular(&path).map_err(|source| Error::File { path, source })?;
                Ok(Some(Cow::Owned(bytes)))
            }
            Self::Program(_, files) => {
                let found = files.iter().find(|(name, _)| *name == file);
                Ok(found.map(|(_, bytes)| Cow::Borrowed(*bytes)))
            }
            Self::Memory => Ok(None),
        }
    }
}
