//! Registers on AXI4-Lite: the hardware of any register map, and a block with plain words for users without a map.

use num_bigint::BigUint;

use super::axi_lite::{AxiLite, AxiLiteSubordinate, response};
use crate::lang::registers::{Access, FieldPorts, Register, RegisterField, RegisterFields, Served};
use crate::lang::{
    About, Block, CatalogBlock, Module, Out, Proof, RegisterMap, RegisterPorts, Signal, Timing, bit, bits_for, cat,
    mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AxiLiteRegisters {
        /// Words that the host writes and reads.
        controls: u32 = 4, in 1..=256, tag "c";
        /// Words that the host reads.
        statuses: u32 = 4, in 0..=256, tag "s";
        /// Events that the host sees, clears, and may be interrupted by.
        events: u32 = 8, in 0..=32, tag "e";
        /// Counters of 64 bits that the host reads without tearing.
        counters: u32 = 0, in 0..=64, tag "n";
    }
}

/// The fields of [`AxiLiteRegisters`] that the interrupt depends on.
#[derive(Clone, Copy, Debug)]
pub struct EventFields {
    raised: Option<Signal>,
    enabled: Option<Signal>,
}

impl RegisterFields for EventFields {
    type Spec = AxiLiteRegisters;

    fn map(p: &AxiLiteRegisters) -> RegisterMap {
        let mut registers: Vec<Register> = Vec::new();
        let mut add = |name: &str, width, access, meaning: &str| {
            let offset = registers.last().map_or(0, |r| r.offset + 4 * r.words());
            let field = RegisterField { name: name.into(), low: 0, width, access, meaning: meaning.into() };
            registers.push(Register {
                name: name.to_uppercase(),
                offset,
                meaning: meaning.into(),
                fields: vec![field],
            });
        };
        if p.events > 0 {
            add("events", p.events, Access::Sticky, "Events that happened, one a bit.");
            add("enables", p.events, Access::ReadWrite(0), "Events that interrupt.");
        }
        for i in 0..p.controls {
            add(&format!("control_{i}"), 32, Access::ReadWrite(0), &format!("Control word {i}."));
        }
        for i in 0..p.statuses {
            add(&format!("status_{i}"), 32, Access::ReadOnly, &format!("Status word {i}."));
        }
        for i in 0..p.counters {
            add(&format!("counter_{i}"), 64, Access::ReadOnly, &format!("Counter {i}."));
        }
        RegisterMap { registers }
    }

    fn fields(ports: &mut dyn Iterator<Item = FieldPorts>) -> Self {
        let first = ports.next().unwrap_or_default();
        // Only events go both ways.
        let events = first.out.filter(|_| first.back.is_some());
        Self { raised: events, enabled: events.and_then(|_| ports.next()?.out) }
    }
}

ports! {
    /// Ports of [`AxiLiteRegisters`].
    pub struct AxiLiteRegistersPorts(p: &AxiLiteRegisters) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// The ports of the registers' fields.
        registers: RegisterPorts<EventFields> = p.clone(),
        /// Level: some event is up whose enable bit is set.
        irq_o: Out = bit(),
    }
}

impl Block for AxiLiteRegisters {
    type Ports = AxiLiteRegistersPorts;
    const ABOUT: About = About {
        name: "axi_lite_registers",
        summary: "control, status, event and counter registers on AXI4-Lite",
        contract: "Words of 32 bits from address 0 on: EVENTS (write 1 to clear; a set in the same cycle wins) and\n\
            ENABLES where there are events, control words, status words, counters of two words, the low one\n\
            first. Bytes without strobe keep their value; unused bits read as 0.\n\
            An address without a word, or a write to a word that cannot be written, is answered with SLVERR and\n\
            changes nothing.\n\
            The low word of a counter, when read, keeps the high word for the next read of that counter's high word.\n\
            Address and data of a write come in any order; a write shows in the outputs one cycle after the later of\n\
            both was taken. One read and one write are in flight at a time. Reset drops accesses in flight and\n\
            clears events, enables and control words.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022, part B",
    };

