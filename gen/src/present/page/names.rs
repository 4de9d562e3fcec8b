//! How names of a sweep are shown to a person.

/// Heading and unit of a number or parameter; a number that is not known here is shown by its own name.
pub(super) fn heading(name: &str) -> (String, &'static str) {
    let (text, unit) = match name {
        "verilog_bytes" => ("size", "bytes"),
        "verilog_lines" => ("length", "lines"),
        "lint_messages" => ("lint messages", ""),
        "sim_cycles" => ("simulated", "cycles"),
        "sim_compared" => ("values compared", ""),
        "sim_input_stalls" => ("input stalls", "cycles"),
        "sim_output_stalls" => ("output stalls", "cycles"),
        "gates" => ("gates", ""),
        "flip_flops" => ("flip-flops", ""),
        "memory_bits" => ("memory", "bits"),
        "area" => ("area", ""),
        "delay_ps" => ("delay", "ps"),
        "slack_ns" => ("slack", "ns"),
        "least_period_ns" => ("least clock period", "ns"),
        "fpga_luts" => ("FPGA lookup tables", ""),
        "fpga_flip_flops" => ("FPGA flip-flops", ""),
        "fpga_dsps" => ("FPGA multipliers", ""),
        "fpga_block_rams" => ("FPGA block RAMs", ""),
        "fpga_mhz" => ("FPGA clock", "MHz"),
        "and_nodes" => ("AND nodes", ""),
        "and_nodes_strash" => ("AND nodes, strash", ""),
        "levels" => ("levels", ""),
        "levels_strash" => ("levels, strash", ""),
        "energy_pj_per_cycle" => ("energy a cycle", "pJ"),
        "energy_pj_per_vector" => ("energy a vector", "pJ"),
        "clock_energy_share" => ("share of the clock", ""),
        "leakage_nw" => ("leakage", "nW"),
        "bandwidth" | "work.bandwidth" => ("bandwidth", "bytes a cycle"),
        "area_mm2" => ("area", "mm²"),
        "energy_pj" => ("energy", "pJ"),
        "layout_cells" => ("cells", ""),
        "layout_cell_area_um2" => ("area of cells", "µm²"),
        "layout_core_um2" => ("core", "µm²"),
        "layout_die_um2" => ("die", "µm²"),
        "layout_utilisation" => ("utilisation", ""),
        "layout_wire_mm" => ("wires", "mm"),
        "layout_vias" => ("vias", ""),
        "layout_mhz" => ("clock with wires", "MHz"),
        "layout_mhz_without_wires" => ("clock without wires", "MHz"),
        "layout_drc" => ("rules broken", ""),
        "properties" => ("properties", ""),
        "properties_held" => ("properties held", ""),
        other => {
            let (stem, unit) = match other.strip_suffix("_cycles") {
                Some(stem) => (stem, "cycles"),
                None => (other, ""),
            };
            return (stem.replace('_', " "), unit);
        }
    };
    (text.to_owned(), unit)
}

/// Heading with unit: `delay (ps)`.
pub(super) fn axis_label(name: &str) -> String {
    match heading(name) {
        (text, "") => text,
        (text, unit) => format!("{text} ({unit})"),
    }
}

/// A file name as part of an address.
pub(super) fn url(name: &str) -> String {
    let keep = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    name.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings() {
        assert_eq!(axis_label("delay_ps"), "delay (ps)");
        assert_eq!(axis_label("pop_cycles"), "pop (cycles)");
        assert_eq!(axis_label("key_width"), "key width");
    }
}
