//! [`CacheWriter`]: sequences that begin, go on token by token and are given up at any moment. Checks every block with
//! its number, and blocks and tails whenever they hold the whole stream.

use golden::titanus::cache_writer::{OpenStream, open_stream};
use golden::titanus::cpq::Config;
use golden::titanus::kv_compressor::prune;
use hdl::blocks::titanus::CacheWriter;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Difference, Run, Sim};

use super::kv_compressor::long_prefill;
use super::sequences::pruned_tokens;
use super::tiles::bytes;

/// Cycles within which all taken tiles must be settled.
const PATIENCE: u64 = 3000;

/// The bench; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &CacheWriter) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let ports = Ports::find(sim)?;
        let mut rng = run.rng("sequences");
        sim.poke_u64(ports.clear, 0);
        sim.poke_u64(ports.start_valid, 0);
        sim.poke_u64(ports.tile_valid, 0);
        run.reset(sim, 2)?;
        let mut before = None;
        for number in 0..run.vectors() {
            let mut session = Session::random(&p, &mut rng);
            if let Some((thresholds, bits)) = before.filter(|_| rng.random_range(0..8u8) == 0) {
                // A start with a width that there is not: all stays as it was.
                (session.thresholds, session.bits) = (thresholds, bits);
                session.asked.1[rng.random_range(0..2usize)] = [0, 1, 9, 10, 12, 15][rng.random_range(0..6usize)];
            }
            before = Some((session.thresholds, session.bits));
            session.play(&p, sim, run, &ports, &mut rng)?;
            if number % 8 == 7 {
                sim.reset(1)?;
            }
        }
        Ok(())
    })
}

sim::handles! {
    struct Ports {
        clear: In = "clear_i",
        start_valid: In = "start_valid_i",
        prefill: In = "start_prefill_i",
        threshold_k: In = "start_threshold_k_i",
        threshold_v: In = "start_threshold_v_i",
        bits_k: In = "start_bits_k_i",
        bits_v: In = "start_bits_v_i",
        tile_valid: In = "tile_valid_i",
        k: In = "tile_k_i",
        v: In = "tile_v_i",
        block_ready: In = "block_ready_i",
        idle: Out = "idle_o",
        start_ready: Out = "start_ready_o",
        tile_ready: Out = "tile_ready_o",
        block_valid: Out = "block_valid_o",
        values: Out = "block_values_o",
        number: Out = "block_number_o",
        data: Out = "block_data_o",
        open: Out = "open_o",
        settled: Out = "settled_o",
        tokens: Out = "tokens_o",
        blocks_k: Out = "blocks_k_o",
        blocks_v: Out = "blocks_v_o",
        used_k: Out = "tail_k_used_o",
        used_v: Out = "tail_v_used_o",
        tail_k: Out = "tail_k_data_o",
        tail_v: Out = "tail_v_data_o",
        crc_k: Out = "tail_k_crc_o",
        crc_v: Out = "tail_v_crc_o",
        overflow_k: Out = "overflow_k_o",
        overflow_v: Out = "overflow_v_o",
    }
}

/// A sequence, and how it goes.
struct Session {
    prefill: usize,
    thresholds: [u32; 2],
    bits: [u32; 2],
    /// Thresholds and widths that the start has.
    asked: ([u32; 2], [u32; 2]),
    tokens: [Vec<Vec<i8>>; 2],
    /// Give it up after so many cycles.
    clear: Option<u64>,
    /// Of eight cycles: a tile is offered, a block is taken.
    rates: [u8; 2],
}

impl Session {
    fn random(p: &CacheWriter, rng: &mut StimulusRng) -> Self {
        let width = (p.lanes * p.tiles) as usize;
        let most = 2 * (p.buffer_tokens as usize).min(8) + 6;
        // Now and then so many that the numbers of blocks have some bits.
        let most = if rng.random_range(0..64u8) == 0 { 8 * most } else { most };
        let count = rng.random_range(1..=most);
        let prefill = [0, count, count / 2, count + 3, long_prefill(rng)][rng.random_range(0..5usize)];
        let clear = (rng.random_range(0..3u8) == 0).then(|| rng.random_range(0..200));
        let sides = [(); 2].map(|()| pruned_tokens(rng, width, count));
        let thresholds = sides.each_ref().map(|side| side.0);
        let bits = [(); 2].map(|()| rng.random_range(2..=8));
        Self {
            prefill,
            thresholds,
            bits,
            asked: (thresholds, bits),
            tokens: sides.map(|side| side.1),
            clear,
            rates: [[8, 8], [8, 2], [2, 8], [4, 4]][rng.random_range(0..4usize)],
        }
    }

