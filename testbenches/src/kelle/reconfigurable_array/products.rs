//! Products of operands of two bytes, of some panels, in four steps each, or in two where weights have one byte.

use golden::kelle::reconfigurable_array::Step;
use hdl::blocks::kelle::ReconfigurableArray;
use rand::RngExt;
use sim::kit::tensors::signed;
use sim::{Run, Sim};

use super::player::Player;
use crate::common::product::{Matrices, wrapped};

/// Vectors and panels of a matrix that is stored by rows.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Rows of the matrices are outputs.
    pub(super) transposed: bool,
    /// Bytes of a weight: 1 or 2.
    pub(super) weight_bytes: u32,
    /// Weights, panel by panel.
    pub(super) matrices: Vec<Vec<Vec<i64>>>,
    /// Activations: for each vector the numbers of each panel.
    pub(super) acts: Vec<Vec<Vec<i64>>>,
}

impl Work {
    /// A few vectors, in either direction.
    pub(super) fn random(player: &mut Player) -> Self {
        let p = player.p.clone();
        let (rows, columns, bits) = (p.rows as usize, p.columns as usize, p.operand_width);
        let transposed = player.rng.random();
        let panels = player.rng.random_range(1..=3usize);
        let weight_bytes = if player.rng.random() { 2 } else { 1 };
        let vectors = player.rng.random_range(1..=p.depth.min(5) as usize);
        let inner = if transposed { columns } else { rows };
        let number = |player: &mut Player, places: u32| -> i64 {
            let half = 1i64 << (places * bits - 1);
            match player.rng.random_range(0..6u8) {
                0 => -half,
                1 => half - 1,
                _ => player.rng.random_range(-half..half),
            }
        };
        let matrices = (0..panels)
            .map(|_| (0..rows).map(|_| (0..columns).map(|_| number(player, weight_bytes)).collect()).collect())
            .collect();
        let acts = (0..vectors)
            .map(|_| (0..panels).map(|_| (0..inner).map(|_| number(player, 2)).collect()).collect())
            .collect();
        Self { transposed, weight_bytes, matrices, acts }
    }

    /// A tile of a user's product; missing channels are zeros. Weights that fit have one byte.
    pub(super) fn of(tile: &Matrices, p: &ReconfigurableArray) -> Self {
        let (rows, columns) = (p.rows as usize, p.columns as usize);
        let narrow = signed(p.operand_width);
        let fits = tile.weight.iter().flatten().all(|weight| narrow.contains(weight));
        let panel = |panel: &[Vec<i64>]| {
            let mut panel = panel.to_vec();
            panel.resize(rows, vec![0; columns]);
            panel
        };
        let part = |part: &[i64]| {
            let mut part = part.to_vec();
            part.resize(rows, 0);
            part
        };
        Self {
            transposed: false,
            weight_bytes: if fits { 1 } else { 2 },
            matrices: tile.weight.chunks(rows).map(panel).collect(),
            acts: tile.act.iter().map(|act| act.chunks(rows).map(part).collect()).collect(),
        }
    }
}

/// Compares a product with the exact numbers, and with the cycles of the contract.
pub(super) fn product(player: &mut Player, sim: &mut Sim, run: &mut Run, work: &Work) -> sim::Result<()> {
    let p = player.p.clone();
    let (rows, columns, bits) = (p.rows as usize, p.columns as usize, p.operand_width);
    let Work { transposed, weight_bytes, ref matrices, ref acts } = *work;
    let (panels, vectors) = (matrices.len(), acts.len());
    let (inner, outer) = if transposed { (columns, rows) } else { (rows, columns) };
    let byte = |value: i64, place: u32| (value >> (place * bits)) as u64 & ((1 << bits) - 1);

    player.drain(sim, run)?;
    player.taken.clear();
    player.takes = player.rng.random_range(2..=8);
    let start = player.cycle;
    let places: Vec<u32> = (0..weight_bytes).rev().collect();
    let parts: Vec<(usize, u32)> = (0..panels).flat_map(|n| places.iter().map(move |&q| (n, q))).collect();
    let mut rows_left: Vec<(usize, Vec<u64>)> = Vec::new();
    let load = |n: usize, q: u32| -> Vec<(usize, Vec<u64>)> {
        let bytes = |row: &Vec<i64>| row.iter().map(|&w| byte(w, q)).collect();
        let mut all: Vec<(usize, Vec<u64>)> = matrices[n].iter().map(bytes).enumerate().collect();
        all.reverse();
        all
    };
    let (n, q) = parts[0];
    rows_left.extend(load(n, q));
    offer(player, sim, run, &mut rows_left, None)?;
    let mut counted = p.rows as u64;
    for (k, &(n, q)) in parts.iter().enumerate() {
        // The next rows are loaded while these work.
        if let Some(&(n, q)) = parts.get(k + 1) {
            rows_left.extend(load(n, q));
        }
        for (index, act) in acts.iter().enumerate() {
            for a in [1, 0] {
                let mut bytes: Vec<u64> = act[n].iter().map(|&x| byte(x, a)).collect();
                bytes.resize(p.lanes() as usize, (1 << bits) - 1);
                let step = Step {
                    swap: index == 0 && a == 1,
                    transposed,
                    first: k == 0 && a == 1,
                    last: k + 1 == parts.len() && a == 0,
                    place: a + q,
                    index,
                    signed: (a == 1, q + 1 == weight_bytes),
                    acts: bytes,
                };
                offer(player, sim, run, &mut rows_left, Some(step))?;
            }
        }
        while !rows_left.is_empty() {
            offer(player, sim, run, &mut rows_left, None)?;
        }
        let steps = 2 * vectors as u64;
        counted += if k + 1 < parts.len() { steps.max(p.rows.into()) } else { steps };
    }
    // Unless the last results had to wait for a place.
    if vectors <= p.results as usize {
        run.expect_equal(sim, "step_ready_o", "cycles of loads and steps", counted, player.cycle - start)?;
    }
    player.drain(sim, run)?;
    player.takes = 8;

    for act in acts {
        let sums = player.taken.pop_front().unwrap_or_default();
        for (o, sum) in (0..outer).map(|o| (o, sums.get(o).copied().flatten())) {
            let term = |n: usize, i: usize| {
                let weight = if transposed { matrices[n][o][i] } else { matrices[n][i][o] };
                i128::from(act[n][i]) * i128::from(weight)
            };
            let exact: i128 = (0..panels).flat_map(|n| (0..inner).map(move |i| (n, i))).map(|(n, i)| term(n, i)).sum();
            // The number that was compared with the ports equals this one.
            let wrapped = wrapped(exact, p.accumulator_width);
            let got = sum.map_or(i128::MAX, |sum| sum.value);
            run.expect_equal(sim, "result_sum_o", "product of whole operands", wrapped, got)?;
        }
    }
    Ok(())
}

/// Offers a row, if some are left, and a step, if there is one; a cycle at least, until the step is taken.
fn offer(
    player: &mut Player,
    sim: &mut Sim,
    run: &mut Run,
    rows: &mut Vec<(usize, Vec<u64>)>,
    step: Option<Step>,
) -> sim::Result<()> {
    let only_rows = step.is_none();
    player.step = step;
    loop {
        if player.row.is_none() {
            player.row = rows.pop();
        }
        player.cycle(sim, run, false)?;
        let waits = if only_rows { !rows.is_empty() || player.row.is_some() } else { player.step.is_some() };
        if !waits {
            return Ok(());
        }
    }
}
