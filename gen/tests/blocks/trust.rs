//! The table of docs/catalogue.md is whole, above its floors, and true.
//!
//! `SNAPSHOTS=overwrite cargo test -p senbazuru --test blocks trust:: -- --ignored` counts lines and toggles of all blocks again, the same
//! with `mutation::` their mutants; of some alone with `SENBAZURU_BLOCKS=softmax,kv_packer`.

use std::sync::Mutex;
use test_tag::tag;

use crate::support::on_all_cores;
use crate::support::trust::{GOAL, Reached, Row, blocks, chosen, may_live, mutants_below, renew, renews, rows};
use senbazuru::catalogue::Entry;
use senbazuru::{coverage, mutation};
use sim::Ratio;

/// Lines and branches of which a bench must reach so many, in per cent.
const LINES: f64 = 95.0;

/// Bits that must have changed.
const TOGGLES: f64 = 90.0;

/// Blocks below the goal, with the lines and toggles that they must reach, and why.
const BELOW: &[(&str, f64, f64, &str)] = &[
    ("float_table", 92.0, TOGGLES, "the default of a table that is full"),
    ("job_controller", 93.0, TOGGLES, "memory seldom falls silent just while a command is offered"),
    ("operand_check", 94.0, TOGGLES, "`again` is never high with counts of one bit"),
    ("layer_norm", LINES, 88.0, CARRIES),
    ("row_adder", LINES, 88.0, CARRIES),
    ("row_product", LINES, 85.0, CARRIES),
    ("row_reciprocal", LINES, 81.0, CARRIES),
    ("power_lane", LINES, 76.0, CARRIES),
    ("square_lane", LINES, 80.0, CARRIES),
    ("scale_lane", LINES, 83.0, CARRIES),
    ("share_lane", LINES, 79.0, CARRIES),
    ("scale_zero_buffer", LINES, 88.0, "the address of the only level"),
    ("crc32", LINES, 58.0, MATRIX),
    ("kv_packer", LINES, 77.0, MATRIX),
    ("cache_reader", LINES, 82.0, MATRIX),
    ("kv_decompressor", LINES, 73.0, MATRIX),
];

const CARRIES: &str = "ends of partial products and of carries in `row_product` and `row_adder` that are constant";

const MATRIX: &str = "the matrix of the checksum, whose columns are constant";

fn floors(block: &str) -> (f64, f64) {
    let below = BELOW.iter().find(|(name, ..)| *name == block);
    below.map_or((LINES, TOGGLES), |(_, lines, toggles, _)| (*lines, *toggles))
}

/// Rows with mutants, and with lines and toggles, that the table has at least; it has a row for each block in any case.
const MEASURED: (usize, usize) = (97, 97);

#[test]
fn the_table_is_whole_and_above_its_floors() {
    let rows = rows();
    let blocks: Vec<_> = blocks().iter().map(|entry| entry.about().name).collect();
    let mut wrong = String::new();
    for block in &blocks {
        let Some(row) = rows.get(*block) else {
            wrong += &format!("{block} has no row: `SNAPSHOTS=overwrite` makes it, see gen/tests/blocks/trust.rs\n");
            continue;
        };
        let (lines, toggles) = floors(block);
        if let Some(Reached { line, toggle, .. }) = row.reached
            && (line.percent() < lines || toggle.percent() < toggles)
        {
            wrong += &format!("{block} reaches {line} of lines and {toggle} of toggles, not {lines} and {toggles} %\n");
        }
        let (noticed, judged) = noticed(row);
        // A row of few mutants says little about one of them.
        if judged - noticed > may_live(block, judged, usize::from(judged < 100)) {
            wrong += &format!("{block} notices {noticed} of {judged} mutants\n");
        }
    }
    for block in rows.keys().filter(|name| !blocks.contains(&name.as_str())) {
        wrong += &format!("{block} is no block of the catalogue\n");
    }
    for (block, ..) in BELOW {
        if rows[*block].reached.is_some_and(|r| r.line.percent() >= LINES && r.toggle.percent() >= TOGGLES) {
            wrong += &format!("{block} reaches the goal and must leave the list BELOW\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let mutants = rows.values().filter(|row| row.mutants.is_some()).count();
    let reached = rows.values().filter(|row| row.reached.is_some()).count();
    assert!((mutants >= MEASURED.0) & (reached >= MEASURED.1), "{mutants} and {reached} rows");
    // All blocks together, without blocks that are known to be below the goal or have no proofs.
    let apart = |block: &str| mutants_below().any(|name| name == block);
    let judged = rows.iter().filter(|(block, _)| !apart(block)).map(|(_, row)| noticed(row));
    let (noticed, all) = judged.fold((0, 0), |(noticed, all), (n, j)| (noticed + n, all + j));
    assert!(noticed as f64 >= GOAL * all as f64, "{noticed} of {all}");
}

/// Mutants that were noticed, and mutants that are not proved equivalent.
fn noticed(row: &Row) -> (usize, usize) {
    row.mutants.map_or((0, 0), |[tested, equivalent, noticed]| (noticed, tested - equivalent))
}

/// Measures the figures of a row again, with as many vectors.
fn measure(entry: &dyn Entry, vectors: Option<u64>) -> Result<Reached, String> {
    let (params, design) = mutation::configuration(entry).map_err(|e| e.to_string())?;
    let (vectors, found) = coverage::measure(entry, &params, &design, vectors).map_err(|e| e.to_string())?;
    Ok(Reached { line: found.line(), toggle: found.toggle(), vectors })
}

/// Not below the table.
fn holds(block: &str, now: &Reached, row: &Reached) -> Result<(), String> {
    let fewer = |now: Ratio, row: Ratio| now.hit * row.total < row.hit * now.total;
    match fewer(now.line, row.line) || fewer(now.toggle, row.toggle) {
        true => Err(format!(
            "lines {}, toggles {}: docs/catalogue.md has {} and {}; `senbazuru coverage {block}` names what is missed",
            now.line, now.toggle, row.line, row.toggle
        )),
        false => Ok(()),
    }
}

/// Two blocks, and one of twelve in a full run.
#[test]
fn some_blocks_reach_what_the_table_says() {
    let rows = rows();
    let blocks: Vec<_> = blocks().into_iter().step_by(12).collect();
    let some = seeds::some(&blocks, 2).into_iter();
    on_all_cores(some.map(|entry| (entry.about().name.to_owned(), entry)).collect(), |entry| {
        let block = entry.about().name;
        match rows.get(block).and_then(|row| row.reached) {
            Some(reached) => holds(block, &measure(&***entry, Some(reached.vectors))?, &reached),
            None => Ok(()),
        }
    });
}

#[tag(release)]
#[test]
#[ignore = "minutes: a model of each block"]
fn all_blocks_reach_what_the_table_says() {
    let (old, page) = (rows(), Mutex::new(()));
    let work = chosen().into_iter().map(|entry| (entry.about().name.to_owned(), entry)).collect();
    on_all_cores(work, |entry| {
        let block = entry.about().name;
        let now = measure(&**entry, None)?;
        if renews() {
            let _one_writes = page.lock().unwrap();
            renew(|name, row| {
                if name == block {
                    row.reached = Some(now);
                }
            });
            return Ok(());
        }
        old.get(block).and_then(|row| row.reached).map_or(Ok(()), |reached| holds(block, &now, &reached))
    });
}