    /// The stream of the first tokens of a side.
    fn stream(&self, p: &CacheWriter, side: usize, tokens: usize) -> Option<OpenStream> {
        let config = Config { bits: self.bits[side], max_levels: p.levels as usize };
        let pruned = |token: &Vec<i8>| token.iter().map(|&x| prune(x, self.thresholds[side])).collect();
        let tokens: Vec<Vec<i8>> = self.tokens[side][..tokens].iter().map(pruned).collect();
        let buffered = self.prefill.min(p.buffer_tokens as usize);
        open_stream(config, &tokens, buffered, (p.lanes as usize, p.block_bytes as usize))
    }

    fn play(
        &self,
        p: &CacheWriter,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        self.begin(sim, run, ports)?;
        let (lanes, tiles, size) = (p.lanes as usize, p.tiles as usize, p.block_bytes as usize);
        let count = self.tokens[0].len();
        let whole = [0, 1].map(|side| self.stream(p, side, count).map_or(Vec::new(), |stream| stream.blocks));
        let (mut sent, mut left) = (0, [0usize; 2]);
        let (mut offered, mut shown, mut rest) = (false, None, 0);
        // With so many tiles all is settled.
        let mut kept = None;
        for cycle in 0.. {
            let clear = self.clear == Some(cycle);
            offered = sent < count * tiles && (offered || rng.random_range(0..8u8) < self.rates[0]);
            let takes = rng.random_range(0..8u8) < self.rates[1];
            for (side, port) in [ports.k, ports.v].into_iter().enumerate() {
                let lane = |i: usize| self.tokens[side][sent / tiles][sent % tiles * lanes + i];
                let tile: Vec<i8> = (0..lanes).map(|i| if offered { lane(i) } else { rng.random() }).collect();
                sim.poke(port, &bytes(&tile));
            }
            sim.poke_u64(ports.tile_valid, offered.into());
            sim.poke_u64(ports.block_ready, takes.into());
            sim.poke_u64(ports.clear, clear.into());
            sim.settle()?;
            let valid = sim.peek_u64(ports.block_valid) == 1;
            if valid && !clear {
                let side = sim.peek_u64(ports.values) as usize;
                run.expect_u64(sim, ports.number, left[side] as u64)?;
                if let Some(before) = shown {
                    run.expect_equal(sim, "block", "the block that was shown", before, side)?;
                }
                let at = left[side] * size;
                let Some(block) = whole[side].get(at..at + size) else {
                    return run.expect_equal(
                        sim,
                        "block",
                        "blocks of a side",
                        whole[side].len() / size,
                        left[side] + 1,
                    );
                };
                run.expect(sim, ports.data, &Bits::pack(8, block.iter().map(|&b| b.into())))?;
                left[side] += usize::from(takes);
                shown = (!takes).then_some(side);
            } else if let Some(before) = shown.filter(|_| !clear) {
                return run.expect_equal(sim, "block", "a block that stays", before, 2);
            }
            if clear {
                run.expect_u64(sim, ports.tile_ready, 0)?;
                run.expect_u64(sim, ports.start_ready, 0)?;
                sim.tick()?;
                sim.poke_u64(ports.clear, 0);
                sim.poke_u64(ports.tile_valid, 0);
                return given_up(sim, run, ports, rng);
            }
            if offered && sim.peek_u64(ports.tile_ready) == 1 {
                (sent, offered) = (sent + 1, false);
            }
            sim.tick()?;
            sim.poke_u64(ports.tile_valid, 0);
            run.expect_u64(sim, ports.tokens, (sent / tiles) as u64)?;
            run.expect_u64(sim, ports.blocks_k, left[0] as u64)?;
            run.expect_u64(sim, ports.blocks_v, left[1] as u64)?;
            let settled = sim.peek_u64(ports.settled) == 1;
            if kept == Some(sent) {
                run.expect_u64(sim, ports.settled, 1)?;
            }
            kept = settled.then_some(sent);
            if settled && sent % tiles == 0 {
                self.settled(p, sim, run, ports, sent / tiles)?;
                if sent == count * tiles && rng.random_range(0..4u8) == 0 {
                    return Ok(());
                }
            }
            // A stream that waits for the end of a prefill that does not come never settles.
            let rests = sent == count * tiles;
            rest = if rests { rest + 1 } else { 0 };
            if rests && (whole[0].is_empty() && self.stream(p, 0, count).is_none()) && rest > 100 {
                return run.expect_u64(sim, ports.settled, 0);
            }
            if rest > PATIENCE {
                return Err(
                    run.fail(sim.cycle_count(), Difference::Deadlock { cycles: rest, streams: vec!["tile".into()] })
                );
            }
        }
        Ok(())
    }

