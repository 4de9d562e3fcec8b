//! Loops of one turn and of several, products in sums, inputs of instances that are read again.

use hdl::lang::*;

use super::Lane;

parameters! {
    /// The same description with any number of groups; one group leaves no loop.
    pub struct Groups {
        /// number of groups
        groups: u32 = 3, in 1..=3, tag "";
    }
}

ports! {
    /// Its ports.
    pub struct GroupsPorts(p: &Groups) {
        key_i: In = uint(4),
        x_i: InArray = sint(8).array(4 * p.groups),
        y_o: OutArray = sint(8).array(4 * p.groups),
        hit_o: OutArray = bit().array(p.groups),
        above_o: OutArray = bit().array(p.groups),
        held_o: OutArray = uint(4).array(p.groups),
        table_o: OutArray = uint(4).array(p.groups),
        stored_o: OutArray = uint(4).array(p.groups),
        sum_o: OutArray = uint(4).array(2 * p.groups),
    }
}

impl Block for Groups {
    type Ports = GroupsPorts;
    const ABOUT: About = About {
        name: "groups",
        summary: "a demonstration",
        contract: "hit_o[g] = (key_i == g), above_o[g] = (key_i > g); y_o follows x_i since its group was hit; \
            held_o[g] is key_i of the last hit, and 0 before the first.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &GroupsPorts) {
        m.for_each("group", self.groups, |m, g| {
            let hit = m.wire("hit", io.key_i.eq(g.value(4)));
            m.connect(io.hit_o.at(g), hit);
            m.connect(io.above_o.at(g), io.key_i.gt(g.value(4)));
            let held = m.reg_init("held_q", uint(4), 0);
            held.next_when(hit, io.key_i);
            m.connect(io.held_o.at(g), held.q);
            let values = [io.key_i, held.q, uint(4).lit(9)];
            let table = m.lookup("choice", g.value(2), &values);
            m.connect(io.table_o.at(g), table);
            let store = m.memory("store", 4, 4, 4);
            store.write(hit, io.key_i.slice(0..2), held.q);
            let stored = store.read("stored", !hit, io.key_i.slice(0..2));
            m.connect(io.stored_o.at(g), stored);
            m.for_each("item", 4, |m, i| {
                let lane = m.instance("u_lane", Lane {});
                m.connect(lane.first_i, hit);
                m.connect(lane.x_i, mux(hit, io.x_i.at(g * 4 + i), sint(8).lit(-128)));
                m.connect(io.y_o.at(g * 4 + i), lane.y_o);
            });
        });
        m.for_each("half", 2, |m, h| {
            m.for_each("part", self.groups, |m, g| {
                let sum = m.wire("sum", io.key_i.wrapping_add(h.value(4)).wrapping_add(g.value(4)));
                m.connect(io.sum_o.at(g * 2 + h), sum);
            });
        });
        m.formal(|m| {
            m.for_each("check", self.groups, |m, g| {
                m.assert_always("hit_is_not_above", !(io.hit_o.at(g) & io.above_o.at(g)));
                m.cover("first_of_group_is_seven", io.y_o.at(g * 4).eq(7));
            });
            m.for_each("value", 3, |m, v| {
                m.assert_always("sums_differ", io.sum_o.at(0).ne((v + 1).value(4)) | io.key_i.any())
            });
        });
    }
}

demo! {
    /// Products extended, cut, alone in sums and shared; signed and unsigned.
    Products ProductsPorts "products" "what the names say." {
        a_i: In = sint(8),
        b_i: In = sint(8),
        c_i: In = sint(5),
        sum_i: In = sint(24),
        wide_o: Out = sint(24),
        cut_o: Out = sint(9),
        named_o: Out = sint(24),
        unnamed_o: Out = sint(24),
        extended_o: Out = sint(24),
        less_o: Out = sint(24),
        grown_o: Out = sint(25),
        dot_o: Out = sint(17),
        negative_o: Out = bit(),
        shared_o: Out = sint(24),
        rounded_o: Out = sint(17),
        masked_o: Out = sint(12),
        unsigned_wide_o: Out = uint(24),
        unsigned_sum_o: Out = uint(24),
    } |m, io| {
        let product = || io.a_i * io.b_i;
        m.connect(io.wide_o, product().extend(24));
        m.connect(io.cut_o, (io.c_i * io.a_i).truncate(9));
        let named = m.wire("named", product());
        m.connect(io.named_o, io.sum_i.wrapping_add(named));
        m.connect(io.unnamed_o, product().extend(24).wrapping_add(io.sum_i));
        let extended = m.wire("extended", product().extend(24));
        m.connect(io.extended_o, io.sum_i.wrapping_add(extended));
        m.connect(io.less_o, io.sum_i.wrapping_sub(product()));
        m.connect(io.grown_o, io.sum_i - product());
        m.connect(io.dot_o, product() + io.c_i * io.a_i);
        m.connect(io.negative_o, io.sum_i.wrapping_add(product()).lt(0));
        let shared = m.wire("shared", product()).extend(24);
        m.connect(io.shared_o, mux(io.c_i.eq(0), shared, io.sum_i.wrapping_add(shared)));
        m.connect(io.rounded_o, product() + 8);
        let masked = (io.a_i & io.b_i) * io.c_i;
        m.connect(io.masked_o, masked.truncate(12));
        let (a, b) = (io.a_i.as_uint(), io.b_i.as_uint());
        m.connect(io.unsigned_wide_o, (a * b).extend(24));
        m.connect(io.unsigned_sum_o, io.sum_i.as_uint().wrapping_add(a * b));
    }
}

demo! {
    /// What goes into an instance is read again, before and after it.
    ReadBack ReadBackPorts "read_back" "y_o is the largest x_i since it was 0; start_o and x_o are what the lane got." {
        x_i: In = sint(8),
        again_o: Out = bit(),
        start_o: Out = bit(),
        x_o: Out = sint(8),
        y_o: Out = sint(8),
    } |m, io| {
        let lane = m.instance("u_lane", Lane {});
        let both = m.wire("both", lane.first_i & lane.again_o);
        m.connect(lane.first_i, !io.x_i.any());
        m.connect(lane.x_i, io.x_i);
        m.connect(io.again_o, both);
        m.connect(io.start_o, lane.first_i);
        m.connect(io.x_o, lane.x_i);
        m.connect(io.y_o, lane.y_o);
    }
}
