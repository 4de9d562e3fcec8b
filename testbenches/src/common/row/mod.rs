//! The common bench of units that work on rows. Rows have all lengths, legal and not, with pauses on both sides and
//! clears at any moment. Single and consecutive rows without pauses are checked to the cycle.

mod elements;
pub mod layer_norm;
pub mod parts;
pub mod pipeline;
pub mod rms_norm;
mod root_edge;
pub mod rotary_embedding;
pub mod row_frame;
mod sharp;
pub mod softmax;
mod tensors;
pub mod vector_unit;

use std::collections::VecDeque;

use golden::common::row::{Beat, Row, gate};
use hdl::lang::Block;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

pub use elements::Elements;
use tensors::{rows, wanted};

/// A row that leaves.
#[derive(Clone, Debug)]
pub struct Normalised {
    /// fp16 numbers.
    pub values: Vec<u16>,
    /// Flags of the row, in the order of their ports.
    pub flags: Vec<bool>,
}

/// A unit and its judge.
pub struct RowUnit {
    /// Elements of a beat.
    pub lanes: usize,
    /// Beats of the longest row.
    pub max_beats: usize,
    /// Beats that are kept.
    pub buffer: usize,
    /// Cycles from the last beat of a row to its first result.
    pub latency: u64,
    /// Ports with an fp16 number a lane.
    pub ports: Vec<&'static str>,
    /// Ports that are looked at with the first beat, and their widths.
    pub beside: Vec<(&'static str, u32)>,
    /// Flags of a row beside `error`.
    pub flags: Vec<&'static str>,
    /// Rows that take the place of all others, where there are some.
    pub given: Vec<Elements>,
    /// A row with so many elements.
    pub stimulus: Stimulus,
    /// What becomes of it.
    pub golden: Golden,
}

/// Part of a row on its way in: a word for each port, and the values next to it.
type Part = Beat<Words>;

/// For each port its words, and the values next to the first beat.
type Words = (Vec<Vec<u16>>, Vec<u64>);

/// Makes a row with so many elements.
pub type Stimulus = Box<dyn Fn(&mut StimulusRng, usize) -> Elements>;

/// What becomes of a row.
pub type Golden = Box<dyn Fn(&Elements) -> Normalised>;

/// Part of a row on its way out.
#[derive(Debug)]
struct Expected {
    values: Vec<u16>,
    used: u64,
    last: bool,
    error: bool,
    flags: Vec<bool>,
}

impl RowUnit {
    /// The bench of block `p`; a vector is a row.
    pub fn bench<B: Block>(self, p: &B) -> anyhow::Result<Box<dyn sim::Bench>> {
        sim::kit::bench(p, move |sim, run| self.run(sim, run))
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("rows");
        let mut cycles = Cycles::new(self, sim)?;
        run.only_while("output_valid_o", &["output_values_o", "output_used_o", "output_last_o", "output_error_o"]);
        run.only_while("output_valid_o", &self.flags);
        sim.poke_u64(cycles.clear_i, 0);
        run.reset(sim, 2)?;
        let mut given = self.given.iter();
        if self.given.is_empty() {
            self.alone(&mut cycles, sim, run, &mut rng)?;
            self.in_a_line(&mut cycles, sim, run, &mut rng)?;
        }
        let mut left = run.vectors();
        while left > 0 {
            // Of 8 cycles: some, most, all.
            let [offers, takes] = [0; 2].map(|_| [1, 4, 7, 8][rng.random_range(0..4usize)]);
            let clears = self.given.is_empty() && rng.random_range(0..3u8) == 0;
            for _ in 0..left.min(rng.random_range(1..=12)) {
                left -= 1;
                let row = match given.next() {
                    Some(row) => self.parts(&mut rng, row),
                    None => self.any_row(&mut rng),
                };
                cycles.offered.extend(row);
            }
            while !cycles.offered.is_empty() {
                let offer = rng.random_range(0..8) < offers;
                let ready = rng.random_range(0..8) < takes;
                let clear = clears && rng.random_range(0..2 * self.latency + 9) == 0;
                cycles.next(sim, run, &mut rng, (offer, ready, clear))?;
            }
        }
        if self.given.is_empty() {
            // An open row never ends: without a clear it would stall only itself.
            cycles.next(sim, run, &mut rng, (false, false, true))?;
        }
        // Beats that wait leave before the beats of the last row.
        for _ in 0..self.buffer {
            if !cycles.expected.is_empty() {
                cycles.next(sim, run, &mut rng, (false, true, false))?;
            }
        }
        cycles.drain(sim, run, &mut rng)
    }

    /// A row of any length, often as long as can be, sometimes broken.
    fn any_row(&self, rng: &mut StimulusRng) -> Vec<Part> {
        let most = self.lanes * self.max_beats;
        let elements = match rng.random_range(0..6u8) {
            0 => 1,
            1 => most,
            2 => rng.random_range(1..=self.lanes),
            3 => rng.random_range(1..=3 * self.lanes).min(most),
            _ => rng.random_range(1..=most),
        };
        let mut row = self.row(rng, elements);
        match rng.random_range(0..12u8) {
            0 => row.last_mut().into_iter().for_each(|beat| beat.used = 0),
            1 => row.last_mut().into_iter().for_each(|beat| beat.used = self.too_many(rng)),
            2 => {
                // Too long by some beats.
                let mut more = self.row(rng, most);
                let rest = rng.random_range(1..=2 * self.lanes);
                more.extend(self.row(rng, rest));
                let end = more.len() - 1;
                more[..end].iter_mut().for_each(|beat| beat.last = false);
                row = more;
            }
            _ => {}
        }
        row
    }

