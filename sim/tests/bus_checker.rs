//! Each rule of AXI4, broken once by hand-made signals, beside a sequence that differs little and is right.

use std::collections::BTreeSet;

use sim::bus::{
    Address, Channel, FIXED, INCR, Promises, ProtocolChecker, ReadData, Response, Rule, Side, Signals, WRAP, Wire,
    WriteData, WriteResponse,
};

const BUS: u32 = 4;

/// A way to break a rule: the last cycle of `bad` does, and `good` is right.
struct Case {
    rule: Rule,
    channel: Channel,
    /// What the report must show.
    shows: &'static str,
    promises: Promises,
    good: Vec<Signals>,
    bad: Vec<Signals>,
}

fn case(rule: Rule, channel: Channel, shows: &'static str, good: Vec<Signals>, bad: Vec<Signals>) -> Case {
    Case { rule, channel, shows, promises: Promises::none(), good, bad }
}

fn promise(promises: Promises, case: Case) -> Case {
    Case { promises, ..case }
}

fn ar(payload: Address) -> Signals {
    Signals { ar: Wire::passing(payload), ..Signals::default() }
}

fn aw(payload: Address) -> Signals {
    Signals { aw: Wire::passing(payload), ..Signals::default() }
}

fn w(strb: u128, last: bool) -> Signals {
    Signals { w: Wire::passing(data(strb, last)), ..Signals::default() }
}

fn data(strb: u128, last: bool) -> WriteData {
    WriteData { strb, last, ..WriteData::default() }
}

fn b(id: u64, resp: Response) -> Signals {
    Signals { b: Wire::passing(WriteResponse { id, resp }), ..Signals::default() }
}

fn r(id: u64, resp: Response, last: bool) -> Signals {
    Signals { r: Wire::passing(ReadData { id, resp, last, ..ReadData::default() }), ..Signals::default() }
}

fn idle() -> Signals {
    Signals::default()
}

/// The signals with every transfer waiting instead of passing.
fn waits(mut signals: Signals) -> Signals {
    for ready in
        [&mut signals.aw.ready, &mut signals.w.ready, &mut signals.b.ready, &mut signals.ar.ready, &mut signals.r.ready]
    {
        *ready = false;
    }
    signals
}

fn at(addr: u64, len: u8) -> Address {
    Address { addr, len, ..Address::default() }
}

fn request(change: impl Fn(&mut Address)) -> Address {
    let mut address = at(0x100, 0);
    change(&mut address);
    address
}

/// An address rule, on AW and on AR.
fn addresses(rule: Rule, shows: &'static str, good: Address, bad: Address) -> [Case; 2] {
    addresses_of(rule, shows, Promises::none(), good, bad)
}

fn addresses_of(rule: Rule, shows: &'static str, promises: Promises, good: Address, bad: Address) -> [Case; 2] {
    [
        promise(promises.clone(), case(rule, Channel::Ar, shows, vec![ar(good)], vec![ar(bad)])),
        promise(promises, case(rule, Channel::Aw, shows, vec![aw(good)], vec![waits(aw(bad))])),
    ]
}

const OKAY: Response = Response::Okay;

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    all.extend(handshakes());
    all.extend(requests());
    all.extend(bursts());
    all.extend(answers());
    all.extend(promises());
    all
}

fn handshakes() -> Vec<Case> {
    use Channel::{Ar, Aw, B, R, W};
    let open = || vec![ar(at(0x100, 1)), aw(at(0x200, 0)), w(0xf, true)];
    let held = |rule, channel, shows, before: Vec<Signals>, first: Signals, then: Signals| {
        let good = [before.clone(), vec![waits(first), waits(first), first]].concat();
        case(rule, channel, shows, good, [before, vec![waits(first), then]].concat())
    };
    let (address, beat) = (at(0x40, 3), r(0, OKAY, false));
    let mut moved = beat;
    moved.r.payload.data[0] = 5;
    vec![
        held(Rule::ValidHeld, Ar, "ARVALID fell while ARID 0, ARADDR 0x40", vec![], ar(address), idle()),
        held(Rule::ValidHeld, Aw, "AWVALID fell", vec![], aw(address), idle()),
        held(Rule::ValidHeld, W, "WVALID fell", vec![], w(3, false), idle()),
        held(Rule::ValidHeld, B, "BVALID fell", open(), b(0, OKAY), idle()),
        held(Rule::ValidHeld, R, "RVALID fell", open(), beat, idle()),
        held(Rule::PayloadHeld, Ar, "ARADDR was 0x40, now 0x44", vec![], ar(address), ar(at(0x44, 3))),
        held(Rule::PayloadHeld, Aw, "AWLEN was 3, now 2", vec![], aw(address), waits(aw(at(0x40, 2)))),
        held(Rule::PayloadHeld, W, "WSTRB was 0x3, now 0x1", vec![], w(3, true), w(1, true)),
        held(Rule::PayloadHeld, B, "BRESP was Okay, now SlvErr", open(), b(0, OKAY), b(0, Response::SlvErr)),
        held(Rule::PayloadHeld, R, "RDATA was 0x0, now 0x5", open(), beat, moved),
    ]
}

