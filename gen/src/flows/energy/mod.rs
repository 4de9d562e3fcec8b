//! Energy of a block in the cells of a library, with the activity of its own testbench.
//!
//! The design is mapped to cells. The block's testbench simulates the netlist and checks it against the golden model.
//! The transitions of every net are counted. Then
//!
//! - a net takes C V^2 / 2 for each transition, C being the pins on it;
//! - a cell takes its internal energy from the library's tables for each transition of its pins. The tables are read at
//!   the load of the output and at the transition time that the library gives for the edge;
//! - leakage is a power, and reported apart.
//!
//! Not included are wires, a clock tree, glitches (the simulation has no delays), and the memories that a real design
//! would have instead of flip-flops. So the figures compare designs; they are not the energy of a chip.

mod activity;
mod library;
mod netlist;

pub use activity::{Toggles, count};
pub use library::{Cell, Cells};
pub use netlist::{Instance, Net, Netlist};

use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;

use serde::Serialize;
use sim::{Bench, Design, RunOptions, Trace};

use crate::error::{Failure, Result};
use crate::flows::liberty;
use crate::flows::lint::Sources;
use crate::flows::synth;
use crate::flows::workspace::Workspace;
use crate::params::plain;
use crate::shell;

/// Joules of a run, by where they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    /// The clock net, and the flip-flops' clock pins.
    pub clock: f64,
    /// Outputs and data pins of flip-flops, and the nets that they drive.
    pub flip_flops: f64,
    /// All other cells, and the nets that they drive.
    pub logic: f64,
    /// The nets of the other input ports.
    pub inputs: f64,
    /// Of all of this, the part inside of cells (the rest charges nets).
    pub internal: f64,
}

impl Energy {
    /// Everything.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.clock + self.flip_flops + self.logic + self.inputs
    }
}

/// The measured energy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the library in its file.
    pub library: String,
    /// Supply in volts.
    pub volts: f64,
    /// Cells of the netlist.
    pub cells: usize,
    /// Cycles of the run, pauses at the ports included.
    pub cycles: u64,
    /// Test vectors of the run.
    pub vectors: u64,
    /// Joules of the run.
    pub energy: Energy,
    /// Watts while nothing moves; none when the library does not say it of a single cell.
    pub leakage: Option<f64>,
}

/// Measures a design with its testbench.
///
/// # Errors
/// A missing tool; a library without the data; a netlist that differs from the golden model.
pub fn measure(design: &Design, bench: &dyn Bench, library: &[PathBuf], options: &RunOptions) -> Result<Report> {
    let found = liberty::open(library)?;
    let bad = |what: String| Failure::Usage(format!("{}: {what}", found.place()));
    let cells = Cells::read(&liberty::parse(&found.text).map_err(bad)?).map_err(bad)?;
    let netlist =
        Netlist::read(&synth::netlist(&design.files, &design.top, &found)?, &design.top, &cells).map_err(bad)?;
    let waves = Workspace::new()?;
    let mapped = Design { files: netlist.verilog(&cells), ..design.clone() };
    let run = RunOptions {
        trace: Trace::Vcd,
        waves: Some(waves.path(".")),
        command: Some(repeat(bench, library, options)),
        ..options.clone()
    };
    let report = sim::run(bench, &mapped, &run).map_err(|e| blame(e, design, bench, &found.place(), options))?;
    let path = report.waveform.ok_or_else(|| Failure::NoAnswer("the simulation left no waveform".into()))?;
    let unread = |e: String| Failure::NoAnswer(format!("cannot read {}: {e}", path.display()));
    let file = fs::File::open(&path).map_err(|e| unread(e.to_string()))?;
    let toggles = count(BufReader::new(file)).map_err(unread)?;
    let slew = input_transition(&cells, found.driver.as_deref());
    Ok(Report {
        library: found.name,
        volts: cells.volts,
        cells: netlist.instances.len(),
        cycles: report.cycles,
        vectors: options.vectors,
        energy: sum(&netlist, &cells, &toggles, slew),
        leakage: netlist
            .instances
            .iter()
            .filter_map(|i| cells.cells[&i.cell].leakage)
            .fold(None, |sum, watts| Some(sum.unwrap_or(0.0) + watts)),
    })
}

