//! Parts of the macros: fields of a JSON object, and names of choices.

use serde_json::{Map, Value};

use super::{ParameterValue, text};
use crate::lang::ParamError;

/// The JSON object of these fields, in this order. The fields of an inline struct stand in its place.
pub fn object<const N: usize>(fields: [(&str, Value, bool); N]) -> Value {
    let mut all = Map::new();
    for (name, value, inline) in fields {
        match value {
            Value::Object(inner) if inline => all.extend(inner),
            value => drop(all.insert(name.to_owned(), value)),
        }
    }
    all.into()
}

/// The fields of a JSON object that are not read yet.
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    read: Vec<String>,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// A value that is no object.
    pub fn of(values: &'a Value) -> Result<Self, ParamError> {
        let object = values.as_object().ok_or_else(|| ParamError::new("", text(values), "an object"))?;
        Ok(Self { object, read: Vec::new() })
    }

    /// # Errors
    /// A field that is missing, or has another type.
    pub fn take<T: ParameterValue>(&mut self, name: &'static str) -> Result<T, ParamError> {
        self.read.push(name.into());
        let value = self.object.get(name).ok_or_else(|| ParamError::new(name, "missing", "a value"))?;
        T::from_json(value).map_err(|e| {
            let within = if e.parameter.is_empty() { name.to_owned() } else { format!("{name}.{}", e.parameter) };
            ParamError::new(&within, &e.value, &e.allowed)
        })
    }

    /// The same for an inline struct, whose fields have the names of `like`.
    ///
    /// # Errors
    /// A field of it that is missing, or has another type.
    pub fn take_inline<T: ParameterValue>(&mut self, like: &T) -> Result<T, ParamError> {
        let names: Vec<String> = like.json().as_object().map(|o| o.keys().cloned().collect()).unwrap_or_default();
        let own = names.iter().filter_map(|name| Some((name.clone(), self.object.get(name)?.clone())));
        let own: Map<String, Value> = own.collect();
        self.read.extend(names);
        T::from_json(&own.into())
    }

    /// # Errors
    /// A field that was not read.
    pub fn end(self) -> Result<(), ParamError> {
        let unknown = self.object.iter().find(|(name, _)| !self.read.contains(name));
        unknown.map_or(Ok(()), |(name, value)| {
            Err(ParamError::new(name, text(value), format!("nothing: the parameters are {}", self.read.join(", "))))
        })
    }
}

/// `DoubleBuffered` as `double_buffered`.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (at, c) in name.char_indices() {
        if c.is_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// All choices in words.
pub fn names(names: &[&str]) -> String {
    names.iter().map(|name| snake_case(name)).collect::<Vec<_>>().join(", ")
}

/// Which of the choices a value names.
///
/// # Errors
/// A value that is none of them.
pub fn position(names: &[&str], value: &Value) -> Result<usize, ParamError> {
    let found = value.as_str().and_then(|text| names.iter().position(|name| snake_case(name) == text));
    found.ok_or_else(|| ParamError::new("", text(value), self::names(names)))
}
