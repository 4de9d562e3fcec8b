//! Transitions of nets, counted in a waveform.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::netlist::Net;
use crate::waveform::{Kind, Step, Value, Vcd};

/// Transitions by net.
pub type Toggles = BTreeMap<Net, u64>;

/// Counts the transitions of every signal `n<number>` in a waveform (VCD) of single bits.
///
/// # Errors
/// A file that cannot be read, or is not VCD: the error, with its line.
pub fn count(vcd: impl BufRead) -> Result<Toggles, String> {
    let mut vcd = Vcd::open(vcd)?;
    let mut nets: BTreeMap<usize, Vec<Net>> = BTreeMap::new();
    for variable in vcd.variables().iter().filter(|v| v.kind == Kind::Bits && v.width == 1) {
        if let Some(net) = variable.name.strip_prefix('n').and_then(|n| n.parse().ok()) {
            nets.entry(variable.code).or_default().push(net);
        }
    }
    // The last value, and the transitions so far.
    let mut state: BTreeMap<usize, (bool, u64)> = BTreeMap::new();
    while let Some(step) = vcd.step()? {
        let Step::Change(code, Value::Bits(bits @ ("0" | "1"))) = step else { continue };
        let value = bits == "1";
        match state.get_mut(&code) {
            Some((before, toggles)) => {
                *toggles += u64::from(*before != value);
                *before = value;
            }
            None if nets.contains_key(&code) => drop(state.insert(code, (value, 0))),
            None => {}
        }
    }
    let mut toggles = Toggles::new();
    for (code, (_, count)) in state {
        for net in &nets[&code] {
            toggles.insert(*net, count);
        }
    }
    Ok(toggles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_and_repetitions_are_not() {
        let vcd = "$timescale 1ns $end\n$var wire 1 ! n7 $end\n$var wire 1 ! n9 $end\n$var wire 4 # n8 $end\n\
            $var wire 1 % clk_i $end\n$enddefinitions $end\n#0\n0!\nb1010 #\n1%\n#1\n1!\n#2\n1!\n#3\n0!\n";
        assert_eq!(count(vcd.as_bytes()).unwrap(), Toggles::from([(7, 2), (9, 2)]));
    }

    #[test]
    fn several_values_share_a_line_and_a_damaged_file_is_no_count() {
        let header = "$var wire 1 ! n7 $end $enddefinitions $end #0 0! #1 1! #2 0!\n";
        assert_eq!(count(header.as_bytes()).unwrap(), Toggles::from([(7, 2)]));
        let error = count(format!("{header}#3\n1\"\n").as_bytes()).unwrap_err();
        assert_eq!(error, "line 3: a value for `\"`, which no `$var` declares");
    }
}
