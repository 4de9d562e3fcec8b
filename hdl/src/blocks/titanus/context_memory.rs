//! Context memory: keys and values of tokens as plain int8, read along either side.
//!
//! Scores need the channels of a token, weighted values the tokens of a channel. Element (t, c) of the values lies in
//! bank (t + c) modulo `lanes`. So neither a tile of a token nor a column of as many tokens meets a bank twice. Several
//! engines at once need wider words: of keys, tiles of successive tokens, and of a bank of values, successive channels.

use crate::lang::{
    About, Array, Block, CatalogBlock, In, InArray, Module, OutArray, Signal, Timing, Type, bit, cat, index_width, mux,
    parameters, ports, power_of_two, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ContextMemory {
        /// Channels of a tile, and tokens of a column.
        lanes: u32 = 32, in power_of_two(2..=64), tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Tokens.
        tokens: u32 = 128, in 1..=65_535, note "tiles times tokens at most 1048576", tag "n";
        /// Engines that read at once: successive tokens of the keys, or successive channels of the values.
        engines: u32 = 1, in power_of_two(1..=32), note "at most half of lanes", tag "e", named "when set";
    }
    rules = |p, rules| {
        let most = 1_048_576 / u64::from(p.tiles.max(1));
        rules.demand(u64::from(p.tokens) <= most, "tokens", p.tokens, format!("at most {most} with tiles = {}", p.tiles));
        let half = (p.lanes / 2).max(1);
        rules.demand(p.engines <= half, "engines", p.engines, format!("at most half of lanes = {}", p.lanes));
    };
}

impl ContextMemory {
    /// Type of a token's number.
    #[must_use]
    pub fn token(&self) -> Type {
        uint(index_width(self.tokens.into()))
    }

    /// Type of a tile's number.
    #[must_use]
    pub fn tile(&self) -> Type {
        uint(index_width(self.tiles.into()))
    }

    /// As many tokens as there are engines, one after another.
    fn rows(&self) -> u32 {
        self.tokens.div_ceil(self.engines)
    }

    /// Type of the number of as many tokens as there are engines.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(self.rows().into()))
    }

    /// Type of the number of as many channels as there are engines, within their tile.
    #[must_use]
    pub fn channels(&self) -> Type {
        uint(self.lanes.trailing_zeros() - self.engines.trailing_zeros())
    }

    /// Groups of as many tokens as a column has.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.tokens.div_ceil(self.lanes)
    }

    /// Type of a group's number.
    #[must_use]
    pub fn group(&self) -> Type {
        uint(index_width(self.groups().into()))
    }

    fn place(&self, count: u32) -> Type {
        uint(index_width(u64::from(count) * u64::from(self.tiles)))
    }
}

ports! {
    /// Ports of [`ContextMemory`].
    pub struct ContextMemoryPorts(p: &ContextMemory) {
        /// Writes a tile of keys.
        write_k_i: In = bit(),
        /// Writes a tile of values.
        write_v_i: In = bit(),
        /// Token of the tiles.
        write_token_i: In = p.token(),
        /// Number of the tiles within it.
        write_tile_i: In = p.tile(),
        /// Keys.
        k_i: InArray = sint(8).array(p.lanes),
        /// Values.
        v_i: InArray = sint(8).array(p.lanes),
        /// Reads keys or values.
        read_i: In = bit(),
        /// Values: one channel of all tokens of a group; otherwise keys: all channels of a tile.
        read_values_i: In = bit(),
        /// Tokens of the keys: row r has tokens r engines to (r + 1) engines - 1.
        read_row_i: In = p.row(),
        /// Group of tokens of the values: group g has tokens g lanes to (g + 1) lanes - 1.
        read_group_i: In = p.group(),
        /// Tile of the keys, or tile of the values' channel.
        read_tile_i: In = p.tile(),
        /// Channels of the values within their tile: c engines to (c + 1) engines - 1.
        read_channels_i: In = p.channels(),
        /// The data of the last read, from the cycle after read_i on, engine by engine.
        data_o: OutArray = sint(8).array(p.lanes * p.engines),
    }
}

impl Block for ContextMemory {
    type Ports = ContextMemoryPorts;
    const ABOUT: About = About {
        name: "context_memory",
        summary: "keys by tokens and values by channels, a tile or a column a cycle",
        contract: "At an edge, write_k_i and write_v_i store tiles. With read_i, data_o takes a tile of keys in\n\
            order of channels, or a column of values in order of tokens, for each engine, as they were before this\n\
            edge. It keeps them until the next read. Elements are undefined until written. A token, group or tile that does not\n\
            exist reads as undefined; to write one is not allowed. No reset.",
        reference: "Titanus, section 4.1 (global buffer)",
    };

