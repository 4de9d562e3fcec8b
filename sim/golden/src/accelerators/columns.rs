//! Products of rows and a matrix: each column becomes integers once, and meets all rows.

use crate::common::parallel::shares;

/// The results of each row, by column. `matrix` has rows, columns, and the elements of a column. `decode` puts a column
/// in place of another one, if the column is known; `result` is the result of a row and a column. Both run on several
/// cores, in any order.
pub fn by_column<W: Default, R: Clone + Send>(
    [rows, columns, elements]: [usize; 3],
    decode: impl Fn(usize, &mut W) -> bool + Sync,
    result: impl Fn(usize, usize, &W) -> Option<R> + Sync,
) -> Vec<Vec<Option<R>>> {
    let part = |range: std::ops::Range<usize>| {
        let mut results = vec![vec![None; range.len()]; rows];
        let mut weights = W::default();
        for (place, column) in range.enumerate() {
            if decode(column, &mut weights) {
                for (row, results) in results.iter_mut().enumerate() {
                    results[place] = result(row, column, &weights);
                }
            }
        }
        results
    };
    let mut all = vec![Vec::with_capacity(columns); rows];
    for part in shares(columns, (rows + 1) * columns * elements, part) {
        all.iter_mut().zip(part).for_each(|(row, part)| row.extend(part));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_in_their_places() {
        for elements in [1, 1 << 20] {
            let decode = |column: usize, kept: &mut usize| {
                *kept = 10 * column;
                column != 3
            };
            let result =
                |row: usize, column: usize, kept: &usize| (row + column < 8).then_some(100 * row + kept + column);
            let all = by_column([5, 7, elements], decode, result);
            let wanted =
                |row: usize| (0..7).map(|c| (c != 3 && row + c < 8).then_some(100 * row + 11 * c)).collect::<Vec<_>>();
            assert_eq!(all, (0..5).map(wanted).collect::<Vec<_>>());
            assert_eq!(by_column([0, 7, elements], decode, result), Vec::<Vec<Option<usize>>>::new());
        }
    }
}