/// The design in cells of a library, module by module, as the simulator takes it, and how many cells it has.
///
/// # Errors
/// A missing tool; a design or a library that Yosys rejects.
pub fn in_cells(design: &hdl::lang::Design, library: &liberty::Library) -> Result<(Design, usize)> {
    let bad = |what: String| Failure::Usage(format!("{}: {what}", library.place()));
    let cells = Cells::read(&liberty::parse(&library.text).map_err(bad)?).map_err(bad)?;
    let (sources, simulated) = (Sources::from(design), Design::from(design));
    let jobs = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let json = synth::netlist_by_modules(&sources, library, jobs)?;
    let netlist = Netlist::read(&json, &simulated.top, &cells).map_err(bad)?;
    Ok((Design { files: netlist.verilog(&cells), ..simulated }, netlist.instances.len()))
}

/// Who is to blame for a netlist that fails: the design, when it fails by itself as well; otherwise the mapping.
fn blame(error: sim::Error, design: &Design, bench: &dyn Bench, library: &str, options: &RunOptions) -> Failure {
    // Did the netlist fail at all?
    if !error.is_verdict() {
        return error.into();
    }
    if let Err(own) = sim::run(bench, design, options) {
        return own.into();
    }
    let what = match error {
        // Its waveform was in a folder that is gone, and held only numbered nets.
        sim::Error::Mismatch(mut mismatch) => {
            (mismatch.waveform, mismatch.waveform_note) = (None, None);
            mismatch.to_string()
        }
        other => other.to_string(),
    };
    Failure::Usage(format!(
        "the installed Yosys maps {} wrongly to the cells of {}: the Verilog agrees with the golden model, the netlist \
         does not; another version of Yosys or another library may do better:\n{what}",
        design.top, library
    ))
}

/// The command that measures again.
fn repeat(bench: &dyn Bench, library: &[PathBuf], options: &RunOptions) -> String {
    let mut words = vec![shell::program().to_owned(), "energy".into(), bench.block().into()];
    for (name, value) in bench.parameters().as_object().into_iter().flatten() {
        words.extend(["--set".into(), format!("{name}={}", plain(value))]);
    }
    let [vectors, seed] = [options.vectors, options.seed].map(|n| n.to_string());
    words.extend(["--vectors".into(), vectors, "--seed".into(), seed]);
    words.extend(library.iter().flat_map(|file| ["--liberty".into(), file.display().to_string()]));
    shell::line(&words)
}

/// Transition time at the input ports: the one of the library's weakest driver with four of its own inputs as load.
#[must_use]
pub fn input_transition(cells: &Cells, driver: Option<&str>) -> f64 {
    let Some(cell) = driver.and_then(|name| cells.cells.get(name)) else { return 0.0 };
    let load = 4.0 * cell.inputs.values().map(|i| i.capacitance).sum::<f64>();
    let Some(output) = cell.outputs.values().next() else { return 0.0 };
    let load = load + output.capacitance;
    // Driven by another of its kind: a few rounds settle.
    (0..8).fold(0.0, |transition, _| output.transition(|_| transition, load))
}

