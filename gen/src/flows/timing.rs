//! Static timing of a netlist in cells of a library, by OpenSTA.
//!
//! As in ABC's estimate, the library's weakest buffer drives the inputs, outputs have a load of 10 fF, and wires do not
//! count. Unlike in the estimate, paths begin with the clock-to-output time of a flip-flop and end with a set-up time.
//! The clock has no skew. Inputs arrive at its edge, and outputs are due at its edge. The reset is taken to be in time.

use serde::Serialize;

use crate::error::{Failure, Result};
use crate::flows::liberty::Library;
use crate::flows::workspace::{Workspace, last_lines};

/// A question to OpenSTA.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Netlist in Verilog.
    pub netlist: &'a str,
    /// Its top module.
    pub top: &'a str,
    /// Port of the clock, if there is one.
    pub clock: Option<&'a str>,
    /// Port of the reset, if there is one.
    pub reset: Option<&'a str>,
    /// Wanted clock period in nanoseconds.
    pub period: f64,
}

/// The longest paths, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Wanted clock period.
    pub period_ns: f64,
    /// Slack of the longest path; negative when the path is too long.
    pub slack_ns: f64,
    /// Least clock period.
    pub least_period_ns: f64,
}

/// The longest paths of a placed design, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paths {
    /// Least clock period when all paths count, with a clock that comes everywhere at once.
    pub least_period_ns: f64,
    /// Least clock period of paths from register to register. With wires, the clock comes through its tree. None: there
    /// is no such path.
    pub register_period_ns: Option<f64>,
}

/// Asks OpenSTA for all paths and for the ones between registers. `inputs` are the input ports but for the clock. With
/// `spef`, wires count.
///
/// # Errors
/// As [`timing`].
pub fn paths(question: &Question<'_>, inputs: &[&str], spef: Option<&str>, library: &Library) -> Result<Paths> {
    let work = Workspace::new()?;
    library.put(&work)?;
    work.write("netlist.v", question.netlist)?;
    let mut text = script(question, library);
    if let Some(spef) = spef {
        work.write("wires.spef", spef)?;
        text = text.replace(WORST, &format!("read_spef wires.spef\n{WORST}set_propagated_clock [all_clocks]\n"));
    }
    if !inputs.is_empty() {
        text += &format!("set_false_path -from [get_ports {{{}}}]\n", inputs.join(" "));
    }
    text += &format!("set_false_path -to [all_outputs]\n{WORST}puts \"senbazuru done\"\n");
    work.write("timing.tcl", &text)?;
    let output = work.tool("sta").args(["-no_splash", "-exit", "timing.tcl"]).run()?;
    let log = output.log();
    let slacks: Vec<f64> =
        log.lines().filter_map(|line| line.strip_prefix("worst slack ")?.trim().parse().ok()).collect();
    let wrong = ["Error:", "Error "].iter().any(|word| log.contains(word));
    let ([all, registers], false, true) = (&slacks[..], wrong, log.contains("senbazuru done")) else {
        let (top, tail) = (question.top, last_lines(&log, 5));
        return Err(Failure::NoAnswer(format!("OpenSTA says nothing of the paths of {top}:\n{tail}")));
    };
    // Nothing at the end of a path: it prints the largest number.
    let period = |slack: &f64| (slack.abs() < 1e15).then(|| question.period - slack / 1000.0);
    let least_period_ns = period(all).unwrap_or_default();
    Ok(Paths { least_period_ns, register_period_ns: period(registers) })
}

/// Asks OpenSTA.
///
/// # Errors
/// OpenSTA is missing, or cannot read the netlist or the library.
pub fn timing(question: &Question<'_>, library: &Library) -> Result<Timing> {
    let work = Workspace::new()?;
    library.put(&work)?;
    work.write("netlist.v", question.netlist)?;
    work.write("timing.tcl", &script(question, library))?;
    let output = work.tool("sta").args(["-no_splash", "-exit", "timing.tcl"]).run()?;
    let log = output.log();
    let slack = log.lines().find_map(|line| line.strip_prefix("worst slack ")?.trim().parse::<f64>().ok());
    // Nothing at the end of a path: it prints the largest number.
    let slack = slack.filter(|slack| slack.abs() < 1e15 && !log.contains("Error:")).ok_or_else(|| {
        let (top, tail) = (question.top, last_lines(&log, 5));
        Failure::NoAnswer(format!("OpenSTA says nothing of the paths of {top}:\n{tail}"))
    })?;
    let slack_ns = slack / 1000.0;
    Ok(Timing { period_ns: question.period, slack_ns, least_period_ns: question.period - slack_ns })
}

/// Prints the slack of the longest path.
const WORST: &str = "report_worst_slack -digits 3\n";

fn script(question: &Question<'_>, library: &Library) -> String {
    let Question { top, clock, reset, period, .. } = question;
    let mut text = format!(
        "read_liberty library.lib\nread_verilog netlist.v\nlink_design {top}\nset_cmd_units -time ps -capacitance fF\n\
         create_clock -name clock -period {}{}\n",
        period * 1000.0,
        clock.map(|port| format!(" [get_ports {{{port}}}]")).unwrap_or_default()
    );
    if let Some(reset) = reset {
        text += &format!("set_false_path -from [get_ports {{{reset}}}]\n");
    }
    text += "set_input_delay 0 -clock clock [all_inputs]\nset_output_delay 0 -clock clock [all_outputs]\n";
    if let Some(driver) = &library.driver {
        text += &format!("set_driving_cell -lib_cell {{{driver}}} [all_inputs]\n");
    }
    text + &format!("set_load {:.3} [all_outputs]\n{WORST}", library.load)
}
