//! CRC-32 of bytes, any number of them at once.
//!
//! The checksum is linear: each bit of the input inverts a fixed set of bits of the checksum, its column. Columns are
//! computed from the polynomial, the last one first. The columns of the ones in the input are added up in a tree, in
//! which equal sums of neighbours become one gate.

use crate::lang::{
    About, Array, Block, CatalogBlock, In, Index, Module, Out, Proof, Signal, Timing, mux, parameters, ports, uint,
};

/// The polynomial of Ethernet and ZIP, without its highest power, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xedb8_8320;

parameters! {
    /// Elaboration parameters.
    pub struct Crc32 {
        /// Bytes at once.
        bytes: u32 = 8, in 1..=512, tag "b";
    }
}

ports! {
    /// Ports of [`Crc32`].
    pub struct Crc32Ports(p: &Crc32) {
        /// CRC-32 of the bytes before; 0 when there are none.
        crc_i: In = uint(32),
        /// The bytes, the first one in the low bits.
        data_i: In = uint(8 * p.bytes),
        /// CRC-32 of the bytes before and of these, in the same cycle.
        crc_o: Out = uint(32),
    }
}

impl Block for Crc32 {
    type Ports = Crc32Ports;
    const ABOUT: About = About {
        name: "crc32",
        summary: "CRC-32 of bytes, carried on from the bytes before",
        contract: "crc_o = CRC-32 (IEEE 802.3, reflected, as in ZIP) of all bytes whose CRC-32 is crc_i, followed by\n\
            data_i.\n\
            Combinational, depth O(log bytes).",
        reference: "IEEE 802.3, section 3.2.9",
    };

    fn build(&self, m: &mut Module, io: &Crc32Ports) {
        let bits = 8 * self.bytes;
        // The register changes the first 32 bits. With fewer bits, the rest of the register moves down.
        let register = m.wire("register", !io.crc_i);
        let (turned, left) = if bits < 32 {
            (io.data_i ^ register.slice(0..bits), register.slice(bits..32).extend(32))
        } else {
            (io.data_i ^ register.extend(bits), uint(32).lit(0))
        };
        let turned = m.wire("turned", turned);
        let column = m.nets("column", uint(32), bits);
        m.connect(column.at(0), POLYNOMIAL);
        m.for_each("columns", bits - 1, |m, k| {
            let before = column.at(k);
            let carried = mux(before.bit(0), uint(32).lit(POLYNOMIAL), uint(32).lit(0));
            m.connect(column.at(k + 1), before.shr(1).extend(32) ^ carried);
        });
        let chosen = m.nets("chosen", uint(32), bits);
        m.for_each("chosen", bits, |m, k| {
            // The last bit of the input has the first column.
            let last = Index::from(i64::from(bits) - 1) - k;
            m.connect(chosen.at(k), column.at(last) & turned.slice_at(k, 1).repeat(32));
        });
        let sum = sum_in_tree(m, chosen);
        m.connect(io.crc_o, !(sum ^ left));
        m.formal(|m| {
            // Bit after bit, as the standard says.
            let serial = (0..bits).fold(register, |register, k| {
                let moved = register.shr(1).extend(32);
                mux(register.bit(0) ^ io.data_i.bit(k), moved ^ uint(32).lit(POLYNOMIAL), moved)
            });
            m.assert_always("is_the_serial_one", io.crc_o.eq(!serial));
            m.cover("becomes_zero", !io.crc_o.any());
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

/// All elements added up modulo 2, neighbours first.
fn sum_in_tree(m: &mut Module, elements: Array) -> Signal {
    let mut sums = elements;
    let mut level = 0;
    while sums.count() > 1 {
        level += 1;
        let (pairs, odd) = (sums.count() / 2, sums.count() % 2);
        // Long lists of nets that differ only in a number are hard to read.
        let name = format!("{}_{level}", if level > 8 { "top_sums" } else { "sums" });
        let next = m.nets(&name, uint(32), pairs + odd);
        m.for_each(&name, pairs, |m, k| m.connect(next.at(k), sums.at(k * 2) ^ sums.at(k * 2 + 1)));
        if odd == 1 {
            m.connect(next.at(pairs), sums.at(2 * pairs));
        }
        sums = next;
    }
    sums.at(0)
}

impl CatalogBlock for Crc32 {
    fn configurations() -> Vec<Self> {
        [1, 3, 4, 5, 64].map(|bytes| Self { bytes }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { bytes: 1 }, depth: 1, cover_depth: 1, induction: true }]
    }
}
