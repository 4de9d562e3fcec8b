//! How the text of generated files is filled in: strictly, and with line breaks as the template has them.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, UndefinedBehavior};

use crate::error::Failure;

/// An environment without templates.
///
/// # Errors
/// None that a user can cause.
pub(crate) fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?);
    Ok(environment)
}

/// A template that does not fit its data: a bug, kept from being a panic.
pub(crate) fn bug(what: &str) -> impl Fn(Error) -> Failure + '_ {
    move |e| Failure::Check(format!("templates of {what}: {e:#}"))
}