fn requests() -> Vec<Case> {
    let size = |size| request(|a| a.size = size);
    let cache = |cache| request(|a| a.cache = cache);
    let mut all: Vec<Case> = Vec::new();
    all.extend(addresses(Rule::BurstSize, "SIZE 3", size(2), size(3)));
    all.extend(addresses(Rule::IdWidth, "ID 16", request(|a| a.id = 15), request(|a| a.id = 16)));
    all.extend(addresses(Rule::Lock, "LOCK 2", request(|a| a.lock = 1), request(|a| a.lock = 2)));
    for reserved in [0b0100, 0b0101, 0b1000, 0b1001, 0b1100, 0b1101] {
        all.extend(addresses(Rule::CacheType, "CACHE 0b", cache(reserved | 0b10), cache(reserved)));
    }
    all
}

fn bursts() -> Vec<Case> {
    use Channel::W;
    let kind = |burst, addr, len| Address { burst, addr, len, ..Address::default() };
    let mut all: Vec<Case> = Vec::new();
    all.extend(addresses(Rule::BurstType, "BURST 0b11", kind(WRAP, 0x100, 3), kind(3, 0x100, 3)));
    all.extend(addresses(Rule::BurstLength, "LEN 2", kind(WRAP, 0x100, 1), kind(WRAP, 0x100, 2)));
    all.extend(addresses(Rule::BurstLength, "LEN 16", kind(FIXED, 0x100, 15), kind(FIXED, 0x100, 16)));
    all.extend(addresses(Rule::BurstLength, "LEN 31", kind(WRAP, 0x100, 15), kind(WRAP, 0x100, 31)));
    all.extend(addresses(Rule::WrapAlignment, "ADDR 0x102", kind(WRAP, 0x104, 3), kind(WRAP, 0x102, 3)));
    all.extend(addresses(Rule::Boundary, "ADDR 0xff8, ", kind(INCR, 0xff8, 1), kind(INCR, 0xff8, 2)));
    all.extend(addresses(Rule::Boundary, "LEN 255", kind(INCR, 0x1c00, 255), kind(INCR, 0x1c01, 255)).map(|mut c| {
        // An unaligned start ends with its last aligned word: 256 of them still fit; one word later they do not.
        let bad = kind(INCR, 0x1c04, 255);
        c.good[0].ar.payload = kind(INCR, 0x1c01, 255);
        c.good[0].aw.payload = kind(INCR, 0x1c01, 255);
        (c.bad[0].ar.payload, c.bad[0].aw.payload) = (bad, bad);
        c
    }));
    let two = || aw(at(0x100, 1));
    let early = |rule, shows, good: [Signals; 2], bad: [Signals; 2]| {
        // Data before the address: the fault shows when the address comes.
        let late = |beats: [Signals; 2]| [beats.to_vec(), vec![two()]].concat();
        case(rule, W, shows, late(good), late(bad))
    };
    let right = [w(0xf, false), w(0xf, true)];
    all.extend([
        case(
            Rule::Last,
            W,
            "WLAST is 1 in beat 1 of 2 of the write to 0x100",
            vec![two(), right[0], right[1]],
            vec![two(), w(0xf, true)],
        ),
        case(
            Rule::Last,
            W,
            "WLAST is 0 in beat 2 of 2",
            vec![two(), right[0], right[1]],
            vec![two(), right[0], w(0xf, false)],
        ),
        early(Rule::Last, "WLAST is 1 in beat 1 of 2", right, [w(0xf, true), w(0xf, true)]),
        case(
            Rule::StrobeLanes,
            W,
            "WSTRB 0x3 in beat 1 of 1 of the write to 0x102; its lanes are 0xc",
            vec![aw(at(0x102, 0)), w(0x8, true)],
            vec![aw(at(0x102, 0)), w(0x3, true)],
        ),
        case(
            Rule::StrobeLanes,
            W,
            "its lanes are 0x4",
            vec![aw(Address { size: 0, ..at(0x101, 1) }), w(2, false), w(4, true)],
            vec![aw(Address { size: 0, ..at(0x101, 1) }), w(2, false), w(2, true)],
        ),
        early(Rule::StrobeLanes, "WSTRB 0x1f", right, [w(0xf, false), w(0x1f, true)]),
    ]);
    all
}

