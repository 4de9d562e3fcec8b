//! A picture of the layout in SVG: cells by what they are, wires by their layer.

use std::fmt::Write as _;

use super::def::{Floor, Port, Supplies};
use super::lef::Lef;
use super::placement::Place;
use super::routed::{Piece, Wires};
use crate::present::palette::escape;

/// What a cell is for, in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Logic.
    Logic,
    /// A flip-flop or a latch.
    State,
    /// A buffer of a tree, of the clock or of the reset.
    Tree,
}

impl Role {
    const ALL: [Self; 3] = [Self::Logic, Self::State, Self::Tree];

    fn name(self) -> &'static str {
        match self {
            Self::Logic => "logic",
            Self::State => "flip-flops",
            Self::Tree => "trees of clock and reset",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Logic => "#3d6fa5",
            Self::State => "#d98a2b",
            Self::Tree => "#d64a6f",
        }
    }
}

/// Colours of the layers, from the lowest up.
const LAYERS: [&str; 8] = ["#8fd3ff", "#ff7fa8", "#8cf0a8", "#ffd36b", "#c79bff", "#ff9f6b", "#6bfff0", "#f5f5f5"];

/// All that is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawing<'a> {
    /// Line below the picture.
    pub caption: &'a str,
    /// Geometry of the whole.
    pub floor: &'a Floor,
    /// Cells: place, width, what they are for.
    pub cells: &'a [(Place, i64, Role)],
    /// Pins.
    pub ports: &'a [Port],
    /// Straps and rails.
    pub supplies: &'a Supplies,
    /// Wires.
    pub wires: &'a Wires,
    /// Layers.
    pub lef: &'a Lef,
}

