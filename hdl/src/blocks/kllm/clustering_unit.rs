//! Clustering unit: fp16 values become indices of their nearest centroids.
//!
//! KLLM sections III-A and IV-A. The index of a value is the number of midpoints below it, found by binary search. The
//! first of n levels looks at one midpoint of 2^n - 1, the second at one of two candidates, and so on. The token's
//! scale has been multiplied into the midpoints, so that no value is divided.
//!
//! Values are compared as integer keys. A midpoint of -0 becomes +0, and a NaN gets the smallest key of all. So the
//! result is IEEE 754's "number of midpoints less than the value": index 0 for a NaN. A midpoint that is a NaN gets the
//! largest key and is below nothing, like an infinite one. Such midpoints fill the table when there are fewer
//! centroids.

mod properties;

use crate::blocks::common::NumberFormat;
use crate::lang::{
    About, Array, Block, CatalogBlock, FieldArray, In, InStream, Module, OutStream, Proof, Signal, Timing, bit, bundle,
    cat, choices, mux, parameters, ports, uint,
};

choices! {
    /// Where the search chooses.
    pub enum Search {
        /// A comparator a level, which compares with the midpoint that the levels before it chose.
        Binary,
        /// A comparator a midpoint; the levels choose among their results.
        Parallel,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct ClusteringUnit {
        /// Width of an index in bits, n.
        bits: u32 = 4, in 1..=6, tag "b";
        /// Values a cycle.
        lanes: u32 = 16, in 1..=64, tag "l";
        /// A comparator a level, or one a midpoint.
        search: Search = Search::Binary, tag "";
        /// Registers after every level; otherwise after the last one only.
        pipelined: bool = true, tag "pipelined";
    }
}

bundle! {
    /// Values of several lanes.
    pub struct ClusterValues(lanes: u32) {
        /// fp16 values.
        value: FieldArray = uint(16).array(*lanes),
    }
}

bundle! {
    /// What the values became.
    pub struct ClusterIndices(p: ClusteringUnit) {
        /// Their indices.
        index: FieldArray = uint(p.bits).array(p.lanes),
    }
}

ports! {
    /// Ports of [`ClusteringUnit`].
    pub struct ClusteringUnitPorts(p: &ClusteringUnit) {
        /// Drops all values inside at the coming edge; nothing is taken in this cycle, and what leaves in it has left.
        /// The midpoints stay.
        clear_i: In = bit(),
        /// A midpoint is written at this edge. Values that are inside may still be found with the old one.
        write_i: In = bit(),
        /// Its number: midpoint i lies between centroids i and i + 1. All ones does not exist and is ignored.
        write_index_i: In = uint(p.bits),
        /// The midpoint times the scale, fp16; ascending with the number.
        midpoint_i: In = uint(16),
        /// Values are offered.
        values: InStream<ClusterValues> = p.lanes,
        /// The indices of the oldest values inside are there.
        indices: OutStream<ClusterIndices> = p.clone(),
    }
}

const FORMAT: NumberFormat = NumberFormat::FP16;

impl ClusteringUnit {
    /// Levels between registers: ranks from a value to its index.
    fn ranks(&self) -> u32 {
        if self.pipelined { self.bits } else { 1 }
    }
}

/// Key of a value, in the order of the numbers; the smallest one for a NaN.
fn value_key(value: Signal) -> Signal {
    mux(FORMAT.is_nan(value), uint(16).lit(0), FORMAT.to_key(value))
}

/// Key of a midpoint. -0 gets the key of +0, so that no midpoint lies between the two; a NaN gets the largest key.
fn midpoint_key(value: Signal) -> Signal {
    let key = mux(value.eq(0x8000), uint(16).lit(0x8000), FORMAT.to_key(value));
    mux(FORMAT.is_nan(value), uint(16).lit(0xffff), key)
}

impl Block for ClusteringUnit {
    type Ports = ClusteringUnitPorts;
    const ABOUT: About = About {
        name: "clustering_unit",
        summary: "index of the nearest centroid, by binary search over midpoints",
        contract: "index = number of midpoints less than the value: a value on a midpoint belongs to the lower\n\
            centroid. -0 = +0; a NaN gets index 0. Midpoints ascend; NaNs and infinities at the end stand for none.\n\
            In a table that does not ascend, the index names some centroid; a binary search gives the one it ends\n\
            at. A value that is inside at a write, or is taken at its edge, is found with the old midpoint or the\n\
            new one. A beat a cycle; the first comes out 1 cycle later, n with pipelined. Reset and clear_i drop\n\
            all values inside at any time and keep the midpoints; they are unknown until written.",
        reference: "KLLM, sections III-A and IV-A",
    };

    fn build(&self, m: &mut Module, io: &ClusteringUnitPorts) {
        let midpoints = self.table(m, io);
        let enable = m.net("enable", bit());
        let mut valid = io.values.valid;
        for rank in 1..=self.ranks() {
            let register = m.reg_init(&format!("valid_{rank}_q"), bit(), 0);
            register.next(mux(enable, valid, register.q) & !io.clear_i);
            valid = register.q;
        }
        m.connect(enable, !valid | io.indices.ready);
        m.connect(io.values.ready, enable & !io.clear_i);
        m.connect(io.indices.valid, valid);
        m.for_each("lanes", self.lanes, |m, lane| {
            let key = m.wire("key", value_key(io.values.value.at(lane)));
            let found = match self.search {
                Search::Binary => self.binary(m, midpoints, key, enable),
                Search::Parallel => self.parallel(m, midpoints, key, enable),
            };
            m.connect(io.indices.index.at(lane), found);
        });
        if !self.pipelined {
            self.properties(m, io, midpoints, enable);
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.ranks())
    }
}

impl ClusteringUnit {
    /// The keys of the midpoints. There is a place more than midpoints, so that any number of n bits names one.
    fn table(&self, m: &mut Module, io: &ClusteringUnitPorts) -> Array {
        let places = 1 << self.bits;
        let written = m.wire("written_key", midpoint_key(io.midpoint_i));
        let midpoints = m.nets("midpoint", uint(16), places);
        m.for_each("midpoints", places - 1, |m, i| {
            let midpoint = m.reg("midpoint_q", uint(16));
            midpoint.next_when(io.write_i & io.write_index_i.eq(i.value(self.bits)), written);
            m.connect(midpoints.at(i), midpoint.q);
        });
        m.connect(midpoints.at(places - 1), 0xffff);
        midpoints
    }

    /// The midpoint in the middle of the part that `level` levels have left: the bits found, 0, ones.
    fn middle(&self, midpoints: Array, level: u32, found: Option<Signal>) -> Signal {
        let below = self.bits - level - 1;
        let Some(found) = found else { return midpoints.at((1 << below) - 1) };
        let mut number = vec![found, bit().lit(0)];
        if below > 0 {
            number.push(uint(below).lit((1 << below) - 1));
        }
        midpoints.at(cat(&number))
    }

    /// Adds the bit that `level` found to the bits before it; with a register, if this level has one.
    fn keep(&self, m: &mut Module, level: u32, found: Option<Signal>, higher: Signal, enable: Signal) -> Signal {
        let found = found.map_or(higher, |found| cat(&[found, higher]));
        if !self.pipelined && level + 1 < self.bits {
            return m.wire(&format!("found_{level}"), found);
        }
        let register = m.reg(&format!("found_{level}_q"), found.ty());
        register.next_when(enable, found);
        register.q
    }

    fn binary(&self, m: &mut Module, midpoints: Array, key: Signal, enable: Signal) -> Signal {
        let (mut key, mut found) = (key, None);
        for level in 0..self.bits {
            let midpoint = m.wire(&format!("midpoint_{level}"), self.middle(midpoints, level, found));
            found = Some(self.keep(m, level, found, midpoint.lt(key), enable));
            if self.pipelined && level + 1 < self.bits {
                let register = m.reg(&format!("key_{level}_q"), key.ty());
                register.next_when(enable, key);
                key = register.q;
            }
        }
        found.unwrap_or_else(|| uint(self.bits).lit(0))
    }

    fn parallel(&self, m: &mut Module, midpoints: Array, key: Signal, enable: Signal) -> Signal {
        let all = midpoints.count();
        let mut below = m.grid("below", bit(), 1, all);
        m.for_each("compare", all - 1, |m, i| m.connect(below.at((0, i)), midpoints.at(i).lt(key)));
        m.connect(below.at((0, all - 1)), 0);
        let mut found = None;
        for level in 0..self.bits {
            // With registers, row p has the midpoints within part p; otherwise all midpoints stay in place.
            let middle = (1 << (self.bits - level - 1)) - 1;
            let higher = match found {
                Some(part) if self.pipelined => below.at((part, middle)),
                _ => self.middle(below.flat(), level, found),
            };
            let higher = m.wire(&format!("higher_{level}"), higher);
            found = Some(self.keep(m, level, found, higher, enable));
            if self.pipelined && level + 1 < self.bits {
                below = Self::halves(m, level, below, middle, enable);
            }
        }
        found.unwrap_or_else(|| uint(self.bits).lit(0))
    }

    /// Registers for later levels: of each part the halves beside its middle, as parts of their own.
    fn halves(m: &mut Module, level: u32, below: Array, middle: u32, enable: Signal) -> Array {
        let kept = m.grid(&format!("below_{level}"), bit(), 2 << level, middle);
        m.for_each(&format!("parts_{level}"), 1 << level, |m, part| {
            m.for_each(&format!("halves_{level}"), 2, |m, half| {
                m.for_each(&format!("below_{level}"), middle, |m, i| {
                    let register = m.reg(&format!("below_{level}_q"), bit());
                    register.next_when(enable, below.at((part, half * (middle + 1) + i)));
                    m.connect(kept.at((part * 2 + half, i)), register.q);
                });
            });
        });
        kept
    }
}

impl CatalogBlock for ClusteringUnit {
    fn configurations() -> Vec<Self> {
        use Search::{Binary, Parallel};
        let set = |bits, lanes, search, pipelined| Self { bits, lanes, search, pipelined };
        vec![
            set(1, 1, Binary, false),
            set(3, 2, Binary, false),
            set(4, 3, Parallel, false),
            set(3, 1, Parallel, true),
            set(6, 1, Binary, true),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |bits, search| Proof {
            block: Self { bits, lanes: 1, search, pipelined: false },
            depth: 4,
            cover_depth: 8,
            induction: true,
        };
        vec![prove(2, Search::Binary), prove(3, Search::Parallel)]
    }
}
