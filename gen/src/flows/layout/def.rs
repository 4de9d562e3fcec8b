//! Writes the placed design in DEF.
//!
//! The supplies are a comb. The cells of a row share two rails. Every rail goes on to both sides, to two straps on the
//! second layer, one for each supply. Pins stand on tracks at the border: on the second layer below and above, on the
//! third one left and right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::lef::{Layer, Lef, Shape};
use super::netlist::{Bit, HIGH, LOW, Netlist};
use super::placement::{Place, Plan, cell, pack};
use super::technology::Technology;

/// Geometry of the whole, in nm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Width and height of the die.
    pub die: (i64, i64),
    /// Lower left corner of the rows.
    pub corner: (i64, i64),
    /// Width of the rows.
    pub width: i64,
    /// Rows.
    pub rows: usize,
    /// Height of a row.
    pub height: i64,
    /// Width of a strap.
    pub strap: i64,
}

/// A pin at the border.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name.
    pub name: String,
    /// Layer.
    pub layer: String,
    /// Middle of its track.
    pub at: (i64, i64),
    /// Its metal around that: it goes on to the border.
    pub shape: [i64; 4],
    /// Whether it is an input.
    pub input: bool,
}

/// Multiples of `step` that are not below `least`.
fn up(least: i64, step: i64) -> i64 {
    (least + step - 1) / step * step
}

/// The floor for rows of this width.
#[must_use]
pub fn floor(technology: &Technology, width: i64, rows: usize, strap: i64) -> Floor {
    let layers = &technology.lef.layers;
    let pitch = |horizontal: bool| layers.iter().filter(|l| l.horizontal == horizontal).map(|l| l.pitch).max();
    let (x, y) = (pitch(false).unwrap_or(1), pitch(true).unwrap_or(1));
    let gap = strap_gap(&layers[1]);
    // Two straps with a gap beside each, and two tracks for the pins.
    let side = up(2 * strap + 3 * gap + 2 * x, x);
    let below = up(4 * y, y);
    let height = technology.row;
    let die = (up(width + 2 * side, x), up(rows as i64 * height + 2 * below, y));
    Floor { die, corner: (side, below), width, rows, height, strap }
}

/// Between straps, and between a strap and what is next to it.
fn strap_gap(layer: &Layer) -> i64 {
    layer.pitch + layer.spacing
}

/// Middles of the straps left and right of the rows; the ground is the inner one.
fn straps(floor: &Floor, layer: &Layer) -> [(usize, i64); 4] {
    let gap = strap_gap(layer);
    let (inner, outer) = (gap + floor.strap / 2, 2 * gap + floor.strap + floor.strap / 2);
    let right = floor.corner.0 + floor.width;
    [(LOW, floor.corner.0 - inner), (HIGH, floor.corner.0 - outer), (LOW, right + inner), (HIGH, right + outer)]
}

