//! KV cache: keys and values of tokens of some heads in eDRAM, a token a row, refreshed by importance and by byte.
//!
//! Four groups of banks, {key, value} x {high, low bytes}, and a token has the same row in all of them. One score
//! memory says which rows hold a token and how important it is. Two refresh controllers follow it: one for the high
//! bytes of keys and values, one for the low bytes. Each has an interval for important tokens and one for the others
//! (2DRP).
//!
//! A write brings a token: key and value together, since its row becomes valid with it. A read takes the bytes that the
//! array is about to work on: high bytes, low bytes or both, of the key or of the value. The other controller may
//! refresh meanwhile.

use super::edram_bank::TIME_WIDTH;
use super::{Byte, ByteBanks, RefreshController, RefreshControllerPorts, ScoreMemory};
use crate::blocks::common::RamImplementation;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, In, InArray, InBundle, InOption, InStream, Module, Out, OutArray, Signal,
    Timing, bit, bundle, connect_all, index_width, parameters, ports, sint, uint,
};

/// The groups in the order of `cell_group_i`: keys, then values, of each the high bytes first.
const GROUPS: [(&str, Byte); 4] =
    [("key_high", Byte::Msb), ("key_low", Byte::Lsb), ("value_high", Byte::Msb), ("value_low", Byte::Lsb)];

parameters! {
    /// Elaboration parameters.
    pub struct KvCache {
        /// Banks of a group.
        banks: u32 = 8, in 1..=64, tag "b";
        /// Bytes of a row of one bank.
        lanes: u32 = 8, in 1..=512, tag "l";
        /// The refresh controllers; their rows are the cache's rows, a token each.
        refresh: RefreshController = RefreshController::default();
        /// Heads, each with an equal part of the rows.
        heads: u32 = 1, in 1..=4096, note "a divisor of refresh.rows", tag "h";
        /// Width of a score in bits, unsigned.
        score_width: u32 = 8, in 1..=32, tag "s";
        /// Width of the amount added to a score in bits, signed.
        amount_width: u32 = 9, in 2..=33, tag "a";
        /// Where the bits are, see `ram`.
        implementation: RamImplementation = RamImplementation::Inferred;
        /// Bits decay in simulation.
        retention_model: bool = false, tag "retention";
        /// Tokens may be dropped, and come again.
        transient: bool = false, tag "transient", named "when set";
        /// Tokens may come with a score.
        restores: bool = false, tag "restores", named "when set";
    }
    rules = |p, rules| rules.part("heads", &p.scores());
}

impl KvCache {
    /// The scores; both refresh controllers look at rows.
    #[must_use]
    pub fn scores(&self) -> ScoreMemory {
        ScoreMemory {
            rows: self.refresh.rows,
            score_width: self.score_width,
            amount_width: self.amount_width,
            heads: self.heads,
            lookups: 2,
            implementation: self.implementation,
            transient: self.transient,
            restores: self.restores,
        }
    }

    /// The banks of one group.
    #[must_use]
    pub fn group(&self, byte: Byte) -> ByteBanks {
        ByteBanks {
            byte,
            banks: self.banks,
            lanes: self.lanes,
            rows: self.refresh.rows,
            implementation: self.implementation,
            retention_model: self.retention_model,
        }
    }

    /// Elements of a vector.
    #[must_use]
    pub fn elements(&self) -> u32 {
        self.banks * self.lanes
    }
}

bundle! {
    /// An access.
    pub struct KvAccess(p: KvCache) {
        /// Write a new token; otherwise read.
        write: Field = bit(),
        /// Read the value, not the key.
        value: Field = bit(),
        /// Read high bytes.
        high: Field = bit(),
        /// Read low bytes.
        low: Field = bit(),
        /// Row of the token.
        row: Field = p.refresh.row(),
    }
}

