//! Calibrations: what an accelerator learns from a text before a model runs on it.
//!
//! An accelerator says itself what it learns ([`Calibrates`]): options, arrays, and how it learns them. [`File`] is a
//! folder of arrays, with a document that says what they belong to.
//!
//! ```
//! use models::calibration::{Array, Kind};
//!
//! let array = Array::new(&[2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let read = Array::of_npy(&array.npy())?;
//! assert_eq!((read.kind(), read.shape()), (Kind::Float64, &[2, 3][..]));
//! # Ok::<(), anyhow::Error>(())
//! ```

mod array;
mod file;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, ensure};

pub use array::{Array, Element, Kind};
pub use file::{DOCUMENT, Expected, File, Origin, Search, Text};

use crate::decoder::{Config, Model};
use crate::schemes::{Choice, Learning, Settings};

/// An array that a calibration has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name: letters, digits, `_` and dots.
    pub name: String,
    /// Type of its elements.
    pub kind: Kind,
    /// Extents, the outermost first.
    pub shape: Vec<usize>,
}

impl Wanted {
    /// An array of this name, type and shape.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind, shape: &[usize]) -> Self {
        Self { name: name.into(), kind, shape: shape.to_vec() }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.shape)
    }
}

/// What a calibration is for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Shape of the model.
    pub config: &'a Config,
    /// The accelerator's options.
    pub settings: &'a Settings,
    /// Tokens of the longest window.
    pub window: usize,
}

/// What a calibration is learnt from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The model in floats.
    pub model: &'a Model,
    /// The text in windows, which the model reads each on its own.
    pub learning: &'a Learning,
}

impl<'a> Source<'a> {
    /// What a calibration with these settings is for.
    #[must_use]
    pub fn asks(&self, settings: &'a Settings) -> Asked<'a> {
        let window = self.learning.windows.iter().map(Vec::len).max().unwrap_or_default();
        Asked { config: self.model.config(), settings, window }
    }
}

/// What an accelerator learns from a text. Equal sources and settings have equal arrays.
pub trait Calibrates: Sync {
    /// Options of learning, each with its default.
    fn choices(&self) -> Vec<Choice>;

    /// Names of the accelerator's parameters that arrays depend on: a calibration is for these values alone.
    fn parameters(&self) -> &'static [&'static str] {
        &[]
    }

    /// Tokens of a window of the text, where nobody says how many.
    fn window(&self) -> usize;

    /// The arrays.
    fn wanted(&self, asked: &Asked<'_>) -> Result<Vec<Wanted>>;

    /// Learns. `done` hears how many layers are ready.
    ///
    /// # Errors
    /// The model cannot read the text, or the accelerator cannot compute the model.
    fn learn(&self, from: &Source<'_>, settings: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays>;

    /// Refuses settings and arrays that the accelerator cannot run with. The arrays are of the wanted types and shapes.
    ///
    /// # Errors
    /// Names the option or the array, and what is wanted.
    fn runs_with(&self, asked: &Asked<'_>, arrays: &Arrays) -> Result<()> {
        let _ = (asked, arrays);
        Ok(())
    }

    /// Options as they are where nobody says anything.
    ///
    /// # Errors
    /// A default that is not allowed.
    fn defaults(&self) -> Result<Settings> {
        Settings::parse(&self.choices(), "")
    }
}

/// Arrays by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrays(BTreeMap<String, Array>);

impl Arrays {
    /// No array.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an array, or puts it in the place of another one.
    pub fn set(&mut self, name: impl Into<String>, array: Array) {
        self.0.insert(name.into(), array);
    }

    /// Adds an array of these elements.
    ///
    /// # Errors
    /// There are not as many elements as the shape has.
    pub fn add<T: Element>(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        elements: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let name = name.into();
        let array = Array::new(shape, elements).with_context(|| format!("array `{name}`"))?;
        self.set(name, array);
        Ok(())
    }

    /// All arrays, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.0.iter().map(|(name, array)| (name.as_str(), array))
    }

    /// An array.
    ///
    /// # Errors
    /// There is no array of this name.
    pub fn get(&self, name: &str) -> Result<&Array> {
        self.0.get(name).with_context(|| format!("there is no array `{name}`"))
    }

    /// The elements of an array.
    ///
    /// # Errors
    /// There is no array of this name, or its elements are of another type.
    pub fn all<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        self.get(name)?.all().with_context(|| format!("array `{name}`"))
    }

    /// The only element of an array.
    ///
    /// # Errors
    /// There is no array of this name, its elements are of another type, or it has another number of them.
    pub fn one<T: Element>(&self, name: &str) -> Result<T> {
        let all = self.all(name)?;
        ensure!(all.len() == 1, "array `{name}` has {} elements, wanted is 1", all.len());
        Ok(all[0])
    }

