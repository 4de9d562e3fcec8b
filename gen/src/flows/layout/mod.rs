//! A block as a layout: placed by graywolf, routed by qrouter, drawn and checked by magic, compared by netgen.
//!
//! We drive the tools ourselves, and not through qflow's scripts for csh. The netlist is the one of our synthesis, so it
//! is proved first, with all buffers that the layout adds. The scripts would make another one, and they know a design by
//! its file names, go on after a tool that died, and leave verdicts in logs. Rows, pins, supplies and the clock tree are
//! ours: graywolf only says which cell goes where.

mod checks;
mod def;
mod extract;
mod lef;
mod netlist;
mod picture;
mod placement;
mod report;
mod routed;
mod technology;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use hdl::emit::Manifest;
use sim::process::Output;

use crate::error::{Failure, Result};
use crate::flows::liberty::{self, Library};
use crate::flows::lint::Sources;
use crate::flows::synth::{netlist as synthesise, prove_netlist};
use crate::flows::timing;
use crate::flows::tools;
use crate::flows::workspace::{Workspace, last_lines};
pub use report::{Layout, Options, Report};

use checks::Rules;
use def::{Floor, Port, Supplies};
use netlist::Netlist;
use picture::{Drawing, Role};
use placement::{Place, Plan};
use routed::Wires;
use technology::Technology;

/// The tools that a layout needs, besides the ones of synthesis.
pub const TOOLS: [&str; 5] = ["graywolf", "qrouter", "magic", "netgen-lvs", "sta"];

/// The clock period in nanoseconds for which OpenSTA looks at paths. The least period does not depend on it.
const PERIOD: f64 = 10.0;

/// Name of the picture among the files.
pub const PICTURE: &str = "layout.svg";

