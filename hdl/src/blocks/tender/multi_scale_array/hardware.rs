//! The array put together.

use super::super::mesh_pe::MeshPe;
use super::{MultiScaleArrayOf, MultiScaleArrayPorts};
use crate::lang::{About, Block, Module, Signal, Timing, bit, cat, sint, uint};

impl<P: MeshPe> Block for MultiScaleArrayOf<P> {
    type Ports = MultiScaleArrayPorts;
    const ABOUT: About = P::ARRAY;

    fn build(&self, m: &mut Module, io: &MultiScaleArrayPorts) {
        let pe = &self.pe;
        let (rows, columns) = (self.rows, self.columns);
        let operand = pe.lane();
        let first = m.grid("first", bit(), rows, columns + 1);
        let last = m.grid("last", bit(), rows, columns + 1);
        let rescale = pe.amount_bits().map(|bits| m.grid("rescale", uint(bits), rows, columns + 1));
        let act = m.grid("act", operand, rows, columns + 1);
        let weight = m.grid("weight", operand, rows + 1, columns);
        let result = m.grid("result", sint(pe.sum_bits()), rows, columns + 1);
        let overflow = m.grid("overflow", bit(), rows, columns + 1);
        let drain = m.nets("drain", bit(), rows);
        let mesh = super::edges::Mesh { first, last, rescale, act, weight };
        let entry = self.edges(m, io, &mesh);
        m.for_each("row", rows, |m, r| {
            m.connect(result.at((r, 0)), 0);
            m.connect(overflow.at((r, 0)), 0);
            let mut ended = last.at((r, columns));
            for rank in 1..=pe.ranks() {
                if rank == 1 {
                    m.comment("The product of the last step is in a register.");
                }
                let name = if rank == 1 { "adds_q".to_owned() } else { format!("adds_{rank}_q") };
                let adds = m.reg_init(&name, bit(), 0);
                adds.next(ended);
                ended = adds.q;
            }
            m.comment("The last column has its sum: from the next cycle on the row moves.");
            let starts = m.reg_init("starts_q", bit(), 0);
            starts.next(ended);
            m.connect(drain.at(r), starts.q);
            m.for_each("column", columns, |m, c| {
                let u = m.instance("u_pe", pe.clone());
                let u = P::mesh_ports(&u);
                m.connect(u.first.0, first.at((r, c)));
                m.connect(u.last.0, last.at((r, c)));
                enter(m, &u.act, act.at((r, c)));
                enter(m, &u.weight, weight.at((r, c)));
                m.connect(u.drain, drain.at(r));
                m.connect(u.result.0, result.at((r, c)));
                m.connect(u.overflow.0, overflow.at((r, c)));
                m.connect(first.at((r, c + 1)), u.first.1);
                m.connect(last.at((r, c + 1)), u.last.1);
                m.connect(act.at((r, c + 1)), leaving(&u.act));
                m.connect(weight.at((r + 1, c)), leaving(&u.weight));
                m.connect(result.at((r, c + 1)), u.result.1);
                m.connect(overflow.at((r, c + 1)), u.overflow.1);
                match (rescale, u.rescale) {
                    (Some(rescale), Some((input, output))) => {
                        m.connect(input, rescale.at((r, c)));
                        m.connect(rescale.at((r, c + 1)), output);
                    }
                    (None, None) => {}
                    (grid, _) => m.error(&format!(
                        "{} has max_rescale() = {} and {} for rescales: give it both or neither",
                        P::ABOUT.name,
                        pe.max_rescale(),
                        if grid.is_some() { "no ports" } else { "ports" },
                    )),
                }
            });
        });
        let leaving = super::drain::Leaving { result, overflow, starts: drain.at(0) };
        self.results(m, io, &leaving, &entry);
        self.properties(m, io, &mesh, (&leaving, drain));
    }

    fn timing(&self) -> Timing {
        let (rows, columns, late) = (self.rows, self.columns, self.before() + self.behind());
        Timing::new()
            .beat(1)
            .phase("skew", rows + columns - 2, "from a step in the first PE to the same step in the last PE")
            .phase(
                "first_sum",
                columns + 1 + late,
                "from the last step of a tile to its first sum; 1 more in int8 mode",
            )
            .phase("last_sum", rows + 2 * columns - 1 + late, "from the last step of a tile to its last sum")
    }
}

/// Connects an operand with the ports of a PE that take it.
fn enter(m: &mut Module, ports: &[(Signal, Signal)], operand: Signal) {
    if let [(only, _)] = ports {
        m.connect(*only, operand);
        return;
    }
    let (wide, mut low) = (operand.width(), 0);
    let all: u32 = ports.iter().map(|(input, _)| input.width()).sum();
    if all != wide {
        m.error(&format!("the ports for an operand have {all} bits together, and the PE's lane() has {wide}"));
        return;
    }
    for (input, _) in ports {
        let high = low + input.width();
        m.connect(*input, operand.slice(low..high).cast(input.ty()));
        low = high;
    }
}

/// The operand that a PE passes on.
fn leaving(ports: &[(Signal, Signal)]) -> Signal {
    if let [(_, only)] = ports {
        return *only;
    }
    cat(&ports.iter().rev().map(|(_, output)| *output).collect::<Vec<_>>())
}
