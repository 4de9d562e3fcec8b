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

    /// Aligned plain text, one line a row, each ending in a line break. In so many columns, if that is possible: the widest
    /// cells go on in lines below.
    #[must_use]
    pub fn text_within(&self, most: usize) -> String {
        let widths = self.widths(most);
        let right: Vec<_> = (0..self.headings.len()).map(|c| self.is_number(c)).collect();
        let line = |cells: &[String]| {
            let cells: Vec<_> = cells.iter().zip(&widths).map(|(cell, &width)| wrapped(cell, width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            let part = |n: usize| {
                let padded = cells.iter().zip(&widths).zip(&right).map(|((cell, &width), &right)| {
                    let cell = cell.get(n).map_or("", String::as_str);
                    let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                    if right { format!("{space}{cell}") } else { format!("{cell}{space}") }
                });
                format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
            };
            (0..height).map(part).collect::<String>()
        };
        let rule: Vec<_> = widths.iter().map(|&w| "-".repeat(w)).collect();
        [&self.headings, &rule].into_iter().chain(&self.rows).map(|cells| line(cells)).collect()
    }

    /// Widths of the columns: the widest give way until all fit, down to their longest word, or part of a word with
    /// hyphens.
    fn widths(&self, most: usize) -> Vec<usize> {
        let mut widths: Vec<_> = (0..self.headings.len()).map(|c| self.width(c)).collect();
        let word = |cell: &str| longest(cell.split(' '));
        let part = |cell: &str| longest(cell.split(' ').flat_map(|word| word.split_inclusive('-')));
        let least = |piece: &dyn Fn(&str) -> usize| -> Vec<usize> {
            let of = |c: usize| self.column(c).chain([self.headings[c].as_str()]).map(piece).max().unwrap_or(0);
            (0..widths.len()).map(of).collect()
        };
        let gaps = 2 * widths.len().saturating_sub(1);
        let whole = least(&word);
        // Words are broken only where they do not fit.
        let least = if whole.iter().sum::<usize>() + gaps > most { least(&part) } else { whole };
        while widths.iter().sum::<usize>() + gaps > most {
            match widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least).max() {
                Some((widest, _)) => *widest -= 1,
                None => break,
            }
        }
        widths
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

fn longest<'a>(parts: impl Iterator<Item = &'a str>) -> usize {
    parts.map(|part| part.chars().count()).max().unwrap_or(0)
}

/// A text in lines of at most so many letters, where its words allow that. A longer word is broken after a hyphen.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let is_long = word.chars().count() > width;
        let parts: Vec<&str> = if is_long { word.split_inclusive('-').collect() } else { vec![word] };
        for (number, part) in parts.into_iter().enumerate() {
            let gap = if number == 0 { " " } else { "" };
            let needed = gap.len() + part.chars().count();
            match lines.last_mut().filter(|l| l.is_empty() || l.chars().count() + needed <= width) {
                Some(line) if line.is_empty() => line.push_str(part),
                Some(line) => *line += &format!("{gap}{part}"),
                None => lines.push(part.to_owned()),
            }
        }
    }
    lines
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
            table.text_within(usize::MAX),
            "name           bits  note\n-------------  ----  ----\na_i               8  a|b\nmuch_longer_o  1024  -\n"
        );
        assert_eq!(
            table.markdown(),
            "| name | bits | note |\n| --- | ---: | --- |\n| a_i | 8 | a\\|b |\n| much_longer_o | 1024 | - |\n"
        );
    }

    #[test]
    fn wide_cells_go_on_below() {
        let mut table = Table::new(["name", "bits", "meaning"]);
        table.row(["a_i".into(), "8".into(), "one two three four five six".into()]);
        table.row(["b".into(), "16".into(), "a_word_of_length".into()]);
        let text = table.text_within(28);
        assert_eq!(
            text,
            "name  bits  meaning\n----  ----  ----------------\na_i      8  one two three\n            four five six\nb       16  \
             a_word_of_length\n"
        );
        // A word stays whole.
        assert_eq!(table.text_within(10), text);
        assert_eq!(table.text_within(39), table.text_within(usize::MAX));
        let mut table = Table::new(["name", "meaning"]);
        table.row(["a_i".into(), "of multiply-accumulate cells".into()]);
        let text = |lines: [&str; 3]| format!("name  meaning\n{}\n", lines.join("\n"));
        let rule = |width: usize| format!("----  {}", "-".repeat(width));
        let whole = ["a_i   of", "      multiply-accumulate"];
        assert!(table.text_within(25).starts_with(&text([&rule(19), whole[0], whole[1]])));
        let broken = ["a_i   of multiply-", "      accumulate"];
        assert!(
            table.text_within(18).starts_with(&text([&rule(12), broken[0], broken[1]])),
            "{}",
            table.text_within(18)
        );
    }
}