fn answers() -> Vec<Case> {
    use Channel::{B, R};
    let read = |id, len| ar(Address { id, ..at(0x100, len) });
    let write = |id| aw(Address { id, ..at(0x100, 0) });
    let exclusive = || Address { lock: 1, ..at(0x100, 0) };
    let ok = Response::ExOkay;
    vec![
        case(
            Rule::ResponseOrder,
            R,
            "no read with ID 2 is open",
            vec![read(1, 0), r(1, OKAY, true)],
            vec![read(1, 0), r(2, OKAY, true)],
        ),
        case(
            Rule::ResponseOrder,
            R,
            "no read with ID 1",
            vec![read(1, 0), read(1, 0), r(1, OKAY, true)],
            vec![read(1, 0), r(1, OKAY, true), r(1, OKAY, true)],
        ),
        // Beats of different IDs mix; those of one ID belong to the oldest.
        case(
            Rule::Last,
            R,
            "RLAST is 1 in beat 1 of 2 of the read of 0x100",
            vec![read(1, 1), read(2, 0), r(1, OKAY, false), r(2, OKAY, true), r(1, OKAY, true)],
            vec![read(1, 1), read(1, 0), r(1, OKAY, true)],
        ),
        case(
            Rule::Last,
            R,
            "RLAST is 0 in beat 1 of 1",
            vec![read(1, 0), r(1, OKAY, true)],
            vec![read(1, 0), r(1, OKAY, false)],
        ),
        case(
            Rule::ResponseOrder,
            B,
            "no write with ID 2",
            vec![write(1), w(15, true), b(1, OKAY)],
            vec![write(1), w(15, true), b(2, OKAY)],
        ),
        case(
            Rule::Dependency,
            B,
            "the write to 0x100 with ID 2 lacks data",
            vec![write(1), write(2), w(15, true), w(15, true), b(2, OKAY), b(1, OKAY)],
            vec![write(1), write(2), w(15, true), b(2, OKAY)],
        ),
        case(
            Rule::ExclusiveResponse,
            B,
            "BRESP for the write to 0x100",
            vec![aw(exclusive()), w(15, true), b(0, ok)],
            vec![aw(at(0x100, 0)), w(15, true), b(0, ok)],
        ),
        case(
            Rule::ExclusiveResponse,
            R,
            "RRESP in beat 1 of 1",
            vec![ar(exclusive()), r(0, ok, true)],
            vec![ar(at(0x100, 0)), r(0, ok, true)],
        ),
    ]
}

fn promises() -> Vec<Case> {
    use Channel::{Ar, Aw, B, R, W};
    let none = Promises::none;
    let mut all: Vec<Case> = Vec::new();
    let full = Promises { full_size: true, ..none() };
    all.extend(addresses_of(Rule::FullSize, "SIZE 1", full, at(0, 0), request(|a| a.size = 1)));
    let incr = Promises { incrementing: true, ..none() };
    all.extend(addresses_of(Rule::Incrementing, "BURST 0b00", incr, at(0, 0), request(|a| a.burst = FIXED)));
    let normal = Promises { no_exclusives: true, ..none() };
    all.extend(addresses_of(Rule::NoExclusives, "LOCK 1", normal, at(0, 0), request(|a| a.lock = 1)));
    let two = || Promises {
        reads: Some(2),
        writes: Some(1),
        write_data: Some(3),
        write_address: Some(3),
        response: Some(2),
        ..none()
    };
    let reads = |count| vec![ar(at(0, 0)); count];
    let written = || vec![aw(at(0, 0)), w(0xf, true)];
    let beat = r(0, OKAY, true);
    for case in [
        case(
            Rule::Outstanding,
            Ar,
            "ARVALID is high with 2 open; promised are at most 2",
            [reads(2), vec![beat], reads(1)].concat(),
            reads(3),
        ),
        case(
            Rule::Outstanding,
            Aw,
            "at most 1",
            [written(), vec![b(0, OKAY)], written()].concat(),
            [written(), written()].concat()[..3].to_vec(),
        ),
        case(
            Rule::WriteDataReady,
            W,
            "WVALID has been low for 4 cycles; 2 of 3 beats of the write to 0x40 are missing",
            // Waiting for READY is not the manager's fault.
            vec![aw(at(0x40, 1)), idle(), idle(), waits(w(0xf, false)), w(0xf, false), idle(), idle(), idle()],
            vec![aw(at(0x40, 2)), w(0xf, false), idle(), idle(), idle(), idle()],
        ),
        case(
            Rule::WriteAddressReady,
            W,
            "AWVALID has been low for 4 cycles while 2 beats of W wait for their address",
            vec![w(0xf, true), idle(), idle(), aw(at(0x40, 0)), w(0xf, true), idle(), idle()],
            vec![w(0xf, false), w(0xf, true), idle(), idle()],
        ),
        case(
            Rule::ResponseTaken,
            B,
            "BREADY has been low for 3 cycles while BID 0",
            [written(), vec![waits(b(0, OKAY)), waits(b(0, OKAY)), b(0, OKAY)]].concat(),
            [written(), vec![waits(b(0, OKAY)); 3]].concat(),
        ),
        case(
            Rule::ResponseTaken,
            R,
            "RREADY has been low for 3 cycles",
            [reads(2), vec![waits(beat), waits(beat), beat, waits(beat), waits(beat)]].concat(),
            [reads(1), vec![waits(beat); 3]].concat(),
        ),
    ] {
        all.push(promise(two(), case));
    }
    all
}

