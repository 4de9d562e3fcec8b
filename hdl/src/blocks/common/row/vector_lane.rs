//! The steps of a vector unit for one element, before and after the norm of its row.

use super::pipe::later;
use crate::blocks::common::{FloatAdd, FloatFunction, FloatMul, FloatTable, FloatToInt};
use crate::lang::{About, Block, In, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct VectorLane {
        /// The function of the step activate.
        function: FloatFunction = FloatFunction::Silu, tag "";
        /// Ranks of registers in each product.
        mul_stages: u32 = 2, in 0..=32, tag "m";
        /// Ranks of registers in the sum.
        add_stages: u32 = 2, in 0..=32, tag "a";
        /// Ranks of registers in the function.
        table_stages: u32 = 5, in 0..=32, tag "t";
        /// Registers between the units and after the last FIFO too, so that no path goes through two units.
        apart: bool = false, tag "apart";
    }
    rules = |p, rules| {
        rules.part("mul_stages", &p.mul());
        rules.part("add_stages", &p.adder());
        rules.part("table_stages", &p.table());
    };
}

ports! {
    /// Ports of [`VectorLane`].
    pub struct VectorLanePorts(p: &VectorLane) {
        /// Multiply by scale_i. This input is steady while anything is inside, as are all steps.
        scale_step_i: In = bit(),
        /// Then add addend_i.
        add_step_i: In = bit(),
        /// Then apply the function.
        activate_step_i: In = bit(),
        /// Then multiply by factor_i.
        multiply_step_i: In = bit(),
        /// fp16; steady while anything is inside.
        scale_i: In = uint(16),
        /// The element, fp16.
        x_i: In = uint(16),
        /// Its addend, fp16.
        addend_i: In = uint(16),
        /// Its factor, fp16.
        factor_i: In = uint(16),
        /// The element after all steps, [`VectorLane::latency`] cycles later.
        y_o: Out = uint(16),
    }
}

impl VectorLane {
    fn mul(&self) -> FloatMul {
        FloatMul { stages: self.mul_stages, ..FloatMul::default() }
    }

    fn adder(&self) -> FloatAdd {
        FloatAdd { stages: self.add_stages, ..FloatAdd::default() }
    }

    fn table(&self) -> FloatTable {
        FloatTable { function: self.function, stages: self.table_stages, ..FloatTable::default() }
    }

    /// Cycles from an element to its result.
    #[must_use]
    pub fn latency(&self) -> u32 {
        2 * self.mul_stages + self.add_stages + self.table_stages + 1 + 3 * self.between()
    }

    /// Ranks of registers between two units.
    fn between(&self) -> u32 {
        u32::from(self.apart)
    }
}

