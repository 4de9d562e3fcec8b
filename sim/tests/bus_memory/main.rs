//! A memory behind AXI4: a design that copies, under every behaviour of the memory, and a probe for exact timing.

mod timing;

use sim::bus::{
    Access, AxiConfig, AxiMemory, BusError, Latency, Order, Partner, Place, Rate, Response, Rule, Silence, Stalls,
    WriteOrder, cycle,
};
use sim::stimulus::Stall;
use sim::{BuildOptions, Design, Error, Initial, Model, Result, Sim};

const COPIER: &str = include_str!("../designs/copier.v");
const PROBE: &str = include_str!("../designs/probe.v");

fn model(top: &str, text: &str, define: &str) -> Model {
    let mut design = Design::from_verilog(top, text);
    design.defines = (!define.is_empty()).then(|| define.to_owned()).into_iter().collect();
    Model::build(&design, &BuildOptions::default()).unwrap()
}

/// Where the copier reads and writes, and how many bursts.
const SRC: u64 = 0x1_0f00;
const DST: u64 = 0x8_0100;

struct Copy {
    sim: Sim,
    memory: AxiMemory,
}

impl Copy {
    fn new(model: &Model, config: &AxiConfig, seed: u64, bursts: u64) -> Self {
        let mut sim = model.instance_with(Initial::Random(seed)).unwrap();
        let mut memory = AxiMemory::new();
        memory.serve(&sim, "mem", config, seed).unwrap();
        let data: Vec<u8> = (0..256 * bursts).map(|i| (i * 167 + i / 256 * 13) as u8).collect();
        memory.memory_mut().store(SRC, &data);
        sim.reset(2).unwrap();
        for (port, value) in [("src_i", SRC), ("dst_i", DST), ("bursts_i", bursts), ("start_i", 1)] {
            let port = sim.input(port).unwrap();
            sim.poke_u64(port, value);
        }
        let mut copy = Self { sim, memory };
        copy.step().unwrap();
        let start = copy.sim.input("start_i").unwrap();
        copy.sim.poke_u64(start, 0);
        copy
    }

    fn step(&mut self) -> Result<bool> {
        cycle(&mut self.sim, &mut [&mut self.memory])
    }

    /// Runs until the design is done; cycles since the start.
    fn finish(&mut self, most: u64) -> Result<u64> {
        let done = self.sim.output("done_o")?;
        let begin = self.sim.cycle_count();
        while self.sim.peek_u64(done) == 0 {
            assert!(self.sim.cycle_count() < begin + most, "hangs: {}", self.memory.state());
            self.step()?;
        }
        Ok(self.sim.cycle_count() - begin)
    }

    fn check(&self, bursts: u64) {
        let count = 256 * bursts as usize;
        let memory = self.memory.memory();
        assert!(memory.bytes(SRC, count) == memory.bytes(DST, count), "the copy differs");
        assert_eq!(memory.read(), [SRC..=SRC + 256 * bursts - 1]);
        assert_eq!(memory.written(), [DST..=DST + 256 * bursts - 1]);
        assert_eq!(memory.written_outside(&[(DST, 256 * bursts)]), None);
        assert!(memory.written_outside(&[(DST, 256 * bursts - 1)]).is_some());
        assert!(self.memory.is_idle(), "{}", self.memory.state());
    }

    fn flag(&self, port: &str) -> u64 {
        self.sim.peek_u64(self.sim.output(port).unwrap())
    }
}

