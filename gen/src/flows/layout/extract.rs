//! Resistance and capacitance of the wires, as the LEF file of the technology gives them, in SPEF for OpenSTA.
//!
//! A wire has the resistance of its squares, and the capacitance of its area and of its two edges to the ground. A
//! neighbour counts as ground, and vias have no resistance, unless the file of the technology says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::def::{Floor, Port};
use super::lef::Lef;
use super::netlist::Netlist;
use super::placement::{Place, cell};
use super::routed::{Piece, Wires};

/// A point of a wire: layer, x, y.
type Point = (usize, i64, i64);

/// A net as a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Capacitance at each point in pF.
    pub farads: BTreeMap<Point, f64>,
    /// Resistance between two points in ohms.
    pub ohms: Vec<(Point, Point, f64)>,
}

/// Joins the pieces of a net. Wires are cut where another piece meets them.
///
/// # Errors
/// A layer or via that the LEF file does not have.
pub fn network(pieces: &[Piece], lef: &Lef, pins: &[Point]) -> Result<Network, String> {
    let layer = |name: &str| {
        let found = lef.layers.iter().position(|layer| layer.name == name);
        found.ok_or_else(|| format!("the router uses an unknown layer `{name}`"))
    };
    let mut points: Vec<Point> = pins.to_vec();
    let (mut lines, mut joints) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Wire { layer: name, from, to, width } => {
                let layer = layer(name)?;
                let ends = [(layer, from.0, from.1), (layer, to.0, to.1)];
                points.extend(ends);
                lines.push((ends, width.unwrap_or(lef.layers[layer].width)));
            }
            Piece::Via { name, at } => {
                let shapes = lef.vias.get(name).ok_or_else(|| format!("the router uses an unknown via `{name}`"))?;
                let mut layers: Vec<usize> = shapes.iter().filter_map(|shape| layer(&shape.layer).ok()).collect();
                layers.sort_unstable();
                layers.dedup();
                let [low, .., high] = layers[..] else { return Err(format!("the via `{name}` joins no two layers")) };
                let ends = [(low, at.0, at.1), (high, at.0, at.1)];
                points.extend(ends);
                joints.push(ends);
            }
        }
    }
    points.sort_unstable();
    points.dedup();
    let mut network = Network { farads: points.iter().map(|point| (*point, 0.0)).collect(), ohms: Vec::new() };
    for ([a, b], width) in lines {
        let inside = |p: &&Point| {
            let within = |v: i64, x: i64, y: i64| x.min(y) <= v && v <= x.max(y);
            p.0 == a.0 && within(p.1, a.1, b.1) && within(p.2, a.2, b.2)
        };
        let mut on: Vec<Point> = points.iter().filter(inside).copied().collect();
        on.sort_unstable();
        let about = &lef.layers[a.0];
        let width = width as f64 / 1000.0;
        for two in on.windows(2) {
            let length = ((two[0].1 - two[1].1).abs() + (two[0].2 - two[1].2).abs()) as f64 / 1000.0;
            let farads = length * (width * about.area_pf + 2.0 * about.edge_pf);
            for end in two {
                *network.farads.entry(*end).or_default() += farads / 2.0;
            }
            network.ohms.push((two[0], two[1], (length / width * about.ohms).max(MOST_SMALL)));
        }
    }
    network.ohms.extend(joints.into_iter().map(|[a, b]| (a, b, MOST_SMALL)));
    Ok(network)
}

/// What stands for no resistance.
const MOST_SMALL: f64 = 0.001;

/// A node of a net that several of its points may be.
fn find(parents: &mut BTreeMap<Point, Point>, point: Point) -> Point {
    let mut at = point;
    while let Some(&next) = parents.get(&at).filter(|next| **next != at) {
        at = next;
    }
    parents.insert(point, at);
    at
}

/// What is known of the wires of a design.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extracted {
    /// In SPEF.
    pub spef: String,
    /// Capacitance of all wires in pF.
    pub farads: f64,
}

