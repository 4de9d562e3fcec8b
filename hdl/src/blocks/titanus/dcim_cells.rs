//! Cells of digital compute-in-memory: weights held in place, one bit of each input against all of them, an adder tree
//! for each column.
//!
//! As Verilog with registers, or a black box: a macro of a foundry with these ports, and a model to simulate with.

use crate::blocks::common::arith::adder_tree;
use crate::blocks::common::memory::port_names::{is_identifier, pairs};
use crate::lang::{
    About, Block, Direction, ExternalModule, ExternalPort, In, InArray, Module, OutArray, Timing, Type, bit, bits_for,
    choices, index_width, mux, parameters, ports, sint, uint,
};

choices! {
    /// Where the weights and their adder trees are.
    pub enum DcimImplementation {
        /// Registers and adders in Verilog.
        Registers,
        /// A module from elsewhere, with a simulation model.
        BlackBox,
    }
}

/// Ports of a macro, by their names here.
const PORTS: [&str; 7] = ["clk", "write", "row", "data", "step", "bits", "partial"];

parameters! {
    /// Elaboration parameters.
    pub struct DcimCells {
        /// Inputs: rows of weights.
        inputs: u32 = 256, in 1..=1024, tag "i";
        /// Outputs: columns of weights, each with an adder tree.
        outputs: u32 = 32, in 1..=1024, tag "o";
        /// Bits of a weight, signed.
        weight_width: u32 = 8, in 2..=16, tag "w";
        /// Registers and adders, or a module from elsewhere.
        implementation: DcimImplementation = DcimImplementation::Registers, tag "";
        /// With black_box: its module; empty for `dcim_<inputs>x<outputs>_w<weight_width>`.
        macro_name: String = String::new(), note "a Verilog identifier";
        /// With black_box: ports that are called otherwise: `clk=CLK partial=NOUT`, by spaces or commas.
        port_map: String = String::new(), note "pairs of clk, write, row, data, step, bits, partial and a name";
    }
    rules = |p, rules| {
        let identifier = p.macro_name.is_empty() || is_identifier(&p.macro_name);
        rules.demand(identifier, "macro_name", &p.macro_name, "a Verilog identifier, or nothing");
        let allowed = format!("pairs PORT=NAME, each port once, with PORT among {}", PORTS.join(", "));
        rules.demand(pairs(&p.port_map, &PORTS).is_some(), "port_map", &p.port_map, allowed);
    };
}

impl DcimCells {
    /// Type of the number of a row.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(self.inputs.into()))
    }

    /// Type of a sum of so many weights, exact.
    #[must_use]
    pub fn sum_of(&self, weights: u32) -> Type {
        sint(bits_for((u64::from(weights) << (self.weight_width - 1)) - 1) + 1)
    }

    /// Type of the sum of an adder tree.
    #[must_use]
    pub fn partial(&self) -> Type {
        self.sum_of(self.inputs)
    }
}

ports! {
    /// Ports of [`DcimCells`].
    pub struct DcimCellsPorts(p: &DcimCells) {
        /// Writes the weights of a row at the coming edge.
        write_i: In = bit(),
        /// That row; a row that does not exist changes nothing.
        row_i: In = p.row(),
        /// Its weights, one an output.
        data_i: InArray = sint(p.weight_width).array(p.outputs),
        /// Adds up at the coming edge.
        step_i: In = bit(),
        /// Which rows count.
        bits_i: InArray = bit().array(p.inputs),
        /// Per output: the sum of the weights of the rows that counted at the last step.
        partial_o: OutArray = p.partial().array(p.outputs),
    }
}

