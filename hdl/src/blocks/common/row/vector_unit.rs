//! Vector unit: lanes that take the rows of a matrix through a list of steps.

use super::pipe::later;
use super::rms_norm::RmsNorm;
use super::section::Section;
use super::vector_lane::{RequantizeLane, VectorLane};
use crate::blocks::common::StreamRegister;
use crate::blocks::common::stream::Cut;
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, In, InBundle, InStream, Module, Out, OutStream, Timing, bit,
    bits_for, bundle, cat, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct VectorUnit {
        /// Elements of a beat.
        lanes: u32 = 8, in 1..=256, tag "l";
        /// Beats of the longest row that can be normalised.
        max_beats: u32 = 64, in 1..=65536, tag "b";
        /// Beats that the norm keeps; twice max_beats let a row enter while another one leaves.
        buffer: u32 = 128, in 1..=131_072, note "at least max_beats", tag "k";
        /// The steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last one.
        requantize: RequantizeLane = RequantizeLane::default();
    }
    rules = |p, rules| rules.part("max_beats", &p.norm());
}

bundle! {
    /// What is done with the elements of a row, in this order.
    pub struct VectorSteps(_unit: ()) {
        /// Multiply by scale.
        scale: Field = bit(),
        /// Add the element's addend.
        add: Field = bit(),
        /// Apply the unit's function.
        activate: Field = bit(),
        /// Multiply by the element's factor.
        multiply: Field = bit(),
        /// Divide by the root mean square of the row.
        norm: Field = bit(),
        /// And multiply by the element's gain.
        gain: Field = bit(),
        /// What rows become: 0 fp16, 1 integers of 8 bits, 2 of 4 bits.
        format: Field = uint(2),
        /// Factor of the step scale, fp16.
        scale_factor: Field = uint(16),
        /// Factor before elements become integers, fp16.
        quantizer: Field = uint(16),
        /// What is added to the mean square, in units of 2^-48.
        epsilon: Field = uint(40),
    }
}

bundle! {
    /// Part of a row.
    pub struct VectorBeat(lanes: u32) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(*lanes),
        /// Of the last beat: elements in use, the first ones.
        used: Field = uint(bits_for((*lanes).into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
    }
}

bundle! {
    /// Part of a row of operands: as long as the row they belong to.
    pub struct OperandBeat(lanes: u32) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(*lanes),
    }
}

