//! The mesh of `hdl::blocks::common::MacMesh` written in rust-hdl: same ports, same function, 16-bit operands (the only
//! width it multiplies) and 32-bit accumulators. A size is a type, made by a macro: `i * 16 + j` in a kernel is evaluated
//! as text, so the 16 must stand there as a number.

use rust_hdl::prelude::*;

/// Like `hdl::blocks::common::MacPe`.
#[derive(LogicBlock, Default)]
pub struct Pe {
    pub clock: Signal<In, Clock>,
    pub clear_i: Signal<In, Bit>,
    pub act_i: Signal<In, Signed<16>>,
    pub weight_i: Signal<In, Signed<16>>,
    pub clear_o: Signal<Out, Bit>,
    pub act_o: Signal<Out, Signed<16>>,
    pub weight_o: Signal<Out, Signed<16>>,
    pub acc_o: Signal<Out, Signed<32>>,
    clear: DFF<Bit>,
    act: DFF<Signed<16>>,
    weight: DFF<Signed<16>>,
    acc: DFF<Signed<32>>,
    product: Signal<Local, Signed<32>>,
}

impl Logic for Pe {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, clear, act, weight, acc);
        self.clear.d.next = self.clear_i.val();
        self.act.d.next = self.act_i.val();
        self.weight.d.next = self.weight_i.val();
        self.product.next = self.act_i.val() * self.weight_i.val();
        self.acc.d.next = self.acc.q.val() + self.product.val();
        if self.clear_i.val() {
            self.acc.d.next = self.product.val();
        }
        self.clear_o.next = self.clear.q.val();
        self.act_o.next = self.act.q.val();
        self.weight_o.next = self.weight.q.val();
        self.acc_o.next = self.acc.q.val();
    }
}

macro_rules! mesh {
    ($name:ident, $side:tt, $last:tt, $pes:tt) => {
        /// A square mesh; `row_i` is one-hot, and `acc_o` is 0 where it is 0.
        #[derive(LogicBlock)]
        pub struct $name {
            pub clock: Signal<In, Clock>,
            pub clear_i: [Signal<In, Bit>; $side],
            pub act_i: [Signal<In, Signed<16>>; $side],
            pub weight_i: [Signal<In, Signed<16>>; $side],
            pub row_i: Signal<In, Bits<$side>>,
            pub acc_o: [Signal<Out, Signed<32>>; $side],
            pe: [Pe; $pes],
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    clock: Signal::default(),
                    clear_i: std::array::from_fn(|_| Signal::default()),
                    act_i: std::array::from_fn(|_| Signal::default()),
                    weight_i: std::array::from_fn(|_| Signal::default()),
                    row_i: Signal::default(),
                    acc_o: std::array::from_fn(|_| Signal::default()),
                    pe: std::array::from_fn(|_| Pe::default()),
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                for i in 0..$pes {
                    self.pe[i].clock.next = self.clock.val();
                }
                for i in 0..$side {
                    self.pe[i * $side].clear_i.next = self.clear_i[i].val();
                    self.pe[i * $side].act_i.next = self.act_i[i].val();
                    self.pe[i].weight_i.next = self.weight_i[i].val();
                    self.acc_o[i].next = 0.into();
                }
                for i in 0..$side {
                    for j in 0..$last {
                        self.pe[i * $side + j + 1].clear_i.next = self.pe[i * $side + j].clear_o.val();
                        self.pe[i * $side + j + 1].act_i.next = self.pe[i * $side + j].act_o.val();
                        self.pe[j * $side + $side + i].weight_i.next = self.pe[j * $side + i].weight_o.val();
                    }
                }
                for i in 0..$side {
                    if self.row_i.val().get_bit(i) {
                        for j in 0..$side {
                            self.acc_o[j].next = self.pe[i * $side + j].acc_o.val();
                        }
                    }
                }
            }
        }
    };
}
mesh!(Mesh4, 4, 3, 16);
mesh!(Mesh8, 8, 7, 64);
mesh!(Mesh16, 16, 15, 256);
mesh!(Mesh64, 64, 63, 4096);

/// Verilog of a mesh, with its check, as a user of rust-hdl makes it. On a thread with a large stack: rust-hdl moves
/// whole designs by value.
pub fn verilog<M: Block + Default + 'static>() -> String {
    let work = || {
        let mut mesh = Box::new(M::default());
        mesh.connect_all();
        generate_verilog(&*mesh)
    };
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work);
    thread.expect("a thread").join().expect("rust-hdl accepts the mesh")
}
