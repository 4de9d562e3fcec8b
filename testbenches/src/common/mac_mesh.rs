//! [`MacMesh`] computes matrix products, one after the other without a pause that the contract does not ask for.
//!
//! An R x K by K x C product enters in K steps. Row r of the left matrix is r cycles late, and column c of the right
//! one c cycles late. The next product starts K + C - 1 cycles later. That is the earliest start at which row r still
//! shows the whole of its sums, for the one cycle r before its first PE is cleared. So a PE that clears, passes on or
//! shows anything one cycle too early or too late is seen. (With few columns it starts R cycles later, since one row is
//! read a cycle.)
//!
//! In between, products are cut off: by the next one that starts early, or by a reset.

use golden::common::mac_mesh::product;
use hdl::blocks::common::MacMesh;
use hdl::lang::index_width;
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::StimulusRng;
use sim::{Bits, Error, Run, Sim};

use super::product::{Matrices, wanted};

/// The bench of a mesh; a vector is one matrix product with a random inner dimension.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &MacMesh) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| products(&block, sim, run))
}

/// A product of a user's matrices; a vector is a tile.
pub const TENSORS: FromTensors<MacMesh> = FromTensors {
    wanted: |p| Ok(wanted(p.operand_width, p.operand_width)),
    bench: |p, tensors| {
        let given = Matrices::given(tensors);
        let tiles = given.tiles(p.rows as usize, p.columns as usize);
        let (block, count) = (p.clone(), tiles.len() as u64);
        let bench = sim::kit::bench(p, move |sim, run| {
            let mut mesh = Mesh::new(sim, run)?;
            run.reset(sim, 2)?;
            // While a product enters, the one before is read; at the end comes an empty one.
            let end = Matrices { act: Vec::new(), weight: vec![vec![0; block.columns as usize]] };
            for tile in tiles.iter().chain([&end]) {
                let product = Product::given(&block, tile)?;
                let period = product.period;
                mesh.enter(sim, run, &block, product, period)?;
            }
            Ok(())
        })?;
        Ok((bench, count))
    },
};

fn products(p: &MacMesh, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("operands");
    let mut aborts = run.rng("aborts");
    let mut mesh = Mesh::new(sim, run)?;
    run.reset(sim, 2)?;
    // One product more than is compared: while it enters, the last one is read.
    for vector in 0..=run.vectors() {
        let product = Product::new(p, vector, &mut rng)?;
        let period = product.period;
        mesh.enter(sim, run, p, product, period)?;
        for kind in 0..2 {
            if aborts.random_range(0..8u8) == 0 {
                let product = Product::new(p, vector + 2, &mut rng)?;
                let cycles = aborts.random_range(1..=product.period);
                mesh.enter(sim, run, p, product, cycles)?;
                mesh.complete = None;
                if kind == 1 {
                    mesh.entering.clear();
                    run.reset(sim, aborts.random_range(1..=3))?;
                }
            }
        }
    }
    Ok(())
}

/// State of the mesh.
struct Mesh {
    ports: Ports,
    /// Numbers of rows past the end.
    rows: StimulusRng,
    /// Products that some lane may still see, with the cycles since each started; the latest last.
    entering: Vec<(usize, Product)>,
    /// Sums to read while the next product enters.
    complete: Option<Vec<Vec<i128>>>,
}

impl Mesh {
    fn new(sim: &Sim, run: &Run) -> sim::Result<Self> {
        Ok(Self { ports: Ports::find(sim)?, rows: run.rng("rows"), entering: Vec::new(), complete: None })
    }

    /// The first `cycles` cycles of a product; meanwhile the sums of the one before are read, a row a cycle.
    fn enter(&mut self, sim: &mut Sim, run: &mut Run, p: &MacMesh, product: Product, cycles: usize) -> sim::Result<()> {
        let before = self.complete.replace(product.sums.clone());
        self.entering.push((0, product));
        let rows = p.rows as usize;
        for cycle in 0..cycles {
            self.ports.drive(sim, p, &self.entering);
            if let Some(sums) = before.as_ref().filter(|_| cycle < rows) {
                // Past the end the last row is read.
                let places = 1u64 << index_width(p.rows.into());
                let row = if cycle + 1 < rows { cycle as u64 } else { self.rows.random_range(cycle as u64..places) };
                sim.poke_u64(self.ports.row, row);
                sim.settle()?;
                run.expect(sim, self.ports.acc, &sums_of_row(p, &sums[cycle]))?;
            }
            sim.tick()?;
            self.entering.iter_mut().for_each(|(age, _)| *age += 1);
        }
        // Operands that all lanes have passed.
        let lanes = p.rows.max(p.columns) as usize;
        let done = self.entering.iter().rposition(|(age, _)| *age >= lanes).unwrap_or(0);
        self.entering.drain(..done);
        Ok(())
    }
}

