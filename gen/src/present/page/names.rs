//! How names and numbers of a sweep are shown to a person.

use serde_json::Value;

use crate::params::plain;

/// Heading and unit of a number or parameter; what is not known here is shown by its own name.
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
        "and_nodes" => ("AND nodes", ""),
        "and_nodes_strash" => ("AND nodes, strash", ""),
        "levels" => ("levels", ""),
        "levels_strash" => ("levels, strash", ""),
        "energy_pj_per_cycle" => ("energy a cycle", "pJ"),
        "energy_pj_per_vector" => ("energy a vector", "pJ"),
        "clock_energy_share" => ("share of the clock", ""),
        "leakage_nw" => ("leakage", "nW"),
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

/// A value with groups of three digits.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) => match n.as_f64() {
            Some(x) if n.is_f64() => decimal(x, if x.abs() < 1000.0 { 2 } else { 0 }),
            _ => grouped(&n.to_string()),
        },
        other => plain(other),
    }
}

/// A number with at most so many decimals, and none that are zero.
pub(super) fn decimal(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(text)
}

/// A number with so many significant digits: `0.0123`, `12.3`, `1,230`.
pub(super) fn significant(x: f64, digits: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let scale = 10f64.powi(digits - 1 - x.abs().log10().floor() as i32);
    let decimals = usize::try_from(digits - 1 - x.abs().log10().floor() as i32).unwrap_or(0);
    decimal((x * scale).round() / scale, decimals)
}

/// `-12345.5` becomes `-12,345.5`; four digits stay together.
fn grouped(text: &str) -> String {
    let (sign, number) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    if whole.len() < 5 {
        return format!("{sign}{number}");
    }
    let mut result = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            result.push(',');
        }
        result.push(digit);
    }
    result + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers() {
        let cases = [(json!(9999), "9999"), (json!(12345), "12,345"), (json!(1234567), "1,234,567")];
        for (value, text) in cases {
            assert_eq!(shown(&value), text);
        }
        assert_eq!(shown(&json!(-12345.4)), "−12,345");
        assert_eq!(shown(&json!(45.678)), "45.68");
        assert_eq!(shown(&json!("fp16")), "fp16");
        assert_eq!(shown(&json!(0.5)), "0.5");
        assert_eq!(
            [0.01234, 12.34, 1234.0, 123_456.0, 9.996].map(|x| significant(x, 3)),
            ["0.0123", "12.3", "1230", "123,000", "10"]
        );
    }

    #[test]
    fn headings() {
        assert_eq!(axis_label("delay_ps"), "delay (ps)");
        assert_eq!(axis_label("pop_cycles"), "pop (cycles)");
        assert_eq!(axis_label("key_width"), "key width");
    }
}
