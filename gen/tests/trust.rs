//! The table of docs/trust.md is whole, above its floors, and true.
//!
//! `SNAPSHOTS=overwrite cargo test -p gen --test trust -- --ignored` counts lines and toggles of all blocks again, the same
//! with `--test mutation` their mutants.

mod support;

use std::sync::Mutex;

use senbazuru::registry::Entry;
use senbazuru::{coverage, mutation};
use sim::Ratio;
use support::on_all_cores;
use support::trust::{NOT_PROVED, Row, blocks, may_live, renew, renews, rows};

/// Lines and branches of which a bench must reach so many, in per cent.
const LINES: f64 = 90.0;

/// Bits that must have changed.
const TOGGLES: f64 = 90.0;

/// Blocks that are below, with what they must reach of lines and toggles, and why.
const BELOW: &[(&str, f64, f64, &str)] = &[];

fn floors(block: &str) -> (f64, f64) {
    let below = BELOW.iter().find(|(name, ..)| *name == block);
    below.map_or((LINES, TOGGLES), |(_, lines, toggles, _)| (*lines, *toggles))
}

#[test]
fn the_table_is_whole_and_above_its_floors() {
    let rows = rows();
    let blocks: Vec<_> = blocks().iter().map(|entry| entry.about().name).collect();
    let mut wrong = String::new();
    for block in &blocks {
        let Some(row) = rows.get(*block) else {
            wrong += &format!("{block} has no row: `SNAPSHOTS=overwrite` makes it, see gen/tests/trust.rs\n");
            continue;
        };
        if row.vectors == 0 {
            wrong += &format!("{block} was never measured\n");
        }
        let (lines, toggles) = floors(block);
        if row.line.percent() < lines || row.toggle.percent() < toggles {
            wrong += &format!(
                "{block} reaches {} of lines and {} of toggles, not {lines} and {toggles}\n",
                row.line, row.toggle
            );
        }
        let noticed = row.mutants.map_or(0, |[_, _, noticed]| noticed);
        if row.judged() - noticed > may_live(block, row.judged(), 1) {
            wrong += &format!("{block} notices {noticed} of {} mutants\n", row.judged());
        }
    }
    for block in rows.keys().filter(|name| !blocks.contains(&name.as_str())) {
        wrong += &format!("{block} is no block of the catalogue\n");
    }
    for (block, ..) in BELOW {
        let row = &rows[*block];
        if row.line.percent() >= LINES && row.toggle.percent() >= TOGGLES {
            wrong += &format!("{block} has left the list of those below\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Of all together, without those that have no proofs.
    let judged = rows.iter().filter(|(block, _)| NOT_PROVED.iter().all(|(name, _)| name != block));
    let (noticed, all) = judged.fold((0, 0), |(noticed, all), (_, row)| {
        (noticed + row.mutants.map_or(0, |[_, _, noticed]| noticed), all + row.judged())
    });
    assert!(100 * noticed >= 99 * all && all > 1500, "{noticed} of {all}");
}

/// Counts again what a row has, with as many vectors.
fn measure(entry: &dyn Entry, vectors: Option<u64>) -> Result<Row, String> {
    let (params, design) = mutation::configuration(entry).map_err(|e| e.to_string())?;
    let (vectors, found) = coverage::measure(entry, &params, &design, vectors).map_err(|e| e.to_string())?;
    Ok(Row { mutants: None, line: found.line(), toggle: found.toggle(), vectors })
}

/// Not below, of the same points.
fn holds(block: &str, now: &Row, row: &Row) -> Result<(), String> {
    let fewer = |now: Ratio, row: Ratio| now.hit * row.total < row.hit * now.total;
    if fewer(now.line, row.line) || fewer(now.toggle, row.toggle) {
        return Err(format!(
            "lines {}, toggles {}: docs/trust.md has {} and {}; `senbazuru coverage {block}` names what is missed",
            now.line, now.toggle, row.line, row.toggle
        ));
    }
    Ok(())
}

/// One block of twelve.
#[test]
fn some_blocks_reach_what_the_table_says() {
    let rows = rows();
    let some = blocks().into_iter().step_by(12);
    on_all_cores(some.map(|entry| (entry.about().name.to_owned(), entry)).collect(), |entry| {
        let block = entry.about().name;
        let row = rows.get(block).ok_or("no row")?;
        holds(block, &measure(&**entry, Some(row.vectors))?, row)
    });
}

#[test]
#[ignore = "minutes: a model of each block"]
fn large_all_blocks_reach_what_the_table_says() {
    let (old, page) = (rows(), Mutex::new(()));
    let work = blocks().into_iter().map(|entry| (entry.about().name.to_owned(), entry)).collect();
    on_all_cores(work, |entry| {
        let block = entry.about().name;
        let now = measure(&**entry, None)?;
        if renews() {
            let _one_writes = page.lock().unwrap();
            renew(|name, row| {
                if name == block {
                    *row = Row { mutants: row.mutants, ..now.clone() };
                }
            });
            return Ok(());
        }
        holds(block, &now, old.get(block).ok_or("no row")?)
    });
}