/// Puts each pin on a track at the border that is nearest to its wish.
///
/// # Errors
/// More pins than tracks around the die.
pub fn ports(netlist: &Netlist, plan: &Plan, lef: &Lef, floor: &Floor) -> Result<Vec<Port>, String> {
    let (vertical, horizontal) = (&lef.layers[1], lef.layers.get(2).unwrap_or(&lef.layers[0]));
    let (rows_x, rows_y) = (floor.width, floor.rows as i64 * floor.height);
    // Below, above, left, right.
    let mut sides: [Vec<(i64, usize)>; 4] = Default::default();
    for (number, bit) in netlist.bits.iter().enumerate() {
        let (x, y) = plan.pins.get(&bit.name).copied().unwrap_or_default();
        let far = [y.abs(), (rows_y - y).abs(), x.abs(), (rows_x - x).abs()];
        let nearest = (0..4).min_by_key(|side| far[*side]).unwrap_or_default();
        sides[nearest].push((if nearest < 2 { x } else { y }, number));
    }
    let tracks = |side: usize| if side < 2 { rows_x / vertical.pitch } else { rows_y / horizontal.pitch };
    // What a side has too many of goes to the next one.
    for turn in 0..8 {
        let (side, next) = (turn % 4, (turn + 1) % 4);
        let most = tracks(side).max(0) as usize;
        if sides[side].len() > most {
            let more = sides[side].split_off(most);
            sides[next].extend(more);
        }
    }
    let mut ports = Vec::new();
    for (side, mut wishes) in sides.into_iter().enumerate() {
        let layer = if side < 2 { vertical } else { horizontal };
        let most = tracks(side);
        if wishes.len() as i64 > most {
            let (pins, places) = (netlist.bits.len(), (0..4).map(tracks).sum::<i64>());
            return Err(format!(
                "{pins} pins do not fit on the {places} tracks around the rows: ask for a lower utilisation or another \
                 aspect ratio"
            ));
        }
        wishes.sort_unstable();
        // Every second track where there is room: the router meets them more easily.
        let step = if 2 * wishes.len() as i64 <= most { 2 } else { 1 };
        let wanted: Vec<_> = wishes.iter().map(|(at, _)| ((at / layer.pitch).clamp(0, most), step)).collect();
        let start = if side < 2 { floor.corner.0 } else { floor.corner.1 };
        for ((_, bit), track) in wishes.iter().zip(pack(&wanted, most)) {
            let along = start + track * layer.pitch + layer.offset;
            let last = |whole: i64, other: &Layer| (whole - other.offset) / other.pitch * other.pitch - other.offset;
            let at = match side {
                0 => (along, horizontal.offset),
                1 => (along, last(floor.die.1, horizontal)),
                2 => (vertical.offset, along),
                _ => (last(floor.die.0, vertical), along),
            };
            // As wide as a via inside, and up to the border outside: enough metal for the rules, and none that a
            // neighbour on the next track would be too near to.
            let half = vias(lef, &layer.name).max(layer.width / 2);
            let shape = match side {
                0 => [-half, -at.1, half, half],
                1 => [-half, -half, half, floor.die.1 - at.1],
                2 => [-at.0, -half, half, half],
                _ => [-half, -half, floor.die.0 - at.0, half],
            };
            let Bit { name, input, .. } = &netlist.bits[*bit];
            ports.push(Port { name: name.clone(), layer: layer.name.clone(), at, shape, input: *input });
        }
    }
    ports.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(ports)
}

/// Half the width of the widest via on a layer.
fn vias(lef: &Lef, layer: &str) -> i64 {
    let shapes = lef.vias.values().flatten().filter(|shape| shape.layer == layer);
    shapes.map(|shape| (shape.rect[2] - shape.rect[0]) / 2).max().unwrap_or_default()
}

/// Cells that fill the gaps: number of the row, left edge, cell.
#[must_use]
pub fn fill(netlist: &Netlist, places: &[Place], technology: &Technology, floor: &Floor) -> Vec<(usize, i64)> {
    let wide = technology.lef.macros[&technology.fill].size.0;
    let mut rows: BTreeMap<usize, Vec<(i64, i64)>> = (0..floor.rows).map(|row| (row, Vec::new())).collect();
    for (instance, place) in netlist.instances.iter().zip(places) {
        let own = technology.lef.macros[&instance.cell].size.0;
        rows.entry(place.row).or_default().push((place.x, place.x + own));
    }
    let mut found = Vec::new();
    for (row, mut cells) in rows {
        cells.sort_unstable();
        cells.push((floor.width, floor.width));
        let mut end = 0;
        for (left, right) in cells {
            let mut x = end;
            while x + wide <= left {
                found.push((row, x));
                x += wide;
            }
            end = right;
        }
    }
    found
}

/// The supplies outside of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplies {
    /// Straps and rails: supply, layer, rectangle. The straps come first.
    pub bars: Vec<(usize, String, [i64; 4])>,
    /// Vias where they meet: supply, place.
    pub vias: Vec<(usize, (i64, i64))>,
    /// The via.
    pub via: String,
}

