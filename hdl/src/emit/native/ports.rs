//! C of the ports of the top.

use super::c_types::{c_type, canonical, is_wide, stored_bytes, words};
use super::parts::Parts;
use super::store::ArrayId;
use crate::lang::Type;
use crate::lang::ir::Direction;

/// Inputs are taken from where the caller puts them, outputs put where it finds them.
pub(super) fn ports(parts: &Parts<'_>) -> (Vec<String>, Vec<String>) {
    let top = parts.sites.ir(0);
    let (mut load, mut store) = (Vec::new(), Vec::new());
    for (position, &net) in top.ports.iter().enumerate() {
        let n = top.net(net);
        let place = parts.store.access(0, net, None, 0);
        let stride = parts.store.net(0, net).stride;
        let count = n.array.map_or(1, |a| a.0);
        let (ty, name) = (n.ty, &n.name);
        let total = ty.width * count;
        let (array, first) = (place.array, place.offset);
        let element = if is_wide(ty) {
            format!("(S->a{array} + ({first} + {stride} * (i64)k) * {})", words(ty))
        } else {
            format!("S->a{array}[{first} + {stride} * (i64)k]")
        };
        let wakes: String = parts.plan.wakes[array as usize].iter().map(|f| format!("F[{f}] = 1; ")).collect();
        let e = total.div_ceil(64);
        let bytes = total.div_ceil(32) * 4;
        match (top.direction(position), total > 64) {
            (Direction::Input, true) if is_packed(ty, stride) => {
                let to = pointer(array, first, ty);
                let (to, from, bytes) = (format!("({to})"), format!("S->p_{name}"), total / 8);
                load.push(format!("if (memcmp({to}, {from}, {bytes})) {{ memcpy({to}, {from}, {bytes}); {wakes} }}"));
            }
            (Direction::Output, true) if is_packed(ty, stride) => {
                let flag = parts.plan.outputs[&position];
                let from = pointer(array, first, ty);
                let bytes = total / 8;
                store.push(format!("if (F[{flag}]) {{ F[{flag}] = 0; memcpy(S->p_{name}, {from}, {bytes}); }}"));
            }
            (Direction::Input, true) => {
                load.push(format!("if (memcmp(S->p_{name}, S->q_{name}, {bytes})) {{ memcpy(S->q_{name}, S->p_{name}, {bytes}); u64 e[{e}] = {{0}}; memcpy(e, S->p_{name}, {bytes});"));
                load.push(format!("for (u32 k = 0; k < {count}; k++) {{ {} }} {wakes} }}", take(&element, "e", ty)));
            }
            (Direction::Input, false) => {
                let take = format!(
                    "const {0} x = {1}; c |= {element} != x; {element} = x;",
                    c_type(ty),
                    canonical(&format!("(u64)S->p_{name} >> (k * {})", ty.width), ty)
                );
                load.push(format!(
                    "{{ u32 c = 0; for (u32 k = 0; k < {count}; k++) {{ {take} }} if (c) {{ {wakes} }} }}"
                ));
            }
            (Direction::Output, wide) => {
                let flag = parts.plan.outputs[&position];
                let put = if is_wide(ty) {
                    format!("w_put_words(e, k * {0}, {0}, {element});", ty.width)
                } else {
                    let raw = canonical(&element, Type { signed: false, ..ty });
                    format!("w_put(e, k * {0}, {0}, {raw});", ty.width)
                };
                let end =
                    if wide { format!("memcpy(S->p_{name}, e, {bytes});") } else { format!("S->p_{name} = e[0];") };
                store.push(format!("if (F[{flag}]) {{ F[{flag}] = 0; u64 e[{e}] = {{0}}; for (u32 k = 0; k < {count}; k++) {put} {end} }}"));
            }
        }
    }
    (load, store)
}

/// Whether the elements of an array lie as its bits do in a port: without anything between them.
fn is_packed(ty: Type, stride: i64) -> bool {
    stride == 1
        && cfg!(target_endian = "little")
        && if is_wide(ty) { ty.width.is_multiple_of(64) } else { ty.width == 8 * stored_bytes(ty) }
}

fn pointer(array: ArrayId, first: i64, ty: Type) -> String {
    format!("S->a{array} + {first} * {}", if is_wide(ty) { words(ty) } else { 1 })
}

fn take(element: &str, from: &str, ty: Type) -> String {
    let width = ty.width;
    if is_wide(ty) {
        return format!("w_slice({element}, {width}, {from}, k * {width});");
    }
    format!("{element} = {};", canonical(&format!("w_get({from}, k * {width}, {width})"), ty))
}
