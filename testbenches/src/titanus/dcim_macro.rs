//! [`DcimMacro`] cycle by cycle: rows of weights and vectors offered at the same time, results that wait, clears and
//! resets in any cycle. The bench predicts to the cycle when each offer is taken and when a result comes.

use golden::titanus::dcim_macro::DcimMacro as Golden;
use hdl::blocks::titanus::DcimMacro;
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted, signed};
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

/// The bench of a macro; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DcimMacro) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut player = Player::new(&p, sim)?;
        run.only_while("output_valid_o", &["output_sums_o"]);
        run.reset(sim, 2)?;
        let mut rng = run.rng("cycles");
        for cycle in 0..run.vectors() {
            // Stretches without pauses on one side, on both, and with many.
            let pauses = [(0, 0), (3, 0), (0, 3), (3, 3), (0, 14), (14, 0)][(cycle / 64) as usize % 6];
            player.offer(&mut rng, pauses);
            player.cycle(sim, run, &mut rng)?;
        }
        Ok(())
    })
}

/// A matrix and vectors of a user; a vector is a product of one of them.
pub const TENSORS: FromTensors<DcimMacro> = FromTensors {
    wanted: |p| {
        let (inputs, outputs) = (Extent::Exactly(p.cells.inputs as usize), Extent::Exactly(p.cells.outputs as usize));
        let of = |name, meaning, bits, shape| Wanted { name, meaning, numbers: Numbers::Integers(signed(bits)), shape };
        Ok(vec![
            of("matrix", "weights, a row for each input", p.cells.weight_width, vec![inputs, outputs]),
            of("vectors", "vectors, one a row", p.input_width, vec![Extent::Any, inputs]),
        ])
    },
    bench: |p, tensors| {
        let matrix = tensors.integers("matrix");
        let vectors = tensors.integers("vectors");
        let (block, count) = (p.clone(), vectors.len() as u64);
        let bench = sim::kit::bench(p, move |sim, run| products(&block, (sim, run), &matrix, &vectors).map(|_| ()))?;
        Ok((bench, count))
    },
};

