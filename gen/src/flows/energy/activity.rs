//! Transitions of nets, counted in a waveform.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::netlist::Net;

/// Transitions by net.
pub type Toggles = BTreeMap<Net, u64>;

/// Counts the transitions of every signal `n<number>` in a waveform (VCD) of single bits.
///
/// # Errors
/// A file that cannot be read.
pub fn count(vcd: impl BufRead) -> std::io::Result<Toggles> {
    let mut nets: BTreeMap<String, Vec<Net>> = BTreeMap::new();
    let mut state: BTreeMap<String, (char, u64)> = BTreeMap::new();
    for line in vcd.lines() {
        let line = line?;
        let words: Vec<_> = line.split_whitespace().collect();
        if let ["$var", _, "1", code, name, ..] = words[..] {
            if let Some(net) = name.strip_prefix('n').and_then(|n| n.parse().ok()) {
                nets.entry(code.to_owned()).or_default().push(net);
            }
            continue;
        }
        // `0!`: the new value, then the code of the signal.
        let Some(value @ ('0' | '1')) = line.chars().next() else { continue };
        let code = &line[1..];
        match state.get_mut(code) {
            Some((before, toggles)) => {
                *toggles += u64::from(*before != value);
                *before = value;
            }
            None if nets.contains_key(code) => drop(state.insert(code.to_owned(), (value, 0))),
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
}
