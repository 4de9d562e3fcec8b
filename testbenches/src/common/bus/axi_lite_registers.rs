//! Registers on AXI4-Lite, signal by signal: addresses and data in any order, both answers stalled, hardware that sets
//! and shows at the same time, resets.

use std::collections::VecDeque;

use golden::common::bus::axi_lite_registers::{Field, Kind, Registers, words};
use hdl::blocks::common::AxiLiteRegisters;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{In, Out, Run, Sim};

/// The bench of `axi_lite_registers`; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &AxiLiteRegisters) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let fields = words(p.controls, p.statuses, p.events, p.counters);
        let mut ports = Vec::new();
        let numbered = |name: &str, count: u32| (0..count).map(|i| format!("{name}_{i}")).collect::<Vec<_>>();
        let events = if p.events > 0 { vec!["events".to_owned(), "enables".to_owned()] } else { Vec::new() };
        let names =
            [events, numbered("control", p.controls), numbered("status", p.statuses), numbered("counter", p.counters)];
        for (name, field) in names.concat().iter().zip(&fields) {
            ports.push(FieldPins::find(sim, name, field)?);
        }
        let irq_o = sim.output("irq_o")?;
        accesses(sim, run, fields, &ports, |sim, run, r| {
            let raised = p.events > 0 && r.value(0) & r.value(1) != 0;
            run.expect_u64(sim, irq_o, raised.into())
        })
    })
}

/// The ports of a field.
pub struct FieldPins {
    back: Option<In>,
    out: Option<Out>,
}

impl FieldPins {
    /// Finds them by the field's name.
    ///
    /// # Errors
    /// A port is missing.
    pub fn find(sim: &Sim, name: &str, field: &Field) -> sim::Result<Self> {
        let (back, out) = match field.kind {
            Kind::Constant(_) => (None, None),
            Kind::ReadWrite(_) | Kind::Pulse => (None, Some("_o")),
            Kind::ReadOnly => (Some("_i"), None),
            Kind::Sticky => (Some("_set_i"), Some("_o")),
            Kind::Command => (Some("_busy_i"), Some("_o")),
        };
        let back = back.map(|suffix| sim.input(&format!("{name}{suffix}"))).transpose()?;
        let out = out.map(|suffix| sim.output(&format!("{name}{suffix}"))).transpose()?;
        Ok(Self { back, out })
    }
}

/// One channel that the host drives: an offer stays until it is taken.
struct Offer<T> {
    valid: In,
    ready: Out,
    now: Option<T>,
}

impl<T: Clone> Offer<T> {
    fn new(sim: &Sim, name: &str) -> sim::Result<Self> {
        let valid = sim.input(&format!("ctrl_{name}valid_i"))?;
        Ok(Self { valid, ready: sim.output(&format!("ctrl_{name}ready_o"))?, now: None })
    }

    fn drive(&mut self, sim: &mut Sim, more: bool, make: impl FnOnce() -> T) -> Option<T> {
        if self.now.is_none() && more {
            self.now = Some(make());
        }
        sim.poke_u64(self.valid, self.now.is_some().into());
        self.now.clone()
    }

    fn taken(&mut self, sim: &Sim) -> Option<T> {
        if sim.peek_u64(self.ready) == 1 { self.now.take() } else { None }
    }
}