/// A hash of all that a layout takes from a technology.
///
/// # Errors
/// It is not installed, or damaged.
pub fn fingerprint(technology: &Path) -> Result<String> {
    let found = technology::open(technology)?;
    let setup = found.setup();
    let mut hasher = blake3::Hasher::new();
    hasher.update(found.lef_text.as_bytes()).update(found.par.as_bytes());
    // The rules of magic are in a file of any name.
    let mut files: Vec<PathBuf> = fs::read_dir(&found.folder)
        .map_err(|e| Failure::file("read", &found.folder, &e))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "tech" || end == "sh"))
        .collect();
    files.sort();
    files.extend([found.liberty, found.magic, setup]);
    files.extend(found.gds);
    for file in files {
        let bytes = fs::read(&file).map_err(|e| Failure::file("read", &file, &e))?;
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Lays a block out.
///
/// # Errors
/// A missing tool or technology; a block with a black box or without cells, too large, or that does not do as the source;
/// nets without a route; a tool that died.
pub fn build(sources: &Sources, manifest: &Manifest, options: &Options) -> Result<Layout> {
    let technology = technology::open(&options.technology)?;
    // Before minutes of work.
    tools::versions(&TOOLS)?;
    let library = liberty::open(&[&technology.liberty])?;
    let mut netlist = cells(sources, manifest, options, &technology, &library)?;
    let top = netlist.top.clone();
    let broken = |what: String| Failure::NoAnswer(format!("the layout of {top}: {what}"));
    let clock = manifest.clock.as_deref();
    let reset = manifest.reset.as_deref();
    let paths = |netlist: &Netlist, spef: Option<&str>| {
        let verilog = netlist.placed_verilog();
        let question = timing::Question { netlist: &verilog, top: &netlist.top, clock, reset, period: PERIOD };
        let inputs: Vec<&str> = netlist.bits.iter().filter(|b| b.input).map(|b| b.name.as_str()).collect();
        let inputs: Vec<&str> = inputs.into_iter().filter(|name| clock != Some(*name)).collect();
        timing::paths(&question, &inputs, spef, &library)
    };
    let without_wires = paths(&netlist, None)?;
    netlist.part_ports(&technology.buffer);
    let work = Workspace::new()?;
    let trees: Vec<_> = [(clock, &technology.clock_buffer), (reset, &technology.buffer)]
        .into_iter()
        .filter_map(|(port, buffer)| {
            let bit = netlist.bits.iter().find(|bit| Some(bit.name.as_str()) == port)?;
            Some((bit.net, buffer))
        })
        .collect();
    // Buffers of the trees come when the rows are there, and are part of what fills them.
    let size = |cell: &str| technology.lef.macros[cell].size.0;
    let pins = netlist.pins();
    let added: i64 =
        trees.iter().map(|(net, b)| tree::buffers(pins[*net].len(), options.fanout) as i64 * size(&b.cell)).sum();
    let own: i64 = netlist.instances.iter().map(|instance| size(&instance.cell)).sum();
    let utilisation = options.utilisation * own as f64 / (own + added) as f64;
    let mut plan = place(&work, &netlist, &technology, utilisation, options)?;
    let width = placement::width(&plan, &netlist, &technology.lef, technology.site, utilisation).map_err(broken)?;
    let before = netlist.instances.len();
    let shape = tree::Shape { height: technology.row, width, most: options.fanout };
    for (net, buffer) in trees {
        tree::build(&mut netlist, &mut plan, &technology.lef, net, buffer, &shape)
            .map_err(|what| Failure::Check(format!("{top}: {what}")))?;
    }
    let trees = before..netlist.instances.len();
    let proved = prove_netlist(sources, reset, &netlist.verilog(), &library, options.proof)?;
    let places = placement::legal(&plan, &netlist, &technology.lef, technology.site, width).map_err(broken)?;
    let floor = def::floor(&technology, width, plan.rows.len(), (options.strap * 1000.0).round() as i64);
    let ports = def::ports(&netlist, &plan, &technology.lef, &floor)
        .map_err(|what| Failure::Check(format!("{top}: {what}")))?;
    let flipped = plan.rows.first().is_some_and(|row| row.flipped);
    let supplies = def::supplies(&technology, &floor, flipped).map_err(broken)?;
    let unrouted = def::write(&netlist, &places, &ports, &technology, &floor, flipped).map_err(broken)?;
    let routed = route(&work, &top, &unrouted, &technology, &supplies, options)?;
    let wires = routed::read(&routed).map_err(|what| broken(format!("what qrouter left: {what}")))?;
    let (length, vias) = routed::totals(&wires);
    let spef = extract::extract(&netlist, &places, &ports, &wires, &technology.lef, &floor).map_err(broken)?;
    let with_wires = paths(&netlist, Some(&spef.spef))?;
    let def = def::with_supplies(&routed, &supplies, &technology).map_err(broken)?;
    let drawn = draw(&work, &netlist, &def, &technology, options)?;
    let areas = |instance: &netlist::Instance| technology.lef.macros[&instance.cell].size;
    let area: i64 = netlist.instances.iter().map(|i| areas(i).0 * areas(i).1).sum();
    let cell_area_um2 = area as f64 / 1e6;
    let um = |nm: i64| nm as f64 / 1000.0;
    let core_um = (um(floor.width), um(floor.rows as i64 * floor.height));
    let die_um = (um(floor.die.0), um(floor.die.1));
    let report = Report {
        technology: technology.name.clone(),
        cells: netlist.instances.len(),
        tree_buffers: trees.len(),
        fill_cells: def::fill(&netlist, &places, &technology, &floor).len(),
        cell_area_um2,
        core_um,
        core_area_um2: core_um.0 * core_um.1,
        die_um,
        die_area_um2: die_um.0 * die_um.1,
        utilisation: cell_area_um2 / (core_um.0 * core_um.1),
        rows: floor.rows,
        nets: wires.len(),
        wire_um: um(length),
        vias,
        wire_pf: spef.farads,
        without_wires,
        with_wires,
        drc_violations: drawn.rules.violations,
        drc_rules: drawn.rules.by_rule,
        drawn_cells: technology.gds.is_some(),
        lvs_equal: drawn.equal,
        proved,
    };
    let svg = picture(
        &report,
        &netlist,
        &technology,
        &library,
        &Geometry { floor: &floor, places: &places, ports: &ports, supplies: &supplies, wires: &wires, trees },
    );
    let json = serde_json::to_string_pretty(&report).map_err(|e| Failure::Check(e.to_string()))?;
    let files = vec![
        (PICTURE, svg.into_bytes()),
        ("layout.gds", drawn.gds),
        ("layout.def", def.into_bytes()),
        ("netlist.v", netlist.placed_verilog().into_bytes()),
        ("netlist.spice", drawn.spice.into_bytes()),
        ("wires.spef", spef.spef.into_bytes()),
        ("report.json", (json + "\n").into_bytes()),
    ];
    Ok(Layout { report, files })
}

/// The netlist in cells of the technology.
fn cells(
    sources: &Sources,
    manifest: &Manifest,
    options: &Options,
    technology: &Technology,
    library: &Library,
) -> Result<Netlist> {
    let top = &sources.top;
    if let Some(module) = manifest.modules.iter().find(|m| m.black_box) {
        return Err(Failure::Usage(format!("{} is a black box, so nothing is known of its layout", module.name)));
    }
    let json = synthesise(&sources.files, top, library)?;
    let netlist = Netlist::read(&json, top)
        .map_err(|what| Failure::NoAnswer(format!("cannot understand the netlist of Yosys: {what}")))?;
    let cells = netlist.instances.len();
    if cells == 0 {
        return Err(Failure::Check(format!("{top} has no cells, so there is nothing to place")));
    }
    if cells > options.most {
        let parts: Vec<&str> = manifest.modules.iter().map(|m| m.name.as_str()).filter(|name| name != top).collect();
        let way = match parts.is_empty() {
            true => "take smaller parameters".to_owned(),
            false => format!("lay its parts out ({})", parts.join(", ")),
        };
        return Err(Failure::Check(format!(
            "{top} has {cells} cells, which is too large: the limit is {} cells; {way}, or allow more with --max-cells \
             and hours of time",
            options.most
        )));
    }
    for instance in &netlist.instances {
        placement::cell(&technology.lef, &instance.cell)
            .map_err(|what| Failure::Usage(format!("{}: {what}", technology.folder.display())))?;
    }
    Ok(netlist)
}

/// A tool, in a folder of its own that no setting of the user reaches.
fn run(work: &Workspace, program: &str, arguments: &[&str], options: &Options) -> Result<Output> {
    Ok(work.tool(program).args(arguments).env("HOME", ".").env("DISPLAY", "").timeout(options.limit).run()?)
}

/// What a tool left in a file, or the end of its log.
fn left(work: &Workspace, file: &str, program: &str, top: &str, output: &Output) -> Result<String> {
    work.read(file).map_err(|_| {
        let tail = last_lines(&output.log(), 8);
        Failure::NoAnswer(format!("{program} left no result for {top}:\n{tail}"))
    })
}

fn place(
    work: &Workspace,
    netlist: &Netlist,
    technology: &Technology,
    utilisation: f64,
    options: &Options,
) -> Result<Plan> {
    let broken = |what: String| Failure::NoAnswer(format!("the layout of {}: {what}", netlist.top));
    let cel = placement::cel(netlist, &technology.lef, technology.site, utilisation).map_err(broken)?;
    work.write("design.cel", &cel)?;
    work.write("design.par", &placement::par(&technology.par, options.seed, options.aspect))?;
    let output = run(work, "graywolf", &["-n", "design"], options)?;
    let text = left(work, "design.pl1", "graywolf", &netlist.top, &output)?;
    placement::read(&text, netlist).map_err(broken)
}

fn route(
    work: &Workspace,
    top: &str,
    def: &str,
    technology: &Technology,
    supplies: &Supplies,
    options: &Options,
) -> Result<String> {
    work.write("cells.lef", &technology.lef_text)?;
    work.write("design.def", def)?;
    let mut script = format!(
        "verbose 0\nread_lef cells.lef\nlayers {}\nvia stack {}\nvdd {}\ngnd {}\n",
        technology.lef.layers.len(),
        technology.stack,
        technology.power,
        technology.ground
    );
    for (_, layer, rect) in &supplies.bars {
        let [a, b, c, d] = rect.map(|nm| nm as f64 / 1000.0);
        script += &format!("obstruction {a} {b} {c} {d} {layer}\n");
    }
    script += "read_def design.def\nqrouter::standard_route routed.def false\nputs \"senbazuru failing [failing summary]\"\nquit\n";
    work.write("route.tcl", &script)?;
    let output = run(work, "qrouter", &["-nog", "-s", "route.tcl"], options)?;
    let log = output.log();
    let (failed, all) = failing(&log).ok_or_else(|| {
        let tail = last_lines(&log, 8);
        Failure::NoAnswer(format!("qrouter left no result for {top}:\n{tail}"))
    })?;
    if failed > 0 {
        let names = work.read("fail.out").unwrap_or_default();
        let names: Vec<&str> = names.lines().skip(1).map(str::trim).filter(|l| !l.is_empty()).take(5).collect();
        return Err(Failure::Check(format!(
            "qrouter left {failed} of {all} nets of {top} without a route ({}): ask for a lower utilisation, another \
             seed or another aspect ratio",
            names.join(", ")
        )));
    }
    left(work, "routed.def", "qrouter", top, &output)
}

/// `senbazuru failing 2 675`: nets without a route, and all nets.
fn failing(log: &str) -> Option<(usize, usize)> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("senbazuru failing "))?;
    let (failed, all) = line.trim().split_once(' ')?;
    Some((failed.parse().ok()?, all.parse().ok()?))
}