    fn build(&self, m: &mut Module, io: &AxiLiteRegistersPorts) {
        serve(m, &io.ctrl, &[&io.registers.served]);
        let pending = io.registers.raised.zip(io.registers.enabled).map(|(raised, enabled)| (raised & enabled).any());
        m.connect(io.irq_o, pending.unwrap_or_else(|| bit().lit(0)));
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(2)
    }
}

/// A part of a field in one word: the value that a read shows, and the effect of a write.
struct Part {
    /// Place in the word.
    low: u32,
    /// Shown when the word is read.
    shown: Signal,
}

/// The write of the bus in this cycle.
#[derive(Clone, Copy)]
struct Write {
    /// A word is written.
    now: Signal,
    word: Signal,
    data: Signal,
    /// Bits of the data that count: bits of bytes with a strobe.
    mask: Signal,
}

impl Write {
    /// Bits of a field that are written, and their new values; `hit` says that the field's word is written.
    fn bits(self, hit: Signal, low: u32, width: u32) -> (Signal, Signal) {
        (self.mask.slice(low..low + width) & hit.repeat(width), self.data.slice(low..low + width))
    }
}

/// The registers of `served` on the bus `ctrl`: all maps share the addresses. Mistakes of a map are errors of
/// elaboration.
#[track_caller]
pub fn serve(m: &mut Module, ctrl: &AxiLite, served: &[&Served]) {
    let whole = served.iter().fold(RegisterMap::default(), |all, s| all.with(s.map.clone()));
    let words = whole.registers.iter().map(|r| r.offset / 4 + r.words()).max().unwrap_or(1);
    let index_width = bits_for(u64::from(words)).max(1);
    m.unused(ctrl.awprot);
    m.unused(ctrl.arprot);
    let write = write_side(m, ctrl, index_width, &whole);
    let read = read_address(m, ctrl, index_width);
    let mut shown: Vec<Vec<Part>> = (0..words).map(|_| Vec::new()).collect();
    let mut high_words = Vec::new();
    for served in served {
        let mut ports = served.ports.iter();
        for register in &served.map.registers {
            let hits = hits(m, register, write);
            for field in &register.fields {
                let ports = ports.next().copied().unwrap_or_default();
                let value = field_hardware(m, &hits, field, ports, write);
                let word = (register.offset / 4) as usize;
                if field.width > 32 && field.access == Access::ReadOnly {
                    high_words.push((word as u32, value.slice(32..field.width).extend(32)));
                }
                for part in 0..(field.low + field.width).div_ceil(32) {
                    let high = (32 * (part + 1)).min(field.low + field.width);
                    let low = field.low.max(32 * part);
                    let bits = value.slice(low - field.low..high - field.low);
                    shown[word + part as usize].push(Part { low: low - 32 * part, shown: bits });
                }
            }
        }
    }
    let mapped = mapped(&whole, words);
    let values: Vec<Signal> = shown.iter().map(|parts| word_of(parts)).collect();
    read_side(m, ctrl, read, &values, &mapped, &high_words);
    properties(m, ctrl);
    m.serves(whole);
}

/// A word made of its parts; other bits are 0.
fn word_of(parts: &[Part]) -> Signal {
    let mut bits: Vec<Signal> = Vec::new();
    let mut free = 0;
    for part in parts {
        if part.low > free {
            bits.push(uint(part.low - free).lit(0));
        }
        bits.push(part.shown);
        free = part.low + part.shown.width();
    }
    if free < 32 {
        bits.push(uint(32 - free).lit(0));
    }
    bits.reverse();
    cat(&bits)
}

/// Whether there is a register at each word.
fn mapped(map: &RegisterMap, words: u32) -> Vec<bool> {
    let mut mapped = vec![false; words as usize];
    for r in &map.registers {
        let first = (r.offset / 4) as usize;
        mapped[first..first + r.words() as usize].fill(true);
    }
    mapped
}

/// Whether a write to each word does something.
fn writable(map: &RegisterMap, words: u32) -> Vec<bool> {
    let mut writable = vec![false; words as usize];
    for r in map.registers.iter().filter(|r| r.fields.iter().any(|f| f.access.is_writable())) {
        let first = (r.offset / 4) as usize;
        writable[first..first + r.words() as usize].fill(true);
    }
    writable
}

