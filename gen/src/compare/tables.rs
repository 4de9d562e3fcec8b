//! The tables of a comparison: machines, costs, and who is the fastest.

use models::cycles::comparison::Race;

use super::{Cell, Energy, EnergyPart, Found};
use crate::error::{Failure, Result};
use crate::present::numbers::significant;
use crate::present::report;
use crate::present::table::Table;

/// Plain text for a terminal.
///
/// # Errors
/// A step of a ladder with an event that its machine does not make.
pub fn text(found: &Found<'_>) -> Result<String> {
    let tables: Vec<String> = tables(found)?.iter().map(report::table).collect();
    Ok(format!("{}\n\n{}{}{}", found.comparison.title, tables.join("\n"), unfit(found), unused(found)))
}

/// The same tables for a document.
///
/// # Errors
/// As [`text`] has them.
pub fn markdown(found: &Found<'_>) -> Result<String> {
    Ok(tables(found)?.iter().map(Table::markdown).collect::<Vec<_>>().join("\n"))
}

/// The steps of ladders, if there are any.
fn steps(found: &Found<'_>) -> Result<Option<Table>> {
    let mut table = Table::new(["step", "paper", "here", "why"]);
    for (step, ratio) in found.steps()? {
        let here = ratio.map(|ratio| significant(ratio, 3)).unwrap_or_default();
        table.row([step.name.clone(), step.paper.clone(), here, step.why.clone()]);
    }
    Ok((!table.is_empty()).then_some(table))
}

/// The table of steps alone, as a document has it or for a terminal.
///
/// # Errors
/// There are no steps, or one has an event that its machine does not make.
pub fn steps_alone(found: &Found<'_>, in_markdown: bool) -> Result<String> {
    let none = || Failure::Usage(format!("{}: no step; give it [[step]]", found.comparison.place));
    let table = steps(found)?.ok_or_else(none)?;
    Ok(if in_markdown { table.markdown() } else { report::table(&table) })
}

