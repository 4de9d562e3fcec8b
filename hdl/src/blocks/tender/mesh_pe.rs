//! The contract of a processing element in the mesh of [`MultiScaleArrayOf`](super::MultiScaleArrayOf): any block that
//! implements [`MeshPe`] can be its PE.
//!
//! A PE has its neighbours' operands and controls at its inputs and passes them on a cycle later. It adds a product to
//! its sum in each cycle. When the row moves, it shows its own sum, and then the sums of its left neighbours.

use std::fmt::Debug;

use super::tender_pe::Drain;
use crate::lang::{
    About, Block, In, InOption, Module, Out, OutOption, PortBuilder, Ports, Rules, Signal, Type, bit, bits_for, ports,
    sint, uint,
};

/// A processing element of an array.
///
/// What its ports do, all in the words of [`MeshPePorts`]:
///
/// - **Passed on.** `first`, `last`, `rescale`, `act` and `weight` come out one cycle later. The controls are 0 after reset.
/// - **The sum.** `first`: it starts from zero and forgets its flag. Then the step's product is added, or the step's rescale
///   is done. The sum has its new value [`ranks`](Self::ranks) + 1 cycles after the step was at the inputs.
/// - **No product.** An activation whose bits are all 0 adds nothing, whatever the weight is. The array sends it in cycles
///   without a step, and with a rescale.
/// - **Flag.** `overflow_o` belongs to the sum in `result_o`: some step of the sum did not fit.
/// - **[`Drain::Double`].** A register keeps the sum after the step with `last`, from the cycle after it is complete, until
///   `drain_i`. From then on it takes `result_i` and `overflow_i`, one cycle later. [`RowOfSums`](super::RowOfSums) is this
///   register.
/// - **[`Drain::Single`].** `result_o` is the sum. From `drain_i` until the next `first` the accumulator takes `result_i`,
///   and its flag `overflow_i`.
/// - **Any time.** A tile may begin in any cycle, so `first` may come before `last`. A reset may come in any cycle.
///
/// The bench of the array compares each sum and each flag in its cycle, so it also finds a PE that breaks this contract.
///
/// A PE whose sums are exclusive ors of products, in a crate of its own:
///
/// ```
/// use hdl::blocks::tender::{Drain, MeshPe, MeshPePorts, MeshPorts, MultiScaleArrayOf, RowOfSums, array_of};
/// use hdl::lang::*;
///
/// parameters! {
///     /// Elaboration parameters.
///     pub struct ParityPe {
///         /// Width of an operand in bits.
///         width: u32 = 4, in 1..=8, tag "w";
///     }
/// }
///
/// impl Block for ParityPe {
///     type Ports = MeshPePorts;
///     const ABOUT: About = About {
///         name: "parity_pe",
///         summary: "exclusive or of products",
///         contract: "acc' = (first_i ? 0 : acc) ^ (act_i x weight_i).",
///         reference: "",
///     };
///
///     fn build(&self, m: &mut Module, io: &MeshPePorts) {
///         // Operands and controls go on to the neighbours.
///         let passed = io.pass_on(m);
///         let acc = m.reg("acc_q", sint(self.sum_bits()));
///         let base = m.wire("base", mux(!io.first_i, acc.q, 0));
///         acc.next(base ^ io.act_i * io.weight_i);
///         // Sums leave while the next tile runs. No step overflows.
///         let never = bit().lit(0);
///         RowOfSums::of(&io.mesh()).register(m, passed.last, (acc.q, never));
///     }
/// }
///
/// impl MeshPe for ParityPe {
///     const ARRAY: About = array_of("parity_array", "systolic array of exclusive ors", "");
///
///     fn operand_bits(&self) -> u32 {
///         self.width
///     }
///
///     fn sum_bits(&self) -> u32 {
///         // An operand has one more bit for its sign.
///         2 * self.width + 2
///     }
///
///     fn drain(&self) -> Drain {
///         Drain::Double
///     }
///
///     fn assumes(&self) -> bool {
///         false
///     }
///
///     fn mesh_ports(io: &MeshPePorts) -> MeshPorts {
///         io.mesh()
///     }
/// }
///
/// let array = MultiScaleArrayOf::<ParityPe> { rows: 2, columns: 3, int8: false, ..MultiScaleArrayOf::default() };
/// let design = elaborate(&array)?;
/// assert!(design.top_name().starts_with("parity_array"));
/// let modules: Vec<_> = design.verilog().into_iter().map(|file| file.name).collect();
/// assert!(modules.contains(&"parity_pe_w4.v".to_owned()), "{modules:?}");
/// # Ok::<(), ElabError>(())
/// ```
pub trait MeshPe: Block + Default + Debug + PartialEq + Eq {
    /// Name and contract of the array of such PEs. [`array_of`] makes it of a name. No other block may have this name.
    const ARRAY: About;

