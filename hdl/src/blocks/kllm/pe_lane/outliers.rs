//! Outliers of a lane (KLLM section III-D): fp16 numbers that are multiplied with weight centroids, exactly.
//!
//! A beat brings at most one. Its significand goes through the multipliers that make rows of products when codebooks
//! come, so it costs no multiplier of its own. Each column chooses one of 16 products, shifts it by the exponent and
//! adds it to a sum of its own. That sum has room for all places of fp16 (a sum of Kulisch's kind) and so no rounding
//! and no order.

use super::PeLane;
use super::column::SIGNIFICAND;
use super::streams::PeLanePorts;
use crate::blocks::common::row::{held, product_latency};
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, index_width, mux, uint};

/// The outlier of the beat that was taken last.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// There is one.
    pub valid: Signal,
    /// Where.
    pub position: Signal,
    /// fp16.
    pub value: Signal,
}

/// Input of the multipliers for an outlier, and the fields that go along with it.
pub(super) struct Factor {
    /// Goes in: the significand, or an entry of a codebook.
    pub factor: Signal,
    /// With the product that comes out: it is negative.
    pub negative: Signal,
    /// With the product that comes out: places to be shifted.
    pub shift: Signal,
}

/// The errors of a group's outliers, beat by beat.
pub(super) struct Told {
    /// There are more than there may be.
    pub too_many: Signal,
    /// One of them was infinite or no number.
    pub special: Signal,
}

impl PeLane {
    /// Width of a sum of outliers in units of 2^-24: all of the largest fp16 number and centroid fit.
    #[must_use]
    pub fn outlier_width(&self) -> u32 {
        let largest = (1u64 << (self.centroid_bits - 1)) - 1;
        let significands = u64::from(self.outliers) * ((1 << SIGNIFICAND) - 1) * largest;
        if self.outliers == 0 { 0 } else { 1 + super::column::LARGEST_SHIFT + bits_for(significands) }
    }

    /// Width of the position of an outlier.
    pub(super) fn position_width(&self) -> u32 {
        index_width(self.inputs.into())
    }

    /// Cycles of the products of the codebooks: no beat is taken for so long after the last entry.
    #[must_use]
    pub fn multiplication(&self) -> u32 {
        let bits = self.centroid_bits - 1;
        if self.outliers > 0 { self.column().multiplication() } else { product_latency(bits, bits) }
    }

    /// Takes the outlier along with its beat.
    pub(super) fn take_outlier(&self, m: &mut Module, io: &PeLanePorts, take: Signal) -> Option<Taken> {
        let activations = &io.activations;
        let (valid, position, value) = (activations.outlier?, activations.position?, activations.value?);
        m.comment("The beat's outlier.");
        Some(Taken {
            valid: held(m, "outlier", valid, 1, take),
            position: held(m, "position", position, 1, take),
            value: held(m, "value", value, 1, take),
        })
    }

    /// One bit for each input, a cycle later: where the outlier is.
    pub(super) fn place(&self, m: &mut Module, outlier: &Taken, enable: Signal) -> Signal {
        let here: Vec<_> = (0..self.inputs).rev().map(|i| outlier.position.eq(i)).collect();
        held(m, "place", cat(&here), 1, enable)
    }

    /// Entries of codebooks come while no outlier is in the multipliers.
    pub(super) fn factor(
        &self,
        m: &mut Module,
        outlier: Taken,
        (comes, entry): (Signal, Signal),
        enable: Signal,
    ) -> Factor {
        let inside = self.multiplication();
        // Columns want it a cycle before the beat is added.
        let wait = self.column().latency() - 1 - inside;
        let valid = held(m, "factor_valid", outlier.valid, wait, enable);
        let value = held(m, "factor_value", outlier.value, wait, enable);
        let exponent = value.slice(10..15);
        let normal = m.wire("normal", exponent.any());
        let significand = cat(&[normal, value.slice(0..10)]) & valid.repeat(SIGNIFICAND);
        let width = SIGNIFICAND.max(entry.width());
        let factor = m.wire("factor", mux(comes, entry.extend(width), significand.extend(width)));
        let shift = m.wire("shift", exponent.wrapping_sub(normal.extend(5)));
        let along = held(m, "outlier_along", cat(&[value.bit(15), shift]), inside, enable);
        Factor { factor, negative: along.msb(), shift: along.slice(0..5) }
    }

    /// The sums of outliers leave beside the others.
    pub(super) fn leave_outliers(
        &self,
        m: &mut Module,
        io: &PeLanePorts,
        (copy, leaves): (Signal, Signal),
        (sums, special): (Array, Signal),
    ) {
        let (Some(to), Some(flag)) = (io.sums.outliers, io.sums.special) else { return };
        m.comment("The sums of outliers that leave.");
        let kept = self.copied(m, "leaving_outliers", (copy, leaves), sums);
        let special = held(m, "leaving_special", special, 1, copy);
        m.for_each("outliers", self.outputs, |m, o| m.connect(to.at(o), kept.at(o)));
        m.connect(flag, special);
    }

    /// Counts the outliers of a group: `now` and `before` are beats one and two cycles after they were taken.
    pub(super) fn tell(
        &self,
        m: &mut Module,
        outlier: Option<Taken>,
        (start, before): (Signal, Signal),
        enable: Signal,
    ) -> Option<Told> {
        let outlier = outlier?;
        m.comment("Outliers of a column.");
        let special = m.wire("is_special", outlier.valid & outlier.value.slice(10..15).all());
        let (now, special) =
            (held(m, "outlier_now", outlier.valid, 1, enable), held(m, "special_now", special, 1, enable));
        let ty = uint(bits_for(u64::from(self.outliers) + 1));
        let (count, seen) = (m.reg("outliers_q", ty), m.reg("special_q", bit()));
        let takes = before & enable;
        count.next_when(takes, mux(start, ty.lit(0), count.q).wrapping_add(now.extend(ty.width)));
        seen.next_when(takes, special | (!start & seen.q));
        Some(Told { too_many: m.wire("too_many", count.q.gt(self.outliers)), special: seen.q })
    }
}