/// The word that an address names; the last place stands for all addresses past the map.
fn word_index(m: &mut Module, name: &str, address: Signal, index_width: u32) -> Signal {
    let word = address.slice(2..address.width());
    if word.width() <= index_width {
        return m.wire(name, word.extend(index_width));
    }
    let beyond = word.slice(index_width..word.width()).any();
    m.wire(name, word.truncate(index_width) | beyond.repeat(index_width))
}

/// Takes address and data of a write, in any order, and answers it once both are there.
fn write_side(m: &mut Module, ctrl: &AxiLite, index_width: u32, map: &RegisterMap) -> Write {
    let has_address = m.reg_init("has_address_q", bit(), 0);
    let has_data = m.reg_init("has_data_q", bit(), 0);
    let answered = m.reg_init("write_answered_q", bit(), 0);
    m.connect(ctrl.awready, !has_address.q);
    m.connect(ctrl.wready, !has_data.q);
    // The answer before this one may leave in the same cycle.
    let now = m.wire("write", has_address.q & has_data.q & (!answered.q | ctrl.bready));
    has_address.next((has_address.q | ctrl.awvalid) & !now);
    has_data.next((has_data.q | ctrl.wvalid) & !now);
    answered.next(now | (answered.q & !ctrl.bready));
    let address = m.reg("write_address_q", ctrl.awaddr.ty());
    address.next_when(!has_address.q, ctrl.awaddr);
    let data = m.reg("write_data_q", uint(32));
    data.next_when(!has_data.q, ctrl.wdata);
    let strobe = m.reg("write_strobe_q", uint(4));
    strobe.next_when(!has_data.q, ctrl.wstrb);
    let word = word_index(m, "write_word", address.q, index_width);
    let mask: Vec<Signal> = (0..4).rev().map(|byte| strobe.q.bit(byte).repeat(8)).collect();
    let mask = m.wire("write_mask", cat(&mask));
    let allowed = allowed(m, "write_allowed", word, &writable(map, 1 << index_width));
    let response = m.reg("write_response_q", uint(2));
    response.next_when(now, mux(allowed, uint(2).lit(response::OKAY), response::SLVERR));
    m.connect(ctrl.bvalid, answered.q);
    m.connect(ctrl.bresp, response.q);
    Write { now, word, data: data.q, mask }
}

/// Whether the word may be accessed.
fn allowed(m: &mut Module, name: &str, word: Signal, words: &[bool]) -> Signal {
    let set = words.iter().rev().fold(BigUint::ZERO, |set, &w| (set << 1u8) | BigUint::from(u8::from(w)));
    let set = m.wire(&format!("{name}_words"), uint(words.len() as u32).lit(set));
    m.wire(name, set.bit_at(word))
}

/// Takes the address of a read when no answer waits.
fn read_address(m: &mut Module, ctrl: &AxiLite, index_width: u32) -> (Signal, Signal) {
    let fire = m.wire("read", ctrl.arvalid & ctrl.arready);
    (fire, word_index(m, "read_word", ctrl.araddr, index_width))
}

