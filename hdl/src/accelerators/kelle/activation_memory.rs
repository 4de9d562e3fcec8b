//! Rows of integers that are multiplied: kept as they come, read by tiles of channels.

use super::kelle_spec::Numbers;
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutArray, Signal, Timing, bit, bits_for, index_width, mux, parameters,
    ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ActivationMemory {
        /// Numbers that come at once.
        lanes: u32 = 8, in power_of_two(1..=64), tag "l";
        /// Numbers of a tile.
        tile: u32 = 32, in power_of_two(1..=256), note "at least lanes", tag "t";
        /// Rows.
        rows: u32 = 64, in 1..=4096, tag "r";
        /// Numbers of the longest row.
        inner: u32 = 1536, in 1..=65535, note "a multiple of tile", tag "i";
    }
    rules = |p, rules| {
        rules.demand(p.tile >= p.lanes, "tile", p.tile, format!("at least lanes = {}", p.lanes));
        rules.demand(p.inner.is_multiple_of(p.tile), "inner", p.inner, format!("a multiple of tile = {}", p.tile));
    };
}

impl ActivationMemory {
    /// Memories side by side, together as wide as a tile.
    fn banks(&self) -> u32 {
        self.tile / self.lanes.max(1)
    }

    /// Tiles of the longest row.
    fn tiles(&self) -> u32 {
        self.inner / self.tile.max(1)
    }
}

ports! {
    /// Ports of [`ActivationMemory`].
    pub struct ActivationMemoryPorts(p: &ActivationMemory) {
        /// The next row is row 0.
        clear_i: In = bit(),
        /// Rows.
        input: InStream<Numbers> = p.lanes,
        /// Rows that are here.
        rows_o: Out = uint(bits_for(p.rows.into())),
        /// Read a tile.
        read_i: In = bit(),
        /// Its row.
        row_i: In = uint(index_width(p.rows.into())),
        /// Its number in the row.
        tile_i: In = uint(bits_for(p.tiles().into())),
        /// The tile read last, from the cycle after the read on; channels that the row does not have are of no meaning.
        tile_o: OutArray = uint(16).array(p.tile),
    }
}

impl Block for ActivationMemory {
    type Ports = ActivationMemoryPorts;
    const ABOUT: About = About {
        name: "activation_memory",
        summary: "rows of integers of 16 bits, read by tiles of channels",
        contract: "Rows 0, 1, .. as they come, of at most `inner` numbers. There are never more rows than places.",
        reference: "Kelle, section 5.1",
    };

    fn build(&self, m: &mut Module, io: &ActivationMemoryPorts) {
        let (banks, tiles, width) = (self.banks(), self.tiles(), 16 * self.lanes);
        let rows = m.reg_init("rows_q", io.rows_o.ty(), 0);
        let beat_ty = uint(bits_for(u64::from(tiles) * u64::from(banks)));
        let beat = m.reg_init("beat_q", beat_ty, 0);
        m.connect(io.input.ready, !io.clear_i);
        let takes = m.wire("takes", io.input.fire());
        let ends = m.wire("ends", takes & io.input.last);
        let on = mux(takes, beat.q.wrapping_add(1), beat.q);
        beat.next(mux(io.clear_i | ends, beat_ty.lit(0), on));
        rows.next(mux(io.clear_i, rows.q.ty().lit(0), mux(ends, rows.q.wrapping_add(1), rows.q)));
        m.connect(io.rows_o, rows.q);
        m.unused(io.input.used);

        let ram = Ram::words((self.rows * tiles).max(2), width, RamImplementation::Inferred);
        let address = |row: Signal, tile: Signal| -> Signal {
            let width = ram.address().width;
            let fit = |s: Signal| if s.width() > width { s.truncate(width) } else { s.extend(width) };
            fit(row * tiles).wrapping_add(fit(tile))
        };
        let tile = if banks == 1 { beat.q } else { beat.q.shr(banks.trailing_zeros()) };
        let write_address = m.wire("write_address", address(rows.q, tile));
        let read_address = m.wire("read_address", address(io.row_i, io.tile_i));
        let shown = m.nets("shown", uint(width), banks);
        m.for_each("bank", banks, |m, k| {
            let u = m.instance("u_bank", ram.clone());
            let mine = if banks == 1 {
                takes
            } else {
                let low = beat.q.slice(0..banks.trailing_zeros());
                takes & low.eq(k.value(low.width()))
            };
            m.connect(u.write_i, mine);
            m.connect(u.write_address_i, write_address);
            m.connect(u.data_i, io.input.values.packed());
            m.connect(u.read_i, io.read_i);
            m.connect(u.read_address_i, read_address);
            m.connect(shown.at(k), u.data_o);
        });
        let all = m.split("tile", shown.packed(), uint(16).array(self.tile));
        m.connect_each("tile_out", io.tile_o, all);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
