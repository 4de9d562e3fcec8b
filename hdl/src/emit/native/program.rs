//! The whole C text: state, functions of segments, and the table of functions that a simulator calls.

use std::collections::{BTreeMap, BTreeSet};

use super::c_types::{ZERO_WORDS, canonical, is_wide, stored_type, words};
use super::code::Code;
use super::order::Segment;
use super::parts::Parts;
use super::plan::{Group, groups};
use super::ports::ports;
use super::ripple::{Plan as RipplePlan, Ripple};
use super::steps::{Kind, Step, StepId, VECTOR};
use super::store::ArrayId;
use crate::emit::SourceFile;
use crate::lang::ir::NetKind;

const PRELUDE: &str = include_str!("prelude.h");
const FRAME: &str = include_str!("frame.h");

/// A port of the top as the caller sees it: the smallest of 8, 16, 32, 64 bits, or 32-bit words.
struct Port {
    name: String,
    width: u32,
}

/// Text of one C file, but for its head: more than one, so that a compiler can work on each core.
const FILE: usize = 150_000;

pub(super) fn program(parts: &Parts<'_>) -> Result<Vec<SourceFile>, String> {
    let mut code = Code::new(parts.sites, parts.store, parts.steps, parts.plan);
    let mut functions: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, lines: Vec<String>| functions.push(function(&name, lines));
    let within = &parts.order.within;
    for (flag, segment) in within.iter().enumerate() {
        add(format!("s{flag}"), body(&mut code, segment, parts.steps));
    }
    for (k, segment) in parts.order.edge.iter().enumerate() {
        let flag = within.len() + k;
        if let Some(step) = parts.plan.guards[k] {
            let enable = code.enable(step);
            code.line(format!("if (!({enable})) {{ S->ran[{k}] = 0; return; }}"));
        }
        add(format!("s{flag}"), body(&mut code, segment, parts.steps));
        let lines = commit(parts, segment, flag);
        if !lines.is_empty() {
            add(format!("k{flag}"), lines);
        }
    }
    add("reset_state".into(), reset(&mut code, parts));
    add("random_fill".into(), random(parts));
    let (load, store) = ports(parts);
    add("load".into(), load);
    add("store".into(), store);
    let call = |flag: usize| (flag, format!("if (F[{flag}]) {{ F[{flag}] = 0; s{flag}(S); }}"));
    let all = |out_only: bool| {
        let chosen = within.iter().enumerate().filter(|(_, s)| s.out || !out_only);
        by_eight(chosen.map(|(flag, _)| call(flag)))
    };
    add("outputs".into(), all(true));
    add("all".into(), all(false));
    add("edge".into(), edge(parts));
    if let Some(what) = code.refused {
        return Err(what);
    }
    let mut head = format!("{PRELUDE}\nstatic const u64 w_zero[{}];\n\n", ZERO_WORDS);
    head += &state(parts);
    let mut files: Vec<String> = vec![frame(parts)];
    for (declaration, text) in functions {
        head += &declaration;
        match files.last_mut().filter(|file| file.len() + text.len() <= FILE) {
            Some(file) => *file += &text,
            None => files.push(format!("#include \"model.h\"\n\n{text}")),
        }
    }
    let file = |(k, text)| SourceFile { name: format!("part{k}.c"), text };
    let head = SourceFile { name: "model.h".into(), text: head };
    Ok(std::iter::once(head).chain(files.into_iter().enumerate().map(file)).collect())
}

/// The functions that the simulator calls.
fn frame(parts: &Parts<'_>) -> String {
    let top = parts.sites.ir(0);
    let mut text = "#include \"model.h\"\n\n".to_owned();
    text += &format!("#define HAS_RESET {}\n", u32::from(top.reset));
    text += &format!("#define RESET_LOW {}\n", if top.reset { "(S->p_rst_ni == 0)" } else { "0" });
    let addresses: Vec<String> = all_ports(parts).iter().map(|p| format!("*out++ = &S->p_{};", p.name)).collect();
    let addresses = addresses.join("\n  ");
    text += &format!("static void ports(void *instance, void **out) {{\n  St *S = instance;\n  {addresses}\n}}\n");
    let observed = used(parts).into_iter().filter(|_| parts.store.observed);
    let arrays: Vec<String> =
        observed.map(|array| format!("if (count > {array}) out[{array}] = S->a{array};")).collect();
    let arrays = arrays.join("\n  ");
    text += &format!(
        "static void arrays(void *instance, void **out, u64 count) {{\n  St *S = instance;\n  (void)S, (void)out, (void)count;\n  {arrays}\n}}\n"
    );
    text + FRAME
}

