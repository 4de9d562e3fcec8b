//! Parameters of a part as the value of a parameter.

use std::fmt;

use serde_json::Value;

use super::super::error::ParamError;
use super::name_parts::NameParts;
use super::names::{leave_out_defaults, of_field};
use super::{Parameter, ParameterField, ParameterValue, Parameters, Rules, flatten};

/// A nested struct: its fields under a dotted name.
impl<P: Parameters + fmt::Debug> ParameterValue for P {
    fn json(&self) -> Value {
        self.values()
    }

    fn from_json(value: &Value) -> Result<Self, ParamError> {
        P::from_values(value)
    }

    fn choices(&self) -> String {
        String::new()
    }

    fn describe(&self, field: &ParameterField, list: &mut Vec<Parameter>) {
        let prefix = if field.inline { String::new() } else { format!("{}.", field.name) };
        list.extend(self.list().into_iter().map(|p| Parameter { name: format!("{prefix}{}", p.name), ..p }));
    }

    fn check_value(&self, field: &ParameterField, rules: &mut Rules) {
        let outer = rules.within.clone();
        if !field.inline {
            rules.within = format!("{outer}{}.", field.name);
        }
        let around = std::mem::replace(&mut rules.own, flatten(&self.values()));
        let before = rules.errors.len();
        self.visit(&mut |field, value| value.check_value(field, rules));
        if rules.errors.len() == before {
            self.apply_rules(rules);
        }
        rules.within = outer;
        rules.own = around;
    }

    fn leave_out(&self, values: &mut Value) {
        leave_out_defaults(self, values);
    }

    fn name_parts(&self, _: &ParameterField, default: Option<&Value>, name: &mut NameParts) {
        self.visit(&mut |field, value| value.name_parts(field, default.and_then(|d| of_field(d, field)), name));
    }
}
