//! C that stores values, and notes what they change.

use super::c_types::{c_type, canonical, is_wide, stored_type, words};
use super::code::Code;
use super::steps::Step;
use super::store::{Access, ArrayId};
use crate::lang::ir::{NodeId, Op};

impl Code<'_> {
    pub(super) fn put(&mut self, access: &Access, value: NodeId) {
        let text = if is_wide(self.ty(value)) { self.wide(value) } else { self.value(value) };
        self.put_text(access, &text);
    }

    /// Stores a value and notes whether that changed it.
    pub(super) fn put_text(&mut self, access: &Access, text: &str) {
        let to = self.at(access);
        self.put_at(&to, access.array, text);
    }

    /// The same with the place as C.
    pub(super) fn put_at(&mut self, to: &str, id: ArrayId, text: &str) {
        let array = id as usize;
        let ty = self.store.array(id).ty;
        let n = words(ty);
        if self.plan.local[array] {
            // A copy: what a pointer leads to may be a register that takes its next value before this one is read.
            let declared = if is_wide(ty) {
                format!("u64 {to}[{n}]; w_copy({to}, {text}, {n});")
            } else {
                format!("const {} {to} = {text};", self.declared(ty))
            };
            return self.line(declared);
        }
        let silent = self.plan.wakes[array].is_empty();
        match (is_wide(ty), silent) {
            (false, true) => self.line(format!("{to} = {text};")),
            (true, true) => self.line(format!("w_copy({to}, {text}, {n});")),
            (wide, false) if self.noted.is_some() => {
                let changed = self.changed(id);
                if wide {
                    self.line(format!("{changed} |= w_change({to}, {text}, {n});"));
                } else {
                    let name = self.temporary(ty, text);
                    self.line(format!("{changed} |= {to} ^ ({}){name}; {to} = {name};", stored_type(ty)));
                }
            }
            (true, false) => {
                let wakes = self.wakes(id);
                self.line(format!("if (w_change({to}, {text}, {n})) {{ {wakes} }}"));
            }
            (false, false) => {
                let (name, wakes) = (self.temporary(ty, text), self.wakes(id));
                self.line(format!("if ({to} != {name}) {{ {to} = {name}; {wakes} }}"));
            }
        }
    }

    /// The variable that notes a change of an array in the loop around.
    fn changed(&mut self, array: ArrayId) -> String {
        let fresh = format!("c{}", self.next);
        self.next += 1;
        let (store, plan) = (self.store, self.plan);
        // What wakes the same is one note.
        let alike = |other: ArrayId| {
            let [a, b] = [array, other].map(|id| store.array(id).ty);
            stored_type(a) == stored_type(b) && plan.wakes[array as usize] == plan.wakes[other as usize]
        };
        let noted = self.noted.get_or_insert_default();
        if let Some((name, _)) = noted.iter().find(|n| alike(n.1)) {
            return name.clone();
        }
        noted.push((fresh.clone(), array));
        fresh
    }

    /// A vector into all elements of an array.
    pub(super) fn drive_all(&mut self, step: &Step, value: NodeId) {
        let access = step.writes.access.clone();
        let (array, stride) = (access.array, step.writes.stride);
        let ty = self.store.array(array).ty;
        let count = step.writes.count;
        let element = |k: u64| {
            let mut one = access.clone();
            one.offset += stride * k as i64;
            one
        };
        if let Op::Cat(parts) = self.ir().node(value).op.clone()
            && parts.len() as u64 == count
            && parts.iter().all(|&p| self.ty(p).width == ty.width)
        {
            for (k, &part) in parts.iter().rev().enumerate() {
                let text = if is_wide(ty) {
                    self.wide(part)
                } else {
                    let raw = self.raw(part);
                    if ty.signed { canonical(&raw, ty) } else { raw }
                };
                self.put_text(&element(k as u64), &text);
            }
            return;
        }
        let wide_source = is_wide(self.ty(value));
        let source = if wide_source { self.wide(value) } else { self.raw(value) };
        if count <= 8 && !is_wide(ty) {
            for k in 0..count {
                let low = k as u32 * ty.width;
                let text = if wide_source {
                    self.fixed_part(&source, low, ty)
                } else {
                    canonical(&format!("{source} >> {low}"), ty)
                };
                self.put_text(&element(k), &text);
            }
            return;
        }
        let outer = self.noted.is_some();
        if !outer {
            self.noted = Some(vec![]);
        }
        let before = std::mem::take(&mut self.lines);
        let to = self.at_step(&access, &format!("{stride} * (i64)k"));
        let low = format!("k * {}", ty.width);
        let silent = self.plan.wakes[array as usize].is_empty();
        let n = words(ty);
        if is_wide(ty) {
            self.line(format!("u64 e[{n}] = {{0}}; w_slice(e, {}, {source}, {low});", ty.width));
            let change = if silent {
                format!("w_copy({to}, e, {n});")
            } else {
                let changed = self.changed(array);
                format!("{changed} |= w_change({to}, e, {n});")
            };
            self.line(change);
        } else {
            let text = self.part(&source, wide_source, &low, ty);
            self.line(format!("const {} e = {text};", c_type(ty)));
            if !silent {
                let changed = self.changed(array);
                self.line(format!("{changed} |= {to} ^ ({})e;", stored_type(ty)));
            }
            self.line(format!("{to} = e;"));
        }
        let body = std::mem::replace(&mut self.lines, before);
        let noted = if outer { vec![] } else { self.noted.take().unwrap_or_default() };
        self.line("{");
        for (name, _) in &noted {
            self.line(format!("{} {name} = 0;", if is_wide(ty) { "u64" } else { stored_type(ty) }));
        }
        self.line(format!("for (u32 k = 0; k < {count}; k++) {{"));
        self.lines.extend(body);
        self.line("}");
        for (name, array) in noted {
            let wakes = self.wakes(array);
            self.line(format!("if ({name}) {{ {wakes} }}"));
        }
        self.line("}");
    }
}
