//! Index distribution counter: how often each of 2^(nA + nB) indices occurs in a column, 16 indices a cycle.
//!
//! KLLM section IV-B. A beat's indices are decoded one-hot, by halves: input i is in bin (r, c) when its activation part
//! is r and its weight part is c. The ones of a bin are added to the bin's register in the same cycle.
//!
//! **Columns follow each other without a dead cycle.** When a column is complete, all bins are copied to a snapshot, from
//! which they are drained one a cycle, while the registers start again from zero with the next beat.
//!
//! **Integers (mode 2) use the same counters.** The weighted sum of a bin, sum n_i, is sum_j 2^j x (inputs whose bit j
//! is set): column j of row r counts bit j, and the drain puts the columns of a row together. No adder is there for this
//! mode alone but those of the drain.
//!
//! **Short registers** ([`BinStyle::OverflowLog`]). All counts of a column add up to at most K. So few bins can be large:
//! with s-bit registers there are at most K / 2^s overflows in a column. A register has one more bit that says "overflowed";
//! one such bin a cycle is found, its bit is cleared and its number is entered in a log, of which the drain counts the
//! entries. With 2^(2s) >= K x inputs no bin can overflow again before its turn: at most K / 2^s wait, and a bin needs
//! 2^s / inputs cycles for its next overflow. K = 4096 with 16 inputs takes s = 8: 9 bits a bin instead of 13, and 16
//! entries.

mod bins;
mod catalog;
mod drain;
mod properties;

use serde::{Deserialize, Serialize};

use crate::lang::{
    About, Array, Block, Module, OldInStream, OldOutStream, ParamError, Signal, bit, bits_for, ensure_param,
    old_parameters, ports, stream, uint,
};

/// How a bin's count is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BinStyle {
    /// A register per bin that holds any count.
    FullWidth,
    /// Short registers, and a log of their overflows.
    OverflowLog,
}

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexDistributionCounter {
    /// Width of an activation index in bits, nA.
    pub a_bits: u32,
    /// Width of a weight index or integer in bits, nB.
    pub b_bits: u32,
    /// Indices a cycle.
    pub inputs: u32,
    /// Largest number of present inputs of a column.
    pub k: u32,
    /// How counts are kept.
    pub bins: BinStyle,
    /// A column is drained while the next one is counted.
    pub ping_pong: bool,
}

ports! {
    /// Ports of [`IndexDistributionCounter`].
    pub struct IndexDistributionCounterPorts(p: &IndexDistributionCounter) {
        /// Concatenated indices. `present`: the input counts. `integer` (mode 2: the low nB bits are an integer to be
        /// added) is the same in all beats of a column. `half` counts with the last beat: only the lower half of the
        /// activation centroids is drained.
        indices: OldInStream = stream()
            .array("index", uint(p.a_bits + p.b_bits).array(p.inputs))
            .array("present", bit().array(p.inputs))
            .field("integer", bit())
            .field("half", bit())
            .field("last", bit()),
        /// The distribution, in bin order.
        bins: OldOutStream = stream()
            .field("bin", uint(p.a_bits + p.b_bits))
            .field("count", uint(p.count_width()))
            .field("last", bit()),
    }
}

/// The column that is being counted.
struct Counting {
    /// Counts, without what the log holds: grid of (row, bit), with a bit per bin of the row.
    counts: Array,
    /// Overflows so far: bins, and whether the entry holds one.
    log: Option<Log>,
    /// Adds integers.
    integer: Signal,
    /// Only the lower half is wanted.
    half: Signal,
}

/// Numbers of the bins that overflowed.
struct Log {
    bins: Vec<Signal>,
    used: Vec<Signal>,
}

/// What moves columns along.
struct Control {
    /// A beat is taken.
    fire: Signal,
    /// The column in the registers has had its last beat.
    complete: Signal,
    /// The registers' column goes to the snapshot; without ping-pong, its last bin leaves.
    swap: Signal,
    /// The registers start from zero in this cycle.
    clear: Signal,
}

impl IndexDistributionCounter {
    /// Rows of bins: activation centroids.
    #[must_use]
    pub fn rows(&self) -> u32 {
        1 << self.a_bits
    }

    /// Bins of a row: weight centroids.
    #[must_use]
    pub fn columns(&self) -> u32 {
        1 << self.b_bits
    }

