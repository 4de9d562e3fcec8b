//! Index distribution counter: how often each of 2^(nA + nB) indices occurs in a column, 16 indices a cycle.
//!
//! KLLM section IV-B. A beat's indices are decoded one-hot, by halves: input i is in bin (r, c) when its activation
//! part is r and its weight part is c. The ones of a bin are added to the bin's register in the same cycle.
//!
//! **Columns follow each other without a dead cycle.** When a column is complete, all bins are copied to a snapshot,
//! from which they are drained one a cycle, while the registers start again from zero with the next beat.
//!
//! **Integers (mode 2) use the same counters.** The weighted sum of a bin, sum n_i, is sum_j 2^j x (inputs whose bit j
//! is set). Column j of row r counts bit j, and the drain puts the columns of a row together. Only the drain's adders
//! are there for this mode alone.
//!
//! **Short registers** ([`BinStyle::OverflowLog`]). All counts of a column add up to at most K. So few bins can be
//! large: with s-bit registers there are at most K / 2^s overflows in a column. A register has one more bit that says
//! "overflowed". One such bin a cycle is found, its bit is cleared and its number is entered in a log; the drain counts
//! the log's entries. With 2^(2s) >= K x inputs no bin can overflow again before its turn: at most K / 2^s wait, and a
//! bin needs 2^s / inputs cycles for its next overflow. K = 4096 with 16 inputs takes s = 8: 9 bits a bin instead of
//! 13, and 16 entries.

mod bins;
mod drain;
mod properties;

use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, InStream, Module, OutStream, Proof, Signal, Timing, bit,
    bits_for, bundle, choices, parameters, ports, uint,
};

