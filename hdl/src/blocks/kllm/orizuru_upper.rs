//! Upper unit of Orizuru: a max and a min tree over the winners of the units below.

use super::orizuru_tree::{OrizuruTree, Side, TreeStyle};
use super::winner::{OutWinner, WinnerType, WinnersBelowPort};
use crate::lang::{
    About, Block, In, Module, Out, OutOption, Timing, bit, bits_for, connect_all, parameters, ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OrizuruUpper {
        /// Units below.
        radix: u32 = 16, in power_of_two(2..=4096), tag "r";
        /// Width of a key in bits.
        key_width: u32 = 16, in 1..=64, tag "w";
        /// Width in bits of the index that a unit below delivers.
        index_width: u32 = 4, in 1..=32, tag "i";
        /// How its two trees are built.
        tree: TreeStyle = TreeStyle::default();
    }
    rules = |p, rules| p.tree.fits(p.radix, rules);
}

ports! {
    /// Ports of [`OrizuruUpper`]: for each side, the winners of the units below, and the winner among them.
    pub struct OrizuruUpperPorts(p: &OrizuruUpper) {
        /// Drops the decisions in progress at this edge: no done follows for them.
        clear_i: In = bit(),
        /// All units below are initialised.
        init_i: In = bit(),
        /// For a cycle: both trees are initialised, from this cycle on.
        init_done_o: Out = bit(),
        /// The largest leaves of the units below.
        max_below: WinnersBelowPort = (p.radix, p.below()),
        /// The largest of all.
        max: OutWinner = p.winner(),
        /// The smallest leaves of the units below.
        min_below: WinnersBelowPort = (p.radix, p.below()),
        /// The smallest of all.
        min: OutWinner = p.winner(),
        /// Comparisons made in this cycle.
        compared_o: OutOption = uint(bits_for(4 * u64::from(p.radix))).when(p.tree.count_comparisons),
    }
}

impl OrizuruUpper {
    /// What each unit below delivers.
    #[must_use]
    pub fn below(&self) -> WinnerType {
        WinnerType { key_width: self.key_width, index_width: self.index_width }
    }

    /// What the unit delivers on each side.
    #[must_use]
    pub fn winner(&self) -> WinnerType {
        WinnerType { key_width: self.key_width, index_width: self.index_width + self.radix.ilog2() }
    }

    /// One of the two trees.
    pub(super) fn of_side(&self, side: Side) -> OrizuruTree {
        OrizuruTree {
            side,
            radix: self.radix,
            key_width: self.key_width,
            index_width: self.index_width,
            pairs_given: false,
            tree: self.tree.clone(),
        }
    }
}

impl Block for OrizuruUpper {
    type Ports = OrizuruUpperPorts;
    const ABOUT: About = About {
        name: "orizuru_upper",
        summary: "largest and smallest winner of the units below",
        contract: "As orizuru_unit, with the winners of the units below in place of leaves. A pop goes down to the\n\
            unit that the winner comes from; that unit's done starts the maintenance here.",
        reference: "KLLM, section IV-C and table I (273 units of 16 inputs)",
    };

    fn build(&self, m: &mut Module, io: &OrizuruUpperPorts) {
        let levels = self.radix.ilog2();
        let sides = [(Side::Max, io.max_below, io.max), (Side::Min, io.min_below, io.min)];
        let [max, min] = sides.map(|(side, below, port)| {
            let name = side.name();
            let tree = m.instance(&format!("u_{name}_tree"), self.of_side(side));
            m.connect_each(&format!("{name}_keys"), tree.key_i, below.key);
            m.connect_each(&format!("{name}_leaves"), tree.available_i, below.available);
            if let Some(index) = tree.index_i {
                m.connect_each(&format!("{name}_indices"), index, below.index);
            }
            connect_all!(m, tree, io, [clear_i, init_i]);
            m.connect(tree.update_i, below.done.packed().any());
            tree.connect_winner(m, &port);
            let path = m.wire(&format!("{name}_path"), tree.index_o.slice(self.index_width..self.index_width + levels));
            m.for_each(&format!("{name}_pops"), self.radix, |m, i| {
                m.connect(below.pop.at(i), port.pop & path.eq(i.value(levels)));
            });
            tree
        });
        m.connect(io.init_done_o, max.init_done_o);
        if let (Some(count), Some(a), Some(b)) = (io.compared_o, max.compared_o, min.compared_o) {
            m.connect(count, (a + b).extend(count.width()));
        }
    }

    fn timing(&self) -> Timing {
        self.of_side(Side::Max).timing()
    }
}
