//! Matrices next to each other in one store of weights.

use std::ops::Range;

use super::dcim_macro::DcimMacro;

/// A store of rows times columns of macros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DcimLinear {
    inputs: usize,
    outputs: usize,
    columns: usize,
    macros: Vec<DcimMacro>,
}

impl DcimLinear {
    /// A store without weights, of macros of so many inputs and outputs.
    #[must_use]
    pub fn new((rows, columns): (usize, usize), (inputs, outputs): (usize, usize)) -> Self {
        Self { inputs, outputs, columns, macros: vec![DcimMacro::new(inputs, outputs); rows * columns] }
    }

    /// Writes the weights of an input for the outputs of a column of macros. An input or a column that does not exist
    /// changes nothing.
    ///
    /// # Panics
    /// The number of weights differs from the outputs of a macro.
    pub fn write(&mut self, row: usize, column: usize, weights: &[i64]) {
        let place = row / self.inputs * self.columns + column;
        if column < self.columns && place < self.macros.len() {
            self.macros[place].write(row % self.inputs, weights);
        }
    }

    /// For each output of the columns, the sum of inputs times weights of the rows. `x` begins at the first input of
    /// the first row. Missing elements of `x` are zero, and elements after the last row are ignored. `None` if a weight
    /// is unknown.
    ///
    /// # Panics
    /// The rows or columns do not exist.
    #[must_use]
    pub fn product(&self, rows: Range<usize>, columns: Range<usize>, x: &[i64]) -> Option<Vec<i64>> {
        let mut x = x.to_vec();
        x.resize(rows.len() * self.inputs, 0);
        let column = |c: usize| {
            let mut sums = vec![0; self.outputs];
            for (r, x) in rows.clone().zip(x.chunks(self.inputs)) {
                let part = self.macros[r * self.columns + c].product(x)?;
                sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            Some(sums)
        };
        columns.map(column).collect::<Option<Vec<_>>>().map(|all| all.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut store = DcimLinear::new((2, 3), (2, 1));
        for (row, weights) in [[1, 10, -1], [2, 20, -2], [3, 30, -3], [4, 40, -4]].iter().enumerate() {
            for (column, &weight) in weights.iter().enumerate() {
                assert_eq!(store.product(0..2, 0..3, &[]), None);
                store.write(row, column, &[weight]);
            }
        }
        store.write(4, 0, &[99]);
        store.write(0, 3, &[99]);
        assert_eq!(store.product(0..2, 0..3, &[1, 1, 1, -1]), Some(vec![2, 20, -2]));
        // Only the lower half: other matrices do not matter.
        assert_eq!(store.product(1..2, 1..2, &[5, 7]), Some(vec![5 * 30 + 7 * 40]));
        // Shorter and longer than the rows.
        assert_eq!(store.product(0..1, 0..2, &[5]), Some(vec![5, 50]));
        assert_eq!(store.product(0..1, 0..2, &[5, 1, 127]), Some(vec![7, 70]));
    }
}
