//! Plays rows on a vector unit, and compares.

use std::collections::VecDeque;

use golden::common::row::vector_unit::{Norm, Output, Scalars, Shape, Steps, VectorUnit as Golden};
use hdl::blocks::common::VectorUnit;
use hdl::blocks::common::row::NormKind;
use jobs::draw::numbers;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

use super::super::rms_norm::{epsilon, gains};
use super::operands::Operands;
use crate::common::float::table::function;

/// Elements, addends, factors, gains.
const STREAMS: [&str; 4] = ["input", "addend", "factor", "gain"];

/// A beat on its way in.
#[derive(Clone)]
pub(super) struct Part {
    values: Vec<u16>,
    /// Beside gains.
    biases: Vec<u16>,
    /// Elements of the row that count in a softmax.
    length: u64,
    used: u64,
    last: bool,
}

/// A beat on its way out.
pub(super) struct Expected {
    values: Vec<u16>,
    used: u64,
    last: bool,
    error: bool,
    overflow: bool,
}

pub(super) struct Stream {
    valid: In,
    ready: Out,
    values: In,
    pub(super) offered: VecDeque<Part>,
    offers: bool,
    /// The steps use it.
    pub(super) used: bool,
}

pub(super) struct Player {
    pub(super) block: VectorUnit,
    pub(super) golden: Golden,
    pub(super) rng: StimulusRng,
    pub(super) clear_i: In,
    pub(super) steps: Vec<(In, u32)>,
    pub(super) kind: Option<In>,
    pub(super) rotate: Option<In>,
    pub(super) streams: Vec<Stream>,
    pub(super) input_used: In,
    pub(super) input_last: In,
    pub(super) input_length: Option<In>,
    pub(super) biases: Option<In>,
    pub(super) output_valid: Out,
    pub(super) output_ready: In,
    pub(super) output_values: Out,
    pub(super) output_flags: [Out; 4],
    pub(super) computing: Out,
    pub(super) expected: VecDeque<Expected>,
    pub(super) now: (Steps, Scalars),
}

const STEP_PORTS: [(&str, u32); 10] = [
    ("scale", 1),
    ("add", 1),
    ("activate", 1),
    ("multiply", 1),
    ("norm", 1),
    ("gain", 1),
    ("format", 2),
    ("scale_factor", 16),
    ("quantizer", 16),
    ("epsilon", 40),
];

/// The kind of a norm, if it is one.
fn kind_of(steps: Steps) -> Option<NormKind> {
    let kind = match steps.kind {
        Norm::RmsNorm => NormKind::Rms,
        Norm::Softmax => NormKind::Softmax,
        Norm::LayerNorm => NormKind::Layer,
    };
    steps.norm.then_some(kind)
}

impl Player {
    pub(super) fn new(p: &VectorUnit, sim: &Sim, run: &Run) -> sim::Result<Self> {
        let streams = STREAMS.iter().map(|name| {
            Ok(Stream {
                valid: sim.input(&format!("{name}_valid_i"))?,
                ready: sim.output(&format!("{name}_ready_o"))?,
                values: sim.input(&format!("{name}_values_i"))?,
                offered: VecDeque::new(),
                offers: false,
                used: false,
            })
        });
        let steps = STEP_PORTS.iter().map(|&(name, width)| Ok((sim.input(&format!("steps_{name}_i"))?, width)));
        let flag = |name: &str| sim.output(&format!("output_{name}_o"));
        Ok(Self {
            golden: Golden::new(Shape { lanes: p.lanes, max_beats: p.max_beats, function: function(p.lane.function) }),
            rng: run.rng("rows"),
            clear_i: sim.input("clear_i")?,
            steps: steps.collect::<sim::Result<_>>()?,
            streams: streams.collect::<sim::Result<_>>()?,
            input_used: sim.input("input_used_i")?,
            input_last: sim.input("input_last_i")?,
            input_length: p.units.softmax.then(|| sim.input("input_length_i")).transpose()?,
            biases: p.units.layer_norm.then(|| sim.input("gain_biases_i")).transpose()?,
            kind: p.units.has_kinds().then(|| sim.input("steps_kind_i")).transpose()?,
            rotate: p.units.rotary.then(|| sim.input("steps_rotate_i")).transpose()?,
            output_valid: sim.output("output_valid_o")?,
            output_ready: sim.input("output_ready_i")?,
            output_values: sim.output("output_values_o")?,
            output_flags: [flag("used")?, flag("last")?, flag("error")?, flag("overflow")?],
            computing: sim.output("computing_o")?,
            expected: VecDeque::new(),
            now: (Steps::default(), Scalars::default()),
            block: p.clone(),
        })
    }

