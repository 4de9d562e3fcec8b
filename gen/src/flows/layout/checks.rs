//! magic draws the design in GDS, checks the rules of the technology and extracts a netlist; netgen compares that with
//! the netlist that was placed.
//!
//! Debian's packages have no drawn cells. Then the cells in the GDS file are their outlines, pins and wires as in the LEF
//! file: the rules of wires are checked, the ones inside of cells are not, and cells are black boxes for netgen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::netlist::Netlist;
use super::technology::Technology;

/// What magic finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Places that break a rule.
    pub violations: usize,
    /// Places by rule.
    pub by_rule: BTreeMap<String, usize>,
}

/// The script for magic: reads `final.def`, leaves `layout.gds` and `TOP.spice`.
#[must_use]
pub fn script(top: &str, drawn_cells: bool) -> String {
    let cells =
        if drawn_cells { "gds readonly true\ngds rescale false\ngds read cells.gds\n" } else { "lef read cells.lef\n" };
    format!(
        "drc off\nbox 0 0 0 0\nsnap int\n{cells}def read final.def\nload {top}\nselect top cell\nexpand\ndrc on\n\
         drc euclidean on\ndrc check\ndrc catchup\nputs \"senbazuru violations [drc list count total]\"\n\
         foreach {{rule places}} [drc listall why] {{ puts \"senbazuru rule [llength $places] $rule\" }}\n\
         drc off\nextract all\next2spice hierarchy on\next2spice format ngspice\next2spice scale off\n\
         ext2spice renumber off\next2spice cthresh infinite\next2spice rthresh infinite\next2spice blackbox on\n\
         ext2spice subcircuit top auto\next2spice global off\next2spice\ngds write layout.gds\n\
         puts \"senbazuru done\"\nquit -noprompt\n"
    )
}

/// Reads magic's log.
///
/// # Errors
/// It did not come to its end.
pub fn rules(log: &str) -> Result<Rules, String> {
    let mut found = Rules::default();
    let (mut counted, mut done) = (false, false);
    for line in log.lines().filter_map(|line| line.trim().strip_prefix("senbazuru ")) {
        match line.split_once(' ') {
            Some(("violations", number)) => {
                // `drc list count total` of no places is empty.
                let number = number.trim();
                found.violations = if number.is_empty() { 0 } else { number.parse().map_err(|_| wrong(line))? };
                counted = true;
            }
            Some(("rule", rest)) => {
                let (number, rule) = rest.split_once(' ').ok_or_else(|| wrong(line))?;
                found.by_rule.insert(rule.to_owned(), number.parse().map_err(|_| wrong(line))?);
            }
            None if line == "violations" => counted = true,
            None if line == "done" => done = true,
            _ => {}
        }
    }
    if !counted || !done {
        return Err("magic did not come to the end of its script".into());
    }
    Ok(found)
}

fn wrong(line: &str) -> String {
    format!("magic wrote `{line}`, where a number of violations is wanted")
}

/// The netlist that was placed, in SPICE, with the cells as black boxes. Cells that fill gaps are left out on both sides.
///
/// # Errors
/// A cell that the LEF file does not have.
pub fn spice(netlist: &Netlist, technology: &Technology) -> Result<String, String> {
    let (low, high) = (&technology.ground, &technology.power);
    let names = netlist.names(low, high);
    let used: BTreeSet<&str> = netlist.instances.iter().map(|instance| instance.cell.as_str()).collect();
    let mut text = String::from("* The netlist that was placed\n");
    let mut orders = BTreeMap::new();
    for cell in used {
        let about = technology.lef.macros.get(cell).ok_or_else(|| format!("the LEF file has no cell `{cell}`"))?;
        let pins: Vec<&str> = about.pins.iter().map(|(pin, _)| pin.as_str()).collect();
        let _ = writeln!(text, ".subckt {cell} {}\n.ends", pins.join(" "));
        orders.insert(cell, pins);
    }
    let ports: Vec<&str> = netlist.bits.iter().map(|bit| bit.name.as_str()).collect();
    let _ = writeln!(text, ".subckt {} {} {low} {high}", netlist.top, ports.join("\n+ "));
    for (number, instance) in netlist.instances.iter().enumerate() {
        let pins = orders[instance.cell.as_str()].iter().map(|pin| {
            let net = instance.pins.iter().find(|(own, _)| own == pin).map(|(_, net)| names[*net].clone());
            net.unwrap_or_else(|| match *pin {
                pin if pin == low || pin == high => pin.to_owned(),
                pin => format!("open_{number}_{pin}"),
            })
        });
        let _ = writeln!(text, "Xc{number} {} {}", pins.collect::<Vec<_>>().join(" "), instance.cell);
    }
    Ok(text + ".ends\n")
}