/// Answers a read one cycle after its address.
fn read_side(
    m: &mut Module,
    ctrl: &AxiLite,
    (read, word): (Signal, Signal),
    values: &[Signal],
    mapped: &[bool],
    high_words: &[(u32, Signal)],
) {
    let answered = m.reg_init("read_answered_q", bit(), 0);
    m.connect(ctrl.arready, !answered.q);
    answered.next(read | (answered.q & !ctrl.rready));
    let places = 1usize << word.width();
    let mut values = values.to_vec();
    values.resize(places, uint(32).lit(0));
    let mut mapped = mapped.to_vec();
    mapped.resize(places, false);
    let mut value = m.lookup("read_value", word, &values);
    if !high_words.is_empty() {
        m.comment("The high word as it was when the low word was read, for one pair at a time.");
        let kept = m.reg("kept_high_q", uint(32));
        let kept_word = m.reg_init("kept_word_q", word.ty(), 0);
        let highs: Vec<Signal> = (0..places as u32)
            .map(|at| high_words.iter().find(|(low, _)| *low == at).map_or_else(|| uint(32).lit(0), |(_, high)| *high))
            .collect();
        let is_low: Vec<bool> = (0..places as u32).map(|at| high_words.iter().any(|(low, _)| *low == at)).collect();
        let high = m.lookup("read_high", word, &highs);
        let is_low = allowed(m, "reads_low", word, &is_low);
        kept.next_when(read & is_low, high);
        // Word 0 is never a high word, so that 0 says that none is kept.
        let follows = m.wire("read_kept", kept_word.q.any() & word.eq(kept_word.q));
        kept_word.next(mux(read & is_low, word.wrapping_add(1), mux(read & follows, word.ty().lit(0), kept_word.q)));
        value = m.wire("read_whole", mux(follows, kept.q, value));
    }
    let data = m.reg("read_data_q", uint(32));
    data.next_when(read, value);
    let response = m.reg("read_response_q", uint(2));
    let known = allowed(m, "read_allowed", word, &mapped);
    response.next_when(read, mux(known, uint(2).lit(response::OKAY), response::SLVERR));
    m.connect(ctrl.rvalid, answered.q);
    m.connect(ctrl.rdata, data.q);
    m.connect(ctrl.rresp, response.q);
}

/// Whether each word of a register is written; empty for a register that cannot be written.
fn hits(m: &mut Module, register: &Register, write: Write) -> Vec<Signal> {
    if !register.fields.iter().any(|f| f.access.is_writable()) {
        return Vec::new();
    }
    let name = register.name.to_lowercase();
    let hit = |part: u32| {
        let tail = if register.words() == 2 { ["_low", "_high"][part as usize] } else { "" };
        m.wire(&format!("write_{name}{tail}"), write.now & write.word.eq(register.offset / 4 + part))
    };
    (0..register.words()).map(hit).collect()
}

/// The hardware of a field; what a read of it shows.
fn field_hardware(m: &mut Module, hits: &[Signal], field: &RegisterField, ports: FieldPorts, write: Write) -> Signal {
    let ty = if field.width == 1 { bit() } else { uint(field.width) };
    let name = &field.name;
    let connect_out = |m: &mut Module, value: Signal| {
        if let Some(out) = ports.out {
            m.connect(out, value);
        }
    };
    let hit = |part: u32| hits[part as usize];
    match field.access {
        Access::Constant(value) => ty.lit(value),
        Access::ReadOnly => ports.back.unwrap_or_else(|| ty.lit(0)),
        Access::ReadWrite(reset) => {
            let held = m.reg_init(&format!("{name}_q"), ty, reset);
            let mut parts = Vec::new();
            for part in 0..(field.low + field.width).div_ceil(32) {
                let low = field.low.max(32 * part);
                let high = (field.low + field.width).min(32 * (part + 1));
                let hit = hit(part);
                let (mask, data) = write.bits(hit, low - 32 * part, high - low);
                let tail = if hits.len() == 2 { ["_low", "_high"][part as usize] } else { "" };
                let mask = m.wire(&format!("{name}_mask{tail}"), mask);
                let old = held.q.slice(low - field.low..high - field.low);
                parts.push((data & mask) | (old & !mask));
            }
            parts.reverse();
            held.next(cat(&parts).cast(ty));
            connect_out(m, held.q);
            held.q
        }
        Access::Sticky => {
            let held = m.reg_init(&format!("{name}_q"), ty, 0);
            let hit = hit(0);
            let (mask, data) = write.bits(hit, field.low, field.width);
            let set = ports.back.unwrap_or_else(|| ty.lit(0));
            // An event in the cycle of the clearing is not lost.
            held.next((held.q & !(data & mask)) | set);
            connect_out(m, held.q);
            held.q
        }
        Access::Pulse | Access::Command => {
            let hit = hit(0);
            let (mask, data) = write.bits(hit, field.low, field.width);
            connect_out(m, data & mask);
            ports.back.unwrap_or_else(|| ty.lit(0))
        }
    }
}

