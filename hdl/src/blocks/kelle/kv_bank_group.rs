//! KV bank group: the eDRAM banks of one byte of the keys or of the values, with their refresh controller and scores.
//!
//! A cache has four groups: {key, value} x {MSB, LSB}. A token has the same row in all of them. A row holds one byte of each
//! element of the vector, spread over `banks` banks of `lanes` bytes. The port carries whole 16-bit elements: a write keeps the
//! byte of this group (split); a read returns it in its place with zeros in the other, so the OR of the MSB and the LSB
//! group is the element (join).
//!
//! A write brings a new token: its row becomes valid, with score 0. Score updates move the row between the two refresh
//! classes; the controller refreshes underneath, and `access_ready_o` goes low only when a refresh can wait no longer.

use serde::{Deserialize, Serialize};

use super::edram_bank::TIME_WIDTH;
use super::{EdramBank, RefreshController, ScoreRegisterFile};
use crate::blocks::common::RamImplementation;
use crate::lang::{
    About, Block, CatalogBlock, In, InArray, InOption, Module, OldParameter, Out, OutArray, ParamError, bit, cat,
    ensure_param, index_width, old_parameters, ports, sint, uint,
};

/// Which byte of a 16-bit element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Byte {
    /// Bits 15 to 8.
    #[default]
    Msb,
    /// Bits 7 to 0.
    Lsb,
}

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvBankGroup {
    /// Byte of the elements that is stored here.
    pub byte: Byte,
    /// Banks side by side.
    pub banks: u32,
    /// Bytes of a row of one bank.
    pub lanes: u32,
    /// Rows: tokens.
    pub rows: u32,
    /// Width of a score in bits.
    pub score_width: u32,
    /// Width of what is added to a score in bits.
    pub amount_width: u32,
    /// Width of a refresh interval in bits.
    pub interval_width: u32,
    /// Interval of both classes after reset, in cycles.
    pub interval: u32,
    /// Cycles that refreshes may wait in one round.
    pub patience: u32,
    /// Unit of the time stamps: 2^tick_log2 cycles.
    pub tick_log2: u32,
    /// Where the bits are.
    pub implementation: RamImplementation,
    /// Bits decay in simulation.
    pub retention_model: bool,
}

/// Width of the counters in bits.
const COUNTER_WIDTH: u32 = 32;

ports! {
    /// Ports of [`KvBankGroup`].
    pub struct KvBankGroupPorts(p: &KvBankGroup) {
        /// An access.
        access_valid_i: In = bit(),
        /// The access is made; does not depend on `access_valid_i`.
        access_ready_o: Out = bit(),
        /// Write a new token; otherwise read.
        access_write_i: In = bit(),
        /// Row of the token.
        access_row_i: In = p.refresh().row(),
        /// Elements of the new token.
        access_data_i: InArray = uint(16).array(p.elements()),
        /// A read was made in the cycle before: `data_o` holds the row.
        data_valid_o: Out = bit(),
        /// This group's byte of each element, the other byte 0.
        data_o: OutArray = uint(16).array(p.elements()),
        /// The token in row `evict_row_i` is gone.
        evict_valid_i: In = bit(),
        /// Row of the token that goes.
        evict_row_i: In = p.refresh().row(),
        /// Add to the score of row `update_row_i`.
        update_valid_i: In = bit(),
        /// Row of the score.
        update_row_i: In = p.refresh().row(),
        /// What is added.
        update_amount_i: In = sint(p.amount_width),
        /// The step ends: scores age if one saturated.
        step_i: In = bit(),
        /// Lowest high score.
        threshold_i: In = uint(p.score_width),
        /// Row whose score is read.
        score_row_i: In = p.refresh().row(),
        /// Its score, in the same cycle.
        score_o: Out = uint(p.score_width),
        /// Take new refresh intervals.
        config_valid_i: In = bit(),
        /// Interval of rows with high scores, in cycles.
        config_high_i: In = uint(p.interval_width),
        /// Interval of rows with low scores, in cycles.
        config_low_i: In = uint(p.interval_width),
        /// The last intervals offered were too short.
        config_refused_o: Out = bit(),
        /// The banks read row `refresh_row_o` for a refresh.
        refresh_read_o: Out = bit(),
        /// The banks write row `refresh_row_o` back.
        refresh_write_o: Out = bit(),
        /// Row of the refresh.
        refresh_row_o: Out = p.refresh().row(),
        /// Per row: it holds a token with a high score.
        high_o: OutArray = bit().array(p.rows),
        /// Refreshes completed.
        refreshes_o: Out = uint(COUNTER_WIDTH),
        /// Cycles in which an access had to wait.
        stalls_o: Out = uint(COUNTER_WIDTH),
        /// Retention model: set the time of a cell, of the bank `cell_bank_i`.
        cell_write_i: InOption = bit().when(p.retention_model),
        /// Bank of the cell.
        cell_bank_i: InOption = uint(index_width(u64::from(p.banks))).when(p.retention_model),
        /// Row of the cell.
        cell_row_i: InOption = p.refresh().row().when(p.retention_model),
        /// Bit of the cell.
        cell_bit_i: InOption = uint(index_width(u64::from(8 * p.lanes))).when(p.retention_model),
        /// Cycles for which it holds its bit.
        cell_time_i: InOption = uint(TIME_WIDTH).when(p.retention_model),
    }
}

