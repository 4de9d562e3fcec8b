//! Schemes as a text, before they are understood: a search changes options in it.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};

use super::chosen::split;
use super::options::BETWEEN;
use super::{Choice, Kind, Registry, Scheme};

/// `tender:bits=4+titanus`: names with the options that are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    parts: Vec<(String, BTreeMap<String, String>)>,
}

impl Written {
    /// Takes a text apart. What its names and values mean is not looked at.
    ///
    /// # Errors
    /// An option without a value, or one that comes twice; a name that comes twice.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts: Vec<(String, BTreeMap<String, String>)> = Vec::new();
        for part in split(text) {
            let (name, pairs) = part.split_once(':').unwrap_or((part, ""));
            ensure!(parts.iter().all(|(other, _)| other != name), "`{text}`: `{name}` is there twice");
            let mut options = BTreeMap::new();
            for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
                let wanted = || format!("`{pair}` is no option; wanted is NAME=VALUE");
                let (option, value) = pair.split_once('=').with_context(wanted)?;
                let before = options.insert(option.to_owned(), value.to_owned());
                ensure!(before.is_none(), "`{option}` is there twice");
            }
            parts.push((name.to_owned(), options));
        }
        Ok(Self { parts })
    }

    /// Whether a scheme of this name is in it.
    #[must_use]
    pub fn has(&self, scheme: &str) -> bool {
        self.parts.iter().any(|(name, _)| name == scheme)
    }

    /// Names of the schemes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// Gives an option a value.
    ///
    /// # Errors
    /// No such scheme in it.
    pub fn set(&mut self, scheme: &str, option: &str, value: String) -> Result<()> {
        let Some((_, options)) = self.parts.iter_mut().find(|(name, _)| name == scheme) else {
            bail!("no scheme `{scheme}` here; schemes are: {}", self.names().collect::<Vec<_>>().join(", "));
        };
        options.insert(option.to_owned(), value);
        Ok(())
    }

    /// Gives an option a value for each layer.
    ///
    /// # Errors
    /// No such scheme in it.
    pub fn set_layers(&mut self, scheme: &str, option: &str, values: &[String]) -> Result<()> {
        self.set(scheme, option, values.join(BETWEEN))
    }

    /// The scheme of an option, and the option.
    ///
    /// # Errors
    /// There is no such scheme, or it has no such option: the message names what there is.
    pub fn option<'a>(registry: &'a Registry, scheme: &str, option: &str) -> Result<(&'a dyn Scheme, Choice)> {
        let Some(found) = registry.iter().find(|known| known.name() == scheme) else {
            let names: Vec<&str> = registry.iter().map(|scheme| scheme.name()).collect();
            bail!("there is no scheme `{scheme}`; schemes are: {}", names.join(", "));
        };
        let choices = found.choices();
        let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
        let all =
            if names.is_empty() { "it has none".to_owned() } else { format!("options are: {}", names.join(", ")) };
        let choice = choices.iter().find(|choice| choice.name == option);
        let choice = choice.with_context(|| format!("scheme `{scheme}` has no option `{option}`; {all}"))?;
        Ok((found.as_ref(), choice.clone()))
    }
}

impl Choice {
    /// Whether each layer may have a value of its own.
    #[must_use]
    pub fn is_by_layer(&self) -> bool {
        matches!(self.kind, Kind::Layers(_))
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, options)) in self.parts.iter().enumerate() {
            let pairs: Vec<String> = options.iter().map(|(option, value)| format!("{option}={value}")).collect();
            let (plus, colon) = (if number > 0 { "+" } else { "" }, if pairs.is_empty() { "" } else { ":" });
            write!(f, "{plus}{name}{colon}{}", pairs.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_change() {
        let mut written = Written::parse("tender:bits=8+titanus").unwrap();
        assert_eq!(written.to_string(), "tender:bits=8+titanus");
        written.set("tender", "bits", "4".to_owned()).unwrap();
        written.set_layers("titanus", "keys", &["4".to_owned(), "5".to_owned()]).unwrap();
        assert_eq!(written.to_string(), "tender:bits=4+titanus:keys=4/5");
        assert!(written.has("titanus") && !written.has("kelle"));
        let told = written.set("kelle", "tokens", "1".to_owned()).unwrap_err().to_string();
        assert_eq!(told, "no scheme `kelle` here; schemes are: tender, titanus");
        for (text, part) in [
            ("a+a", "`a` is there twice"),
            ("a:x=1,x=2", "`x` is there twice"),
            ("a:x", "`x` is no option; wanted is NAME=VALUE"),
        ] {
            assert!(Written::parse(text).unwrap_err().to_string().contains(part), "{text}");
        }
        let registry = super::super::registry();
        assert!(Written::option(&registry, "titanus", "keys").unwrap().1.is_by_layer());
        let told = |scheme: &str, option: &str| Written::option(&registry, scheme, option).err().unwrap().to_string();
        assert!(told("titan", "keys").starts_with("there is no scheme `titan`; schemes are: float, "));
        assert!(told("titanus", "key").starts_with("scheme `titanus` has no option `key`; options are: pruned, keys"));
        assert_eq!(told("float", "x"), "scheme `float` has no option `x`; it has none");
    }
}
