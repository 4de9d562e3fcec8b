//! [`ReconfigurableArray`]: products of two-byte vectors with weights of one or two bytes, each compared with the exact
//! number and the formula of its cycles. In between come rows and steps of every kind in any order, with pauses, full
//! results, clears and resets. The bench predicts each sum, each flag and each ready to the cycle.

mod player;
mod products;

use golden::kelle::reconfigurable_array::Array;
use hdl::blocks::kelle::ReconfigurableArray;
use sim::kit::tensors::FromTensors;
use sim::{Run, Sim};

use crate::common::product::{Matrices, wanted};
use player::Player;
use products::{Work, product};

/// The bench of an array; a vector is one product, and some disorder.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ReconfigurableArray) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, |player, sim, run| {
        for number in 0..run.vectors() {
            if number % 3 == 2 {
                player.disorder(sim, run)?;
            } else {
                let work = Work::random(player);
                product(player, sim, run, &work)?;
            }
        }
        Ok(())
    })
}

fn bench_of(
    p: &ReconfigurableArray,
    work: impl Fn(&mut Player, &mut Sim, &mut Run) -> sim::Result<()> + 'static,
) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    let (rows, columns, depth) = (p.rows as usize, p.columns as usize, p.depth as usize);
    let golden = Array::new((rows, columns), p.operand_width, p.accumulator_width, depth);
    let golden = golden.map_err(anyhow::Error::msg)?;
    sim::kit::bench(p, move |sim, run| {
        let mut player = Player::new(&block, golden.clone(), sim, run)?;
        run.reset(sim, 2)?;
        work(&mut player, sim, run)?;
        player.drain(sim, run)
    })
}

/// A product of a user's matrices of two-byte numbers; a vector is a tile.
pub const TENSORS: FromTensors<ReconfigurableArray> = FromTensors {
    wanted: |p| Ok(wanted(2 * p.operand_width, 2 * p.operand_width)),
    bench: |p, tensors| {
        let given = Matrices::given(tensors);
        let tiles = given.tiles(p.depth as usize, p.columns as usize);
        let works: Vec<Work> = tiles.iter().map(|tile| Work::of(tile, p)).collect();
        let count = works.len() as u64;
        let bench =
            bench_of(p, move |player, sim, run| works.iter().try_for_each(|work| product(player, sim, run, work)))?;
        Ok((bench, count))
    },
};
