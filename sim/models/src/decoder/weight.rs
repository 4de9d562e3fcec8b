//! The weights of a projection, in the elements of their file.
//!
//! Quantized elements take a fraction of the memory of floats. A product decodes some rows at a time, and drops them.

use std::ops::Range;

use half::f16;

use crate::gguf::{ElementType, Elements};

/// A weight matrix, a row for each output. Its numbers are f32, whatever elements they are stored in.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Elements of a row.
    pub inputs: usize,
    /// Rows.
    pub outputs: usize,
    elements: Elements,
}

impl Weight {
    /// All numbers, row by row, in f32. Integer codes need no more bits.
    ///
    /// # Panics
    /// When there are more or fewer numbers.
    #[must_use]
    pub fn new([outputs, inputs]: [usize; 2], values: &[f32]) -> Self {
        Self::stored([outputs, inputs], Elements::of_floats(values))
    }

    /// The elements of a tensor. A row is whole blocks.
    ///
    /// # Panics
    /// When there are more or fewer elements.
    #[must_use]
    pub fn stored([outputs, inputs]: [usize; 2], elements: Elements) -> Self {
        let found = elements.count();
        assert_eq!(inputs.checked_mul(outputs), Some(found), "numbers of a weight of {outputs} x {inputs}");
        Self { inputs, outputs, elements }
    }

    /// How many numbers it has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.inputs * self.outputs
    }

    /// The numbers of an output.
    ///
    /// # Panics
    /// When there is no such output.
    #[must_use]
    pub fn output(&self, output: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.inputs);
        self.read(output..output + 1, &mut values);
        values
    }

    /// The numbers of each output.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Vec<f32>> {
        (0..self.outputs).map(|output| self.output(output))
    }

    /// All numbers, row by row: up to eight times the memory of the weight.
    #[must_use]
    pub fn values(&self) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.count());
        self.read(0..self.outputs, &mut values);
        values
    }

    /// Puts the numbers of some outputs into `values`, in place of what was there.
    ///
    /// # Panics
    /// When there are no such outputs.
    pub fn read(&self, outputs: Range<usize>, values: &mut Vec<f32>) {
        values.clear();
        self.elements.decode(outputs.start * self.inputs..outputs.end * self.inputs, values);
    }

    /// Some of the outputs, in the order of their numbers in `outputs`.
    ///
    /// # Panics
    /// When there is no such output.
    #[must_use]
    pub fn chosen(&self, outputs: impl ExactSizeIterator<Item = usize>) -> Self {
        let count = outputs.len();
        let ranges = outputs.map(|output| output * self.inputs..(output + 1) * self.inputs);
        Self { inputs: self.inputs, outputs: count, elements: self.elements.chosen(ranges) }
    }

    /// Inputs in place of outputs. Blocks of several elements become floats.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let single = match self.elements.kind().block() {
            (1, _) => self.elements.clone(),
            _ => Elements::of_floats(&self.values()),
        };
        let column = |input| (0..self.outputs).map(move |output| output * self.inputs + input);
        let places = (0..self.inputs).flat_map(column).map(|at| at..at + 1);
        Self { inputs: self.outputs, outputs: self.inputs, elements: single.chosen(places) }
    }

    /// The same with each number rounded to binary16, and stored so. `None` where one is beyond it.
    #[must_use]
    pub fn rounded(self) -> Option<Self> {
        if self.elements.kind() == ElementType::F16 {
            return Some(self);
        }
        let (mut values, mut bytes) = (Vec::new(), Vec::with_capacity(2 * self.count()));
        for output in 0..self.outputs {
            self.read(output..output + 1, &mut values);
            for &value in &values {
                let rounded = f16::from_f32(value);
                if !rounded.is_finite() {
                    return None;
                }
                bytes.extend(rounded.to_le_bytes());
            }
        }
        Some(Self { elements: Elements::new(ElementType::F16, bytes), ..self })
    }
}

/// Equal numbers, whatever elements they are stored in.
impl PartialEq for Weight {
    fn eq(&self, other: &Self) -> bool {
        [self.outputs, self.inputs] == [other.outputs, other.inputs] && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of a block each: codes 0 to 15 twice, times 0.5 and times 2.
    fn blocks() -> Weight {
        let codes: Vec<u8> = (0..16).map(|code| code << 4 | code).collect();
        let row = |scale: f32, least: f32| {
            [&f16::from_f32(scale).to_le_bytes()[..], &f16::from_f32(least).to_le_bytes(), &codes].concat()
        };
        Weight::stored([2, 32], Elements::new(ElementType::Q4_1, [row(0.5, -1.0), row(2.0, 3.0)].concat()))
    }

    fn row(scale: f32, least: f32) -> Vec<f32> {
        (0..32_u8).map(|i| f32::from(i % 16) * scale + least).collect()
    }

    #[test]
    fn rows_of_blocks() {
        let weight = blocks();
        assert_eq!(weight.output(0), row(0.5, -1.0));
        assert_eq!(weight.output(1), row(2.0, 3.0));
        assert_eq!(weight.values(), [row(0.5, -1.0), row(2.0, 3.0)].concat());
        let mut values = vec![7.0];
        weight.read(1..2, &mut values);
        assert_eq!(values, row(2.0, 3.0));
        let turned = weight.chosen([1, 0, 1].into_iter());
        assert_eq!(
            (turned.outputs, turned.iter().collect::<Vec<_>>()),
            (3, [1, 0, 1].map(|i| weight.output(i)).into())
        );
        // Floats with the same numbers are the same weight.
        let floats = Weight::new([2, 32], &weight.values());
        assert_eq!(floats, weight);
        assert_ne!(floats.chosen([1, 0].into_iter()), weight);
        assert_eq!(weight.clone().rounded(), Some(floats));
    }

    #[test]
    fn transposes() {
        let weight = Weight::new([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let turned = weight.transposed();
        assert_eq!((turned.outputs, turned.inputs), (3, 2));
        assert_eq!(turned.values(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let turned = blocks().transposed();
        assert_eq!(turned.output(5), [1.5, 13.0]);
        assert_eq!(turned.transposed(), blocks());
    }

    #[test]
    fn rounds_to_binary16() {
        let weight = Weight::new([1, 2], &[0.1, 65_519.0]);
        assert_eq!(weight.rounded().unwrap().values(), [f16::from_f32(0.1).to_f32(), 65_504.0]);
        assert_eq!(Weight::new([1, 1], &[65_520.0]).rounded(), None);
    }

    #[test]
    #[should_panic(expected = "numbers of a weight of 2 x 3")]
    fn refuses_other_shapes() {
        drop(Weight::new([2, 3], &[1.0; 5]));
    }
}