/// What is proved of any map: the rules of the bus, one answer for each access, and no access without one.
fn properties(m: &mut Module, ctrl: &AxiLite) {
    m.formal(|m| {
        let stable = |m: &mut Module, name: &str, valid: Signal, ready: Signal, payload: Signal| {
            let waits = m.reg_init(&format!("formal_{name}_waits_q"), bit(), 0);
            waits.next(valid & !ready);
            let before = m.reg(&format!("formal_{name}_before_q"), payload.ty());
            before.next(payload);
            m.wire(&format!("formal_{name}_stable"), !waits.q | (valid & payload.eq(before.q)))
        };
        for (name, valid, ready, payload) in [
            ("aw", ctrl.awvalid, ctrl.awready, ctrl.awaddr),
            ("w", ctrl.wvalid, ctrl.wready, cat(&[ctrl.wstrb, ctrl.wdata])),
            ("ar", ctrl.arvalid, ctrl.arready, ctrl.araddr),
        ] {
            let stable = stable(m, name, valid, ready, payload);
            m.assume(&format!("{name}_stays"), stable);
            m.cover(&format!("{name}_waits"), valid & !ready);
        }
        for (name, valid, ready, payload) in [
            ("b", ctrl.bvalid, ctrl.bready, ctrl.bresp),
            ("r", ctrl.rvalid, ctrl.rready, cat(&[ctrl.rresp, ctrl.rdata])),
        ] {
            let stable = stable(m, name, valid, ready, payload);
            m.assert_always(&format!("{name}_stays"), stable);
        }
        let owed = |m: &mut Module, name: &str, more: Signal, less: Signal| {
            let count = m.reg_init(&format!("formal_{name}_owed_q"), uint(3), 0);
            count.next(count.q.wrapping_add(more.extend(3)).wrapping_sub(less.extend(3)));
            count.q
        };
        let answered = m.wire("formal_answered", ctrl.bvalid & ctrl.bready);
        let addresses = owed(m, "address", ctrl.awvalid & ctrl.awready, answered);
        let words = owed(m, "word", ctrl.wvalid & ctrl.wready, answered);
        let reads = owed(m, "read", ctrl.arvalid & ctrl.arready, ctrl.rvalid & ctrl.rready);
        m.assert_always("answers_follow_address_and_data", !ctrl.bvalid | (addresses.any() & words.any()));
        m.assert_always("at_most_two_writes", addresses.le(2) & words.le(2));
        m.assert_always("one_answer_for_each_read", reads.eq(ctrl.rvalid.extend(3)));
        // A write is answered in the cycle after its address and data are there, unless the answer before it waits.
        let waiting = |owed: Signal| owed.gt(ctrl.bvalid.extend(3));
        let due = m.reg_init("formal_due_q", bit(), 0);
        due.next(waiting(addresses) & waiting(words) & (!ctrl.bvalid | ctrl.bready));
        m.assert_always("answered_at_once", !due.q | ctrl.bvalid);
        m.assert_always("answers_are_okay_or_slverr", !ctrl.bvalid | !ctrl.bresp.bit(0));
        m.cover("data_before_address", words.gt(addresses));
        m.cover("address_before_data", addresses.gt(words));
        m.cover("refused_write", ctrl.bvalid & ctrl.bresp.eq(response::SLVERR));
        m.cover("refused_read", ctrl.rvalid & ctrl.rresp.eq(response::SLVERR));
        m.cover("both_answers_wait", ctrl.bvalid & !ctrl.bready & ctrl.rvalid & !ctrl.rready);
    });
}

impl CatalogBlock for AxiLiteRegisters {
    fn configurations() -> Vec<Self> {
        let set = |controls, statuses, events, counters| Self { controls, statuses, events, counters };
        vec![set(1, 0, 0, 0), set(3, 2, 32, 3), set(2, 1, 1, 1)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { controls: 1, statuses: 1, events: 2, counters: 1 };
        vec![Proof { block, depth: 8, cover_depth: 10, induction: true }]
    }
}