/// Draws it. A micrometre is a unit; north is up.
#[must_use]
pub fn draw(drawing: &Drawing<'_>) -> String {
    let Drawing { floor, lef, .. } = *drawing;
    let um = |nm: i64| nm as f64 / 1000.0;
    let (width, height) = (um(floor.die.0), um(floor.die.1));
    let letter = (width.min(height) / 45.0).clamp(2.0, 40.0);
    let (margin, foot) = (letter, letter * 4.5);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" \
         viewBox=\"{:.2} {:.2} {:.2} {:.2}\" font-family=\"sans-serif\" font-size=\"{letter:.2}\" fill=\"#e8eaf0\">\n<title>{}</title>\n",
        // Letters of 12 pixels.
        ((width + 2.0 * margin) * 12.0 / letter).ceil(),
        ((height + 2.0 * margin + foot) * 12.0 / letter).ceil(),
        -margin,
        -margin,
        width + 2.0 * margin,
        height + 2.0 * margin + foot,
        escape(drawing.caption)
    );
    let _ = writeln!(
        text,
        "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"#10131c\"/>",
        -margin,
        -margin,
        width + 2.0 * margin,
        height + 2.0 * margin + foot
    );
    let _ = writeln!(
        text,
        "<rect width=\"{width}\" height=\"{height}\" fill=\"#171b28\" stroke=\"#7d8597\" stroke-width=\"{:.2}\"/>",
        letter / 10.0
    );
    // From the bottom up, as the layout counts.
    let _ = writeln!(text, "<g transform=\"matrix(1 0 0 -1 0 {height})\">");
    for role in Role::ALL {
        let mut path = String::new();
        for (place, wide, _) in drawing.cells.iter().filter(|cell| cell.2 == role) {
            let (x, y) = (um(floor.corner.0 + place.x), um(floor.corner.1 + place.row as i64 * floor.height));
            let (w, h) = (um(*wide), um(floor.height));
            let (left, low, wide, high) = (x + 0.1, y + 0.4, w - 0.2, h - 0.8);
            let _ = write!(path, "M{left:.1} {low:.1}h{wide:.1}v{high:.1}h-{wide:.1}z");
        }
        let _ = writeln!(text, "<path fill=\"{}\" d=\"{path}\"/>", role.colour());
    }
    for (number, layer) in lef.layers.iter().enumerate() {
        let mut path = String::new();
        for piece in drawing.wires.values().flatten() {
            if let Piece::Wire { layer: name, from, to, .. } = piece
                && name == &layer.name
            {
                let _ = write!(path, "M{:.1} {:.1}", um(from.0), um(from.1));
                let _ =
                    if from.0 == to.0 { write!(path, "V{:.1}", um(to.1)) } else { write!(path, "H{:.1}", um(to.0)) };
            }
        }
        let mut bars = String::new();
        for (_, _, [a, b, c, d]) in drawing.supplies.bars.iter().filter(|bar| bar.1 == layer.name) {
            let _ = write!(bars, "M{:.1} {:.1}H{:.1}V{:.1}H{:.1}z", um(*a), um(*b), um(*c), um(*d), um(*a));
        }
        for port in drawing.ports.iter().filter(|port| port.layer == layer.name) {
            let [a, b, c, d] = port.shape;
            let (x, y) = port.at;
            let [a, b, c, d] = [um(x + a), um(y + b), um(x + c), um(y + d)];
            let _ = write!(bars, "M{a:.1} {b:.1}H{c:.1}V{d:.1}H{a:.1}z");
        }
        let colour = LAYERS[number % LAYERS.len()];
        let _ = writeln!(
            text,
            "<path fill=\"none\" stroke=\"{colour}\" stroke-opacity=\"0.75\" stroke-width=\"{:.2}\" d=\"{path}\"/>\
             <path fill=\"{colour}\" d=\"{bars}\"/>",
            um(layer.width)
        );
    }
    text += "</g>\n";
    let mut legend = |line: f64, entries: &mut dyn Iterator<Item = (&str, &str)>| {
        let mut x = 0.0;
        for (colour, name) in entries {
            let y = height + letter * line;
            let _ = writeln!(
                text,
                "<rect x=\"{x:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{colour}\"/>\
                 <text x=\"{:.2}\" y=\"{y:.2}\">{}</text>",
                y - letter * 0.75,
                letter * 0.8,
                letter * 0.8,
                x + letter * 1.1,
                escape(name)
            );
            x += letter * (2.2 + 0.55 * name.len() as f64);
        }
    };
    legend(2.7, &mut Role::ALL.iter().map(|role| (role.colour(), role.name())));
    let layers = lef.layers.iter().enumerate();
    legend(4.2, &mut layers.map(|(number, layer)| (LAYERS[number % LAYERS.len()], layer.name.as_str())));
    let _ =
        writeln!(text, "<text x=\"0\" y=\"{:.2}\">{}</text>\n</svg>", height + letter * 1.3, escape(drawing.caption));
    text
}

#[cfg(test)]
mod tests {
    use super::super::lef::Layer;
    use super::*;

    #[test]
    fn cells_wires_and_pins_are_drawn() {
        let lef = Lef { layers: vec![Layer { name: "m1".into(), width: 300, ..Layer::default() }], ..Lef::default() };
        let piece = Piece::Wire { layer: "m1".into(), from: (1000, 2000), to: (1000, 9000), width: None };
        let floor = Floor { die: (20_000, 30_000), height: 10_000, rows: 1, ..Floor::default() };
        let port = Port { name: "a".into(), layer: "m1".into(), at: (400, 500), shape: [-1, -1, 1, 1], input: true };
        let drawing = Drawing {
            caption: "t & <b>",
            floor: &floor,
            cells: &[(Place::default(), 1600, Role::State)],
            ports: &[port],
            supplies: &Supplies::default(),
            wires: &Wires::from([("n".to_owned(), vec![piece])]),
            lef: &lef,
        };
        let svg = draw(&drawing);
        assert!(svg.contains("M1.0 2.0V9.0") && svg.contains("t &amp; &lt;b&gt;"), "{svg}");
        assert!(svg.ends_with("</svg>\n") && svg.contains("#d98a2b\" d=\"M0.1 0.4h1.4v9.2h-"), "{svg}");
    }
}
