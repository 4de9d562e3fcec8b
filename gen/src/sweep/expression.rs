//! Expressions over parameters: `rows == columns and rows * columns <= 4096`, in the syntax of minijinja.

use std::fmt;

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::catalogue::Params;

/// An expression that was parsed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
}

/// Bytes of an expression, at most.
const LONGEST: usize = 1000;

impl Expression {
    /// Checks the syntax.
    ///
    /// # Errors
    /// The error of minijinja.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The parser calls itself for each operator that stands before another one.
        if text.len() > LONGEST {
            let start: String = text.chars().take(40).collect();
            return Err(format!("`{start}...`: the expression has {} bytes; {LONGEST} are the most", text.len()));
        }
        environment().compile_expression(text).map_err(|e| format!("`{text}`: {e}"))?;
        Ok(Self { text: text.to_owned() })
    }

    fn value(&self, params: &Params) -> Result<Value, String> {
        let mut environment = environment();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let failed = |e: minijinja::Error| format!("`{}`: {e}", self.text);
        let expression = environment.compile_expression(&self.text).map_err(failed)?;
        // Parameters of nested structs are called as everywhere: `refresh.rows`.
        let nested = hdl::lang::nest(params);
        expression.eval(context! { ..Value::from(Serde(&nested)) }).map_err(failed)
    }

    /// Names that its value depends on. Names in nested structs have dots.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let environment = environment();
        let expression = environment.compile_expression(&self.text);
        let mut names: Vec<String> =
            expression.map(|e| e.undeclared_variables(true).into_iter().collect()).unwrap_or_default();
        names.sort();
        names
    }

    /// Its value at a point.
    ///
    /// # Errors
    /// An unknown name, an operation that does not fit its operands, a number too large for a double.
    pub fn compute(&self, params: &Params) -> Result<serde_json::Value, String> {
        let value = self.value(params)?;
        if value.is_undefined() {
            return Err(format!("`{}` has no value: is every name a parameter?", self.text));
        }
        let json = serde_json::to_value(&value).map_err(|e| format!("`{}` is {value}: {e}", self.text))?;
        // JSON has no infinity, and writes null.
        if holds_null(&json) {
            return Err(format!("`{}` is {value}; a finite number, a text, true or false is wanted", self.text));
        }
        Ok(json)
    }

    /// Whether it holds at a point.
    ///
    /// # Errors
    /// As [`compute`](Self::compute), and a value that is neither true nor false.
    pub fn holds(&self, params: &Params) -> Result<bool, String> {
        match self.compute(params)? {
            serde_json::Value::Bool(truth) => Ok(truth),
            other => Err(format!("`{}` is {other}, wanted true or false", self.text)),
        }
    }
}

fn holds_null(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::Array(list) => list.iter().any(holds_null),
        serde_json::Value::Object(map) => map.values().any(holds_null),
        _ => false,
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arithmetic_and_truth() {
        let json = json!({ "rows": 8, "columns": 4, "mode": "fp16", "tree.radix": 16, "tree.levels": 4 });
        let serde_json::Value::Object(params) = json else { panic!() };
        let compute = |text: &str| Expression::parse(text).unwrap().compute(&params);
        assert_eq!(compute("rows // 2 + columns"), Ok(json!(8)));
        let holds = |text: &str| Expression::parse(text).unwrap().holds(&params);
        assert_eq!(holds("rows > columns and mode == 'fp16'"), Ok(true));
        assert_eq!(holds("rows % 3 == 0"), Ok(false));
        assert_eq!(holds("2 ** tree.levels == tree.radix"), Ok(true));
        let serde_json::Value::Object(nested) = json!({ "rows": 8, "pe.width": 4, "pe.mode.name": "a" }) else {
            panic!()
        };
        assert_eq!(Expression::parse("rows // pe.width").unwrap().compute(&nested), Ok(json!(2)));
        assert_eq!(Expression::parse("pe.mode.name == 'a'").unwrap().holds(&nested), Ok(true));
        assert!(holds("rows").unwrap_err().contains("true or false"));
        assert!(holds("lines > 1").unwrap_err().contains("lines > 1"));
        assert!(Expression::parse("rows >").is_err());
        assert_eq!(Expression::parse("rows + pe.width * rows").unwrap().names(), ["pe.width", "rows"]);
        for (text, value) in [
            ("1e308 * 10", "inf"),
            ("-1e308 * rows", "-inf"),
            ("1e308 * 10 - 1e308 * 10", "NaN"),
            ("10.0 ** 400", "inf"),
            ("[1, 1e308 * 10]", "[1, inf]"),
        ] {
            let told = format!("`{text}` is {value}; a finite number, a text, true or false is wanted");
            assert_eq!(compute(text), Err(told), "{text}");
        }
        assert!(compute("none").unwrap_err().starts_with("`none` is "));
        for text in ["1.0 / 0", "2 ** 200", "10 ** 30", "1 // 0", "1 % 0", "7 ** 7 ** 7"] {
            let error = compute(text).unwrap_err();
            assert!(error.starts_with(&format!("`{text}`")), "{error}");
        }
        for word in ["not ", "-", "(", "[", "not not "] {
            let deep = word.repeat(100_000) + "true";
            let error = Expression::parse(&deep).unwrap_err();
            assert!(error.ends_with("bytes; 1000 are the most"), "{error}");
            // As deep as it can be: any answer will do.
            let _ = Expression::parse(&(word.repeat(990 / word.len()) + "true"));
        }
    }
}
