//! The functions of cells as Verilog, by their names in the library.

use std::collections::BTreeMap;

use super::{Function, Group};

/// Models of all cells that have a function: combinational ones and flip-flops. A cell that has none, or another state, has no
/// model, and cannot be in a netlist that is to be understood.
#[must_use]
pub fn models(library: &Group<'_>) -> BTreeMap<String, String> {
    library.all("cell").filter_map(|cell| Some((cell.name().to_owned(), model(cell)?))).collect()
}

fn model(cell: &Group<'_>) -> Option<String> {
    let (mut ports, mut outputs) = (Vec::new(), String::new());
    let ff = cell.all("ff").next();
    if ff.is_none() && cell.groups.iter().any(|g| super::STATE.contains(&g.kind)) {
        return None;
    }
    let states = ff.map(|ff| [0, 1].map(|n| ff.arguments.get(n).copied().unwrap_or_default()));
    let pin = |name: &str| match states {
        Some([state, _]) if state == name => "state".to_owned(),
        Some([_, complement]) if complement == name => "(~state)".to_owned(),
        _ => format!("\\{name} "),
    };
    for (name, group) in cell.pins() {
        match group.value("direction")? {
            "input" => ports.push(format!("input wire \\{name} ")),
            "output" => {
                ports.push(format!("output wire \\{name} "));
                let function = Function::parse(group.value("function")?).ok()?;
                outputs += &format!("  assign \\{name} = {};\n", function.verilog(&pin));
            }
            _ => return None,
        }
    }
    let mut text = format!("module \\{} ({});\n", cell.name(), ports.join(", "));
    if let Some(ff) = ff {
        let wire = |name: &str, function: Function| format!("  wire {name} = {};\n", function.verilog(&pin));
        let function = |name: &str| ff.value(name).map(Function::parse);
        text += &format!("  reg state;\n{}", wire("clock", function("clocked_on")?.ok()?));
        let next = function("next_state")?.ok()?.verilog(&pin);
        let (mut events, mut choice) = (String::new(), String::new());
        for (name, value) in [("clear", 0), ("preset", 1)] {
            if let Some(active) = function(name) {
                text += &wire(name, active.ok()?);
                events += &format!(" or posedge {name}");
                choice += &format!("if ({name}) state <= 1'b{value}; else ");
            }
        }
        text += &format!("  always @(posedge clock{events}) {choice}state <= {next};\n");
    }
    Some(text + &outputs + "endmodule\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::liberty::parse;

    #[test]
    fn functions_and_states() {
        let text = r#"library (l) {
            cell (nand) { pin (A) { direction : input; } pin (B) { direction : input; }
              pin (Y) { direction : output; function : "!(A B)"; } }
            cell (flop) { ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; clear : "!R"; }
              pin (C) { direction : input; } pin (D) { direction : input; } pin (R) { direction : input; }
              pin (QN) { direction : output; function : "IQN"; } }
            cell (hold) { latch (IQ, IQN) { enable : "E"; } pin (Q) { direction : output; function : "IQ"; } }
            cell (analog) { pin (A) { direction : inout; } }
        }"#;
        let found = models(&parse(text).unwrap());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["flop", "nand"]);
        assert!(found["nand"].contains("  assign \\Y = ~(\\A  & \\B );\n"), "{}", found["nand"]);
        let flop = &found["flop"];
        assert!(
            flop.contains("always @(posedge clock or posedge clear) if (clear) state <= 1'b0; else state <= \\D ;"),
            "{flop}"
        );
        assert!(flop.contains("assign \\QN = (~state);"), "{flop}");
    }
}