#[test]
fn copies_under_every_behaviour() {
    let model = model("copier", COPIER, "");
    let mut configs = vec![
        AxiConfig::ideal(1),
        AxiConfig::ideal(100),
        AxiConfig { read_rate: Rate { beats: 2, cycles: 3 }, ..AxiConfig::ideal(9) },
        AxiConfig { write_rate: Rate { beats: 1, cycles: 5 }, ..AxiConfig::ideal(9) },
        AxiConfig { max_reads: 1, max_writes: 1, ..AxiConfig::ideal(9) },
        AxiConfig { order: Order::Bursts, ..AxiConfig::rough(Stall::Never) },
    ];
    for stall in Stall::ALL {
        for write_order in [WriteOrder::Any, WriteOrder::AddressFirst, WriteOrder::DataFirst] {
            for ready_after_valid in [false, true] {
                let stalls = Stalls { ready_after_valid, ..Stalls::all(stall) };
                // The copier issues an address before its data.
                let write_order = if ready_after_valid { WriteOrder::Any } else { write_order };
                if write_order != WriteOrder::DataFirst {
                    configs.push(AxiConfig { write_order, stalls, ..AxiConfig::rough(stall) });
                }
            }
        }
    }
    for (seed, config) in configs.iter().enumerate() {
        let mut copy = Copy::new(&model, config, seed as u64, 40);
        copy.finish(60_000).unwrap();
        copy.check(40);
        assert_eq!(copy.flag("failed_o"), 0);
        let stats = copy.memory.stats("mem");
        assert_eq!((stats.reads, stats.writes, stats.read_beats, stats.write_beats), (40, 40, 640, 640));
        assert!(stats.most_reads <= 8.min(config.max_reads as u64), "{stats:?}");
    }
}

#[test]
fn runs_repeat_by_seed() {
    let model = model("copier", COPIER, "");
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 2 });
    let cycles = |seed| Copy::new(&model, &config, seed, 20).finish(20_000).unwrap();
    assert_eq!(cycles(1), cycles(1));
    assert!((2..6).any(|seed| cycles(seed) != cycles(1)));
}

/// Bytes reach memory as they pass, or with the answer.
#[test]
fn late_writes_wait_for_their_answer() {
    let model = model("copier", COPIER, "");
    for late_writes in [false, true] {
        let mut copy = Copy::new(&model, &AxiConfig { late_writes, ..AxiConfig::ideal(60) }, 1, 1);
        while copy.memory.stats("mem").write_beats < 16 {
            copy.step().unwrap();
        }
        let there = copy.memory.memory().bytes(DST, 64) == copy.memory.memory().bytes(SRC, 64);
        assert_eq!((there, copy.memory.memory().written().is_empty()), (!late_writes, late_writes));
        copy.finish(1000).unwrap();
        copy.check(1);
    }
}

/// A memory that comes in the middle of things finds an address that waits: no rule of a reset is broken.
#[test]
fn a_memory_may_come_later() {
    let model = model("copier", COPIER, "");
    let mut copy = Copy::new(&model, &AxiConfig { max_reads: 1, ..AxiConfig::ideal(90) }, 1, 4);
    for _ in 0..20 {
        copy.step().unwrap();
    }
    assert_eq!(copy.flag("mem_arvalid_o"), 1, "the second address waits");
    copy.memory = AxiMemory::new();
    copy.memory.serve(&copy.sim, "mem", &AxiConfig::ideal(90), 2).unwrap();
    copy.step().unwrap();
}

#[test]
fn ideal_cycles_follow_a_formula() {
    let model = model("copier", COPIER, "");
    for latency in [1, 2, 7, 30, 95] {
        for bursts in [1, 2, 5, 60] {
            let mut copy = Copy::new(&model, &AxiConfig::ideal(latency), 1, bursts);
            let cycles = copy.finish(60_000).unwrap();
            // The first address passes in cycle 0, its first beat in cycle L. Room for eight bursts covers a latency of up to
            // 95: that of a burst is free again after L + 33 cycles. The write address follows the 16th beat in the next cycle, its data come one cycle later.
            let last_read = u64::from(latency) + 16 * bursts - 1;
            let last_write = last_read + 1 + 16;
            let answer = last_write + u64::from(latency);
            let stats = copy.memory.stats("mem");
            let begin = copy.sim.cycle_count() - cycles;
            assert_eq!(
                stats.read_cycles,
                Some((begin + u64::from(latency), begin + last_read)),
                "L {latency}, {bursts}"
            );
            assert_eq!(stats.write_cycles.unwrap().1, begin + last_write, "L {latency}, {bursts} bursts");
            assert_eq!(cycles, answer + 1, "L {latency}, {bursts} bursts");
        }
    }
}

