//! Links between GPUs: measured, or from a file.
//!
//! ```toml
//! gpus_per_host = 8
//! [host]                      # between GPUs of one host
//! latency_s = 12e-6           # an exchange of a few bytes, packing and waiting included
//! per_peer_s = 1e-6           # what the host takes to queue what goes to each peer but the first; may be left out
//! bytes_per_s = 150e9         # of one GPU, in each direction
//! [network]                   # between hosts; may be left out
//! latency_s = 25e-6
//! bytes_per_s = 40e9
//! ```
//! A latency is at most 1 s, a rate 1 MB/s to 100 TB/s. `join_s` and `queue_s`, above the first table, may say what waiting for an exchange adds and what queueing a product takes.

use super::{ProfileFolder, Provenance};
use crate::Error;
use crate::files::{self, whole_file, written_number::Range};
use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;
use sparsight_model::{LinkRate, Links};
use std::path::Path;

/// Schema of `links.json`.
pub const LINKS_SCHEMA: &str = "sparsight/links/1";

const FILE: &str = "links.json";

/// A `links.json`: the links of a host's GPUs, as they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinksFile {
    /// `sparsight/links/1`.
    pub schema: String,
    /// The fitted links.
    pub links: Links,
    /// The GPUs, as their driver calls them.
    pub gpus: Vec<String>,
    /// Version of NCCL, `2.28.3`.
    pub nccl: String,
    /// Each exchange that was measured.
    pub measured: Vec<MeasuredExchange>,
    /// Date and origin.
    pub provenance: Provenance,
}

/// An exchange: each of some GPUs with each other one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredExchange {
    /// GPUs.
    pub gpus: usize,
    /// Bytes that each got, and gave.
    pub bytes: u64,
    /// Time of one, of many back to back.
    pub time_s: Seconds,
}

/// Links, and on how many GPUs they were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct KnownLinks {
    /// The links.
    pub links: Links,
    /// Number of GPUs in the measurement, 1 without one: predictions for more are extrapolated.
    pub measured_on: usize,
}

impl KnownLinks {
    /// The links that a file describes: a `links.json`, or a TOML file of the fields above.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = files::text_of(path)?;
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Self::measured(path, &text);
        }
        Self { links: files::parse_toml(path, &text)?, measured_on: 1 }.checked(path, &text)
    }

    /// Parses the text of the `links.json` at `path`.
    pub(crate) fn measured(path: &Path, text: &str) -> Result<Self, Error> {
        let file = files::parse::<LinksFile>(path, text, LINKS_SCHEMA)?;
        Self { links: file.links, measured_on: file.gpus.len() }.checked(path, text)
    }

    /// These, if links can be so; `text` is what the file at `path` says.
    fn checked(self, path: &Path, text: &str) -> Result<Self, Error> {
        let links = &self.links;
        let within = |section: &str, link: &LinkRate| {
            let named = |field: &str| format!("{section}.{field}");
            Range::LATENCY.check(&named("latency_s"), link.latency_s.0)?;
            Range::LATENCY.check(&named("per_peer_s"), link.per_peer_s.0)?;
            Range::LINK_RATE.check(&named("bytes_per_s"), link.bytes_per_s)
        };
        let checked = || -> Result<(), String> {
            if links.gpus_per_host == 0 {
                return Err("gpus_per_host = 0: a host has a GPU at least".to_owned());
            }
            Range::LATENCY.check("join_s", links.join_s.0)?;
            Range::LATENCY.check("queue_s", links.queue_s.0)?;
            within("host", &links.host)?;
            links.network.as_ref().map_or(Ok(()), |network| within("network", network))
        };
        checked().map_err(|reason| {
            // The first line with the name of the field behind that of its table.
            let name = reason.split(' ').next().unwrap_or_default();
            let mut lines = text.lines().enumerate();
            let line = name.split('.').filter_map(|part| lines.find(|(_, line)| line.contains(part))).last();
            let line = line.map_or(1, |(at, _)| at + 1);
            Error::Malformed { path: path.to_owned(), line, reason }
        })?;
        Ok(self)
    }
}

impl ProfileFolder {
    /// The measured links; `None` if there are none.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn links(&self) -> Result<Option<KnownLinks>, Error> {
        let path = self.path().join(FILE);
        if path.is_file() { KnownLinks::read(&path).map(Some) } else { Ok(None) }
    }

    /// Writes what was measured of the links.
    ///
    /// # Errors
    /// [`Error::File`].
    ///
    /// # Panics
    /// Never: plain data serialises.
    pub fn write_links(&self, links: &LinksFile) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(links).expect("plain data serialises");
        whole_file::write(&self.path().join(FILE), (text + "\n").as_bytes())
    }
}
