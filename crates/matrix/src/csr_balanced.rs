//! CSR with a table of tiles.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// How a matrix is cut into tiles: `items` rows and non-zeros a tile, counted together. Its text is `i512`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileShape {
    /// Rows plus non-zeros of a tile.
    pub items: u32,
}

impl TileShape {
    /// The catalogue.
    pub const ALL: [Self; 4] =
        [Self { items: 256 }, Self { items: 512 }, Self { items: 1024 }, Self { items: 2048 }];
}

impl fmt::Display for TileShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("i{}", self.items))
    }
}

impl FromStr for TileShape {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_prefix('i')
            .and_then(|items| items.parse().ok())
            .filter(|&items| items > 0)
            .map(|items| Self { items })
            .ok_or_else(|| format!("'{text}' is no shape such as i512"))
    }
}

impl Serialize for TileShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TileShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