#[test]
fn broken_designs_are_found_out_by_the_rule() {
    let patient = AxiConfig::ideal(3);
    let stalled = AxiConfig { stalls: Stalls { w: Stall::OneIn(3), ..Stalls::default() }, ..AxiConfig::ideal(3) };
    let mut bounded = AxiConfig::ideal(300);
    bounded.promises.reads = Some(8);
    for (define, config, rule) in [
        ("LAST_EARLY", &patient, Rule::Last),
        ("NEVER_TAKES", &patient, Rule::ResponseTaken),
        ("HOLDS_DATA", &patient, Rule::WriteDataReady),
        ("VALID_DROPS", &stalled, Rule::ValidHeld),
        ("READS_TOO_MUCH", &bounded, Rule::Outstanding),
    ] {
        let model = model("copier", COPIER, define);
        match Copy::new(&model, config, 1, 20).finish(20_000) {
            Err(Error::Bus(violation)) => {
                assert_eq!(violation.rule, rule, "{define}: {violation}");
                let text = violation.to_string();
                assert!(text.contains(rule.section()) && text.contains("`mem`"), "{text}");
            }
            other => panic!("{define}: {other:?}"),
        }
    }
}

#[test]
fn errors_reach_the_design_and_store_nothing() {
    let model = model("copier", COPIER, "");
    let place = |place| vec![BusError { access: Access::Write, place, response: Response::SlvErr }];
    let whole = DST..=DST + 256 * 4 - 1;
    for (errors, missing) in [
        (place(Place::Addresses(DST + 0x10..DST + 0x20)), vec![DST..=DST + 0xf, DST + 0x20..=*whole.end()]),
        (place(Place::Beat(63)), vec![DST..=DST + 0x3ef]),
        (place(Place::PositionOf(3, 15)), vec![DST..=DST + 0x3ef]),
        (place(Place::PositionOf(4, 0)), vec![whole.clone()]),
    ] {
        let expected = u64::from(missing != [whole.clone()]);
        let mut copy = Copy::new(&model, &AxiConfig { errors, ..AxiConfig::ideal(5) }, 1, 4);
        copy.finish(1000).unwrap();
        assert_eq!(copy.memory.memory().written(), missing);
        assert_eq!(copy.flag("failed_o"), expected);
    }
    for position in 0..16 {
        let error =
            BusError { access: Access::Read, place: Place::PositionOf(2, position), response: Response::DecErr };
        let mut copy = Copy::new(&model, &AxiConfig { errors: vec![error], ..AxiConfig::ideal(5) }, 1, 4);
        copy.finish(1000).unwrap();
        assert_eq!(copy.flag("failed_o"), 1);
    }
}

#[test]
fn answers_that_never_come() {
    let model = model("copier", COPIER, "");
    let steps = |config: AxiConfig| {
        let mut copy = Copy::new(&model, &config, 1, 20);
        for _ in 0..3000 {
            copy.step().unwrap();
        }
        assert_eq!(copy.flag("done_o"), 0);
        copy.memory
    };
    let reads = steps(AxiConfig { silent_reads: Some(Silence { request: 5, beats: 3 }), ..AxiConfig::ideal(5) });
    assert_eq!(reads.stats("mem").read_beats, 5 * 16 + 3);
    assert_eq!(reads.stats("mem").reads, 13, "8 stay open");
    assert!(reads.state().contains("`mem`: 8 reads and 0 writes are open"), "{}", reads.state());
    let writes = steps(AxiConfig { silent_writes: Some(Silence::from(7)), ..AxiConfig::ideal(5) });
    assert_eq!((writes.stats("mem").write_beats, writes.stats("mem").writes), (320, 20));
    assert!(writes.state().contains("0 reads and 13 writes"), "{}", writes.state());
    assert!(!writes.is_idle());
}

