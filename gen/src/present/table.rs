//! Tables: aligned plain text for a person, Markdown for documents.

use serde::Serialize;

/// Rows of cells under headings. Columns of numbers are aligned to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { headings: headings.map(str::to_owned).into(), rows: Vec::new() }
    }

    /// A table of ready rows, as wide as the headings.
    #[must_use]
    pub fn of(headings: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        debug_assert!(rows.iter().all(|r| r.len() == headings.len()));
        Self { headings, rows }
    }

    /// Appends a row; an empty cell is shown as `-`.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.headings.len());
        self.rows.push(cells.map(|c| if c.is_empty() { "-".into() } else { c }).into());
    }

    /// No row at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligned plain text, one line a row, each ending in a line break.
    #[must_use]
    pub fn text(&self) -> String {
        let widths: Vec<_> = (0..self.headings.len()).map(|c| self.width(c)).collect();
        let right: Vec<_> = (0..self.headings.len()).map(|c| self.is_number(c)).collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).zip(&right);
            let padded: Vec<_> = cells
                .map(|((cell, &width), &right)| {
                    let space = " ".repeat(width - cell.chars().count());
                    if right { format!("{space}{cell}") } else { format!("{cell}{space}") }
                })
                .collect();
            format!("{}\n", padded.join("  ").trim_end())
        };
        let rule: Vec<_> = widths.iter().map(|&w| "-".repeat(w)).collect();
        [&self.headings, &rule].into_iter().chain(&self.rows).map(|cells| line(cells)).collect()
    }

    /// A Markdown table.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<_> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<_> =
            (0..self.headings.len()).map(|c| if self.is_number(c) { "---:" } else { "---" }.to_owned()).collect();
        [&self.headings, &rule].into_iter().chain(&self.rows).map(|cells| line(cells)).collect()
    }

    fn column(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[column].as_str())
    }

    fn width(&self, column: usize) -> usize {
        let heading = self.headings[column].as_str();
        self.column(column).chain([heading]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn is_number(&self, column: usize) -> bool {
        let number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains(' ');
        self.column(column).all(|cell| cell == "-" || number(cell)) && self.column(column).any(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_right_text_left_empty_dash() {
        let mut table = Table::new(["name", "bits", "note"]);
        table.row(["a_i".into(), "8".into(), "a|b".into()]);
        table.row(["much_longer_o".into(), "1024".into(), String::new()]);
        assert_eq!(
            table.text(),
            "name           bits  note\n-------------  ----  ----\na_i               8  a|b\nmuch_longer_o  1024  -\n"
        );
        assert_eq!(
            table.markdown(),
            "| name | bits | note |\n| --- | ---: | --- |\n| a_i | 8 | a\\|b |\n| much_longer_o | 1024 | - |\n"
        );
    }
}