bundle! {
    /// How often rows are refreshed, in cycles.
    pub struct Intervals(width: u32) {
        /// High bytes of rows with high scores.
        high_msb: Field = uint(*width),
        /// Low bytes of rows with high scores.
        high_lsb: Field = uint(*width),
        /// High bytes of rows with low scores.
        low_msb: Field = uint(*width),
        /// Low bytes of rows with low scores.
        low_lsb: Field = uint(*width),
    }
}

ports! {
    /// Ports of [`KvCache`].
    pub struct KvCachePorts(p: &KvCache) {
        /// High for `refresh.rows` cycles after a reset: rows are emptied, accesses wait, and other requests about
        /// tokens and scores are lost.
        busy_o: Out = bit(),
        /// An access. May be taken back while it waits; how long it waits, see refresh_controller.
        access: InStream<KvAccess> = p.clone(),
        /// The token that is written is in its row already, and keeps its score. A token that was dropped is still not
        /// refreshed: it is there for as long as its cells hold.
        keep_i: InOption = bit().when(p.transient),
        /// Score of the new token. If that is not 0, `score_row_i` named a row of the same head in the cycle before.
        new_score_i: InOption = uint(p.score_width).when(p.restores),
        /// Key of a new token.
        key_i: InArray = uint(16).array(p.elements()),
        /// Value of a new token.
        value_i: InArray = uint(16).array(p.elements()),
        /// A read was made in the cycle before: `data_o` holds its bytes in this cycle. Never held back.
        data_valid_o: Out = bit(),
        /// With data_valid_o: the bytes asked for, in their places, the others 0. Unknown for a row without a token.
        data_o: OutArray = uint(16).array(p.elements()),
        /// The token in row `evict_row_i` is gone. Lost in a cycle in which a new one is written.
        evict_valid_i: In = bit(),
        /// Row of the token that goes.
        evict_row_i: In = p.refresh.row(),
        /// Add to the score of the row that `score_row_i` named in the cycle before. Lost in a cycle with a write or an
        /// eviction.
        update_valid_i: In = bit(),
        /// The amount to add.
        update_amount_i: In = sint(p.amount_width),
        /// The row that `score_row_i` named in the cycle before is not refreshed any more, until a new token comes to
        /// it; its token keeps the score. Lost in a cycle with a new token or an eviction; comes before an update.
        drop_valid_i: InOption = bit().when(p.transient),
        /// The step of a head ends. Its scores age if a score of any head saturated since the last end of a step.
        /// Between two ageings of a head each of its tokens is updated or new, see score_memory.
        step_i: In = bit(),
        /// Which head.
        step_head_i: InOption = uint(index_width(u64::from(p.heads))).when(p.heads > 1),
        /// Lowest high score.
        threshold_i: In = uint(p.score_width),
        /// Row whose score is read, in each cycle.
        score_row_i: In = p.refresh.row(),
        /// Score of the row of the cycle before, as it is in this cycle; of no meaning without a token.
        score_o: Out = uint(p.score_width),
        /// Take new refresh intervals, from the next cycle on.
        config_valid_i: In = bit(),
        /// The intervals.
        config: InBundle<Intervals> = p.refresh.interval_width,
        /// One of the last intervals offered was too short (below 2 x rows), and its controller took none. Valid from
        /// the cycle after an offer to the next one; low after reset.
        config_refused_o: Out = bit(),
        /// Banks of high bytes, and of low bytes, read row `refresh_row_o` for a refresh.
        refresh_read_o: OutArray = bit().array(2),
        /// They write it back.
        refresh_write_o: OutArray = bit().array(2),
        /// Row of the refresh; of no meaning without one.
        refresh_row_o: OutArray = p.refresh.row().array(2),
        /// An access waits for a refresh in this cycle.
        stalls_o: Out = bit(),
        /// Retention model: set the time of a cell, of the group `cell_group_i`.
        cell_write_i: InOption = bit().when(p.retention_model),
        /// Group of the cell: 0 high bytes of keys, 1 low bytes of keys, 2 high bytes of values, 3 low bytes of values.
        cell_group_i: InOption = uint(2).when(p.retention_model),
        /// Bank of the cell.
        cell_bank_i: InOption = uint(index_width(u64::from(p.banks))).when(p.retention_model),
        /// Row of the cell.
        cell_row_i: InOption = p.refresh.row().when(p.retention_model),
        /// Bit of the cell.
        cell_bit_i: InOption = uint(index_width(u64::from(8 * p.lanes))).when(p.retention_model),
        /// Cycles for which it holds its bit.
        cell_time_i: InOption = uint(TIME_WIDTH).when(p.retention_model),
    }
}

