//! Long lines: broken where the structure of the text is shallowest, filled to the margin, continued with an indent.

use super::comment::{LINE, harmless, paragraph, width};

/// The line, or the lines it becomes.
pub(super) fn wrap(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let text = line.trim_start();
    if let Some(words) = text.strip_prefix("// ") {
        let [first, next] = ["// ", "//   "].map(|start| format!("{:indent$}{start}", ""));
        let fits = width(line) <= LINE;
        return if fits { vec![format!("{first}{}", harmless(words))] } else { paragraph(words, &first, &next) };
    }
    if line.len() <= LINE || text.starts_with('`') {
        return vec![line.into()];
    }
    let pieces = |depth: usize| pieces(text, depth);
    let depth = (0..200).find(|&d| pieces(d).len() > 1);
    let Some(depth) = depth else { return vec![line.into()] };
    let mut lines: Vec<String> = Vec::new();
    for part in fill(pieces(depth), indent) {
        // A part that is still too long is broken one level further in.
        let shorter = part.trim_start().len() < text.len();
        lines.extend(if part.len() > LINE && shorter { wrap(&part) } else { vec![part] });
    }
    lines
}

/// The text cut at every place of bracket depth `depth` where a line may end: after a comma, before an operator.
fn pieces(text: &str, wanted: usize) -> Vec<String> {
    const BEFORE: [&str; 12] = [" | ", " & ", " ^ ", " ? ", " : ", " + ", " - ", " * ", " == ", " < ", " else ", " > "];
    let mut cuts = vec![0];
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth != wanted => {}
            ',' if text[at..].starts_with(", ") => cuts.push(at + 2),
            ' ' if BEFORE.iter().any(|b| text[at..].starts_with(b)) && !text[..at].ends_with("begin") => {
                cuts.push(at + 1);
            }
            _ => {}
        }
    }
    cuts.push(text.len());
    cuts.windows(2).map(|w| text[w[0]..w[1]].to_string()).filter(|p| !p.is_empty()).collect()
}

fn fill(parts: Vec<String>, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.len() + part.trim_end().len() <= LINE => line.push_str(&part),
            Some(_) => lines.push(format!("{:indent$}    {part}", "")),
            None => lines.push(format!("{:indent$}{part}", "")),
        }
    }
    lines.iter().map(|l| l.trim_end().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn short_lines_stay() {
        assert_eq!(wrap("  assign a_o = b_i;"), ["  assign a_o = b_i;"]);
    }

    #[test]
    fn nothing_but_space_changes() {
        let list: Vec<String> = (0..40).map(|i| format!("((value_{i} == 8'd{i}) & select[{i}])")).collect();
        for line in [
            format!("  assign y_o = {};", list.join(" | ")),
            format!("    wire [39:0] all = {{{}}};", list.join(", ")),
            format!("  always @(posedge clk_i) if (enable) y_q <= {};", list.join(" ? a : ")),
            format!("  assign y_o = !(~({{{}}} >> 4'd3));", list.join(", ")),
        ] {
            let lines = wrap(&line);
            assert!(lines.len() > 10 && lines.iter().all(|l| l.len() <= LINE), "{lines:#?}");
            assert_eq!(tokens(&lines.join("\n")), tokens(&line));
            let indent = line.len() - line.trim_start().len();
            assert!(lines[1..].iter().all(|l| l.starts_with(&" ".repeat(indent + 4))), "{lines:#?}");
        }
    }

    #[test]
    fn comments_stay_comments() {
        let lines = wrap(&format!("// {}", "word ".repeat(60)));
        assert!(lines.len() > 2 && lines.iter().all(|l| l.starts_with("// ") || l.starts_with("//   ")));
    }

    #[test]
    fn what_cannot_be_broken_stays() {
        let line = format!("  assign y_o = 4096'h{};", "0123456789abcdef".repeat(16));
        assert_eq!(wrap(&line), [line]);
    }
}
