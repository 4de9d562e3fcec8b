//! Draws a design: the ports of its top around a box, and in the box the modules it is made of.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hdl::emit::{Manifest, ManifestModule, ManifestPort};

use crate::present::palette::escape;

/// Size of a module's box, the space between boxes, the height of a port, all in pixels.
const BOX: (usize, usize) = (240, 58);
const GAP: (usize, usize) = (72, 18);
const PORT: usize = 22;
/// Left and right of the box, for the names of ports; above the modules, for the name of the top.
const SIDE: usize = 234;
const HEAD: usize = 58;
/// Modules drawn in one column; the rest is counted.
const MOST: usize = 16;
/// Characters of code that fit into a box.
const LETTERS: usize = 30;

/// The shape of a design: which blocks are in which. Numbers and parameters do not count.
pub(super) fn shape(manifest: &Manifest) -> String {
    let blocks: BTreeMap<&str, &str> = manifest.modules.iter().map(|m| (m.name.as_str(), m.block.as_str())).collect();
    let line = |m: &ManifestModule| {
        let mut inner: Vec<&str> = m.children.keys().map(|c| blocks.get(c.as_str()).copied().unwrap_or(c)).collect();
        inner.sort_unstable();
        format!("{}({})", m.block, inner.join(","))
    };
    let mut lines: Vec<String> = manifest.modules.iter().map(line).collect();
    lines.sort();
    lines.join(";")
}

/// The diagram.
pub(super) fn draw(manifest: &Manifest) -> String {
    let columns = columns(manifest);
    let (inputs, outputs) = sides(manifest);
    let rows = columns.iter().map(|c| c.len().min(MOST) + usize::from(c.len() > MOST)).max().unwrap_or(0);
    let inner = if rows == 0 { 0 } else { rows * (BOX.1 + GAP.1) - GAP.1 };
    let ports = inputs.len().max(outputs.len()) * PORT;
    let body = inner.max(ports).max(24);
    let top_width = if columns.is_empty() { 300 } else { columns.len() * (BOX.0 + GAP.0) - GAP.0 + 64 };
    let top_width = top_width.max(16 * manifest.top.len() / 2 + 40);
    let (width, height) = (top_width + 2 * SIDE, body + HEAD + 30);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" width=\"{width}\" height=\"{outer}\" \
         viewBox=\"0 -8 {width} {outer}\" role=\"img\" aria-label=\"Ports and modules of {0}\">\n\
         <rect class=\"f-raised l-muted\" x=\"{SIDE}.5\" y=\"0.5\" width=\"{top_width}\" height=\"{1}\" rx=\"8\"/>\n\
         <text x=\"{2}\" y=\"24\" class=\"f-ink title\">{3}</text>\n\
         <text x=\"{2}\" y=\"42\" class=\"f-muted code\">{0}</text>\n",
        escape(&manifest.top),
        height - 1,
        SIDE + 16,
        escape(&manifest.block),
        outer = height + 16,
    );
    let middle = |height: usize| HEAD + (body - height) / 2;
    for (side, ports) in [(Side::Left, &inputs), (Side::Right, &outputs)] {
        let first = middle(ports.len() * PORT);
        for (i, port) in ports.iter().enumerate() {
            svg += &port_line(port, side, top_width, first + i * PORT + PORT / 2);
        }
    }
    svg += &modules(manifest, &columns, SIDE + (top_width - inner_width(&columns)) / 2, &middle);
    svg + "</svg>\n"
}

fn inner_width(columns: &[Vec<&ManifestModule>]) -> usize {
    (columns.len() * (BOX.0 + GAP.0)).saturating_sub(GAP.0)
}

