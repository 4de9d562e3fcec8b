//! A host on AXI4-Lite: a right register block under every order and pause, and broken ones.

use sim::bus::{AxiLiteHost, LiteConfig, Partner, Response, Rule, Side, Skew, Stalls};
use sim::stimulus::{Stall, rng};
use sim::{BuildOptions, Design, Error, Initial, Model, Sim};

fn model(define: &str) -> Model {
    let mut design = Design::from_verilog("registers", include_str!("designs/registers.v"));
    design.defines = (!define.is_empty()).then(|| define.to_owned()).into_iter().collect();
    Model::build(&design, &BuildOptions::default()).unwrap()
}

fn host(model: &Model, config: LiteConfig, seed: u64) -> (Sim, AxiLiteHost) {
    let mut sim = model.instance_with(Initial::Random(seed)).unwrap();
    let host = AxiLiteHost::new(&sim, "ctrl", config, seed).unwrap();
    sim.reset(2).unwrap();
    (sim, host)
}

const SKEWS: [Skew; 5] =
    [Skew::Together, Skew::AddressFirst(1), Skew::AddressFirst(7), Skew::DataFirst(1), Skew::DataFirst(7)];

#[test]
fn registers_keep_what_is_written_under_every_order_and_pause() {
    use rand::RngExt;
    for define in ["", "NEEDS_BOTH"] {
        let model = model(define);
        for (number, skew) in SKEWS.into_iter().enumerate() {
            for stall in Stall::ALL {
                for ready_after_valid in [false, true] {
                    let stalls = Stalls { ready_after_valid, ..Stalls::all(stall) };
                    let (mut sim, mut host) = host(&model, LiteConfig { skew, stalls, ..LiteConfig::default() }, 3);
                    let mut rng = rng(number as u64);
                    let mut expected = [0_u64; 4];
                    for _ in 0..30 {
                        let (index, data, strb) =
                            (rng.random_range(0..4), rng.random::<u32>(), rng.random_range(0..16));
                        let ticket = host.write_bytes(4 * index as u64, u64::from(data), strb);
                        let answer = host.finish(&mut sim, &mut [], ticket).unwrap();
                        assert_eq!(answer.resp, Response::Okay);
                        assert!(answer.answered > answer.asked);
                        for byte in (0..4).filter(|byte| strb >> byte & 1 == 1) {
                            let mask = 0xff << (8 * byte);
                            expected[index] = expected[index] & !mask | u64::from(data) & mask;
                        }
                        let read = host.load(&mut sim, &mut [], 4 * index as u64).unwrap();
                        assert_eq!(read, (expected[index], Response::Okay), "{define} {skew:?} {stall:?}");
                    }
                    assert!(host.is_idle());
                }
            }
        }
    }
}

#[test]
fn answers_have_their_responses() {
    let (mut sim, mut host) = host(&model(""), LiteConfig::default(), 1);
    for (addr, resp) in [(0xc, Response::Okay), (0x10, Response::SlvErr), (0x20, Response::DecErr)] {
        assert_eq!(host.store(&mut sim, &mut [], addr, 0x77).unwrap(), resp);
        let data = if resp == Response::Okay { 0x77 } else { 0 };
        assert_eq!(host.load(&mut sim, &mut [], addr).unwrap(), (data, resp));
    }
}

#[test]
fn a_plain_host_takes_as_many_cycles_as_the_design() {
    let (mut sim, mut host) = host(&model(""), LiteConfig::default(), 1);
    // Nothing is offered in the first cycle after reset.
    host.cycle(&mut sim, &mut []).unwrap();
    let ticket = host.write(0, 1);
    let write = host.finish(&mut sim, &mut [], ticket).unwrap();
    assert_eq!((write.asked, write.answered), (3, 5));
    let ticket = host.read(0);
    let read = host.finish(&mut sim, &mut [], ticket).unwrap();
    assert_eq!((read.asked, read.answered), (6, 7));
}

#[test]
fn several_accesses_may_be_open() {
    let config = LiteConfig { open: 8, ..LiteConfig::default() };
    let (mut sim, mut host) = host(&model(""), config, 1);
    let writes: Vec<_> = (0..4).map(|i| host.write(4 * i, 100 + i)).collect();
    let last = writes[3];
    host.finish(&mut sim, &mut [], last).unwrap();
    let reads: Vec<_> = (0..8).map(|i| host.read(4 * (i % 4))).collect();
    while !host.is_idle() {
        host.cycle(&mut sim, &mut []).unwrap();
    }
    for (i, ticket) in reads.into_iter().enumerate() {
        assert_eq!(host.answer(ticket).unwrap().data, 100 + i as u64 % 4);
        assert_eq!(host.answer(ticket), None);
    }
    let error = host.finish(&mut sim, &mut [], last).unwrap_err().to_string();
    assert!(error.contains("access 3 of `ctrl` is not open"), "{error}");
}

