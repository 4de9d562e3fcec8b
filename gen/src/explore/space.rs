//! Integers of a search, and the values that they stand for.

use std::fmt;

use models::explore::Genes;
use serde_json::Value;

use super::axes::Variable;

/// Variables of a model with so many layers.
#[derive(Clone, Debug)]
pub struct Space {
    /// In the order of the file.
    pub variables: Vec<Variable>,
    /// The variable of each integer, and its layer if it has one: first what all layers share, then layer by layer.
    places: Vec<(usize, Option<usize>)>,
}

impl Space {
    /// All integers.
    #[must_use]
    pub fn new(variables: &[Variable], layers: usize) -> Self {
        let all = |by_layer: bool| move |number: &usize| variables[*number].by_layer == by_layer;
        let numbers = || 0..variables.len();
        let mut places: Vec<_> = numbers().filter(all(false)).map(|number| (number, None)).collect();
        for layer in 0..layers {
            places.extend(numbers().filter(all(true)).map(|number| (number, Some(layer))));
        }
        Self { variables: variables.to_vec(), places }
    }

    /// The largest value of each integer.
    #[must_use]
    pub fn limits(&self) -> Genes {
        self.places.iter().map(|&(number, _)| self.variables[number].axis.values.len() as u32 - 1).collect()
    }

    /// The variable of each integer.
    #[must_use]
    pub fn numbers(&self) -> Vec<usize> {
        self.places.iter().map(|&(number, _)| number).collect()
    }

    /// A name for each integer: `titanus.keys`, or `titanus.keys_3` of layer 3.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let name = |&(number, layer): &(usize, Option<usize>)| {
            let name = &self.variables[number].axis.name;
            layer.map_or_else(|| name.clone(), |layer| format!("{name}_{layer}"))
        };
        self.places.iter().map(name).collect()
    }

    /// The values of a variable: one, or one for each layer.
    #[must_use]
    pub fn values(&self, genes: &Genes, number: usize) -> Vec<&Value> {
        let of = self.places.iter().zip(genes).filter(|((of, _), _)| *of == number);
        of.filter_map(|(_, &gene)| self.variables[number].axis.values.get(gene as usize)).collect()
    }

    /// The value of each integer.
    pub fn all<'a>(&'a self, genes: &'a Genes) -> impl Iterator<Item = &'a Value> {
        let value = |(&(number, _), &gene): (&(usize, Option<usize>), &u32)| {
            self.variables[number].axis.values.get(gene as usize)
        };
        self.places.iter().zip(genes).filter_map(value)
    }

    /// The integers of values that are known by variable; others are those of the first values.
    ///
    /// # Errors
    /// A value that a variable has not.
    pub fn genes(&self, known: &dyn Fn(&str) -> Option<Vec<Value>>) -> Result<Genes, String> {
        let gene = |&(number, layer): &(usize, Option<usize>)| {
            let axis = &self.variables[number].axis;
            let Some(values) = known(&axis.name) else { return Ok(0) };
            let Some(value) = values.get(layer.unwrap_or(0)) else { return Ok(0) };
            let found = axis.values.iter().position(|other| other == value);
            found
                .map(|gene| gene as u32)
                .ok_or_else(|| format!("`{}` is {value} there, which the axis has not", axis.name))
        };
        self.places.iter().map(gene).collect()
    }
}

/// A setting of a search: of its first stage, and of the second one if it is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Integers of the search.
    pub genes: Genes,
    /// Integers that become smaller.
    pub narrow: Option<Genes>,
}

/// As [`Setting::parse`] reads it: `1,2,3`, or `1,2,3:4,5`.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |genes: &Genes| genes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        f.write_str(&list(&self.genes))?;
        self.narrow.as_ref().map_or(Ok(()), |narrow| write!(f, ":{}", list(narrow)))
    }
}

impl Setting {
    /// Reads a setting; each integer is at most its limit.
    ///
    /// # Errors
    /// Says what is wanted.
    pub fn parse(text: &str, [limits, narrow_limits]: [&Genes; 2]) -> Result<Self, String> {
        let genes = |text: &str, limits: &Genes| {
            let all: Option<Genes> = text.split(',').map(|one| one.parse().ok()).collect();
            let fits = |all: &Genes| all.len() == limits.len() && all.iter().zip(limits).all(|(one, most)| one <= most);
            all.filter(fits).ok_or_else(|| format!("`{text}` is no setting, wanted are {} integers", limits.len()))
        };
        let (first, second) = text.split_once(':').map_or((text, None), |(first, second)| (first, Some(second)));
        let narrow = second.map(|text| genes(text, narrow_limits)).transpose()?;
        Ok(Self { genes: genes(first, limits)?, narrow })
    }
}

#[cfg(test)]
mod tests {
    use super::super::axes::Target;
    use super::*;
    use crate::sweep::Axis;

    fn variable(name: &str, values: &[i64], by_layer: bool) -> Variable {
        let axis = Axis { name: name.to_owned(), values: values.iter().map(|&n| n.into()).collect() };
        Variable { axis, target: Target::Block, by_layer }
    }

    /// What all layers share comes first, then layer by layer in the order of the file.
    #[test]
    fn order_of_integers() {
        let all = [variable("k", &[0, 1, 2], true), variable("rows", &[8, 16], false), variable("v", &[5, 6], true)];
        let space = Space::new(&all, 2);
        assert_eq!(space.names(), ["rows", "k_0", "v_0", "k_1", "v_1"]);
        assert_eq!(space.limits(), [1, 2, 1, 2, 1]);
        let genes = vec![1, 0, 1, 2, 0];
        assert_eq!(space.values(&genes, 0), [&Value::from(0), &Value::from(2)]);
        assert_eq!(space.all(&genes).map(|value| value.as_i64().unwrap()).collect::<Vec<_>>(), [16, 0, 6, 2, 5]);
        let known = |name: &str| (name == "k").then(|| vec![Value::from(2), Value::from(1)]);
        assert_eq!(space.genes(&known).unwrap(), [0, 2, 0, 1, 0]);
        assert_eq!(space.genes(&|_| Some(vec![9.into(); 2])).unwrap_err(), "`rows` is 9 there, which the axis has not");
    }

    #[test]
    fn settings_are_read_back() {
        let limits = [&vec![3, 9], &vec![1]];
        for text in ["3,0", "0,9:1"] {
            assert_eq!(Setting::parse(text, limits).unwrap().to_string(), text);
        }
        for text in ["", "4,0", "1", "1,2,3", "1,2:2", "1,2:", "a,b"] {
            assert!(Setting::parse(text, limits).is_err(), "{text}");
        }
    }
}
