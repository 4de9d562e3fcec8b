//! How numbers are shown to a person.

use serde_json::Value;

use crate::params::plain;

/// A value with groups of three digits.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) => match n.as_f64() {
            // Two decimals would show a small number as zero.
            Some(x) if n.is_f64() && x.abs() < 1.0 => significant(x, 3),
            Some(x) if n.is_f64() => decimal(x, if x.abs() < 1000.0 { 2 } else { 0 }),
            _ => grouped(&n.to_string()),
        },
        other => plain(other),
    }
}

/// A number with at most so many decimals, and none that are zero.
pub(crate) fn decimal(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(text)
}

/// A number with so many significant digits: `0.0123`, `12.3`, `1,230`.
pub(crate) fn significant(x: f64, digits: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let scale = 10f64.powi(digits - 1 - x.abs().log10().floor() as i32);
    let decimals = usize::try_from(digits - 1 - x.abs().log10().floor() as i32).unwrap_or(0);
    decimal((x * scale).round() / scale, decimals)
}

/// A number of things: `1 token`, `12,345 tokens`.
#[cfg(any(test, feature = "standard"))]
pub(crate) fn counted(count: usize, thing: &str) -> String {
    let number = decimal(count as f64, 0);
    if count == 1 { format!("{number} {thing}") } else { format!("{number} {thing}s") }
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

/// Watts with the prefix that leaves one to three digits before the point: `54.1 nW`.
pub(crate) fn watts(value: f64) -> String {
    let prefixes = [(1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")];
    let (unit, prefix) = prefixes.into_iter().find(|(unit, _)| value >= *unit).unwrap_or((1e-12, "p"));
    format!("{} {prefix}W", significant(value / unit, 3))
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
        assert_eq!(shown(&json!(0.001_234)), "0.00123");
        assert_eq!(shown(&json!(0.0)), "0");
        assert_eq!(
            [0.01234, 12.34, 1234.0, 123_456.0, 9.996].map(|x| significant(x, 3)),
            ["0.0123", "12.3", "1230", "123,000", "10"]
        );
    }

    #[test]
    fn one_thing_and_several() {
        assert_eq!([0, 1, 12_345].map(|n| counted(n, "token")), ["0 tokens", "1 token", "12,345 tokens"]);
    }

    #[test]
    fn small_powers_are_not_nothing() {
        let texts = [54.1e-9, 0.000_4e-6, 3.0e-12, 2.5e-13, 1.0, 0.0].map(watts);
        assert_eq!(texts, ["54.1 nW", "400 pW", "3 pW", "0.25 pW", "1 W", "0 pW"]);
    }
}
