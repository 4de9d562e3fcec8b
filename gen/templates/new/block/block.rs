//! A running sum that stops at the ends of its range instead of wrapping around.
//!
//! This file has all of the block: contract, parameters, ports, hardware, golden model, bench, tests. Replace them from
//! the top by yours.

use senbazuru::prelude::*;

parameters! {
    /// Elaboration parameters.
    pub struct {{ type }} {
        /// Width of an addend in bits, signed.
        data_width: u32 = 8, in 2..=32, tag "d";
        /// Width of the sum in bits, signed.
        sum_width: u32 = 12, in 2..=64, note "at least data_width", tag "s";
    }
    rules = |p, rules| {
        rules.demand(p.sum_width >= p.data_width, "sum_width", p.sum_width, format!("{} to 64", p.data_width));
    };
}

ports! {
    /// Ports of [`{{ type }}`].
    pub struct {{ type }}Ports(p: &{{ type }}) {
        /// Forgets all that came before this cycle.
        clear_i: In = bit(),
        /// There is an addend in this cycle.
        valid_i: In = bit(),
        /// The addend.
        data_i: In = sint(p.data_width),
        /// The sum, up to the cycle before.
        sum_o: Out = sint(p.sum_width),
        /// The sum was clipped at least once since the last clear.
        clipped_o: Out = bit(),
    }
}

impl Block for {{ type }} {
    type Ports = {{ type }}Ports;
    // All of this is in the header of the Verilog, and in `info {{ name }}`.
    const ABOUT: About = About {
        name: "{{ name }}",
        summary: "running sum that saturates at the ends of its range",
        contract: "sum_o after an edge = saturate((clear_i ? 0 : sum_o) + (valid_i ? data_i : 0)) of the values before it.\n\
            clipped_o rises with the first sum that was clipped and falls with the next clear.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &{{ type }}Ports) {
        let sum = m.reg_init("sum_q", sint(self.sum_width), 0);
        let clipped = m.reg_init("clipped_q", bit(), 0);
        let base = m.wire("base", mux(!io.clear_i, sum.q, 0));
        let addend = m.wire("addend", mux(io.valid_i, io.data_i, 0));
        // One bit wider than the sum: nothing is lost before the clipping.
        let exact = m.wire("exact", base + addend);
        let next = m.wire("next", exact.saturate(self.sum_width));
        sum.next(next);
        clipped.next((clipped.q & !io.clear_i) | next.ne(exact));
        m.connect(io.sum_o, sum.q);
        m.connect(io.clipped_o, clipped.q);
        m.formal(|m| {
            // Wrapping around is what would break these.
            m.assert_always("rises_with_positive", addend.lt(0) | next.ge(base));
            m.assert_always("falls_with_negative", addend.ge(0) | next.le(base));
            let (lowest, highest) = sum.q.ty().range();
            m.cover("stops_at_the_top", clipped.q & sum.q.eq(highest));
            m.cover("stops_at_the_bottom", clipped.q & sum.q.eq(lowest));
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for {{ type }} {
    // Every check runs on these, too: the smallest, odd ones, every mode.
    fn configurations() -> Vec<Self> {
        let set = |data_width, sum_width| Self { data_width, sum_width };
        vec![set(2, 2), set(5, 7), set(16, 16), set(32, 33), set(32, 64)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { data_width: 3, sum_width: 4 }, depth: 8, cover_depth: 8, induction: true }]
    }
}

/// What the block must compute, from the contract alone: it shares no code with the hardware.
#[derive(Clone, Debug)]
struct Golden {
    low: i128,
    high: i128,
    sum: i128,
    clipped: bool,
}

impl Golden {
    /// An accumulator of `width` bits that holds 0.
    fn new(width: u32) -> Self {
        let half = 1i128 << (width - 1);
        Self { low: -half, high: half - 1, sum: 0, clipped: false }
    }

    /// One cycle: the sum after it, and whether a sum was clipped since the last clear.
    fn step(&mut self, clear: bool, data: Option<i64>) -> (i64, bool) {
        if clear {
            (self.sum, self.clipped) = (0, false);
        }
        let exact = self.sum + i128::from(data.unwrap_or(0));
        self.sum = exact.clamp(self.low, self.high);
        self.clipped |= self.sum != exact;
        (self.sum as i64, self.clipped)
    }
}

/// Drives the block under runs of large addends of one sign, which reach the ends, and random ones. A vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &{{ type }}) -> anyhow::Result<Box<dyn Bench>> {
    let {{ type }} { data_width, sum_width } = *p;
    sim::kit::bench(p, move |sim, run| {
        let mut golden = Golden::new(sum_width);
        let mut rng = run.rng("addends");
        let (clear_i, valid_i, data_i) = (sim.input("clear_i")?, sim.input("valid_i")?, sim.input("data_i")?);
        let (sum_o, clipped_o) = (sim.output("sum_o")?, sim.output("clipped_o")?);
        let (low, high) = (-1i64 << (data_width - 1), (1i64 << (data_width - 1)) - 1);
        let (mut kind, mut left) = (0, 0);
        sim.reset(2)?;
        for _ in 0..run.vectors() {
            if left == 0 {
                (kind, left) = (rng.random_range(0..3u8), rng.random_range(1..=40u32));
            }
            left -= 1;
            let data = match kind {
                0 => low,
                1 => high,
                _ => rng.random_range(low..=high),
            };
            let (clear, valid) = (rng.random_range(0..50u8) == 0, rng.random_range(0..4u8) != 0);
            sim.poke_u64(clear_i, clear.into());
            sim.poke_u64(valid_i, valid.into());
            // Also while it is not valid: it must not matter then.
            sim.poke_i64(data_i, data);
            sim.tick()?;
            let (sum, clipped) = golden.step(clear, valid.then_some(data));
            run.expect_i64(sim, sum_o, sum)?;
            run.expect_u64(sim, clipped_o, clipped.into())?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand.
    #[test]
    fn the_golden_model_stops_at_both_ends_and_comes_back() {
        let mut golden = Golden::new(4);
        let got = [5, 2, 1, -3].map(|data| golden.step(false, Some(data)));
        // What was clipped is lost: the sum leaves the end at once, and the flag stays.
        assert_eq!(got, [(5, false), (7, false), (7, true), (4, true)]);
        assert_eq!([golden.step(true, Some(-8)), golden.step(false, Some(-1))], [(-8, false), (-8, true)]);
    }

    #[test]
    fn hardware_and_golden_model_agree() {
        for report in run_all(bench, &options(2000)).unwrap() {
            assert!(report.compared >= 2000, "{report:?}");
        }
    }

    /// A bench that was never seen to fail proves nothing. `senbazuru mutate` tests it with faults that nobody thought
    /// of.
    #[test]
    fn broken_hardware_is_noticed() {
        let faults = [
            ("sums wrap around", Fault::net("next", "exact[5:0]").into("sum_q")),
            ("a clear keeps the sum", Fault::net("base", "sum_q")),
            ("what is not valid counts", Fault::net("valid_i", "1'b1")),
            ("a clear keeps the flag", Fault::net("clear_i", "1'b0").into("clipped_q")),
        ];
        must_be_noticed(&{{ type }} { data_width: 4, sum_width: 6 }, bench, 1000, &faults);
    }
}