/// Longest sum. One of corner values wraps any accumulator narrower than 2 x operand_width + 4 bits.
const MAX_INNER: usize = 24;

/// One matrix product, as the streams that enter at the left and at the top.
struct Product {
    /// Per row, `period` activations: the matrix, then filling that must not change a sum.
    left: Vec<Vec<i64>>,
    /// Per column, `period` weights.
    right: Vec<Vec<i64>>,
    /// Cycles until the next product may start.
    period: usize,
    /// The golden result, R x C.
    sums: Vec<Vec<i128>>,
}

impl Product {
    /// A tile whose missing rows are zeros. Zeros follow it on both sides.
    fn given(p: &MacMesh, tile: &Matrices) -> sim::Result<Self> {
        let (rows, columns, inner) = (p.rows as usize, p.columns as usize, tile.weight.len());
        let period = rows.max(inner + columns - 1);
        let mut act = tile.act.clone();
        act.resize(rows, vec![0; inner]);
        let sums = product(&act, &tile.weight, p.accumulator_width).map_err(|e| Error::Unsupported(e.to_string()))?;
        let stream = |mut operands: Vec<i64>| {
            operands.resize(period, 0);
            operands
        };
        let right = (0..columns).map(|c| stream(tile.weight.iter().map(|row| row[c]).collect())).collect();
        Ok(Self { left: act.into_iter().map(stream).collect(), right, period, sums })
    }

    fn new(p: &MacMesh, vector: u64, rng: &mut StimulusRng) -> sim::Result<Self> {
        let (rows, columns) = (p.rows as usize, p.columns as usize);
        let inner = if vector < 2 { MAX_INNER } else { rng.random_range(1..=MAX_INNER) };
        let period = rows.max(inner + columns - 1);
        let (min, max) = (-1i64 << (p.operand_width - 1), (1i64 << (p.operand_width - 1)) - 1);
        let mut operand = |first| match (vector, rng.random_range(0..8u8)) {
            (0, _) => min,
            (1, _) => first,
            (_, 0) => min,
            (_, 1) => max,
            _ => rng.random_range(min..=max),
        };
        let mut stream = |count: usize, first| -> Vec<Vec<i64>> {
            (0..count).map(|_| (0..period).map(|_| operand(first)).collect()).collect()
        };
        let (mut left, mut right) = (stream(rows, max), stream(columns, min));
        let matrix: Vec<_> = left.iter().map(|row| row[..inner].to_vec()).collect();
        let weights: Vec<_> = (0..inner).map(|k| right.iter().map(|column| column[k]).collect()).collect();
        let sums = product(&matrix, &weights, p.accumulator_width).map_err(|e| Error::Unsupported(e.to_string()))?;
        // Zero on one side keeps the sums, whatever the other side brings.
        let quiet = if vector.is_multiple_of(2) { &mut left } else { &mut right };
        quiet.iter_mut().for_each(|stream| stream[inner..].fill(0));
        Ok(Self { left, right, period, sums })
    }
}

sim::handles! {
    struct Ports {
        clear: In = "clear_i",
        act: In = "act_i",
        weight: In = "weight_i",
        row: In = "row_i",
        acc: Out = "acc_o",
    }
}

impl Ports {
    /// Pokes the operands of this cycle: each lane sees the latest product that has reached it.
    fn drive(&self, sim: &mut Sim, p: &MacMesh, entering: &[(usize, Product)]) {
        let lane = |lane: usize, side: fn(&Product) -> &Vec<Vec<i64>>| {
            let reached = entering.iter().rev().find(|(age, _)| *age >= lane);
            reached.map_or((false, 0), |(age, product)| {
                let step = age - lane;
                (step == 0, side(product)[lane].get(step).copied().unwrap_or(0) as u64)
            })
        };
        let rows: Vec<_> = (0..p.rows as usize).map(|r| lane(r, |product| &product.left)).collect();
        let columns = (0..p.columns as usize).map(|c| lane(c, |product| &product.right).1);
        sim.poke(self.clear, &Bits::pack(1, rows.iter().map(|(clear, _)| u64::from(*clear))));
        sim.poke(self.act, &Bits::pack(p.operand_width, rows.iter().map(|(_, value)| *value)));
        sim.poke(self.weight, &Bits::pack(p.operand_width, columns));
    }
}

/// A row of sums as `acc_o` shows it: element c at bits `[accumulator_width * c +: accumulator_width]`.
fn sums_of_row(p: &MacMesh, row: &[i128]) -> Bits {
    let width = p.accumulator_width;
    let mut bits = Bits::zero(width * p.columns);
    for (column, sum) in (0..).zip(row) {
        let words: Vec<u32> = (0..4).map(|word| (sum >> (32 * word)) as u32).collect();
        bits.set_slice(width * column, &Bits::from_words(width, &words));
    }
    bits
}