    /// More than there are lanes, if that can be said.
    fn too_many(&self, rng: &mut StimulusRng) -> u64 {
        let (lanes, width) = (self.lanes as u64, hdl::lang::bits_for(self.lanes as u64));
        if lanes + 1 == 1 << width { 0 } else { rng.random_range(lanes + 1..1 << width) }
    }

    fn row(&self, rng: &mut StimulusRng, elements: usize) -> Vec<Part> {
        let row = (self.stimulus)(rng, elements);
        self.parts(rng, &row)
    }

    /// A row in beats.
    fn parts(&self, rng: &mut StimulusRng, row: &Elements) -> Vec<Part> {
        let elements = row.ports[0].len();
        let beats = elements.div_ceil(self.lanes);
        let beat = |k: usize| {
            let last = k + 1 == beats;
            let mut port = |port: &Vec<u16>| -> Vec<u16> {
                (0..self.lanes)
                    .map(|lane| port.get(k * self.lanes + lane).copied().unwrap_or_else(|| rng.random()))
                    .collect()
            };
            let ports = row.ports.iter().map(&mut port).collect();
            // In other beats than the last one it does not matter.
            let used = if last { (elements - k * self.lanes) as u64 } else { rng.random_range(0..=self.lanes as u64) };
            Beat { data: (ports, row.beside.clone()), used, last }
        };
        (0..beats).map(beat).collect()
    }

    /// The beats of a row that leave.
    fn expected(&self, row: &Row<Words>) -> Vec<Expected> {
        let elements = row.len(self.lanes);
        let port = |port: usize| {
            let all = row.beats.iter().flat_map(|(ports, _)| ports[port].iter().copied());
            all.take(elements).collect::<Vec<u16>>()
        };
        let ports = (0..self.ports.len()).map(port).collect();
        let whole = (self.golden)(&Elements { ports, beside: row.beats[0].1.clone() });
        let parts = whole.values.chunks(self.lanes);
        let count = parts.len();
        parts
            .enumerate()
            .map(|(k, values)| Expected {
                used: values.len() as u64,
                values: values.to_vec(),
                last: k + 1 == count,
                error: row.error,
                flags: whole.flags.clone(),
            })
            .collect()
    }

    /// Single rows: from the first beat offered to the last one that leaves.
    fn alone(&self, cycles: &mut Cycles, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let most = self.lanes * self.max_beats;
        for elements in [1, self.lanes, self.lanes + 1, most - 1, most] {
            let elements = elements.clamp(1, most);
            cycles.offered.extend(self.row(rng, elements));
            let begin = sim.cycle_count();
            let beats = elements.div_ceil(self.lanes) as u64;
            while !cycles.idle() && sim.cycle_count() - begin < 3 * beats + 2 * self.latency {
                cycles.next(sim, run, rng, (true, true, false))?;
            }
            let took = sim.cycle_count() - begin;
            run.expect_equal(sim, "output", "cycles of a row", 2 * beats + self.latency - 1, took)?;
        }
        Ok(())
    }

    /// Rows one after the other, first the longest, then the shortest, where the buffer can hold all rows inside.
    fn in_a_line(&self, cycles: &mut Cycles, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let rows = 4;
        for beats in [self.max_beats, 1] {
            if self.buffer < beats + self.latency as usize {
                continue;
            }
            for _ in 0..rows {
                cycles.offered.extend(self.row(rng, beats * self.lanes));
            }
            let begin = sim.cycle_count();
            while !cycles.idle() && sim.cycle_count() - begin < 8 * (beats as u64 + self.latency) {
                cycles.next(sim, run, rng, (true, true, false))?;
            }
            let took = sim.cycle_count() - begin;
            let expected = (rows + 1) * beats as u64 + self.latency - 1;
            run.expect_equal(sim, "output", "cycles of rows in a line", expected, took)?;
        }
        Ok(())
    }
}

/// A unit cycle by cycle.
struct Cycles<'a> {
    unit: &'a RowUnit,
    clear_i: In,
    valid_i: In,
    ready_o: Out,
    used_i: In,
    last_i: In,
    ports: Vec<In>,
    beside: Vec<In>,
    valid_o: Out,
    ready_i: In,
    values_o: Out,
    used_o: Out,
    last_o: Out,
    error_o: Out,
    flags: Vec<Out>,
    /// Beats to offer.
    offered: VecDeque<Part>,
    /// An offer stands until it is taken.
    offers: bool,
    /// The next beat does not begin a row.
    in_row: bool,
    /// Beats that were taken, of rows that have not left the gate.
    open: Vec<Part>,
    /// The rest of a row that was cut is dropped.
    dropping: bool,
    /// Beats that must come out.
    expected: VecDeque<Expected>,
}