/// The supplies outside of the rows: straps, rails that reach them, and vias where they meet.
///
/// # Errors
/// The LEF file has no via between its first two layers.
pub fn supplies(technology: &Technology, floor: &Floor, flipped: bool) -> Result<Supplies, String> {
    let lef = &technology.lef;
    let (rail_layer, layer) = (&lef.layers[0], &lef.layers[1]);
    let (via, shapes) =
        lef.via(&rail_layer.name, &layer.name).ok_or("the LEF file has no via between its first layers")?;
    let half = |shape: &Shape| (shape.rect[2] - shape.rect[0]) / 2;
    let metal = shapes.iter().map(half).max().unwrap_or_default();
    let cut =
        shapes.iter().find_map(|s| lef.cuts.get(&s.layer).map(|space| 2 * half(s) + space)).unwrap_or(layer.pitch);
    let step = up(cut, 50).max(2 * metal);
    let all = straps(floor, layer);
    let mut found = Supplies { via: via.to_owned(), ..Supplies::default() };
    let rail_half = technology.rail / 2;
    let (low, high) = (floor.corner.1 - rail_half, floor.corner.1 + floor.rows as i64 * floor.height + rail_half);
    let reach = floor.strap / 2;
    for &(net, x) in &all {
        found.bars.push((net, layer.name.clone(), [x - reach, low, x + reach, high]));
    }
    let (left, right) = (floor.corner.0, floor.corner.0 + floor.width);
    for rail in 0..=floor.rows {
        // The lower rail of a row that is upside down is the supply.
        let own = (usize::from(flipped) + rail) % 2;
        let y = floor.corner.1 + rail as i64 * floor.height;
        for &(net, x) in all.iter().filter(|(net, _)| *net == own) {
            let (from, to) = if x < left { (x - reach, left) } else { (right, x + reach) };
            found.bars.push((net, rail_layer.name.clone(), [from, y - rail_half, to, y + rail_half]));
            let places = ((floor.strap - 2 * metal) / step).max(0);
            found.vias.extend((0..=places).map(|place| (net, (x - places * step / 2 + place * step, y))));
        }
    }
    Ok(found)
}

/// The design for the router: it gets the supplies as obstructions, since its own notion of them is another one.
///
/// # Errors
/// A cell that the LEF file does not have.
pub fn write(
    netlist: &Netlist,
    places: &[Place],
    ports: &[Port],
    technology: &Technology,
    floor: &Floor,
    flipped: bool,
) -> Result<String, String> {
    let lef = &technology.lef;
    let mut text = format!(
        "VERSION 5.6 ;\nNAMESCASESENSITIVE ON ;\nDIVIDERCHAR \"/\" ;\nBUSBITCHARS \"[]\" ;\nDESIGN {} ;\n\
         UNITS DISTANCE MICRONS 1000 ;\nDIEAREA ( 0 0 ) ( {} {} ) ;\n\n",
        netlist.top, floor.die.0, floor.die.1
    );
    for layer in &lef.layers {
        let (axis, whole) = if layer.horizontal { ("Y", floor.die.1) } else { ("X", floor.die.0) };
        let (first, pitch) = (layer.offset, layer.pitch);
        let number = (whole - first) / pitch + 1;
        let _ = writeln!(text, "TRACKS {axis} {first} DO {number} STEP {pitch} LAYER {} ;", layer.name);
    }
    let fill = fill(netlist, places, technology, floor);
    let _ = writeln!(text, "\nCOMPONENTS {} ;", netlist.instances.len() + fill.len());
    for (number, (instance, place)) in netlist.instances.iter().zip(places).enumerate() {
        cell(lef, &instance.cell)?;
        let (x, y) = (floor.corner.0 + place.x, floor.corner.1 + place.row as i64 * floor.height);
        let _ = writeln!(text, "- c{number} {} + PLACED ( {x} {y} ) {} ;", instance.cell, place.orientation());
    }
    for (number, (row, x)) in fill.iter().enumerate() {
        let place = Place { x: *x, row: *row, flipped: (row % 2 == 1) != flipped, mirrored: false };
        let (x, y) = (floor.corner.0 + x, floor.corner.1 + *row as i64 * floor.height);
        let _ = writeln!(text, "- f{number} {} + PLACED ( {x} {y} ) {} ;", technology.fill, place.orientation());
    }
    let _ = writeln!(text, "END COMPONENTS\n\nPINS {} ;", ports.len());
    for port in ports {
        let [a, b, c, d] = port.shape;
        let _ = writeln!(
            text,
            "- {0} + NET {0} + DIRECTION {1} + LAYER {2} ( {a} {b} ) ( {c} {d} ) + PLACED ( {3} {4} ) N ;",
            port.name,
            if port.input { "INPUT" } else { "OUTPUT" },
            port.layer,
            port.at.0,
            port.at.1
        );
    }
    let nets = nets(netlist, &netlist.names(&technology.ground, &technology.power));
    let _ = writeln!(text, "END PINS\n\nNETS {} ;\n{}END NETS\n\nEND DESIGN", nets.len(), nets.concat());
    Ok(text)
}

