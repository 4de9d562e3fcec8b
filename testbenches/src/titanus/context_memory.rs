//! [`ContextMemory`]: tiles of both sides in any order, tiles and columns, also while they are written.

use golden::titanus::context_memory::ContextMemory as Golden;
use hdl::blocks::titanus::ContextMemory;
use rand::RngExt;
use sim::{Bits, Run, Sim};

use super::tiles::bytes;

/// The bench; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ContextMemory) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let (lanes, tiles, tokens) = (p.lanes as usize, p.tiles as usize, p.tokens as usize);
        let engines = p.engines as usize;
        let mut golden = Golden::new(lanes, tiles, tokens);
        let mut rng = run.rng("tiles");
        let ports = Ports::find(sim)?;
        let mut shown: Option<Vec<Option<i8>>> = None;
        for cycle in 0..run.vectors() {
            let mut tile = || (0..lanes).map(|_| rng.random()).collect::<Vec<i8>>();
            let sides = [tile(), tile()];
            let writes = [(); 2].map(|()| rng.random_range(0..3u8) > 0);
            let (token, tile) = (rng.random_range(0..tokens), rng.random_range(0..tiles));
            for (port, value) in [
                (ports.write_k, writes[0].into()),
                (ports.write_v, writes[1].into()),
                (ports.write_token, token as u64),
                (ports.write_tile, tile as u64),
            ] {
                sim.poke_u64(port, value);
            }
            sim.poke(ports.k, &bytes(&sides[0]));
            sim.poke(ports.v, &bytes(&sides[1]));
            let (reads, values) = (rng.random_range(0..4u8) > 0, rng.random::<bool>());
            let from = (rng.random_range(0..tokens), rng.random_range(0..tiles), rng.random_range(0..lanes));
            for (port, value) in [
                (ports.read, reads.into()),
                (ports.read_values, values.into()),
                (ports.read_row, (from.0 / engines) as u64),
                (ports.read_group, (from.0 / lanes) as u64),
                (ports.read_tile, from.1 as u64),
                (ports.read_channels, (from.2 / engines) as u64),
            ] {
                sim.poke_u64(port, value);
            }
            if reads {
                // An engine after the last token has nothing.
                let first =
                    if values { from.1 * lanes + from.2 / engines * engines } else { from.0 / engines * engines };
                let of = |at| match values {
                    true => golden.values(from.0 / lanes, at),
                    false if at < tokens => golden.keys(at, from.1),
                    false => vec![None; lanes],
                };
                shown = Some((first..first + engines).flat_map(of).collect());
            }
            sim.tick()?;
            compare(sim, run, &ports, shown.as_deref())?;
            for side in (0..2).filter(|&side| writes[side]) {
                golden.write(side, token, tile, &sides[side]);
            }
            if cycle % 97 == 96 {
                // There is nothing to reset: written words stay.
                sim.poke_u64(ports.write_k, 0);
                sim.poke_u64(ports.write_v, 0);
                sim.poke_u64(ports.read, 0);
                sim.tick()?;
                compare(sim, run, &ports, shown.as_deref())?;
            }
        }
        Ok(())
    })
}

sim::handles! {
    struct Ports {
        write_k: In = "write_k_i",
        write_v: In = "write_v_i",
        write_token: In = "write_token_i",
        write_tile: In = "write_tile_i",
        k: In = "k_i",
        v: In = "v_i",
        read: In = "read_i",
        read_values: In = "read_values_i",
        read_row: In = "read_row_i",
        read_group: In = "read_group_i",
        read_tile: In = "read_tile_i",
        read_channels: In = "read_channels_i",
        data: Out = "data_o",
    }
}

/// Compares the known part of the word that was read last.
fn compare(sim: &Sim, run: &mut Run, ports: &Ports, shown: Option<&[Option<i8>]>) -> sim::Result<()> {
    let Some(shown) = shown else { return Ok(()) };
    let got = sim.peek(ports.data).unpack(8);
    let known: Vec<u64> = shown.iter().zip(&got).map(|(want, &got)| want.map_or(got, |x| u64::from(x as u8))).collect();
    run.expect(sim, ports.data, &Bits::pack(8, known))
}
