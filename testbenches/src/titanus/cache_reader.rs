//! [`CacheReader`]: good and damaged streams, in blocks with and without a tail. Some have as many tokens as are
//! wanted, others do not. Some reads come twice, the second one while the first one is going on. Reads are given up at
//! any moment.

use golden::titanus::cache_reader::read_back;
use hdl::blocks::common::stream::Word;
use hdl::blocks::titanus::{CacheRead, CacheReadEnd, CacheReader, CachedTile};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::damage::{Damaged, Sizes};
use super::sequences::STALLS;
use super::tiles::{bytes, flag};

/// The bench; a vector is a read.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &CacheReader) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("reads");
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        for name in ["read", "block", "tile", "end"] {
            let port =
                if name == "read" || name == "block" { format!("{name}_valid_i") } else { format!("{name}_ready_i") };
            let port = sim.input(&port)?;
            sim.poke_u64(port, 0);
        }
        run.reset(sim, 2)?;
        for number in 0..run.vectors() {
            let mut read = Read::random(&p, &mut rng);
            let stalls = STALLS[number as usize % STALLS.len()];
            let broken = (rng.random_range(0..3u8) == 0).then(|| rng.random_range(0..60));
            if broken.is_some() && rng.random_range(0..4u8) == 0 {
                read.shorten(p.block_bytes as usize, rng.random_range(0..4));
                read.missing = 1 << rng.random_range(0..32u8);
            }
            read.play(&p, sim, run, stalls, broken)?;
            for (rate, bits) in LONG {
                if rng.random_range(0..rate) == 0 {
                    long(&p, sim, run, (1 << bits) + rng.random_range(0..1 << bits), &mut rng)?;
                }
            }
            if number % 16 == 15 {
                sim.reset(1)?;
            }
        }
        Ok(())
    })
}

/// Of so many reads one is followed by a damaged stream of at least two to the power of so many blocks. All of its
/// blocks are taken, as fast as they can, so high bits of their number count down.
const LONG: [(u32, u32); 2] = [(512, 12), (16_384, 18)];

/// A damaged stream of so many blocks: none is left, and none is taken twice.
fn long(p: &CacheReader, sim: &mut Sim, run: &mut Run, blocks: u64, rng: &mut StimulusRng) -> sim::Result<()> {
    let size = p.block_bytes as usize;
    let shape = (p.lanes as usize, p.tiles as usize, p.levels as usize, size);
    // A first block after which nothing is rebuilt, whatever follows.
    let mut first = || (0..size).map(|_| rng.random()).collect::<Vec<u8>>();
    let bytes = std::iter::repeat_with(&mut first).take(100).find(|bytes| {
        let (given, damaged) = read_back(&bytes.repeat(1 << 8), 0, usize::from(u16::MAX), shape);
        given.is_empty() && damaged
    });
    let Some(bytes) = bytes else { return Ok(()) };
    sim.poke(sim.input("block_data_i")?, &Bits::pack(8, bytes.iter().map(|&b| b.into())));
    let pokes = [("tail_used_i", 0), ("read_blocks_i", blocks), ("read_tokens_i", 1), ("read_valid_i", 1)];
    for (name, value) in pokes.into_iter().chain(["tile_ready_i", "end_ready_i"].map(|name| (name, 1))) {
        sim.poke_u64(sim.input(name)?, value);
    }
    sim.settle()?;
    run.expect_u64(sim, sim.output("read_ready_o")?, 1)?;
    sim.tick()?;
    let block = sim.input("block_valid_i")?;
    sim.poke_u64(sim.input("read_valid_i")?, 0);
    sim.poke_u64(block, 1);
    let [ready, tile, end] = ["block_ready_o", "tile_valid_o", "end_valid_o"].map(|name| sim.output(name));
    let (ready, tile, end) = (ready?, tile?, end?);
    let (mut taken, mut waited) = (0, 0);
    while waited < 200 {
        sim.settle()?;
        let (takes, ends) = (sim.peek_u64(ready), sim.peek_u64(end));
        run.expect_u64(sim, tile, 0)?;
        taken += takes;
        waited = if takes == 1 { 0 } else { waited + 1 };
        if ends == 1 {
            run.expect_u64(sim, sim.output("end_damaged_o")?, 1)?;
            break;
        }
        sim.tick()?;
    }
    run.expect_equal(sim, "block_ready_o", "blocks that were taken before the end", blocks, taken)?;
    run.expect_u64(sim, end, 1)?;
    sim.tick()?;
    for name in ["block_valid_i", "tile_ready_i", "end_ready_i"] {
        sim.poke_u64(sim.input(name)?, 0);
    }
    Ok(())
}

/// A read, and the contents of memory.
struct Read {
    stream: Damaged,
    /// The last block is the tail, with so many bits.
    used: u64,
    tokens: usize,
    /// How often it is read.
    times: usize,
    /// Blocks that the read wants and that never come: it has to be given up.
    missing: u64,
}

