//! Hadamard matrices of many orders, and rotations by them.

/// Largest order of a core: a row costs as many steps an element.
const CORE: usize = 256;

/// An orthogonal map of rows: signs, and then a Hadamard matrix divided by the root of its order. Where no matrix of the
/// row's width is known, it has blocks of a power of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    signs: Vec<f64>,
    /// Order of the matrix whose product with a power of two is the order of a block, and its entries.
    core: usize,
    entries: Vec<f64>,
    /// The power of two.
    power: usize,
}

impl Rotation {
    /// A rotation of rows of this width; `signs` are 1 and -1.
    ///
    /// # Panics
    /// When there are fewer or more signs than the width.
    #[must_use]
    pub fn new(width: usize, signs: Option<Vec<f64>>) -> Self {
        let signs = signs.unwrap_or_else(|| vec![1.0; width]);
        assert_eq!(signs.len(), width, "signs of a rotation");
        let twos = width.trailing_zeros();
        let odd = width >> twos;
        for left in (0..=twos).rev() {
            if let Some(entries) = Some(odd << (twos - left)).filter(|&core| core <= CORE).and_then(paley) {
                return Self { signs, core: odd << (twos - left), entries, power: 1 << left };
            }
        }
        Self { signs, core: 1, entries: vec![1.0], power: 1 << twos }
    }

    /// Channels that are mixed with each other.
    #[must_use]
    pub fn order(&self) -> usize {
        self.core * self.power
    }

    /// Rotates a row.
    ///
    /// # Panics
    /// When the row has another width.
    pub fn turn(&self, row: &mut [f64]) {
        assert_eq!(row.len(), self.signs.len(), "width of a rotation");
        row.iter_mut().zip(&self.signs).for_each(|(x, sign)| *x *= sign);
        let scale = (self.order() as f64).sqrt();
        for block in row.chunks_exact_mut(self.order()) {
            block.chunks_exact_mut(self.power).for_each(walsh);
            if self.core > 1 {
                let before = block.to_vec();
                for (i, part) in block.chunks_exact_mut(self.power).enumerate() {
                    part.fill(0.0);
                    let entries = &self.entries[i * self.core..][..self.core];
                    for (entry, from) in entries.iter().zip(before.chunks_exact(self.power)) {
                        part.iter_mut().zip(from).for_each(|(x, y)| *x += entry * y);
                    }
                }
            }
            block.iter_mut().for_each(|x| *x /= scale);
        }
    }

    /// Rotates a row back.
    ///
    /// # Panics
    /// When the row has another width.
    pub fn turn_back(&self, row: &mut [f64]) {
        let transposed = (0..self.entries.len()).map(|at| self.entries[at % self.core * self.core + at / self.core]);
        let back = Self { entries: transposed.collect(), signs: vec![1.0; self.signs.len()], ..*self };
        back.turn(row);
        row.iter_mut().zip(&self.signs).for_each(|(x, sign)| *x *= sign);
    }
}

/// A row times Sylvester's Hadamard matrix. Its length is a power of two.
pub fn walsh(row: &mut [f64]) {
    let mut half = 1;
    while half < row.len() {
        for start in (0..row.len()).step_by(2 * half) {
            for i in start..start + half {
                (row[i], row[i + half]) = (row[i] + row[i + half], row[i] - row[i + half]);
            }
        }
        half *= 2;
    }
}

/// Whether n is a prime number.
fn is_prime(n: usize) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Paley's Hadamard matrix of an order (Paley 1933), or the matrix of order 1.
fn paley(order: usize) -> Option<Vec<f64>> {
    if order == 1 {
        return Some(vec![1.0]);
    }
    if let Some(q) = order.checked_sub(1).filter(|&q| q % 4 == 3 && is_prime(q)) {
        // I + S, where S is skew.
        let mut entries = bordered(q, -1.0);
        (0..order).for_each(|i| entries[i * order + i] += 1.0);
        return Some(entries);
    }
    let half = order / 2;
    let q = half.checked_sub(1).filter(|&q| order.is_multiple_of(2) && q % 4 == 1 && is_prime(q))?;
    let symmetric = bordered(q, 1.0);
    let mut entries = vec![0.0; order * order];
    for (at, &s) in symmetric.iter().enumerate() {
        let (i, j) = (at / half, at % half);
        let part = if s == 0.0 { [1.0, -1.0, -1.0, -1.0] } else { [s, s, s, -s] };
        for (k, x) in part.into_iter().enumerate() {
            entries[(2 * i + k / 2) * order + 2 * j + k % 2] = x;
        }
    }
    Some(entries)
}

/// Quadratic residues of a prime number in a matrix, with a border of ones above and of `left` at the left.
fn bordered(q: usize, left: f64) -> Vec<f64> {
    let mut residue = vec![-1.0; q];
    (1..q).for_each(|x| residue[x * x % q] = 1.0);
    residue[0] = 0.0;
    let order = q + 1;
    let mut entries = vec![0.0; order * order];
    for i in 0..order {
        for j in 0..order {
            entries[i * order + j] = match (i, j) {
                (0, 0) => 0.0,
                (0, _) => 1.0,
                (_, 0) => left,
                _ => residue[(i + q - j) % q],
            };
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_hand() {
        let order = |width| Rotation::new(width, None).order();
        // 576 = 36 x 16, 1536 = 12 x 128, 896 = 28 x 32; of 11008 = 43 x 256 no small one is known here.
        assert_eq!([64, 576, 1536, 896, 12, 20].map(order), [64, 576, 1536, 896, 12, 20]);
        assert_eq!([11008, 6, 7].map(order), [256, 2, 1]);
    }

    /// Each matrix of plus and minus one is orthogonal, and spreads a single value over all channels alike.
    #[test]
    fn rows_keep_their_lengths_and_products() {
        for width in [1, 2, 12, 20, 24, 28, 36, 60, 64, 72, 76, 576, 11008] {
            let signs = (0..width).map(|i| if i % 3 == 1 { -1.0 } else { 1.0 }).collect();
            let rotation = Rotation::new(width, Some(signs));
            let a: Vec<f64> = (0..width).map(|i| ((i * 37) % 11) as f64 - 5.0).collect();
            let b: Vec<f64> = (0..width).map(|i| ((i * 17) % 7) as f64 - 2.0).collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (mut u, mut v) = (a.clone(), b.clone());
            rotation.turn(&mut u);
            rotation.turn(&mut v);
            let size = dot(&a, &a).max(1.0);
            assert!((dot(&u, &v) - dot(&a, &b)).abs() < 1e-9 * size, "{width}");
            assert!((dot(&u, &u) - dot(&a, &a)).abs() < 1e-9 * size, "{width}");
            rotation.turn_back(&mut u);
            assert!(u.iter().zip(&a).all(|(u, a)| (u - a).abs() < 1e-9), "{width}");
            let mut spike = vec![0.0; width];
            spike[width / 2] = 1.0;
            rotation.turn(&mut spike);
            let share = 1.0 / (rotation.order() as f64).sqrt();
            assert!(spike.iter().filter(|x| **x != 0.0).all(|x| (x.abs() - share).abs() < 1e-12), "{width}");
        }
    }
}