    fn build(&self, m: &mut Module, io: &ContextMemoryPorts) {
        let (lanes, width, engines) = (self.lanes, 8 * self.lanes, self.engines);
        let (low, each) = (lanes.trailing_zeros(), engines.trailing_zeros());
        let keys = m.memory("keys", (self.rows() * self.tiles).max(2), width * engines, width);
        let at = |row: Signal, tile: Signal, ty: Type| fitted(row * self.tiles + tile, ty.width);
        let key_ty = keys.address_type();
        let token = fitted(io.write_token_i, io.write_token_i.width().max(each + 1));
        let write_at = m.wire("key_write_at", at(token.slice(each..token.width()), io.write_tile_i, key_ty));
        let read_at = m.wire("key_read_at", at(io.read_row_i, io.read_tile_i, key_ty));
        // Of each engine, whether a write is its own.
        let among = |number: Signal| match each {
            0 => bit().lit(1),
            _ => bit().lit(1).extend(engines).shl_by(number.slice(0..each)),
        };
        let key_enable = m.wire("key_enable", among(token) & io.write_k_i.repeat(engines));
        keys.write(key_enable, write_at, repeated(io.k_i.packed(), engines));
        let key = keys.read("key", io.read_i & !io.read_values_i, read_at);

        m.comment("Values: a bank has one element of each tile and of each column.");
        let place = self.place(self.groups());
        let row = m.wire("token_row", fitted(io.write_token_i, io.write_token_i.width().max(low)).slice(0..low));
        let group = fitted(io.write_token_i, io.write_token_i.width().max(low + 1));
        let group = m.wire("write_group", group.slice(low..group.width()));
        let high = |group: Signal, tile: Signal| fitted(group * self.tiles + tile, place.width);
        let write_high = m.wire("value_write_at", high(group, io.write_tile_i));
        let read_high = m.wire("value_read_at", high(io.read_group_i, io.read_tile_i));
        let by = |count: Signal| cat(&[count, uint(3).lit(0)]);
        let twice = m.wire("values_twice", cat(&[io.v_i.packed(), io.v_i.packed()]));
        let turned = m.wire("values_turned", twice.shl_by(by(row)).slice(width..2 * width));
        let turned: Array = m.split("value", turned, uint(8).array(lanes));
        let words = m.nets("value_word", uint(8 * engines), lanes);
        m.for_each("banks", lanes, |m, b| {
            let depth = (self.groups() * self.tiles) << (low - each);
            let bank = m.memory("bank", depth, 8 * engines, 8);
            let channel = m.wire("channel", b.value(low).wrapping_sub(row));
            let to = m.wire("to", fitted(cat(&[write_high, channel.slice(each..low)]), bank.address_type().width));
            let enable = among(channel) & io.write_v_i.repeat(engines);
            bank.write(enable, to, repeated(turned.at(b), engines));
            let from = fitted(cat(&[read_high, io.read_channels_i]), bank.address_type().width);
            let word = bank.read("word", io.read_i & io.read_values_i, from);
            m.connect(words.at(b), word);
        });
        let channels = m.reg("channels_q", self.channels());
        channels.next_when(io.read_i, io.read_channels_i);
        let values = m.reg("read_values_q", bit());
        values.next_when(io.read_i, io.read_values_i);
        let columns: Vec<Signal> = (0..engines)
            .map(|e| {
                let bytes: Vec<Signal> = (0..lanes).rev().map(|b| words.at(b).slice(8 * e..8 * (e + 1))).collect();
                let bytes = cat(&bytes);
                let twice = m.wire(&format!("words_twice_{e}"), cat(&[bytes, bytes]));
                let channel = if each == 0 { channels.q } else { cat(&[channels.q, uint(each).lit(e)]) };
                m.wire(&format!("column_{e}"), twice.shr_by(by(channel)).slice(0..width))
            })
            .rev()
            .collect();
        m.connect(io.data_o.packed(), mux(values.q, cat(&columns), key));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

/// `value` for each of so many engines.
fn repeated(value: Signal, engines: u32) -> Signal {
    cat(&vec![value; engines as usize])
}

/// `value` in exactly `width` bits: bits that are cut off are known to be zero, or do not exist.
#[track_caller]
fn fitted(value: Signal, width: u32) -> Signal {
    if value.width() > width { value.truncate(width) } else { value.extend(width) }
}

impl CatalogBlock for ContextMemory {
    // Whole groups of tokens: other elements are never written, and so undefined. Two engines.
    const SAMPLE: &'static [(&'static str, u32)] = &[("lanes", 4), ("tiles", 2), ("tokens", 8), ("engines", 2)];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, tokens, engines| Self { lanes, tiles, tokens, engines };
        vec![set(2, 1, 1, 1), set(4, 3, 7, 1), set(8, 2, 24, 1), set(4, 1, 7, 2), set(16, 2, 33, 8)]
    }
}
