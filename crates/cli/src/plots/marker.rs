//! The points of a figure.

use plotters::element::{Circle, Cross, DynElement, IntoDynElement, TriangleMarker};
use plotters::prelude::DrawingBackend;
use plotters::style::{Color, RGBColor};

/// Shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// Filled and half transparent: for clouds.
    Dot,
    /// A circle's outline.
    Ring,
    Cross,
    Triangle,
}

impl Marker {
    /// The point at a place of the axes, or of the legend.
    pub(super) fn at<B, C>(self, place: C, colour: RGBColor) -> DynElement<'static, B, C>
    where
        B: DrawingBackend,
        C: Clone + 'static,
    {
        let stroke = colour.stroke_width(2);
        match self {
            Self::Dot => Circle::new(place, 3, colour.mix(0.45).filled()).into_dyn(),
            Self::Ring => Circle::new(place, 4, stroke).into_dyn(),
            Self::Cross => Cross::new(place, 4, stroke).into_dyn(),
            Self::Triangle => TriangleMarker::new(place, 5, stroke).into_dyn(),
        }
    }
}
