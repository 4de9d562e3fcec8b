//! Vector unit: lanes that take the rows of a matrix through a list of steps.

use super::norm_stage::{GainBeat, NormKind, NormStage, RowUnits, VectorBeat};
use super::pipe::later;
use super::rotary_embedding::{RotaryEmbedding, RotaryPairs};
use super::section::Section;
use super::vector_lane::{RequantizeLane, VectorLane};
use crate::blocks::common::StreamRegister;
use crate::blocks::common::stream::Cut;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, FieldOption, In, InBundle, InStream, Module, Out, OutStream,
    Signal, Stream, Timing, bit, bits_for, bundle, cat, connect_all, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct VectorUnit {
        /// Elements of a beat.
        lanes: u32 = 8, in 1..=256, tag "l";
        /// Beats of the longest row that can be normalised.
        max_beats: u32 = 64, in 1..=65536, tag "b";
        /// Beats that the norm keeps. With twice max_beats a row can enter while another one leaves.
        buffer: u32 = 128, in 1..=65_536, note "at least max_beats", tag "k";
        /// The steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last one.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Its units for whole rows, in addition to the norm by the root mean square.
        units: RowUnits = RowUnits::default();
    }
    rules = |p, rules| {
        rules.part("max_beats", &p.stage());
        rules.demand(!p.units.rotary || p.lanes.is_multiple_of(2), "lanes", p.lanes, "a multiple of 2 with units.rotary");
    };
}

bundle! {
    /// The steps for the elements of a row, in this order.
    pub struct VectorSteps(units: RowUnits) {
        /// Multiply by scale.
        scale: Field = bit(),
        /// Add the element's addend.
        add: Field = bit(),
        /// Apply the unit's function.
        activate: Field = bit(),
        /// Multiply by the element's factor.
        multiply: Field = bit(),
        /// Turn pairs of elements; not with multiply or softmax.
        rotate: FieldOption = bit().when(units.rotary),
        /// Normalise the row.
        norm: Field = bit(),
        /// Kind of the norm: 0 by the root mean square, 1 softmax, 2 layer norm.
        kind: FieldOption = uint(2).when(units.has_kinds()),
        /// Also multiply by the element's gain.
        gain: Field = bit(),
        /// Format of the results: 0 fp16, 1 integers of 8 bits, 2 integers of 4 bits.
        format: Field = uint(2),
        /// Factor of the step scale, fp16.
        scale_factor: Field = uint(16),
        /// Factor before elements become integers, fp16.
        quantizer: Field = uint(16),
        /// Addend to the mean square or the variance, in units of 2^-48.
        epsilon: Field = uint(40),
    }
}

bundle! {
    /// Part of a row of operands: as long as its row of input.
    pub struct OperandBeat(lanes: u32) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(*lanes),
    }
}

bundle! {
    /// Part of a row that has gone through the steps.
    pub struct VectorResult(lanes: u32) {
        /// fp16 numbers, or sign-extended integers; undefined for elements that are not in use.
        values: FieldArray = uint(16).array(*lanes),
        /// Elements in use: all, except in a last beat.
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
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// The steps: steady from the first beat of a row on until all rows have left.
        steps: InBundle<VectorSteps> = p.units.clone(),
        /// Rows that come.
        input: InStream<VectorBeat> = (p.lanes, p.stage().length_width()),
        /// Addends, a beat for each beat of input; taken only with the step add.
        addend: InStream<OperandBeat> = p.lanes,
        /// Factors, a beat for each beat of input; taken only with the step multiply. With rotate: the angles of pairs,
        /// a cosine and a sine each.
        factor: InStream<OperandBeat> = p.lanes,
        /// Gains, a beat for each beat of input; taken only with the step gain, and never for a softmax.
        gain: InStream<GainBeat> = (p.lanes, p.units.layer_norm),
        /// The same rows after the steps.
        output: OutStream<VectorResult> = p.lanes,
        /// The lanes begin with a beat in this cycle.
        computing_o: Out = bit(),
    }
}

impl VectorUnit {
    /// The stage for whole rows.
    #[must_use]
    pub fn stage(&self) -> NormStage {
        NormStage { lanes: self.lanes, max_beats: self.max_beats, buffer: self.buffer, units: self.units.clone() }
    }

