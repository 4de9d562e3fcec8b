//! Where cells and pins stand: the files of graywolf, and rows without overlap.
//!
//! graywolf packs a row without a gap. So cells are as much wider for it as the utilisation asks for. Afterwards only
//! the rows, the order in them and the wanted places count: cells are put on sites again, with room for buffers that
//! come later.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::lef::{Lef, Macro};
use super::netlist::{HIGH, LOW, Netlist};

/// graywolf counts in hundredths of a micrometre.
const UNIT: i64 = 10;

/// A cell in a row: instance, wanted place of its left edge in nm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Instance.
    pub instance: usize,
    /// Left edge, from the left end of the row.
    pub at: i64,
    /// Whether it is mirrored left to right.
    pub mirrored: bool,
}

/// A row of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Whether its cells stand upside down: every second row does, so that neighbours share a supply.
    pub flipped: bool,
    /// Its cells from left to right.
    pub cells: Vec<Wish>,
}

/// All rows from the lowest up, and where graywolf wants the pins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Rows.
    pub rows: Vec<Row>,
    /// Wanted places of pins, by name, from the lower left corner of the rows.
    pub pins: BTreeMap<String, (i64, i64)>,
}

/// A cell in its place: left and lower edge in nm from the corner of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Left edge.
    pub x: i64,
    /// Row.
    pub row: usize,
    /// Upside down.
    pub flipped: bool,
    /// Mirrored left to right.
    pub mirrored: bool,
}

impl Place {
    /// The orientation in DEF's words.
    #[must_use]
    pub fn orientation(self) -> &'static str {
        match (self.flipped, self.mirrored) {
            (false, false) => "N",
            (true, false) => "FS",
            (false, true) => "FN",
            (true, true) => "S",
        }
    }

    /// A rectangle of the cell, from the corner of the rows.
    #[must_use]
    pub fn shape(self, cell: &Macro, rect: [i64; 4]) -> [i64; 4] {
        let [mut left, mut bottom, mut right, mut top] = rect;
        let (width, height) = cell.size;
        if self.mirrored {
            (left, right) = (width - right, width - left);
        }
        if self.flipped {
            (bottom, top) = (height - top, height - bottom);
        }
        let y = self.row as i64 * height;
        [self.x + left, y + bottom, self.x + right, y + top]
    }
}

/// The cell of an instance.
///
/// # Errors
/// The LEF file does not have it.
pub fn cell<'a>(lef: &'a Lef, name: &str) -> Result<&'a Macro, String> {
    lef.macros.get(name).ok_or_else(|| format!("the LEF file has no cell `{name}`"))
}

/// The netlist for graywolf.
///
/// # Errors
/// A cell or pin that the LEF file does not have.
pub fn cel(netlist: &Netlist, lef: &Lef, site: i64, utilisation: f64) -> Result<String, String> {
    let mut text = String::new();
    // What the cells so far are too narrow by.
    let mut owed = 0.0;
    for (number, instance) in netlist.instances.iter().enumerate() {
        let about = cell(lef, &instance.cell)?;
        let (width, height) = (about.size.0 / UNIT, about.size.1 / UNIT);
        owed += about.size.0 as f64 * (1.0 / utilisation - 1.0);
        let sites = (owed / site as f64).floor();
        owed -= sites * site as f64;
        let wide = width + sites as i64 * site / UNIT;
        let (left, bottom) = (-(wide / 2), -(height / 2));
        let _ = writeln!(text, "cell {number} c{number}");
        let _ = writeln!(text, "left {left} right {} bottom {bottom} top {}", left + wide, bottom + height);
        for (pin, net) in instance.pins.iter().filter(|(_, net)| ![LOW, HIGH].contains(net)) {
            let shape = about.pin(pin).and_then(|pin| pin.shapes.first());
            let [a, b, c, d] = shape
                .map(|shape| shape.rect)
                .ok_or_else(|| format!("the LEF file has no place for pin {pin} of cell {}", instance.cell))?;
            let (x, y) = (left + (a + c) / 2 / UNIT, bottom + (b + d) / 2 / UNIT);
            let _ = writeln!(text, "pin name {pin} signal n{net} layer 1 {x} {y}");
        }
    }
    for (number, bit) in netlist.bits.iter().enumerate() {
        let (x, y) = (site / 2 / UNIT, site / 2 / UNIT);
        let _ = writeln!(
            text,
            "pad {} name twpin_{number}\ncorners 4 -{x} -{y} -{x} {y} {x} {y} {x} -{y}\n\
             pin name p{number} signal n{} layer 1 0 0\n",
            number + 1,
            bit.net
        );
    }
    Ok(text)
}