impl KvBankGroup {
    /// The refresh controller inside.
    #[must_use]
    pub fn refresh(&self) -> RefreshController {
        RefreshController {
            rows: self.rows,
            interval_width: self.interval_width,
            interval: self.interval,
            patience: self.patience,
            tick_log2: self.tick_log2,
            counter_width: COUNTER_WIDTH,
        }
    }

    /// The score file inside.
    #[must_use]
    pub fn scores(&self) -> ScoreRegisterFile {
        ScoreRegisterFile { rows: self.rows, score_width: self.score_width, amount_width: self.amount_width }
    }

    /// One of the banks.
    #[must_use]
    pub fn bank(&self) -> EdramBank {
        EdramBank {
            rows: self.rows,
            width: 8 * self.lanes,
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

old_parameters!(KvBankGroup);

impl Block for KvBankGroup {
    type Ports = KvBankGroupPorts;
    const ABOUT: About = About {
        name: "kv_bank_group",
        summary: "eDRAM banks of one byte of the keys or values, with refresh and scores",
        contract: "a write (valid and ready) keeps this group's byte of each element in row access_row_i, makes it valid, score 0.\n\
            A read returns the bytes in their places one cycle later, for one cycle. Scores: see score_register_file, with\n\
            write = set and evict = clear. Refresh: see refresh_controller; high rows have the interval config_high_i.",
        reference: "Kelle, section 5.1 and figure 10",
    };

    fn module_name(&self) -> String {
        let byte = if self.byte == Byte::Msb { "msb" } else { "lsb" };
        let kind = if self.implementation == RamImplementation::BlackBox { "_black_box" } else { "" };
        let model = if self.retention_model { "_retention" } else { "" };
        format!(
            "kv_bank_group_{byte}_b{}x{}_m{}_s{}_a{}_w{}_i{}_p{}_t{}{kind}{model}",
            self.banks,
            self.lanes,
            self.rows,
            self.score_width,
            self.amount_width,
            self.interval_width,
            self.interval,
            self.patience,
            self.tick_log2
        )
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("banks", self.banks, 1..=64)?;
        ensure_param("lanes", self.lanes, 1..=512)?;
        self.scores().old_check()?;
        self.refresh().old_check()
    }

    fn build(&self, m: &mut Module, io: &KvBankGroupPorts) {
        let refresh = m.instance("u_refresh", self.refresh());
        let scores = m.instance("u_scores", self.scores());
        let access = m.wire("access", io.access_valid_i & refresh.access_ready_o);
        let read = m.wire("read", access & !io.access_write_i);
        let write = m.wire("write", access & io.access_write_i);

        m.connect(io.access_ready_o, refresh.access_ready_o);
        m.connect(refresh.access_valid_i, io.access_valid_i);
        m.connect(refresh.access_write_i, io.access_write_i);
        m.connect(refresh.access_row_i, io.access_row_i);
        m.connect(refresh.valid_i, scores.valid_o.packed());
        m.connect(refresh.high_i, scores.high_o.packed());
        m.connect(refresh.promoted_valid_i, scores.promoted_valid_o);
        m.connect(refresh.promoted_row_i, scores.promoted_row_o);
        m.connect(refresh.config_valid_i, io.config_valid_i);
        m.connect(refresh.config_high_i, io.config_high_i);
        m.connect(refresh.config_low_i, io.config_low_i);
        m.connect(io.config_refused_o, refresh.config_refused_o);
        m.connect(io.refresh_read_o, refresh.refresh_read_o);
        m.connect(io.refresh_write_o, refresh.refresh_write_o);
        m.connect(io.refresh_row_o, refresh.refresh_row_o);
        m.connect(io.refreshes_o, refresh.refreshes_o);
        m.connect(io.stalls_o, refresh.stalls_o);

        m.connect(scores.set_valid_i, write);
        m.connect(scores.set_row_i, io.access_row_i);
        m.connect(scores.clear_valid_i, io.evict_valid_i);
        m.connect(scores.clear_row_i, io.evict_row_i);
        m.connect(scores.update_valid_i, io.update_valid_i);
        m.connect(scores.update_row_i, io.update_row_i);
        m.connect(scores.update_amount_i, io.update_amount_i);
        m.connect(scores.step_i, io.step_i);
        m.connect(scores.threshold_i, io.threshold_i);
        m.connect(scores.read_row_i, io.score_row_i);
        m.connect(io.score_o, scores.read_score_o);
        m.connect_each("high", io.high_o, scores.high_o);

        let data_valid = m.reg_init("data_valid_q", bit(), 0);
        data_valid.next(read);
        m.connect(io.data_valid_o, data_valid.q);
        let (low, zeros) = (if self.byte == Byte::Msb { 8 } else { 0 }, uint(8).lit(0));
        let bytes = m.nets("bytes", uint(8), self.elements());
        for bank in 0..self.banks {
            let u = m.instance(&format!("u_bank_{bank}"), self.bank());
            m.connect(u.read_i, read);
            m.connect(u.write_i, write);
            m.connect(u.row_i, io.access_row_i);
            m.connect(u.refresh_read_i, refresh.refresh_read_o);
            m.connect(u.refresh_write_i, refresh.refresh_write_o);
            m.connect(u.refresh_row_i, refresh.refresh_row_o);
            let lane = |i: u32| bank * self.lanes + i;
            let word: Vec<_> =
                (0..self.lanes).rev().map(|i| io.access_data_i.at(lane(i)).slice(low..low + 8)).collect();
            m.connect(u.data_i, cat(&word));
            (0..self.lanes).for_each(|i| m.connect(bytes.at(lane(i)), u.data_o.slice(8 * i..8 * i + 8)));
            if let (Some(to), Some(from), Some(at)) = (u.cell_write_i, io.cell_write_i, io.cell_bank_i) {
                m.connect(to, from & at.eq(bank));
            }
            for (to, from) in
                [(u.cell_row_i, io.cell_row_i), (u.cell_bit_i, io.cell_bit_i), (u.cell_time_i, io.cell_time_i)]
            {
                if let (Some(to), Some(from)) = (to, from) {
                    m.connect(to, from);
                }
            }
        }
        m.for_each("join", self.elements(), |m, i| {
            let parts = if self.byte == Byte::Msb { [bytes.at(i), zeros] } else { [zeros, bytes.at(i)] };
            m.connect(io.data_o.at(i), cat(&parts));
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        let mut latency = vec![("read".into(), 1)];
        latency.extend(self.refresh().old_latency());
        latency
    }
}

impl Default for KvBankGroup {
    fn default() -> Self {
        Self {
            byte: Byte::Msb,
            banks: 8,
            lanes: 8,
            rows: 128,
            score_width: 4,
            amount_width: 5,
            interval_width: 23,
            interval: 43_000,
            patience: 256,
            tick_log2: 8,
            implementation: RamImplementation::Inferred,
            retention_model: false,
        }
    }
}

impl CatalogBlock for KvBankGroup {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "byte", allowed: "msb, lsb", meaning: "byte of the 16-bit elements that is stored" },
        OldParameter { name: "banks", allowed: "1 to 64", meaning: "banks side by side" },
        OldParameter { name: "lanes", allowed: "1 to 512", meaning: "bytes of a row of one bank" },
        OldParameter { name: "rows", allowed: "2 to 4096", meaning: "rows: tokens" },
        OldParameter { name: "score_width", allowed: "1 to 32", meaning: "width of a score, bits" },
        OldParameter {
            name: "amount_width",
            allowed: "2 to 33",
            meaning: "width of what is added to a score, bits, signed",
        },
        OldParameter { name: "interval_width", allowed: "3 to 31", meaning: "width of a refresh interval, bits" },
        OldParameter {
            name: "interval",
            allowed: "2 x rows to 2^interval_width - 1",
            meaning: "interval of both classes after reset, cycles",
        },
        OldParameter {
            name: "patience",
            allowed: "0 to 65535",
            meaning: "cycles that refreshes may wait in one round",
        },
        OldParameter {
            name: "tick_log2",
            allowed: "0 to interval_width - 2, at most 16",
            meaning: "time stamps count in units of 2^tick_log2 cycles",
        },
        OldParameter { name: "implementation", allowed: "inferred, black_box", meaning: "where the bits are, see ram" },
        OldParameter { name: "retention_model", allowed: "true, false", meaning: "bits decay in simulation" },
    ];

    fn configurations() -> Vec<Self> {
        let small = Self {
            byte: Byte::Lsb,
            banks: 1,
            lanes: 1,
            rows: 2,
            score_width: 2,
            amount_width: 3,
            interval_width: 5,
            interval: 4,
            patience: 0,
            tick_log2: 0,
            ..Self::default()
        };
        let decaying = Self {
            banks: 2,
            lanes: 2,
            rows: 13,
            interval_width: 12,
            interval: 300,
            patience: 20,
            tick_log2: 3,
            retention_model: true,
            ..Self::default()
        };
        let black_box = Self { implementation: RamImplementation::BlackBox, lanes: 3, ..small.clone() };
        vec![small, decaying, black_box]
    }
}
