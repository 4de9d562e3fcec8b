//! [`QuantizationUnit`] against the golden sequence: prefill shorter and longer than the buffer, none, sequences that end
//! within it, levels that run out.

use golden::titanus::format;
use hdl::blocks::titanus::QuantizationUnit;
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim};

use super::sequences::{Case, STALLS};
use super::tiles::{QUANTIZED, at_full_speed, levels, pruned, quantized};

/// The bench of a quantization unit; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &QuantizationUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    Ok(Box::new(UnitBench::new(p, Vec::new())?))
}

/// Drives a quantization unit with given sequences first, then with random ones.
pub struct UnitBench {
    p: QuantizationUnit,
    parameters: Value,
    given: Vec<Case>,
}

impl UnitBench {
    /// The bench; tokens of `given` fill between tiles - 1 and tiles tiles.
    ///
    /// # Errors
    /// Parameters that the block refuses.
    pub fn new(p: &QuantizationUnit, given: Vec<Case>) -> anyhow::Result<Self> {
        p.check()?;
        Ok(Self { parameters: serde_json::to_value(p)?, p: p.clone(), given })
    }

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

impl sim::Bench for UnitBench {
    fn block(&self) -> &str {
        QuantizationUnit::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

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
            let mut drivers = [
                run.driver(sim, "tile", &["index", "count", "values", "last"], input)?,
                run.driver(sim, "start", &["layer", "prefill"], Stall::Never)?,
            ];
            let fields: Vec<&str> = QUANTIZED.into_iter().chain(["level", "overflow"]).collect();
            let mut monitor = [run.monitor(sim, "result", &fields, output)?];
            for number in i * per_stall..(i + 1) * per_stall {
                let case = self.next(number, &mut rng);
                let sequence = case.encode(self.p.levels, self.p.buffer_tokens);
                let layer = rng.random_range(0..u64::from(self.p.layers));
                sim.poke_u64(write, 1);
                sim.poke_u64(layer_i, layer);
                sim.poke_u64(bits_i, case.bits.into());
                sim.tick()?;
                sim.poke_u64(write, 0);
                drivers[1].push(vec![Bits::truncated(layer_bits, layer), Bits::truncated(16, case.prefill as u64)])?;
                let tiles = case.tokens.iter().flat_map(|t| t.chunks(lanes)).count();
                for (n, tile) in case.tokens.iter().flat_map(|t| t.chunks(lanes)).enumerate() {
                    drivers[0].push(pruned(lanes, tile, n + 1 == tiles))?;
                }
                let expected = format::tiles(&sequence, lanes);
                let count = expected.len();
                for (n, (tile, (levels, overflow))) in expected.iter().zip(levels(&sequence, lanes)).enumerate() {
                    let mut beat = quantized(case.bits, tile, n + 1 == count);
                    beat.extend([Bits::pack(level_bits, levels), Bits::truncated(1, overflow.into())]);
                    monitor[0].expect([beat])?;
                }
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