/// Parameters of graywolf: the ones of the technology, with our seed and shape.
#[must_use]
pub fn par(technology: &str, seed: u64, aspect: f64) -> String {
    let ours = [("*random.seed", seed.to_string()), ("TWMC*chip.aspect.ratio", aspect.to_string())];
    let is_ours = |line: &str| ours.iter().any(|(name, _)| line.trim_start().starts_with(name));
    let mut text: String = technology.lines().filter(|line| !is_ours(line)).map(|line| format!("{line}\n")).collect();
    for (name, value) in ours {
        let _ = writeln!(text, "{name} : {value}");
    }
    text
}

/// Reads graywolf's result.
///
/// # Errors
/// A line that is none, an instance that is missing or there twice, a row in which cells stand in both ways.
pub fn read(pl1: &str, netlist: &Netlist) -> Result<Plan, String> {
    let mut rows: BTreeMap<i64, Vec<(i64, usize, u8)>> = BTreeMap::new();
    let mut pins = Vec::new();
    let mut seen = vec![false; netlist.instances.len()];
    for line in pl1.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || format!("graywolf wrote the line `{line}`; wanted: name, corners, orientation, row");
        let [name, corners @ .., orientation, _row] = &words[..] else { return Err(wrong()) };
        let corners: Vec<i64> = corners.iter().filter_map(|word| word.parse().ok()).collect();
        let [left, bottom, right, top] = corners[..] else { return Err(wrong()) };
        if let Some(number) = name.strip_prefix("twpin_").and_then(|n| n.parse::<usize>().ok()) {
            let bit = netlist.bits.get(number).ok_or_else(wrong)?;
            pins.push((bit.name.clone(), ((left + right) / 2 * UNIT, (bottom + top) / 2 * UNIT)));
            continue;
        }
        let number = name.strip_prefix('c').and_then(|n| n.parse::<usize>().ok()).ok_or_else(wrong)?;
        let orientation: u8 = orientation.parse().ok().filter(|o| *o < 4).ok_or_else(wrong)?;
        let seen = seen.get_mut(number).ok_or_else(wrong)?;
        if std::mem::replace(seen, true) {
            return Err(format!("graywolf placed the cell c{number} twice"));
        }
        rows.entry(bottom).or_default().push((left, number, orientation));
    }
    if let Some(number) = seen.iter().position(|seen| !seen) {
        return Err(format!("graywolf did not place the cell c{number}"));
    }
    let lowest = rows.keys().next().copied().unwrap_or_default();
    let left = rows.values().flatten().map(|cell| cell.0).min().unwrap_or_default();
    let mut plan = Plan::default();
    for (_, mut cells) in rows {
        cells.sort_unstable();
        // 0: as drawn, 1: upside down, 2: mirrored, 3: both.
        let flipped = cells.iter().filter(|cell| cell.2 % 2 == 1).count();
        if flipped != 0 && flipped != cells.len() {
            return Err("graywolf left a row in which cells stand both upright and upside down".into());
        }
        let wish = |&(x, instance, o): &(i64, usize, u8)| Wish { instance, at: (x - left) * UNIT, mirrored: o >= 2 };
        plan.rows.push(Row { flipped: flipped != 0, cells: cells.iter().map(wish).collect() });
    }
    if plan.rows.windows(2).any(|two| two[0].flipped == two[1].flipped) {
        return Err("graywolf left two rows that stand alike next to each other".into());
    }
    plan.pins = pins.into_iter().map(|(name, (x, y))| (name, (x - left * UNIT, y - lowest * UNIT))).collect();
    Ok(plan)
}

