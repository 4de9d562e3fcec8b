//! The port list: one port a line in columns, followed by its meaning.

use super::comment::LINE;
use super::comment::{paragraph, width};
use super::declare;
use super::types::net_type;
use crate::lang::ir::{Direction, ModuleIr, Net};

/// Columns that must be left for the meanings; with less they stand above their ports.
const NARROWEST: usize = 36;

pub(super) fn ports(ir: &ModuleIr) -> Vec<String> {
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    let mut docs: Vec<&str> = Vec::new();
    for (present, name) in [(ir.clocked, "clk_i"), (ir.reset, "rst_ni")] {
        if present {
            rows.push(("input  wire", String::new(), name.into()));
            docs.push("");
        }
    }
    for (position, &id) in ir.ports.iter().enumerate() {
        let net: &Net = ir.net(id);
        let direction = if ir.direction(position) == Direction::Input { "input  wire" } else { "output wire" };
        rows.push((direction, net_type(net), net.name.clone()));
        docs.push(&net.doc);
    }
    with_docs(&declare::aligned(&rows), &docs)
}

/// Declarations, with a comma after each but the last, and their meanings in a column.
fn with_docs(rows: &[String], docs: &[&str]) -> Vec<String> {
    let comma = |i: usize| if i + 1 == rows.len() { "" } else { "," };
    let rows: Vec<String> = rows.iter().enumerate().map(|(i, row)| format!("  {row}{}", comma(i))).collect();
    let column = rows.iter().map(|row| width(row)).max().unwrap_or(0) + 2;
    let beside = column + 3 + NARROWEST <= LINE;
    let mut lines = Vec::new();
    for (row, doc) in rows.iter().zip(docs) {
        if doc.trim().is_empty() {
            lines.push(row.clone());
        } else if beside {
            let below = format!("{:column$}// ", "");
            lines.extend(paragraph(doc, &format!("{row:<column$}// "), &below));
        } else {
            lines.extend(paragraph(doc, "  // ", "  // "));
            lines.push(row.clone());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_stand_in_a_column_and_go_on_below() {
        let rows = ["input  wire       a_i", "output wire [7:0] sum_o"].map(String::from);
        let doc = format!("The sum, {}last.", "word ".repeat(20));
        let lines = with_docs(&rows, &["First\n addend.", &doc]);
        assert_eq!(lines[0], "  input  wire       a_i,   // First addend.");
        assert!(lines[1].starts_with("  output wire [7:0] sum_o  // The sum, word"), "{lines:#?}");
        assert!(lines[2].starts_with(&format!("{:27}// word", "")) && lines.len() == 3, "{lines:#?}");
        assert!(lines.iter().all(|l| l.len() <= LINE), "{lines:#?}");
    }

    #[test]
    fn ports_without_a_meaning_end_with_the_name() {
        let rows = ["input  wire a_i", "input  wire b_i"].map(String::from);
        assert_eq!(with_docs(&rows, &["", " "]), ["  input  wire a_i,", "  input  wire b_i"]);
    }

    #[test]
    fn beside_very_long_names_there_is_no_room() {
        let rows = [format!("input  wire {}_i", "x".repeat(80)), "input  wire b_i".into()];
        let lines = with_docs(&rows, &["Very long.", "Short."]);
        assert_eq!(lines[0], "  // Very long.");
        assert_eq!(lines[2..], ["  // Short.", "  input  wire b_i"]);
    }
}