/// What magic and netgen leave.
struct Drawn {
    gds: Vec<u8>,
    spice: String,
    rules: Rules,
    equal: bool,
}

fn draw(work: &Workspace, netlist: &Netlist, def: &str, technology: &Technology, options: &Options) -> Result<Drawn> {
    let top = &netlist.top;
    work.write("final.def", def)?;
    if let Some(gds) = &technology.gds {
        work.link("cells.gds", gds)?;
    }
    work.write("draw.tcl", &checks::script(top, technology.gds.is_some()))?;
    let startup = technology.magic.display().to_string();
    let output = run(work, "magic", &["-dnull", "-noconsole", "-rcfile", &startup, "draw.tcl"], options)?;
    let died =
        |what: String| Failure::NoAnswer(format!("the layout of {top}: {what}:\n{}", last_lines(&output.log(), 8)));
    let rules = checks::rules(&output.log()).map_err(died)?;
    let drawn = format!("{top}.spice");
    left(work, &drawn, "magic", top, &output)?;
    let path = work.path("layout.gds");
    let mut gds = fs::read(&path).map_err(|e| died(format!("magic left no GDS file: {e}")))?;
    checks::timeless(&mut gds);
    let spice = checks::spice(netlist, technology).map_err(died)?;
    work.write("netlist.spice", &spice)?;
    let setup = technology.setup().display().to_string();
    let (one, other) = (format!("{drawn} {top}"), format!("netlist.spice {top}"));
    let output =
        run(work, "netgen-lvs", &["-batch", "lvs", &one, &other, &setup, "compared.out", "-blackbox"], options)?;
    let report = left(work, "compared.out", "netgen-lvs", top, &output)?;
    let compared = checks::compared(&report)
        .map_err(|what| Failure::NoAnswer(format!("the layout of {top}: {what}:\n{}", last_lines(&output.log(), 8))))?;
    Ok(Drawn { gds, spice, rules, equal: compared.equal })
}