    /// Other steps: nothing is inside.
    pub(super) fn choose(&mut self, sim: &mut Sim) {
        let kinds = self.kinds();
        let rng = &mut self.rng;
        let word = rng.random_range(0..1u32 << 6) | [0, 1, 2][rng.random_range(0..3usize)] << 8;
        let mut steps = Steps::of(word).unwrap_or_default();
        steps.gain &= steps.norm;
        let kind = kinds[rng.random_range(0..kinds.len())];
        if steps.norm {
            steps.kind = match kind {
                Some(NormKind::Softmax) => Norm::Softmax,
                Some(NormKind::Layer) => Norm::LayerNorm,
                _ => Norm::RmsNorm,
            };
        }
        let softmax = steps.norm && steps.kind == Norm::Softmax;
        steps.rotate = self.block.units.rotary && !softmax && rng.random_range(0..3u8) == 0;
        steps.multiply &= !steps.rotate;
        let number = |rng: &mut StimulusRng| match rng.random_range(0..8u8) {
            0 => rng.random(),
            _ => rng.random_range(0x2c00..0x5800u16) | rng.random_range(0..2u16) << 15,
        };
        self.now = (steps, Scalars { scale: number(rng), quantizer: number(rng), epsilon: epsilon(rng) });
        self.drive_steps(sim);
    }

    pub(super) fn drive_steps(&mut self, sim: &mut Sim) {
        let (steps, scalars) = self.now;
        let format = match steps.output {
            Output::Fp16 => 0,
            Output::Int8 => 1,
            Output::Int4 => 2,
        };
        let bits = [steps.scale, steps.add, steps.activate, steps.multiply, steps.norm, steps.gain].map(u64::from);
        let rest = [format, scalars.scale.into(), scalars.quantizer.into(), scalars.epsilon];
        for (&(port, width), value) in self.steps.iter().zip(bits.into_iter().chain(rest)) {
            sim.poke(port, &Bits::truncated(width, value));
        }
        if let Some(port) = self.kind {
            // A kind without a norm means nothing.
            let kind = kind_of(steps).map_or_else(|| self.rng.random_range(0..4), |kind| kind as u64);
            sim.poke_u64(port, kind);
        }
        if let Some(port) = self.rotate {
            sim.poke_u64(port, steps.rotate.into());
        }
        // A softmax has no gains, whatever is asked for.
        let gain = steps.gain && kind_of(steps) != Some(NormKind::Softmax);
        let used = [true, steps.add, steps.multiply || steps.rotate, gain];
        for (stream, used) in self.streams.iter_mut().zip(used) {
            stream.used = used;
        }
    }

    /// Offers a random row.
    pub(super) fn row(&mut self, elements: usize, broken: bool) {
        let row = self.operands(elements, broken);
        self.offer(&row, broken);
    }

    /// Random operands of a row.
    pub(super) fn operands(&mut self, elements: usize, broken: bool) -> Operands {
        let lanes = self.block.lanes as usize;
        let elements = if self.now.0.rotate { elements.next_multiple_of(2) } else { elements };
        let count = if broken { elements.next_multiple_of(lanes) } else { elements };
        let biases = gains(&mut self.rng, count);
        let most = lanes * self.block.max_beats as usize;
        let length = match self.rng.random_range(0..6u8) {
            0 => 0,
            1 => most,
            _ => self.rng.random_range(0..=count).min(most),
        };
        let streams =
            [0, 1, 2, 3].map(|k| if k == 3 { gains(&mut self.rng, count) } else { numbers(&mut self.rng, count) });
        Operands { streams, biases, length }
    }

