//! A cell library for tests.

/// A library of an inverter, a NAND, a buffer and a flip-flop with meaningless names: `time` of its units make a
/// nanosecond, `load` of its units a femtofarad.
pub fn tiny_library(units: &str, time: f64, load: f64) -> String {
    let axes =
        format!("index_1 (\"{}, {}\"); index_2 (\"{}, {}\");", 0.01 * time, 1.0 * time, 1.0 * load, 100.0 * load);
    let pin = |name: &str, clock: &str| {
        format!("pin ({name}) {{ direction : input; {clock} capacitance : {}; }}", 2.0 * load)
    };
    let arc = |from: &str, sense: &str, delay: f64| {
        let table = [1.0, 4.0, 2.0, 5.0].map(|k| k * delay * time);
        let table =
            format!("(lin) {{ {axes} values (\"{}, {}\", \"{}, {}\"); }}", table[0], table[1], table[2], table[3]);
        let kinds =
            ["cell_rise", "cell_fall", "rise_transition", "fall_transition"].map(|kind| format!("{kind} {table}"));
        format!("timing () {{ related_pin : \"{from}\"; timing_sense : {sense}; {} }}", kinds.join(" "))
    };
    let cell = |name: &str, area: f64, inputs: String, function: &str, arcs: String| {
        format!(
            "cell ({name}) {{ area : {area}; {inputs} pin (Z) {{ direction : output; function : \"{function}\"; {arcs} }} }}\n"
        )
    };
    format!(
        "library (tiny) {{ delay_model : table_lookup; {units}\n\
        lu_table_template (lin) {{ variable_1 : input_net_transition; variable_2 : total_output_net_capacitance; {axes} }}\n"
    ) + &cell("k9", 1.0, pin("I", ""), "!I", arc("I", "negative_unate", 0.1))
        + &cell(
            "q4",
            2.5,
            pin("A", "") + &pin("B", ""),
            "!(A&B)",
            arc("A", "negative_unate", 0.2) + &arc("B", "negative_unate", 0.2),
        )
        + &cell("r2", 3.0, pin("I", ""), "I", arc("I", "positive_unate", 0.3))
        + &cell(
            "s7",
            8.0,
            "ff (Q, QN) { clocked_on : \"C\"; next_state : \"J\"; }".to_owned()
                + &pin("J", "")
                + &pin("C", "clock : true;"),
            "Q",
            String::new(),
        )
        + "}\n"
}