/// What netgen says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Whether layout and netlist are the same, with their pins.
    pub equal: bool,
    /// Its last words.
    pub words: String,
}

/// Reads netgen's report.
///
/// # Errors
/// It has no verdict.
pub fn compared(report: &str) -> Result<Compared, String> {
    let has = |text: &str| report.contains(text);
    let line = report.lines().rev().find(|line| line.contains("match"));
    let words = line.or(report.lines().last()).unwrap_or_default().trim().to_owned();
    let bad = ["do not match", "failed pin matching", "pin lists do not", "mismatch", "not equivalent"];
    if bad.iter().any(|text| has(text)) {
        return Ok(Compared { equal: false, words });
    }
    // Parts that may change places are told as `Circuits match correctly` or `match with 2 symmetries`.
    if has("Circuits match") && has("Cell pin lists are equivalent") {
        return Ok(Compared { equal: true, words });
    }
    Err(format!("netgen came to no verdict; its last words: `{words}`"))
}

/// Sets the times in a GDS file to zero, so that the same design gives the same bytes.
pub fn timeless(gds: &mut [u8]) {
    let mut at = 0;
    while at + 4 <= gds.len() {
        let length = usize::from(u16::from_be_bytes([gds[at], gds[at + 1]]));
        if length < 4 || at + length > gds.len() {
            return;
        }
        // The beginnings of the library and of a structure.
        if matches!(gds[at + 2], 0x01 | 0x05) && gds[at + 3] == 0x02 {
            gds[at + 4..at + length].fill(0);
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_magic() {
        let log = "Loading\nsenbazuru violations 7\nsenbazuru rule 3 Metal2 area < 20 (Mosis #+++)\nsenbazuru done\n";
        let found = rules(log).unwrap();
        assert_eq!((found.violations, found.by_rule["Metal2 area < 20 (Mosis #+++)"]), (7, 3));
        assert_eq!(rules("senbazuru violations \nsenbazuru done").unwrap(), Rules::default());
        assert!(rules("senbazuru violations 0\n").unwrap_err().contains("end of its script"));
        assert!(rules("senbazuru violations many\nsenbazuru done\n").unwrap_err().contains("`violations many`"));
    }

    #[test]
    fn the_report_of_netgen() {
        let good = "Netlists match uniquely.\nCircuits match correctly.\nCell pin lists are equivalent.\n";
        assert!(compared(good).unwrap().equal);
        assert!(!compared("Netlists do not match.\nCell pin lists are equivalent.\n").unwrap().equal);
        assert!(!compared(&format!("{good}Top level cell failed pin matching.\n")).unwrap().equal);
        assert!(compared("Circuits match uniquely.\n").unwrap_err().contains("`Circuits match uniquely.`"));
        assert!(compared("Segmentation fault").unwrap_err().contains("no verdict"));
    }

    #[test]
    fn a_gds_file_without_times() {
        let mut gds = vec![0, 6, 0, 2, 2, 88, 0, 8, 1, 2, 7, 7, 7, 7, 0, 4, 4, 0];
        timeless(&mut gds);
        assert_eq!(gds, [0, 6, 0, 2, 2, 88, 0, 8, 1, 2, 0, 0, 0, 0, 0, 4, 4, 0]);
        timeless(&mut [0, 200, 1, 2]);
    }
}