    /// Bits of an operand as it enters the array, 1 to 64.
    fn operand_bits(&self) -> u32;

    /// Its lowest bits that are an integer, 1 to all. The array adds one bit above them: the integer's sign, or 0.
    /// All other bits are passed on as they are.
    fn integer_bits(&self) -> u32 {
        self.operand_bits()
    }

    /// Bits of a sum, signed, 2 to 64.
    fn sum_bits(&self) -> u32;

    /// Largest amount of a rescale; 0: the PE has no port for it. Mostly a rescale by n makes a sum 2^n times as large.
    fn max_rescale(&self) -> u32 {
        0
    }

    /// How sums leave.
    fn drain(&self) -> Drain;

    /// Registers between the operands and the sum: with 0 the sum has a step's product in the next cycle. A PE with such
    /// registers is built for short paths. Then the edges of the array have more registers, too.
    fn ranks(&self) -> u32 {
        0
    }

    /// Whether its formal section assumes something about its inputs. Then the array has no formal section: the assumptions
    /// would hide what the array does wrong.
    fn assumes(&self) -> bool;

    /// The ports, of the PE itself or of an instance.
    fn mesh_ports(io: &Self::Ports) -> MeshPorts;

    /// Demands on PEs in an array. The names of parameters begin with `pe.`.
    fn demand_in_array(&self, rules: &mut Rules) {
        let _ = rules;
    }

    /// Whether operands are integers and nothing else. Then 2 x 2 PEs can multiply operands of twice the width.
    fn has_integers_only(&self) -> bool {
        self.integer_bits() == self.operand_bits()
    }

    /// Type of an operand between PEs.
    fn lane(&self) -> Type {
        let bits = self.operand_bits() + 1;
        if self.has_integers_only() { sint(bits) } else { uint(bits) }
    }

    /// Width of the amount of a rescale, where there is one.
    fn amount_bits(&self) -> Option<u32> {
        Some(self.max_rescale()).filter(|&most| most > 0).map(|most| bits_for(most.into()))
    }
}

/// The description of an array of PEs of another kind.
#[must_use]
pub const fn array_of(name: &'static str, summary: &'static str, reference: &'static str) -> About {
    let contract = "A tile is the steps from `first` to `last`. Sum (r, c) starts at 0; a step with rescale = n > 0\n\
        rescales it by n as the PE does. Any other step adds the product of act[r] and weight[c] as the PE\n\
        computes it.\n\
        An operand is an integer, and in some PEs further bits above it. act_signed and weight_signed tell how to\n\
        read the integers.\n\
        int8: logical operand i is element 2i (low) and 2i + 1 (high); sum (i, j) comes out of row 2i + 1.\n\
        Row r shows its sums in consecutive cycles, last column first; a tile in int8 mode in every second\n\
        cycle. The first one comes r + columns + 1 cycles after the step with `last`. With the parameter int8\n\
        it comes r + columns + 2 cycles after it, and r + columns + 3 if the tile is in int8 mode. If a PE has\n\
        n > 0 ranks of registers before its sum, all that is n + 1 cycles later, n + 3 with the parameter int8.\n\
        overflow_o: an accumulator of this sum left its range at some step; the sum may be wrong.\n\
        step_ready_o is low while a step would disturb sums that have not left. Double drain holds back a step\n\
        with `last` for columns - 1 cycles after the last one, single drain any step for columns + 1 cycles.\n\
        Results must be taken when valid.\n\
        A tile may be broken off at any time by a step with `first`: none of its sums is shown. Steps that no\n\
        `first` begins, and tiles whose steps differ in int8, have sums without meaning, at the right time.\n\
        They disturb no other tile. Reset drops tiles and sums on their way.";
    About { name, summary, contract, reference }
}

/// The ports of a PE as the array sees them. A pair is the input and the output that passes it on.
#[derive(Clone, Debug)]
pub struct MeshPorts {
    /// First step of a tile.
    pub first: (Signal, Signal),
    /// Last step of a tile.
    pub last: (Signal, Signal),
    /// Amount of a rescale, or 0; where the PE has it.
    pub rescale: Option<(Signal, Signal)>,
    /// Activation from left to right. An operand may have several ports: the lowest bits first, together as wide as
    /// [`MeshPe::lane`].
    pub act: Vec<(Signal, Signal)>,
    /// Weight from above, likewise.
    pub weight: Vec<(Signal, Signal)>,
    /// Input: the row starts to shift its sums out.
    pub drain: Signal,
    /// Sums from left to right.
    pub result: (Signal, Signal),
    /// Their flags.
    pub overflow: (Signal, Signal),
}

