//! Schemes as a user writes them: one, or several that go together.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};

use super::bench::{Bench, Given};
use super::combined::reader;
use super::options::Settings;
use super::scheme::{Reader, Scheme};
use super::{Part, Registry};

/// Schemes that compute a model together, each with its settings.
pub struct Chosen<'a> {
    /// Of different parts, in the order of parts.
    parts: Vec<One<'a>>,
}

/// A scheme with its settings.
struct One<'a> {
    scheme: &'a dyn Scheme,
    settings: Settings,
}

impl<'a> Chosen<'a> {
    /// Takes `NAME` or `NAME:OPTION=VALUE,..`. Several of them are joined by `+`.
    ///
    /// # Errors
    /// There is no such scheme, two of them replace the same part, or the errors of [`Settings::parse`].
    pub fn parse(registry: &'a Registry, text: &str) -> Result<Self> {
        Self::with(registry, text, &[])
    }

    /// A scheme with settings.
    #[must_use]
    pub fn one(scheme: &'a dyn Scheme, settings: Settings) -> Self {
        Self { parts: vec![One { scheme, settings }] }
    }

    /// The same with one more list of options, behind the ones of the first scheme in `text`.
    ///
    /// # Errors
    /// The errors of [`Chosen::parse`].
    pub fn with(registry: &'a Registry, text: &str, options: &[String]) -> Result<Self> {
        let mut options = Some(options);
        Self::joined(text, |part| One::with(registry, part, options.take().unwrap_or_default()))
    }

    /// The same with a calibration: what it has, too, and nobody gives, is as in it.
    ///
    /// # Errors
    /// The errors of [`Chosen::parse`].
    pub fn by(registry: &'a Registry, text: &str, options: &[String], given: &Given) -> Result<Self> {
        let mut options = Some(options);
        Self::joined(text, |part| One::by(registry, part, options.take().unwrap_or_default(), given))
    }

    fn joined(text: &str, mut one: impl FnMut(&str) -> Result<One<'a>>) -> Result<Self> {
        let mut parts: Vec<One<'a>> = Vec::new();
        for part in split(text) {
            let new = one(part)?;
            if let Some(other) = parts.iter().find(|other| other.scheme.part().excludes(new.scheme.part())) {
                let names = [other, &new].map(|one| format!("`{}`, which replaces {}", one.scheme.name(), one.about()));
                bail!("`{text}`: no place for two: {}", names.join("; "));
            }
            parts.push(new);
        }
        parts.sort_by_key(|one| one.scheme.part());
        // What replaces nothing is there only where nothing else is.
        if let Some(last) = parts.iter().rposition(|one| one.scheme.part() == Part::Nothing) {
            let from = if last + 1 == parts.len() { last } else { last + 1 };
            parts.drain(..from);
        }
        Ok(Self { parts })
    }

    /// Refuses schemes that are no caches.
    ///
    /// # Errors
    /// Names the scheme, and caches of the registry.
    pub fn is_cache(&self, registry: &Registry) -> Result<()> {
        let wrong = self.parts.iter().find(|one| !one.scheme.part().is_cache());
        let known: Vec<&str> = registry.iter().filter(|s| s.part().is_cache()).map(|s| s.name()).collect();
        let told = |one: &One<'_>| {
            let (name, known) = (one.scheme.name(), known.join(", "));
            format!("scheme `{name}` replaces {}, wanted is a cache: {known}", one.about())
        };
        ensure!(wrong.is_none(), wrong.map(told).unwrap_or_default());
        Ok(())
    }

    /// Name and all options: the same for schemes that compute the same.
    #[must_use]
    pub fn canonical(&self) -> String {
        self.parts.iter().map(One::canonical).collect::<Vec<_>>().join("+")
    }

    /// Whether one of them learns from a text.
    #[must_use]
    pub fn learns(&self) -> bool {
        self.parts.iter().any(|one| one.scheme.learns(&one.settings))
    }

    /// Whether one of them takes calibrations of this accelerator.
    #[must_use]
    pub fn takes(&self, accelerator: &str) -> bool {
        self.parts.iter().any(|one| one.scheme.calibrated_by() == Some(accelerator))
    }

    /// Each scheme with its settings.
    pub fn parts(&self) -> impl Iterator<Item = (&'a dyn Scheme, &Settings)> {
        self.parts.iter().map(|one| (one.scheme, &one.settings))
    }

    /// Quantizes what does not depend on the text that is judged.
    ///
    /// # Errors
    /// The errors of [`Scheme::prepare`], with the scheme's name.
    pub fn prepare<'b>(&self, bench: &'b Bench<'_>) -> Result<Box<dyn Reader + 'b>> {
        let prepared = |one: &One<'_>| one.scheme.prepare(&one.settings, bench).with_context(|| one.canonical());
        reader(bench.model, self.parts.iter().map(prepared).collect::<Result<_>>()?)
    }
}

/// Parts of a text between `+` in front of a name: the plus of an exponent stays.
pub(super) fn split(text: &str) -> Vec<&str> {
    let is_next = |(at, _): &(usize, &str)| text[at + 1..].starts_with(|c: char| c.is_ascii_lowercase());
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices('+').filter(is_next) {
        parts.push(&text[from..at]);
        from = at + 1;
    }
    parts.push(&text[from..]);
    parts
}

impl<'a> One<'a> {
    fn about(&self) -> &'static str {
        self.scheme.part().about()
    }

    fn parse(registry: &'a Registry, text: &str) -> Result<Self> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let Some(scheme) = registry.iter().find(|scheme| scheme.name() == name) else {
            let names: Vec<&str> = registry.iter().map(|scheme| scheme.name()).collect();
            bail!("there is no scheme `{name}`; schemes are: {}", names.join(", "));
        };
        let settings = Settings::parse(&scheme.choices(), options);
        let settings = settings.with_context(|| format!("scheme `{name}`"))?;
        Ok(Self { scheme: scheme.as_ref(), settings })
    }

    fn with(registry: &'a Registry, text: &str, options: &[String]) -> Result<Self> {
        let joined = match (options.is_empty(), text.contains(':')) {
            (true, _) => text.to_owned(),
            (false, false) => format!("{text}:{}", options.join(",")),
            (false, true) => format!("{text},{}", options.join(",")),
        };
        Self::parse(registry, &joined)
    }

    fn by(registry: &'a Registry, text: &str, options: &[String], given: &Given) -> Result<Self> {
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

    fn canonical(&self) -> String {
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