impl Block for KvCache {
    type Ports = KvCachePorts;
    const ABOUT: About = About {
        name: "kv_cache",
        summary: "keys and values of heads in eDRAM, with scores, and refresh by importance and byte",
        contract: "A write (valid and ready) puts key_i and value_i into access_row_i. The row is valid then, with\n\
            score 0 or new_score_i unless keep_i is high. A read returns the bytes asked for one cycle later, for\n\
            one cycle. Scores: see score_memory, with write = set and evict = clear. Refresh: see\n\
            refresh_controller, of the high bytes and of the low bytes by themselves, both by the same scores. With\n\
            a refresh.patience below 3 an access that needs both bytes may wait for ever where rounds of refreshes\n\
            take longer than both intervals. Reset, at any time: all tokens are forgotten, a read or a refresh under\n\
            way is given up, and all intervals are refresh.interval again. For refresh.rows cycles the cache only\n\
            empties rows. An eviction during a refresh of its row ends the refresh.",
        reference: "Kelle, section 5.1 and figure 10",
    };

    fn build(&self, m: &mut Module, io: &KvCachePorts) {
        let scores = m.instance("u_scores", self.scores());
        let [high, low] = ["u_refresh_high", "u_refresh_low"].map(|name| m.instance(name, self.refresh.clone()));

        m.comment("An access needs the banks of the bytes that it touches, and is made when it has all of them.");
        let needs_high = m.wire("needs_high", io.access.write | io.access.high);
        let needs_low = m.wire("needs_low", io.access.write | io.access.low);
        let high_free = m.wire("high_free", !needs_high | high.access_ready_o);
        let low_free = m.wire("low_free", !needs_low | low.access_ready_o);
        m.connect(io.busy_o, scores.busy_o);
        let free = m.wire("free", !scores.busy_o);
        m.connect(io.access.ready, high_free & low_free & free);
        let access = m.wire("access", io.access.fire());
        let read = m.wire("read", access & !io.access.write);
        let write = m.wire("write", access & io.access.write);
        m.connect(io.stalls_o, io.access.valid & !io.access.ready);
        for (k, refresh, needed, other_free) in [(0, &high, needs_high, low_free), (1, &low, needs_low, high_free)] {
            m.connect(refresh.access_valid_i, io.access.valid & needed & other_free & free);
            m.connect(refresh.access_write_i, io.access.write);
            m.connect(refresh.access_row_i, io.access.row);
            m.connect(scores.look_row_i.at(k), refresh.look_row_o);
            m.connect(refresh.valid_i, scores.valid_o.at(k));
            m.connect(refresh.high_i, scores.high_o.at(k));
            m.connect(refresh.promoted_valid_i, scores.promoted_valid_o);
            m.connect(refresh.promoted_row_i, scores.promoted_row_o);
            m.connect(refresh.config_valid_i, io.config_valid_i);
            m.unused(refresh.refreshes_o);
            m.unused(refresh.stalls_o);
        }
        m.connect(high.config_high_i, io.config.high_msb);
        m.connect(high.config_low_i, io.config.low_msb);
        m.connect(low.config_high_i, io.config.high_lsb);
        m.connect(low.config_low_i, io.config.low_lsb);
        m.connect(io.config_refused_o, high.config_refused_o | low.config_refused_o);
        for (k, refresh) in [&high, &low].into_iter().enumerate() {
            m.connect(io.refresh_read_o.at(k as u32), refresh.refresh_read_o);
            m.connect(io.refresh_write_o.at(k as u32), refresh.refresh_write_o);
            m.connect(io.refresh_row_o.at(k as u32), refresh.refresh_row_o);
        }

        connect_all!(m, scores, io, [update_valid_i, update_amount_i, step_i, threshold_i]);
        m.connect_pairs([
            (scores.set_valid_i, io.keep_i.map_or(write, |keep| write & !keep)),
            (scores.set_row_i, io.access.row),
            (scores.clear_valid_i, io.evict_valid_i),
            (scores.clear_row_i, io.evict_row_i),
            (scores.read_row_i, io.score_row_i),
            (io.score_o, scores.score_o),
        ]);
        connect_all!(m, scores, io, [step_head_i, drop_valid_i]);
        m.connect_option(scores.set_score_i, io.new_score_i);

        let data_valid = m.reg_init("data_valid_q", bit(), 0);
        data_valid.next(read);
        m.connect(io.data_valid_o, data_valid.q);
        self.groups(m, io, [read, write], [&high, &low]);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1).part("refresh", self.refresh.timing())
    }
}