#[test]
fn a_channel_that_hangs_is_named() {
    for (define, write, text) in [
        (
            "NO_AW",
            true,
            "channel AW of `ctrl` hangs: AWREADY stayed low for 51 cycles: write of 0x5, strobes 0xf, to 0x4",
        ),
        ("NO_W", true, "channel W of `ctrl` hangs: WREADY stayed low for 51 cycles: write of 0x5"),
        ("NO_B", true, "channel B of `ctrl` hangs: BVALID did not rise for 51 cycles: write of 0x5"),
        ("NO_AR", false, "channel AR of `ctrl` hangs: ARREADY stayed low for 51 cycles: read of 0x4"),
        ("NO_R", false, "channel R of `ctrl` hangs: RVALID did not rise for 51 cycles: read of 0x4"),
    ] {
        let (mut sim, mut host) = host(&model(define), LiteConfig { timeout: 50, ..LiteConfig::default() }, 1);
        let ticket = if write { host.write(4, 5) } else { host.read(4) };
        let error = host.finish(&mut sim, &mut [], ticket).unwrap_err();
        assert!(matches!(&error, Error::BusTimeout { interface, .. } if interface == "ctrl"));
        assert!(error.to_string().contains(text), "{error}");
        assert!(host.state().contains("1 writes") == write, "{}", host.state());
    }
}

#[test]
fn broken_subordinates_are_found_out_by_the_rule() {
    let slow = LiteConfig { stalls: Stalls::all(Stall::OneIn(4)), ..LiteConfig::default() };
    let skewed = LiteConfig { skew: Skew::DataFirst(9), ..LiteConfig::default() };
    for (define, config, rule) in [
        ("R_DROPS", slow, Rule::ValidHeld),
        ("EXOKAY", slow, Rule::LiteResponse),
        ("B_ALWAYS", slow, Rule::ResetValid),
        ("B_EARLY", skewed, Rule::ResponseOrder),
    ] {
        let (mut sim, mut host) = host(&model(define), config, 1);
        let mut result = Ok(Response::Okay);
        for i in 0..20 {
            result = result.and_then(|_| host.store(&mut sim, &mut [], 4, i));
            result = result.and_then(|_| host.load(&mut sim, &mut [], 4).map(|read| read.1));
        }
        match result {
            Err(Error::Bus(violation)) => {
                assert_eq!((violation.rule, violation.by), (rule, Side::Design), "{define}: {violation}");
            }
            other => panic!("{define}: {other:?}"),
        }
    }
}

#[test]
fn lost_strobes_are_visible() {
    let (mut sim, mut host) = host(&model("NO_STROBES"), LiteConfig::default(), 1);
    let ticket = host.write_bytes(0, 0xffff_ffff, 1);
    host.finish(&mut sim, &mut [], ticket).unwrap();
    assert_eq!(host.load(&mut sim, &mut [], 0).unwrap().0, 0xffff_ffff);
}

#[test]
fn a_reset_ends_what_is_open() {
    for direct in [true, false] {
        let (mut sim, mut host) = host(&model("NO_B"), LiteConfig::default(), 1);
        let (lost, kept) = (host.write(4, 5), host.read(0));
        (0..5).for_each(|_| assert!(host.cycle(&mut sim, &mut []).is_ok()));
        if direct {
            sim.reset(1).unwrap();
        } else {
            let reset = sim.input("rst_ni").unwrap();
            for level in [0, 0, 1] {
                sim.poke_u64(reset, level);
                host.cycle(&mut sim, &mut []).unwrap();
            }
        }
        assert_eq!(host.finish(&mut sim, &mut [], kept).unwrap().data, 0);
        assert!(host.finish(&mut sim, &mut [], lost).is_err());
    }
}

#[test]
fn wrong_ports_are_refused() {
    let sim = model("").instance().unwrap();
    let error = AxiLiteHost::new(&sim, "none", LiteConfig::default(), 1).err().unwrap().to_string();
    assert!(error.contains("no input `none_wdata_i`"), "{error}");
    let config = LiteConfig { open: 0, ..LiteConfig::default() };
    assert!(AxiLiteHost::new(&sim, "ctrl", config, 1).is_err());
}
