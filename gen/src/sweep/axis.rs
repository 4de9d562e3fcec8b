//! A parameter with several values.

use serde_json::Value;

use crate::params::from_toml;

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Parameter.
    pub name: String,
    /// Its values, in the order of the file.
    pub values: Vec<Value>,
}

/// More points than this on one axis are a slip of the pen.
const MOST: usize = 10_000;

const FORMS: &str = "write a list `[1, 2, 4]`, a range `{ from = 8, to = 64, step = 8 }`, \
    or powers of two `{ powers_of_two = [16, 4096] }`";

impl Axis {
    /// Reads the value of an axis: a list, a range with both ends, or powers of two with both ends.
    ///
    /// # Errors
    /// The error, and the allowed forms.
    pub fn parse(name: &str, value: &toml::Value) -> Result<Self, String> {
        let values = match value {
            toml::Value::Array(list) => {
                list.iter().map(from_toml).collect::<Result<_, _>>().map_err(|e| format!("axis `{name}`: {e}"))?
            }
            toml::Value::Table(table) => from_table(name, table)?,
            _ => return Err(format!("axis `{name}` is one value; {FORMS}, or move it to [fixed]")),
        };
        if values.is_empty() {
            return Err(format!("axis `{name}` has no value; {FORMS}"));
        }
        if let Some(twice) = values.iter().enumerate().find(|(i, v)| values[..*i].contains(v)) {
            return Err(format!("axis `{name}` has the value {} twice", twice.1));
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

fn from_table(name: &str, table: &toml::Table) -> Result<Vec<Value>, String> {
    let integer = |key: &str| match table.get(key) {
        Some(toml::Value::Integer(n)) => Ok(*n),
        Some(other) => Err(format!("axis `{name}`: `{key}` is {other}, wanted an integer")),
        None => Err(format!("axis `{name}`: `{key}` is missing; {FORMS}")),
    };
    let only = |keys: &[&str]| match table.keys().find(|k| !keys.contains(&k.as_str())) {
        Some(other) => Err(format!("axis `{name}`: `{other}` is unknown; {FORMS}")),
        None => Ok(()),
    };
    if let Some(ends) = table.get("powers_of_two") {
        only(&["powers_of_two"])?;
        let told = |what: String| format!("axis `{name}`: `powers_of_two` {what}; {FORMS}");
        let ends = ends.as_array().ok_or_else(|| told(format!("is {ends}, wanted a list of two integers")))?;
        let integer = |end: &toml::Value| {
            end.as_integer()
                .ok_or_else(|| told(format!("holds {end}, wanted two integers: the first value and the last")))
        };
        let ends = ends.iter().map(integer).collect::<Result<Vec<_>, _>>()?;
        let [from, to] = ends[..] else {
            return Err(told(format!("holds {} integers, wanted two: the first value and the last", ends.len())));
        };
        if from < 1 || from > to || from & (from - 1) != 0 {
            return Err(format!("axis `{name}`: [{from}, {to}] does not begin with a power of two, or is empty"));
        }
        return Ok(std::iter::successors(Some(from), |n| n.checked_mul(2))
            .take_while(|n| *n <= to)
            .map(Value::from)
            .collect());
    }
    only(&["from", "to", "step"])?;
    let (from, to) = (integer("from")?, integer("to")?);
    let step = if table.contains_key("step") { integer("step")? } else { 1 };
    if step < 1 || from > to {
        return Err(format!("axis `{name}`: from {from} to {to} in steps of {step} is empty"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    let values: Vec<_> = (from..=to).step_by(step).take(MOST + 1).map(Value::from).collect();
    if values.len() > MOST {
        return Err(format!("axis `{name}`: more than {MOST} values"));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Value>, String> {
        let table: toml::Table = toml::from_str(&format!("x = {text}")).unwrap();
        Axis::parse("x", &table["x"]).map(|axis| axis.values)
    }

    #[test]
    fn the_three_forms() {
        let numbers = |list: &[i64]| Ok(list.iter().map(|&n| Value::from(n)).collect::<Vec<_>>());
        assert_eq!(parse("[4, 1]"), numbers(&[4, 1]));
        assert_eq!(parse("{ from = 1, to = 8, step = 3 }"), numbers(&[1, 4, 7]));
        assert_eq!(parse("{ powers_of_two = [2, 20] }"), numbers(&[2, 4, 8, 16]));
        assert_eq!(parse(r#"["fp16", "bf16"]"#), Ok(vec!["fp16".into(), "bf16".into()]));
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (text, part) in [
            ("3", "move it to [fixed]"),
            ("[]", "no value"),
            ("[1, 1]", "twice"),
            ("{ from = 5, to = 1 }", "empty"),
            ("{ from = 1 }", "`to` is missing"),
            ("{ from = 1, to = 2, by = 1 }", "`by` is unknown"),
            ("{ powers_of_two = [3, 8] }", "power of two"),
            ("{ powers_of_two = [16, \"x\", 4096] }", "axis `x`: `powers_of_two` holds \"x\", wanted two integers"),
            ("{ powers_of_two = [16, 4096.0] }", "`powers_of_two` holds 4096.0, wanted two integers"),
            (
                "{ powers_of_two = [16, 64, 4096] }",
                "`powers_of_two` holds 3 integers, wanted two: the first value and the last",
            ),
            ("{ powers_of_two = 16 }", "`powers_of_two` is 16, wanted a list of two integers"),
            ("{ from = 1, to = 100000000 }", "more than 10000"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