/// The routed design with its supplies and their pins.
///
/// # Errors
/// The router left another text than DEF.
pub fn with_supplies(routed: &str, supplies: &Supplies, technology: &Technology) -> Result<String, String> {
    let names = [&technology.ground, &technology.power];
    let mut pins = String::new();
    for (net, layer, [a, b, c, d]) in supplies.bars.iter().take(4) {
        // A name for each strap would be a pin for each: the outer left and the inner left stand for all.
        if supplies.bars.iter().take(4).find(|bar| bar.0 == *net).is_some_and(|bar| bar.2 == [*a, *b, *c, *d]) {
            let (x, y) = ((a + c) / 2, (b + d) / 2);
            let use_of = if *net == LOW { "GROUND" } else { "POWER" };
            let _ = writeln!(
                pins,
                "- {0} + NET {0} + DIRECTION INOUT + USE {use_of} + LAYER {layer} ( {1} {2} ) ( {3} {4} ) + PLACED ( {x} {y} ) N ;",
                names[*net],
                a - x,
                b - y,
                c - x,
                d - y
            );
        }
    }
    let mut special = String::new();
    for (net, name) in names.iter().enumerate() {
        let _ = writeln!(special, "- {name} + USE {}", if net == LOW { "GROUND" } else { "POWER" });
        let mut start = "+ ROUTED";
        for (_, layer, [a, b, c, d]) in supplies.bars.iter().filter(|bar| bar.0 == net) {
            let (wide, high) = (c - a, d - b);
            let (x, y) = ((a + c) / 2, (b + d) / 2);
            let _ = match wide > high {
                true => writeln!(special, "  {start} {layer} {high} ( {a} {y} ) ( {c} {y} )"),
                false => writeln!(special, "  {start} {layer} {wide} ( {x} {b} ) ( {x} {d} )"),
            };
            start = "NEW";
        }
        let layer = &technology.lef.layers[0].name;
        for (_, (x, y)) in supplies.vias.iter().filter(|via| via.0 == net) {
            let _ = writeln!(special, "  NEW {layer} {} ( {x} {y} ) {}", technology.rail, supplies.via);
        }
        special += " ;\n";
    }
    // The router counts pins and special nets at the head of their sections.
    let more = |text: &str, section: &str, lines: &str, by: usize| -> Option<String> {
        let at = text.find(&format!("\n{section} "))? + 1;
        let (count, rest) = text[at..].split_once(';')?;
        let old: usize = count.split_whitespace().nth(1)?.parse().ok()?;
        Some(format!("{}{section} {} ;\n{lines}{}", &text[..at], old + by, rest.trim_start()))
    };
    let wrong = || "the router left no DEF file with pins and nets".to_owned();
    let text = more(routed, "PINS", &pins, 2).ok_or_else(wrong)?;
    match text.contains("\nSPECIALNETS ") {
        true => more(&text, "SPECIALNETS", &special, 2).ok_or_else(wrong),
        false => {
            let at = text.rfind("END DESIGN").ok_or_else(wrong)?;
            Ok(format!("{}SPECIALNETS 2 ;\n{special}END SPECIALNETS\n\n{}", &text[..at], &text[at..]))
        }
    }
}

/// The nets that the router joins: two pins at least.
fn nets(netlist: &Netlist, names: &[String]) -> Vec<String> {
    let pins = netlist.pins();
    let mut found = Vec::new();
    for (net, name) in names.iter().enumerate() {
        let mut text = format!("- {name}\n");
        let mut count = if net < 2 { 1 } else { 0 };
        for bit in netlist.bits.iter().filter(|bit| bit.net == net) {
            let _ = writeln!(text, "  ( PIN {} )", bit.name);
            count += 1;
        }
        for &(instance, pin) in &pins[net] {
            let _ = writeln!(text, "  ( c{instance} {} )", netlist.instances[instance].pins[pin].0);
            count += 1;
        }
        if count > 1 {
            found.push(text + " ;\n");
        }
    }
    found
}