/// Places of things in a row as near to the wanted ones as their order lets them be, none before 0 or after `whole`.
/// They fit: the sum of widths is at most `whole`.
#[must_use]
pub fn pack(wanted: &[(i64, i64)], whole: i64) -> Vec<i64> {
    let mut places = Vec::with_capacity(wanted.len());
    let mut end = 0;
    for &(at, width) in wanted {
        let place = at.max(end);
        places.push(place);
        end = place + width;
    }
    let mut limit = whole;
    for (place, (_, width)) in places.iter_mut().zip(wanted).rev() {
        *place = (*place).min(limit - width);
        limit = *place;
    }
    places
}

/// The width of the rows: what the utilisation asks for, or the longest row.
///
/// # Errors
/// A cell that the LEF file does not have.
pub fn width(plan: &Plan, netlist: &Netlist, lef: &Lef, site: i64, utilisation: f64) -> Result<i64, String> {
    let mut longest = 0;
    let mut sum = 0;
    for row in &plan.rows {
        let mut own = 0;
        for wish in &row.cells {
            own += cell(lef, &netlist.instances[wish.instance].cell)?.size.0;
        }
        longest = longest.max(own);
        sum += own;
    }
    let wanted = (sum as f64 / utilisation / plan.rows.len().max(1) as f64).ceil() as i64;
    Ok((wanted.max(longest) + site - 1) / site * site)
}

/// Puts all cells on sites of rows of this width. `Err` when a row is too long.
///
/// # Errors
/// A row whose cells do not fit.
pub fn legal(plan: &Plan, netlist: &Netlist, lef: &Lef, site: i64, width: i64) -> Result<Vec<Place>, String> {
    let mut places = vec![Place::default(); netlist.instances.len()];
    for (number, row) in plan.rows.iter().enumerate() {
        let mut wanted = Vec::new();
        for wish in &row.cells {
            let about = cell(lef, &netlist.instances[wish.instance].cell)?;
            wanted.push((wish.at / site, (about.size.0 + site - 1) / site));
        }
        if wanted.iter().map(|(_, width)| width).sum::<i64>() > width / site {
            return Err(format!("row {number} is too long for its cells"));
        }
        for (wish, x) in row.cells.iter().zip(pack(&wanted, width / site)) {
            places[wish.instance] = Place { x: x * site, row: number, flipped: row.flipped, mirrored: wish.mirrored };
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::super::netlist::tests::small;
    use super::*;

    #[test]
    fn packing_keeps_order_and_ends() {
        assert_eq!(pack(&[(0, 2), (1, 2), (9, 3)], 10), [0, 2, 7]);
        assert_eq!(pack(&[(8, 2), (8, 2), (8, 2)], 10), [4, 6, 8]);
        assert_eq!(pack(&[], 10), Vec::<i64>::new());
    }

    #[test]
    fn the_result_of_graywolf_is_read_or_refused() {
        let mut netlist = small();
        netlist.instances.push(netlist.instances[0].clone());
        let plan = read("c0 -239 -200 961 800  3 1\nc1 -39 800 961 1800 0 2\ntwpin_1 0 -300 80 -200 0 -3\n", &netlist);
        let plan = plan.unwrap();
        assert_eq!(plan.rows.len(), 2);
        assert!(plan.rows[0].flipped && plan.rows[0].cells[0].mirrored && !plan.rows[1].flipped);
        assert_eq!(plan.rows[1].cells[0].at, 2000);
        assert_eq!(plan.pins["a_i_1"], (2790, -500));
        for (text, part) in [
            ("c0 1 2 3", "wanted: name"),
            ("c0 0 0 9 9 0 1\n", "did not place the cell c1"),
            ("c0 0 0 9 9 0 1\nc0 0 0 9 9 0 1\n", "twice"),
            ("c0 0 0 9 9 0 1\nc1 9 0 19 9 1 1\n", "both upright"),
            ("c0 0 0 9 9 0 1\nc7 9 0 19 9 1 1\n", "wanted: name"),
            ("c0 0 0 9 9 0 1\nc1 0 9 9 18 0 2\n", "stand alike"),
        ] {
            let error = read(text, &netlist).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn parameters_are_replaced() {
        let text = par("a : 1\n*random.seed\t: 5\nTWMC*chip.aspect.ratio : 0.75\n", 9, 1.0);
        assert_eq!(text, "a : 1\n*random.seed : 9\nTWMC*chip.aspect.ratio : 1\n");
    }
}