#[test]
fn each_rule_is_named_when_it_is_broken() {
    for case in cases() {
        let checker = || ProtocolChecker::new("mem", BUS, 4, case.promises.clone());
        let name = format!("{:?} on {}: {}", case.rule, case.channel, case.shows);
        let mut right = checker();
        for (cycle, signals) in case.good.iter().enumerate() {
            right.step(cycle as u64, signals).unwrap_or_else(|v| panic!("{name}: good sequence: {v}"));
        }
        let mut wrong = checker();
        let (last, before) = case.bad.split_last().unwrap();
        for (cycle, signals) in before.iter().enumerate() {
            wrong.step(cycle as u64, signals).unwrap_or_else(|v| panic!("{name}: too early: {v}"));
        }
        let violation = wrong.step(before.len() as u64, last).expect_err(&name);
        assert_eq!((violation.rule, violation.channel), (case.rule, case.channel), "{name}: {violation}");
        assert_eq!((violation.cycle, violation.interface.as_str()), (before.len() as u64, "mem"));
        let answer = matches!(case.channel, Channel::B | Channel::R) && case.rule != Rule::ResponseTaken;
        assert_eq!(violation.by == Side::Model, answer, "{violation}");
        let text = violation.to_string();
        for part in [case.shows, case.rule.section(), case.rule.words(), "`mem`", &format!("cycle {}:", before.len())] {
            assert!(text.contains(part), "{part} in: {text}");
        }
    }
}

#[test]
fn valid_is_low_in_and_after_reset() {
    let open = [ar(at(0, 0)), aw(at(0, 0)), w(15, true)];
    for (channel, signals) in [
        (Channel::Aw, aw(at(0, 0))),
        (Channel::W, w(15, true)),
        (Channel::B, b(0, OKAY)),
        (Channel::Ar, ar(at(0, 0))),
        (Channel::R, r(0, OKAY, true)),
    ] {
        let mut checker = ProtocolChecker::new("mem", BUS, 4, Promises::none());
        open.iter().for_each(|s| checker.step(0, s).unwrap());
        checker.step_in_reset(1, &idle()).unwrap();
        let violation = checker.step_in_reset(2, &waits(signals)).unwrap_err();
        assert_eq!((violation.rule, violation.channel), (Rule::ResetValid, channel), "{violation}");
        // The first cycle after reset is still one of it; nothing is open any more.
        checker.reset();
        let violation = checker.step(3, &signals).unwrap_err();
        assert_eq!((violation.rule, violation.channel), (Rule::ResetValid, channel), "{violation}");
        checker.reset();
        checker.step(3, &idle()).unwrap();
        assert_eq!((checker.open_reads(), checker.open_writes()), (0, 0));
        let answers = matches!(channel, Channel::B | Channel::R);
        assert_eq!(checker.step(4, &signals).is_err(), answers, "{channel}");
    }
}

#[test]
fn no_rule_is_without_a_case() {
    let mut seen: BTreeSet<Rule> = cases().iter().map(|case| case.rule).collect();
    // In a test of its own above, and in that of AXI4-Lite.
    seen.extend([Rule::ResetValid, Rule::LiteResponse]);
    assert_eq!(seen, Rule::ALL.iter().copied().collect());
}
