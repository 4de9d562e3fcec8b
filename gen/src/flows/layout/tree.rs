//! Trees of buffers for nets with many pins: the clock and the reset.
//!
//! Synthesis leaves both as one net. The tree is built on placed cells: pins are halved by their places until a group
//! is small enough, each group gets a buffer in a row near its middle, and the buffers are the pins of the next level.
//! All leaves have the same number of buffers before them.

use super::lef::Lef;
use super::netlist::{Buffer, Net, Netlist};
use super::placement::{Plan, Wish, cell};

/// A pin to be driven: its instance, the number of its pin, its place.
type Sink = (usize, usize, (i64, i64));

/// Builds the tree of a net into netlist and plan. The result is the number of its buffers.
///
/// # Errors
/// No row has room for a buffer.
pub fn build(
    netlist: &mut Netlist,
    plan: &mut Plan,
    lef: &Lef,
    net: Net,
    buffer: &Buffer,
    how: &Shape,
) -> Result<usize, String> {
    let before = netlist.instances.len();
    let mut sinks = Vec::new();
    for (number, row) in plan.rows.iter().enumerate() {
        for wish in &row.cells {
            for (pin, (_, to)) in netlist.instances[wish.instance].pins.iter().enumerate() {
                if *to == net {
                    sinks.push((wish.instance, pin, (wish.at, number as i64 * how.height)));
                }
            }
        }
    }
    while sinks.len() > how.most {
        let mut groups = Vec::new();
        halve(sinks, how.most, &mut groups);
        sinks = Vec::new();
        for group in groups {
            let to = netlist.add_buffer(buffer, net);
            let own = netlist.instances.len() - 1;
            let count = group.len() as i64;
            let middle = |part: fn(&Sink) -> i64| group.iter().map(part).sum::<i64>() / count;
            let (x, y) = (middle(|sink| sink.2.0), middle(|sink| sink.2.1));
            for (instance, pin, _) in group {
                netlist.instances[instance].pins[pin].1 = to;
            }
            let row = insert(netlist, plan, lef, own, (x, y), how)?;
            sinks.push((own, 0, (x, row as i64 * how.height)));
        }
    }
    Ok(netlist.instances.len() - before)
}

/// How many buffers the tree of so many pins has.
#[must_use]
pub fn buffers(mut pins: usize, most: usize) -> usize {
    fn groups(pins: usize, most: usize) -> usize {
        if pins <= most { 1 } else { groups(pins / 2, most) + groups(pins - pins / 2, most) }
    }
    let mut all = 0;
    while pins > most {
        pins = groups(pins, most);
        all += pins;
    }
    all
}

/// What the rows are like, and the most pins that a buffer drives.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Height of a row.
    pub height: i64,
    /// Width of the rows.
    pub width: i64,
    /// Pins for a buffer, at most.
    pub most: usize,
}

/// Groups of at most `most`, each time cut across the longer side.
fn halve(mut sinks: Vec<Sink>, most: usize, groups: &mut Vec<Vec<Sink>>) {
    if sinks.len() <= most {
        groups.push(sinks);
        return;
    }
    let spread = |part: fn(&Sink) -> i64| {
        let all = || sinks.iter().map(part);
        all().max().unwrap_or_default() - all().min().unwrap_or_default()
    };
    let wide = spread(|sink| sink.2.0) >= spread(|sink| sink.2.1);
    sinks.sort_by_key(|&(instance, pin, (x, y))| (if wide { x } else { y }, instance, pin));
    let rest = sinks.split_off(sinks.len() / 2);
    halve(sinks, most, groups);
    halve(rest, most, groups);
}

/// Puts an instance into the nearest row that has room.
fn insert(
    netlist: &Netlist,
    plan: &mut Plan,
    lef: &Lef,
    instance: usize,
    (x, y): (i64, i64),
    how: &Shape,
) -> Result<usize, String> {
    let size = |instance: usize| cell(lef, &netlist.instances[instance].cell).map(|cell| cell.size.0);
    let own = size(instance)?;
    let mut best: Option<(i64, usize)> = None;
    for (number, row) in plan.rows.iter().enumerate() {
        let mut used = own;
        for wish in &row.cells {
            used += size(wish.instance)?;
        }
        let far = (number as i64 * how.height - y).abs();
        if used <= how.width && best.is_none_or(|(least, _)| far < least) {
            best = Some((far, number));
        }
    }
    let (_, row) =
        best.ok_or("no row has room for a buffer of the clock or of the reset: ask for a lower utilisation")?;
    let cells = &mut plan.rows[row].cells;
    let place = cells.partition_point(|wish| wish.at < x);
    cells.insert(place, Wish { instance, at: x, mirrored: false });
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::super::lef::Macro;
    use super::super::netlist::Instance;
    use super::super::placement::Row;
    use super::*;

    #[test]
    fn every_pin_is_equally_deep() {
        let mut netlist = Netlist { nets: 3, ..Netlist::default() };
        let mut plan = Plan { rows: vec![Row::default(), Row { flipped: true, ..Row::default() }], ..Plan::default() };
        for number in 0..20 {
            netlist.instances.push(Instance { cell: "F".into(), pins: vec![("CLK".into(), 2)] });
            let wish = Wish { instance: number, at: number as i64 * 10, mirrored: false };
            plan.rows[number % 2].cells.push(wish);
        }
        let mut lef = Lef::default();
        lef.macros.insert("F".into(), Macro { size: (10, 10), ..Macro::default() });
        lef.macros.insert("B".into(), Macro { size: (5, 10), ..Macro::default() });
        let buffer = Buffer { cell: "B".into(), input: "A".into(), output: "Y".into() };
        let shape = Shape { height: 10, width: 200, most: 4 };
        let added = build(&mut netlist, &mut plan, &lef, 2, &buffer, &shape).unwrap();
        // Eight groups, then two, which the port drives.
        assert_eq!((added, buffers(20, 4), buffers(4, 4)), (10, 10, 0));
        let driver = |net: Net| netlist.instances.iter().find(|i| i.cell == "B" && i.pins[1].1 == net);
        for flop in netlist.instances.iter().filter(|i| i.cell == "F") {
            let first = driver(flop.pins[0].1).unwrap();
            assert_eq!(driver(first.pins[0].1).unwrap().pins[0].1, 2);
        }
        assert_eq!(plan.rows.iter().map(|row| row.cells.len()).sum::<usize>(), 30);
        let full = Shape { width: 100, ..shape };
        let error = build(&mut netlist.clone(), &mut plan, &lef, 2, &buffer, &Shape { most: 1, ..full }).unwrap_err();
        assert!(error.contains("lower utilisation"), "{error}");
    }
}
