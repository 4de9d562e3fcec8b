//! State per channel that is read and updated as tiles pass in order: a word for each tile of a token.
//!
//! The tile that comes next is known. So its word is fetched while the present one is worked on: a memory with
//! synchronous read serves a read and a write every cycle without a bypass. A token of one tile needs registers only.

use crate::lang::{Module, Reg, Signal, Type, bit, index_width, mux, uint};

/// Which tile of a token it is.
#[derive(Clone, Copy, Debug)]
pub struct TileCounter {
    /// Number of the present tile.
    pub tile: Signal,
    /// Number of the one after it.
    pub next: Signal,
    /// The present tile ends its token.
    pub last: Signal,
    ty: Type,
    register: Reg,
}

impl TileCounter {
    /// A counter of `tiles` tiles.
    #[track_caller]
    pub fn new(m: &mut Module, name: &str, tiles: u32) -> Self {
        let ty = uint(index_width(u64::from(tiles)));
        let register = m.reg_init(&format!("{name}_q"), ty, 0);
        Self::from(m, name, tiles, (ty, register), register.q)
    }

    /// A counter for which the present tile is the first of a token while `begins` is high, wherever the one before
    /// ended.
    #[track_caller]
    pub fn beginning(m: &mut Module, name: &str, tiles: u32, begins: Signal) -> Self {
        let ty = uint(index_width(u64::from(tiles)));
        let register = m.reg_init(&format!("{name}_q"), ty, 0);
        let tile = m.wire(name, mux(begins, ty.lit(0), register.q));
        Self::from(m, name, tiles, (ty, register), tile)
    }

    fn from(m: &mut Module, name: &str, tiles: u32, (ty, register): (Type, Reg), tile: Signal) -> Self {
        let last = m.wire(&format!("{name}_last"), tile.eq(tiles - 1));
        let next = m.wire(&format!("{name}_next"), mux(last, ty.lit(0), tile.wrapping_add(1)));
        Self { tile, next, last, ty, register }
    }

    /// Goes on to the next tile where `step` is high.
    #[track_caller]
    pub fn step(self, step: Signal) {
        self.register.next_when(step, self.next);
    }

    /// The same; where `clear` is high, the next tile is the first of a token.
    #[track_caller]
    pub fn step_or_clear(self, step: Signal, clear: Signal) {
        self.register.next_when(step | clear, mux(clear, self.ty.lit(0), self.next));
    }
}

/// The word of the present tile; it is replaced by `updated` where `step` is high, when the next tile becomes the
/// present one.
///
/// Words are undefined until they were written, and in the first tile of a counter that was made to begin.
#[track_caller]
pub fn tile_state(
    m: &mut Module,
    name: &str,
    tiles: u32,
    counter: TileCounter,
    step: Signal,
    updated: Signal,
) -> Signal {
    if tiles == 1 {
        let word = m.reg(&format!("{name}_q"), updated.ty());
        word.next_when(step, updated);
        return word.q;
    }
    let memory = m.memory(name, tiles, updated.width(), updated.width());
    memory.write(step, counter.tile, updated);
    memory.read(&format!("{name}_word"), step, counter.next)
}

/// High during the first round of tiles after `start` was high in a tile, that tile included.
#[track_caller]
pub fn first_round(m: &mut Module, name: &str, counter: TileCounter, step: Signal, start: Signal) -> Signal {
    let running = m.reg_init(&format!("{name}_q"), bit(), 0);
    let now = m.wire(name, start | running.q);
    running.next_when(step, now & !counter.last);
    now
}