/// Declaration and text of a function.
fn function(name: &str, lines: Vec<String>) -> (String, String) {
    // Long loops are worth the time that the compiler takes for vectors; the rest is not.
    let commits = name.starts_with('k');
    let turns = |line: &String| {
        let head = if commits { line.split_once("for (u64 k")?.1 } else { line.strip_prefix("for (i64 v")? };
        head.split_once(" < ")?.1.split(';').next()?.parse().ok()
    };
    let has_loop = lines.iter().filter_map(turns).any(|count: u32| count >= VECTOR);
    let attribute = if has_loop { "VECTORS" } else { "PLAIN" };
    let head = format!("void {name}(St *restrict S)");
    let mut text = format!("{attribute} {head} {{\n");
    for line in lines {
        text += "  ";
        text += &line;
        text += "\n";
    }
    (format!("{head};\n"), text + "}\n")
}

fn all_ports(parts: &Parts<'_>) -> Vec<Port> {
    let top = parts.sites.ir(0);
    let bit = |name: &str| Port { name: name.to_owned(), width: 1 };
    let clocks = [(top.clocked, "clk_i"), (top.reset, "rst_ni")];
    let mut all: Vec<Port> = clocks.iter().filter(|c| c.0).map(|c| bit(c.1)).collect();
    all.extend(top.ports.iter().map(|&net| {
        let n = top.net(net);
        Port { name: n.name.clone(), width: n.ty.width * n.array.map_or(1, |a| a.0) }
    }));
    all
}

fn state(parts: &Parts<'_>) -> String {
    let mut text = format!(
        "#define F S->flags\ntypedef struct {{\n  _Alignas(8) u8 flags[{}];\n  u8 ran[{}];\n  u8 was_high;\n  u64 seed;\n",
        parts.plan.flags.next_multiple_of(8).max(8),
        parts.order.edge.len().max(1)
    );
    for port in all_ports(parts) {
        let name = port.name;
        text += &match port.width {
            0..=8 => format!("  u8 p_{name};\n"),
            9..=16 => format!("  u16 p_{name};\n"),
            17..=32 => format!("  u32 p_{name};\n"),
            33..=64 => format!("  u64 p_{name};\n"),
            w => format!("  _Alignas(8) u32 p_{name}[{0}], q_{name}[{0}];\n", w.div_ceil(32)),
        };
    }
    for array in used(parts) {
        let storage = parts.store.array(array);
        let n = if is_wide(storage.ty) { u64::from(words(storage.ty)) } else { 1 };
        let name: String = storage.name.chars().filter(|c| c.is_ascii_alphanumeric() || " _".contains(*c)).collect();
        // Vectors are read and written whole.
        let align = if storage.len > 1 { "_Alignas(32) " } else { "" };
        let (ty, len) = (stored_type(storage.ty), storage.len * n);
        text += &format!("  {align}{ty} a{array}[{len}]; /* {name} */\n");
    }
    for (id, step) in parts.steps.iter().enumerate() {
        if matches!(step.kind, Kind::Write(..)) && !parts.plan.at_once.contains(&(id as StepId)) {
            let n = words(parts.store.array(step.writes.access.array).ty);
            let turns: u64 = step.nest.iter().map(|l| u64::from(l.count)).product();
            text += &format!("  struct {{ u8 on; i64 at; u64 data[{n}], mask[{n}]; }} w{id}[{turns}];\n");
        }
    }
    text + "} St;\n\n"
}

/// Arrays that some step or port touches.
fn used(parts: &Parts<'_>) -> Vec<ArrayId> {
    let mut used = vec![parts.store.observed; parts.store.arrays.len()];
    for step in parts.steps {
        used[step.writes.access.array as usize] = true;
        step.reads.iter().for_each(|r| used[r.access.array as usize] = true);
    }
    let top = parts.sites.ir(0);
    top.ports.iter().for_each(|&p| used[parts.store.net(0, p).array as usize] = true);
    for (old, new) in parts.plan.next.iter().enumerate() {
        if let Some(new) = new {
            used[*new as usize] = used[old];
        }
    }
    let kept = |a: &ArrayId| used[*a as usize] && !parts.plan.local[*a as usize];
    (0..parts.store.arrays.len() as ArrayId).filter(kept).collect()
}

