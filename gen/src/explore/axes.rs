//! What a search may change: an option of a scheme, for all layers or for each one, or a parameter of a block.

use models::schemes::{Chosen, Registry, Written};
use serde_json::Value;

use crate::catalogue::{Known, Params, similar};
use crate::params::plain;
use crate::point::assign;
use crate::sweep::Axis;

/// Whose value it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A scheme and its option.
    Scheme(String, String),
    /// A parameter of the block, or a setting of its work.
    Block,
}

/// A variable of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name, and its values from the first on.
    pub axis: Axis,
    /// Whose it is.
    pub target: Target,
    /// Each layer has a value of its own.
    pub by_layer: bool,
}

/// What names of a file can mean.
pub(super) struct Named<'a> {
    pub registry: &'a Registry,
    pub scheme: Option<&'a Written>,
    pub block: Option<&'a Known>,
}

/// The key of an axis that gives each layer a value of its own.
const LAYERS: &str = "layers";

impl Named<'_> {
    /// Whose value a name is.
    ///
    /// # Errors
    /// Nothing has this name.
    pub fn target(&self, name: &str) -> Result<Target, String> {
        if let Some((scheme, option)) = name.split_once('.')
            && self.scheme.is_some_and(|written| written.has(scheme))
        {
            Written::option(self.registry, scheme, option).map_err(|e| e.to_string())?;
            return Ok(Target::Scheme(scheme.to_owned(), option.to_owned()));
        }
        if self.block.is_some() {
            return Ok(Target::Block);
        }
        let known = self.scheme.into_iter().flat_map(Written::names).collect::<Vec<_>>();
        let near = name.split_once('.').map(|(scheme, _)| similar(scheme, &known)).unwrap_or_default();
        let hint = near.first().map(|near| format!(" did you mean {near}?")).unwrap_or_default();
        let all = if known.is_empty() { "there is no `scheme`, and no `block`".to_owned() } else { known.join(", ") };
        Err(format!("`{name}` is of no scheme here;{hint} wanted is SCHEME.OPTION, schemes are: {all}"))
    }

    /// Refuses a value that is not allowed.
    ///
    /// # Errors
    /// Says what is.
    pub fn check(&self, name: &str, target: &Target, value: &Value) -> Result<(), String> {
        match target {
            Target::Block => {
                let block = self.block.ok_or("there is no `block`")?;
                assign(&**block, name, value.clone(), &mut Params::new())
            }
            Target::Scheme(scheme, option) => {
                let mut alone = Written::parse(scheme).map_err(|e| e.to_string())?;
                alone.set(scheme, option, plain(value)).map_err(|e| e.to_string())?;
                Chosen::parse(self.registry, &alone.to_string()).map(drop).map_err(|e| format!("{e:#}"))
            }
        }
    }

    /// A variable: an axis as in the file of a sweep; with `layers = true` each layer has a value.
    ///
    /// # Errors
    /// The error, and what is wanted.
    pub fn variable(&self, name: &str, value: &toml::Value) -> Result<Variable, String> {
        let mut value = value.clone();
        let by_layer = match value.as_table_mut().and_then(|table| table.remove(LAYERS)) {
            None => false,
            Some(toml::Value::Boolean(by_layer)) => by_layer,
            Some(other) => return Err(format!("axis `{name}`: `{LAYERS}` is {other}, wanted is true or false")),
        };
        // A list has no room for the key.
        if let Some(list) = value.as_table_mut().and_then(|table| table.remove("values")) {
            if let Some(other) = value.as_table().and_then(|table| table.keys().next()) {
                return Err(format!("axis `{name}`: `{other}` beside `values`; one of them is enough"));
            }
            value = list;
        }
        let target = self.target(name)?;
        let axis = Axis::parse(name, &value)?;
        axis.values.iter().try_for_each(|value| self.check(name, &target, value))?;
        if by_layer {
            let told = format!("axis `{name}`: `{LAYERS}` is true, and it has one value for all layers");
            let Target::Scheme(scheme, option) = &target else { return Err(told) };
            let (found, choice) = Written::option(self.registry, scheme, option).map_err(|e| e.to_string())?;
            if !choice.is_by_layer() {
                let names: Vec<&str> =
                    found.choices().iter().filter(|choice| choice.is_by_layer()).map(|choice| choice.name).collect();
                let all = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(format!("{told}; options of `{scheme}` with a value for each layer: {all}"));
            }
        }
        Ok(Variable { axis, target, by_layer })
    }
}
