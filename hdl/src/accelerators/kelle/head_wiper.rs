//! Empties heads: the rows of their tokens are forgotten, and their lists begin anew.

use super::attention_spec::AttentionSpec;
use crate::lang::{About, Block, In, Module, Out, bit, bits_for, mux, parameters, ports, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct HeadWiper {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

ports! {
    /// Ports of [`HeadWiper`].
    pub struct HeadWiperPorts(p: &HeadWiper) {
        /// Empty all heads, whatever else goes on.
        all_i: In = bit(),
        /// Empty some; nothing else goes on.
        start_i: In = bit(),
        /// The first head.
        first_i: In = p.spec.head(),
        /// How many; not 0.
        count_i: In = uint(bits_for(p.spec.heads.into())),
        /// Heads are being emptied; high after a reset.
        busy_o: Out = bit(),
        /// The head.
        head_o: Out = p.spec.head(),
        /// Its row, counted from its first one; a row is done in this cycle.
        entry_o: Out = p.spec.position(),
        /// It is the last row of the head.
        last_o: Out = bit(),
    }
}

impl Block for HeadWiper {
    type Ports = HeadWiperPorts;
    const ABOUT: About = About {
        name: "head_wiper",
        summary: "rows of heads that are to be emptied, one a cycle",
        contract: "busy_o while rows of heads come, each head's from 0 on; after a reset the rows of all heads.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &HeadWiperPorts) {
        let spec = &self.spec;
        let count_ty = uint(bits_for(spec.heads.into()));
        let left = m.reg_init("left_q", count_ty, u64::from(spec.heads));
        let head = m.reg_init("head_q", spec.head(), 0);
        let entry = m.reg_init("entry_q", spec.position(), 0);
        let busy = m.wire("busy", left.q.any());
        let last = m.wire("last", entry.q.eq(spec.entries() - 1));
        let ends = m.wire("ends", busy & last);
        let restart = m.wire("restart", io.all_i | io.start_i);
        left.next(select(
            &[(io.all_i, count_ty.lit(spec.heads)), (io.start_i, io.count_i), (ends, left.q.wrapping_sub(1))],
            left.q,
        ));
        head.next(select(
            &[(io.all_i, spec.head().lit(0)), (io.start_i, io.first_i), (ends, head.q.wrapping_add(1))],
            head.q,
        ));
        let none = spec.position().lit(0);
        entry.next(mux(restart | ends, none, mux(busy, entry.q.wrapping_add(1), entry.q)));
        m.connect(io.busy_o, busy);
        m.connect(io.head_o, head.q);
        m.connect(io.entry_o, entry.q);
        m.connect(io.last_o, last);
    }
}