fn body(code: &mut Code<'_>, segment: &Segment, steps: &[Step]) -> Vec<String> {
    for group in groups(segment, steps) {
        match group {
            Group::Loop(nest, members) => code.group(&members, nest),
            Group::Ripple(ripple) => rippled(code, ripple, steps),
        }
    }
    code.take()
}

fn rippled(code: &mut Code<'_>, ripple: &Ripple, steps: &[Step]) {
    match &ripple.plan {
        RipplePlan::Together { order, down } => {
            let nest = &steps[order[0] as usize].nest;
            let head = |(d, count): (usize, u32)| {
                if *down {
                    format!("for (i64 v{d} = {}; v{d} >= 0; v{d}--)", i64::from(count) - 1)
                } else {
                    format!("for (i64 v{d} = 0; v{d} < {count}; v{d}++)")
                }
            };
            let heads: Vec<String> = nest.iter().map(|l| l.count).enumerate().map(head).collect();
            code.looped(order, &heads);
        }
        RipplePlan::Runs(runs) => {
            for run in runs {
                let head = |(d, r): (usize, &super::ripple::Range)| {
                    let (start, step, count) = (r.start, r.step, r.count);
                    format!("for (i64 k{d} = 0, v{d} = {start}; k{d} < {count}; k{d}++, v{d} += {step})")
                };
                let heads: Vec<String> = run.turns.iter().enumerate().map(head).collect();
                code.looped(&[run.step], &heads);
            }
        }
    }
}

/// Registers take their next values, memories what is written to them.
fn commit(parts: &Parts<'_>, segment: &Segment, flag: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let wakes = |array: ArrayId| {
        parts.plan.wakes[array as usize].iter().map(|f| format!("F[{f}] = 1;")).collect::<Vec<_>>().join(" ")
    };
    for id in segment.steps() {
        let step = &parts.steps[id as usize];
        let array = step.writes.access.array;
        let storage = parts.store.array(array);
        let (wide, n) = (is_wide(storage.ty), words(storage.ty));
        if parts.plan.at_once.contains(&id) {
            continue;
        }
        if let Kind::Write(..) = step.kind {
            let turns: u64 = step.nest.iter().map(|l| u64::from(l.count)).product();
            let word = if wide { format!("S->a{array} + w->at * {n}") } else { format!("S->a{array}") };
            let write = if wide {
                format!(
                    "u64 *d = {word}; for (u32 i = 0; i < {n}; i++) d[i] = (d[i] & ~w->mask[i]) | (w->data[i] & w->mask[i]);"
                )
            } else {
                format!("S->a{array}[w->at] = (S->a{array}[w->at] & ~w->mask[0]) | (w->data[0] & w->mask[0]);")
            };
            // The same write again may be one over another port's.
            lines.push(format!("for (u64 k = 0; k < {turns}; k++) {{ __typeof__(&S->w{id}[0]) w = &S->w{id}[k]; if (w->on) {{ {write} F[{flag}] = 1; {} }} }}", wakes(array)));
            continue;
        }
        let Some(next) = parts.plan.next[array as usize] else { continue };
        let wakes = wakes(array);
        let len = storage.len * if wide { u64::from(n) } else { 1 };
        if len == 1 {
            lines.push(format!("if (S->a{array}[0] != S->a{next}[0]) {{ S->a{array}[0] = S->a{next}[0]; {wakes} }}"));
        } else {
            let ty = if wide { "u64" } else { stored_type(storage.ty) };
            lines.push(format!("{{ {ty} c = 0; for (u64 k = 0; k < {len}; k++) {{ c |= S->a{array}[k] ^ S->a{next}[k]; S->a{array}[k] = S->a{next}[k]; }} if (c) {{ {wakes} }} }}"));
        }
    }
    lines
}

