//! Parts of a design that stand still in simulation while they have nothing to do.
//!
//! Verilator computes every register of a module at every edge of its clock. Where a large part waits most of the time, its
//! clock may wait too, as behind the clock gate that a chip would have there. The Verilog that others get has no such gate: a
//! test has to show that results and cycles are the same.

use crate::{Design, Error, Result};

impl Design {
    /// The same design, but the clock of an instance runs only while `awake` holds, a Verilog expression of nets around it that registers
    /// drive, and in reset. The expression is looked at in the middle of the cycle, so the instance has the edge at the end of the cycle in
    /// which it comes to hold, and none at the end of the one in which it ceases to. The instance is the only one of that name in the top,
    /// or, where the top has none, in all other files; its module is placed wherever the one around it is.
    ///
    /// # Errors
    /// The design has no clock or no reset, there is another number of such instances, or it has another clock.
    pub fn with_clock_gate(mut self, instance: &str, awake: &str) -> Result<Self> {
        let top = self.top.clone();
        let wrong = |problem: String| Error::Design { top: top.clone(), problem };
        let (Some(clock), Some(reset)) = (&self.clock, &self.reset) else {
            return Err(wrong("a clock gate needs a clock and a reset".into()));
        };
        let name = format!("{top}.v");
        let of_top = self.files.iter().position(|file| file.name == name);
        let of_top = of_top.ok_or_else(|| wrong(format!("there is no file `{name}` to put a clock gate into")))?;
        let (begin, pin) = (format!(" {instance} ("), format!(".{clock}({clock})"));
        let places = |number: usize| -> Vec<(usize, usize)> {
            self.files[number].text.match_indices(&begin).map(|(at, _)| (number, at)).collect()
        };
        let mut found = places(of_top);
        if found.is_empty() {
            found = (0..self.files.len()).flat_map(places).collect();
        }
        let [(number, at)] = found[..] else {
            return Err(wrong(format!("it has {} instances `{instance}`, wanted is one", found.len())));
        };
        let native = self.native.take().filter(|native| native.is_of(&self));
        let file = &mut self.files[number];
        let end = file.text[at..].find(';').map_or(file.text.len(), |end| at + end);
        let pin_at = file.text[at..end].find(&pin).map(|pin| at + pin);
        let pin_at = pin_at.ok_or_else(|| wrong(format!("`{instance}` is not clocked by `{clock}`")))?;
        file.text.replace_range(pin_at..pin_at + pin.len(), &format!(".{clock}({instance}_clock)"));
        let line = file.text[..at].rfind('\n').map_or(0, |line| line + 1);
        // A register at the falling edge, where a cell of a library has a latch: the clock has no spike.
        let gate = format!(
            "  // In simulation alone: the clock stands still while the instance has nothing to do.\n  \
             reg {instance}_awake;\n  \
             always @(negedge {clock}) {instance}_awake <= ({awake}) | !{reset};\n  \
             wire {instance}_clock = {clock} & {instance}_awake;\n"
        );
        file.text.insert_str(line, &gate);
        // C is evaluated where something changes, and needs no gate.
        self.native = native.map(|native| native.also_of(&self.files));
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildOptions, Initial, Model};

    const VERILOG: &str = "\
module counter(input wire clk_i, input wire rst_ni, output reg [7:0] count_o);
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) count_o <= 8'd0; else count_o <= count_o + 8'd1;
endmodule
module pair(input wire clk_i, input wire rst_ni, input wire go_i, output wire [7:0] first_o, output wire [7:0] second_o);
  reg go_q;
  always @(posedge clk_i) go_q <= go_i;
  counter u_first (.clk_i(clk_i), .rst_ni(rst_ni), .count_o(first_o));
  counter u_second (.clk_i(clk_i), .rst_ni(rst_ni), .count_o(second_o));
endmodule
";

    fn pair() -> Design {
        Design::from_verilog("pair", VERILOG)
    }

    #[test]
    fn an_instance_counts_while_it_is_awake() {
        let design = pair().with_clock_gate("u_second", "go_q").unwrap();
        let model = Model::build(&design, &BuildOptions::default()).unwrap();
        let mut sim = model.instance_with(Initial::Random(1)).unwrap();
        let go = sim.input("go_i").unwrap();
        let counts = [sim.output("first_o").unwrap(), sim.output("second_o").unwrap()];
        sim.reset(2).unwrap();
        let mut seen = Vec::new();
        // What is asked for in one cycle is in the register in the next one, at the end of which the counter has its edge.
        for value in [0, 0, 1, 1, 0, 1, 0, 0, 0] {
            sim.poke_u64(go, value);
            sim.tick().unwrap();
            seen.push(sim.peek_u64(counts[1]));
        }
        assert_eq!(seen.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 1, 0, 0]);
        let first = sim.peek_u64(counts[0]);
        sim.tick().unwrap();
        assert_eq!(sim.peek_u64(counts[0]), first + 1);
    }

    /// Below the top, too.
    #[test]
    fn an_instance_of_another_file() {
        let (counter, pair) = VERILOG.split_once("module pair").unwrap();
        let mut design = Design::from_verilog("pair", &format!("module pair{pair}"));
        let around = "module two(input wire clk_i, input wire rst_ni, input wire go_i, output wire [7:0] second_o);\n\
            wire [7:0] first;\n  pair u_pair (.clk_i(clk_i), .rst_ni(rst_ni), .go_i(go_i), .first_o(first), .second_o(second_o));\nendmodule\n";
        design.files.extend(Design::from_verilog("counter", counter).files);
        design.files.extend(Design::from_verilog("two", around).files);
        design.top = "two".into();
        let gated = design.clone().with_clock_gate("u_second", "go_q").unwrap();
        let text = |design: &Design, name: &str| design.files.iter().find(|f| f.name == name).unwrap().text.clone();
        assert!(text(&gated, "pair.v").contains("u_second_awake <= (go_q) | !rst_ni"), "{}", text(&gated, "pair.v"));
        assert_eq!(text(&gated, "two.v"), text(&design, "two.v"));
        assert!(design.with_clock_gate("u_third", "go_q").is_err());
    }

    #[test]
    fn what_cannot_be_gated_is_refused() {
        let refused =
            |design: Design, instance: &str| design.with_clock_gate(instance, "1'b1").unwrap_err().to_string();
        assert_eq!(refused(pair(), "u_third"), "design `pair`: it has 0 instances `u_third`, wanted is one");
        let other = VERILOG.replace("u_second (.clk_i(clk_i)", "u_second (.clk_i(go_q)");
        let other = Design::from_verilog("pair", &other);
        assert_eq!(refused(other, "u_second"), "design `pair`: `u_second` is not clocked by `clk_i`");
        assert_eq!(
            refused(Design { top: "x".into(), ..pair() }, "u_second"),
            "design `x`: there is no file `x.v` to put a clock gate into"
        );
        assert_eq!(
            refused(Design { reset: None, ..pair() }, "u_second"),
            "design `pair`: a clock gate needs a clock and a reset"
        );
    }
}
