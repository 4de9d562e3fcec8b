//! [`DcimLinear`] against products of matrices. A store holds several matrices. Vectors of all lengths go to all
//! rectangles, one after the other, also to columns of another matrix. Weights change after a vector. There are pauses
//! of both sides, and clears and resets at any time.

use std::ops::Range;

use golden::titanus::dcim_linear::DcimLinear as Golden;
use hdl::blocks::titanus::{DcimLinear, LinearBeat, LinearSums, Rectangle, StoredRow};
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted, signed};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Driver, Monitor, Run, Sim, Values};

use super::sequences::STALLS;
use super::tiles::flag;

/// The bench of a store; a vector is a vector.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DcimLinear) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("vectors");
        let mut store = Store::new(&p);
        run.reset(sim, 2)?;
        store.fill(&mut rng, sim, run)?;
        for stalls in STALLS {
            let mut streams = Streams::new(sim, run, stalls)?;
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                store.random(&mut rng).push(&store, &mut rng, &mut streams)?;
            }
            streams.run(sim, run)?;
            store.rewrite(&mut rng, 4, &mut streams)?;
            streams.run(sim, run)?;
        }
        for number in 0..run.vectors().div_ceil(6) {
            match number % 3 {
                0 => {
                    store.behind_a_vector(&mut rng, sim, run)?;
                    store.behind_a_vector(&mut rng, sim, run)?;
                }
                kind => store.broken_off(&mut rng, sim, run, kind == 1)?,
            }
        }
        Ok(())
    })
}

/// A matrix and vectors of a user; a vector is a product of one of them.
pub const TENSORS: FromTensors<DcimLinear> = FromTensors {
    wanted: |p| {
        let (inputs, outputs) = (Extent::Named("inputs"), Extent::UpTo((p.columns * p.tile.cells.outputs) as usize));
        let of = |name, meaning, bits, shape| Wanted { name, meaning, numbers: Numbers::Integers(signed(bits)), shape };
        Ok(vec![
            of("matrix", "weights, a row for each input", p.tile.cells.weight_width, vec![inputs, outputs]),
            of("vectors", "vectors, one a row", p.tile.input_width, vec![Extent::Any, inputs]),
        ])
    },
    bench: |p, tensors| {
        let matrix = tensors.integers("matrix");
        let vectors = tensors.integers("vectors");
        let most = Store::new(p).inputs();
        anyhow::ensure!(matrix.len() <= most, "matrix.npy has {} inputs; wanted: 1 to {most}", matrix.len());
        let (block, count) = (p.clone(), vectors.len() as u64);
        let bench = sim::kit::bench(p, move |sim, run| products(&block, (sim, run), &matrix, &vectors).map(|_| ()))?;
        Ok((bench, count))
    },
};

/// Vectors without pauses through a store that was filled with a matrix, from its first macro on: the cycles from the first one's
/// rectangle to the last one's last sums.
///
/// # Errors
/// A mismatch.
pub fn products(
    p: &DcimLinear,
    (sim, run): (&mut Sim, &mut Run),
    matrix: &[Vec<i64>],
    vectors: &[Vec<i64>],
) -> sim::Result<u64> {
    let mut rng = run.rng("noise");
    let mut store = Store::new(p);
    let outputs = p.tile.cells.outputs as usize;
    run.reset(sim, 2)?;
    let mut streams = Streams::new(sim, run, (Stall::Never, Stall::Never))?;
    let columns = matrix[0].len().div_ceil(outputs);
    for row in 0..store.inputs() {
        for column in 0..columns {
            let weights = matrix.get(row).map_or(&[][..], |row| &row[(column * outputs).min(row.len())..]);
            let mut weights = weights[..weights.len().min(outputs)].to_vec();
            weights.resize(outputs, 0);
            store.write((row as u64, column as u64), weights, &mut streams)?;
        }
    }
    streams.run(sim, run)?;
    let rows = matrix.len().div_ceil(p.tile.cells.inputs as usize);
    for x in vectors {
        let vector = Vector { rows: 0..rows, columns: 0..columns, x: x.clone(), asked: None };
        vector.push(&store, &mut rng, &mut streams)?;
    }
    let (mut begin, mut end) = (None, 0);
    while !streams.output.is_done() {
        let now = sim.cycle_count();
        let sent = streams.place.sent();
        streams.cycle(sim, run)?;
        if streams.place.sent() > sent {
            begin.get_or_insert(now);
        }
        end = now;
    }
    streams.run(sim, run)?;
    Ok(end - begin.unwrap_or_default())
}