impl KvCache {
    fn groups(
        &self,
        m: &mut Module,
        io: &KvCachePorts,
        [read, write]: [Signal; 2],
        refresh: [&RefreshControllerPorts; 2],
    ) {
        let mut parts: Vec<(Signal, Array)> = Vec::new();
        for (number, (name, byte)) in (0u32..).zip(GROUPS) {
            let u = m.instance(&format!("u_{name}"), self.group(byte));
            let (value, low) = (number >= 2, byte == Byte::Lsb);
            let refresh = refresh[usize::from(low)];
            let mine = if value { io.access.value } else { !io.access.value };
            let asked =
                m.wire(&format!("reads_{name}"), read & mine & if low { io.access.low } else { io.access.high });
            m.connect_pairs([
                (u.read_i, asked),
                (u.write_i, write),
                (u.row_i, io.access.row),
                (u.refresh_read_i, refresh.refresh_read_o),
                (u.refresh_write_i, refresh.refresh_write_o),
                (u.refresh_row_i, refresh.refresh_row_o),
            ]);
            m.connect_each(&format!("{name}_in"), u.data_i, if value { io.value_i } else { io.key_i });
            let shows = m.reg_init(&format!("shows_{name}_q"), bit(), 0);
            shows.next(asked);
            parts.push((shows.q, u.data_o));
            if let (Some(to), Some(from), Some(at)) = (u.cell_write_i, io.cell_write_i, io.cell_group_i) {
                m.connect(to, from & at.eq(number));
            }
            connect_all!(m, u, io, [cell_bank_i, cell_row_i, cell_bit_i, cell_time_i]);
        }
        m.comment("An element is the OR of the high and the low banks.");
        m.for_each("element", self.elements(), |m, i| {
            // The groups of high bytes have zeros in the low ones, and the other way round.
            let shown = |k: usize| parts[k].1.at(i) & parts[k].0.repeat(16);
            m.connect(io.data_o.at(i), shown(0) | shown(1) | shown(2) | shown(3));
        });
    }
}

impl CatalogBlock for KvCache {
    fn configurations() -> Vec<Self> {
        let refresh = |rows, interval_width, interval, patience, tick_log2| RefreshController {
            rows,
            interval_width,
            interval,
            patience,
            tick_log2,
            ..RefreshController::default()
        };
        let small = Self {
            banks: 1,
            lanes: 1,
            refresh: refresh(2, 5, 4, 0, 0),
            score_width: 2,
            amount_width: 3,
            ..Self::default()
        };
        let decaying = Self {
            banks: 2,
            lanes: 3,
            refresh: refresh(15, 12, 300, 20, 3),
            heads: 3,
            retention_model: true,
            restores: true,
            ..Self::default()
        };
        let transient = Self { banks: 1, lanes: 2, transient: true, ..decaying.clone() };
        vec![small, decaying, transient]
    }
}