impl Read {
    fn random(p: &CacheReader, rng: &mut StimulusRng) -> Self {
        let sizes = Sizes { lanes: p.lanes, tiles: p.tiles, levels: p.levels, block_bytes: p.block_bytes };
        let mut stream = sizes.damaged(rng);
        let block_bits = 8 * u64::from(p.block_bytes);
        let mut used = if rng.random() { rng.random_range(1..block_bits) } else { 0 };
        if rng.random_range(0..40u8) == 0 {
            (stream.bytes, used) = (Vec::new(), 0);
        }
        // Most reads want the tokens that there are.
        let shape = (p.lanes as usize, p.tiles as usize, p.levels as usize, p.block_bytes as usize);
        let there = read_back(&stream.bytes, stream.crc, usize::from(u16::MAX), shape).0.len() / p.tiles as usize;
        let tokens = match rng.random_range(0..16u8) {
            0 | 1 => there + rng.random_range(1..4usize),
            2 | 3 => there.saturating_sub(rng.random_range(1..3)),
            // Many more than there are: if the counter lost the highest bit, there would be enough.
            4 => rng.random_range(0..=there) + (1 << rng.random_range(there.max(1).ilog2() + 1..16)),
            _ => there,
        };
        Self { stream, used, tokens, times: 1 + usize::from(rng.random_range(0..4u8) == 0), missing: 0 }
    }

    /// Keeps so many blocks of memory and no tail, so that all of them are taken soon.
    fn shorten(&mut self, block_bytes: usize, blocks: usize) {
        self.stream.bytes.truncate(blocks * block_bytes);
        self.used = 0;
    }

    fn play(
        &self,
        p: &CacheReader,
        sim: &mut Sim,
        run: &mut Run,
        (input, output): (Stall, Stall),
        broken: Option<u64>,
    ) -> sim::Result<()> {
        let size = p.block_bytes as usize;
        let (bytes_all, crc) = (&self.stream.bytes, self.stream.crc);
        let tailed = self.used > 0;
        let blocks = bytes_all.len() / size - usize::from(tailed);
        let data = |block: &[u8]| Bits::pack(8, block.iter().map(|&b| b.into()));
        let [used_i, data_i, crc_i] = ["tail_used_i", "tail_data_i", "tail_crc_i"].map(|name| sim.input(name));
        sim.poke_u64(used_i?, self.used);
        let tail = if tailed { &bytes_all[blocks * size..] } else { &vec![0xa5; size][..] };
        sim.poke(data_i?, &data(tail));
        sim.poke_u64(crc_i?, crc.into());

        let mut read = run.driver_of::<CacheRead<Values>>(sim, "read", Stall::Never)?;
        let mut block = run.driver_of::<Word<Values>>(sim, "block", input)?;
        let mut tile = run.monitor_of::<CachedTile<Values>>(sim, "tile", output)?;
        let mut end = run.monitor_of::<CacheReadEnd<Values>>(sim, "end", output)?;
        let wanted = (blocks as u64 + self.missing, self.tokens as u64);
        let (tiles, levels) = (p.tiles as usize, p.levels as usize);
        let (given, damaged) = read_back(bytes_all, crc, self.tokens, (p.lanes as usize, tiles, levels, size));
        for _ in 0..self.times {
            read.push(CacheRead { blocks: Bits::truncated(32, wanted.0), tokens: Bits::truncated(16, wanted.1) })?;
            // Nobody who wants no tokens gets a block.
            if self.tokens > 0 {
                for part in bytes_all[..blocks * size].chunks(size) {
                    block.push(Word { data: data(part) })?;
                }
            }
            for (n, x) in given.iter().enumerate() {
                let whole = (n + 1) % tiles == 0;
                let last = whole && n + 1 == self.tokens * tiles;
                tile.expect([CachedTile { x: bytes(x), token_last: flag(whole), last: flag(last) }])?;
            }
            // A read that waits for blocks has no end, and no second one begins.
            if self.missing > 0 && self.tokens > 0 {
                break;
            }
            end.expect([CacheReadEnd { damaged: flag(damaged) }])?;
        }
        let drivers = &mut [read.as_mut(), block.as_mut()];
        let monitors = &mut [tile.as_mut(), end.as_mut()];
        monitors.iter_mut().for_each(|monitor| monitor.expect_nothing_else());
        let Some(cycles) = broken else { return run.streams(sim, drivers, monitors) };
        for _ in 0..cycles {
            if self.missing == 0 && monitors.iter().all(|monitor| monitor.is_done()) {
                break;
            }
            run.cycle(sim, drivers, monitors)?;
        }
        give_up(sim, run)
    }
}

/// A clear while everything is offered and nothing is taken; then nothing comes, and after a while all is idle.
fn give_up(sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let clear = sim.input("clear_i")?;
    let offers = [sim.input("read_valid_i")?, sim.input("block_valid_i")?];
    let shown = [sim.output("tile_valid_o")?, sim.output("end_valid_o")?];
    let taken = [sim.output("read_ready_o")?, sim.output("block_ready_o")?];
    for port in offers {
        sim.poke_u64(port, 1);
    }
    for name in ["tile_ready_i", "end_ready_i"] {
        let port = sim.input(name)?;
        sim.poke_u64(port, 0);
    }
    sim.poke_u64(clear, 1);
    sim.settle()?;
    for port in taken {
        run.expect_u64(sim, port, 0)?;
    }
    sim.tick()?;
    sim.poke_u64(clear, 0);
    for port in offers {
        sim.poke_u64(port, 0);
    }
    let idle = sim.output("idle_o")?;
    let mut waited = 0;
    while sim.peek_u64(idle) == 0 && waited < 200 {
        for port in shown {
            run.expect_u64(sim, port, 0)?;
        }
        sim.tick()?;
        waited += 1;
    }
    run.expect_u64(sim, idle, 1)?;
    for port in shown {
        run.expect_u64(sim, port, 0)?;
    }
    Ok(())
}
