//! From names to bits of the netlist.

use crate::netlist::{Bit, Cell, Module, Netlist, Signal};

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Bits of wires.
    Net(Signal),
    /// Ports of instances: position of the cell, port.
    Ports(Vec<(usize, String)>),
}

/// Positions of the modules that `name` can mean: the one of this name, or those whose names begin with it.
pub(super) fn modules(netlist: &Netlist, name: &str) -> Result<Vec<usize>, String> {
    let names: Vec<&str> = netlist.modules.iter().map(|m| plain(&m.name)).collect();
    if let Some(exact) = names.iter().position(|n| *n == name) {
        return Ok(vec![exact]);
    }
    let begins = |n: &&str| n.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    let found: Vec<usize> = (0..names.len()).filter(|&i| begins(&names[i])).collect();
    if found.is_empty() { Err(format!("no module `{name}`; {}", near(name, names))) } else { Ok(found) }
}

/// What `name` stands for in `module`, if it has such a net.
pub(super) fn net(netlist: &Netlist, module: &Module, name: &str) -> Result<Option<Found>, String> {
    let own = format!("\\{name}");
    if module.wires.contains_key(&own) {
        return Ok(Some(Found::Net(module.whole(&own))));
    }
    if module.memories.contains(&own) {
        let what = "is a memory: name the net that it is read into, or one that is written";
        return Err(format!("`{name}` of `{}` {what}", plain(&module.name)));
    }
    // Bits of a wire.
    if let Some((base, range)) = name.strip_suffix(']').and_then(|n| n.rsplit_once('['))
        && let Some(wire) = module.wires.get(&format!("\\{base}"))
    {
        let (high, low) = range.split_once(':').unwrap_or((range, range));
        let (Ok(high), Ok(low)) = (high.parse::<u32>(), low.parse::<u32>()) else {
            return Err(format!("`[{range}]` of `{base}` is no bit and no range of bits"));
        };
        if low > high || high >= wire.width {
            return Err(format!("`{base}` has bits {} to 0, not [{range}]", wire.width - 1));
        }
        return Ok(Some(Found::Net((low..=high).map(|bit| Bit::Wire(format!("\\{base}"), bit)).collect())));
    }
    // All elements of an array, all turns of a loop.
    let family: Signal =
        module.wires.keys().filter(|wire| is_called(wire, name)).flat_map(|wire| module.whole(wire)).collect();
    if !family.is_empty() {
        return Ok(Some(Found::Net(family)));
    }
    let Some((instance, port)) = name.rsplit_once('.') else { return Ok(None) };
    let port = format!("\\{port}");
    let has = |cell: &Cell| {
        let named = plain(&cell.name) == instance || is_called(&cell.name, instance);
        named && netlist.module(&cell.kind).is_some() && cell.port(&port).is_some()
    };
    let cells: Vec<(usize, String)> =
        module.cells.iter().enumerate().filter(|(_, cell)| has(cell)).map(|(i, _)| (i, port.clone())).collect();
    Ok((!cells.is_empty()).then_some(Found::Ports(cells)))
}

/// The names that a test can use in `module`.
pub(super) fn names(netlist: &Netlist, module: &Module) -> Vec<String> {
    let public = |name: &&String| name.starts_with('\\');
    let mut names: Vec<String> = module.wires.keys().filter(public).map(|name| plain(name).to_owned()).collect();
    for cell in module.cells.iter().filter(|cell| netlist.module(&cell.kind).is_some()) {
        names.extend(cell.ports.iter().map(|(port, _)| format!("{}.{}", plain(&cell.name), plain(port))));
    }
    names
}

/// Similar names, for an error.
pub(super) fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    // Blocks and instances need not be spelled out.
    let score = |name: &str| {
        let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
        strsim::jaro_winkler(wanted, name).max(strsim::jaro_winkler(wanted, last))
    };
    let mut scored: Vec<(f64, &str)> = names.into_iter().map(|n| (score(n), n)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let list: Vec<String> = scored.iter().take(5).map(|(_, name)| format!("`{name}`")).collect();
    if list.is_empty() { "there are none".to_owned() } else { format!("similar ones are {}", list.join(", ")) }
}

pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix('\\').unwrap_or(name)
}

/// Whether `wire`, without its indices, is `name`, or a net `name` of a generate block.
fn is_called(wire: &str, name: &str) -> bool {
    let Some(wire) = wire.strip_prefix('\\').filter(|wire| wire.contains('[')) else { return false };
    let mut bare = String::new();
    let mut inside = false;
    for c in wire.chars() {
        inside = c == '[' || inside && c != ']';
        if !inside && c != ']' {
            bare.push(c);
        }
    }
    bare == name || bare.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
}
