//! [`VectorUnit`]: all steps in all combinations, rows of all lengths, four streams that pause independently, clears at
//! any moment. Rows without pauses are checked to the cycle.

mod given;
mod sharp;

use std::collections::VecDeque;

use golden::common::row::vector_unit::{Elements, Norm, Output, Scalars, Shape, Steps, VectorUnit as Golden};
use hdl::blocks::common::VectorUnit;
use hdl::blocks::common::row::NormKind;
use jobs::draw::numbers;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

use super::rms_norm::{epsilon, gains};
use crate::common::float::table::function;
use given::Given;

pub use given::TENSORS;

/// The bench of the unit; a vector is a row.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &VectorUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| Player::new(&p, sim, run)?.play(sim, run, None))
}

/// Elements, addends, factors, gains.
const STREAMS: [&str; 4] = ["input", "addend", "factor", "gain"];

/// A beat on its way in.
#[derive(Clone)]
struct Part {
    values: Vec<u16>,
    /// Beside gains.
    biases: Vec<u16>,
    /// Elements of the row that count in a softmax.
    length: u64,
    used: u64,
    last: bool,
}

/// The operands of a row.
#[derive(Clone, Debug)]
struct Operands {
    /// Of each of [`STREAMS`].
    streams: [Vec<u16>; 4],
    /// Beside gains.
    biases: Vec<u16>,
    /// Elements that count in a softmax.
    length: usize,
}

impl Operands {
    fn elements(&self) -> Elements<'_> {
        let [x, addends, factors, gains] = &self.streams;
        Elements { x, addends, factors, gains, biases: &self.biases, length: self.length }
    }
}

/// A beat on its way out.
struct Expected {
    values: Vec<u16>,
    used: u64,
    last: bool,
    error: bool,
    overflow: bool,
}

struct Stream {
    valid: In,
    ready: Out,
    values: In,
    offered: VecDeque<Part>,
    offers: bool,
    /// The steps use it.
    used: bool,
}