    /// Offers a row and expects its result. `broken`: its last beat claims no element, though there are some.
    pub(super) fn offer(&mut self, row: &Operands, broken: bool) {
        let (lanes, count) = (self.block.lanes as usize, row.streams[0].len());
        let most = lanes as u64 * u64::from(self.block.max_beats);
        let Operands { streams: operands, biases, length } = row;
        for (stream, operand) in self.streams.iter_mut().zip(operands).filter(|(s, _)| s.used) {
            let beats = count.div_ceil(lanes);
            for (k, values) in operand.chunks(lanes).enumerate() {
                let mut all = values.to_vec();
                all.resize_with(lanes, || self.rng.random());
                let last = k + 1 == beats;
                let used = match (last, broken) {
                    (true, true) => 0,
                    (true, false) => values.len() as u64,
                    (false, _) => self.rng.random_range(0..=lanes as u64),
                };
                let mut beside = biases.chunks(lanes).nth(k).unwrap_or_default().to_vec();
                beside.resize_with(lanes, || self.rng.random());
                let length = if k == 0 { *length as u64 } else { self.rng.random_range(0..=most) };
                stream.offered.push_back(Part { values: all, biases: beside, length, used, last });
            }
        }
        let (steps, scalars) = self.now;
        let done = self.golden.row(steps, scalars, row.elements());
        let overflows = done.beats(lanes);
        let beats = overflows.len();
        for (k, (values, overflow)) in done.values.chunks(lanes).zip(overflows).enumerate() {
            let last = k + 1 == beats;
            self.expected.push_back(Expected {
                used: values.len() as u64,
                values: values.to_vec(),
                last,
                error: last && broken,
                overflow,
            });
        }
    }

    /// One cycle: which streams offer a beat, whether the output is ready, whether all is cleared.
    pub(super) fn cycle(&mut self, sim: &mut Sim, run: &mut Run, go: &[bool], clear: bool) -> sim::Result<()> {
        sim.poke_u64(self.clear_i, clear.into());
        sim.poke_u64(self.output_ready, go[4].into());
        let lanes = self.block.lanes;
        for (k, stream) in self.streams.iter_mut().enumerate() {
            stream.offers = (stream.offers || go[k]) && !stream.offered.is_empty();
            // Inputs that no step uses may offer anything.
            let noise = !stream.used && self.rng.random();
            sim.poke_u64(stream.valid, (stream.offers || noise).into());
            let beat = stream.offered.front().filter(|_| stream.offers);
            let word = beat.map_or_else(
                || Bits::random(16 * lanes, &mut self.rng),
                |beat| Bits::pack(16, beat.values.iter().map(|&x| x.into())),
            );
            sim.poke(stream.values, &word);
            if k == 3
                && let Some(port) = self.biases
            {
                let word = beat.map_or_else(
                    || Bits::random(16 * lanes, &mut self.rng),
                    |beat| Bits::pack(16, beat.biases.iter().map(|&x| x.into())),
                );
                sim.poke(port, &word);
            }
            if k == 0 {
                let (used, last) = beat.map_or_else(|| (0, self.rng.random()), |beat| (beat.used, beat.last));
                sim.poke_u64(self.input_used, used);
                sim.poke_u64(self.input_last, last.into());
                if let Some(port) = self.input_length {
                    let most = u64::from(lanes * self.block.max_beats);
                    let length = beat.map_or_else(|| self.rng.random_range(0..=most), |beat| beat.length);
                    sim.poke_u64(port, length);
                }
            }
        }
        sim.settle()?;
        let shown = sim.peek_u64(self.output_valid) == 1;
        if shown {
            self.compare(sim, run)?;
            if go[4] {
                self.expected.pop_front();
            }
        }
        let begins = self.streams[0].offers && sim.peek_u64(self.streams[0].ready) == 1;
        run.expect_u64(sim, self.computing, begins.into())?;
        for stream in &mut self.streams {
            let ready = sim.peek_u64(stream.ready) == 1;
            if !stream.used {
                run.expect_u64(sim, stream.ready, 0)?;
            } else if stream.offers && ready {
                stream.offers = false;
                stream.offered.pop_front();
            }
        }
        if clear {
            self.expected.clear();
            for stream in &mut self.streams {
                stream.offered.clear();
                stream.offers = false;
            }
        }
        sim.tick()
    }

    fn compare(&self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let Some(expected) = self.expected.front() else {
            return run.expect_u64(sim, self.output_valid, 0);
        };
        let flags = [expected.used, expected.last.into(), expected.error.into(), expected.overflow.into()];
        for (port, flag) in self.output_flags.into_iter().zip(flags) {
            run.expect_u64(sim, port, flag)?;
        }
        // Integers come with their sign above.
        let width = self.now.0.output.width();
        let whole = |value: u16| ((value << (16 - width)) as i16 >> (16 - width)) as u16;
        let values = sim.peek(self.output_values).unpack(16);
        for (lane, (&expected, got)) in expected.values.iter().zip(values).enumerate() {
            run.expect_equal(sim, "output_values_o", &format!(" of lane {lane}"), whole(expected), got as u16)?;
        }
        Ok(())
    }
}
