//! How much each padded format stores, known before a byte is converted.

use crate::{BroEllShape, BroEllSize, SellShape};
use serde::{Deserialize, Serialize};

/// Stored entries of each shape of SELL-C-sigma and the parts of each shape of BRO-ELL.
///
/// Recorded by the name of the shape, so that a catalogue may gain shapes: records made before that lack them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PaddedSizes {
    sell: Vec<(SellShape, u64)>,
    bro_ell: Vec<(BroEllShape, BroEllSize)>,
}

impl PaddedSizes {
    /// From the sizes of shapes.
    pub fn new(sell: Vec<(SellShape, u64)>, bro_ell: Vec<(BroEllShape, BroEllSize)>) -> Self {
        Self { sell, bro_ell }
    }

    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        self.sell.is_empty() && self.bro_ell.is_empty()
    }

    /// Adds the sizes of rows that follow, shape by shape: exact where the rows so far fill their slices and windows, and
    /// else too much by less than what a slice or window at the border is padded by. Shapes that either lacks are lost.
    pub(crate) fn add(&mut self, following: &Self) {
        self.sell.retain_mut(|(shape, size)| following.sell(*shape).map(|more| *size += more).is_some());
        let bro_ell = |(shape, size): &mut (_, BroEllSize)| {
            following.bro_ell(*shape).map(|more| *size = *size + more).is_some()
        };
        self.bro_ell.retain_mut(bro_ell);
    }

    /// Stored entries, padding included; `None` if this shape was not looked at.
    pub fn sell(&self, shape: SellShape) -> Option<u64> {
        self.sell.iter().find(|s| s.0 == shape).map(|s| s.1)
    }

    /// Parts of BRO-ELL; `None` if this shape was not looked at.
    pub fn bro_ell(&self, shape: BroEllShape) -> Option<BroEllSize> {
        self.bro_ell.iter().find(|s| s.0 == shape).map(|s| s.1)
    }
}