struct Player {
    block: VectorUnit,
    golden: Golden,
    rng: StimulusRng,
    clear_i: In,
    steps: Vec<(In, u32)>,
    kind: Option<In>,
    rotate: Option<In>,
    streams: Vec<Stream>,
    input_used: In,
    input_last: In,
    input_length: Option<In>,
    biases: Option<In>,
    output_valid: Out,
    output_ready: In,
    output_values: Out,
    output_flags: [Out; 4],
    computing: Out,
    expected: VecDeque<Expected>,
    now: (Steps, Scalars),
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
    fn new(p: &VectorUnit, sim: &Sim, run: &Run) -> sim::Result<Self> {
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

    /// Random rows with random steps, or rows that are `given`, with their steps and without clears.
    fn play(&mut self, sim: &mut Sim, run: &mut Run, given: Option<&Given>) -> sim::Result<()> {
        let flags = ["used", "last", "error", "overflow"].map(|flag| format!("output_{flag}_o"));
        run.only_while("output_valid_o", &flags.each_ref().map(String::as_str));
        run.only_while("output_valid_o", &["output_values_o"]);
        sim.poke_u64(self.clear_i, 0);
        run.reset(sim, 2)?;
        if let Some(given) = given {
            self.now = given.steps;
            self.drive_steps(sim);
            given.rows.iter().for_each(|row| self.offer(row, false));
            self.together(sim, run, false)?;
        } else {
            self.single_rows(sim, run)?;
        }
        let mut left = if given.is_some() { 0 } else { run.vectors() };
        while left > 0 {
            self.choose(sim);
            let rows = left.min(self.rng.random_range(1..=32));
            left -= rows;
            let sharp = self.now.0.norm && self.rng.random_range(0..3u8) == 0;
            for number in 0..rows {
                let elements = self.any_length();
                if sharp {
                    self.sharp_row(sim, elements, number == 0);
                } else {
                    let broken = self.rng.random_range(0..10u8) == 0;
                    self.row(elements, broken);
                }
            }
            self.together(sim, run, true)?;
        }
        // Nothing more comes.
        for _ in 0..2 * self.latency() {
            self.cycle(sim, run, &[false, false, false, false, true], false)?;
        }
        Ok(())
    }

    /// All offered rows, with pauses.
    fn together(&mut self, sim: &mut Sim, run: &mut Run, may_clear: bool) -> sim::Result<()> {
        // Of 8 cycles: some, most, all; from the beginning, or so late that everything before is full.
        let latency = u64::from(self.latency());
        let mut paces = Vec::new();
        for _ in 0..5 {
            let late = [0, 0, 0, latency + 60][self.rng.random_range(0..4usize)];
            paces.push(([1, 4, 7, 8][self.rng.random_range(0..4usize)], late));
        }
        if self.rng.random_range(0..3u8) == 0 {
            // All wait for one operand.
            let used: Vec<usize> = (0..4).filter(|&k| self.streams[k].used).collect();
            let slow = used[self.rng.random_range(0..used.len())];
            paces = (0..5).map(|k| (if k == slow { 1 } else { 8 }, 0)).collect();
        }
        let clears = may_clear && self.rng.random_range(0..3u8) == 0;
        let most = 20 * (self.streams[0].offered.len() as u64 + latency + 60);
        let begin = sim.cycle_count();
        while !(self.expected.is_empty() && self.streams.iter().all(|s| s.offered.is_empty())) {
            let passed = sim.cycle_count() - begin;
            let mut go = |&(pace, late): &(u8, u64)| passed >= late && self.rng.random_range(0..8) < pace;
            let offers: Vec<bool> = paces.iter().map(&mut go).collect();
            let clear = clears && self.rng.random_range(0..2 * latency) == 0;
            self.cycle(sim, run, &offers, clear)?;
            if sim.cycle_count() - begin > most {
                let missing = self.expected.len();
                return run.expect_equal(sim, "output", "beats that are missing", 0, missing);
            }
        }
        Ok(())
    }

    /// Cycles that the longest way takes.
    fn latency(&self) -> u32 {
        let kinds = self.kinds();
        kinds.into_iter().map(|kind| self.block.cycles(1, kind, self.block.units.rotary)).max().unwrap_or(0)
    }

    /// The norms that the unit has; none stands for a row without a norm.
    fn kinds(&self) -> Vec<Option<NormKind>> {
        let units = &self.block.units;
        let mut kinds = vec![None, Some(NormKind::Rms)];
        kinds.extend(units.softmax.then_some(Some(NormKind::Softmax)));
        kinds.extend(units.layer_norm.then_some(Some(NormKind::Layer)));
        kinds
    }

    /// One row of each kind without pauses.
    fn single_rows(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let most = self.block.lanes * self.block.max_beats;
        let turns: &[bool] = if self.block.units.rotary { &[false, true] } else { &[false] };
        let combinations = self.kinds().into_iter().flat_map(|kind| turns.iter().map(move |&turn| (kind, turn)));
        let combinations: Vec<_> =
            combinations.filter(|&(kind, turn)| kind != Some(NormKind::Softmax) || !turn).collect();
        for (kind, rotate) in combinations {
            for elements in [1, self.block.lanes + 1, most] {
                let elements = if rotate { elements.next_multiple_of(2) } else { elements };
                let norm = kind.is_some();
                let gain = norm && kind != Some(NormKind::Softmax);
                let kind_of = match kind {
                    Some(NormKind::Softmax) => Norm::Softmax,
                    Some(NormKind::Layer) => Norm::LayerNorm,
                    _ => Norm::RmsNorm,
                };
                let steps =
                    Steps { norm, kind: kind_of, gain, add: true, multiply: !rotate, rotate, ..Steps::default() };
                self.now = (steps, Scalars { scale: 0x3c00, quantizer: 0x3c00, epsilon: 1 });
                self.drive_steps(sim);
                self.row(elements as usize, false);
                let begin = sim.cycle_count();
                let expected = self.block.cycles(elements.min(most), kind, rotate);
                while !self.expected.is_empty() && sim.cycle_count() - begin < u64::from(2 * expected) {
                    self.cycle(sim, run, &[true; 5], false)?;
                }
                let took = sim.cycle_count() - begin;
                run.expect_equal(sim, "output", "cycles of a row", u64::from(expected), took)?;
            }
        }
        Ok(())
    }

    fn any_length(&mut self) -> usize {
        let lanes = self.block.lanes as usize;
        // Only the norm keeps rows.
        let most = lanes * self.block.max_beats as usize;
        match self.rng.random_range(0..5u8) {
            0 => 1,
            1 => most,
            2 => self.rng.random_range(1..=lanes),
            3 if !self.now.0.norm => self.rng.random_range(most..=2 * most),
            _ => self.rng.random_range(1..=most),
        }
    }

    /// Other steps: nothing is inside.
    fn choose(&mut self, sim: &mut Sim) {
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

    fn drive_steps(&mut self, sim: &mut Sim) {
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
    fn row(&mut self, elements: usize, broken: bool) {
        let row = self.operands(elements, broken);
        self.offer(&row, broken);
    }

    /// Random operands of a row.
    fn operands(&mut self, elements: usize, broken: bool) -> Operands {
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
    fn offer(&mut self, row: &Operands, broken: bool) {
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
    fn cycle(&mut self, sim: &mut Sim, run: &mut Run, go: &[bool], clear: bool) -> sim::Result<()> {
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
