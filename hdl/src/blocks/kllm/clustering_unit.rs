//! Clustering unit: fp16 values become indices of their nearest centroids.
//!
//! KLLM sections III-A and IV-A. The index of a value is the number of midpoints below it, found by binary search: one
//! midpoint of 2^n - 1 in the first level, one of two candidates' next ... n levels. The token's scale has been multiplied
//! into the midpoints, so that no value is divided.
//!
//! Values are compared as integer keys. A midpoint of -0 becomes +0, and a NaN the smallest key of all, so that the result
//! is IEEE 754's "number of midpoints less than the value": index 0 for a NaN. A midpoint that is a NaN gets the largest
//! key and is below nothing, like an infinite one: this fills the table for fewer centroids.

use serde::{Deserialize, Serialize};

use crate::blocks::common::NumberFormat;
use crate::blocks::common::number_format::count_ones;
use crate::lang::{
    About, Block, CatalogBlock, In, Module, OldInStream, OldOutStream, OldParameter, ParamError, Proof, Signal, bit,
    cat, ensure_param, mux, old_parameters, ports, stream, uint,
};

/// Where the search chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Search {
    /// A comparator a level, which compares with the midpoint that the levels before it chose.
    Binary,
    /// A comparator a midpoint; the levels choose among their results.
    Parallel,
}

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusteringUnit {
    /// Width of an index in bits, n.
    pub bits: u32,
    /// Values a cycle.
    pub lanes: u32,
    /// Where the search chooses.
    pub search: Search,
    /// Registers after every level; otherwise after the last one only.
    pub pipelined: bool,
}

ports! {
    /// Ports of [`ClusteringUnit`].
    pub struct ClusteringUnitPorts(p: &ClusteringUnit) {
        /// A midpoint is written. Not while values are inside.
        write_i: In = bit(),
        /// Its number: midpoint i lies between centroids i and i + 1. All ones does not exist and is ignored.
        write_index_i: In = uint(p.bits),
        /// The midpoint times the scale, fp16; ascending with the number.
        midpoint_i: In = uint(16),
        /// fp16 values.
        values: OldInStream = stream().array("value", uint(16).array(p.lanes)),
        /// Their indices.
        indices: OldOutStream = stream().array("index", uint(p.bits).array(p.lanes)),
    }
}

const FORMAT: NumberFormat = NumberFormat::FP16;

impl ClusteringUnit {
    /// Cycles from a value to its index.
    #[must_use]
    pub fn latency_cycles(&self) -> u32 {
        if self.pipelined { self.bits } else { 1 }
    }
}

/// Key of a value, in the order of the numbers; the smallest one for a NaN.
fn value_key(value: Signal) -> Signal {
    mux(FORMAT.is_nan(value), uint(16).lit(0), FORMAT.to_key(value))
}

/// Key of a midpoint: that of +0 for -0, so that no midpoint lies between the keys of the two; the largest for a NaN.
fn midpoint_key(value: Signal) -> Signal {
    let key = mux(value.eq(0x8000), uint(16).lit(0x8000), FORMAT.to_key(value));
    mux(FORMAT.is_nan(value), uint(16).lit(0xffff), key)
}

impl ClusteringUnit {
    /// The search finds the number of midpoints below the value, wherever they lie.
    fn properties(&self, m: &mut Module, io: &ClusteringUnitPorts, midpoints: &[Signal], enable: Signal) {
        m.formal(|m| {
            for (i, pair) in midpoints.windows(2).enumerate() {
                m.assume(&format!("ascends_{i}"), pair[0].le(pair[1]));
            }
            let value = io.values.array("value").at(0);
            let below: Vec<Signal> = midpoints.iter().map(|m| m.lt(value_key(value))).collect();
            let number = m.reg("number_below_q", uint(self.bits));
            number.next_when(enable, count_ones(&below));
            let index = io.indices.array("index").at(0);
            m.assert_always("index_is_the_number_below", !io.indices.valid | index.eq(number.q));
            let nan = m.reg("nan_q", bit());
            nan.next_when(enable, FORMAT.is_nan(value));
            m.assert_always("nan_gets_index_0", !(io.indices.valid & nan.q) | index.eq(0));
            m.cover("highest_index", io.indices.valid & index.all());
        });
    }
}

old_parameters!(ClusteringUnit);

impl Block for ClusteringUnit {
    type Ports = ClusteringUnitPorts;
    const ABOUT: About = About {
        name: "clustering_unit",
        summary: "index of the nearest centroid, by binary search over midpoints",
        contract: "index = number of midpoints less than the value: a value on a midpoint belongs to the lower centroid;\n\
            -0 = +0; a NaN gets index 0. Midpoints ascend; NaNs and infinities at the end stand for none.\n\
            A beat a cycle; the first comes out 1 cycle later, n with pipelined.",
        reference: "KLLM, sections III-A and IV-A",
    };