bundle! {
    /// Part of a row that has gone through the steps.
    pub struct VectorResult(lanes: u32) {
        /// fp16 numbers, or integers in the low bits with their sign above; of elements that are not in use they mean nothing.
        values: FieldArray = uint(16).array(*lanes),
        /// Elements in use; all but in a last beat.
        used: Field = uint(bits_for((*lanes).into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
        /// In the last beat: the row broke a rule.
        error: Field = bit(),
        /// Some element of the beat is saturated, infinite or a NaN, or became an integer from a NaN.
        overflow: Field = bit(),
    }
}

ports! {
    /// Ports of [`VectorUnit`].
    pub struct VectorUnitPorts(p: &VectorUnit) {
        /// Drops all that is inside at the coming edge; nothing is taken in this cycle, and what leaves in it has left.
        clear_i: In = bit(),
        /// What to do: steady from the first beat of a row on until all rows have left.
        steps: InBundle<VectorSteps> = (),
        /// Rows that come.
        input: InStream<VectorBeat> = p.lanes,
        /// Addends, a beat for each beat of input; taken with the step add alone.
        addend: InStream<OperandBeat> = p.lanes,
        /// Factors, a beat for each beat of input; taken with the step multiply alone.
        factor: InStream<OperandBeat> = p.lanes,
        /// Gains, a beat for each beat of input; taken with the step gain alone.
        gain: InStream<OperandBeat> = p.lanes,
        /// The same rows after the steps.
        output: OutStream<VectorResult> = p.lanes,
        /// The lanes begin with a beat in this cycle.
        computing_o: Out = bit(),
    }
}

impl VectorUnit {
    /// The norm of rows.
    #[must_use]
    pub fn norm(&self) -> RmsNorm {
        RmsNorm { lanes: self.lanes, max_beats: self.max_beats, buffer: self.buffer, ..RmsNorm::default() }
    }

    fn used_width(&self) -> u32 {
        bits_for(self.lanes.into())
    }

    /// Cycles of a beat in the unit without the norm.
    #[must_use]
    pub fn lanes_latency(&self) -> u32 {
        self.lane.latency() + self.requantize.latency() + 2 + u32::from(self.lane.apart)
    }

    /// Cycles from the first beat that is offered to the last one that leaves, of one row of `elements` that never waits.
    #[must_use]
    pub fn cycles(&self, elements: u32, norm: bool) -> u32 {
        let beats = elements.div_ceil(self.lanes);
        self.lanes_latency() + if norm { self.norm().cycles(elements) } else { beats }
    }
}

impl Block for VectorUnit {
    type Ports = VectorUnitPorts;
    const ABOUT: About = About {
        name: "vector_unit",
        summary: "fp16 rows through a list of steps: scale, add, activate, multiply, normalise, requantize",
        contract: "Of each element x: scale makes x * scale_factor of it, add adds the element's addend, activate applies `function`, multiply multiplies\n\
            by the element's factor, each rounded to fp16; norm is rms_norm of the row, with gains where gain is set, else 1; format makes\n\
            integers of it: times quantizer, rounded to fp16, rounded to an integer, saturated. All roundings are to nearest, ties to even.\n\
            Steps that are not set are left out. gain means something with norm alone; format 3 is format 0.\n\
            The length of a row is that of input: last and used of it count. Broken rules are repaired and told by output_error_o in the last beat:\n\
            input_used_i of 0 or more than `lanes` counts as `lanes`, and a row of more than max_beats beats that is normalised loses the rest.\n\
            Results are as those of float_mul, float_add, float_table, rms_norm and float_to_int.\n\
            clear_i drops all that is inside, and may come at any time.",
        reference: "Elfwing et al., arXiv:1702.03118 (SiLU); Zhang and Sennrich, arXiv:1910.07467 (RMSNorm)",
    };

    fn timing(&self) -> Timing {
        Timing::new().beat(1u32)
    }

    fn build(&self, m: &mut Module, io: &VectorUnitPorts) {
        let steps = &io.steps;
        m.comment(
            "The steps before the norm: a beat begins when its operands are here, and a place at the end is free.",
        );
        let width = 16 * self.lanes + self.used_width() + 1;
        let first = Section::new(m, "begin", (self.lane.latency(), width), io.clear_i);
        let here = (!steps.add | io.addend.valid) & (!steps.multiply | io.factor.valid);
        let begins = m.wire("begins", io.input.valid & here & first.room);
        m.connect(io.input.ready, here & first.room);
        m.connect(io.addend.ready, begins & steps.add);
        m.connect(io.factor.ready, begins & steps.multiply);
        m.connect(io.computing_o, begins);
        let y = m.nets("y", uint(16), self.lanes);
        m.for_each("lane", self.lanes, |m, i| {
            let lane = m.instance("u_lane", self.lane.clone());
            m.connect(lane.scale_step_i, steps.scale);
            m.connect(lane.add_step_i, steps.add);
            m.connect(lane.activate_step_i, steps.activate);
            m.connect(lane.multiply_step_i, steps.multiply);
            m.connect(lane.scale_i, steps.scale_factor);
            m.connect(lane.x_i, io.input.values.at(i));
            m.connect(lane.addend_i, io.addend.values.at(i));
            m.connect(lane.factor_i, io.factor.values.at(i));
            m.connect(y.at(i), lane.y_o);
        });
        m.connect(first.enters, begins);
        let rest = later(m, "begin_rest", cat(&[io.input.last, io.input.used]), self.lane.latency());
        first.catch(m, "begin", begins, cat(&[rest, y.packed()]), io.clear_i);
        let slice = self.lane.apart.then(|| {
            let slice = m.instance("u_stepped", StreamRegister { width, cut: Cut::Both });
            m.connect(slice.clear_i, io.clear_i);
            m.connect(slice.input.valid, first.fifo.output.valid);
            m.connect(first.fifo.output.ready, slice.input.ready);
            m.connect(slice.input.data.data, first.fifo.output.data.data);
            slice.output
        });
        let stepped = slice.as_ref().unwrap_or(&first.fifo.output);
        let word = m.wire("stepped", stepped.data.data);
        let bits = 16 * self.lanes;
        let values = m.split("stepped_values", word.slice(0..bits), uint(16).array(self.lanes));
        let (stepped_used, stepped_last) = (word.slice(bits..width - 1), word.msb());
        let stepped_valid = stepped.valid;

        m.comment("The norm, or around it.");
        let norm = m.instance("u_norm", self.norm());
        m.connect(norm.clear_i, io.clear_i);
        m.connect(norm.epsilon_i, steps.epsilon);
        let gained = m.wire("gained", steps.gain & steps.norm);
        let gain_here = m.wire("gain_here", !gained | io.gain.valid);
        m.connect(norm.input.valid, stepped_valid & steps.norm & gain_here);
        m.connect_each("norm_values", norm.input.values, values);
        if let Some(gains) = norm.input.gains {
            m.for_each("gain", self.lanes, |m, i| {
                m.connect(gains.at(i), mux(gained, io.gain.values.at(i), uint(16).lit(ONE)));
            });
        }
        m.connect(norm.input.used, stepped_used);
        m.connect(norm.input.last, stepped_last);
        m.unused(norm.output.undefined);
        m.connect(io.gain.ready, stepped_valid & gained & norm.input.ready);

        m.comment("The last step.");
        let second = Section::new(m, "end", (self.requantize.latency(), width + 2), io.clear_i);
        let comes = m.wire("comes", mux(steps.norm, norm.output.valid, stepped_valid));
        let ends = m.wire("ends", comes & second.room);
        m.connect(norm.output.ready, second.room & steps.norm);
        m.connect(stepped.ready, mux(steps.norm, norm.input.ready & gain_here, second.room));
        m.connect(first.leaves, first.fifo.output.fire());
        m.connect(second.enters, ends);
        let x = m.nets("x", uint(16), self.lanes);
        m.for_each("choose", self.lanes, |m, i| {
            m.connect(x.at(i), mux(steps.norm, norm.output.values.at(i), values.at(i)));
        });
        let whole = uint(self.used_width()).lit(self.lanes);
        let broken = m.wire("broken", stepped_last & (!stepped_used.any() | stepped_used.gt(self.lanes)));
        let counts = mux(stepped_last & !broken, stepped_used, whole);
        let used = m.wire("used", mux(steps.norm, norm.output.used, counts));
        let last = m.wire("last", mux(steps.norm, norm.output.last, stepped_last));
        let error = m.wire("error", last & mux(steps.norm, norm.output.error, broken));
        let (int8, int4) = (m.wire("int8", steps.format.eq(1)), m.wire("int4", steps.format.eq(2)));
        let z = m.nets("z", uint(16), self.lanes);
        let overflow = m.nets("overflow", bit(), self.lanes);
        let late_used = later(m, "end_used", used, self.requantize.latency());
        let late_used = m.wire("used_now", late_used);
        m.for_each("end_lane", self.lanes, |m, i| {
            let lane = m.instance("u_requantize", self.requantize.clone());
            m.connect(lane.int8_i, int8);
            m.connect(lane.int4_i, int4);
            m.connect(lane.quantizer_i, steps.quantizer);
            m.connect(lane.x_i, x.at(i));
            m.connect(z.at(i), lane.y_o);
            m.connect(overflow.at(i), lane.overflow_o & late_used.gt(i.value(self.used_width())));
        });
        let ending = later(m, "end_last", cat(&[error, last]), self.requantize.latency());
        let some = m.wire("some_overflow", overflow.packed().any());
        second.catch(m, "end", ends, cat(&[ending, late_used, some, z.packed()]), io.clear_i);
        let fifo = second.fifo;
        m.connect(io.output.valid, fifo.output.valid);
        m.connect(fifo.output.ready, io.output.ready);
        m.connect(second.leaves, io.output.fire());
        let word = m.wire("result", fifo.output.data.data);
        let result = m.split("result_values", word.slice(0..bits), uint(16).array(self.lanes));
        m.connect_each("output_values", io.output.values, result);
        m.connect(io.output.overflow, word.bit(bits));
        m.connect(io.output.used, word.slice(bits + 1..bits + 1 + self.used_width()));
        let after = bits + 1 + self.used_width();
        m.connect(io.output.last, word.bit(after));
        m.connect(io.output.error, word.bit(after + 1));
    }
}

/// 1 in fp16.
const ONE: u32 = 0x3c00;

impl CatalogBlock for VectorUnit {
    fn configurations() -> Vec<Self> {
        let lane = |function, mul_stages, add_stages, table_stages| VectorLane {
            function,
            mul_stages,
            add_stages,
            table_stages,
            apart: false,
        };
        use crate::blocks::common::FloatFunction::{GeluErf as Gelu, GeluTanh, Tanh};
        vec![
            Self {
                lanes: 1,
                max_beats: 3,
                buffer: 3,
                lane: lane(Gelu, 0, 0, 0),
                requantize: RequantizeLane { mul_stages: 0, int_stages: 0, apart: false },
            },
            Self {
                lanes: 3,
                max_beats: 5,
                buffer: 11,
                lane: VectorLane { apart: true, ..lane(Tanh, 1, 0, 3) },
                requantize: RequantizeLane { mul_stages: 3, int_stages: 2, apart: true },
            },
            Self { lanes: 4, max_beats: 16, buffer: 32, lane: lane(GeluTanh, 3, 3, 8), ..Self::default() },
        ]
    }
}