ports! {
    /// Ports of a PE with nothing special: a PE can take this list as its own, `type Ports = MeshPePorts`.
    pub struct MeshPePorts(p: &MeshPeWidths) {
        /// First step of a tile, at any time: the sum starts from zero.
        first_i: In = bit(),
        /// Amount of a rescale, 0 in all other steps.
        rescale_i: InOption = p.amount.map(uint),
        /// Last step of a tile.
        last_i: In = bit(),
        /// Activation from the left neighbour.
        act_i: In = p.lane,
        /// Weight from the neighbour above.
        weight_i: In = p.lane,
        /// The row starts to shift its sums out.
        drain_i: In = bit(),
        /// Sum of the left neighbour.
        result_i: In = sint(p.sum),
        /// Its overflow flag.
        overflow_i: In = bit(),
        /// `first_i`, one cycle later.
        first_o: Out = bit(),
        /// `rescale_i`, one cycle later.
        rescale_o: OutOption = p.amount.map(uint),
        /// `last_i`, one cycle later.
        last_o: Out = bit(),
        /// `act_i`, one cycle later.
        act_o: Out = p.lane,
        /// `weight_i`, one cycle later.
        weight_o: Out = p.lane,
        /// The sum that leaves; unknown until the first tile.
        result_o: Out = sint(p.sum),
        /// Some step of the sum in `result_o` did not fit; moves with it.
        overflow_o: Out = bit(),
    }
}

/// The types in [`MeshPePorts`].
#[derive(Clone, Debug)]
pub struct MeshPeWidths {
    /// Type of an operand between PEs.
    pub lane: Type,
    /// Width of the amount of a rescale, where there is one.
    pub amount: Option<u32>,
    /// Width of a sum.
    pub sum: u32,
}

impl<P: MeshPe> Ports<P> for MeshPePorts {
    #[track_caller]
    fn declare(builder: &mut PortBuilder, pe: &P) -> Self {
        let widths = MeshPeWidths { lane: pe.lane(), amount: pe.amount_bits(), sum: pe.sum_bits() };
        <Self as Ports<MeshPeWidths>>::declare(builder, &widths)
    }
}

/// The controls of the step before, and its operands: what goes on to the neighbours.
#[derive(Clone, Copy, Debug)]
pub struct PassedOn {
    /// First step of a tile.
    pub first: Signal,
    /// Last step of a tile: the sum is complete if the PE has no ranks of registers.
    pub last: Signal,
    /// Amount of a rescale, where the PE has it.
    pub rescale: Option<Signal>,
    /// Activation.
    pub act: Signal,
    /// Weight.
    pub weight: Signal,
}

impl MeshPePorts {
    /// The ports as the array sees them.
    #[must_use]
    pub fn mesh(&self) -> MeshPorts {
        MeshPorts {
            first: (self.first_i, self.first_o),
            last: (self.last_i, self.last_o),
            rescale: self.rescale_i.zip(self.rescale_o),
            act: vec![(self.act_i, self.act_o)],
            weight: vec![(self.weight_i, self.weight_o)],
            drain: self.drain_i,
            result: (self.result_i, self.result_o),
            overflow: (self.overflow_i, self.overflow_o),
        }
    }

    /// The registers that pass operands and controls on. Inside of the PE.
    pub fn pass_on(&self, m: &mut Module) -> PassedOn {
        let mut control = |name: &str, input: Signal, output: Signal| {
            let passed = m.reg_init(name, input.ty(), 0);
            passed.next(input);
            m.connect(output, passed.q);
            passed.q
        };
        let first = control("first_q", self.first_i, self.first_o);
        let last = control("last_q", self.last_i, self.last_o);
        let rescale = self.rescale_i.zip(self.rescale_o).map(|(input, output)| control("rescale_q", input, output));
        let mut operand = |name: &str, input: Signal, output: Signal| {
            let passed = m.reg(name, input.ty());
            passed.next(input);
            m.connect(output, passed.q);
            passed.q
        };
        let act = operand("act_q", self.act_i, self.act_o);
        let weight = operand("weight_q", self.weight_i, self.weight_o);
        PassedOn { first, last, rescale, act, weight }
    }
}