/// The modules below the top by depth: a module stands right of all modules that contain it.
fn columns(manifest: &Manifest) -> Vec<Vec<&ManifestModule>> {
    let mut depth: BTreeMap<&str, usize> = BTreeMap::from([(manifest.top.as_str(), 0)]);
    // Children are listed before parents, so that in reverse every parent is known first.
    for module in manifest.modules.iter().rev() {
        let below = depth.get(module.name.as_str()).copied().unwrap_or(0) + 1;
        for child in module.children.keys() {
            let known = depth.entry(child).or_insert(below);
            *known = below.max(*known);
        }
    }
    let mut columns: Vec<Vec<&ManifestModule>> = Vec::new();
    for module in manifest.modules.iter().filter(|m| m.name != manifest.top) {
        let column = depth.get(module.name.as_str()).copied().unwrap_or(1).max(1);
        columns.resize_with(columns.len().max(column), Vec::new);
        columns[column - 1].push(module);
    }
    columns
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Inputs, clock and reset last; outputs.
fn sides(manifest: &Manifest) -> (Vec<ManifestPort>, Vec<ManifestPort>) {
    let (mut inputs, outputs): (Vec<_>, Vec<_>) = manifest.ports.iter().cloned().partition(|p| p.direction == "input");
    inputs.extend(manifest.clock.iter().chain(&manifest.reset).map(|name| ManifestPort {
        name: name.clone(),
        direction: "input".into(),
        width: 1,
        signed: false,
        elements: None,
        meaning: String::new(),
        depends_on: vec![],
    }));
    (inputs, outputs)
}

fn port_line(port: &ManifestPort, side: Side, top_width: usize, y: usize) -> String {
    let bits = match port.elements {
        Some(n) if n > 1 => format!("{n} × {}", port.width / n),
        _ if port.width > 1 => port.width.to_string(),
        _ => String::new(),
    };
    let mut title = format!("{} {}, {} bit", port.direction, port.name, port.width);
    if port.signed {
        title += ", signed";
    }
    if !port.depends_on.is_empty() {
        let _ = write!(title, "; follows within the cycle: {}", port.depends_on.join(", "));
    }
    let width = if port.width > 1 { "bus" } else { "wire" };
    let name = format!("{}<tspan class=\"f-muted\" dx=\"7\">{bits}</tspan>", escape(&shortened(&port.name, 22)));
    let (from, text, anchor) = match side {
        Side::Left => (SIDE - 26, SIDE - 34, "end"),
        Side::Right => (SIDE + top_width + 1, SIDE + top_width + 35, "start"),
    };
    // The tip of an input touches the box; the tip of an output points away from it.
    format!(
        "<g><title>{}</title><path class=\"l-muted {width}\" d=\"M{from} {y}.5h20\"/>\
         <path class=\"f-muted\" d=\"M{} {}l7 4.5l-7 4.5z\"/>\
         <text x=\"{text}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"f-ink code\">{name}</text></g>\n",
        escape(&title),
        from + 18,
        y - 4,
        y + 4,
    )
}

fn modules(
    manifest: &Manifest,
    columns: &[Vec<&ManifestModule>],
    left: usize,
    middle: &impl Fn(usize) -> usize,
) -> String {
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut boxes = String::new();
    for (c, column) in columns.iter().enumerate() {
        let rows = column.len().min(MOST) + usize::from(column.len() > MOST);
        let (x, first) = (left + c * (BOX.0 + GAP.0), middle(rows * (BOX.1 + GAP.1) - GAP.1));
        for (r, module) in column.iter().take(MOST).enumerate() {
            let y = first + r * (BOX.1 + GAP.1);
            places.insert(&module.name, (x, y));
            boxes += &module_box(module, x, y);
        }
        if column.len() > MOST {
            let y = first + MOST * (BOX.1 + GAP.1) + BOX.1 / 2;
            let _ = writeln!(
                boxes,
                "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\" class=\"f-muted small\">and {} more modules</text>",
                x + BOX.0 / 2,
                column.len() - MOST
            );
        }
    }
    let mut edges = String::new();
    for parent in &manifest.modules {
        let Some(&(px, py)) = places.get(parent.name.as_str()) else { continue };
        for (child, count) in &parent.children {
            let Some(&(x, y)) = places.get(child.as_str()) else { continue };
            let (from, to) = ((px + BOX.0, py + BOX.1 / 2), (x, y + BOX.1 / 2));
            let bend = (to.0 - from.0) / 2;
            let _ = writeln!(
                edges,
                "<path class=\"l-muted\" d=\"M{} {}c{bend} 0 {bend} {dy} {} {dy}\"/>",
                from.0,
                from.1,
                to.0 - from.0,
                dy = to.1 as i64 - from.1 as i64,
            );
            if *count > 1 {
                let _ = writeln!(
                    edges,
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"f-muted small halo\">× {count}</text>",
                    to.0 - 8,
                    to.1 - 6
                );
            }
        }
    }
    edges + &boxes
}

fn module_box(module: &ManifestModule, x: usize, y: usize) -> String {
    let many = if module.instances > 1 { format!("× {}", module.instances) } else { String::new() };
    let note = if module.black_box { " (interface only)" } else { "" };
    let rest = module.name.strip_prefix(&module.block).unwrap_or(&module.name).trim_start_matches('_');
    format!(
        "<g><title>{name}: placed {count} times in all</title>\
         <rect class=\"f-paper l-accent\" x=\"{x}.5\" y=\"{y}.5\" width=\"{wide}\" height=\"{high}\" rx=\"5\"/>\
         <text x=\"{left}\" y=\"{first}\" class=\"f-ink name\">{block}</text>\
         <text x=\"{right}\" y=\"{first}\" text-anchor=\"end\" class=\"f-accent name\">{many}</text>\
         <text x=\"{left}\" y=\"{second}\" class=\"f-muted code\">{rest}</text></g>\n",
        block = escape(&shortened(&format!("{}{note}", module.block), 24)),
        rest = escape(&shortened(rest, LETTERS)),
        wide = BOX.0,
        high = BOX.1,
        right = x + BOX.0 - 12,
        first = y + 25,
        second = y + 44,
        name = escape(&module.name),
        count = module.instances,
        left = x + 12,
    )
    .replace("placed 1 times", "placed once")
}

/// A name that is too long for its place, with its end kept: there the differences are.
fn shortened(name: &str, letters: usize) -> String {
    let count = name.chars().count();
    if count <= letters {
        return name.to_owned();
    }
    let head = letters / 2 - 1;
    let tail: String = name.chars().skip(count - (letters - head - 1)).collect();
    format!("{}…{tail}", name.chars().take(head).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// A top with as many different children as `counts` has, the first of which has a child of its own.
    fn manifest(counts: &[u64]) -> Manifest {
        let module = |name: String, block: &str, instances, children| ManifestModule {
            name,
            block: block.into(),
            parameters: Value::Null,
            instances,
            children,
            black_box: false,
            memories: Vec::new(),
        };
        let mut modules = vec![module("leaf".into(), "leaf", 3 * counts[0], BTreeMap::new())];
        let mut children = BTreeMap::new();
        for (i, &count) in counts.iter().enumerate() {
            let inner = if i == 0 { BTreeMap::from([("leaf".to_owned(), 3)]) } else { BTreeMap::new() };
            modules.push(module(format!("part_{i}"), "part", count, inner));
            children.insert(format!("part_{i}"), count);
        }
        modules.push(module("top_n4".into(), "top", 1, children));
        let port = |name: &str, direction: &str, width, elements| ManifestPort {
            name: name.into(),
            direction: direction.into(),
            width,
            signed: false,
            elements,
            meaning: String::new(),
            depends_on: vec![],
        };
        Manifest {
            generator: String::new(),
            top: "top_n4".into(),
            block: "top".into(),
            parameters: Value::Null,
            clock: Some("clk_i".into()),
            reset: None,
            timing: hdl::lang::Timing::new(),
            operations: Vec::new(),
            registers: None,
            ports: vec![port("a<b_i", "input", 32, Some(4)), port("sum_o", "output", 16, None)],
            modules,
        }
    }

    #[test]
    fn ports_counts_and_columns() {
        let design = manifest(&[2, 1]);
        let svg = draw(&design);
        for part in [
            ">top_n4</text>",
            ">a&lt;b_i<tspan class=\"f-muted\" dx=\"7\">4 × 8</tspan>",
            ">sum_o<tspan class=\"f-muted\" dx=\"7\">16</tspan>",
            ">clk_i<",
            "part_0: placed 2 times in all",
            "part_1: placed once in all",
            "leaf: placed 6 times in all",
            ">× 3</text>",
        ] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
        let names = |c: &Vec<&ManifestModule>| c.iter().map(|m| m.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(columns(&design).iter().map(names).collect::<Vec<_>>(), ["part_0 part_1", "leaf"]);
        assert!(draw(&manifest(&[1; 40])).contains("and 24 more modules"));
    }

    #[test]
    fn shapes() {
        assert_eq!(shape(&manifest(&[2, 1])), shape(&manifest(&[5, 7])));
        assert_ne!(shape(&manifest(&[2, 1])), shape(&manifest(&[2])));
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("short", 8), "short");
        assert_eq!(shortened("abcdefghijklmnop", 9), "abc…lmnop");
    }
}
