//! Schemes: ways to compute a decoder, in floats or in the numbers of an accelerator. Each says its name, its options
//! and its meaning itself; `senbazuru eval` measures whatever is in the [`registry`].
//!
//! ```
//! use models::schemes::{Chosen, registry};
//!
//! let schemes = registry();
//! let chosen = Chosen::parse(&schemes, "tender:bits=4")?;
//! assert_eq!(chosen.canonical(), "tender:bits=4,groups=8,outliers=0,ranges=text");
//! # Ok::<(), anyhow::Error>(())
//! ```

mod bench;
mod learning;
mod options;
mod plain;
mod scheme;

use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};

pub use bench::{Bench, Given, NothingToLearnFrom};
pub use learning::Learning;
pub use options::{Choice, Kind, Settings};
pub use scheme::{Amount, Found, Passage, Reader, Scheme, Tally, by_arithmetic, is_surprise};

/// Schemes, each with a name of its own.
pub type Registry = Vec<Arc<dyn Scheme>>;

/// Checks what a scheme says of itself: name, and the defaults of its options.
///
/// # Errors
/// Names the scheme and what is wrong.
pub fn check(scheme: &dyn Scheme) -> Result<()> {
    let name = scheme.name();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    ensure!(!name.is_empty() && name.chars().all(fits), "scheme `{name}`: allowed are `a` to `z`, digits, `_` and `-`");
    let settings = Settings::parse(&scheme.choices(), "");
    settings.with_context(|| format!("scheme `{name}`"))?;
    Ok(())
}

/// All schemes of this crate, one line each.
#[must_use]
pub fn registry() -> Registry {
    vec![
        Arc::new(plain::Plain),
        Arc::new(crate::tender::schemes::Integers),
        Arc::new(crate::tender::schemes::Tender),
        Arc::new(crate::kllm::scheme::Kllm),
        Arc::new(plain::Cache),
        Arc::new(crate::titanus::scheme::Titanus),
        Arc::new(crate::kelle::schemes::Kelle),
        Arc::new(crate::kelle::schemes::Flips),
        Arc::new(crate::kelle::schemes::Refreshed),
    ]
}

/// A scheme with its settings.
pub struct Chosen<'a> {
    /// The scheme.
    pub scheme: &'a dyn Scheme,
    /// Its settings.
    pub settings: Settings,
}

impl<'a> Chosen<'a> {
    /// Takes `NAME` or `NAME:OPTION=VALUE,..`.
    ///
    /// # Errors
    /// There is no such scheme, or the errors of [`Settings::parse`].
    pub fn parse(registry: &'a Registry, text: &str) -> Result<Self> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let Some(scheme) = registry.iter().find(|scheme| scheme.name() == name) else {
            let names: Vec<&str> = registry.iter().map(|scheme| scheme.name()).collect();
            bail!("there is no scheme `{name}`; schemes are: {}", names.join(", "));
        };
        let settings = Settings::parse(&scheme.choices(), options);
        let settings = settings.with_context(|| format!("scheme `{name}`"))?;
        Ok(Self { scheme: scheme.as_ref(), settings })
    }

    /// The same with one more list of options, behind the ones in `text`.
    ///
    /// # Errors
    /// The errors of [`Chosen::parse`].
    pub fn with(registry: &'a Registry, text: &str, options: &[String]) -> Result<Self> {
        let joined = match (options.is_empty(), text.contains(':')) {
            (true, _) => text.to_owned(),
            (false, false) => format!("{text}:{}", options.join(",")),
            (false, true) => format!("{text},{}", options.join(",")),
        };
        Self::parse(registry, &joined)
    }

    /// The same with a calibration: what it has, too, and nobody gives, is as in it.
    ///
    /// # Errors
    /// The errors of [`Chosen::parse`].
    pub fn by(registry: &'a Registry, text: &str, options: &[String], given: &Given) -> Result<Self> {
        let plain = Self::with(registry, text, options)?;
        if plain.scheme.calibrated_by() != Some(&given.file.origin.accelerator) {
            return Ok(plain);
        }
        let written = text.split_once(':').map(|(_, options)| options).unwrap_or_default();
        let written = || options.iter().map(String::as_str).chain([written]).flat_map(|some| some.split(','));
        let mut all = options.to_vec();
        for name in plain.scheme.shared() {
            if !written().any(|pair| pair.split_once('=').is_some_and(|(written, _)| written == *name)) {
                all.push(format!("{name}={}", given.settings.word(name)?));
            }
        }
        let place = || given.file.path.display().to_string();
        Self::with(registry, text, &all).with_context(place)
    }

    /// Name and all options: the same for schemes that compute the same.
    #[must_use]
    pub fn canonical(&self) -> String {
        let settings = self.settings.to_string();
        let colon = if settings.is_empty() { "" } else { ":" };
        format!("{}{colon}{settings}", self.scheme.name())
    }
}

impl fmt::Debug for Chosen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical())
    }
}

#[cfg(test)]
mod tests;
