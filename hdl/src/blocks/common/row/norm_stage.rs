//! The stage of a vector unit for whole rows: one of the row units, or none.

use super::layer_norm::LayerNorm;
use super::rms_norm::{EPSILON, RmsNorm};
use super::softmax::Softmax;
use crate::lang::{
    About, Array, Block, Field, FieldArray, FieldArrayOption, FieldOption, In, InOption, InStream, Module, OutStream,
    Signal, Timing, bit, bits_for, bundle, connect_all, mux, parameters, ports, select, uint,
};

parameters! {
    /// Row units that a vector unit may have in addition to the norm by the root mean square.
    pub struct RowUnits {
        /// Softmax.
        softmax: bool = false, tag "softmax";
        /// Layer norm.
        layer_norm: bool = false, tag "layer";
        /// Rotary position embedding, of neighbours.
        rotary: bool = false, tag "rotary";
    }
}

impl RowUnits {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self { softmax: true, layer_norm: true, rotary: true }
    }

    /// There is more than one kind of norm.
    #[must_use]
    pub fn has_kinds(&self) -> bool {
        self.softmax || self.layer_norm
    }
}

/// What is done with a whole row. The numbers are the values of `kind_i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// [`RmsNorm`].
    Rms = 0,
    /// [`Softmax`].
    Softmax = 1,
    /// [`LayerNorm`].
    Layer = 2,
}

parameters! {
    /// Elaboration parameters.
    pub struct NormStage {
        /// Elements of a beat.
        lanes: u32 = 8, in 1..=256, tag "l";
        /// Beats of the longest row that goes through a row unit.
        max_beats: u32 = 64, in 1..=65536, tag "b";
        /// Beats that a row unit keeps. With twice max_beats a row can enter while another one leaves.
        buffer: u32 = 128, in 1..=65_536, note "at least max_beats", tag "k";
        /// Row units.
        units: RowUnits = RowUnits::default();
    }
    rules = |p, rules| rules.part("max_beats", &p.rms_norm());
}

impl NormStage {
    /// The norm by the root mean square.
    #[must_use]
    pub fn rms_norm(&self) -> RmsNorm {
        RmsNorm { lanes: self.lanes, max_beats: self.max_beats, buffer: self.buffer, ..RmsNorm::default() }
    }

    /// The layer norm, where there is one.
    #[must_use]
    pub fn layer_norm(&self) -> LayerNorm {
        LayerNorm { lanes: self.lanes, max_beats: self.max_beats, buffer: self.buffer, ..LayerNorm::default() }
    }

    /// The softmax, where there is one.
    #[must_use]
    pub fn softmax(&self) -> Softmax {
        Softmax { lanes: self.lanes, max_beats: self.max_beats, buffer: self.buffer, ..Softmax::default() }
    }

    /// Cycles from the first beat that is offered to the last one that leaves, for a row of `elements` that is alone
    /// and never waits.
    #[must_use]
    pub fn cycles(&self, elements: u32, kind: Option<NormKind>) -> u32 {
        match kind {
            None => elements.div_ceil(self.lanes),
            Some(NormKind::Rms) => self.rms_norm().cycles(elements),
            Some(NormKind::Softmax) => self.softmax().cycles(elements),
            Some(NormKind::Layer) => self.layer_norm().cycles(elements),
        }
    }

    /// Bits of the number of elements of a row.
    #[must_use]
    pub fn count_width(&self) -> u32 {
        bits_for(u64::from(self.lanes) * u64::from(self.max_beats))
    }

    /// Bits of the elements that count in a softmax, where there is one.
    #[must_use]
    pub fn length_width(&self) -> Option<u32> {
        self.units.softmax.then(|| self.count_width())
    }
}

bundle! {
    /// Part of a row.
    pub struct VectorBeat(shape: (u32, Option<u32>)) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(shape.0),
        /// Elements of the row that count in a softmax; read in its first beat.
        length: FieldOption = shape.1.map(uint),
        /// In the last beat: number of elements in use, from the first one on.
        used: Field = uint(bits_for(shape.0.into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
    }
}

bundle! {
    /// Part of a row of gains: as long as its row of input.
    pub struct GainBeat(shape: (u32, bool)) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(shape.0),
        /// Biases of a layer norm, fp16.
        biases: FieldArrayOption = shape.1.then(|| uint(16).array(shape.0)),
    }
}