/// Extracts all nets.
///
/// # Errors
/// A layer, via or cell that the LEF file does not have.
pub fn extract(
    netlist: &Netlist,
    places: &[Place],
    ports: &[Port],
    wires: &Wires,
    lef: &Lef,
    floor: &Floor,
) -> Result<Extracted, String> {
    let names = netlist.names("", "");
    let pins = netlist.pins();
    let mut found = Extracted { spef: header(netlist), ..Extracted::default() };
    for net in 2..netlist.nets {
        let name = &names[net];
        let pieces = wires.get(name).map(Vec::as_slice).unwrap_or_default();
        // Pins by name, with the shapes in which a point of a wire meets them.
        let mut ends: Vec<End> = Vec::new();
        let mut own = Vec::new();
        for bit in netlist.bits.iter().filter(|bit| bit.net == net) {
            let port = ports.iter().find(|port| port.name == bit.name).ok_or("a pin without a place")?;
            let layer = lef.layers.iter().position(|layer| layer.name == port.layer).unwrap_or_default();
            let (x, y) = port.at;
            own.push((layer, x, y));
            ends.push((bit.name.clone(), bit.input, vec![(layer, [x, y, x, y])]));
        }
        for &(instance, number) in &pins[net] {
            let (pin, _) = &netlist.instances[instance].pins[number];
            let about = cell(lef, &netlist.instances[instance].cell)?;
            let known = about.pin(pin).ok_or_else(|| format!("no pin {pin} in the LEF file"))?;
            let mut shapes = Vec::new();
            for shape in &known.shapes {
                let layer = lef.layers.iter().position(|layer| layer.name == shape.layer).unwrap_or_default();
                let [a, b, c, d] = places[instance].shape(about, shape.rect);
                let (x, y) = floor.corner;
                shapes.push((layer, [a + x, b + y, c + x, d + y]));
            }
            ends.push((format!("c{instance}:{pin}"), known.output, shapes));
        }
        if ends.len() < 2 {
            continue;
        }
        let network = network(pieces, lef, &own)?;
        let total: f64 = network.farads.values().sum();
        found.farads += total;
        describe(&mut found.spef, name, total, &network, &ends, netlist, lef);
    }
    Ok(found)
}

fn header(netlist: &Netlist) -> String {
    let mut text = format!(
        "*SPEF \"IEEE 1481-1998\"\n*DESIGN \"{}\"\n*DATE \"\"\n*VENDOR \"\"\n*PROGRAM \"senbazuru\"\n*VERSION \"\"\n\
         *DESIGN_FLOW \"\"\n*DIVIDER /\n*DELIMITER :\n*BUS_DELIMITER []\n*T_UNIT 1 NS\n*C_UNIT 1 PF\n*R_UNIT 1 OHM\n\
         *L_UNIT 1 HENRY\n\n*PORTS\n",
        netlist.top
    );
    for bit in &netlist.bits {
        let _ = writeln!(text, "{} {}", bit.name, if bit.input { "I" } else { "O" });
    }
    text + "\n"
}

/// Writes a net.
///
/// Points are one where wires share a point. Some wires only touch with their sides, or meet the edge of a pin: netgen
/// says whether the net is whole. Here the nearest points of two parts are joined, so that each pin has its delay.
fn describe(text: &mut String, name: &str, total: f64, network: &Network, ends: &[End], netlist: &Netlist, lef: &Lef) {
    let _ = writeln!(text, "*D_NET {name} {total:.9}\n*CONN");
    let mut joints = Vec::new();
    let mut parents: BTreeMap<Point, Point> = network.farads.keys().map(|point| (*point, *point)).collect();
    for (end, drives, shapes) in ends {
        let port = netlist.bits.iter().any(|bit| &bit.name == end);
        // An input of the design drives its net, and is an input for SPEF.
        let way = if *drives == port { "I" } else { "O" };
        let _ = writeln!(text, "*{} {end} {way}", if port { "P" } else { "I" });
        let away = |point: &Point| {
            let reach = lef.layers[point.0].width / 2;
            let far = |shape: &(usize, [i64; 4])| {
                let [a, b, c, d] = shape.1;
                let beside = |v: i64, low: i64, high: i64| (low - reach - v).max(v - high - reach).max(0);
                beside(point.1, a, c) + beside(point.2, b, d) + if shape.0 == point.0 { 0 } else { OTHER_LAYER }
            };
            shapes.iter().map(far).min().unwrap_or(i64::MAX)
        };
        let nearest = network.farads.keys().map(away).min().unwrap_or_default();
        let points: Vec<Point> = network.farads.keys().filter(|point| away(point) == nearest).copied().collect();
        // Points of one pin are joined inside of the cell.
        for two in points.windows(2) {
            unite(&mut parents, two[0], two[1]);
        }
        joints.extend(points.iter().map(|point| (end, *point)));
    }
    for (from, to, _) in &network.ohms {
        unite(&mut parents, *from, *to);
    }
    let mut ohms = network.ohms.clone();
    ohms.extend(bridges(&mut parents));
    let numbers: BTreeMap<Point, usize> = network.farads.keys().enumerate().map(|(n, p)| (*p, n + 1)).collect();
    let _ = writeln!(text, "*CAP");
    for (count, (point, farads)) in network.farads.iter().filter(|(_, farads)| **farads > 0.0).enumerate() {
        let _ = writeln!(text, "{} {name}:{} {farads:.9}", count + 1, numbers[point]);
    }
    let _ = writeln!(text, "*RES");
    for (count, (from, to, ohms)) in ohms.iter().enumerate() {
        let _ = writeln!(text, "{} {name}:{} {name}:{} {ohms:.6}", count + 1, numbers[from], numbers[to]);
    }
    for (count, (end, point)) in joints.iter().enumerate() {
        let _ = writeln!(text, "{} {end} {name}:{} {MOST_SMALL}", ohms.len() + count + 1, numbers[point]);
    }
    let _ = writeln!(text, "*END\n");
}