impl<'a> Cycles<'a> {
    fn new(unit: &'a RowUnit, sim: &Sim) -> sim::Result<Self> {
        Ok(Self {
            unit,
            clear_i: sim.input("clear_i")?,
            valid_i: sim.input("input_valid_i")?,
            ready_o: sim.output("input_ready_o")?,
            used_i: sim.input("input_used_i")?,
            last_i: sim.input("input_last_i")?,
            ports: unit.ports.iter().map(|name| sim.input(name)).collect::<sim::Result<_>>()?,
            beside: unit.beside.iter().map(|(name, _)| sim.input(name)).collect::<sim::Result<_>>()?,
            valid_o: sim.output("output_valid_o")?,
            ready_i: sim.input("output_ready_i")?,
            values_o: sim.output("output_values_o")?,
            used_o: sim.output("output_used_o")?,
            last_o: sim.output("output_last_o")?,
            error_o: sim.output("output_error_o")?,
            flags: unit.flags.iter().map(|name| sim.output(name)).collect::<sim::Result<_>>()?,
            offered: VecDeque::new(),
            offers: false,
            in_row: false,
            open: vec![],
            dropping: false,
            expected: VecDeque::new(),
        })
    }

    fn idle(&self) -> bool {
        self.offered.is_empty() && self.expected.is_empty()
    }

    /// All that is inside leaves, and nothing more.
    fn drain(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        for _ in 0..2 * self.unit.latency + 8 {
            self.next(sim, run, rng, (false, true, false))?;
        }
        run.expect_equal(sim, "output", "beats that are missing", 0, self.expected.len())
    }

    /// One cycle: whether a beat is offered, the output is ready, all is cleared.
    fn next(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        rng: &mut StimulusRng,
        (offer, ready, clear): (bool, bool, bool),
    ) -> sim::Result<()> {
        let lanes = self.unit.lanes;
        self.offers = (self.offers || offer) && !self.offered.is_empty();
        let used_width = sim.port_of_input(self.used_i).width;
        sim.poke_u64(self.clear_i, clear.into());
        sim.poke_u64(self.ready_i, ready.into());
        sim.poke_u64(self.valid_i, self.offers.into());
        let beat = self.offered.front().filter(|_| self.offers);
        for (k, &port) in self.ports.iter().enumerate() {
            let noise = || Bits::random(16 * lanes as u32, rng);
            let word = beat.map_or_else(noise, |beat| Bits::pack(16, beat.data.0[k].iter().map(|&x| x.into())));
            sim.poke(port, &word);
        }
        for (k, (&port, &(_, width))) in self.beside.iter().zip(&self.unit.beside).enumerate() {
            let noise = Bits::random(width, rng);
            let first = beat.filter(|_| !self.in_row);
            sim.poke(port, &first.map_or(noise, |beat| Bits::truncated(width, beat.data.1[k])));
        }
        sim.poke_u64(self.used_i, beat.map_or_else(|| rng.random_range(0..1 << used_width), |beat| beat.used));
        sim.poke_u64(self.last_i, beat.map_or_else(|| rng.random(), |beat| beat.last).into());
        sim.settle()?;

        let shown = sim.peek_u64(self.valid_o) == 1;
        if shown {
            self.compare(sim, run)?;
        }
        if clear {
            run.expect_u64(sim, self.ready_o, 0)?;
        }
        let taken = self.offers && sim.peek_u64(self.ready_o) == 1;
        if shown && ready {
            self.expected.pop_front();
        }
        if taken {
            self.offers = false;
            self.take();
        }
        if clear {
            self.expected.clear();
            self.open.clear();
            (self.in_row, self.dropping) = (false, false);
        }
        sim.tick()
    }

    /// The output must be the next expected beat.
    fn compare(&self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let Some(expected) = self.expected.front() else {
            return run.expect_u64(sim, self.valid_o, 0);
        };
        run.expect_u64(sim, self.used_o, expected.used)?;
        run.expect_u64(sim, self.last_o, expected.last.into())?;
        run.expect_u64(sim, self.error_o, expected.error.into())?;
        for (&port, &flag) in self.flags.iter().zip(&expected.flags) {
            run.expect_u64(sim, port, flag.into())?;
        }
        let values = sim.peek(self.values_o).unpack(16);
        for (lane, (&expected, got)) in expected.values.iter().zip(values).enumerate() {
            run.expect_equal(sim, "output_values_o", &format!(" of lane {lane}"), expected, got as u16)?;
        }
        Ok(())
    }

    /// A beat goes in; with it a row may be complete.
    fn take(&mut self) {
        let Some(beat) = self.offered.pop_front() else { return };
        let ends = beat.last;
        if !self.dropping {
            self.open.push(beat);
            for row in gate(&self.open, self.unit.lanes, self.unit.max_beats) {
                self.expected.extend(self.unit.expected(&row));
                self.open.clear();
                self.dropping = !ends;
            }
            self.in_row = !self.open.is_empty();
        } else if ends {
            self.dropping = false;
        }
    }
}
