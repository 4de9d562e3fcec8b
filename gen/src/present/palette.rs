//! Colours of drawings: classes whose colours a style sheet sets, for light and for dark.
//!
//! Plotters writes colours into the elements. It is given a number instead of a colour, and the number becomes a class.

use plotters::style::RGBColor;

/// Colours of a drawing; `templates/figure.css` has a rule for each class, `templates/colours.css` the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Text that is to be read.
    Ink,
    /// Text and lines beside it.
    Muted,
    /// Lines that guide the eye.
    Grid,
    /// A curve. There are eight; further curves use them again.
    Series(usize),
    /// The marks of a curve, which carry a title.
    Mark(usize),
}

/// Different colours of curves.
pub(super) const COLOURS: usize = 8;

const ALL: [Colour; 3] = [Colour::Ink, Colour::Muted, Colour::Grid];

impl Colour {
    /// The number that stands for the colour in the drawings of plotters.
    pub(super) fn number(self) -> RGBColor {
        let small = |n: usize| u8::try_from(n % COLOURS).unwrap_or_default();
        match self {
            Self::Ink => RGBColor(1, 0, 0),
            Self::Muted => RGBColor(1, 0, 1),
            Self::Grid => RGBColor(1, 0, 2),
            Self::Series(n) => RGBColor(2, 0, small(n)),
            Self::Mark(n) => RGBColor(3, 0, small(n)),
        }
    }

    /// The class, without the part that tells lines from areas.
    fn class(self) -> String {
        match self {
            Self::Ink => "ink".into(),
            Self::Muted => "muted".into(),
            Self::Grid => "grid".into(),
            Self::Series(n) | Self::Mark(n) => format!("s{}", n % COLOURS + 1),
        }
    }
}

/// Puts classes in the place of numbers.
pub(super) fn classes(svg: &str) -> String {
    let mut svg = svg.to_owned();
    let series = (0..COLOURS).flat_map(|n| [Colour::Series(n), Colour::Mark(n)]);
    for colour in ALL.into_iter().chain(series) {
        let RGBColor(r, g, b) = colour.number();
        let class = colour.class();
        let mark = if matches!(colour, Colour::Mark(_)) { " mark" } else { "" };
        svg = svg.replace(&format!("fill=\"#{r:02X}{g:02X}{b:02X}\""), &format!("class=\"f-{class}{mark}\""));
        svg = svg.replace(&format!("stroke=\"#{r:02X}{g:02X}{b:02X}\""), &format!("class=\"l-{class}{mark}\""));
    }
    svg.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "").replace(" stroke=\"none\"", "")
}

/// A drawing as a file of its own: with its style sheet, and on a background of paper.
pub(crate) fn standalone(svg: &str) -> String {
    let colours = include_str!("../../templates/colours.css");
    let rules = include_str!("../../templates/figure.css");
    let end = svg.find('>').map_or(0, |i| i + 1);
    let (head, rest) = svg.split_at(end);
    format!(
        "{head}\n<style>\n{colours}{rules}</style>\n<rect class=\"f-paper\" x=\"-50%\" y=\"-50%\" width=\"200%\" height=\"200%\"/>{rest}"
    )
}

/// Text for XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
