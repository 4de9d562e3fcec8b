//! [`QuantizationUnit`] against the golden sequence: prefill shorter and longer than the buffer, none, sequences that end
//! within it, levels that run out.

use golden::titanus::quantization_unit::{self as golden_unit, Tile};
use hdl::blocks::titanus::quantization_unit::{HierarchicalTile, SequenceStart};
use hdl::blocks::titanus::{PrunedTile, QuantizationUnit};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::sequences::{Case, STALLS};
use super::tiles::{at_full_speed, flag, levels, pruned, quantized};

/// The bench of a quantization unit; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &QuantizationUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// The bench with given sequences first, then random ones; tokens of `given` fill between tiles - 1 and tiles tiles.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench_of(p: &QuantizationUnit, given: Vec<Case>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = UnitBench { p: p.clone(), given };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

struct UnitBench {
    p: QuantizationUnit,
    given: Vec<Case>,
}

impl UnitBench {
    fn next(&self, number: usize, rng: &mut StimulusRng) -> Case {
        if let Some(case) = self.given.get(number) {
            return case.clone();
        }
        let width = (self.p.lanes * self.p.tiles) as usize;
        let cut = rng.random_range(0..self.p.lanes as usize);
        let longest = 2 * (self.p.buffer_tokens as usize).min(12) + 3;
        Case::random(rng, width - cut, longest)
    }
}

impl UnitBench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let lanes = self.p.lanes as usize;
        let layer_bits = sim.port_of_input(sim.input("bits_layer_i")?).width;
        let (write, layer_i, bits_i) = (sim.input("bits_write_i")?, sim.input("bits_layer_i")?, sim.input("bits_i")?);
        let overflow = sim.output("overflow_o")?;
        let level_bits = u64::from(self.p.levels).next_power_of_two().ilog2().max(1);
        sim.reset(2)?;
        let per_stall = (run.vectors() as usize).div_ceil(STALLS.len());
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut tile_driver = run.driver_of::<PrunedTile<Values>>(sim, "tile", input)?;
            let mut start = run.driver_of::<SequenceStart<Values>>(sim, "start", Stall::Never)?;
            let mut monitor = [run.monitor_of::<HierarchicalTile<Values>>(sim, "result", output)?];
            for number in i * per_stall..(i + 1) * per_stall {
                let case = self.next(number, &mut rng);
                let sequence = case.encode(self.p.levels, self.p.buffer_tokens);
                let layer = rng.random_range(0..u64::from(self.p.layers));
                sim.poke_u64(write, 1);
                sim.poke_u64(layer_i, layer);
                sim.poke_u64(bits_i, case.bits.into());
                sim.tick()?;
                sim.poke_u64(write, 0);
                let prefill = Bits::truncated(16, case.prefill as u64);
                start.push(SequenceStart { layer: Bits::truncated(layer_bits, layer), prefill })?;
                let tiles = case.tokens.iter().flat_map(|t| t.chunks(lanes)).count();
                for (n, tile) in case.tokens.iter().flat_map(|t| t.chunks(lanes)).enumerate() {
                    tile_driver.push(pruned(lanes, tile, n + 1 == tiles))?;
                }
                let expected = golden_unit::tiles(&sequence, lanes);
                let count = expected.len();
                for (n, (tile, (levels, overflow))) in expected.iter().zip(levels(&sequence, lanes)).enumerate() {
                    let level = Bits::pack(level_bits, levels);
                    monitor[0].expect([hierarchical(case.bits, tile, n + 1 == count, level, overflow)])?;
                }
                let mut drivers = [tile_driver.as_mut(), start.as_mut()];
                if (input, output) == (Stall::Never, Stall::Never) {
                    // Tiles of the prefill first fill the buffer; then a tile leaves every cycle until the end.
                    let buffered = case.prefill.min(self.p.buffer_tokens as usize).min(case.tokens.len());
                    let waiting = buffered as u64 * u64::from(self.p.tiles);
                    at_full_speed(sim, run, &mut drivers, &mut monitor, waiting + 3)?;
                }
                run.streams(sim, &mut drivers, &mut monitor)?;
                run.expect_u64(sim, overflow, sequence.overflowed().into())?;
            }
        }
        Ok(())
    }
}

/// A quantized tile with levels.
fn hierarchical(bits: u32, tile: &Tile, last: bool, level: Bits, overflow: bool) -> HierarchicalTile<Values> {
    let mut fields = quantized(bits, tile, last).into_iter();
    let mut next = || fields.next().unwrap_or_else(|| Bits::zero(1));
    HierarchicalTile {
        bits: next(),
        initial: next(),
        index: next(),
        label: next(),
        values: next(),
        open: next(),
        range: next(),
        zero: next(),
        last: next(),
        level,
        overflow: flag(overflow),
    }
}
