//! [`ExecutionController`] between buffers that fill at random, an array that stalls, and clears at random moments.

use golden::accelerators::execution_controller::{RESCALE, Tiles};
use hdl::accelerators::tender::ExecutionController;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{In, Out, Run, Sim};

/// The bench of the controller; a vector is a product.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ExecutionController) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("products");
        let ports = Ports::new(&block, sim)?;
        ports.quiet(sim);
        run.reset(sim, 2)?;
        for number in 0..run.vectors() {
            let many = (number % MANY == MANY / 2).then_some((number / MANY).is_multiple_of(2));
            product(&block, &ports, (sim, run), &mut rng, many)?;
        }
        Ok(())
    })
}

/// Of so many products one has as many tiles as can be asked for.
const MANY: u64 = 200;

struct Ports {
    clear: In,
    begin: In,
    sizes: [In; 4],
    valid: [In; 3],
    entry: In,
    room: In,
    ready: In,
    busy: Out,
    error: Out,
    index_read: Out,
    index_address: Out,
    free: [Out; 3],
    read: Out,
    channel: Out,
    take: Out,
    step: [Out; 4],
    /// Only with explicit mode: the mode; whether a part doubles, and whether it ends its tile.
    parts: Option<(In, [Out; 2])>,
}

impl Ports {
    fn new(p: &ExecutionController, sim: &Sim) -> sim::Result<Self> {
        let mode = || -> sim::Result<_> {
            Ok((sim.input("tiles_explicit_i")?, [sim.output("doubles_o")?, sim.output("ends_o")?]))
        };
        Ok(Self {
            parts: p.explicit.then(mode).transpose()?,
            clear: sim.input("clear_i")?,
            begin: sim.input("begin_i")?,
            sizes: [
                sim.input("tiles_row_tiles_i")?,
                sim.input("tiles_column_tiles_i")?,
                sim.input("tiles_steps_i")?,
                sim.input("tiles_channels_i")?,
            ],
            valid: [sim.input("index_valid_i")?, sim.input("a_valid_i")?, sim.input("b_valid_i")?],
            entry: sim.input("index_entry_i")?,
            room: sim.input("room_i")?,
            ready: sim.input("step_ready_i")?,
            busy: sim.output("busy_o")?,
            error: sim.output("error_o")?,
            index_read: sim.output("index_read_o")?,
            index_address: sim.output("index_address_o")?,
            free: [sim.output("index_free_o")?, sim.output("a_free_o")?, sim.output("b_free_o")?],
            read: sim.output("read_o")?,
            channel: sim.output("channel_o")?,
            take: sim.output("take_o")?,
            step: [
                sim.output("step_valid_o")?,
                sim.output("step_first_o")?,
                sim.output("step_last_o")?,
                sim.output("step_rescale_o")?,
            ],
        })
    }

    fn quiet(&self, sim: &mut Sim) {
        let all = [self.clear, self.begin, self.entry, self.room, self.ready];
        for port in all.into_iter().chain(self.sizes).chain(self.valid) {
            sim.poke_u64(port, 0);
        }
    }
}

/// A product of a step, with about as many tiles as a step can have.
fn draw_many(p: &ExecutionController, rng: &mut StimulusRng, rows: bool) -> Tiles {
    let many = 65_535 - rng.random_range(0..3);
    let [row_tiles, column_tiles] = if rows { [many, 1] } else { [1, many] };
    Tiles { row_tiles, column_tiles, channels: 1, table: vec![0], explicit: p.explicit && rng.random() }
}

