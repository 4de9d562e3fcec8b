//! The command that repeats a point.

use super::Spec;
use crate::catalogue::Params;
use crate::params::plain;
use crate::shell;

/// The command that runs one point alone.
#[must_use]
pub fn command(spec: &Spec, params: &Params) -> String {
    shell::line(&arguments(spec, params))
}

/// The words of that command.
pub(crate) fn arguments(spec: &Spec, params: &Params) -> Vec<String> {
    let mut words = vec![shell::program().to_owned(), "point".into(), spec.block.about().name.into()];
    let defaults = spec.block.defaults();
    for (name, value) in params.iter().filter(|(name, value)| defaults.get(*name) != Some(*value)) {
        words.extend(["--set".into(), format!("{name}={}", plain(value))]);
    }
    words.push("--stages".into());
    words.push(spec.stages.iter().map(|s| s.name()).collect::<Vec<_>>().join(","));
    words.extend(spec.options.arguments());
    words
}
