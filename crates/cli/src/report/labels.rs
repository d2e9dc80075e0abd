//! Placement of labels without overlap.

use crate::svg::{Anchor, FONT, Svg, text_width};

/// Height of a line of text with the space to the next.
pub(super) const LINE: f64 = 14.0;

/// Room beside a text: without it, numbers next to each other read as one. Chosen: half a letter on each side.
const GAP: f64 = FONT / 4.0;

/// Occupied areas: left, top, right, bottom.
#[derive(Debug, Default)]
pub(super) struct Labels {
    taken: Vec<[f64; 4]>,
}

impl Labels {
    /// Keeps text out of an area: left, top, right, bottom.
    pub(super) fn keep_off(&mut self, area: [f64; 4]) {
        self.taken.push(area);
    }

    /// Draws text at or near `(x, y)`, within heights `between`: the nearest free place above or below.
    pub(super) fn place(
        &mut self,
        svg: &mut Svg,
        class: &str,
        (x, y): (f64, f64),
        anchor: Anchor,
        text: &str,
        between: (f64, f64),
    ) {
        let width = text_width(text);
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let around = |y: f64| [left - GAP, y - FONT, left + width + GAP, y + LINE - FONT];
        let is_free = |y: f64| {
            let [l, t, r, b] = around(y);
            self.taken
                .iter()
                .all(|&[left, top, right, bottom]| r <= left || right <= l || b <= top || bottom <= t)
        };
        let tries = (0..200).map(|n: i32| y + f64::from(if n % 2 == 0 { -n } else { n + 1 }));
        let free = tries.filter(|y| (between.0..=between.1).contains(y)).find(|&y| is_free(y));
        // Without a free place the label is left out: the caption names it, too.
        let Some(y) = free else { return };
        self.taken.push(around(y));
        svg.text(class, (x, y), anchor, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_one_point_stand_below_each_other_while_there_is_room() {
        let (mut svg, mut labels) = (Svg::new(100.0), Labels::default());
        for name in ["one", "two", "three", "four"] {
            labels.place(&mut svg, "", (10.0, 50.0), Anchor::Start, name, (36.0, 64.0));
        }
        let heights: Vec<f64> = labels.taken.iter().map(|taken| taken[1] + FONT).collect();
        assert_eq!(heights, [50.0, 64.0, 36.0], "the fourth finds none");
        let drawn = svg.finish("");
        assert!(drawn.contains(">three<") && !drawn.contains(">four<"));
    }
}