/// A product of random tiles; of each eight one has a wrong entry.
fn draw(p: &ExecutionController, rng: &mut StimulusRng) -> Tiles {
    let channels = rng.random_range(1..=p.depth.min(12));
    let most = p.steps.min(14) as usize;
    let mut table: Vec<u16> = (0..rng.random_range(1..=most))
        .map(|_| if rng.random_range(0..4u8) == 0 { RESCALE } else { rng.random_range(0..channels) as u16 })
        .collect();
    if rng.random_range(0..8u8) == 0 {
        let at = rng.random_range(0..table.len());
        let bit = 1 << rng.random_range(0..15u8);
        let one = bit.max(channels as u16);
        table[at] = [channels as u16, 0x7fff, one, one, RESCALE | bit][rng.random_range(0..5usize)];
    }
    let some = |rng: &mut StimulusRng| rng.random_range(1..=4);
    Tiles { row_tiles: some(rng), column_tiles: some(rng), channels, table, explicit: p.explicit && rng.random() }
}

fn product(
    p: &ExecutionController,
    ports: &Ports,
    (sim, run): (&mut Sim, &mut Run),
    rng: &mut StimulusRng,
    many: Option<bool>,
) -> sim::Result<()> {
    let tiles = match many {
        Some(rows) => draw_many(p, rng, rows),
        None => draw(p, rng),
    };
    let (steps, wrong) = tiles.steps();
    let sizes = [tiles.row_tiles, tiles.column_tiles, tiles.table.len() as u32, tiles.channels];
    for (port, size) in ports.sizes.into_iter().zip(sizes) {
        sim.poke_u64(port, size.into());
    }
    if let Some((mode, _)) = ports.parts {
        sim.poke_u64(mode, tiles.explicit.into());
    }
    let parts: Vec<_> = steps.iter().filter(|step| step.last).collect();
    // How often of 16 something that is not there comes: indices, A, B, room, the array.
    let eager = many.is_some() || rng.random_range(0..3u8) == 0;
    let pace: [u8; 5] = std::array::from_fn(|_| if eager { 16 } else { rng.random_range(2..=16) });
    let clear_after = (many.is_none() && rng.random_range(0..6u8) == 0).then(|| rng.random_range(0..60u32));
    // Whether each buffer has its next data, and how often each was freed.
    let mut there = [eager; 3];
    let mut freed = [0; 3];
    let (mut taken, mut tiles_taken, mut room) = (0, 0, eager);
    let (mut done, mut entry, mut channel) = (0, rng.random_range(0..1 << 16), 0);
    // The place of the entry that was read and is no step yet, the entries that will still be read, whether a step waits.
    let (mut held, mut offered) = (None::<usize>, false);
    let mut to_read = u64::from(tiles.row_tiles * tiles.column_tiles) * tiles.table.len() as u64;
    let mut cycle = 0;
    loop {
        let mut comes = |k: usize| rng.random_range(0..16u8) < pace[k];
        for (k, there) in there.iter_mut().enumerate() {
            *there |= comes(k);
        }
        room |= comes(3);
        let ready = comes(4);
        let clear = clear_after == Some(cycle);
        sim.poke_u64(ports.begin, (cycle == 0 && !clear).into());
        sim.poke_u64(ports.clear, clear.into());
        for (port, there) in ports.valid.into_iter().zip(there) {
            sim.poke_u64(port, there.into());
        }
        sim.poke_u64(ports.entry, entry);
        sim.poke_u64(ports.room, room.into());
        sim.poke_u64(ports.ready, ready.into());
        sim.settle()?;
        let high = |sim: &Sim, port: Out| sim.peek_u64(port) == 1;
        run.expect_equal(sim, "busy_o", "while there are steps", cycle > 0, high(sim, ports.busy))?;
        let [valid, first, last, rescale] = ports.step.map(|port| high(sim, port));
        run.expect_equal(sim, "step_valid_o", "in the cycle after its entry", offered, valid)?;
        if valid && ready {
            let Some(&step) = steps.get(done) else {
                return run.expect_equal(sim, "step_valid_o", "a step too many", false, true);
            };
            run.expect_equal(sim, "step_first_o", "", step.first, first)?;
            run.expect_equal(sim, "step_last_o", "", step.last, last)?;
            run.expect_equal(sim, "step_rescale_o", "", step.channel.is_none(), rescale)?;
            if let Some(expected) = step.channel {
                run.expect_equal(sim, "channel_o", "of the last read", u64::from(expected), channel)?;
            }
            done += 1;
        }
        let of = |at: usize| tiles.table[at];
        let (error, reads, takes) = (high(sim, ports.error), high(sim, ports.read), high(sim, ports.take));
        let is_wrong = |at| of(at) > RESCALE || of(at) < RESCALE && u32::from(of(at)) >= tiles.channels;
        run.expect_equal(sim, "error_o", "at a wrong entry", held.is_some_and(is_wrong), error)?;
        let leaves = held.is_some_and(|at| at + 1 == tiles.table.len() || tiles.explicit && of(at) == RESCALE);
        let goes = held.is_some() && !error && there[1] && there[2] && (room || !leaves) && (ready || !valid) && !clear;
        let channel_is_read = goes && held.is_some_and(|at| of(at) != RESCALE);
        run.expect_equal(sim, "read_o", "as soon as all is there", channel_is_read, reads)?;
        run.expect_equal(sim, "take_o", "as soon as all is there", goes && leaves, takes)?;
        if reads {
            channel = sim.peek_u64(ports.channel);
        }
        if takes {
            let Some(part) = parts.get(taken) else {
                return run.expect_equal(sim, "take_o", "a part too many", false, true);
            };
            if let Some((_, [doubles, ends])) = ports.parts {
                run.expect_equal(sim, "doubles_o", "", part.channel.is_none(), high(sim, doubles))?;
                run.expect_equal(sim, "ends_o", "", part.ends, high(sim, ends))?;
            }
            taken += 1;
            tiles_taken += u32::from(part.ends);
        }
        let frees = ports.free.map(|port| high(sim, port));
        for k in 0..3 {
            freed[k] += u32::from(frees[k]);
        }
        // A tile is given back as its last step is made: that one is the next to leave, or has left.
        run.expect_equal(sim, "b_free_o", "with its place", tiles_taken, freed[2])?;
        run.expect_equal(sim, "a_free_o", "after a row of tiles", tiles_taken / tiles.column_tiles, freed[1])?;
        let all = tiles.row_tiles * tiles.column_tiles;
        run.expect_equal(sim, "index_free_o", "after all tiles", u32::from(tiles_taken == all), freed[0])?;
        let index = high(sim, ports.index_read);
        let wants = cycle > 0 && to_read > 0 && there[0] && (held.is_none() || goes) && !clear;
        run.expect_equal(sim, "index_read_o", "as soon as a place is free", wants, index)?;
        let address = sim.peek_u64(ports.index_address) as usize;
        let next = index.then(|| tiles.table.get(address).copied());
        sim.tick()?;
        cycle += 1;
        if let Some(read) = next {
            run.expect_equal(sim, "index_address_o", "inside of the table", true, read.is_some())?;
            entry = read.unwrap_or(0).into();
        }
        if index {
            (held, to_read) = (Some(address), to_read - 1);
        } else if goes {
            held = None;
        }
        offered = goes || valid && !ready;
        for k in 0..3 {
            there[k] &= !frees[k] || eager;
        }
        room &= !takes || eager;
        if clear {
            break;
        }
        if error {
            run.expect_equal(sim, "step", "all steps before the wrong entry", true, done + 1 >= steps.len())?;
            sim.poke_u64(ports.clear, 1);
            sim.tick()?;
            break;
        }
        if done == steps.len() && !wrong {
            if eager {
                run.expect_equal(sim, "step_valid_o", "cycle of the last step", tiles.cycles(), u64::from(cycle - 1))?;
            }
            break;
        }
        if cycle > if many.is_some() { 1_000_000 } else { 20_000 } {
            return run.expect_equal(sim, "busy_o", "a product that does not end", false, true);
        }
    }
    ports.quiet(sim);
    sim.settle()?;
    run.expect_u64(sim, ports.busy, 0)?;
    sim.tick()
}
