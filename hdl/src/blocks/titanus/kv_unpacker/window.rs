//! Two blocks, and a window that slides over them.

use super::super::format::{chunk_bits, length_type};
use super::{KvUnpacker, KvUnpackerPorts};
use crate::blocks::common::{Crc32, Crc32Ports};
use crate::lang::{Module, Signal, bit, cat, index_width, mux, select, uint};

/// The bits that come next.
pub(super) struct Window {
    /// As many as the longest chunk has; zeros after the stream's last block.
    pub(super) bits: Signal,
    /// A whole chunk is there, as far as the stream has one.
    pub(super) enough: Signal,
    /// Two bits are there, as far as the stream has them.
    pub(super) two: Signal,
    /// A block is there.
    pub(super) present: Signal,
    /// And the next one.
    pub(super) next: Signal,
    /// The block that is there is the stream's last.
    pub(super) last: Signal,
    /// And the next one is.
    pub(super) next_last: Signal,
    /// The checksum of the blocks up to it differs from the checksum that came with it.
    pub(super) bad_checksum: Signal,
    /// A chunk of `length` reaches the end of the block, or goes beyond it.
    pub(super) reaches: Signal,
    pub(super) beyond: Signal,
    /// Driven by the user: the chunk is cut off, its length; or the block is thrown away.
    pub(super) cut: Signal,
    pub(super) length: Signal,
    pub(super) skip: Signal,
    /// The block is done with after this cycle, and with it the stream.
    pub(super) freed: Signal,
    pub(super) over: Signal,
}

impl KvUnpacker {
    pub(super) fn window(&self, m: &mut Module, io: &KvUnpackerPorts) -> Window {
        let (block, width) = (self.block_bits(), chunk_bits(self.lanes));
        let place = uint(index_width(u64::from(block)));
        let [has_present, has_next] = ["present_valid_q", "next_valid_q"].map(|n| m.reg_init(n, bit(), 0));
        let [present, next] = ["present_q", "next_q"].map(|n| m.reg(n, uint(block)));
        let [present_last, next_last] = ["present_last_q", "next_last_q"].map(|n| m.reg(n, bit()));
        let at = m.reg_init("at_q", place, 0);
        let length = m.net("cut_length", length_type(self.lanes));
        let cut = m.net("cut_now", bit());
        let skip = m.net("skip_now", bit());

        m.comment("After its last block a stream goes on with zeros.");
        let behind = m.wire("behind", next.q.slice(0..width) & (!present_last.q).repeat(width));
        let bits = m.wire("window", cat(&[behind, present.q]).shr_by(at.q).slice(0..width));
        let more = m.wire("more_bits", has_next.q | present_last.q);
        let enough = m.wire("enough", has_present.q & (at.q.le(block - width) | more));
        let two = m.wire("two_bits", has_present.q & (at.q.le(block - 2) | more));
        let sum = m.wire("cut_to", at.q + length);
        let reaches = m.wire("reaches_end", sum.ge(block));
        let beyond = m.wire("beyond_end", sum.gt(block));
        let freed = m.wire("freed", (cut & reaches) | skip);
        let over = m.wire("over_now", freed & present_last.q);
        let kept = sum.wrapping_sub(mux(reaches, sum.ty().lit(block), sum.ty().lit(0))).truncate(place.width);
        at.next(select(&[(over | skip, place.lit(0)), (cut, kept)], at.q));

        let shift = m.wire("shift", !has_present.q | freed);
        let accept = m.wire("accept", !has_next.q | shift);
        m.connect(io.block.ready, accept);
        let arrives = m.wire("arrives", io.block.valid & accept);
        // A block moves up, or, when none waits, is taken to the front at once.
        has_present.next(mux(shift, has_next.q | arrives, bit().lit(1)));
        present.next_when(shift, mux(has_next.q, next.q, io.block.data.data));
        present_last.next_when(shift, mux(has_next.q, next_last.q, io.block.last));
        has_next.next(mux(shift, has_next.q & arrives, has_next.q | arrives));
        next.next_when(arrives, io.block.data.data);
        next_last.next_when(arrives, io.block.last);
        let bad_checksum = match self.wrong_checksum(m, io, arrives) {
            Some(wrong) => {
                let [present_wrong, next_wrong] = ["present_wrong_q", "next_wrong_q"].map(|n| m.reg(n, bit()));
                present_wrong.next_when(shift, mux(has_next.q, next_wrong.q, wrong));
                next_wrong.next_when(arrives, wrong);
                present_wrong.q
            }
            None => bit().lit(0),
        };
        let [present, next, last, next_last] = [has_present, has_next, present_last, next_last].map(|r| r.q);
        Window {
            bits,
            enough,
            two,
            present,
            next,
            last,
            next_last,
            bad_checksum,
            reaches,
            beyond,
            cut,
            length,
            skip,
            freed,
            over,
        }
    }

    /// Whether the checksum beside the block differs from the checksum of the stream up to it.
    fn wrong_checksum(&self, m: &mut Module, io: &KvUnpackerPorts, arrives: Signal) -> Option<Signal> {
        let expected = io.block.crc?;
        let register = m.reg_init("crc_q", uint(32), 0);
        let unit: Crc32Ports = m.instance("u_crc", Crc32 { bytes: self.block_bytes });
        m.connect(unit.crc_i, register.q);
        m.connect(unit.data_i, io.block.data.data);
        let next = m.wire("next_crc", unit.crc_o);
        register.next_when(arrives, mux(io.block.last, uint(32).lit(0), next));
        Some(m.wire("wrong_checksum", next.ne(expected)))
    }
}