/// Cycles of so many vectors of `inputs` inputs and `outputs` outputs, from the first one's rectangle to the last one's last
/// sums.
#[must_use]
pub fn cycles(p: &DcimLinear, vectors: u64, inputs: usize, outputs: usize) -> u64 {
    let beats = (inputs as u64).div_ceil(p.load.into());
    let columns = (outputs as u64).div_ceil(p.tile.cells.outputs.into());
    let sums = columns * u64::from(p.tile.cells.outputs / p.drain);
    let bits = u64::from(p.tile.input_width);
    beats + bits + sums + 4 + (vectors - 1) * (beats + 1).max(bits).max(sums)
}

struct Streams {
    write: Driver<StoredRow<Values>>,
    place: Driver<Rectangle<Values>>,
    input: Driver<LinearBeat<Values>>,
    output: Monitor<LinearSums<Values>>,
}

impl Streams {
    fn new(sim: &Sim, run: &Run, (input, output): (Stall, Stall)) -> sim::Result<Self> {
        Ok(Self {
            write: run.driver_of(sim, "write", input)?,
            place: run.driver_of(sim, "place", input)?,
            input: run.driver_of(sim, "input", input)?,
            output: run.monitor_of(sim, "output", output)?,
        })
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let Self { write, place, input, output } = self;
        run.cycle(sim, &mut [write.as_mut(), place.as_mut(), input.as_mut()], &mut [output])?;
        Ok(())
    }

    fn run(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let Self { write, place, input, output } = self;
        run.streams(sim, &mut [write.as_mut(), place.as_mut(), input.as_mut()], &mut [output])
    }
}

/// A vector, and where it goes.
struct Vector {
    rows: Range<usize>,
    columns: Range<usize>,
    x: Vec<i64>,
    /// Sizes on the ports instead of the rectangle's: rows, columns.
    asked: Option<[u64; 4]>,
}

impl Vector {
    fn push(&self, store: &Store, rng: &mut StimulusRng, streams: &mut Streams) -> sim::Result<()> {
        let p = &store.p;
        let ends = |range: &Range<usize>| [range.start as u64, range.end as u64 - 1];
        let ([a, b], [c, d]) = (ends(&self.rows), ends(&self.columns));
        let [first_row, last_row, first_column, last_column] = self.asked.unwrap_or([a, b, c, d]);
        let (row, column) = (store.row_bits(), store.column_bits());
        streams.place.push(Rectangle {
            first_row: Bits::truncated(row, first_row),
            last_row: Bits::truncated(row, last_row),
            first_column: Bits::truncated(column, first_column),
            last_column: Bits::truncated(column, last_column),
        })?;
        let (load, width) = (p.load as usize, p.tile.input_width);
        let beats: Vec<&[i64]> = self.x.chunks(load).collect();
        for (number, beat) in beats.iter().enumerate() {
            // A part of a beat is filled with zeros, as whoever sends it must; if the rectangle ends there, by noise.
            let ends = self.x.len() >= self.rows.len() * p.tile.cells.inputs as usize;
            let fill = |_| if ends { draw(rng, width) } else { 0 };
            let missing: Vec<i64> = (beat.len()..load).map(fill).collect();
            let x = pack(width, &[beat, &missing[..]].concat());
            streams.input.push(LinearBeat { x, last: flag(number + 1 == beats.len()) })?;
        }
        let sums =
            store.golden.product(self.rows.clone(), self.columns.clone(), &self.x).expect("all weights are known");
        let drain = p.drain as usize;
        let count = sums.len() / drain;
        let beats = sums.chunks(drain).enumerate();
        streams
            .output
            .expect(beats.map(|(number, sums)| LinearSums { sums: pack(32, sums), last: flag(number + 1 == count) }))
    }
}

fn pack(width: u32, values: &[i64]) -> Bits {
    Bits::pack(width, values.iter().map(|&v| v as u64 & ((1 << width) - 1)))
}