    fn module_name(&self) -> String {
        let search = if self.search == Search::Binary { "binary" } else { "parallel" };
        let pipelined = if self.pipelined { "_pipelined" } else { "" };
        format!("clustering_unit_b{}_l{}_{search}{pipelined}", self.bits, self.lanes)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("bits", self.bits, 1..=6)?;
        ensure_param("lanes", self.lanes, 1..=64)
    }

    fn build(&self, m: &mut Module, io: &ClusteringUnitPorts) {
        let n = self.bits;
        let written = m.wire("written_key", midpoint_key(io.midpoint_i));
        let midpoints: Vec<Signal> = (0..(1_u32 << n) - 1)
            .map(|i| {
                let midpoint = m.reg(&format!("midpoint_{i}_q"), uint(16));
                midpoint.next_when(io.write_i & io.write_index_i.eq(i), written);
                midpoint.q
            })
            .collect();
        let ranks = self.latency_cycles();
        let enable = m.net("enable", bit());
        let mut valid = io.values.valid;
        for rank in 1..=ranks {
            let register = m.reg_init(&format!("valid_{rank}_q"), bit(), 0);
            register.next_when(enable, valid);
            valid = register.q;
        }
        m.connect(enable, !valid | io.indices.ready);
        m.connect(io.values.ready, enable);
        m.connect(io.indices.valid, valid);
        m.for_each("lanes", self.lanes, |m, lane| {
            let mut value = m.wire("key", value_key(io.values.array("value").at(lane)));
            let mut below: Vec<Signal> = match self.search {
                Search::Binary => vec![],
                Search::Parallel => midpoints.iter().map(|m| m.lt(value)).collect(),
            };
            let mut found: Option<Signal> = None;
            for level in 0..n {
                // Candidates of this level: the middles of the 2^level parts that are left.
                let places: Vec<usize> =
                    (0..1_usize << level).map(|part| (part << (n - level)) + (1 << (n - level - 1)) - 1).collect();
                let higher = match self.search {
                    Search::Binary => {
                        let candidates: Vec<Signal> = places.iter().map(|&p| midpoints[p]).collect();
                        let midpoint = choose(m, &format!("midpoint_{level}"), found, &candidates);
                        midpoint.lt(value)
                    }
                    Search::Parallel => {
                        let candidates: Vec<Signal> = places.iter().map(|&p| below[p]).collect();
                        choose(m, &format!("below_{level}"), found, &candidates)
                    }
                };
                let mut prefix = found.map_or(higher, |found| cat(&[found, higher]));
                let last = level + 1 == n;
                if self.pipelined || last {
                    let register = m.reg(&format!("found_{level}_q"), prefix.ty());
                    register.next_when(enable, prefix);
                    prefix = register.q;
                } else {
                    prefix = m.wire(&format!("found_{level}"), prefix);
                }
                found = Some(prefix);
                if self.pipelined && !last {
                    match self.search {
                        Search::Binary => {
                            let register = m.reg(&format!("key_{level}_q"), value.ty());
                            register.next_when(enable, value);
                            value = register.q;
                        }
                        // Only what later levels look at.
                        Search::Parallel => {
                            for (i, b) in below.iter_mut().enumerate() {
                                if (i as u64 + 1).trailing_zeros() < n - level - 1 {
                                    let register = m.reg(&format!("below_{level}_{i}_q"), bit());
                                    register.next_when(enable, *b);
                                    *b = register.q;
                                }
                            }
                        }
                    }
                }
            }
            if let Some(found) = found {
                m.connect(io.indices.array("index").at(lane), found);
            }
        });
        if !self.pipelined {
            self.properties(m, io, &midpoints, enable);
        }
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("value to index".into(), self.latency_cycles().into())]
    }
}

/// The candidate that the bits found so far point to.
fn choose(m: &mut Module, name: &str, found: Option<Signal>, candidates: &[Signal]) -> Signal {
    match found {
        None => candidates[0],
        Some(found) => m.lookup(name, found, candidates),
    }
}

impl Default for ClusteringUnit {
    fn default() -> Self {
        Self { bits: 4, lanes: 16, search: Search::Binary, pipelined: true }
    }
}

impl CatalogBlock for ClusteringUnit {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "bits", allowed: "1 to 6", meaning: "width of an index, bits" },
        OldParameter { name: "lanes", allowed: "1 to 64", meaning: "values a cycle" },
        OldParameter {
            name: "search",
            allowed: "binary, parallel",
            meaning: "a comparator a level, or one a midpoint",
        },
        OldParameter { name: "pipelined", allowed: "true, false", meaning: "registers after every level" },
    ];

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
