//! The multiply-add of KLLM's processing elements: fp16 factors, a register of its own for the sum.
//!
//! KLLM section IV-A: the same unit sums up distributions and multiplies outliers. The sum is fp16, or fp32.
//!
//! **Depth.** A sum in a fixed order needs the sum so far before it can round the next one. So the addition is one
//! cycle, and one product a cycle goes in, whatever the depth: more stages put registers in front of the addition
//! (operands, then the rounded product), never into its loop. A pipelined addition would have to keep several partial
//! sums, which changes the order of the additions and with it the result.

use super::fp16_product::Fp16Product;
use crate::blocks::common::{FloatAdd, FloatFma, FloatFormat, FloatMul, Subnormals};
use crate::lang::{About, Block, CatalogBlock, In, Module, Out, Signal, Timing, bit, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct Fp16Mac {
        /// Format of the sum.
        accumulate: FloatFormat = FloatFormat::Fp16, note "fp16 or fp32", tag "";
        /// One rounding a step; otherwise the product is rounded before the addition. The same in fp32, where it is
        /// exact.
        fused: bool = true, tag "fused";
        /// Ranks of registers from the operands to the sum, the sum's own among them.
        stages: u32 = 2, in 1..=3, note "at most 2 with fused in fp16", tag "s";
        /// What subnormal numbers do.
        subnormals: Subnormals = Subnormals::Ieee;
    }
    rules = |p, rules| {
        let format = p.accumulate;
        let known = matches!(format, FloatFormat::Fp16 | FloatFormat::Fp32);
        rules.demand(known, "accumulate", format.name(), "fp16, fp32");
        // A third rank holds the rounded product, which a fused step does not have.
        rules.demand(p.stages <= 2 || !p.fuses(), "stages", p.stages, "1 to 2 with fused in fp16, 1 to 3 without");
    };
}

ports! {
    /// Ports of [`Fp16Mac`].
    pub struct Fp16MacPorts(p: &Fp16Mac) {
        /// Everything moves on; otherwise everything holds.
        enable_i: In = bit(),
        /// There is a product in this cycle.
        valid_i: In = bit(),
        /// It starts a new sum, from +0.
        start_i: In = bit(),
        /// First factor, fp16.
        a_i: In = uint(16),
        /// Second factor, fp16.
        b_i: In = uint(16),
        /// The product that entered `stages` enabled cycles ago has just been added; low after reset.
        valid_o: Out = bit(),
        /// The sum up to the product that was added last; unknown before the first one.
        sum_o: Out = p.accumulate.ty(),
    }
}

impl Fp16Mac {
    /// Product and sum are rounded together; in fp32 the product is exact, and there is nothing to fuse.
    fn fuses(&self) -> bool {
        self.fused && self.accumulate == FloatFormat::Fp16
    }

    /// The product in the format of the sum: rounded in fp16, exact in fp32.
    fn product(&self, m: &mut Module, valid: Signal, a: Signal, b: Signal) -> Signal {
        if self.accumulate == FloatFormat::Fp32 {
            let u = m.instance("u_product", Fp16Product { subnormals: self.subnormals });
            m.connect(u.a_i, a);
            m.connect(u.b_i, b);
            return u.product_o;
        }
        let mul = FloatMul {
            format: self.accumulate,
            stages: 0,
            subnormals: self.subnormals,
            flags: false,
            ..FloatMul::default()
        };
        let u = m.instance("u_mul", mul);
        m.connect(u.valid_i, valid);
        m.connect(u.a_i, a);
        m.connect(u.b_i, b);
        u.result_o
    }
}

/// Operands on their way.
struct Step {
    valid: Signal,
    start: Signal,
}

impl Step {
    fn register(self, m: &mut Module, stage: u32, enable: Signal) -> Step {
        let valid = m.reg_init(&format!("valid_{stage}_q"), bit(), 0);
        let start = m.reg(&format!("start_{stage}_q"), bit());
        valid.next_when(enable, self.valid);
        start.next_when(enable, self.start);
        Step { valid: valid.q, start: start.q }
    }
}

fn hold(m: &mut Module, name: &str, enable: Signal, value: Signal) -> Signal {
    let register = m.reg(name, value.ty());
    register.next_when(enable, value);
    register.q
}

impl Block for Fp16Mac {
    type Ports = Fp16MacPorts;
    const ABOUT: About = About {
        name: "fp16_mac",
        summary: "fp16 multiply-add with its own register",
        contract: "Each enabled cycle with valid_i: sum = (start_i ? +0 : sum) + a_i * b_i, in the order of entry,\n\
            visible `stages` enabled cycles later. One rounding a step with fused or in fp32, otherwise two; to\n\
            nearest even. One product a cycle at any depth. Without enable_i everything holds. Reset drops all\n\
            products inside at any time; before the first product with start_i the sum is unknown.",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &Fp16MacPorts) {
        let enable = io.enable_i;
        let (format, subnormals) = (self.accumulate, self.subnormals);
        let mut step = Step { valid: io.valid_i, start: io.start_i };
        let (mut a, mut b) = (io.a_i, io.b_i);
        if self.stages >= 2 {
            step = step.register(m, 1, enable);
            (a, b) = (hold(m, "a_q", enable, a), hold(m, "b_q", enable, b));
        }
        let sum = m.reg("sum_q", format.ty());
        let from = |step: &Step| mux(!step.start, sum.q, 0);
        let next = if self.fuses() {
            let u = m.instance("u_fma", FloatFma { format, fused: true, stages: 0, subnormals, flags: false });
            m.connect(u.valid_i, step.valid);
            m.connect(u.a_i, a);
            m.connect(u.b_i, b);
            m.connect(u.c_i, from(&step));
            u.result_o
        } else {
            let mut product = self.product(m, step.valid, a, b);
            if self.stages == 3 {
                step = step.register(m, 2, enable);
                product = hold(m, "product_q", enable, product);
            }
            let u = m.instance("u_add", FloatAdd { format, stages: 0, subnormals, subtract: false, flags: false });
            m.connect(u.valid_i, step.valid);
            m.connect(u.a_i, product);
            m.connect(u.b_i, from(&step));
            u.result_o
        };
        sum.next_when(enable & step.valid, next);
        let valid = m.reg_init("valid_q", bit(), 0);
        valid.next_when(enable, step.valid);
        m.connect(io.valid_o, valid.q);
        m.connect(io.sum_o, sum.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.stages)
    }
}

impl CatalogBlock for Fp16Mac {
    fn configurations() -> Vec<Self> {
        use FloatFormat::{Fp16, Fp32};
        use Subnormals::{Flush, Ieee};
        let set = |accumulate, fused, stages, subnormals| Self { accumulate, fused, stages, subnormals };
        vec![
            set(Fp16, true, 1, Ieee),
            set(Fp16, false, 1, Flush),
            set(Fp16, false, 3, Ieee),
            set(Fp32, true, 2, Flush),
            set(Fp32, true, 3, Ieee),
            set(Fp32, false, 1, Ieee),
        ]
    }
}
