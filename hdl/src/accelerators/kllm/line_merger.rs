//! Puts the indices and the scale of a token into a line of 64 bytes of a panel, of constants, or of scales.

use super::append_spec::{AppendSize, AppendSpec, LINE};
use crate::lang::{About, Block, In, InBundle, Module, Out, Signal, bit, parameters, ports, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct LineMerger {
        /// The panels.
        spec: AppendSpec = AppendSpec::default();
    }
}

ports! {
    /// Ports of [`LineMerger`].
    pub struct LineMergerPorts(_p: &LineMerger) {
        /// Which part of a line changes.
        size: InBundle<AppendSize> = (),
        /// The line is one of constants or of scales, otherwise one of a panel.
        is_scale_i: In = bit(),
        /// The line as it is.
        line_i: In = uint(LINE),
        /// Indices, the next one lowest. For a channel: the positions of a beat. For a position: one for each run of
        /// positions.
        indices_i: In = uint(LINE),
        /// The token's scale, fp16.
        scale_i: In = uint(16),
        /// The scale times both factors, fp32: two constants.
        constants_i: In = uint(64),
        /// The line as it becomes.
        line_o: Out = uint(LINE),
    }
}

impl LineMerger {
    /// Of `parts` parts of a line, the one with this number is taken from `with`.
    fn part(m: &mut Module, name: &str, number: Signal, parts: u32, with: Signal) -> (Signal, Signal) {
        let (width, bits) = (LINE / parts, parts.trailing_zeros());
        let here = number.slice(0..bits);
        let mask = m.nets(&format!("{name}_mask"), uint(width), parts);
        m.for_each(&format!("{name}_parts"), parts, |m, i| {
            m.connect(mask.at(i), here.eq(i.value(bits)).repeat(width));
        });
        (mask.packed(), with)
    }

    /// An element for each run of positions, at each position of it.
    fn spread(&self, m: &mut Module, indices: Signal) -> Signal {
        let (runs, inputs) = (self.spec.runs(), self.spec.product.inputs);
        let element = m.split("index", indices.slice(0..4 * runs), uint(4).array(runs));
        let spread = m.nets("spread", uint(4 * inputs), runs);
        m.for_each("runs", runs, |m, i| {
            m.connect(spread.at(i), element.at(i).repeat(inputs));
        });
        spread.packed()
    }
}

impl Block for LineMerger {
    type Ports = LineMergerPorts;
    const ABOUT: About = About {
        name: "line_merger",
        summary: "puts indices or the scale of a token into 64 bytes of a panel or of its constants",
        contract: "Combinational. A channel changes the run of positions with its number modulo the runs of a line.\n\
            In a line of constants it changes the constants with its number modulo 8. A position changes, in each\n\
            run, the position with its number modulo inputs. In a line of scales it changes the scale with its\n\
            number modulo 32. All other bits stay.",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &LineMergerPorts) {
        let (runs, inputs) = (self.spec.runs(), self.spec.product.inputs);
        let (number, position) = (io.size.number, io.size.position);
        m.unused(io.size.dense);
        m.unused(io.size.outliers);
        m.comment("A channel is a run of positions.");
        let run = io.indices_i.slice(0..4 * inputs).repeat(runs);
        let channel = Self::part(m, "channel", number, runs, run);
        m.comment("A position is one index in each run.");
        let bits = inputs.trailing_zeros();
        let here = number.slice(0..bits);
        let of_run = m.nets("position_mask", uint(4), inputs);
        m.for_each("positions", inputs, |m, i| {
            m.connect(of_run.at(i), here.eq(i.value(bits)).repeat(4));
        });
        let positions = (of_run.packed().repeat(runs), self.spread(m, io.indices_i));
        m.comment("Two constants of a channel; the scale of a position.");
        let constants = Self::part(m, "constants", number, 8, io.constants_i.repeat(8));
        let scales = Self::part(m, "scale", number, 32, io.scale_i.repeat(32));

        let choices = [(io.is_scale_i & position, scales), (io.is_scale_i, constants), (position, positions)];
        let mask = select(&choices.map(|(chosen, (mask, _))| (chosen, mask)), channel.0);
        let with = select(&choices.map(|(chosen, (_, with))| (chosen, with)), channel.1);
        let mask = m.wire("mask", mask);
        m.connect(io.line_o, (io.line_i & !mask) | (with & mask));
    }
}
