//! Parameters of blocks, stated once: the `parameters!` and `choices!` macros and what follows from them.
//!
//! A field has a type, a default, a documentation comment, legal values and a tag. From them the macro makes the struct
//! with its serde form and its `Default`, and the check of ranges. The text of `info`, the dotted names for `--set` and
//! the module's name come from them too.

mod macros;
mod name_parts;
mod names;
mod nested;
pub(crate) mod read;

use std::fmt;

use serde_json::Value;

use super::error::{ParamError, ParamErrors};
pub use name_parts::NameParts;
pub(crate) use names::module_name;

/// The parameter struct of a block; made by [`parameters!`](crate::parameters).
pub trait Parameters: Clone + 'static {
    /// `file!()` of the struct.
    const SOURCE: &'static str;

    /// The values as a JSON object, nested structs as objects in it.
    fn values(&self) -> Value;

    /// The parameters with the values of such an object.
    ///
    /// # Errors
    /// A field that is missing, unknown or of another type. A struct without [`parameters!`](crate::parameters) reads nothing.
    fn from_values(values: &Value) -> Result<Self, ParamError> {
        Err(ParamError::new("", text(values), "nothing: this struct is not read from values"))
    }

    /// The values where none are given, likewise.
    fn defaults() -> Value {
        Value::Null
    }

    /// Shows each field to `visitor`, in order.
    fn visit(&self, visitor: &mut dyn FnMut(&ParameterField, &dyn ParameterValue)) {
        let _ = visitor;
    }

    /// Rules over several parameters.
    fn apply_rules(&self, rules: &mut Rules) {
        let _ = rules;
    }

    /// Checks ranges and rules, also in nested structs.
    ///
    /// # Errors
    /// Everything that is wrong, each with the parameter, its value and what is allowed.
    fn check(&self) -> Result<(), ParamErrors> {
        let mut rules = Rules::default();
        check_all(self, &mut rules);
        if rules.errors.is_empty() { Ok(()) } else { Err(ParamErrors(rules.errors)) }
    }

    /// Values that are legal but hardly meant, in sentences.
    fn warnings(&self) -> Vec<String> {
        let mut rules = Rules::default();
        check_all(self, &mut rules);
        rules.warnings
    }

    /// The parameters as a user sees them, nested ones with dotted names. Called on the default values.
    fn list(&self) -> Vec<Parameter> {
        let mut list = Vec::new();
        self.visit(&mut |field, value| value.describe(field, &mut list));
        list
    }
}

fn check_all<P: Parameters>(parameters: &P, rules: &mut Rules) {
    rules.own = flatten(&parameters.values());
    parameters.visit(&mut |field, value| value.check_value(field, rules));
    // A rule may compute with values that are in range only.
    if rules.errors.is_empty() {
        parameters.apply_rules(rules);
    }
}

/// A parameter as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name of the field; of a field in a nested struct `outer.inner`.
    pub name: String,
    /// Legal values in words, such as "1 to 4096" or "wrap, saturate".
    pub allowed: String,
    /// Its meaning, with its unit.
    pub meaning: String,
    /// The value where none is given.
    pub default: Value,
}

/// A field of a parameter struct: what `parameters!` states of it.
#[derive(Clone, Copy, Debug)]
pub struct ParameterField {
    /// Name in Rust.
    pub name: &'static str,
    /// Documentation comment.
    pub doc: &'static str,
    /// Legal values, where the type allows more.
    pub allowed: Option<Allowed>,
    /// A further condition in words: a rule over several parameters.
    pub note: Option<&'static str>,
    /// Stands before the value in names of modules.
    pub tag: Option<&'static str>,
    /// Its default is no part of names of modules: the parameter is newer than the names.
    pub when_set: bool,
    /// It is a nested struct whose fields stand here, without a prefix.
    pub inline: bool,
}

/// Legal values of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Both ends included.
    Range(i64, i64),
    /// Powers of two, both ends included.
    PowerOfTwo(i64, i64),
    /// Multiples of the first number between the other two.
    MultipleOf(i64, i64, i64),
}

impl<T: Into<i64>> From<std::ops::RangeInclusive<T>> for Allowed {
    fn from(range: std::ops::RangeInclusive<T>) -> Self {
        let (low, high) = range.into_inner();
        Self::Range(low.into(), high.into())
    }
}

/// Powers of two in `range`.
#[must_use]
pub fn power_of_two(range: std::ops::RangeInclusive<u32>) -> Allowed {
    Allowed::PowerOfTwo((*range.start()).into(), (*range.end()).into())
}