#[test]
fn reset_in_the_middle_leaves_nothing_open() {
    let model = model("copier", COPIER, "");
    for after in (1..200).step_by(7) {
        let mut copy = Copy::new(&model, &AxiConfig::rough(Stall::Never), after, 20);
        for _ in 0..after {
            copy.step().unwrap();
        }
        if after % 2 == 0 {
            copy.sim.reset(1).unwrap();
        } else {
            let reset = copy.sim.input("rst_ni").unwrap();
            for level in [0, 0, 0, 1] {
                copy.sim.poke_u64(reset, level);
                copy.step().unwrap();
            }
        }
        assert!(copy.memory.is_idle() || after % 2 == 0);
        copy.memory.memory_mut().clear_marks();
        let start = copy.sim.input("start_i").unwrap();
        copy.sim.poke_u64(start, 1);
        copy.step().unwrap();
        copy.sim.poke_u64(start, 0);
        copy.finish(20_000).unwrap();
        copy.check(20);
    }
}

#[test]
fn missed_cycles_are_an_error() {
    let mut copy = Copy::new(&model("copier", COPIER, ""), &AxiConfig::ideal(5), 1, 20);
    copy.sim.tick().unwrap();
    let error = copy.step().unwrap_err().to_string();
    assert_eq!(error, "an AXI memory saw no cycle from 3 to 4: it must take part in each");
}

/// A probe on a memory whose bytes are their addresses.
struct Probe {
    sim: Sim,
    memory: AxiMemory,
}

impl Probe {
    fn new(config: &AxiConfig, seed: u64) -> Self {
        let mut sim = model("probe", PROBE, "").instance().unwrap();
        let mut memory = AxiMemory::new();
        memory.serve(&sim, "mem", config, seed).unwrap();
        memory.memory_mut().store(0, &(0..4096).map(|i| i as u8).collect::<Vec<u8>>());
        sim.reset(1).unwrap();
        let mut probe = Self { sim, memory };
        probe.poke(&[("rready_i", 1), ("bready_i", 1), ("arsize_i", 2), ("awsize_i", 2)]);
        probe.poke(&[("arburst_i", 1), ("awburst_i", 1)]);
        // Nothing is offered until the first edge after reset.
        probe.step().unwrap();
        probe
    }

    fn poke(&mut self, values: &[(&str, u64)]) {
        for (port, value) in values {
            let port = self.sim.input(port).unwrap();
            self.sim.poke_u64(port, *value);
        }
    }

    fn peek(&self, port: &str) -> u64 {
        self.sim.peek_u64(self.sim.output(port).unwrap())
    }

    /// A cycle; the beat of R that passes in it: ID, data, response, last.
    fn step(&mut self) -> Result<Option<(u64, u64, u64, u64)>> {
        self.memory.drive(&mut self.sim)?;
        self.sim.settle()?;
        let beat = (self.peek("rid_o"), self.peek("rdata_o"), self.peek("rresp_o"), self.peek("rlast_o"));
        let passes = self.peek("rvalid_o") == 1;
        self.memory.sample(&self.sim)?;
        self.sim.tick()?;
        Ok(passes.then_some(beat))
    }

    /// Issues reads, one a cycle as they are taken, and collects all beats.
    fn reads(&mut self, requests: &[(u64, u64, u64)]) -> Vec<(u64, u64, u64, u64)> {
        let beats: u64 = requests.iter().map(|r| r.2 + 1).sum();
        let (mut next, mut got) = (0, Vec::new());
        for _ in 0..20_000 {
            if let Some((id, addr, len)) = requests.get(next) {
                self.poke(&[("arvalid_i", 1), ("arid_i", *id), ("araddr_i", *addr), ("arlen_i", *len)]);
            } else {
                self.poke(&[("arvalid_i", 0)]);
            }
            let taken = self.step().unwrap();
            next += usize::from(next < requests.len() && self.peek("arready_o") == 1);
            got.extend(taken);
            if got.len() as u64 == beats {
                return got;
            }
        }
        panic!("{} of {beats} beats came: {}", got.len(), self.memory.state());
    }
}

