//! What a model needs of an accelerator: parameters that must have other values.

use std::fmt::{self, Display};

use anyhow::{Result, ensure};
use host::vector::{Caps as Vector, Function};
use models::decoder::{Activation, Config, Family, Positions};

use crate::layer::Heads;

/// Texts side by side, and tokens of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Texts.
    pub texts: usize,
    /// Tokens of a text, its prompt among them.
    pub tokens: usize,
}

impl Room {
    /// Room for one text.
    #[must_use]
    pub fn for_one(tokens: usize) -> Self {
        Self { texts: 1, tokens }
    }

    /// Refuses no room.
    pub(crate) fn check(self) -> Result<()> {
        let Self { texts, tokens } = self;
        ensure!(texts > 0 && tokens > 0, "room for {tokens} tokens of {texts} texts, wanted are one or more of each");
        Ok(())
    }
}

/// What is asked of an accelerator.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Shape and constants of the model.
    pub config: &'a Config,
    /// Texts and tokens.
    pub room: Room,
    /// Tokens of the longest prompt, which come at once.
    pub prompt: usize,
}

impl Asked<'_> {
    /// The heads of the model in rows, each as wide as a multiple of `unit`.
    #[must_use]
    pub fn heads(&self, unit: usize) -> Heads {
        let c = self.config;
        let width = c.head_width.next_multiple_of(unit.max(1));
        Heads { queries: c.heads, keys: c.kv_heads, width, own: c.head_width }
    }
}

/// A parameter that must have another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Name of the parameter, as `--set` takes it.
    pub parameter: &'static str,
    /// Its value.
    pub has: String,
    /// The value that is enough.
    pub wanted: String,
    /// What it is for.
    pub why: String,
}

impl Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parameter, has, wanted, why } = self;
        write!(f, "{parameter} must be {wanted}, and is {has} ({why})")
    }
}

/// All parameters that must have other values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(Vec<Need>);

impl Needs {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Need] {
        &self.0
    }

    /// A parameter that must be at least so large.
    pub fn at_least(&mut self, parameter: &'static str, has: usize, wanted: usize, why: &str) {
        if has < wanted {
            self.must_be(parameter, has, wanted, why);
        }
    }

    /// A parameter that must be another one.
    pub fn must_be(&mut self, parameter: &'static str, has: impl Display, wanted: impl Display, why: &str) {
        self.0.push(Need { parameter, has: has.to_string(), wanted: wanted.to_string(), why: why.to_owned() });
    }

    /// The vector unit: rows of so many elements, norms and rotation of the model. `softmax`: it does the softmax of the
    /// scores, too.
    pub fn vector(&mut self, caps: &Vector, (config, longest): (&Config, usize), softmax: bool) {
        let lanes = caps.lanes.max(1) as usize;
        self.at_least("max_beats", caps.max_beats as usize, longest.div_ceil(lanes), "beats of the longest row");
        let mut unit = |parameter, has: bool, wanted: bool, why| {
            if wanted && !has {
                self.must_be(parameter, has, wanted, why);
            }
        };
        unit("units.softmax", caps.units.softmax, softmax, "softmax of scores");
        unit("units.layer_norm", caps.units.layer_norm, config.family == Family::Gpt, "LayerNorm of the model");
        let turns = matches!(config.positions, Positions::Rotary(_));
        unit("units.rotary", caps.units.rotary, turns, "rotary embedding of the model");
    }

    /// The activation of the model, as a step of the vector unit.
    pub fn activation(&mut self, caps: &Vector, activation: Activation) {
        let (wanted, name) = match activation {
            Activation::Relu => (Function::Relu, "relu"),
            Activation::Silu => (Function::Silu, "silu"),
            Activation::Gelu => (Function::Gelu, "gelu_erf"),
            Activation::GeluTanh => (Function::GeluTanh, "gelu_tanh"),
        };
        if caps.activation() != Some(wanted) {
            let has = match caps.activation() {
                Some(Function::Gelu) => "gelu_erf",
                Some(Function::GeluTanh) => "gelu_tanh",
                Some(Function::Silu) => "silu",
                Some(Function::Tanh) => "tanh",
                Some(Function::Relu) => "relu",
                None => "another one",
            };
            self.must_be("lane.function", has, name, "activation of the model");
        }
    }

    /// Refuses an accelerator with such needs.
    ///
    /// # Errors
    /// There is a need: each with its parameter, and the value that is enough.
    pub fn refuse(&self, accelerator: &str) -> Result<()> {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        ensure!(all.is_empty(), "the model does not fit on {accelerator}: {}", all.join("; "));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use host::vector::Units;

    use super::*;

    #[test]
    fn needs_name_parameters() {
        let mut needs = Needs::default();
        needs.at_least("depth", 8, 8, "enough");
        assert!(needs.refuse("a_top").is_ok());
        needs.at_least("depth", 8, 9, "channels");
        needs.must_be("int8", false, true, "bytes");
        let told = needs.refuse("a_top").unwrap_err().to_string();
        assert_eq!(
            told,
            "the model does not fit on a_top: depth must be 9, and is 8 (channels); int8 must be true, and is false (bytes)"
        );
    }

    #[test]
    fn a_vector_unit_without_anything() {
        let config = Config {
            family: Family::Gpt,
            layers: 1,
            width: 40,
            ffn_width: 8,
            heads: 1,
            kv_heads: 1,
            head_width: 8,
            positions: Positions::Learned { offset: 0 },
            activation: Activation::GeluTanh,
            norm_eps: 1e-5,
            vocabulary: 2,
            context: 2,
        };
        let caps = Vector { opcode: 1, lanes: 8, max_beats: 4, function: 2, units: Units::default() };
        let mut needs = Needs::default();
        needs.vector(&caps, (&config, 40), true);
        needs.activation(&caps, config.activation);
        let names: Vec<_> = needs.all().iter().map(|need| (need.parameter, need.wanted.as_str())).collect();
        let wanted = [
            ("max_beats", "5"),
            ("units.softmax", "true"),
            ("units.layer_norm", "true"),
            ("lane.function", "gelu_tanh"),
        ];
        assert_eq!(names, wanted);
        let mut needs = Needs::default();
        needs.activation(&Vector { function: 4, ..caps }, Activation::Relu);
        assert!(needs.all().is_empty());
        needs.activation(&caps, Activation::Relu);
        let told = "lane.function must be relu, and is silu (activation of the model)";
        assert_eq!(needs.all()[0].to_string(), told);
    }
}