fn edge(parts: &Parts<'_>) -> Vec<String> {
    let first = parts.order.within.len();
    let flags = first..first + parts.order.edge.len();
    let waits = |flag: &usize| !commit(parts, &parts.order.edge[flag - first], *flag).is_empty();
    let ran: BTreeSet<usize> = flags.clone().filter(waits).collect();
    let run = |flag: usize| {
        let ran = if ran.contains(&flag) { format!("S->ran[{}] = 1; ", flag - first) } else { String::new() };
        (flag, format!("if (F[{flag}]) {{ F[{flag}] = 0; {ran}s{flag}(S); }}"))
    };
    let finish = |&flag: &usize| format!("if (S->ran[{0}]) {{ S->ran[{0}] = 0; k{flag}(S); }}", flag - first);
    by_eight(flags.map(run)).into_iter().chain(ran.iter().map(finish)).collect()
}

/// What is done under a flag, with one question for eight flags in a row: most are not set.
fn by_eight(of_flags: impl Iterator<Item = (usize, String)>) -> Vec<String> {
    let mut groups: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    of_flags.for_each(|(flag, text)| groups.entry(flag / 8).or_default().push(text));
    let asked = |(group, texts): (usize, Vec<String>)| {
        let question = format!("if (*(const lane64 *)(F + {})) {{", 8 * group);
        std::iter::once(question).chain(texts).chain(std::iter::once("}".to_owned())).collect::<Vec<_>>()
    };
    groups.into_iter().flat_map(asked).collect()
}

/// Registers with a reset value take it; everything is evaluated anew.
fn reset(code: &mut Code<'_>, parts: &Parts<'_>) -> Vec<String> {
    for step in parts.steps {
        let Kind::Register { .. } = step.kind else { continue };
        let NetKind::Register { init: Some(init) } = &parts.sites.ir(step.site).net(step.net).kind else { continue };
        let array = step.writes.access.array;
        let storage = parts.store.array(array);
        let value = code.reset_value(init, storage.ty);
        let n = words(storage.ty);
        match (is_wide(storage.ty), storage.len) {
            (false, 1) => code.line(format!("S->a{array}[0] = {value};")),
            (false, len) => code.line(format!("for (u64 k = 0; k < {len}; k++) S->a{array}[k] = {value};")),
            (true, len) => {
                code.line(format!("for (u64 k = 0; k < {len}; k++) w_copy(S->a{array} + k * {n}, {value}, {n});"));
            }
        }
    }
    let mut lines = code.take();
    lines.extend(kept(parts));
    lines.push("memset(S->flags, 1, sizeof S->flags);".into());
    lines
}

/// A register that a guard leaves alone keeps its value: its next value is its present one.
fn kept(parts: &Parts<'_>) -> Vec<String> {
    let guarded = parts.steps.iter().filter(|step| step.guard.is_some() && step.kind.at_edge());
    let arrays: BTreeSet<ArrayId> = guarded.map(|step| step.writes.access.array).collect();
    let copy = |array: ArrayId| {
        let next = parts.plan.next[array as usize]?;
        Some(format!("memcpy(S->a{next}, S->a{array}, sizeof S->a{array});"))
    };
    arrays.into_iter().filter_map(copy).collect()
}

/// State before anything is written to it.
fn random(parts: &Parts<'_>) -> Vec<String> {
    let mut lines = vec!["u64 seed;".to_owned()];
    let mut done = BTreeSet::new();
    for step in parts.steps.iter().filter(|s| s.kind.at_edge()) {
        let array = step.writes.access.array;
        if !done.insert(array) {
            continue;
        }
        let storage = parts.store.array(array);
        let (len, ty, n) = (storage.len, storage.ty, words(storage.ty));
        // By array, so that a register has the same bits whatever else is evaluated.
        lines.push(format!("seed = random_of(S->seed, {array});"));
        if is_wide(ty) {
            lines.push(format!("for (u64 k = 0; k < {len}; k++) {{ u64 *d = S->a{array} + k * {n}; for (u32 i = 0; i < {n}; i++) d[i] = random_state(&seed); w_mask(d, {}); }}", ty.width));
        } else {
            let value = canonical("random_state(&seed)", ty);
            lines.push(format!("for (u64 k = 0; k < {len}; k++) S->a{array}[k] = {value};"));
        }
    }
    lines.push("(void)seed;".into());
    lines.extend(kept(parts));
    lines
}
