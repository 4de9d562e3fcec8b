//! Options of a scheme, and how a user writes them: `tender:bits=4,groups=8`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail, ensure};

use crate::WrongRequest;

/// Between the values of layers.
pub(super) const BETWEEN: &str = "/";

/// The values that an option may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A whole number.
    Count(RangeInclusive<u64>),
    /// A number.
    Number(RangeInclusive<f64>),
    /// A share in per cent, in steps of 0.01.
    Percent(RangeInclusive<f64>),
    /// One of some words.
    Word(&'static [&'static str]),
    /// A value of this kind, or a word: there is no such value.
    Or(Box<Kind>, &'static str),
    /// A value of this kind for all layers, or one for each of them: `8/8/6`.
    Layers(Box<Kind>),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(range) => write!(f, "{} to {}", range.start(), range.end()),
            Self::Number(range) => write!(f, "a number from {} to {}", range.start(), range.end()),
            Self::Percent(range) => {
                write!(f, "per cent from {} to {} in steps of 0.01", range.start(), range.end())
            }
            Self::Word(words) => f.write_str(&words.join(", ")),
            Self::Or(kind, word) => write!(f, "{kind}, or {word}"),
            Self::Layers(kind) => write!(f, "{kind}; or one for each layer, joined by {BETWEEN}"),
        }
    }
}

impl Kind {
    /// The value in the form in which all programs write it.
    fn parse(&self, text: &str) -> Option<String> {
        match self {
            Self::Count(range) => text.parse::<u64>().ok().filter(|n| range.contains(n)).map(|n| n.to_string()),
            Self::Number(range) => text.parse::<f64>().ok().filter(|x| range.contains(x)).map(|x| x.to_string()),
            Self::Percent(range) => {
                let share = text.parse::<f64>().ok().filter(|x| range.contains(x))?;
                let steps = share * 100.0;
                ((steps - steps.round()).abs() < 1e-9).then(|| (steps.round() / 100.0).to_string())
            }
            Self::Word(words) => words.contains(&text).then(|| text.to_owned()),
            Self::Or(kind, word) => {
                if text == *word {
                    Some(text.to_owned())
                } else {
                    kind.parse(text)
                }
            }
            Self::Layers(kind) => {
                let all: Vec<String> = text.split(BETWEEN).map(|one| kind.parse(one)).collect::<Option<_>>()?;
                // The same for all layers has one form.
                let same = all.iter().all(|one| *one == all[0]);
                Some(if same { all[0].clone() } else { all.join(BETWEEN) })
            }
        }
    }
}

/// An option: what it is called, what it means, and what it is where nobody says.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// Its value where the user gives none.
    pub default: &'static str,
    /// Values that are allowed.
    pub kind: Kind,
    /// What it means.
    pub about: &'static str,
}

/// All options of a scheme, each with a value that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
}

impl Settings {
    /// Takes `name=value` pairs, separated by commas, on top of the defaults.
    ///
    /// # Errors
    /// An option that there is not, that comes twice, or a value that is not allowed: the message says what is.
    pub fn parse(choices: &[Choice], text: &str) -> Result<Self> {
        let mut given = BTreeMap::new();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) =
                pair.split_once('=').with_context(|| format!("`{pair}` is no option; wanted is NAME=VALUE"))?;
            let Some(choice) = choices.iter().find(|choice| choice.name == name) else {
                let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
                ensure!(!names.is_empty(), "there is no option `{name}`, and no other one");
                bail!("there is no option `{name}`; options are: {}", names.join(", "));
            };
            let parsed = choice.kind.parse(value);
            let parsed = parsed.with_context(|| format!("`{name}` is {value:?}, allowed: {}", choice.kind))?;
            ensure!(given.insert(choice.name, parsed).is_none(), "`{name}` is there twice");
        }
        let value = |choice: &Choice| {
            let value = given.remove(choice.name).or_else(|| choice.kind.parse(choice.default));
            let value = value.with_context(|| format!("the default of `{}` is not allowed", choice.name))?;
            Ok((choice.name, value))
        };
        Ok(Self { values: choices.iter().map(value).collect::<Result<_>>()? })
    }

    fn of<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        let value = self.word(name)?;
        let wrong = || WrongRequest(format!("option `{name}` is {value}, which this use has no number for"));
        value.parse().ok().with_context(wrong)
    }

    /// A whole number.
    ///
    /// # Errors
    /// The scheme has no such option, or it is of another kind.
    pub fn count<T: TryFrom<u64>>(&self, name: &str) -> Result<T> {
        T::try_from(self.of::<u64>(name)?).ok().with_context(|| format!("option `{name}` is too large"))
    }

    /// A number.
    ///
    /// # Errors
    /// The scheme has no such option, or it is of another kind.
    pub fn number(&self, name: &str) -> Result<f64> {
        self.of(name)
    }

    /// A share, in hundredths of a per cent.
    ///
    /// # Errors
    /// The scheme has no such option, or it is of another kind.
    pub fn percent(&self, name: &str) -> Result<u32> {
        Ok((self.of::<f64>(name)? * 100.0).round() as u32)
    }

    /// A word.
    ///
    /// # Errors
    /// The scheme has no such option.
    pub fn word(&self, name: &str) -> Result<&str> {
        let value = self.values.get(name).with_context(|| format!("the scheme has no option `{name}`"))?;
        Ok(value)
    }
}