/// A value of so many bits: small, or one of the ends.
fn draw(rng: &mut StimulusRng, width: u32) -> i64 {
    let (low, high) = (-1i64 << (width - 1), (1i64 << (width - 1)) - 1);
    match rng.random_range(0..6u8) {
        0 => low,
        1 => high,
        2 => rng.random_range(-1..=1),
        _ => rng.random_range(low..=high),
    }
}

/// Expected contents of the store.
struct Store {
    p: DcimLinear,
    golden: Golden,
}

impl Store {
    fn new(p: &DcimLinear) -> Self {
        let (rows, columns) = (p.rows as usize, p.columns as usize);
        let macros = (p.tile.cells.inputs as usize, p.tile.cells.outputs as usize);
        Self { p: p.clone(), golden: Golden::new((rows, columns), macros) }
    }

    fn inputs(&self) -> usize {
        (self.p.rows * self.p.tile.cells.inputs) as usize
    }

    fn row_bits(&self) -> u32 {
        bits_of(self.p.rows)
    }

    fn column_bits(&self) -> u32 {
        bits_of(self.p.columns)
    }

    fn write(&mut self, (row, column): (u64, u64), weights: Vec<i64>, streams: &mut Streams) -> sim::Result<()> {
        let width = self.p.tile.cells.weight_width;
        self.golden.write(row as usize, column as usize, &weights);
        streams.write.push(StoredRow {
            row: Bits::truncated(bits_of(self.inputs() as u32), row),
            column: Bits::truncated(self.column_bits(), column),
            weights: pack(width, &weights),
        })
    }

    fn weights(&self, rng: &mut StimulusRng) -> Vec<i64> {
        let width = self.p.tile.cells.weight_width;
        let extreme = rng.random_range(0..4u8) == 0;
        let weight = |_| if extreme { -1i64 << (width - 1) } else { draw(rng, width) };
        (0..self.p.tile.cells.outputs).map(weight).collect()
    }

    /// All weights, in any order of columns, and some twice.
    fn fill(&mut self, rng: &mut StimulusRng, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut streams = Streams::new(sim, run, (Stall::Random { num: 1, den: 2 }, Stall::Never))?;
        for row in 0..self.inputs() as u64 {
            for column in (0..u64::from(self.p.columns)).rev() {
                let weights = self.weights(rng);
                self.write((row, column), weights, &mut streams)?;
            }
        }
        self.rewrite(rng, 8, &mut streams)?;
        streams.run(sim, run)
    }

    /// So many rows anywhere, also where nothing is.
    fn rewrite(&mut self, rng: &mut StimulusRng, count: u32, streams: &mut Streams) -> sim::Result<()> {
        for _ in 0..count {
            let place = (
                rng.random_range(0..1u64 << bits_of(self.inputs() as u32)),
                rng.random_range(0..1u64 << self.column_bits()),
            );
            let weights = self.weights(rng);
            self.write(place, weights, streams)?;
        }
        Ok(())
    }

    fn random(&self, rng: &mut StimulusRng) -> Vector {
        let range = |rng: &mut StimulusRng, count: u32, bits: u32| {
            let all = 0..1u64 << bits;
            let (first, last) = (rng.random_range(all.clone()), rng.random_range(all));
            let end = u64::from(count) - 1;
            let from = first.min(end);
            (from as usize..last.min(end).max(from) as usize + 1, [first, last])
        };
        let (rows, [a, b]) = range(rng, self.p.rows, self.row_bits());
        let (columns, [c, d]) = range(rng, self.p.columns, self.column_bits());
        let whole = rows.len() * self.p.tile.cells.inputs as usize;
        let length = match rng.random_range(0..4u8) {
            0 => rng.random_range(1..=whole),
            1 => whole + rng.random_range(1..=2 * whole),
            _ => whole,
        };
        let extreme = rng.random_range(0..8u8) == 0;
        let width = self.p.tile.input_width;
        let x = (0..length).map(|_| if extreme { -1i64 << (width - 1) } else { draw(rng, width) }).collect();
        Vector { rows, columns, x, asked: Some([a, b, c, d]) }
    }

