//! Digital compute-in-memory: stationary weights, and exact products with them.

/// A matrix of weights, an input a row, an output a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DcimMacro {
    /// A row is `None` until it is written.
    rows: Vec<Option<Vec<i64>>>,
    outputs: usize,
}

impl DcimMacro {
    /// A matrix without weights.
    #[must_use]
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self { rows: vec![None; inputs], outputs }
    }

    /// Writes the weights of an input. An input that does not exist changes nothing.
    ///
    /// # Panics
    /// The number of weights differs from the outputs.
    pub fn write(&mut self, row: usize, weights: &[i64]) {
        assert_eq!(weights.len(), self.outputs, "weights of a row");
        if let Some(place) = self.rows.get_mut(row) {
            *place = Some(weights.to_vec());
        }
    }

    /// For each output, the sum of inputs times weights; `None` while a row is unknown.
    ///
    /// # Panics
    /// The number of inputs differs from the rows.
    #[must_use]
    pub fn product(&self, x: &[i64]) -> Option<Vec<i64>> {
        assert_eq!(x.len(), self.rows.len(), "inputs");
        let rows: Vec<&Vec<i64>> = self.rows.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let sum = |k: usize| x.iter().zip(&rows).map(|(x, weights)| x * weights[k]).sum();
        Some((0..self.outputs).map(sum).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut matrix = DcimMacro::new(3, 2);
        matrix.write(0, &[1, -2]);
        matrix.write(1, &[127, -128]);
        assert_eq!(matrix.product(&[1, 1, 1]), None);
        matrix.write(2, &[0, 5]);
        matrix.write(3, &[9, 9]);
        assert_eq!(matrix.product(&[3, -128, 7]), Some(vec![3 - 128 * 127, -6 + 128 * 128 + 35]));
        matrix.write(1, &[0, 0]);
        assert_eq!(matrix.product(&[-1, 100, -1]), Some(vec![-1, -3]));
    }
}
