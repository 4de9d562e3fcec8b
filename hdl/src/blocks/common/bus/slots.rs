//! Places of a DMA's commands, from their check to their completion, in order.

use super::axi::AxiSpec;
use super::dma::{Checked, DmaCompletion, DmaSpec, Rows, rows_bits};
use crate::lang::{
    About, Block, Bundle, Field, In, InStream, Module, Out, OutStream, Signal, Type, bit, bits_for, bundle,
    index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AxiSlots {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The DMA.
        dma: DmaSpec = DmaSpec::default();
        /// Data of a command moves as soon as it is checked: its rows need no place.
        at_once: bool = false, tag "at_once";
    }
}

impl AxiSlots {
    fn spec(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }

    fn index(&self) -> Type {
        uint(index_width(self.dma.commands.into()))
    }
}

bundle! {
    /// A command whose data moves.
    pub struct Job(dma: DmaSpec) {
        /// Its place.
        slot: Field = uint(index_width(dma.commands.into())),
        /// Its rows, as [`Rows`](super::dma::Rows).
        rows: Field = uint(rows_bits(dma)),
    }
}

bundle! {
    /// An error of the bus.
    pub struct Fault(p: (AxiSpec, DmaSpec)) {
        /// There is one.
        now: Field = bit(),
        /// Place of the command that it hits.
        slot: Field = uint(index_width(p.1.commands.into())),
        /// As `xRESP`.
        error: Field = uint(2),
        /// Address of the burst.
        address: Field = uint(p.0.address_width),
    }
}

ports! {
    /// Ports of [`AxiSlots`].
    pub struct AxiSlotsPorts(p: &AxiSlots) {
        /// Forgets all commands at the coming edge; nothing is taken or given in this cycle.
        clear_i: In = bit(),
        /// Commands as they are checked.
        checked: InStream<Checked> = p.spec(),
        /// Place that the next checked command takes.
        next_o: Out = p.index(),
        /// Commands whose data moves, in order, without refused commands.
        job: OutStream<Job> = p.dma.clone(),
        /// An error, at most one a command.
        fault: crate::lang::InBundle<Fault> = p.spec(),
        /// A command is done.
        end_i: In = bit(),
        /// Its place.
        end_slot_i: In = p.index(),
        /// Ends of commands, in order.
        completion: OutStream<DmaCompletion> = p.axi.clone(),
        /// Commands in places.
        used_o: Out = uint(bits_for(p.dma.commands.into())),
    }
}

impl Block for AxiSlots {
    type Ports = AxiSlotsPorts;
    const ABOUT: About = About {
        name: "axi_slots",
        summary: "places of a DMA's commands, from check to completion",
        contract: "job shows a command from the cycle after its check on, completion from the cycle after its end\n\
            on. Both are in order.\n\
            With at_once, job is taken in the first cycle in which it is shown.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AxiSlotsPorts) {
        let places = self.dma.commands;
        let ty = self.index();
        let count_ty = uint(bits_for(places.into()));
        let pointer = |m: &mut Module, name: &str, step: Signal| {
            let at = m.reg_init(name, ty, 0);
            let next = super::records::wrapping_next(at.q, places - 1);
            at.next(mux(io.clear_i, ty.lit(0), mux(step, next, at.q)));
            at.q
        };
        let counter = |m: &mut Module, name: &str, up: Signal, down: Signal| {
            let count = m.reg_init(name, count_ty, 0);
            let moved = count.q.wrapping_add(up.extend(count_ty.width)).wrapping_sub(down.extend(count_ty.width));
            count.next(mux(io.clear_i, count_ty.lit(0), moved));
            count.q
        };
        let enter = m.wire("enter", io.checked.fire());
        let start = m.net("start", bit());
        let leave = m.wire("leave", io.completion.fire());
        let enter_at = pointer(m, "enter_q", enter);
        let start_at = pointer(m, "start_q", start);
        let leave_at = pointer(m, "leave_q", leave);
        let used = counter(m, "used_q", enter, leave);
        // Places with commands whose data does not move yet.
        let waiting = counter(m, "waiting_q", enter, start);
        m.connect(io.checked.ready, used.lt(places) & !io.clear_i);
        m.connect(io.next_o, enter_at);
        m.connect(io.used_o, used);

        let rows_ty = uint(io.checked.rows.width());
        let rows = (!self.at_once).then(|| m.regs("rows", rows_ty, places));
        let address = m.regs("address", uint(self.axi.address_width), places);
        let error = m.regs("error", uint(3), places);
        let refused = m.regs("refused", bit(), places);
        let done = m.regs("done", bit(), places);
        let refuses = m.wire("refuses", io.checked.refusal.any());
        m.for_each("places", places, |m, i| {
            let mine = i.value(ty.width);
            let enters = m.wire("enters", enter & enter_at.eq(mine));
            // The end of a command, once shown, stays, whatever the bus does.
            let fails = m.wire("fails", io.fault.now & io.fault.slot.eq(mine) & !done.q.at(i));
            let ends = m.wire("ends", io.end_i & io.end_slot_i.eq(mine));
            if let Some(rows) = &rows {
                rows.next_when(m, i, enters, io.checked.rows);
            }
            address.next_when(m, i, enters | fails, mux(enters, io.checked.address, io.fault.address));
            error.next_when(m, i, enters | fails, mux(enters, io.checked.refusal, io.fault.error.extend(3)));
            refused.next_when(m, i, enters, refuses);
            done.next_when(m, i, enters | ends, mux(enters, refuses, ends));
        });
        // A command that was refused has no data.
        let skip = m.wire("skip", refused.q.at(start_at));
        let waits = m.wire("waits", waiting.any() & !io.clear_i);
        m.connect(io.job.valid, waits & !skip);
        m.connect(io.job.slot, start_at);
        match &rows {
            Some(rows) => m.connect(io.job.rows, rows.q.at(start_at)),
            None => {
                let latest = m.reg("rows_q", rows_ty);
                latest.next(io.checked.rows);
                m.connect(io.job.rows, latest.q);
            }
        }
        m.connect(start, waits & (skip | io.job.ready));
        m.connect(io.completion.valid, used.any() & done.q.at(leave_at) & !io.clear_i);
        m.connect(io.completion.error, error.q.at(leave_at));
        m.connect(io.completion.address, address.q.at(leave_at));
        m.formal(|m| {
            if self.at_once {
                m.assert_always("moves_at_once", !io.job.valid | io.job.ready);
            }
            if places.is_power_of_two() {
                let low = |count: Signal| super::resize::resize(count, ty.width);
                m.assert_always("places_fit", used.le(places) & waiting.le(used));
                m.assert_always("enters_behind_the_last", enter_at.eq(leave_at.wrapping_add(low(used))));
                m.assert_always("starts_in_order", enter_at.eq(start_at.wrapping_add(low(waiting))));
                let Some(rows) = &rows else { return };
                for i in 0..places {
                    let taken = ty.lit(i).wrapping_sub(leave_at).lt(used);
                    let work = Rows::unpack(m, &format!("formal_{i}"), &self.dma, rows.q.at(i));
                    m.unused(work.odd);
                    m.unused(work.alternates);
                    let some = work.row_bytes.any() & work.rows.any();
                    m.assert_always(&format!("has_work_{i}"), !taken | refused.q.at(i) | some);
                }
            }
        });
    }
}
