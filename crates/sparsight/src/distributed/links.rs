//! What is known of the links between GPUs: measured, or from a file.
//!
//! ```toml
//! gpus_per_host = 8
//! [host]                      # between GPUs of one host
//! latency_s = 12e-6           # an exchange of a few bytes, packing and waiting included
//! per_peer_s = 1e-6           # what each peer but the first adds; may be left out
//! bytes_per_s = 150e9         # of one GPU, in each direction
//! [network]                   # between hosts; may be left out
//! latency_s = 25e-6
//! bytes_per_s = 40e9
//! ```
//! `join_s` and `queue_s`, above the first table, may say what waiting for an exchange adds and what queueing a product takes.

use crate::Error;
use crate::profile::{ProfileFolder, Provenance, document, whole_file};
use serde::{Deserialize, Serialize};
use sparsight_matrix::Seconds;
use sparsight_model::{LinkRate, Links};
use std::path::Path;

/// Schema of `links.json`.
pub const LINKS_SCHEMA: &str = "sparsight/links/1";

const FILE: &str = "links.json";

/// A `links.json`: the links of a host's GPUs, as they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinksFile {
    /// `sparsight/links/1`.
    pub schema: String,
    /// What follows from the measurement.
    pub links: Links,
    /// The GPUs, as their driver calls them.
    pub gpus: Vec<String>,
    /// Version of NCCL, `2.28.3`.
    pub nccl: String,
    /// Each exchange that was measured.
    pub measured: Vec<MeasuredExchange>,
    /// When, and by what.
    pub provenance: Provenance,
}

/// One exchange: each of some GPUs with each other one.
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
pub struct KnownLinks {
    /// They.
    pub links: Links,
    /// GPUs that they were measured with, 1 if nobody measured them: what is said of more is extrapolated.
    pub measured_on: usize,
}

impl KnownLinks {
    /// The links that a file describes: a `links.json`, or a TOML file of the fields above.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Malformed`], [`Error::Schema`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = document::text_of(path)?;
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Self::measured(path, &text);
        }
        Self { links: document::parse_toml(path, &text)?, measured_on: 1 }.checked(path)
    }

    /// From the text of the `links.json` at `path`.
    pub(crate) fn measured(path: &Path, text: &str) -> Result<Self, Error> {
        let file = document::parse::<LinksFile>(path, text, LINKS_SCHEMA)?;
        Self { links: file.links, measured_on: file.gpus.len() }.checked(path)
    }

    fn checked(self, path: &Path) -> Result<Self, Error> {
        let links = &self.links;
        let is_rate = |link: &LinkRate| {
            let Seconds(latency) = link.latency_s;
            latency.is_finite()
                && latency >= 0.0
                && link.per_peer_s.0 >= 0.0
                && link.per_peer_s.0.is_finite()
                && link.bytes_per_s.is_finite()
                && link.bytes_per_s > 0.0
        };
        let all = [Some(&links.host), links.network.as_ref()];
        let is_time = |Seconds(time)| time.is_finite() && time >= 0.0;
        if links.gpus_per_host == 0
            || !is_time(links.join_s)
            || !is_time(links.queue_s)
            || !all.into_iter().flatten().all(is_rate)
        {
            let reason = "a host has a GPU at least, a link a latency from 0 s on and a rate above 0";
            return Err(Error::Malformed { path: path.to_owned(), line: 1, reason: reason.to_owned() });
        }
        Ok(self)
    }
}

impl ProfileFolder {
    /// What was measured of the links; `None` if nothing was.
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
