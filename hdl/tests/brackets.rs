//! Brackets that the rules of Verilog do not ask for, but readers do: operators of different kinds are never mixed without.

use hdl::lang::*;

parameters! {
    /// Nothing.
    struct Mixed {}
}

ports! {
    struct MixedPorts(p: &Mixed) {
        a_i: In = uint(4),
        b_i: In = uint(4),
        c_i: In = uint(4),
        and_or_o: Out = uint(4),
        xor_or_o: Out = uint(4),
        or_and_o: Out = uint(4),
        same_o: Out = uint(4),
        compared_o: Out = bit(),
        sum_o: Out = uint(4),
        choice_o: Out = uint(4),
    }
}

impl Block for Mixed {
    type Ports = MixedPorts;
    const ABOUT: About = About { name: "mixed", summary: "", contract: "", reference: "" };
    fn build(&self, m: &mut Module, io: &MixedPorts) {
        let (a, b, c) = (io.a_i, io.b_i, io.c_i);
        m.connect(io.and_or_o, (a & b) | c);
        m.connect(io.xor_or_o, (a ^ b) | (b ^ c));
        m.connect(io.or_and_o, (a | b) & c);
        m.connect(io.same_o, (a & b) & (c & b));
        m.connect(io.compared_o, a.lt(b) & b.eq(c));
        m.connect(io.sum_o, a.wrapping_sub(b.wrapping_sub(c)));
        m.connect(io.choice_o, mux(mux(a.any(), b.any(), c.any()), a, mux(b.all(), b, c)));
    }
}

#[test]
fn mixed_operators_have_brackets() {
    let text = elaborate(&Mixed {}).unwrap().verilog().remove(0).text;
    let value = |port: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(&format!("assign {port} "))).unwrap();
        line.split_once("= ").unwrap().1.trim_end_matches(';').to_owned()
    };
    for (port, expected) in [
        ("and_or_o", "(a_i & b_i) | c_i"),
        ("xor_or_o", "(a_i ^ b_i) | (b_i ^ c_i)"),
        ("or_and_o", "(a_i | b_i) & c_i"),
        // Chains of one operator need none.
        ("same_o", "a_i & b_i & c_i & b_i"),
        ("compared_o", "(a_i < b_i) & (b_i == c_i)"),
        ("sum_o", "a_i - (b_i - c_i)"),
        ("choice_o", "(|a_i ? |b_i : |c_i) ? a_i : &b_i ? b_i : c_i"),
    ] {
        assert_eq!(value(port), expected, "{port}\n{text}");
    }
}