/// Vectors through a macro that was loaded with a matrix, each offered as soon as the one before was taken. Returns
/// their results, and the cycles from the first vector taken to the last result.
///
/// # Errors
/// A mismatch.
pub fn products(
    p: &DcimMacro,
    (sim, run): (&mut Sim, &mut Run),
    matrix: &[Vec<i64>],
    vectors: &[Vec<i64>],
) -> sim::Result<u64> {
    let mut player = Player::new(p, sim)?;
    let mut rng = run.rng("noise");
    run.reset(sim, 2)?;
    for (row, weights) in matrix.iter().enumerate() {
        player.row = Some((row, weights.clone()));
        while player.row.is_some() {
            player.cycle(sim, run, &mut rng)?;
        }
    }
    let (mut left, mut first) = (vectors.iter(), None);
    player.ready = true;
    while player.results < vectors.len() as u64 {
        if player.input.is_none() {
            player.input = left.next().cloned();
        }
        player.cycle(sim, run, &mut rng)?;
        if player.feeding.is_some() {
            first.get_or_insert(sim.cycle_count());
        }
    }
    Ok(sim.cycle_count() - first.unwrap_or_default())
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

/// The macro, the offers to it, and its contents.
struct Player {
    p: DcimMacro,
    ports: [In; 7],
    outputs: [Out; 4],
    golden: Golden,
    row: Option<(usize, Vec<i64>)>,
    input: Option<Vec<i64>>,
    ready: bool,
    clear: bool,
    reset: bool,
    /// Remaining bits, and the final result.
    feeding: Option<(u32, Vec<i64>)>,
    /// Its last bit is in the sums of the trees.
    adding: Option<Vec<i64>>,
    waiting: Option<Vec<i64>>,
    results: u64,
}

impl Player {
    fn new(p: &DcimMacro, sim: &Sim) -> sim::Result<Self> {
        let input = |name: &str| sim.input(name);
        let output = |name: &str| sim.output(name);
        let ports = [
            input("clear_i")?,
            input("write_valid_i")?,
            input("write_row_i")?,
            input("write_weights_i")?,
            input("input_valid_i")?,
            input("input_x_i")?,
            input("output_ready_i")?,
        ];
        let outputs =
            [output("write_ready_o")?, output("input_ready_o")?, output("output_valid_o")?, output("output_sums_o")?];
        Ok(Self {
            golden: Golden::new(p.cells.inputs as usize, p.cells.outputs as usize),
            p: p.clone(),
            ports,
            outputs,
            row: None,
            input: None,
            ready: false,
            clear: false,
            reset: false,
            feeding: None,
            adding: None,
            waiting: None,
            results: 0,
        })
    }

    /// Something else to offer, where nothing is offered yet.
    fn offer(&mut self, rng: &mut StimulusRng, (input_pauses, output_pauses): (u8, u8)) {
        let cells = &self.p.cells;
        let (inputs, row_bits) = (cells.inputs as usize, cells.row().width);
        let pause = |rng: &mut StimulusRng, often: u8| often > 0 && rng.random_range(0..16u8) < often;
        if self.input.is_none() && !pause(rng, input_pauses) {
            let extreme = rng.random_range(0..8u8) == 0;
            let low = -1i64 << (self.p.input_width - 1);
            let x = |_| if extreme { low } else { draw(rng, self.p.input_width) };
            self.input = Some((0..inputs).map(x).collect());
        }
        // Until all rows are known there is nothing to compare.
        let unknown = self.golden.product(&vec![0; inputs]).is_none();
        if self.row.is_none() && (unknown || rng.random_range(0..24u8) == 0) {
            let extreme = rng.random_range(0..4u8) == 0;
            let low = -1i64 << (cells.weight_width - 1);
            let weight = |_| if extreme { low } else { draw(rng, cells.weight_width) };
            let weights = (0..cells.outputs).map(weight).collect();
            self.row = Some((rng.random_range(0..1usize << row_bits), weights));
        }
        self.ready = !pause(rng, output_pauses);
        self.clear = rng.random_range(0..100u8) == 0;
        self.reset = rng.random_range(0..200u8) == 0;
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
        let (cells, width) = (self.p.cells.clone(), self.p.input_width);
        let pack =
            |width: u32, values: &[i64]| Bits::pack(width, values.iter().map(|&v| v as u64 & ((1 << width) - 1)));
        let [clear_i, write_valid_i, write_row_i, weights_i, input_valid_i, x_i, output_ready_i] = self.ports;
        sim.poke_u64(clear_i, self.clear.into());
        sim.poke_u64(write_valid_i, self.row.is_some().into());
        // Invalid data is noise.
        let row = self.row.as_ref().map_or(rng.random_range(0..1u64 << cells.row().width), |row| row.0 as u64);
        sim.poke_u64(write_row_i, row);
        let noise = |rng: &mut StimulusRng, width, count| (0..count).map(|_| draw(rng, width)).collect::<Vec<i64>>();
        let weights = self.row.as_ref().map_or_else(|| noise(rng, cells.weight_width, cells.outputs), |r| r.1.clone());
        sim.poke(weights_i, &pack(cells.weight_width, &weights));
        sim.poke_u64(input_valid_i, self.input.is_some().into());
        let x = self.input.clone().unwrap_or_else(|| noise(rng, width, cells.inputs));
        sim.poke(x_i, &pack(width, &x));
        sim.poke_u64(output_ready_i, self.ready.into());
        sim.settle()?;

        let moves = self.waiting.is_none() || self.ready;
        let free = self.feeding.as_ref().is_none_or(|(left, _)| *left == 1 && moves);
        let takes = free && moves && self.row.is_none() && !self.clear;
        let [write_ready_o, input_ready_o, output_valid_o, sums_o] = self.outputs;
        run.expect_u64(sim, write_ready_o, free.into())?;
        run.expect_u64(sim, input_ready_o, takes.into())?;
        run.expect_u64(sim, output_valid_o, self.waiting.is_some().into())?;
        if let Some(sums) = &self.waiting {
            run.expect(sim, sums_o, &pack(self.p.sum().width, sums))?;
        }
        sim.tick()?;

        // A result that is taken in the cycle of a clear has left.
        self.results += u64::from(self.waiting.is_some() && self.ready);
        if moves {
            self.waiting = self.adding.take();
            if let Some((left, sums)) = self.feeding.take() {
                match left {
                    1 => self.adding = Some(sums),
                    _ => self.feeding = Some((left - 1, sums)),
                }
            }
        }
        if takes && let Some(x) = self.input.take() {
            let sums = self.golden.product(&x).expect("rows are offered until all are known");
            self.feeding = Some((width, sums));
        }
        if free && let Some((row, weights)) = self.row.take() {
            self.golden.write(row, &weights);
        }
        if self.clear {
            (self.feeding, self.adding, self.waiting) = (None, None, None);
        }
        if self.reset {
            sim.reset(1)?;
            (self.feeding, self.adding, self.waiting) = (None, None, None);
        }
        Ok(())
    }
}
