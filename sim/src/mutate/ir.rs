//! Mutations of a design of the construction language: faults of its expressions, registers and ports.

use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use hdl::lang::Design as Elaborated;
use hdl::mutate::{Fault, FaultPlace, Kind};

use super::list::{Mutation, Mutations, Sample, Source};
use super::select::with_faults;
use crate::Design;
use crate::lint::open_boxes;

/// Finds the mutations of a design in the modules that are wanted by name, and chooses among them.
///
/// The share of a module in the sample grows with the root of its size, so small controllers do not drown in arrays.
///
/// Left out are clocks and resets, which the construction language does not name; modules from outside; and modules
/// with another module in their place in simulations.
#[must_use]
pub fn list_ir(design: &Elaborated, sample: Sample, wanted: impl Fn(&str) -> bool) -> Mutations {
    let places: Vec<Arc<FaultPlace>> =
        design.fault_places().into_iter().filter(|place| wanted(&place.module)).map(Arc::new).collect();
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    for place in &places {
        *sizes.entry(&place.module).or_default() += place.turns() * place.kinds().count() as u64;
    }
    let available = sizes.values().sum::<u64>() as usize;
    // Each mutation draws a number of its own, so that a new one does not shift the choice among the others. The first
    // ones stay, the last of them on top.
    let mut drawn: BinaryHeap<(u64, usize, u64, u32, Kind)> = BinaryHeap::new();
    for (at, place) in places.iter().enumerate() {
        let root = (sizes[place.module.as_str()] as f64).sqrt();
        let name = blake3::hash(format!("{} {} {}", sample.seed, place.module, place.key).as_bytes());
        let name = u64::from_le_bytes(name.as_bytes()[..8].try_into().unwrap_or_default());
        for turn in 0..place.turns() {
            for (bit, kind) in place.kinds() {
                let draw = mixed(name ^ mixed(turn << 32 | u64::from(bit) << 3 | kind as u64));
                // A number between 0 and 1, and the waiting time for an event of this rate.
                let share = ((draw >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                let wait = -share.ln() * root;
                if drawn.len() < sample.count || drawn.peek().is_some_and(|last| wait.to_bits() < last.0) {
                    drawn.push((wait.to_bits(), at, turn, bit, kind));
                    if drawn.len() > sample.count {
                        drawn.pop();
                    }
                }
            }
        }
    }
    let chosen = drawn.into_sorted_vec().into_iter();
    let chosen =
        chosen.map(|(_, at, turn, bit, kind)| mutation(Fault { place: Arc::clone(&places[at]), turn, bit, kind }));
    let chosen = chosen.collect();
    Mutations { design: open_boxes(&Design::from(design)), source: Source::Ir(design.clone()), available, chosen }
}

impl Mutations {
    /// The design with all mutations of the sample. The input [`SELECT`](super::SELECT) selects a mutation by its
    /// number, from 1. Only Yosys can change a netlist, so for a netlist this is the unchanged design.
    #[must_use]
    pub fn mutated(&self) -> Design {
        self.only(&(0..self.chosen.len()).collect::<Vec<_>>())
    }

    /// The design with only the mutations at these places of the sample.
    #[must_use]
    pub fn only(&self, indices: &[usize]) -> Design {
        match &self.source {
            Source::Ir(ir) => Design::from(&with_faults(ir, indices.iter().map(|&index| &self.chosen[index]))),
            Source::Netlist(_) => self.design.clone(),
        }
    }
}

/// Mixes a number: each bit of the result depends on all bits.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn mutation(fault: Fault) -> Mutation {
    let place = &fault.place;
    let turn = if place.turns() > 1 { format!(" turn {}", fault.turn) } else { String::new() };
    let mode = fault.kind.word();
    Mutation {
        module: place.module.clone(),
        cell: place.key.clone(),
        port: place.role.clone(),
        bit: fault.bit,
        mode: mode.to_owned(),
        net: Some(place.net.clone()),
        place: Some(place.source.clone()),
        text: Some(place.text.clone()),
        options: format!("{} {} {} {mode} {}{turn}", place.module, place.key, place.role, fault.bit),
        fault: Some(fault.clone()),
    }
}