/// Why machines have no room for some work, each reason once.
fn unfit(found: &Found<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for cell in found.cells() {
        if let Err(reason) = cell.cost {
            let line = format!("{}: {reason}", found.comparison.machines[cell.machine].name);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if lines.is_empty() { String::new() } else { format!("\nno room (-):\n  {}\n", lines.join("\n  ")) }
}

/// Energies that nothing needs: their names may be wrong.
fn unused(found: &Found<'_>) -> String {
    let lines = found.unused();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\nenergies of events that nothing makes:\n  {}\n", lines.join("\n  "))
    }
}

fn tables(found: &Found<'_>) -> Result<Vec<Table>> {
    let mut all = vec![machines(found), costs(found)];
    all.extend(energies(found));
    all.push(winners(found));
    all.extend(steps(found)?);
    Ok(all)
}

/// Energies by part, at the bandwidth in the middle, where any are known. Parts that take nothing are left out.
fn energies(found: &Found<'_>) -> Option<Table> {
    let bandwidth = found.middle();
    let all: Vec<(Cell<'_>, Option<Energy>)> =
        found.shown().into_iter().map(|cell| (cell, found.energy(&cell, bandwidth))).collect();
    let takes = |part: &EnergyPart| all.iter().any(|(_, energy)| energy.is_some_and(|energy| energy.of(*part) > 0.0));
    let parts: Vec<EnergyPart> = EnergyPart::ALL.into_iter().filter(takes).collect();
    let first = [format!("µJ at {bandwidth} B a cycle"), "accelerator".to_owned()];
    let last = ["all", "for a token"];
    let names = parts.iter().map(|part| part.name()).chain(last);
    let headings = first.into_iter().chain(names.map(str::to_owned)).collect();
    let row = |(one, energy): &(Cell<'_>, Option<Energy>)| -> Vec<String> {
        let work_of = one.job.work();
        let tokens = (work_of.sequences * work_of.tokens) as f64;
        let numbers = energy.map(|energy| {
            let total = energy.total();
            let numbers = parts.iter().map(|part| energy.of(*part)).chain([total, total / tokens]);
            numbers.map(|picojoules| significant(picojoules / 1e6, 3)).collect()
        });
        let numbers = numbers.unwrap_or_else(|| vec!["-".to_owned(); parts.len() + last.len()]);
        [work(found, one), found.comparison.machines[one.machine].name.clone()].into_iter().chain(numbers).collect()
    };
    let some = found.comparison.machines.iter().any(|machine| machine.energy.is_some());
    some.then(|| Table::of(headings, all.iter().map(row).collect()))
}

/// The work of the first machine's row; the rows below do not repeat it.
fn work(found: &Found<'_>, one: &Cell<'_>) -> String {
    let comparison = found.comparison;
    match (one.machine, &comparison.models[..]) {
        (0, [_]) => one.job.words(),
        (0, models) => format!("{}: {}", comparison.what(&models[one.model]), one.job.words()),
        _ => String::new(),
    }
}

fn cell(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn machines(found: &Found<'_>) -> Table {
    let all = &found.comparison.machines;
    let mut notes: Vec<&str> = Vec::new();
    for (name, _) in all.iter().flat_map(|machine| &machine.notes) {
        if !notes.contains(&name.as_str()) {
            notes.push(name);
        }
    }
    let first = ["accelerator", "logic, mm²", "copies", "memory of one, Mbit", "products a cycle of one"];
    let headings = first.into_iter().chain(notes.iter().copied()).chain(["from"]).map(str::to_owned).collect();
    let row = |(number, machine): (usize, &super::Machine)| -> Vec<String> {
        let number_of = |value: Option<f64>, decimals: usize| value.map(|x| format!("{x:.decimals$}"));
        let note = |name: &&str| machine.notes.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
        let source = if machine.source.is_empty() { found.rows[number].about.clone() } else { machine.source.clone() };
        let first = [
            machine.name.clone(),
            number_of(machine.area, 0).unwrap_or_default(),
            format!("{:.2}", found.copies[number]),
            number_of(machine.memory, 1).unwrap_or_default(),
            found.rows[number].peak.to_string(),
        ];
        let notes = notes.iter().map(|name| note(name).unwrap_or_default());
        first.into_iter().chain(notes).chain([source]).map(cell).collect()
    };
    Table::of(headings, all.iter().enumerate().map(row).collect())
}

fn costs(found: &Found<'_>) -> Table {
    let comparison = found.comparison;
    let what = match &comparison.models[..] {
        [model] => comparison.what(model),
        _ => "work".to_owned(),
    };
    let first = [what.as_str(), "accelerator", "cycles of one", "MB moved", "busy"].map(str::to_owned);
    let headings = first.into_iter().chain(comparison.bandwidths.iter().map(|b| format!("{b} B"))).collect();
    let mut rows = Vec::new();
    for one in found.shown() {
        let mut row = vec![work(found, &one), comparison.machines[one.machine].name.clone()];
        match one.cost {
            Ok(cost) => {
                let busy = found.busy(one.machine, cost);
                row.extend([cost.cycles.to_string(), format!("{:.1}", cost.bytes as f64 / 1e6), format!("{busy:.2}")]);
            }
            Err(_) => row.extend(["-", "-", "-"].map(str::to_owned)),
        }
        let time = |&bandwidth: &f64| found.time(&one, bandwidth).map(|(time, _)| format!("{time:.0}"));
        row.extend(comparison.bandwidths.iter().map(|bandwidth| time(bandwidth).unwrap_or_else(|| "-".to_owned())));
        rows.push(row);
    }
    Table::of(headings, rows)
}

fn winners(found: &Found<'_>) -> Table {
    let comparison = found.comparison;
    let bandwidths = comparison.bandwidths.iter().map(|b| format!("{b} B a cycle"));
    let first = ["fastest, how much, why", "context"].map(str::to_owned);
    let headings = first.into_iter().chain(bandwidths).collect();
    let (mut rows, mut last): (Vec<Vec<String>>, _) = (Vec::new(), String::new());
    for winners in found.winners().chunks(comparison.bandwidths.len()) {
        let Some(one) = winners.first() else { continue };
        let group = match &comparison.models[..] {
            [_] => one.job.group(),
            models => format!("{}: {}", comparison.what(&models[one.model]), one.job.group()),
        };
        let shown = if group == last { String::new() } else { group.clone() };
        last = group;
        let end = |race: &Race| match *race {
            Race::Nobody => "-".to_owned(),
            Race::Even => "as fast".to_owned(),
            Race::Won { by, ratio, why } => {
                let name = &comparison.machines[by].name;
                if ratio.is_infinite() {
                    format!("{name} alone: {}", why.name())
                } else {
                    format!("{name} {ratio:.2}: {}", why.name())
                }
            }
        };
        let ends = winners.iter().map(|winner| end(&winner.race));
        rows.push([shown, one.job.context.to_string()].into_iter().chain(ends).collect());
    }
    Table::of(headings, rows)
}