impl Block for VectorLane {
    type Ports = VectorLanePorts;
    const ABOUT: About = About {
        name: "vector_lane",
        summary: "scale, add, activate and multiply one fp16 number, each step by choice",
        contract: "y_o is x_i after the chosen steps, in the order scale, add, activate, multiply. Each step rounds to nearest,\n\
            ties to even.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &VectorLanePorts) {
        let ports = m.instance("u_scale", self.mul());
        m.connect(ports.valid_i, 1);
        m.connect(ports.a_i, io.x_i);
        m.connect(ports.b_i, io.scale_i);
        m.unused(ports.valid_o);
        let between = self.between();
        let scaled = chosen(m, "scaled", io.scale_step_i, ports.result_o, io.x_i, self.mul_stages);
        let scaled = later(m, "scaled", scaled, between);

        let addend = later(m, "addend", io.addend_i, self.mul_stages + between);
        let ports = m.instance("u_add", self.adder());
        m.connect(ports.valid_i, 1);
        m.connect(ports.a_i, scaled);
        m.connect(ports.b_i, addend);
        m.unused(ports.valid_o);
        let sum = chosen(m, "sum", io.add_step_i, ports.result_o, scaled, self.add_stages);
        let sum = later(m, "sum", sum, between);

        let ports = m.instance("u_activate", self.table());
        m.connect(ports.valid_i, 1);
        m.connect(ports.a_i, sum);
        m.unused(ports.valid_o);
        let active = chosen(m, "active", io.activate_step_i, ports.result_o, sum, self.table_stages);
        let active = later(m, "active", active, between);

        let before = self.mul_stages + self.add_stages + self.table_stages + 3 * between;
        let factor = later(m, "factor", io.factor_i, before);
        let ports = m.instance("u_multiply", self.mul());
        m.connect(ports.valid_i, 1);
        m.connect(ports.a_i, active);
        m.connect(ports.b_i, factor);
        m.unused(ports.valid_o);
        let y = chosen(m, "y", io.multiply_step_i, ports.result_o, active, self.mul_stages);
        let y = later(m, "y_out", y, 1);
        m.connect(io.y_o, y);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

/// The result of a step, or its operand as many cycles later.
#[track_caller]
fn chosen(m: &mut Module, name: &str, step: Signal, result: Signal, otherwise: Signal, stages: u32) -> Signal {
    let otherwise = later(m, &format!("{name}_without"), otherwise, stages);
    m.wire(name, mux(step, result, otherwise))
}

parameters! {
    /// Elaboration parameters.
    pub struct RequantizeLane {
        /// Ranks of registers in the product.
        mul_stages: u32 = 2, in 0..=32, tag "m";
        /// Ranks of registers in the conversion.
        int_stages: u32 = 2, in 0..=32, tag "i";
        /// Registers before and between the units too, so that no path goes through two units.
        apart: bool = false, tag "apart";
    }
    rules = |p, rules| {
        rules.part("mul_stages", &p.mul());
        rules.part("int_stages", &p.integer());
    };
}

ports! {
    /// Ports of [`RequantizeLane`].
    pub struct RequantizeLanePorts(p: &RequantizeLane) {
        /// To an integer of 8 bits; steady while anything is inside.
        int8_i: In = bit(),
        /// To an integer of 4 bits; steady while anything is inside; not together with int8_i.
        int4_i: In = bit(),
        /// Factor of an element before it becomes an integer, fp16; steady while anything is inside.
        quantizer_i: In = uint(16),
        /// The element, fp16.
        x_i: In = uint(16),
        /// fp16, or the integer in the low bits with its sign above, [`RequantizeLane::latency`] cycles later.
        y_o: Out = uint(16),
        /// y_o is a saturated integer, an integer from a NaN, an infinity or a NaN.
        overflow_o: Out = bit(),
    }
}

impl RequantizeLane {
    fn mul(&self) -> FloatMul {
        FloatMul { stages: self.mul_stages, ..FloatMul::default() }
    }

    fn integer(&self) -> FloatToInt {
        FloatToInt { width: 8, stages: self.int_stages, flags: true, ..FloatToInt::default() }
    }

    /// Cycles from an element to its result.
    #[must_use]
    pub fn latency(&self) -> u32 {
        self.mul_stages + self.int_stages + 1 + 2 * u32::from(self.apart)
    }
}

impl Block for RequantizeLane {
    type Ports = RequantizeLanePorts;
    const ABOUT: About = About {
        name: "requantize_lane",
        summary: "an fp16 number as it is, or times a factor and rounded to an integer",
        contract: "With int8_i or int4_i, y_o = x_i * quantizer_i, rounded to fp16, then to an integer (both to\n\
            nearest, ties to even), and saturated. A NaN gives 0. Otherwise y_o = x_i.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RequantizeLanePorts) {
        let between = u32::from(self.apart);
        let x = later(m, "x_in", io.x_i, between);
        let product = m.instance("u_scale", self.mul());
        m.connect(product.valid_i, 1);
        m.connect(product.a_i, x);
        m.connect(product.b_i, io.quantizer_i);
        m.unused(product.valid_o);
        let integer = m.instance("u_integer", self.integer());
        m.connect(integer.valid_i, 1);
        let scaled = later(m, "scaled", product.result_o, between);
        m.connect(integer.a_i, scaled);
        m.unused(integer.valid_o);
        if let Some(inexact) = integer.flags.inexact_o {
            m.unused(inexact);
        }
        let invalid = m.wire("invalid", integer.flags.invalid_o.unwrap_or(bit().lit(0)));
        let x = later(m, "x", x, self.mul_stages + self.int_stages + between);

        let byte = m.wire("whole_byte", integer.result_o.as_uint());
        let sign = byte.bit(7);
        let fits = m.wire("fits", byte.slice(3..8).all() | !byte.slice(3..8).any());
        let limit = cat(&[sign, (!sign).repeat(3)]);
        let nibble = m.wire("nibble", mux(fits, byte.slice(0..4), limit));
        let narrow = |value: Signal| cat(&[value.msb().repeat(16 - value.width()), value]);
        let y = select(&[(io.int8_i, narrow(byte)), (io.int4_i, narrow(nibble))], x);
        let special = m.wire("special", x.slice(10..15).all());
        let overflow = select(&[(io.int8_i, invalid), (io.int4_i, invalid | !fits)], special);
        let y = m.wire("y_now", y);
        let y = later(m, "y", y, 1);
        let overflow = m.wire("overflow_now", overflow);
        let overflow = later(m, "overflow", overflow, 1);
        m.connect(io.y_o, y);
        m.connect(io.overflow_o, overflow);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}