#[test]
fn ids_overtake_each_other_but_never_themselves() {
    let requests: Vec<_> = (0..60).map(|i| (i % 3, 16 * (i % 200), i % 4)).collect();
    let by_id = |beats: &[(u64, u64, u64, u64)], id| beats.iter().filter(|b| b.0 == id).copied().collect::<Vec<_>>();
    let straight = Probe::new(&AxiConfig::ideal(4), 1).reads(&requests);
    let mut seen = [false; 2];
    for (order, seed) in [(Order::Bursts, 1), (Order::Bursts, 2), (Order::Mixed, 1), (Order::Mixed, 2)] {
        let config = AxiConfig { order, read_latency: Latency::Random(1, 60), max_reads: 8, ..AxiConfig::ideal(1) };
        let mixed = Probe::new(&config, seed).reads(&requests);
        assert_ne!(mixed, straight);
        for id in 0..3 {
            assert_eq!(by_id(&mixed, id), by_id(&straight, id));
        }
        let together = mixed.windows(2).all(|pair| pair[0].3 == 1 || pair[0].0 == pair[1].0);
        seen[usize::from(together)] = true;
        assert_eq!(together, order == Order::Bursts);
    }
    assert_eq!(seen, [true, true]);
}

#[test]
fn all_kinds_of_bursts_read_what_they_name() {
    let mut config = AxiConfig::ideal(2);
    config.promises = sim::bus::Promises::none();
    let mut probe = Probe::new(&config, 1);
    let data = |probe: &mut Probe, kind, size, addr, len| {
        probe.poke(&[("arburst_i", kind), ("arsize_i", size)]);
        probe.reads(&[(1, addr, len)]).into_iter().map(|beat| beat.1).collect::<Vec<_>>()
    };
    assert_eq!(data(&mut probe, 1, 2, 8, 1), [0x0b0a_0908, 0x0f0e_0d0c]);
    assert_eq!(data(&mut probe, 2, 2, 0xc, 1), [0x0f0e_0d0c, 0x0b0a_0908]);
    assert_eq!(data(&mut probe, 0, 2, 8, 1), [0x0b0a_0908; 2]);
    // Lanes outside of the beat hold the complement.
    assert_eq!(data(&mut probe, 1, 0, 0x11, 2), [0xeced_11ef, 0xec12_eeef, 0x13ed_eeef]);
    assert_eq!(data(&mut probe, 1, 2, 0x13, 1), [0x13ed_eeef, 0x1716_1514]);
    assert_eq!(probe.memory.memory().read_outside(&[(8, 16)]), None);
}

#[test]
fn write_data_may_come_before_its_address() {
    for (order, early) in [(WriteOrder::Any, true), (WriteOrder::AddressFirst, false), (WriteOrder::DataFirst, true)] {
        let mut probe = Probe::new(&AxiConfig { write_order: order, ..AxiConfig::ideal(3) }, 1);
        probe.poke(&[("wvalid_i", 1), ("wdata_i", 0xaabb_ccdd), ("wstrb_i", 0b0110), ("wlast_i", 1)]);
        probe.step().unwrap();
        assert_eq!(probe.peek("wready_o") == 1, early, "{order:?}");
        if early {
            probe.poke(&[("wvalid_i", 0)]);
        }
        for _ in 0..5 {
            probe.step().unwrap();
            assert_eq!(probe.peek("bvalid_o"), 0);
        }
        probe.poke(&[("awvalid_i", 1), ("awaddr_i", 0x40), ("awid_i", 9)]);
        probe.step().unwrap();
        assert_eq!(probe.peek("awready_o"), 1);
        probe.poke(&[("awvalid_i", 0)]);
        let mut after = 0;
        while probe.peek("bvalid_o") == 0 {
            after += 1;
            assert!(after < 20);
            let data_passes = !early && after == 1;
            probe.step().unwrap();
            if data_passes {
                assert_eq!(probe.peek("wready_o"), 1);
                probe.poke(&[("wvalid_i", 0)]);
            }
        }
        // B comes 3 cycles after the later of address and data.
        assert_eq!(after, if early { 3 } else { 4 }, "{order:?}");
        assert_eq!((probe.peek("bid_o"), probe.peek("bresp_o")), (9, 0));
        assert_eq!(probe.memory.memory().load_u32(0x40), 0x43bb_cc40);
        assert_eq!(probe.memory.memory().written(), [0x41..=0x42]);
    }
}