/// Adds up the energy of `toggles`; `slew` is the transition time at the input ports, in seconds.
#[must_use]
pub fn sum(netlist: &Netlist, cells: &Cells, toggles: &Toggles, slew: f64) -> Energy {
    let mut loads: BTreeMap<Net, f64> = BTreeMap::new();
    for instance in &netlist.instances {
        for (pin, net) in &instance.pins {
            let cell = &cells.cells[&instance.cell];
            let input = cell.inputs.get(pin).map(|input| input.capacitance);
            let output = cell.outputs.get(pin).map(|output| output.capacitance);
            *loads.entry(*net).or_default() += input.or(output).unwrap_or(0.0);
        }
    }
    let load = |net: &Net| loads.get(net).copied().unwrap_or(0.0);
    let transitions = transitions(netlist, cells, &loads, slew);
    let transition = |net: &Net| transitions.get(net).copied().unwrap_or(slew);
    let toggles_of = |net: &Net| toggles.get(net).copied().unwrap_or(0) as f64;
    let charge = |net: &Net| toggles_of(net) * load(net) * cells.volts * cells.volts / 2.0;
    let clocks = netlist.clocks(cells);
    let mut energy = Energy::default();
    for net in netlist.inputs() {
        *if clocks.contains(&net) { &mut energy.clock } else { &mut energy.inputs } += charge(&net);
    }
    for instance in &netlist.instances {
        let cell = &cells.cells[&instance.cell];
        let clock_pins = cell.state.as_ref().map(|s| s.clock.names()).unwrap_or_default();
        let mut inside = 0.0;
        let mut outside = 0.0;
        for (pin, net) in &instance.pins {
            if let Some(input) = cell.inputs.get(pin) {
                let each = average(input.power.iter().map(|p| (1.0, p.at(transition(net), 0.0))));
                if clock_pins.contains(pin.as_str()) {
                    energy.clock += toggles_of(net) * each;
                    energy.internal += toggles_of(net) * each;
                } else {
                    inside += toggles_of(net) * each;
                }
            } else if let Some(output) = cell.outputs.get(pin) {
                // Which input moved the output is weighed by how often each moves.
                let related = |p: &library::Power| p.related.as_ref().and_then(|name| instance.pins.get(name)).copied();
                let each = average(output.power.iter().map(|p| {
                    let net_of = related(p);
                    let weight = net_of.map_or(0.0, |n| toggles_of(&n));
                    (weight, p.at(net_of.map_or(slew, |n| transition(&n)), load(net)))
                }));
                inside += toggles_of(net) * each;
                outside += charge(net);
            }
        }
        *if cell.state.is_some() { &mut energy.flip_flops } else { &mut energy.logic } += inside + outside;
        energy.internal += inside;
    }
    energy
}

/// The mean with weights; the plain mean where all weights are zero, zero where there is nothing.
fn average(values: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let weights: f64 = values.clone().map(|(w, _)| w).sum();
    if weights > 0.0 {
        return values.map(|(w, v)| w * v).sum::<f64>() / weights;
    }
    let count = values.clone().count();
    if count == 0 { 0.0 } else { values.map(|(_, v)| v).sum::<f64>() / count as f64 }
}

/// Transition time of every net, from the input ports and flip-flops onwards.
fn transitions(netlist: &Netlist, cells: &Cells, loads: &BTreeMap<Net, f64>, slew: f64) -> BTreeMap<Net, f64> {
    let mut known: BTreeMap<Net, f64> = netlist.inputs().into_iter().map(|net| (net, slew)).collect();
    let mut waiting: Vec<&Instance> = netlist.instances.iter().collect();
    while !waiting.is_empty() {
        let (ready, later): (Vec<_>, Vec<_>) = waiting.iter().copied().partition(|instance: &&Instance| {
            let cell = &cells.cells[&instance.cell];
            cell.state.is_some()
                || instance.pins.iter().all(|(pin, net)| !cell.inputs.contains_key(pin) || known.contains_key(net))
        });
        if ready.is_empty() {
            // Nets that nothing drives.
            break;
        }
        for instance in ready {
            let cell = &cells.cells[&instance.cell];
            let of_input = |pin: &str| instance.pins.get(pin).and_then(|net| known.get(net)).copied().unwrap_or(slew);
            let outputs = cell.outputs.iter().filter_map(|(pin, output)| Some((*instance.pins.get(pin)?, output)));
            let found: Vec<_> = outputs
                .map(|(net, output)| (net, output.transition(of_input, loads.get(&net).copied().unwrap_or(0.0))))
                .collect();
            known.extend(found);
        }
        waiting = later;
    }
    known
}