    fn begin(&self, sim: &mut Sim, run: &mut Run, ports: &Ports) -> sim::Result<()> {
        sim.poke_u64(ports.start_valid, 1);
        sim.poke_u64(ports.prefill, self.prefill as u64);
        for (port, value) in [
            (ports.threshold_k, self.asked.0[0]),
            (ports.threshold_v, self.asked.0[1]),
            (ports.bits_k, self.asked.1[0]),
            (ports.bits_v, self.asked.1[1]),
        ] {
            sim.poke_u64(port, value.into());
        }
        // Blocks of a sequence that is given up do not show from the next cycle on, whoever takes them.
        sim.poke_u64(ports.block_ready, 0);
        for waited in 0..PATIENCE {
            sim.settle()?;
            let taken = sim.peek_u64(ports.start_ready) == 1;
            if waited > 0 {
                run.expect_u64(sim, ports.block_valid, 0)?;
                run.expect_u64(sim, ports.idle, taken.into())?;
            }
            sim.tick()?;
            if taken {
                sim.poke_u64(ports.start_valid, 0);
                sim.poke_u64(ports.prefill, 12345);
                sim.poke_u64(ports.bits_k, 5);
                return run.expect_u64(sim, ports.tokens, 0);
            }
        }
        Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles: PATIENCE, streams: vec!["start".into()] }))
    }

    fn settled(&self, p: &CacheWriter, sim: &mut Sim, run: &mut Run, ports: &Ports, tokens: usize) -> sim::Result<()> {
        for (side, [blocks, used, data, crc, overflow]) in [
            [ports.blocks_k, ports.used_k, ports.tail_k, ports.crc_k, ports.overflow_k],
            [ports.blocks_v, ports.used_v, ports.tail_v, ports.crc_v, ports.overflow_v],
        ]
        .into_iter()
        .enumerate()
        {
            let Some(stream) = self.stream(p, side, tokens) else {
                return run.expect_u64(sim, ports.settled, 0);
            };
            run.expect_u64(sim, blocks, (stream.blocks.len() / p.block_bytes as usize) as u64)?;
            run.expect_u64(sim, used, stream.used as u64)?;
            run.expect(sim, data, &Bits::pack(8, stream.tail.iter().map(|&b| b.into())))?;
            run.expect_u64(sim, crc, stream.crc.into())?;
            run.expect_u64(sim, overflow, stream.overflow.into())?;
        }
        Ok(())
    }
}

/// After a clear, nothing is open and nothing comes, for any number of cycles.
fn given_up(sim: &mut Sim, run: &mut Run, ports: &Ports, rng: &mut StimulusRng) -> sim::Result<()> {
    for _ in 0..rng.random_range(0..60) {
        sim.poke_u64(ports.block_ready, rng.random_range(0..2));
        sim.settle()?;
        run.expect_u64(sim, ports.open, 0)?;
        run.expect_u64(sim, ports.settled, 0)?;
        run.expect_u64(sim, ports.block_valid, 0)?;
        run.expect_u64(sim, ports.tile_ready, 0)?;
        sim.tick()?;
        run.expect_u64(sim, ports.tokens, 0)?;
    }
    Ok(())
}
