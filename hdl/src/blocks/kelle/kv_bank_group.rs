//! KV bank group: the eDRAM banks of one byte of the keys or of the values, with their refresh controller and scores.
//!
//! A cache has four groups: {key, value} x {MSB, LSB}. A token has the same row in all of them. A row holds one byte of
//! each element of the vector, spread over `banks` banks of `lanes` bytes. The port carries whole 16-bit elements. A
//! write keeps the byte of this group (split); a read returns it in its place with zeros in the other place. So the OR
//! of the MSB and the LSB group is the element (join).
//!
//! A write brings a new token: its row becomes valid, with score 0. Score updates move the row between the two refresh
//! classes. The controller refreshes underneath, and `access_ready_o` goes low only when a refresh can wait no longer.

use super::edram_bank::TIME_WIDTH;
use super::{Byte, ByteBanks, RefreshController, ScoreRegisterFile};
use crate::blocks::common::RamImplementation;
use crate::lang::{
    About, Block, CatalogBlock, In, InArray, InOption, Module, Out, OutArray, Timing, bit, connect_all, index_width,
    parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct KvBankGroup {
        /// Byte of the 16-bit elements that is stored.
        byte: Byte = Byte::Msb, tag "";
        /// Banks side by side.
        banks: u32 = 8, in 1..=64, tag "b";
        /// Bytes of a row of one bank.
        lanes: u32 = 8, in 1..=512, tag "l";
        /// The refresh controller inside; its rows are the group's rows, a token each.
        refresh: RefreshController = RefreshController::default();
        /// Width of a score in bits, unsigned.
        score_width: u32 = 4, in 1..=32, tag "s";
        /// Width of the amount added to a score in bits, signed.
        amount_width: u32 = 5, in 2..=33, tag "a";
        /// Where the bits are, see `ram`.
        implementation: RamImplementation = RamImplementation::Inferred;
        /// Bits decay in simulation.
        retention_model: bool = false, tag "retention";
    }
    rules = |p, rules| rules.part("refresh.rows", &p.scores());
}