bundle! {
    /// Part of a row that has gone through a row unit.
    pub struct NormedBeat(lanes: u32) {
        /// fp16 numbers; undefined for elements that are not in use.
        values: FieldArray = uint(16).array(*lanes),
        /// Elements in use: all, except in a last beat.
        used: Field = uint(bits_for((*lanes).into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
        /// In the last beat: the row broke a rule.
        error: Field = bit(),
    }
}

ports! {
    /// Ports of [`NormStage`].
    pub struct NormStagePorts(p: &NormStage) {
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Rows go through a row unit. Steady, like all inputs that choose the work, from the first beat of a row until
        /// all rows have left.
        norm_i: In = bit(),
        /// Which row unit: 0 rms_norm, 1 softmax, 2 layer_norm. A unit that these parameters leave out counts as 0.
        kind_i: InOption = uint(2).when(p.units.has_kinds()),
        /// Gains are used; else they are 1, and biases 0.
        gain_i: In = bit(),
        /// Epsilon of a norm, in units of 2^-48.
        epsilon_i: In = uint(EPSILON),
        /// Rows that come.
        input: InStream<VectorBeat> = (p.lanes, p.length_width()),
        /// Gains, a beat for each beat of input; taken only with norm_i and gain_i.
        gain: InStream<GainBeat> = (p.lanes, p.units.layer_norm),
        /// The same rows.
        output: OutStream<NormedBeat> = p.lanes,
    }
}

/// The output of a row unit, or the bypass.
struct Way {
    chosen: Signal,
    valid: Signal,
    /// To be driven: there is room after it.
    ready: Signal,
    takes: Signal,
    values: Array,
    used: Signal,
    last: Signal,
    error: Signal,
}

impl Block for NormStage {
    type Ports = NormStagePorts;
    const ABOUT: About = About {
        name: "norm_stage",
        summary: "rows through rms_norm, softmax or layer_norm, or past them",
        contract: "With norm_i each row goes through the row unit that kind_i names, else it leaves\n\
            unchanged. Broken rules are repaired and told by output_error_o in the last beat: input_used_i of 0 or\n\
            more than `lanes` counts as `lanes`, and a row that goes through a unit loses its beats after the first\n\
            max_beats. clear_i drops everything inside, and may come at any time.",
        reference: "",
    };

    fn timing(&self) -> Timing {
        Timing::new().beat(1)
    }

    fn build(&self, m: &mut Module, io: &NormStagePorts) {
        let input = &io.input;
        let is = |number: u32| io.kind_i.map_or(bit().lit(0), |kind| kind.eq(number));
        let softmax = m.wire(
            "to_softmax",
            if self.units.softmax { io.norm_i & is(NormKind::Softmax as u32) } else { bit().lit(0) },
        );
        let layer = m.wire(
            "to_layer",
            if self.units.layer_norm { io.norm_i & is(NormKind::Layer as u32) } else { bit().lit(0) },
        );
        let rms = m.wire("to_rms", io.norm_i & !softmax & !layer);
        let gained = m.wire("gained", io.gain_i & (rms | layer));
        let gain_here = m.wire("gain_here", !gained | io.gain.valid);
        let gains = m.nets("gains", uint(16), self.lanes);
        m.for_each("gain", self.lanes, |m, i| {
            m.connect(gains.at(i), mux(gained, io.gain.values.at(i), uint(16).lit(ONE)));
        });
        let mut ways = vec![self.around(m, io), self.rms(m, io, rms, gain_here, gains)];
        if self.units.softmax {
            ways.push(self.to_softmax(m, io, softmax));
        }
        if self.units.layer_norm {
            ways.push(self.layer(m, io, (layer, gained), gain_here, gains));
        }
        let any = |signals: Vec<Signal>| signals.into_iter().fold(bit().lit(0), |a, b| a | b);
        let takes = m.wire("takes", any(ways.iter().map(|way| way.chosen & way.takes).collect()));
        m.connect(input.ready, takes);
        m.connect(io.gain.ready, input.valid & gained & takes);
        m.connect(io.output.valid, any(ways.iter().map(|way| way.chosen & way.valid).collect()));
        for way in &ways {
            m.connect(way.ready, way.chosen & io.output.ready);
        }
        let of = |value: fn(&Way) -> Signal| {
            let rest: Vec<_> = ways[1..].iter().map(|way| (way.chosen, value(way))).collect();
            select(&rest, value(&ways[0]))
        };
        m.connect(io.output.used, of(|way| way.used));
        m.connect(io.output.last, of(|way| way.last));
        m.connect(io.output.error, of(|way| way.last & way.error));
        m.for_each("choose", self.lanes, |m, i| {
            let rest: Vec<_> = ways[1..].iter().map(|way| (way.chosen, way.values.at(i))).collect();
            m.connect(io.output.values.at(i), select(&rest, ways[0].values.at(i)));
        });
    }
}

impl NormStage {
    fn around(&self, m: &mut Module, io: &NormStagePorts) -> Way {
        let (input, whole) = (&io.input, uint(io.input.used.width()).lit(self.lanes));
        let broken = m.wire("broken", input.last & (!input.used.any() | input.used.gt(self.lanes)));
        let used = m.wire("counts", mux(input.last & !broken, input.used, whole));
        let ready = m.net("around_ready", bit());
        Way {
            chosen: !io.norm_i,
            valid: input.valid & !io.clear_i,
            ready,
            takes: ready & !io.clear_i,
            values: input.values,
            used,
            last: input.last,
            error: broken,
        }
    }

    fn rms(&self, m: &mut Module, io: &NormStagePorts, chosen: Signal, gain_here: Signal, gains: Array) -> Way {
        let unit = m.instance("u_rms_norm", self.rms_norm());
        connect_all!(m, unit, io, [clear_i, epsilon_i]);
        m.connect(unit.input.valid, io.input.valid & chosen & gain_here);
        m.connect_each("rms_values", unit.input.values, io.input.values);
        if let Some(to) = unit.input.gains {
            m.connect_each("rms_gains", to, gains);
        }
        connect_all!(m, unit.input, io.input, [used, last]);
        m.unused(unit.output.undefined);
        let (output, takes) = (&unit.output, unit.input.ready & gain_here);
        let (valid, ready, values) = (output.valid, output.ready, output.values);
        Way { chosen, takes, valid, ready, values, used: output.used, last: output.last, error: output.error }
    }

    fn to_softmax(&self, m: &mut Module, io: &NormStagePorts, chosen: Signal) -> Way {
        let unit = m.instance("u_softmax", self.softmax());
        m.connect(unit.clear_i, io.clear_i);
        m.connect(unit.length_i, io.input.length.unwrap_or(uint(self.count_width()).lit(0)));
        m.connect(unit.input.valid, io.input.valid & chosen);
        m.connect_each("softmax_values", unit.input.values, io.input.values);
        connect_all!(m, unit.input, io.input, [used, last]);
        m.unused(unit.output.undefined);
        m.unused(unit.output.empty);
        let (output, takes) = (&unit.output, unit.input.ready);
        let (valid, ready, values) = (output.valid, output.ready, output.values);
        Way { chosen, takes, valid, ready, values, used: output.used, last: output.last, error: output.error }
    }

    fn layer(
        &self,
        m: &mut Module,
        io: &NormStagePorts,
        (chosen, gained): (Signal, Signal),
        gain_here: Signal,
        gains: Array,
    ) -> Way {
        let unit = m.instance("u_layer_norm", self.layer_norm());
        connect_all!(m, unit, io, [clear_i, epsilon_i]);
        m.connect(unit.input.valid, io.input.valid & chosen & gain_here);
        m.connect_each("layer_values", unit.input.values, io.input.values);
        if let Some(to) = unit.input.gains {
            m.connect_each("layer_gains", to, gains);
        }
        if let (Some(to), Some(from)) = (unit.input.biases, io.gain.biases) {
            m.for_each("layer_biases", self.lanes, |m, i| {
                m.connect(to.at(i), mux(gained, from.at(i), uint(16).lit(0)));
            });
        }
        connect_all!(m, unit.input, io.input, [used, last]);
        m.unused(unit.output.undefined);
        let (output, takes) = (&unit.output, unit.input.ready & gain_here);
        let (valid, ready, values) = (output.valid, output.ready, output.values);
        Way { chosen, takes, valid, ready, values, used: output.used, last: output.last, error: output.error }
    }
}

/// 1 in fp16.
const ONE: u32 = 0x3c00;