    /// The unit that turns pairs of elements, if there is this step. Its products have as many ranks as the products of
    /// lanes.
    #[must_use]
    pub fn rotary(&self) -> RotaryEmbedding {
        RotaryEmbedding {
            lanes: self.lanes,
            pairs: RotaryPairs::Neighbours,
            mul_stages: self.lane.mul_stages,
            fma_stages: self.lane.mul_stages + self.lane.add_stages,
            apart: self.lane.apart,
        }
    }

    fn used_width(&self) -> u32 {
        bits_for(self.lanes.into())
    }

    /// Cycles of a beat in the unit without the norm.
    #[must_use]
    pub fn lanes_latency(&self) -> u32 {
        self.lane.latency() + self.requantize.latency() + 2 + u32::from(self.lane.apart)
    }

    /// Cycles from the first beat that is offered to the last one that leaves, for one row of `elements` that never
    /// waits. The row has a norm of some kind, or none, and is turned or not.
    #[must_use]
    pub fn cycles(&self, elements: u32, kind: Option<NormKind>, rotate: bool) -> u32 {
        let turned = if rotate { self.rotary().cycles(0) } else { 0 };
        self.lanes_latency() + turned + self.stage().cycles(elements, kind)
    }
}

impl Block for VectorUnit {
    type Ports = VectorUnitPorts;
    const ABOUT: About = About {
        name: "vector_unit",
        summary: "fp16 rows through a list of steps: scale, add, activate, multiply, turn pairs, norms or softmax, requantize",
        contract: "The steps that are set change each element x in this order.\n\
            scale multiplies x by scale_factor, add adds the element's addend, activate applies `function`, multiply\n\
            multiplies by the element's factor; each of these four rounds to fp16.\n\
            rotate turns pairs as rotary_embedding does.\n\
            norm applies rms_norm, softmax or layer_norm to the row, as kind says. gain uses the element's gain, and\n\
            its bias in a layer_norm; otherwise gains are 1 and biases 0. A softmax has no gains, and counts the\n\
            first input_length_i elements.\n\
            format 1 makes integers of 8 bits, format 2 of 4 bits: x times quantizer, rounded to fp16, rounded to an\n\
            integer, saturated. format 3 is format 0.\n\
            All roundings are to nearest, ties to even. gain has no effect without norm.\n\
            The input decides the length of a row, by last and used. Broken rules are repaired and told by\n\
            output_error_o in the last beat. input_used_i of 0 or more than `lanes` counts as `lanes`, and a row\n\
            that is normalised loses its beats after the first max_beats.\n\
            Results equal the results of float_mul, float_add, float_table, the row units and float_to_int.\n\
            clear_i drops everything inside, and may come at any time.",
        reference: "Elfwing et al., arXiv:1702.03118 (SiLU); Zhang and Sennrich, arXiv:1910.07467 (RMSNorm)",
    };

    fn timing(&self) -> Timing {
        Timing::new().beat(1)
    }

