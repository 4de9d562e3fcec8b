//! Comments: paragraphs of words, filled to the line width once, with a hanging indent.

/// Longest line.
pub(super) const LINE: usize = 110;

/// Words that tools take for an order when a comment begins with them.
const ORDERS: [&str; 7] = ["ambit", "cadence", "pragma", "synopsys", "synthesis", "translate_off", "verilator"];

/// The words of `text` as comment lines: the first line begins with `first`, the others with `next`.
pub(super) fn paragraph(text: &str, first: &str, next: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                let start = if lines.is_empty() { first } else { next };
                lines.push(format!("{start}{}", harmless(word)));
            }
        }
    }
    lines
}

/// Text that may begin a comment.
pub(super) fn harmless(text: &str) -> String {
    let head = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
    if ORDERS.contains(&head) { format!("{}{}", text[..1].to_uppercase(), &text[1..]) } else { text.into() }
}

pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_filled_once() {
        let text = "word ".repeat(60);
        let lines = paragraph(&text[..250], "// Contract: ", "//     ");
        assert!(lines.len() == 3 && lines.iter().all(|l| l.len() <= LINE), "{lines:#?}");
        assert!(lines[..2].iter().all(|l| l.len() > LINE - 5), "{lines:#?}");
        assert!(lines[0].starts_with("// Contract: word") && lines[2].starts_with("//     word"));
    }

    #[test]
    fn words_longer_than_a_line_stay_whole() {
        let long = "x".repeat(200);
        assert_eq!(paragraph(&format!("a {long} b"), "// ", "//   "), ["// a", &format!("//   {long}"), "//   b"]);
    }

    #[test]
    fn no_comment_is_an_order_to_a_tool() {
        assert_eq!(paragraph("verilator lint_off is a comment", "// ", "// "), ["// Verilator lint_off is a comment"]);
        assert_eq!(paragraph("synthesis, then", "// ", "// "), ["// Synthesis, then"]);
        assert_eq!(paragraph("verilators", "// ", "// "), ["// verilators"]);
    }
}