choices! {
    /// How a bin's count is kept.
    pub enum BinStyle {
        /// A register per bin that holds any count.
        FullWidth,
        /// Short registers, and a log of their overflows.
        OverflowLog,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct IndexDistributionCounter {
        /// Width of an activation index in bits, nA.
        a_bits: u32 = 4, in 1..=6, tag "a";
        /// Width of a weight index or integer in bits, nB.
        b_bits: u32 = 4, in 1..=6, tag "b";
        /// Indices a cycle.
        inputs: u32 = 16, in 1..=64, tag "n";
        /// Largest number of present inputs of a column.
        k: u32 = 4096, in 1..=1 << 20, tag "k";
        /// A wide register a bin, or short ones and a log of their overflows.
        bins: BinStyle = BinStyle::OverflowLog;
        /// A column is drained while the next one is counted.
        ping_pong: bool = true;
    }
}

bundle! {
    /// Indices of several inputs.
    pub struct IndexBeat(p: IndexDistributionCounter) {
        /// Concatenated indices: the activation's in the high bits, the weight's in the low ones.
        index: FieldArray = uint(p.a_bits + p.b_bits).array(p.inputs),
        /// The input counts.
        present: FieldArray = bit().array(p.inputs),
        /// The low nB bits are integers to be added (mode 2); counts with the first beat of a column.
        integer: Field = bit(),
        /// Only the bins of the lower half of the activation indices are drained; counts with the last beat.
        half: Field = bit(),
        /// The column ends with this beat.
        last: Field = bit(),
    }
}

bundle! {
    /// A bin of the distribution.
    pub struct BinCount(p: IndexDistributionCounter) {
        /// Number of the bin: the index, or the activation index of an integer column.
        bin: Field = uint(p.a_bits + p.b_bits),
        /// How many present inputs have the index; of an integer column the sum of their integers.
        count: Field = uint(p.count_width()),
        /// The column had more than k present inputs, and its counts are wrong; the same in all its bins.
        error: Field = bit(),
        /// The column ends with this bin.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`IndexDistributionCounter`].
    pub struct IndexDistributionCounterPorts(p: &IndexDistributionCounter) {
        /// Indices are offered.
        indices: InStream<IndexBeat> = p.clone(),
        /// A bin of a complete column is there, in bin order.
        bins: OutStream<BinCount> = p.clone(),
    }
}

/// The column that is being counted.
struct Counting {
    /// Counts, without what the log holds: grid of (row, bit), with a bit per bin of the row.
    counts: Array,
    /// Overflows so far.
    log: Option<Log>,
    /// Adds integers.
    integer: Signal,
    /// Only the lower half is wanted.
    half: Signal,
    /// More than k inputs were present.
    error: Signal,
}

/// Numbers of the bins that overflowed, and which entries hold one.
#[derive(Clone, Copy)]
struct Log {
    bins: Array,
    used: Array,
}

/// What moves columns along.
struct Control {
    /// A beat is taken.
    fire: Signal,
    /// It is not the first of its column.
    open: Signal,
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

impl Block for IndexDistributionCounter {
    type Ports = IndexDistributionCounterPorts;
    const ABOUT: About = About {
        name: "index_distribution_counter",
        summary: "distribution of the concatenated indices of a column",
        contract: "For each column (beats up to one with last) bins delivers, in order, how many present inputs\n\
            have each index. With integer there is a bin for each activation index: the sum of the integers in the\n\
            low bits of the inputs that have it. With half only the bins of the lower half of the activation\n\
            indices come. Counts are exact up to k present inputs. A column with more delivers wrong counts with\n\
            error in each bin, and harms no other column. First bin: two edges after the last beat (one without\n\
            ping-pong). With ping-pong and without pauses, a column every max(beats, bins) cycles. Reset drops all\n\
            columns that are inside at any time; the next beat begins a column.",
        reference: "KLLM, section IV-B",
    };

    fn build(&self, m: &mut Module, io: &IndexDistributionCounterPorts) {
        let complete = m.reg_init("complete_q", bit(), 0);
        let started = m.reg_init("started_q", bit(), 0);
        let swap = m.net("swap", bit());
        let fire = m.wire("fire", io.indices.fire());
        complete.next((fire & io.indices.last) | (complete.q & !swap));
        // With ping-pong the registers are free for the next column in the cycle in which the snapshot takes this one;
        // without, in the cycle after its last bin.
        let clear = if self.ping_pong { !started.q | swap } else { !started.q };
        started.next(if self.ping_pong { bit().lit(1) } else { !swap });
        m.connect(io.indices.ready, if self.ping_pong { !complete.q | swap } else { !complete.q });
        let clear = m.wire("clear", clear);
        let open = m.reg_init("open_q", bit(), 0);
        open.next_when(fire, !io.indices.last);
        let control = Control { fire, open: open.q, complete: complete.q, swap, clear };
        let counting = self.counting(m, io, &control);
        self.drain(m, io, &control, &counting);
        self.properties(m, io, &control, &counting);
    }

    fn timing(&self) -> Timing {
        let single = u64::from(!self.ping_pong);
        Timing::pipeline(2 - single)
            .phase("drain", self.drained_bins(false, false), "bins of a column, one a cycle")
            .phase("integer_drain", self.drained_bins(true, false), "bins of an integer column, one a cycle")
    }
}

impl CatalogBlock for IndexDistributionCounter {
    fn configurations() -> Vec<Self> {
        use BinStyle::{FullWidth, OverflowLog};
        let set = |a_bits, b_bits, inputs, k, bins, ping_pong| Self { a_bits, b_bits, inputs, k, bins, ping_pong };
        vec![
            set(1, 1, 1, 1, FullWidth, true),
            set(1, 2, 3, 100, OverflowLog, true),
            set(2, 3, 16, 1000, OverflowLog, true),
            set(3, 2, 5, 300, OverflowLog, false),
            set(2, 2, 4, 64, FullWidth, false),
            set(3, 4, 16, 4096, FullWidth, true),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        use BinStyle::{FullWidth, OverflowLog};
        let prove = |inputs, k, bins, ping_pong, induction| Proof {
            block: Self { a_bits: 1, b_bits: 1, inputs, k, bins, ping_pong },
            depth: 6,
            cover_depth: 12,
            induction,
        };
        vec![
            prove(2, 3, FullWidth, true, true),
            prove(2, 3, FullWidth, false, true),
            // Registers of 2 + 1 bits, two entries; both bins of a row overflow in the same cycle. `--induction` proves
            // it for all time too, in a minute of computing.
            prove(2, 8, OverflowLog, true, false),
        ]
    }
}