    fn build(&self, m: &mut Module, io: &VectorUnitPorts) {
        let steps = &io.steps;
        m.comment(
            "The steps before the norm: a beat begins when its operands are here, and a place at the end is free.",
        );
        let length_width = io.input.length.map_or(0, |length| length.width());
        let width = 16 * self.lanes + self.used_width() + 1 + length_width;
        let first = Section::new(m, "begin", (self.lane.latency(), width), io.clear_i);
        let here = (!steps.add | io.addend.valid) & (!steps.multiply | io.factor.valid);
        let begins = m.wire("begins", io.input.valid & here & first.room);
        m.connect(io.input.ready, here & first.room);
        m.connect(io.addend.ready, begins & steps.add);
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
        let mut rest = vec![io.input.last, io.input.used];
        rest.extend(io.input.length);
        let rest = later(m, "begin_rest", cat(&rest), self.lane.latency());
        first.catch(m, "begin", begins, cat(&[rest, y.packed()]), io.clear_i);
        let slice = self.lane.apart.then(|| {
            let slice = m.instance("u_stepped", StreamRegister { width, cut: Cut::Both });
            m.connect(slice.clear_i, io.clear_i);
            m.connect_handshake(&slice.input, &first.fifo.output);
            m.connect(slice.input.data.data, first.fifo.output.data.data);
            slice.output
        });
        let output = slice.as_ref().unwrap_or(&first.fifo.output);
        let word = m.wire("stepped", output.data.data);
        let bits = 16 * self.lanes;
        let values = m.split("stepped_values", word.slice(0..bits), uint(16).array(self.lanes));
        let after_length = bits + length_width;
        let stepped = Stepped {
            valid: output.valid,
            ready: output.ready,
            values,
            used: word.slice(after_length..width - 1),
            last: word.msb(),
        };
        m.connect(first.leaves, first.fifo.output.fire());

        m.comment("The stage for whole rows.");
        let stage = m.instance("u_norm", self.stage());
        m.connect(stage.clear_i, io.clear_i);
        m.connect(stage.norm_i, steps.norm);
        m.connect_option(stage.kind_i, steps.kind);
        m.connect(stage.gain_i, steps.gain);
        m.connect(stage.epsilon_i, steps.epsilon);
        m.connect_stream(&stage.gain, &io.gain);
        if let Some(to) = stage.input.length {
            m.connect(to, word.slice(bits..after_length));
        }
        self.rotate(m, io, begins, &stepped, &stage.input);

        m.comment("The last step.");
        let width = bits + self.used_width() + 3;
        let second = Section::new(m, "end", (self.requantize.latency(), width), io.clear_i);
        let ends = m.wire("ends", stage.output.valid & second.room);
        m.connect(stage.output.ready, second.room);
        m.connect(second.enters, ends);
        let (x, used) = (stage.output.values, stage.output.used);
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
        let ending = later(m, "end_last", cat(&[stage.output.error, stage.output.last]), self.requantize.latency());
        let some = m.wire("some_overflow", overflow.packed().any());
        second.catch(m, "end", ends, cat(&[ending, late_used, some, z.packed()]), io.clear_i);
        let fifo = second.fifo;
        m.connect_handshake(&io.output, &fifo.output);
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

/// Beats that have gone through the lanes.
struct Stepped {
    valid: Signal,
    /// To be driven.
    ready: Signal,
    values: Array,
    used: Signal,
    last: Signal,
}

impl VectorUnit {
    /// From the lanes to the stage for rows: through the unit that turns pairs, or around it. Factors go where they are
    /// used.
    fn rotate(&self, m: &mut Module, io: &VectorUnitPorts, begins: Signal, from: &Stepped, to: &Stream<VectorBeat>) {
        let Some(rotate) = io.steps.rotate else {
            m.connect(io.factor.ready, begins & io.steps.multiply);
            m.connect(to.valid, from.valid);
            m.connect(from.ready, to.ready);
            m.connect_each("rows", to.values, from.values);
            connect_all!(m, to, from, [used, last]);
            return;
        };
        let unit = m.instance("u_rotary", self.rotary());
        m.unused(unit.computing_o);
        m.connect(unit.clear_i, io.clear_i);
        m.connect(unit.input.valid, from.valid & rotate);
        m.connect_each("turned_values", unit.input.values, from.values);
        connect_all!(m, unit.input, from, [used, last]);
        m.connect(unit.angle.valid, io.factor.valid & rotate);
        m.for_each("angle", self.lanes / 2, |m, i| {
            m.connect(unit.angle.cosines.at(i), io.factor.values.at(i * 2));
            m.connect(unit.angle.sines.at(i), io.factor.values.at(i * 2 + 1));
        });
        m.connect(io.factor.ready, mux(rotate, unit.angle.ready, begins & io.steps.multiply));
        m.connect(from.ready, mux(rotate, unit.input.ready, to.ready));
        m.connect(to.valid, mux(rotate, unit.output.valid, from.valid));
        m.connect(unit.output.ready, to.ready & rotate);
        m.for_each("rows", self.lanes, |m, i| {
            m.connect(to.values.at(i), mux(rotate, unit.output.values.at(i), from.values.at(i)));
        });
        m.connect(to.used, mux(rotate, unit.output.used, from.used));
        m.connect(to.last, mux(rotate, unit.output.last, from.last));
    }
}

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
                units: RowUnits::default(),
            },
            Self {
                lanes: 3,
                max_beats: 5,
                buffer: 11,
                lane: VectorLane { apart: true, ..lane(Tanh, 1, 0, 3) },
                requantize: RequantizeLane { mul_stages: 3, int_stages: 2, apart: true },
                units: RowUnits { softmax: true, ..RowUnits::default() },
            },
            Self {
                lanes: 4,
                max_beats: 16,
                buffer: 32,
                lane: lane(GeluTanh, 3, 3, 8),
                units: RowUnits::all(),
                ..Self::default()
            },
        ]
    }
}