    /// Width of a drained count: an integer column of K inputs reaches K x (2^nB - 1).
    #[must_use]
    pub fn count_width(&self) -> u32 {
        bits_for(u64::from(self.k) * ((1 << self.b_bits) - 1))
    }

    /// Bits of a bin that count; with a log one more says that the bin overflowed.
    fn short_bits(&self) -> u32 {
        // 2^(2s) >= K x inputs, and a beat overflows a bin at most once.
        let product = u64::from(self.k) * u64::from(self.inputs);
        let s = (1..32).find(|&s| 1_u64 << (2 * s) >= product).unwrap_or(32);
        s.max(bits_for(u64::from(self.inputs) - 1))
    }

    /// Entries of the log; 0 when there is none because the style says so or would save nothing.
    #[must_use]
    pub fn log_entries(&self) -> u32 {
        let saves = self.short_bits() + 1 < bits_for(u64::from(self.k));
        if self.bins == BinStyle::OverflowLog && saves { self.k >> self.short_bits() } else { 0 }
    }

    /// Width of a bin's register.
    #[must_use]
    pub fn bin_width(&self) -> u32 {
        if self.log_entries() > 0 { self.short_bits() + 1 } else { bits_for(u64::from(self.k)) }
    }

    /// Bins that a column delivers, one a cycle.
    #[must_use]
    pub fn drained_bins(&self, integer: bool, half: bool) -> u64 {
        let all = if integer { u64::from(self.rows()) } else { u64::from(self.rows() * self.columns()) };
        if half { all / 2 } else { all }
    }
}

old_parameters!(IndexDistributionCounter);

impl Block for IndexDistributionCounter {
    type Ports = IndexDistributionCounterPorts;
    const ABOUT: About = About {
        name: "index_distribution_counter",
        summary: "distribution of the concatenated indices of a column",
        contract: "For each column (beats up to one with last) bins delivers, in order, how many\n\
            present inputs have each index. With integer there is a bin for each activation\n\
            index: the sum of the integers in the low bits of the inputs that have it. With half\n\
            only the bins of the lower half of the activation indices come. A column has at most\n\
            k present inputs. First bin: two edges after the last beat (one without ping-pong).\n\
            With ping-pong and without pauses, a column every max(beats, bins) cycles.",
        reference: "KLLM, section IV-B",
    };

    fn module_name(&self) -> String {
        let style = if self.log_entries() > 0 { "log" } else { "full" };
        let ping_pong = if self.ping_pong { "" } else { "_single" };
        let (a, b, n, k) = (self.a_bits, self.b_bits, self.inputs, self.k);
        format!("index_distribution_counter_a{a}_b{b}_n{n}_k{k}_{style}{ping_pong}")
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("a_bits", self.a_bits, 1..=6)?;
        ensure_param("b_bits", self.b_bits, 1..=6)?;
        ensure_param("inputs", self.inputs, 1..=64)?;
        ensure_param("k", self.k, 1..=1 << 20)
    }

    fn build(&self, m: &mut Module, io: &IndexDistributionCounterPorts) {
        let complete = m.reg_init("complete_q", bit(), 0);
        let started = m.reg_init("started_q", bit(), 0);
        let swap = m.net("swap", bit());
        let fire = m.wire("fire", io.indices.fire());
        complete.next((fire & io.indices.field("last")) | (complete.q & !swap));
        // With ping-pong the registers are free for the next column in the cycle in which the snapshot takes this one;
        // without, in the cycle after its last bin.
        let clear = if self.ping_pong { !started.q | swap } else { !started.q };
        started.next(if self.ping_pong { bit().lit(1) } else { !swap });
        m.connect(io.indices.ready, if self.ping_pong { !complete.q | swap } else { !complete.q });
        let clear = m.wire("clear", clear);
        let control = Control { fire, complete: complete.q, swap, clear };
        let counting = self.counting(m, io, &control);
        self.drain(m, io, &control, &counting);
        self.properties(m, io, &control, &counting);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        let single = u64::from(!self.ping_pong);
        vec![
            ("last beat to first bin".into(), 2 - single),
            ("bins of a column".into(), self.drained_bins(false, false)),
            ("bins of an integer column".into(), self.drained_bins(true, false)),
        ]
    }
}
