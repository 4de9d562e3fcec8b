//! C of everything that keeps a state: registers, memories, state machines.

use super::c_types::{ZERO_WORDS, c_type, constant, is_wide, words};
use super::code::{Code, index_text, turn_text};
use super::steps::StepId;
use super::store::Access;
use super::value::bits;
use crate::lang::Type;
use crate::lang::ir::NodeId;

impl Code<'_> {
    /// A word of a memory; what is past its end reads as zero.
    pub(super) fn word(&mut self, memory: u32, address: NodeId) -> String {
        let m = &self.ir().memories[memory as usize];
        let access = self.store.memory(self.site, memory);
        let at = self.value(address);
        let inside = 1_u64 << self.ty(address).width.min(63) <= u64::from(m.depth);
        let ty = self.store.array(access.array).ty;
        let text = self.at_step(&access, &format!("(i64){at}"));
        let text = if is_wide(ty) { text } else { format!("({}){text}", c_type(ty)) };
        let none = if is_wide(ty) { "w_zero" } else { "0" };
        if is_wide(ty) && words(ty) > ZERO_WORDS {
            return self.refuse("a memory of such wide words");
        }
        if inside { text } else { format!("({at} < {} ? {text} : {none})", m.depth) }
    }

    pub(super) fn next_state(&mut self, fsm: u32) -> String {
        let f = &self.ir().fsms[fsm as usize];
        let state_access = self.access(f.state, None);
        let state = self.at(&state_access);
        let mut arms = Vec::new();
        for from in 0..f.states.len() {
            let mut text = format!("{from}");
            let mut branches = Vec::new();
            for (_, condition, to) in f.transitions.iter().filter(|t| t.0 == from) {
                match condition {
                    Some(c) => branches.push((self.value(*c), *to)),
                    None => {
                        text = to.to_string();
                        break;
                    }
                }
            }
            for (condition, to) in branches.into_iter().rev() {
                text = format!("{condition} ? {to} : {text}");
            }
            arms.push(text);
        }
        let name = self.fresh();
        self.line(format!("u32 {name}; switch ({state}) {{"));
        for (from, text) in arms.iter().enumerate() {
            self.line(format!("case {from}: {name} = {text}; break;"));
        }
        self.line(format!("default: {name} = 0; }}"));
        name
    }

    /// Where the next value of a register waits for the edge.
    pub(super) fn deferred(&self, access: &Access) -> Access {
        let array = self.plan.next[access.array as usize].unwrap_or(access.array);
        Access { array, ..access.clone() }
    }

    pub(super) fn register(&mut self, access: &Access, next: NodeId, enable: Option<NodeId>) {
        let to = self.deferred(access);
        let wide = is_wide(self.ty(next));
        if let (true, Some(enable)) = (wide && to.array == access.array, enable) {
            let (text, enable) = (self.wide(next), self.value(enable));
            self.line(format!("if ({enable}) {{"));
            self.put_text(&to, &text);
            return self.line("}");
        }
        let text = if wide { self.wide(next) } else { self.value(next) };
        let text = match enable {
            None => text,
            Some(enable) => {
                let (enable, old) = (self.value(enable), self.at(access));
                let ty = self.ty(next);
                if self.in_loop() && !wide {
                    let [text, old] = [text, old].map(|text| self.temporary(ty, &text));
                    self.choice(&enable, &text, &old, ty)
                } else {
                    format!("{enable} ? {text} : {old}")
                }
            }
        };
        self.put_text(&to, &text);
    }

    /// The write of a port. It waits for the end of the edge where something may still read the memory.
    pub(super) fn write(&mut self, id: StepId, memory: u32, at: usize) {
        let m = &self.ir().memories[memory as usize];
        let write = &m.writes[at];
        let (depth, width) = (m.depth, m.width);
        let ty = Type { width, signed: false };
        let n = words(ty);
        let access = self.store.memory(self.site, memory);
        let address = self.value(write.address);
        let data = if is_wide(ty) { self.wide(write.data) } else { self.value(write.data) };
        let enable_wide = is_wide(self.ty(write.enable));
        let enable = if enable_wide { self.wide(write.enable) } else { self.value(write.enable) };
        let any = if enable_wide {
            format!("w_any({enable}, {})", words(self.ty(write.enable)))
        } else {
            format!("({enable} != 0)")
        };
        let inside = 1_u64 << self.ty(write.address).width.min(63) <= u64::from(depth);
        let any = if inside { any } else { format!("({any}) && {address} < {depth}") };
        let word = format!("(i64){address}");
        if self.plan.at_once.contains(&id) {
            let to = self.at_step(&access, &word);
            self.line(format!("if ({any}) {{"));
            let text = if m.granule == width {
                data
            } else {
                self.line(format!("u64 mask[{n}];"));
                self.granules("mask", (m.granule, width), (&enable, enable_wide));
                if is_wide(ty) {
                    self.line(format!("u64 word[{n}]; for (u32 k = 0; k < {n}; k++) word[k] = ({to}[k] & ~mask[k]) | ({data}[k] & mask[k]);"));
                    "word".to_owned()
                } else {
                    format!("({to} & ~mask[0]) | ({data} & mask[0])")
                }
            };
            self.put_at(&to, access.array, &text);
        } else {
            let slot = format!("S->w{id}[{}]", turn_text(&self.steps[id as usize].nest));
            self.line(format!("{slot}.on = {any};"));
            self.line(format!("if ({slot}.on) {{"));
            self.line(format!("{slot}.at = {} + {word};", index_text(&access)));
            if is_wide(ty) {
                self.line(format!("w_copy({slot}.data, {data}, {n});"));
            } else {
                self.line(format!("{slot}.data[0] = {data};"));
            }
            self.granules(&format!("{slot}.mask"), (m.granule, width), (&enable, enable_wide));
        }
        self.line("}");
    }

    /// The bits of a memory's word that are written.
    fn granules(&mut self, mask: &str, (granule, width): (u32, u32), (enable, enable_wide): (&str, bool)) {
        let bytes = words(Type { width, signed: false }) * 8;
        if granule == width {
            return self.line(format!("memset({mask}, 0xff, {bytes});"));
        }
        self.line(format!("memset({mask}, 0, {bytes});"));
        for g in 0..width / granule {
            let bit = if enable_wide { bits(enable, g, 1) } else { format!("({enable} >> {g}) & 1u") };
            let low = g * granule;
            if granule <= 64 {
                let ones = super::c_types::mask(granule);
                self.line(format!("if ({bit}) w_put({mask}, {low}, {granule}, {ones});"));
            } else {
                self.line(format!("if ({bit}) w_ones({mask}, {low}, {granule});"));
            }
        }
    }

    /// The reset value of a register, as C.
    pub fn reset_value(&mut self, init: &num_bigint::BigInt, ty: Type) -> String {
        if !is_wide(ty) {
            return constant(init, ty);
        }
        let name = self.fresh();
        let digits = Type { signed: false, ..ty }.wrap(init).to_biguint().unwrap_or_default().to_u64_digits();
        let all: Vec<String> =
            (0..words(ty) as usize).map(|k| format!("{:#x}ull", digits.get(k).copied().unwrap_or(0))).collect();
        self.line(format!("static const u64 {name}[] = {{{}}};", all.join(", ")));
        name
    }
}