/// Multiples of `factor` in `range`.
#[must_use]
pub fn multiple_of(factor: u32, range: std::ops::RangeInclusive<u32>) -> Allowed {
    Allowed::MultipleOf(factor.into(), (*range.start()).into(), (*range.end()).into())
}

impl Allowed {
    fn holds(self, value: i64) -> bool {
        match self {
            Self::Range(low, high) => (low..=high).contains(&value),
            Self::PowerOfTwo(low, high) => (low..=high).contains(&value) && value > 0 && value.count_ones() == 1,
            Self::MultipleOf(factor, low, high) => (low..=high).contains(&value) && value % factor == 0,
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(low, high) => write!(f, "{low} to {high}"),
            Self::PowerOfTwo(low, high) => write!(f, "a power of two from {low} to {high}"),
            Self::MultipleOf(factor, low, high) => write!(f, "a multiple of {factor} from {low} to {high}"),
        }
    }
}

/// Collects wrong and doubtful parameters.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    errors: Vec<ParamError>,
    warnings: Vec<String>,
    /// Path of the nested struct that is being checked, with a dot at its end.
    within: String,
    /// Names and values of the struct that is being checked, without that path.
    own: Vec<(String, Value)>,
}

impl Rules {
    /// Demands `condition` of `parameter`; `allowed` says what would be right.
    pub fn demand(&mut self, condition: bool, parameter: &str, value: impl fmt::Display, allowed: impl fmt::Display) {
        if !condition {
            self.errors.push(ParamError::new(&format!("{}{parameter}", self.within), value, allowed));
        }
    }

    /// Notes what is legal but hardly meant, as a sentence.
    pub fn doubt(&mut self, condition: bool, sentence: impl fmt::Display) {
        if condition {
            self.warnings.push(sentence.to_string());
        }
    }

    /// The rules of another block whose parameters have the names that they have here.
    pub fn same<P: Parameters>(&mut self, part: &P) {
        let mut inner = Rules::default();
        check_all(part, &mut inner);
        for error in inner.errors {
            let name = format!("{}{}", self.within, error.parameter);
            self.errors.push(ParamError::new(&name, &error.value, &error.allowed));
        }
    }

    /// The rules of another block that is built with parameters derived from these. The user may have the wrong
    /// parameter too, with the same value: under the same name or as a field of a nested struct. Then the error has
    /// that name; otherwise it has the name `parameter`, which the user can change.
    pub fn part<P: Parameters>(&mut self, parameter: &str, part: &P) {
        let mut inner = Rules::default();
        check_all(part, &mut inner);
        for error in inner.errors {
            let told = match self.same_as(&error) {
                Some(name) => ParamError::new(&name, &error.value, &error.allowed),
                None => self.derived(parameter, &error),
            };
            let told = ParamError { parameter: format!("{}{}", self.within, told.parameter), ..told };
            if !self.errors.contains(&told) {
                self.errors.push(told);
            }
        }
    }

    /// The parameter that a part has taken over as it is, if there is just one.
    fn same_as(&self, error: &ParamError) -> Option<String> {
        let equal = |value: &Value| text(value) == error.value;
        let of = |wanted: &dyn Fn(&str) -> bool| {
            let mut found = self.own.iter().filter(|(name, value)| wanted(name) && equal(value));
            found.next().filter(|_| found.next().is_none()).map(|(name, _)| name.clone())
        };
        let field = format!(".{}", error.parameter);
        of(&|name| name == error.parameter).or_else(|| of(&|name| name.ends_with(&field)))
    }

    /// An error of a value that a part computes from `parameter`.
    fn derived(&self, parameter: &str, error: &ParamError) -> ParamError {
        // The demand of a derived parameter on another derived one is told once.
        let demand = match error.allowed.starts_with("what makes ") {
            true => error.allowed.clone(),
            false => format!("what makes {} {} (it is {})", error.parameter, error.allowed, error.value),
        };
        let own = self.own.iter().find(|(name, _)| name == parameter);
        let value = own.map_or_else(|| error.value.clone(), |(_, value)| text(value));
        ParamError::new(parameter, value, demand)
    }
}

/// A value as messages show it.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What can stand as the value of a parameter.
pub trait ParameterValue: fmt::Debug {
    /// The value in JSON.
    fn json(&self) -> Value;