ports! {
    /// Ports of [`KvBankGroup`].
    pub struct KvBankGroupPorts(p: &KvBankGroup) {
        /// An access. May be taken back while it waits.
        access_valid_i: In = bit(),
        /// The access is made; does not depend on `access_valid_i`. Low for at most 2 cycles in a row.
        access_ready_o: Out = bit(),
        /// Write a new token; otherwise read.
        access_write_i: In = bit(),
        /// Row of the token.
        access_row_i: In = p.refresh.row(),
        /// Elements of the new token.
        access_data_i: InArray = uint(16).array(p.elements()),
        /// A read was made in the cycle before: `data_o` holds the row in this cycle. Never held back.
        data_valid_o: Out = bit(),
        /// With `data_valid_o`: this group's byte of each element, the other byte 0. Unknown for a row without a token.
        data_o: OutArray = uint(16).array(p.elements()),
        /// The token in row `evict_row_i` is gone, unless a new one is written to the row in this cycle.
        evict_valid_i: In = bit(),
        /// Row of the token that goes.
        evict_row_i: In = p.refresh.row(),
        /// Add to the score of row `update_row_i`.
        update_valid_i: In = bit(),
        /// Row of the score.
        update_row_i: In = p.refresh.row(),
        /// The amount to add.
        update_amount_i: In = sint(p.amount_width),
        /// The step ends: scores age if one saturated.
        step_i: In = bit(),
        /// Lowest high score.
        threshold_i: In = uint(p.score_width),
        /// Row whose score is read.
        score_row_i: In = p.refresh.row(),
        /// Its score, in the same cycle; of no meaning without a token.
        score_o: Out = uint(p.score_width),
        /// Take new refresh intervals, from the next cycle on. Both are taken or none.
        config_valid_i: In = bit(),
        /// Interval of rows with high scores, in cycles.
        config_high_i: In = uint(p.refresh.interval_width),
        /// Interval of rows with low scores, in cycles.
        config_low_i: In = uint(p.refresh.interval_width),
        /// The last intervals offered were too short (below 2 x rows), and the ones before hold. Valid from the cycle
        /// after an offer to the next one; low after reset.
        config_refused_o: Out = bit(),
        /// The banks read row `refresh_row_o` for a refresh.
        refresh_read_o: Out = bit(),
        /// The banks write row `refresh_row_o` back.
        refresh_write_o: Out = bit(),
        /// Row of the refresh; of no meaning without one.
        refresh_row_o: Out = p.refresh.row(),
        /// Per row: it holds a token with a high score.
        high_o: OutArray = bit().array(p.refresh.rows),
        /// Refreshes completed since reset, see `refresh_controller`.
        refreshes_o: Out = uint(p.refresh.counter_width),
        /// Cycles since reset in which an access had to wait, likewise.
        stalls_o: Out = uint(p.refresh.counter_width),
        /// Retention model: set the time of a cell, of the bank `cell_bank_i`.
        cell_write_i: InOption = bit().when(p.retention_model),
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

impl KvBankGroup {
    /// The score file inside.
    #[must_use]
    pub fn scores(&self) -> ScoreRegisterFile {
        ScoreRegisterFile {
            rows: self.refresh.rows,
            score_width: self.score_width,
            amount_width: self.amount_width,
            heads: 1,
        }
    }

    /// The banks.
    #[must_use]
    pub fn all_banks(&self) -> ByteBanks {
        ByteBanks {
            byte: self.byte,
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

impl Block for KvBankGroup {
    type Ports = KvBankGroupPorts;
    const ABOUT: About = About {
        name: "kv_bank_group",
        summary: "eDRAM banks of one byte of the keys or values, with refresh and scores",
        contract: "A write (valid and ready) keeps this group's byte of each element in row access_row_i, makes it\n\
            valid, score 0. A read returns the bytes in their places one cycle later, for one cycle. Scores: see\n\
            score_register_file, with write = set and evict = clear. Refresh: see refresh_controller; high rows\n\
            have the interval config_high_i. Reset, at any time: all tokens are forgotten, a read or a refresh\n\
            under way is given up (data_valid_o falls), and both intervals are refresh.interval again. An eviction\n\
            during a refresh of its row ends the refresh.",
        reference: "Kelle, section 5.1 and figure 10",
    };

    fn build(&self, m: &mut Module, io: &KvBankGroupPorts) {
        let refresh = m.instance("u_refresh", self.refresh.clone());
        let scores = m.instance("u_scores", self.scores());
        let access = m.wire("access", io.access_valid_i & refresh.access_ready_o);
        let read = m.wire("read", access & !io.access_write_i);
        let write = m.wire("write", access & io.access_write_i);

        m.connect(io.access_ready_o, refresh.access_ready_o);
        connect_all!(m, refresh, io, [access_valid_i, access_write_i, access_row_i]);
        m.connect(refresh.valid_i, scores.valid_o.packed().bit_at(refresh.refresh_row_o));
        m.connect(refresh.high_i, scores.high_o.packed().bit_at(refresh.refresh_row_o));
        m.connect(refresh.promoted_valid_i, scores.promoted_valid_o);
        m.connect(refresh.promoted_row_i, scores.promoted_row_o);
        connect_all!(m, refresh, io, [config_valid_i, config_high_i, config_low_i]);
        connect_all!(m, io, refresh, [config_refused_o, refresh_read_o, refresh_write_o, refresh_row_o]);
        connect_all!(m, io, refresh, [refreshes_o, stalls_o]);

        m.connect(scores.set_valid_i, write);
        m.connect(scores.set_row_i, io.access_row_i);
        m.connect(scores.clear_valid_i, io.evict_valid_i);
        m.connect(scores.clear_row_i, io.evict_row_i);
        connect_all!(m, scores, io, [update_valid_i, update_row_i, update_amount_i, step_i, threshold_i]);
        m.connect(scores.read_row_i, io.score_row_i);
        m.connect(io.score_o, scores.read_score_o);
        m.connect_each("high", io.high_o, scores.high_o);

        let data_valid = m.reg_init("data_valid_q", bit(), 0);
        data_valid.next(read);
        m.connect(io.data_valid_o, data_valid.q);
        let banks = m.instance("u_banks", self.all_banks());
        m.connect_pairs([
            (banks.read_i, read),
            (banks.write_i, write),
            (banks.row_i, io.access_row_i),
            (banks.refresh_read_i, refresh.refresh_read_o),
            (banks.refresh_write_i, refresh.refresh_write_o),
            (banks.refresh_row_i, refresh.refresh_row_o),
        ]);
        m.connect_each("data_in", banks.data_i, io.access_data_i);
        m.connect_each("data_out", io.data_o, banks.data_o);
        connect_all!(m, banks, io, [cell_write_i, cell_bank_i, cell_row_i, cell_bit_i, cell_time_i]);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1).part("refresh", self.refresh.timing())
    }
}

impl CatalogBlock for KvBankGroup {
    // Two rows without patience are refreshed all the time, and counters of 32 bits do not get far.
    const SAMPLE: &'static [(&'static str, u32)] = &[
        ("refresh.rows", 5),
        ("refresh.interval_width", 6),
        ("refresh.interval", 20),
        ("refresh.patience", 8),
        ("refresh.counter_width", 6),
    ];

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
            byte: Byte::Lsb,
            banks: 1,
            lanes: 1,
            refresh: refresh(2, 5, 4, 0, 0),
            score_width: 2,
            amount_width: 3,
            ..Self::default()
        };
        let decaying =
            Self { banks: 2, lanes: 2, refresh: refresh(13, 12, 300, 20, 3), retention_model: true, ..Self::default() };
        let black_box = Self { implementation: RamImplementation::BlackBox, lanes: 3, ..small.clone() };
        vec![small, decaying, black_box]
    }
}
