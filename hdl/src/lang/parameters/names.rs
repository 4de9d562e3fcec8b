//! Names of modules: the block's, then tags and values of its parameters.

use serde_json::Value;

use super::name_parts::NameParts;
use super::{ParameterField, Parameters};

/// Longest part of a module's name that tells parameters apart, in characters, if it tells all of them.
const LONGEST_SUFFIX: usize = 60;
/// Longest such part in front of a hash.
const LONGEST_BEFORE_HASH: usize = 40;

/// `<block>_<tag><value>..`: tagged parameters in order, as far as they fit. A hash of all parameters follows if that
/// does not tell them all: if tags do not fit, or parameters without a tag are not at their defaults.
pub(crate) fn module_name<P: Parameters>(block: &str, parameters: &P) -> String {
    let mut name = NameParts::default();
    let defaults = P::defaults();
    parameters.visit(&mut |field, value| value.name_parts(field, of_field(&defaults, field), &mut name));
    let whole: String = name.parts.iter().map(|part| format!("_{part}")).collect();
    if !name.untold && whole.len() <= LONGEST_SUFFIX {
        return format!("{block}{whole}");
    }
    let mut text = String::new();
    for part in &name.parts {
        if text.len() + part.len() + 1 > LONGEST_BEFORE_HASH {
            break;
        }
        text += &format!("_{part}");
    }
    format!("{block}{text}_x{:08x}", fnv(&named_values(parameters).to_string()))
}

/// The value of a field among the values of its struct.
pub(super) fn of_field<'a>(values: &'a Value, field: &ParameterField) -> Option<&'a Value> {
    if field.inline { Some(values) } else { values.get(field.name) }
}

/// The values that a name tells apart.
fn named_values<P: Parameters>(parameters: &P) -> Value {
    let mut values = parameters.values();
    leave_out_defaults(parameters, &mut values);
    values
}

pub(super) fn leave_out_defaults<P: Parameters>(parameters: &P, values: &mut Value) {
    let defaults = P::defaults();
    parameters.visit(&mut |field, value| {
        if field.inline {
            return value.leave_out(values);
        }
        let Some(all) = values.as_object_mut() else { return };
        if field.when_set && all.get(field.name) == defaults.get(field.name) {
            // `remove` would change the order of the others.
            all.retain(|name, _| name != field.name);
        } else if let Some(inner) = all.get_mut(field.name) {
            value.leave_out(inner);
        }
    });
}

/// FNV-1a, 32 bits.
pub(super) fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
