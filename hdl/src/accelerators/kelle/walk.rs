//! The order in which rows of weights meet the array: groups of sums, tiles of each, bytes of their weights, rows of a
//! tile.

use crate::lang::{Module, Signal, bit, mux, select, uint};

/// The extent of the walk; steady until it ends.
#[derive(Clone, Copy)]
pub(super) struct WalkSize {
    /// Groups of sums: 16 bits.
    pub groups: Signal,
    /// Tiles of a sum.
    pub tiles: Signal,
    /// Weights have two bytes; always one where there is no such signal.
    pub wide: Option<Signal>,
}

/// The moves of the walk.
#[derive(Clone, Copy)]
pub(super) struct WalkMoves {
    /// Gives up.
    pub clear: Signal,
    /// Starts, at the first place.
    pub begin: Signal,
    /// Goes on by one.
    pub moves: Signal,
}

/// Place of the walk.
pub(super) struct Walk {
    /// The walk has not ended.
    pub runs: Signal,
    /// Place in the tile.
    pub inside: Signal,
    pub tile: Signal,
    pub first_tile: Signal,
    pub last_tile: Signal,
    /// These are low bytes of weights, or the only ones.
    pub low_weights: Signal,
    /// It is the last place of its tile and byte.
    pub last_inside: Signal,
    /// The last place of the group is passed in this cycle.
    pub group_ends: Signal,
}

impl Walk {
    /// A tile has `count` places, which may depend on whether group and tile are the last ones.
    pub fn new(
        m: &mut Module,
        name: &str,
        size: WalkSize,
        go: WalkMoves,
        count: impl FnOnce(Signal, Signal) -> Signal,
    ) -> Self {
        let of = |part: &str| format!("{name}_{part}");
        let groups = m.reg_init(&of("groups_q"), uint(16), 0);
        let tile = m.reg(&of("tile_q"), size.tiles.ty());
        let last_tile = m.wire(&of("last_tile"), tile.q.wrapping_add(1).eq(size.tiles));
        let count = count(groups.q.eq(1), last_tile);
        let inside = m.reg(&of("place_q"), count.ty());
        let last = m.wire(&of("last"), inside.q.wrapping_add(1).eq(count));
        let bytes_end = m.wire(&of("bytes_end"), go.moves & last);
        let low_weights = match size.wide {
            None => bit().lit(1),
            Some(wide) => {
                let low = m.reg(&of("low_q"), bit());
                low.next(select(&[(go.begin, bit().lit(0)), (bytes_end & wide, !low.q)], low.q));
                m.wire(&of("low_weights"), low.q | !wide)
            }
        };
        let tile_ends = m.wire(&of("tile_ends"), bytes_end & low_weights);
        let group_ends = m.wire(&of("group_ends"), tile_ends & last_tile);
        let none = groups.q.ty().lit(0);
        let fewer = groups.q.wrapping_sub(1);
        groups.next(select(&[(go.clear, none), (go.begin, size.groups), (group_ends, fewer)], groups.q));
        let zero = tile.q.ty().lit(0);
        tile.next(select(&[(go.begin | group_ends, zero), (tile_ends, tile.q.wrapping_add(1))], tile.q));
        let zero = inside.q.ty().lit(0);
        inside.next(mux(go.begin | bytes_end, zero, mux(go.moves, inside.q.wrapping_add(1), inside.q)));
        Self {
            runs: groups.q.any(),
            inside: inside.q,
            tile: tile.q,
            first_tile: !tile.q.any(),
            last_tile,
            low_weights,
            last_inside: last,
            group_ends,
        }
    }
}
