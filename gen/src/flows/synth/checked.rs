//! Does the netlist in cells of a library do the same as its source?

use std::time::Duration;

use sim::SourceFile;

use crate::error::{Failure, Result};
use crate::flows::equal::{self, How, Side, Verdict};
use crate::flows::liberty::{self, Library};
use crate::flows::lint::Sources;

/// Proves that a netlist does the same as its sources. The models of the cells come from their functions in the
/// library, not from Yosys.
///
/// # Errors
/// A netlist that does something else, which is the fault of the mapping: the error says in which cycle and where. No answer
/// in time. A cell without a function.
pub fn prove(sources: &Sources, reset: Option<&str>, netlist: &str, library: &Library, limit: Duration) -> Result<How> {
    let bad = |what: String| Failure::Usage(format!("{}: {what}", library.place()));
    let models = liberty::models(&liberty::parse(&library.text).map_err(bad)?);
    let file = |name: &str, text: String| SourceFile { name: name.into(), text };
    // The line of an instance begins with its cell.
    let words: std::collections::BTreeSet<&str> =
        netlist.lines().filter_map(|line| line.split_whitespace().next()).map(|w| w.trim_start_matches('\\')).collect();
    let used: String =
        models.iter().filter(|(cell, _)| words.contains(cell.as_str())).map(|(_, m)| m.as_str()).collect();
    let top = Some(sources.top.clone());
    let rtl = Side { name: "the source", files: sources.files.clone(), top: top.clone(), boxes: vec![] };
    let files = vec![file("netlist.v", netlist.to_owned()), file("cells.v", used)];
    let mapped = Side { name: "the netlist", files, top, boxes: vec![] };
    let options =
        equal::Options { reset: reset.map(str::to_owned), cycles: 20, limit, registers_only: false, trace: None };
    match equal::compare(&rtl, &mapped, &options)? {
        Verdict::Equal { how } => Ok(how),
        Verdict::Open { why } => Err(Failure::NoAnswer(format!(
            "it is not known whether the netlist of {} does what the source does, so its figures are not shown: {why}",
            sources.top
        ))),
        Verdict::Differ { cycle, outputs, .. } => {
            Err(wrong(sources, library, &format!("in cycle {cycle} from reset, {} differs", outputs.join(", "))))
        }
        Verdict::Ports { what } => Err(wrong(sources, library, &what)),
    }
}

fn wrong(sources: &Sources, library: &Library, what: &str) -> Failure {
    Failure::Usage(format!(
        "the installed Yosys maps {} wrongly to the cells of {}: {what}; another version of Yosys or another library may do better",
        sources.top,
        library.place()
    ))
}