    /// Rows that are offered while a vector is at work change nothing of it, and all of the next one.
    fn behind_a_vector(&mut self, rng: &mut StimulusRng, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut streams = Streams::new(sim, run, (Stall::Never, Stall::Random { num: 1, den: 2 }))?;
        let vector = self.random(rng);
        vector.push(self, rng, &mut streams)?;
        // The macros have it a cycle after its last beat.
        while !streams.input.is_done() {
            streams.cycle(sim, run)?;
        }
        streams.cycle(sim, run)?;
        let inputs = u64::from(self.p.tile.cells.inputs);
        // A row of a macro that it does not use is taken at once. Not always: the cycle lets the others finish.
        let is_used = |&(row, column): &(usize, usize)| vector.rows.contains(&row) && vector.columns.contains(&column);
        let all =
            (0..self.p.rows as usize).flat_map(|row| (0..self.p.columns as usize).map(move |column| (row, column)));
        let rests: Vec<(usize, usize)> = all.filter(|place| !is_used(place)).collect();
        if let Some(&(row, column)) = rests.get(rng.random_range(0..rests.len().max(1))).filter(|_| rng.random()) {
            let weights = self.weights(rng);
            self.write((row as u64 * inputs, column as u64), weights, &mut streams)?;
            streams.cycle(sim, run)?;
            run.expect_equal(sim, "write_ready_o", "a row of a macro that rests", true, streams.write.is_done())?;
        }
        // A row of each of its macros, in any order: all but the first one find the macros done.
        let rows = vector.rows.clone();
        let mut used: Vec<(u64, u64)> =
            rows.flat_map(|r| vector.columns.clone().map(move |c| (r as u64, c as u64))).collect();
        used.shuffle(rng);
        for (row, column) in used {
            let weights = self.weights(rng);
            let row = row * inputs + rng.random_range(0..inputs);
            self.write((row, column), weights, &mut streams)?;
        }
        while !streams.write.is_done() {
            streams.cycle(sim, run)?;
        }
        self.through_all(rng).push(self, rng, &mut streams)?;
        streams.run(sim, run)
    }

    /// A vector through all macros.
    fn through_all(&self, rng: &mut StimulusRng) -> Vector {
        let (rows, columns) = (0..self.p.rows as usize, 0..self.p.columns as usize);
        let x = (0..self.inputs()).map(|_| draw(rng, self.p.tile.input_width)).collect();
        Vector { rows, columns, x, asked: None }
    }

    /// Vectors that are dropped at any time, by a clear or by a reset, and one that comes after.
    fn broken_off(&mut self, rng: &mut StimulusRng, sim: &mut Sim, run: &mut Run, clears: bool) -> sim::Result<()> {
        let mut streams = Streams::new(sim, run, (Stall::Never, Stall::Random { num: 1, den: 2 }))?;
        for _ in 0..4 {
            self.random(rng).push(self, rng, &mut streams)?;
        }
        let longest = 4 * (self.inputs() / self.p.load as usize + self.p.tile.input_width as usize);
        for _ in 0..rng.random_range(0..longest) {
            if !streams.output.is_done() {
                streams.cycle(sim, run)?;
            }
        }
        if clears {
            let [clear_i, place_i, input_i, output_i] =
                ["clear_i", "place_valid_i", "input_valid_i", "output_ready_i"].map(|name| sim.input(name));
            let (clear_i, others) = (clear_i?, [place_i?, input_i?, output_i?]);
            sim.poke_u64(clear_i, 1);
            others.into_iter().for_each(|port| sim.poke_u64(port, 1));
            sim.settle()?;
            for port in ["place_ready_o", "input_ready_o"] {
                run.expect_u64(sim, sim.output(port)?, 0)?;
            }
            sim.tick()?;
            sim.poke_u64(clear_i, 0);
            others.into_iter().for_each(|port| sim.poke_u64(port, 0));
            sim.settle()?;
            run.expect_u64(sim, sim.output("output_valid_o")?, 0)?;
        } else {
            sim.reset(1)?;
        }
        let mut streams = Streams::new(sim, run, (Stall::Never, Stall::Never))?;
        self.random(rng).push(self, rng, &mut streams)?;
        streams.run(sim, run)
    }
}

/// Bits that number so many places.
fn bits_of(count: u32) -> u32 {
    u32::BITS - (count - 1).max(1).leading_zeros()
}
