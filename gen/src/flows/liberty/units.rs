//! Units of a library.

use super::Group;

/// The units of the numbers that results depend on: name, the letter after the prefix, and an example.
pub(super) const UNITS: [(&str, char, &str); 4] = [
    ("time_unit", 's', "`1ns`"),
    ("voltage_unit", 'V', "`1V`"),
    ("leakage_power_unit", 'W', "`1nW`"),
    ("capacitive_load_unit", 'f', "`(1, pf)`"),
];

/// A unit of [`UNITS`] in SI units; none when the library does not name it.
///
/// # Errors
/// It cannot be read: its value, and the expected form.
pub fn unit(library: &Group<'_>, name: &str) -> Result<Option<f64>, String> {
    let Some((_, unit, example)) = UNITS.into_iter().find(|(known, ..)| *known == name) else { return Ok(None) };
    let Some(attribute) = library.attribute(name) else { return Ok(None) };
    let text = match attribute.values[..] {
        [number, prefixed] if name == "capacitive_load_unit" && prefixed.trim().starts_with(char::is_alphabetic) => {
            number.trim().to_owned() + prefixed
        }
        _ if name == "capacitive_load_unit" => String::new(),
        _ => attribute.values.concat(),
    };
    let found = quantity(&text, unit);
    found.map(Some).ok_or_else(|| {
        let said = attribute.values.join(" ");
        format!(
            "{name} is `{said}`; wanted is a number above 0, a prefix of m, u, n, p and f, and {unit}, as in {example}"
        )
    })
}

/// `10ps`: a number with a prefix and a unit, in the unit alone.
fn quantity(text: &str, unit: char) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)?;
    // `1NS` and `1ns` are the same; no unit here has a prefix that a capital would change.
    let unit_text = text[digits..].trim().to_lowercase();
    let prefix = unit_text.strip_suffix(unit.to_ascii_lowercase())?;
    let factor = match prefix {
        "" => 1.0,
        "m" => 1e-3,
        "u" => 1e-6,
        "n" => 1e-9,
        "p" => 1e-12,
        "f" => 1e-15,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_with_prefixes() {
        assert_eq!(quantity("10ps", 's'), Some(1e-11));
        assert_eq!(quantity("1V", 'V'), Some(1.0));
        assert_eq!(quantity("100mV", 'V'), Some(0.1));
        assert_eq!(quantity("1pf", 'f'), Some(1e-12));
        assert_eq!(quantity("1kohm", 's'), None);
    }

    #[test]
    fn a_unit_that_cannot_be_read_is_not_missing() {
        let of = |text: &str, name: &str| {
            let text = format!("library (l) {{ {text} }}");
            unit(&super::super::parse(&text).unwrap(), name)
        };
        assert_eq!(of("", "time_unit"), Ok(None));
        assert_eq!(of("time_unit : 1 ps;", "time_unit"), Ok(Some(1e-12)));
        assert_eq!(of("capacitive_load_unit (1.0, \"FF\");", "capacitive_load_unit"), Ok(Some(1e-15)));
        assert_eq!(
            of("leakage_power_unit : \"1 nano\";", "leakage_power_unit").unwrap_err(),
            "leakage_power_unit is `1 nano`; wanted is a number above 0, a prefix of m, u, n, p and f, and W, as in `1nW`"
        );
        for (text, name) in [
            ("time_unit : \"1fortnight\";", "time_unit"),
            ("time_unit : ;", "time_unit"),
            ("voltage_unit : \"0V\";", "voltage_unit"),
            ("capacitive_load_unit (1, pf, 2);", "capacitive_load_unit"),
            ("capacitive_load_unit (1, 1pf);", "capacitive_load_unit"),
            ("capacitive_load_unit (pf);", "capacitive_load_unit"),
        ] {
            assert!(of(text, name).unwrap_err().starts_with(&format!("{name} is `")), "{text}");
        }
    }
}