#[test]
fn half_managers_and_wrong_ports() {
    let design = "module half(input wire clk_i, output wire [31:0] mem_awaddr_o, output wire mem_awvalid_o,
        input wire mem_awready_i, output wire [31:0] mem_wdata_o, output wire [3:0] mem_wstrb_o,
        output wire mem_wvalid_o, input wire mem_wready_i, input wire [1:0] mem_bresp_i, input wire mem_bvalid_i,
        output wire mem_bready_o, output wire bad_arvalid_o, output wire bad_araddr_o, input wire [23:0] bad_rdata_i);
      reg sent_q = 1'b0, data_q = 1'b0;
      always @(posedge clk_i) begin
        if (mem_awready_i) sent_q <= 1'b1;
        if (mem_wready_i) data_q <= 1'b1;
      end
      assign mem_awaddr_o = 32'h123_4500;
      assign mem_awvalid_o = !sent_q;
      assign {mem_wdata_o, mem_wstrb_o} = {32'hcafe_f00d, 4'b1111};
      assign mem_wvalid_o = !data_q;
      assign mem_bready_o = 1'b1;
      assign {bad_arvalid_o, bad_araddr_o} = 2'b00;
    endmodule";
    let mut sim = model("half", design, "").instance().unwrap();
    let mut memory = AxiMemory::new();
    memory.serve(&sim, "mem", &AxiConfig::ideal(2), 1).unwrap();
    for _ in 0..10 {
        cycle(&mut sim, &mut [&mut memory]).unwrap();
    }
    assert!(memory.is_idle());
    assert_eq!(memory.memory().load_u32(0x123_4500), 0xcafe_f00d);
    let mut error = |prefix| memory.serve(&sim, prefix, &AxiConfig::ideal(1), 1).unwrap_err().to_string();
    assert!(error("none").contains("there is neither `none_arvalid_o` nor"), "{}", error("none"));
    assert!(error("bad").contains("`bad`: rdata has 24 bits"), "{}", error("bad"));
}

/// A copy as a bench: what a broken rule becomes in the report of a run.
struct CopyBench;

impl sim::Bench for CopyBench {
    fn block(&self) -> &str {
        "copier"
    }

    fn run(&self, sim: &mut Sim, run: &mut sim::Run) -> Result<()> {
        let mut memory = AxiMemory::new();
        memory.serve(sim, "mem", &AxiConfig::rough(Stall::Never), run.seed())?;
        sim.reset(2)?;
        for (port, value) in [("src_i", SRC), ("dst_i", DST), ("bursts_i", 2), ("start_i", 1)] {
            let port = sim.input(port)?;
            sim.poke_u64(port, value);
        }
        let mut none: [sim::StreamDriver; 0] = [];
        let mut nothing: [sim::StreamMonitor; 0] = [];
        run.cycle_with(sim, &mut none, &mut nothing, &mut [&mut memory])?;
        let start = sim.input("start_i")?;
        sim.poke_u64(start, 0);
        while !memory.is_idle() || memory.stats("mem").write_beats < 32 {
            run.cycle_with(sim, &mut none, &mut nothing, &mut [&mut memory])?;
        }
        run.streams_with(sim, &mut none, &mut nothing, &mut [&mut memory])?;
        let done = sim.output("done_o")?;
        run.expect_u64(sim, done, 1)
    }
}

#[test]
fn a_broken_rule_is_a_mismatch_with_a_waveform() {
    let waves = tempfile::tempdir().unwrap();
    let options = sim::RunOptions { waves: Some(waves.path().to_owned()), ..sim::RunOptions::default() };
    let mut design = Design::from_verilog("copier", COPIER);
    sim::run(&CopyBench, &design, &options).unwrap();
    design.defines = vec!["LAST_EARLY".into()];
    let error = sim::run(&CopyBench, &design, &options).unwrap_err();
    let mismatch = error.mismatch().unwrap();
    let sim::Difference::Protocol { port, problem } = &mismatch.difference else { panic!("{mismatch}") };
    assert_eq!(port, "mem, channel W");
    assert!(problem.contains("A3.4.1, Last, broken") && problem.contains("WLAST is 1 in beat 15 of 16"), "{problem}");
    assert!(mismatch.waveform.is_some() && mismatch.waveform_note.is_none(), "{mismatch}");
}