    /// Equally long rows of an array.
    ///
    /// # Errors
    /// There is no array of this name, its elements are of another type, or it has none.
    pub fn rows<T: Element>(&self, name: &str) -> Result<Vec<Vec<T>>> {
        let length = self.get(name)?.shape().last().copied().unwrap_or_default();
        ensure!(length > 0, "array `{name}` has no rows");
        Ok(self.all(name)?.chunks(length).map(<[T]>::to_vec).collect())
    }

    /// Arrays of layers, one after the other.
    ///
    /// # Errors
    /// There is no layer, or two layers have different arrays.
    pub fn of_layers(layers: &[Self]) -> Result<Self> {
        let mut all = Self::new();
        for (name, _) in layers.first().context("arrays of no layer")?.iter() {
            let parts = layers.iter().map(|layer| layer.get(name)).collect::<Result<Vec<_>>>()?;
            all.set(name, Array::stacked(&parts).with_context(|| format!("array `{name}`"))?);
        }
        Ok(all)
    }

    /// The arrays of a layer.
    ///
    /// # Errors
    /// There is no such layer.
    pub fn layer(&self, number: usize) -> Result<Self> {
        let part = |(name, array): (&String, &Array)| {
            Ok((name.clone(), array.part(number).with_context(|| format!("array `{name}`"))?))
        };
        self.0.iter().map(part).collect::<Result<_>>().map(Self)
    }

    /// Refuses arrays that are not exactly the wanted ones, and numbers that are none. `place` is the name of an array
    /// in messages.
    ///
    /// # Errors
    /// Names the array, and what is wanted.
    pub fn check(&self, wanted: &[Wanted], place: &dyn Fn(&str) -> String) -> Result<()> {
        for one in wanted {
            let place = place(&one.name);
            let array = self.0.get(&one.name).with_context(|| format!("{place}: is not there, wanted is {one}"))?;
            let (kind, shape) = (array.kind(), array.shape());
            ensure!(kind == one.kind && shape == one.shape, "{place}: is {kind} {shape:?}, wanted is {one}");
            let wrong = array.not_finite();
            ensure!(
                wrong.is_none(),
                "{place}: element {} is infinite or no number, wanted are finite numbers",
                wrong.unwrap_or_default()
            );
        }
        let stray = self.0.keys().find(|name| wanted.iter().all(|one| one.name != **name));
        let names = || wanted.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(
            stray.is_none(),
            "{}: nobody knows this array; wanted are {}",
            place(stray.map_or("", String::as_str)),
            names()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(of: &[(&str, &[usize], &[f64])]) -> Arrays {
        let mut all = Arrays::new();
        of.iter().for_each(|(name, shape, elements)| all.add(*name, shape, elements.iter().copied()).unwrap());
        all
    }

    #[test]
    fn layers_there_and_back() {
        let layers = [arrays(&[("a", &[2], &[1.0, 2.0]), ("b", &[], &[3.0])]), {
            arrays(&[("a", &[2], &[4.0, 5.0]), ("b", &[], &[6.0])])
        }];
        let all = Arrays::of_layers(&layers).unwrap();
        assert_eq!((all.get("a").unwrap().shape(), all.get("b").unwrap().shape()), (&[2, 2][..], &[2][..]));
        assert_eq!((all.layer(0).unwrap(), all.layer(1).unwrap()), (layers[0].clone(), layers[1].clone()));
        assert_eq!(all.rows::<f64>("a").unwrap(), [[1.0, 2.0], [4.0, 5.0]]);
        assert_eq!(all.layer(1).unwrap().one::<f64>("b").unwrap(), 6.0);
        assert!(format!("{:#}", all.layer(2).unwrap_err()).contains("array `a`: part 2 of an array of 2"));
        assert!(Arrays::of_layers(&[layers[0].clone(), Arrays::new()]).is_err());
    }

    #[test]
    fn arrays_that_are_not_wanted() {
        let wanted = [Wanted::new("a", Kind::Float64, &[2]), Wanted::new("b", Kind::Float64, &[])];
        let check = |of| arrays(of).check(&wanted, &|name| format!("x/{name}")).map_err(|e| format!("{e:#}"));
        let refused = |of| check(of).unwrap_err();
        assert_eq!(check(&[("a", &[2], &[1.0, 2.0]), ("b", &[], &[3.0])]), Ok(()));
        assert_eq!(refused(&[("a", &[2], &[1.0, 2.0])]), "x/b: is not there, wanted is float64 []");
        let shape = refused(&[("a", &[1, 2], &[1.0, 2.0]), ("b", &[], &[3.0])]);
        assert_eq!(shape, "x/a: is float64 [1, 2], wanted is float64 [2]");
        let none = refused(&[("a", &[2], &[1.0, f64::NAN]), ("b", &[], &[3.0])]);
        assert_eq!(none, "x/a: element 1 is infinite or no number, wanted are finite numbers");
        let stray = refused(&[("a", &[2], &[1.0, 2.0]), ("b", &[], &[3.0]), ("c", &[], &[3.0])]);
        assert_eq!(stray, "x/c: nobody knows this array; wanted are a, b");
    }
}