/// A pin of a net: name, whether it drives, shapes by layer.
type End = (String, bool, Vec<(usize, [i64; 4])>);

/// How far away another layer counts, in nm: only where nothing else is near.
const OTHER_LAYER: i64 = 10_000;

fn unite(parents: &mut BTreeMap<Point, Point>, one: Point, other: Point) {
    let (a, b) = (find(parents, one), find(parents, other));
    parents.insert(a, b);
}

/// Joints between parts of a net that share no point, each from a part to the nearest point of the others.
fn bridges(parents: &mut BTreeMap<Point, Point>) -> Vec<(Point, Point, f64)> {
    let points: Vec<Point> = parents.keys().copied().collect();
    let mut found = Vec::new();
    loop {
        let roots: Vec<Point> = points.iter().map(|point| find(parents, *point)).collect();
        let Some(first) = roots.first() else { return found };
        let (inside, outside): (Vec<_>, Vec<_>) = points.iter().zip(&roots).partition(|(_, root)| *root == first);
        let far =
            |a: &Point, b: &Point| (a.1 - b.1).abs() + (a.2 - b.2).abs() + if a.0 == b.0 { 0 } else { OTHER_LAYER };
        let pairs = inside.iter().flat_map(|(a, _)| outside.iter().map(move |(b, _)| (far(a, b), **a, **b)));
        let Some((_, a, b)) = pairs.min() else { return found };
        unite(parents, a, b);
        found.push((a, b, MOST_SMALL));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lef::{Layer, Shape};
    use super::*;

    fn lef() -> Lef {
        let layer = |name: &str| Layer {
            name: name.into(),
            width: 500,
            ohms: 0.1,
            area_pf: 0.002,
            edge_pf: 0.001,
            ..Layer::default()
        };
        let shape = |layer: &str| Shape { layer: layer.into(), rect: [-1, -1, 1, 1] };
        Lef {
            layers: vec![layer("m1"), layer("m2")],
            vias: BTreeMap::from([("V".to_owned(), vec![shape("m1"), shape("v"), shape("m2")])]),
            ..Lef::default()
        }
    }

    #[test]
    fn a_wire_is_cut_where_another_meets_it() {
        let wire = |layer: &str, from, to| Piece::Wire { layer: layer.into(), from, to, width: None };
        let pieces = [
            wire("m1", (0, 0), (10_000, 0)),
            Piece::Via { name: "V".into(), at: (4000, 0) },
            wire("m2", (4000, 0), (4000, 5000)),
        ];
        let network = network(&pieces, &lef(), &[]).unwrap();
        // 15 um with 0.5 * 0.002 + 2 * 0.001 pF each.
        assert!((network.farads.values().sum::<f64>() - 0.045).abs() < 1e-12);
        let mut ohms: Vec<f64> = network.ohms.iter().map(|(_, _, ohms)| *ohms).collect();
        ohms.sort_by(f64::total_cmp);
        assert_eq!(ohms.len(), 4);
        assert!((ohms[1] - 0.8).abs() < 1e-9 && (ohms[2] - 1.0).abs() < 1e-9 && (ohms[3] - 1.2).abs() < 1e-9);
    }

    #[test]
    fn parts_that_share_no_point_are_bridged() {
        let points = [(0, 0, 0), (0, 5, 0), (0, 900, 0), (1, 6, 0)];
        let mut parents: BTreeMap<Point, Point> = points.iter().map(|point| (*point, *point)).collect();
        unite(&mut parents, points[0], points[1]);
        let found = bridges(&mut parents);
        assert_eq!(found, [(points[1], points[2], MOST_SMALL), (points[1], points[3], MOST_SMALL)]);
    }

    #[test]
    fn unknown_layers_are_errors() {
        let piece = Piece::Wire { layer: "m9".into(), from: (0, 0), to: (1, 0), width: None };
        assert!(network(&[piece], &lef(), &[]).unwrap_err().contains("m9"));
    }
}