/// Where everything is.
struct Geometry<'a> {
    floor: &'a Floor,
    places: &'a [Place],
    ports: &'a [Port],
    supplies: &'a Supplies,
    wires: &'a Wires,
    trees: std::ops::Range<usize>,
}

fn picture(
    report: &Report,
    netlist: &Netlist,
    technology: &Technology,
    library: &Library,
    geometry: &Geometry<'_>,
) -> String {
    let role = |number: usize, cell: &str| match number {
        _ if geometry.trees.contains(&number) => Role::Tree,
        _ if library.sequential.contains(cell) => Role::State,
        _ => Role::Logic,
    };
    let cells: Vec<_> = netlist
        .instances
        .iter()
        .zip(geometry.places)
        .enumerate()
        .map(|(number, (i, place))| (*place, technology.lef.macros[&i.cell].size.0, role(number, &i.cell)))
        .collect();
    let caption = format!(
        "{}: {} cells of {}, {:.0} x {:.0} um, {:.2} mm of wires",
        netlist.top,
        report.cells,
        report.technology,
        report.die_um.0,
        report.die_um.1,
        report.wire_um / 1000.0
    );
    picture::draw(&Drawing {
        caption: &caption,
        floor: geometry.floor,
        cells: &cells,
        ports: geometry.ports,
        supplies: geometry.supplies,
        wires: geometry.wires,
        lef: &technology.lef,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_the_router() {
        assert_eq!(failing("x\nsenbazuru failing 2 675\n"), Some((2, 675)));
        assert_eq!(failing("senbazuru failing 0 674"), Some((0, 674)));
        assert_eq!(failing("Segmentation fault"), None);
        assert_eq!(failing("senbazuru failing all"), None);
    }
}