/// Random accesses in random order, with hardware that shows and sets at random; `also` checks further outputs.
///
/// # Errors
/// A mismatch, or an error of the simulation.
pub fn accesses(
    sim: &mut Sim,
    run: &mut Run,
    fields: Vec<Field>,
    pins: &[FieldPins],
    also: impl Fn(&mut Sim, &mut Run, &Registers) -> sim::Result<()>,
) -> sim::Result<()> {
    let (mut rng, mut choose) = (run.rng("pace"), run.rng("accesses"));
    let (awaddr, wdata, wstrb) = (sim.input("ctrl_awaddr_i")?, sim.input("ctrl_wdata_i")?, sim.input("ctrl_wstrb_i")?);
    let (araddr, bready, rready) =
        (sim.input("ctrl_araddr_i")?, sim.input("ctrl_bready_i")?, sim.input("ctrl_rready_i")?);
    let (bvalid, bresp) = (sim.output("ctrl_bvalid_o")?, sim.output("ctrl_bresp_o")?);
    let (rvalid, rresp, rdata) =
        (sim.output("ctrl_rvalid_o")?, sim.output("ctrl_rresp_o")?, sim.output("ctrl_rdata_o")?);
    let mut aw = Offer::<u32>::new(sim, "aw")?;
    let mut w = Offer::<(u32, u8)>::new(sim, "w")?;
    let mut ar = Offer::<u32>::new(sim, "ar")?;
    let span = fields.iter().map(|f| f.offset + 8).max().unwrap_or(0);
    let mut registers = Registers::new(fields.clone());
    let (mut addresses, mut data) = (VecDeque::new(), VecDeque::new());
    // Answers that stand on the bus: to a write, to a read.
    let (mut written, mut read): (Option<bool>, Option<Option<u32>>) = (None, None);
    sim.reset(1)?;
    for _ in 0..run.vectors() {
        if rng.random_range(0..500u16) == 0 {
            // Accesses under way are dropped.
            sim.reset(1)?;
            registers = Registers::new(fields.clone());
            (aw.now, w.now, ar.now, written, read) = (None, None, None, None, None);
            addresses.clear();
            data.clear();
        }
        let hurry = rng.random_range(1..4u8);
        let mut more = || rng.random_range(0..4u8) < hurry;
        let (write_address, write_data, read_address, take_written, take_read) =
            (more(), more(), more(), more(), more());
        let mut noise = |sim: &mut Sim, pin: In, value: Option<u64>| {
            let width = sim.port_of_input(pin).width;
            sim.poke_u64(pin, value.unwrap_or_else(|| rng.random::<u64>() >> (64 - width)));
        };
        let offered = aw.drive(sim, write_address, || address(&mut choose, span));
        noise(sim, awaddr, offered.map(u64::from));
        let offered = w.drive(sim, write_data, || (choose.random(), choose.random_range(0..16)));
        noise(sim, wdata, offered.map(|(data, _)| data.into()));
        noise(sim, wstrb, offered.map(|(_, strobes)| strobes.into()));
        let offered = ar.drive(sim, read_address, || address(&mut choose, span));
        noise(sim, araddr, offered.map(u64::from));
        sim.poke_u64(bready, take_written.into());
        sim.poke_u64(rready, take_read.into());
        let mut shown = vec![0; fields.len()];
        for ((pins, field), shown) in pins.iter().zip(&fields).zip(&mut shown) {
            let Some(back) = pins.back else { continue };
            // Events are rare, so that they are seen one by one.
            let rare = field.kind == Kind::Sticky && choose.random_range(0..4u8) != 0;
            *shown = if rare { 0 } else { choose.random::<u64>() >> (64 - field.width) };
            sim.poke_u64(back, *shown);
        }
        sim.settle()?;
        run.expect_u64(sim, bvalid, written.is_some().into())?;
        if let Some(okay) = written {
            run.expect_u64(sim, bresp, if okay { 0 } else { 2 })?;
        }
        run.expect_u64(sim, rvalid, read.is_some().into())?;
        if let Some(answer) = read {
            run.expect_u64(sim, rresp, if answer.is_some() { 0 } else { 2 })?;
            run.expect_u64(sim, rdata, answer.unwrap_or(0).into())?;
        }
        // One of each waits at most.
        run.expect_u64(sim, ar.ready, read.is_none().into())?;
        run.expect_u64(sim, aw.ready, addresses.is_empty().into())?;
        run.expect_u64(sim, w.ready, data.is_empty().into())?;
        // A read shows the registers before this cycle's write.
        match ar.taken(sim) {
            Some(address) => read = Some(registers.read(address, &shown).ok()),
            None if take_read => read = None,
            None => {}
        }
        // A write is done when all of it is there and no answer is in the way.
        let free = written.is_none() || take_written;
        let now = if free { addresses.front().copied().zip(data.front().copied()) } else { None };
        let mut pulses = vec![0; fields.len()];
        let mut after = registers.clone();
        if let Some((address, (data, strobes))) = now {
            let done = after.write(address, data, strobes);
            written = Some(done.is_ok());
            pulses = done.unwrap_or(pulses);
        } else if take_written {
            written = None;
        }
        for (i, pins) in pins.iter().enumerate() {
            let Some(out) = pins.out else { continue };
            let expected = match fields[i].kind {
                Kind::Pulse | Kind::Command => pulses[i],
                _ => registers.value(i),
            };
            run.expect_u64(sim, out, expected)?;
            if fields[i].kind == Kind::Sticky {
                after.set(i, shown[i]);
            }
        }
        also(sim, run, &registers)?;
        if now.is_some() {
            addresses.pop_front();
            data.pop_front();
        }
        addresses.extend(aw.taken(sim));
        data.extend(w.taken(sim));
        registers = after;
        sim.tick()?;
    }
    Ok(())
}

/// Any byte of a word, mostly in the map, sometimes after its end.
fn address(rng: &mut StimulusRng, span: u32) -> u32 {
    match rng.random_range(0..8u8) {
        0 => rng.random_range(0..4096),
        _ => rng.random_range(0..span),
    }
}