impl Block for DcimCells {
    type Ports = DcimCellsPorts;
    const ABOUT: About = About {
        name: "dcim_cells",
        summary: "weights in place, and sums of the weights whose rows have a bit",
        contract: "partial_o after an edge with step_i = per output the exact sum of the weights of the rows with a\n\
            bit. Weights count as they were before the edge. Otherwise partial_o stays. After an edge with write_i\n\
            row_i has the weights data_i. Unknown until written.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &DcimCellsPorts) {
        if self.implementation == DcimImplementation::BlackBox {
            return self.around_macro(m, io);
        }
        let weights = m.regs("weight", sint(self.weight_width), self.inputs * self.outputs);
        m.for_each("row", self.inputs, |m, r| {
            let here = m.wire("here", io.write_i & io.row_i.eq(r.value(io.row_i.width())));
            m.for_each("column", self.outputs, |m, k| {
                weights.next_when(m, r * self.outputs + k, here, io.data_i.at(k));
            });
        });
        let sums = m.nets("sums", self.partial(), self.outputs);
        m.for_each("tree", self.outputs, |m, k| {
            let chosen = m.nets("chosen", sint(self.weight_width), self.inputs);
            m.for_each("choose", self.inputs, |m, r| {
                let weight = weights.q.at(r * self.outputs + k);
                m.connect(chosen.at(r), mux(io.bits_i.at(r), weight, 0));
            });
            let sum = adder_tree(m, "sum", chosen, |weights| self.sum_of(weights));
            let partial = m.reg("partial_q", self.partial());
            m.connect(sums.at(k), sum);
            partial.next_when(io.step_i, sums.at(k));
            m.connect(io.partial_o.at(k), partial.q);
        });
        if self.inputs <= 4 {
            m.formal(|m| {
                // Of the first column, input after input.
                let ty = self.partial();
                let chosen = |r: u32| mux(io.bits_i.at(r), weights.q.at(r * self.outputs), 0).extend(ty.width);
                let plain = (0..self.inputs).fold(ty.lit(0), |sum, r| sum.wrapping_add(chosen(r)));
                m.assert_always("sum_of_chosen_weights", sums.at(0).eq(plain));
                m.cover("all_chosen", io.step_i & io.bits_i.packed().all() & plain.lt(0));
            });
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl DcimCells {
    fn around_macro(&self, m: &mut Module, io: &DcimCellsPorts) {
        let names = pairs(&self.port_map, &PORTS).unwrap_or_default();
        let named = |port: &str| names.iter().find(|(p, _)| *p == port).map_or(port, |(_, name)| name).to_owned();
        let u = m.external("u_macro", &self.black_box(named));
        m.simulates_as(&Self { implementation: DcimImplementation::Registers, ..self.clone() });
        for (port, signal) in [
            ("write", io.write_i),
            ("row", io.row_i),
            ("data", io.data_i.packed()),
            ("step", io.step_i),
            ("bits", io.bits_i.packed()),
        ] {
            m.connect(u.port(&named(port)), signal);
        }
        m.connect(io.partial_o.packed(), u.port(&named("partial")));
    }

    /// The macro, with a model for simulation: sums are a loop over all rows.
    fn black_box(&self, named: impl Fn(&str) -> String) -> ExternalModule {
        use Direction::{Input, Output};
        let name = match &self.macro_name[..] {
            "" => format!("dcim_{}x{}_w{}", self.inputs, self.outputs, self.weight_width),
            name => name.to_owned(),
        };
        let (weight, partial) = (self.weight_width, self.partial().width);
        let types = [
            ("write", Input, bit()),
            ("row", Input, self.row()),
            ("data", Input, uint(weight * self.outputs)),
            ("step", Input, bit()),
            ("bits", Input, uint(self.inputs)),
            ("partial", Output, uint(partial * self.outputs)),
        ];
        let range = |ty: Type| if ty.width == 1 { String::new() } else { format!("[{}:0] ", ty.width - 1) };
        let line = |(port, direction, ty): &(&str, Direction, Type)| {
            let kind = if *direction == Input { "input  wire" } else { "output wire" };
            format!(",\n  {kind} {}{}", range(*ty), named(port))
        };
        let [clk, write, row, data, step, bits, out] = PORTS.map(&named);
        let (inputs, outputs, index) = (self.inputs, self.outputs, self.row().width);
        let there = if inputs == 1 << index { String::new() } else { format!(" && {row} < {index}'d{inputs}") };
        let at = format!("cell_at[{}:0]", index - 1);
        let signed = match partial - weight {
            0 => "cell_weight".to_owned(),
            more => format!("{{{{{more}{{cell_weight[{}]}}}}, cell_weight}}", weight - 1),
        };
        let chosen = if inputs == 1 { "chosen".to_owned() } else { format!("chosen[{at}]") };
        let (word, all) = (weight * outputs, partial * outputs);
        let (weight_index, sum_index) = (index_width(word.into()), index_width(all.into()));
        // One function for all columns: a simulator has little to compile, however many there are.
        let text = format!(
            "// {name}: simulation model of a compute-in-memory macro; leave this file out where the macro is.\n(* blackbox *)\n\
             module {name} (\n  input  wire {clk}{ports}\n);\n\
             \x20 reg [{word_high}:0] weights [0:{last}];\n  reg [{all_high}:0] partial_q;\n\
             \x20 function [{all_high}:0] cells_sums(input {bit_range}chosen);\n\
             \x20   reg [{index}:0] cell_at;\n    reg [{weight_index}:0] weight_at;\n    reg [{sum_index}:0] sum_at;\n\
             \x20   reg [{high}:0] cell_weight;\n    reg [{top}:0] cell_sum;\n    begin\n\
             \x20     cells_sums = {all}'d0;\n      weight_at = {weight_over}'d0;\n\
             \x20     for (sum_at = {sum_over}'d0; sum_at < {sum_over}'d{all}; sum_at = sum_at + {sum_over}'d{partial}) begin\n\
             \x20       cell_sum = {partial}'d0;\n\
             \x20       for (cell_at = {over}'d0; cell_at < {over}'d{inputs}; cell_at = cell_at + {over}'d1) begin\n\
             \x20         cell_weight = weights[{at}][weight_at[{weight_top}:0] +: {weight}];\n\
             \x20         if ({chosen}) cell_sum = cell_sum + {signed};\n        end\n\
             \x20       cells_sums[sum_at[{sum_top}:0] +: {partial}] = cell_sum;\n\
             \x20       weight_at = weight_at + {weight_over}'d{weight};\n      end\n    end\n  endfunction\n\
             \x20 always @(posedge {clk}) if ({step}) partial_q <= cells_sums({bits});\n\
             \x20 always @(posedge {clk}) if ({write}{there}) weights[{row}] <= {data};\n\
             \x20 assign {out} = partial_q;\nendmodule\n",
            ports = types.iter().map(line).collect::<String>(),
            word_high = word - 1,
            all_high = all - 1,
            high = weight - 1,
            last = inputs - 1,
            top = partial - 1,
            bit_range = range(uint(inputs)),
            over = index + 1,
            weight_over = weight_index + 1,
            weight_top = weight_index - 1,
            sum_over = sum_index + 1,
            sum_top = sum_index - 1,
        );
        let ports = types.iter().map(|(port, direction, ty)| ExternalPort {
            name: named(port),
            direction: *direction,
            ty: *ty,
        });
        ExternalModule {
            name,
            ports: ports.collect(),
            clocks: vec![clk],
            reset: None,
            source: Some(text),
            registered_outputs: true,
        }
    }
}