    /// The value that such JSON stands for.
    ///
    /// # Errors
    /// JSON of another type or out of its range. The name of the parameter is its name within the value, so mostly
    /// empty.
    fn from_json(value: &Value) -> Result<Self, ParamError>
    where
        Self: Sized;

    /// The value as an integer, where ranges apply.
    fn number(&self) -> Option<i64> {
        None
    }

    /// Legal values of the type in words.
    fn choices(&self) -> String;

    /// Adds what a user sees.
    fn describe(&self, field: &ParameterField, list: &mut Vec<Parameter>) {
        let mut allowed = field.allowed.map_or_else(|| self.choices(), |a| a.to_string());
        if let Some(note) = field.note {
            allowed = format!("{allowed}; {note}");
        }
        list.push(Parameter { name: field.name.into(), allowed, meaning: one_line(field.doc), default: self.json() });
    }

    /// Demands that the value is legal.
    fn check_value(&self, field: &ParameterField, rules: &mut Rules) {
        if let (Some(allowed), Some(value)) = (field.allowed, self.number()) {
            rules.demand(allowed.holds(value), field.name, value, allowed);
        }
    }

    /// Takes defaults out of `values` that are no part of a module's name.
    fn leave_out(&self, values: &mut Value) {
        let _ = values;
    }

    /// Adds the parts of a module's name, and notes whether they tell all values.
    fn name_parts(&self, field: &ParameterField, default: Option<&Value>, name: &mut NameParts) {
        let value = self.json();
        if field.when_set && default == Some(&value) {
            return;
        }
        match (field.tag, &value) {
            (Some(tag), Value::Bool(on)) => {
                if *on {
                    name.parts.push(tag.into());
                }
            }
            (Some(tag), Value::String(text)) => name.parts.push(format!("{tag}{}", text.replace(['-', '.'], "_"))),
            (Some(tag), value) => name.parts.push(format!("{tag}{}", value.to_string().replace('-', "m"))),
            (None, value) => name.untold |= default != Some(value),
        }
    }
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl ParameterValue for $t {
            fn json(&self) -> Value {
                (*self).into()
            }

            fn from_json(value: &Value) -> Result<Self, ParamError> {
                let number = value.as_i64().and_then(|n| n.try_into().ok());
                number
                    .or_else(|| value.as_u64()?.try_into().ok())
                    .ok_or_else(|| ParamError::new("", text(value), format!("{} to {}", <$t>::MIN, <$t>::MAX)))
            }

            fn number(&self) -> Option<i64> {
                Some(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn choices(&self) -> String {
                format!("{} to {}", <$t>::MIN, <$t>::MAX)
            }
        }
    )*};
}
integer!(u32, u64, i32, i64);

impl ParameterValue for String {
    fn json(&self) -> Value {
        self.clone().into()
    }

    fn from_json(value: &Value) -> Result<Self, ParamError> {
        value.as_str().map(str::to_owned).ok_or_else(|| ParamError::new("", value, "text"))
    }

    fn choices(&self) -> String {
        "text".into()
    }
}

impl ParameterValue for bool {
    fn json(&self) -> Value {
        (*self).into()
    }

    fn from_json(value: &Value) -> Result<Self, ParamError> {
        value.as_bool().ok_or_else(|| ParamError::new("", text(value), "true, false"))
    }

    fn choices(&self) -> String {
        "true, false".into()
    }
}

/// The values of a JSON object with dotted names: what `--set` takes.
#[must_use]
pub fn flatten(values: &Value) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (name, value) in values.as_object().into_iter().flatten() {
        match value {
            Value::Object(_) => {
                flat.extend(flatten(value).into_iter().map(|(inner, v)| (format!("{name}.{inner}"), v)))
            }
            _ => flat.push((name.clone(), value.clone())),
        }
    }
    flat
}

/// The JSON object of dotted names.
#[must_use]
pub fn nest<'a>(flat: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Value {
    let mut root = serde_json::Map::new();
    for (name, value) in flat {
        let mut parts = name.split('.').peekable();
        let mut at = &mut root;
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                at.insert(part.into(), value.clone());
                break;
            }
            let inner = at.entry(part).or_insert_with(|| Value::Object(serde_json::Map::new()));
            let Value::Object(inner) = inner else { break };
            at = inner;
        }
    }
    Value::Object(root)
}

/// The lines of a documentation comment as one.
pub(crate) fn one_line(doc: &str) -> String {
    let text = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_suffix('.').map_or(text.clone(), str::to_string)
}

#[cfg(test)]
mod tests;
