//! What a waveform shows: the nets of the Verilog by their names in the Verilog, and where a model keeps their values.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::c_types::{is_wide, stored_bytes, words};
use super::sites::{Loop, SiteId, Sites};
use super::store::{Place, Store};
use crate::emit::verilog::{LoopLabel, declared, labels};
use crate::lang::in_formal;
use crate::lang::ir::{Item, Layout, NetKind, ScopeId, ScopeKind};

/// Bits of the widest net and words of the deepest memory that are shown, as for Verilator's models.
const WIDEST: u64 = 65_536;
const DEEPEST: u32 = 4096;

/// A step through the hierarchy of the Verilog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// An instance or a turn of a generate loop begins: `u_pe`, `g_row[3]`.
    Scope(String),
    /// A net.
    Net(ObservedNet),
    /// The last scope that began ends.
    End,
}

/// A net as a waveform shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNet {
    /// Its name; an element of an array has its index: `sum[3]`.
    pub name: String,
    /// Its bits.
    pub width: u32,
    /// It is declared as a register or as a memory.
    pub is_register: bool,
    /// Where its value is.
    pub value: ObservedValue,
}

/// Where a model keeps a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObservedValue {
    /// It is the clock.
    Clock,
    /// It is the active-low reset.
    Reset,
    /// Elements of an array of the model, the first one being the lowest bits.
    Elements {
        /// Number of the array.
        array: u32,
        /// Position of the first element.
        first: u64,
        /// From one element to the next.
        stride: i64,
        /// How many there are.
        count: u32,
        /// Bits of an element that count.
        width: u32,
        /// Bytes of an element in memory: 1, 2, 4, or words of 8.
        bytes: u32,
    },
}

/// The ports of the top, then the hierarchy of a design from its top on: as in Verilator's waveforms.
pub(super) fn observe(sites: &Sites, store: &Store<'_>) -> Vec<Observed> {
    let mut walk = Walk { sites, store, found: vec![], turns: vec![], names: BTreeMap::new() };
    walk.pins(0);
    walk.nets(0, 0, true);
    walk.scope_of(sites.ir(0).name.clone(), 0);
    walk.found
}

struct Walk<'a> {
    sites: &'a Sites,
    store: &'a Store<'a>,
    found: Vec<Observed>,
    /// Loops that are open, outermost first, and the turn of each.
    turns: Vec<(Loop, u32)>,
    /// Names in the Verilog, by module.
    names: BTreeMap<&'a str, Rc<[Option<String>]>>,
}

impl<'a> Walk<'a> {
    fn scope_of(&mut self, name: String, site: SiteId) {
        self.found.push(Observed::Scope(name));
        self.pins(site);
        self.inside(site, 0);
        self.found.push(Observed::End);
    }

    /// Clock and reset, as far as a site has them.
    fn pins(&mut self, site: SiteId) {
        let ir = self.sites.ir(site);
        let clocks = [(ir.clocked, "clk_i", ObservedValue::Clock), (ir.reset, "rst_ni", ObservedValue::Reset)];
        for (_, name, value) in clocks.into_iter().filter(|clock| clock.0) {
            self.found.push(Observed::Net(ObservedNet { name: name.into(), width: 1, is_register: false, value }));
        }
    }

    /// Nets of a scope of a site, or its ports alone, for the turns of the loops around it.
    fn nets(&mut self, site: SiteId, scope: ScopeId, ports_alone: bool) {
        let (sites, store) = (self.sites, self.store);
        let ir = sites.ir(site);
        let names = Rc::clone(self.names.entry(&ir.name).or_insert_with(|| declared(ir).into()));
        for (id, net) in ir.nets.iter().enumerate().filter(|(_, net)| net.scope == scope) {
            let is_port = matches!(net.kind, NetKind::Input | NetKind::Output);
            let Some(name) = names[id].as_ref().filter(|_| is_port || !ports_alone) else { continue };
            let place = store.net(site, id as u32);
            let is_register = matches!(net.kind, NetKind::Register { .. });
            let (count, layout) = net.array.map_or((1, Layout::Packed), |array| array);
            match layout {
                Layout::Packed => self.net(name.clone(), is_register, place, (0, count)),
                Layout::Unpacked if count <= DEEPEST => {
                    (0..count).for_each(|k| self.net(format!("{name}[{k}]"), is_register, place, (k, 1)));
                }
                Layout::Unpacked => {}
            }
        }
    }

    /// The contents of a scope of a site, for the turns of the loops around it.
    fn inside(&mut self, site: SiteId, scope: ScopeId) {
        let (sites, store) = (self.sites, self.store);
        let ir = sites.ir(site);
        let is_twin = sites.is_twin(site);
        self.nets(site, scope, is_twin);
        if is_twin {
            return;
        }
        for (id, memory) in ir.memories.iter().enumerate().filter(|(_, m)| m.scope == scope && m.depth <= DEEPEST) {
            let place = store.memory_place(site, id as u32);
            (0..memory.depth).for_each(|k| self.net(format!("{}[{k}]", memory.name), true, place, (k, 1)));
        }
        for item in &ir.scopes[scope as usize].items {
            match item {
                Item::Instance(instance) => {
                    if let Some(&child) = sites.at(site).children.get(instance) {
                        self.scope_of(ir.instances[*instance as usize].name.clone(), child);
                    }
                }
                Item::Loop(inner) if !in_formal(ir, *inner) => self.turns_of(site, *inner),
                _ => {}
            }
        }
    }

    fn turns_of(&mut self, site: SiteId, scope: ScopeId) {
        let ScopeKind::Loop { name, count, .. } = &self.sites.ir(site).scopes[scope as usize].kind else { return };
        let nest = self.sites.nest(site, scope);
        let Some(&own) = nest.last() else { return };
        let mut open = 0;
        for turn in 0..*count {
            // A long loop is two, one inside of the other.
            for label in labels(name, *count, turn) {
                match label {
                    LoopLabel::Begin(label) => {
                        open += 1;
                        self.found.push(Observed::Scope(label));
                    }
                    LoopLabel::End => {
                        open -= 1;
                        self.found.push(Observed::End);
                    }
                }
            }
            self.turns.push((own, turn));
            self.inside(site, scope);
            self.turns.pop();
        }
        self.found.extend((0..open).map(|_| Observed::End));
    }

    /// Elements of a net from `elements.0` on, as one net of the waveform.
    fn net(&mut self, name: String, is_register: bool, place: &Place, elements: (u32, u32)) {
        let storage = self.store.array(place.array);
        let ty = storage.ty;
        if u64::from(ty.width) * u64::from(elements.1) > WIDEST {
            return;
        }
        // A place has the weights of the outermost loops that are open.
        let weights = place.weights();
        let turns = weights.zip(&self.turns).map(|(weight, (_, turn))| weight * i64::from(*turn));
        let first = place.offset() + turns.sum::<i64>() + place.stride * i64::from(elements.0);
        let bytes = if is_wide(ty) { 8 * words(ty) } else { stored_bytes(ty) };
        let value = ObservedValue::Elements {
            array: place.array,
            first: first as u64,
            stride: place.stride,
            count: elements.1,
            width: ty.width,
            bytes,
        };
        self.found.push(Observed::Net(ObservedNet { name, width: ty.width * elements.1, is_register, value }));
    }
}