impl Settings {
    /// The settings of each layer: options that have a value for each layer have the value of this layer there.
    ///
    /// # Errors
    /// An option has values for another number of layers.
    pub fn by_layer(&self, choices: &[Choice], layers: usize) -> Result<Vec<Self>> {
        let mut all = vec![self.clone(); layers];
        for choice in choices.iter().filter(|choice| matches!(choice.kind, Kind::Layers(_))) {
            let values: Vec<&str> = self.word(choice.name)?.split(BETWEEN).collect();
            let (name, count) = (choice.name, values.len());
            let told =
                || WrongRequest(format!("option `{name}` has {count} values, wanted are 1, or {layers}, one a layer"));
            ensure!(count == 1 || count == layers, told());
            for (layer, settings) in all.iter_mut().enumerate() {
                settings.values.insert(name, values[layer % count].to_owned());
            }
        }
        Ok(all)
    }
}

/// All options with their values, in alphabetical order: the same for the same settings.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&pairs.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> Vec<Choice> {
        let choice = |name, default, kind| Choice { name, default, kind, about: "" };
        vec![
            choice("bits", "8", Kind::Count(2..=8)),
            choice("share", "33.8", Kind::Percent(0.0..=100.0)),
            choice("rate", "0", Kind::Number(0.0..=1.0)),
            choice("scale", "row", Kind::Word(&["row", "column"])),
            choice("keys", "4", Kind::Or(Box::new(Kind::Count(2..=8)), "layers")),
        ]
    }

    #[test]
    fn values_of_layers() {
        let kind = Kind::Layers(Box::new(Kind::Or(Box::new(Kind::Count(0..=9)), "share")));
        let choices = [Choice { name: "x", default: "share", kind, about: "" }];
        let parse = |text: &str| Settings::parse(&choices, text);
        assert_eq!(parse("x=03/share/4").unwrap().to_string(), "x=3/share/4");
        assert_eq!(parse("x=3/3").unwrap().to_string(), "x=3");
        let words = |text: &str, layers: usize| -> Result<Vec<String>> {
            let all = parse(text)?.by_layer(&choices, layers)?;
            all.iter().map(|settings| settings.word("x").map(str::to_owned)).collect()
        };
        assert_eq!(words("x=3/share/4", 3).unwrap(), ["3", "share", "4"]);
        assert_eq!(words("", 2).unwrap(), ["share", "share"]);
        let error = words("x=3/4", 3).unwrap_err().to_string();
        assert_eq!(error, "option `x` has 2 values, wanted are 1, or 3, one a layer");
        let told = "`x` is \"3//4\", allowed: 0 to 9, or share; or one for each layer, joined by /";
        assert_eq!(parse("x=3//4").unwrap_err().to_string(), told);
        assert!(parse("x=10/1").is_err());
    }

    #[test]
    fn values_and_defaults() {
        let settings = Settings::parse(&choices(), "rate=1e-3,bits=04").unwrap();
        assert_eq!(settings.to_string(), "bits=4,keys=4,rate=0.001,scale=row,share=33.8");
        assert_eq!((settings.count::<u32>("bits").unwrap(), settings.percent("share").unwrap()), (4, 3380));
        assert_eq!((settings.number("rate").unwrap(), settings.word("scale").unwrap()), (0.001, "row"));
        assert_eq!(Settings::parse(&choices(), "").unwrap().count::<usize>("bits").unwrap(), 8);
        let layers = Settings::parse(&choices(), "keys=layers").unwrap();
        assert_eq!(layers.word("keys").unwrap(), "layers");
        let error = layers.count::<u8>("keys").unwrap_err();
        assert!(error.is::<WrongRequest>() && error.to_string().contains("option `keys` is layers, which"), "{error}");
        assert!(settings.count::<u8>("scale").is_err() && settings.word("none").is_err());
    }

    #[test]
    fn what_is_refused() {
        let cases = [
            ("bits", "`bits` is no option; wanted is NAME=VALUE"),
            ("bit=3", "there is no option `bit`; options are: bits, share, rate, scale, keys"),
            ("bits=9", "`bits` is \"9\", allowed: 2 to 8"),
            ("bits=-1", "allowed: 2 to 8"),
            ("bits=4,bits=4", "`bits` is there twice"),
            ("share=0.001", "allowed: per cent from 0 to 100 in steps of 0.01"),
            ("share=NaN", "per cent"),
            ("rate=inf", "a number from 0 to 1"),
            ("scale=tensor", "allowed: row, column"),
            ("keys=9", "`keys` is \"9\", allowed: 2 to 8, or layers"),
        ];
        for (text, part) in cases {
            let error = Settings::parse(&choices(), text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = Settings::parse(&[], "a=1").unwrap_err().to_string();
        assert!(error.contains("there is no option `a`, and no other one"), "{error}");
    }
}
