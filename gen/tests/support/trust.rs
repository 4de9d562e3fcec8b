//! The table of docs/catalogue.md: mutants that the bench of each block notices, and lines and toggles that it reaches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use senbazuru::catalogue::{Catalogue, Known};
use sim::Ratio;

/// The blocks of the table. It has no accelerators, since they are made of these blocks.
pub fn blocks() -> Vec<Known> {
    Catalogue::standard().all().to_vec().into_iter().filter(|entry| !entry.is_accelerator()).collect()
}

/// The blocks that `SENBAZURU_BLOCKS=softmax,kv_packer` names, or all.
pub fn chosen() -> Vec<Known> {
    let Ok(names) = std::env::var("SENBAZURU_BLOCKS") else { return blocks() };
    let names: Vec<&str> = names.split(',').collect();
    let chosen: Vec<_> = blocks().into_iter().filter(|entry| names.contains(&entry.about().name)).collect();
    assert_eq!(chosen.len(), names.len(), "SENBAZURU_BLOCKS: not all of {names:?} have a row in docs/catalogue.md");
    chosen
}

/// The share that a bench must notice of all mutants that are not proved equivalent.
pub const GOAL: f64 = 0.99;

/// Blocks below the goal, with the share that they must reach and why. A block that reaches the goal leaves the list.
pub const BELOW: &[(&str, f64, &str)] = &[
    (
        "kv_compressor",
        0.98,
        "a bit of a rest and a bit of the tiles inside, which no stream seems to show: no proof decides",
    ),
    ("inverse_root", 0.97, "bits 36 of a trial and of a rest, and a bit of a half, of which no proof decides"),
    ("rms_norm", 0.98, "two late bits of the root's rest"),
    ("layer_norm", 0.93, "late digits of the root and low bits of sums, which only a tie of the last rounding shows"),
    ("vector_unit", 0.90, "its norm: late digits of the root and low bits of sums, which only a tie shows"),
];

/// The share of mutants that the bench of a block must notice.
pub fn floor(block: &str) -> f64 {
    BELOW.iter().find(|(name, ..)| *name == block).map_or(GOAL, |(_, share, _)| *share)
}

/// Blocks that need not reach the goal.
pub fn mutants_below() -> impl Iterator<Item = &'static str> {
    BELOW.iter().map(|below| below.0)
}

/// How many mutants of so many may live.
pub fn may_live(block: &str, judged: usize, spare: usize) -> usize {
    ((1.0 - floor(block)) * judged as f64) as usize + spare
}

/// A row of the table; `None` is a dash: not measured.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Mutants that were tested, that are proved equivalent, that were noticed.
    pub mutants: Option<[usize; 3]>,
    pub reached: Option<Reached>,
}

/// The coverage of a run.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    pub line: Ratio,
    pub toggle: Ratio,
    pub vectors: u64,
}

fn page() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "docs", "catalogue.md"].iter().collect()
}

const BEGIN: &str = "<!-- trust -->\n";
const END: &str = "<!-- /trust -->\n";

/// The rows by block.
pub fn rows() -> BTreeMap<String, Row> {
    let text = std::fs::read_to_string(page()).unwrap();
    let table = text.split_once(BEGIN).unwrap().1.split_once(END).unwrap().0;
    let lines = table.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| row(line).unwrap_or_else(|| panic!("docs/catalogue.md: not a row: {line}"))).collect()
}

fn row(line: &str) -> Option<(String, Row)> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [block, tested, equivalent, noticed, _, line, toggle, vectors] = cells[..] else { return None };
    let numbers = [tested, equivalent, noticed].map(|cell| cell.parse().ok());
    let mutants = match numbers {
        [Some(a), Some(b), Some(c)] => Some([a, b, c]),
        _ => None,
    };
    let reached = match vectors.parse() {
        Ok(vectors) => Some(Reached { line: ratio(line)?, toggle: ratio(toggle)?, vectors }),
        Err(_) => None,
    };
    Some((block.trim_matches('`').to_owned(), Row { mutants, reached }))
}

/// `50.0 % (1/2)`.
fn ratio(cell: &str) -> Option<Ratio> {
    let (hit, total) = cell.split_once('(')?.1.trim_end_matches(')').split_once('/')?;
    Some(Ratio { hit: hit.parse().ok()?, total: total.parse().ok()? })
}

/// Whether the committed table is to be renewed.
pub fn renews() -> bool {
    std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite")
}

/// Writes the table again with the new measurements, one row for each block of the catalogue.
pub fn renew(measured: impl Fn(&str, &mut Row)) {
    let (old, text) = (rows(), std::fs::read_to_string(page()).unwrap());
    let mut table = String::from(
        "| block | mutants | equivalent | noticed | share | lines | toggles | vectors |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for entry in blocks() {
        let block = entry.about().name;
        let mut row = old.get(block).cloned().unwrap_or_default();
        measured(block, &mut row);
        let mutants = row.mutants.map_or("- | - | - | -".to_owned(), |[tested, equivalent, noticed]| {
            let share = Ratio { hit: noticed, total: tested - equivalent }.percent();
            format!("{tested} | {equivalent} | {noticed} | {share:.1} %")
        });
        let reached = row.reached.map_or("- | - | -".to_owned(), |reached| {
            format!("{} | {} | {}", reached.line, reached.toggle, reached.vectors)
        });
        let _ = writeln!(table, "| `{block}` | {mutants} | {reached} |");
    }
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let after = rest.split_once(END).unwrap().1;
    std::fs::write(page(), format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
}
