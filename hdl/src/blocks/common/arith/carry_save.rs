//! Sums of many rows: three rows become two until two rows remain, and an adder with few levels adds these. Registers
//! stand where there would be too many levels between them.

use crate::blocks::common::row::adder::{self, add};
use crate::lang::{Array, Module, Signal};

/// Levels of a rank of full adders.
const FULL_ADDER: u32 = 4;

/// How an array of rows is added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSum {
    /// Where there are registers: in front of each sum of three to two, and last in front of the adder of the last two
    /// rows.
    cuts: Vec<bool>,
}

impl RowSum {
    /// `rows` rows of `width` bits, with at most `levels` levels between registers, `used` of them in front of the
    /// rows.
    #[must_use]
    pub fn new(rows: u32, width: u32, used: u32, levels: u32) -> Self {
        let (mut rows, mut used, mut cuts) = (rows, used, vec![]);
        let mut next = |cost| {
            let cut = used + cost > levels;
            used = if cut { cost } else { used + cost };
            cuts.push(cut);
        };
        while rows > 2 {
            next(FULL_ADDER);
            rows -= rows / 3;
        }
        next(adder::levels(width));
        Self { cuts }
    }

    /// Ranks of registers inside.
    #[must_use]
    pub fn latency(&self) -> u32 {
        self.cuts.iter().map(|&cut| u32::from(cut)).sum()
    }

    /// The sum of all `rows`, modulo 2^width. With `enable`, registers move on only then.
    #[track_caller]
    pub fn build(&self, m: &mut Module, rows: Array, enable: Option<Signal>) -> Signal {
        let (ty, mut rows) = (rows.ty().element, rows);
        for (level, &cut) in self.cuts.iter().enumerate() {
            let count = rows.count();
            if cut {
                m.comment("Registers.");
                let held = m.regs(&format!("held_{level}"), ty, count);
                m.for_each(&format!("held_{level}"), count, |m, i| match enable {
                    Some(enable) => held.next_when(m, i, enable, rows.at(i)),
                    None => held.next(m, i, rows.at(i)),
                });
                rows = held.q;
            }
            let (threes, left) = (count / 3, count % 3);
            if count < 3 {
                break;
            }
            m.comment(&format!("{count} become {}.", count - threes));
            let sums = m.nets(&format!("sum_{level}"), ty, count - threes);
            m.for_each(&format!("threes_{level}"), threes, |m, i| {
                let (a, b, c) = (rows.at(i * 3), rows.at(i * 3 + 1), rows.at(i * 3 + 2));
                m.connect(sums.at(i * 2), a ^ b ^ c);
                let carries = (a & b) | (c & (a | b));
                m.connect(sums.at(i * 2 + 1), carries.shl(1).truncate(ty.width));
            });
            for k in 0..left {
                m.connect(sums.at(2 * threes + k), rows.at(3 * threes + k));
            }
            rows = sums;
        }
        match rows.count() {
            1 => rows.at(0),
            _ => add(m, "whole", rows.at(0), rows.at(1), false).truncate(ty.width),
        }
    }
}
