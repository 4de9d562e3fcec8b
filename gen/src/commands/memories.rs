//! `memories`: the memories of a block, in SRAM macros or in flip-flops.

use std::path::PathBuf;

use serde_json::json;

use super::target::Target;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::flows::sram::{self, Made, Placed, Table as Macros};
use crate::params::show;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// SRAM macros: a table of this program (gf180mcu), or a TOML file
    #[arg(long, value_name = "TABLE", default_value = "gf180mcu")]
    sram: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Square micrometres of a square millimetre.
const UM2: f64 = 1e6;

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let (entry, params) = args.target.resolve(catalogue)?;
    let macros = Macros::open(&args.sram)?;
    let manifest = entry.elaborate(&params)?.manifest();
    let placed = macros.place(&manifest);
    let sum = sram::sum(&placed);
    let block = entry.about().name;
    if args.json {
        let all = json!({
            "block": block, "parameters": params, "table": macros.title, "memories": placed, "sum": sum,
        });
        return report::json(&all);
    }
    let mut text = format!("{block}: {}\n\n", show(&params));
    if placed.is_empty() {
        return report::print(&(text + "it has no memory\n"));
    }
    let mut table = Table::new(["module", "memory", "words", "bits", "instances", "macros of one", "made of", "mm²"]);
    for one in &placed {
        let Placed { module, memory, words, bits, instances, made } = one;
        let (count, what, area) = match made {
            Made::Macros(made) => {
                let area = *instances as f64 * made.area / UM2;
                (made.count.to_string(), made.name.clone(), format!("{area:.3}"))
            }
            Made::FlipFlops(why) => (String::new(), format!("flip-flops: {why}"), String::new()),
        };
        let numbers = [words, bits, instances].map(u64::to_string);
        let [words, bits, instances] = numbers;
        table.row([module.clone(), memory.clone(), words, bits, instances, count, what, area]);
    }
    text += &report::table(&table);
    text += &format!(
        "\n{} bits in {} macros of {}: {:.3} mm² without wires between them, a clock of {:.2} ns at least\n",
        sum.macro_bits,
        sum.macros,
        macros.title,
        sum.area / UM2,
        sum.cycle_ns
    );
    text += &format!("{} bits in flip-flops, which `synth` counts\n", sum.flip_flop_bits);
    let one_port = |one: &&Placed| matches!(&one.made, Made::Macros(made) if !made.reads_and_writes);
    if placed.iter().any(|one| one_port(&one)) {
        text += "a macro of one port reads or writes in a cycle: what does both at once needs two ports or two banks\n";
    }
    report::print(&text)
}
