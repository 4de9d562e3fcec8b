//! Every error of the vector accelerator, and a good job after each.

use hdl::accelerators::vector::VectorTop;
use host::{Bus, Device, DeviceError, Settings, Window};
use jobs::draft::{Draft, Operations};
use jobs::hardware::{Hardware, HardwareError, on_hardware};
use sim::bus::{Access, AxiConfig, BusError, Misrouted, Place, Response};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use sim::{Bench, Run, Sim};
use test_tag::tag;
use testbenches::common::bus::memory::rule;

const BASE: u64 = 0x10_0000;
const WINDOW: Window = Window { base: BASE, limit: BASE + 0xffff, address_width: 64 };
/// Where the descriptor is.
const JOB: u64 = BASE + 0x40;
const X: u64 = BASE + 0x1000;
const OUT: u64 = BASE + 0x8000;

/// Two rows of 40 ones, doubled.
fn good() -> Draft {
    let mut good = Operations::of(&VectorTop::default()).draft("vector");
    good.header(1, 5, BASE + 0x200).set("rows", 2u32).set("columns", 40u32);
    good.set("scales", 1u32).set("scale", 0x4000u32).set("quantizer", 0x3c00u32);
    for (operand, address) in OPERANDS.into_iter().zip([X, BASE + 0x2000, BASE + 0x3000, OUT]) {
        good.operand(operand, (address, 128));
    }
    good.set("gain_address", BASE + 0x4000);
    good
}

/// The operands with strides.
const OPERANDS: [&str; 4] = ["x", "addend", "factor", "out"];

/// The number of the error with which a job ends, 0 for none.
fn ends(hardware: &mut Hardware<'_>, job: u64) -> u32 {
    end_of(hardware, job).unwrap_or_else(|e| panic!("{e}"))
}

fn end_of(hardware: &mut Hardware<'_>, job: u64) -> Result<u32, DeviceError<HardwareError>> {
    let mut device = Device::new(hardware);
    device.start(job)?;
    match device.wait(3000) {
        Ok(_) => Ok(0),
        Err(DeviceError::Job(failure)) => {
            assert_eq!(failure.place, job);
            Ok(failure.number)
        }
        Err(other) => Err(other),
    }
}

/// A good job, and its results.
fn works(hardware: &mut Hardware<'_>) {
    hardware.write_memory(JOB, &good().bytes()).unwrap();
    for row in 0..2 {
        hardware.write_memory(X + 128 * row, &[0, 0x3c].repeat(40)).unwrap();
        hardware.write_memory(OUT + 128 * row, &[0x55; 128]).unwrap();
    }
    assert_eq!(ends(hardware, JOB), 0);
    for row in 0..2 {
        let mut bytes = [0; 128];
        hardware.read_memory(OUT + 128 * row, &mut bytes).unwrap();
        assert_eq!(bytes[..80], [0, 0x40].repeat(40));
        assert_eq!(bytes[80..], [0x55; 48], "after the row");
    }
}

fn configured(hardware: &mut Hardware<'_>) {
    let settings = Settings { window: WINDOW, timeout: 0, max_descriptors: 3 };
    Device::new(hardware).configure(&settings).unwrap();
}

#[test]
fn every_check_has_its_code() {
    on_hardware(&VectorTop::default(), &AxiConfig::ideal(3), |hardware| {
        configured(hardware);
        works(hardware);
        let set = |field: &str, value: u64| good().set(field, value).bytes();
        let flag = |field: &str| set(field, 1);
        let byte = |at: usize, value: u8| {
            let mut bytes = good().bytes();
            bytes[at] = value;
            bytes
        };
        // Scale, add, multiply, norm, gain.
        let all = |field: &str, value: u64| {
            let mut one = good();
            for step in ["add", "multiply", "norm", "gain"] {
                one.set(step, 1u32);
            }
            one.set(field, value).bytes()
        };
        let mut cases = vec![
            (2, byte(0, 0x54)),
            (3, byte(4, 2)),
            (4, byte(5, 0)),
            (4, byte(5, 2)),
            (5, byte(6, 0x81)),
            (5, byte(20, 1)),
            (6, good().header(1, 5, BASE + 0x204).bytes()),
            (6, good().header(1, 5, BASE - 64).bytes()),
            (7, good().next(JOB).bytes()),
            (5, flag("kind")),
            (5, flag("causal")),
            (5, byte(43, 0x80)),
            (5, flag("gain")),
            (5, byte(53, 1)),
            (5, byte(112, 1)),
            (5, byte(127, 0x80)),
            (15, set("format", 3)),
            (9, set("rows", 0)),
            (9, set("rows", 65536)),
            (9, set("columns", 0)),
            (9, set("columns", 513)),
            (14, good().set("format", 1u32).set("exact", 1u32).set("quantizer", 0x5800u32).bytes()),
        ];
        for operand in OPERANDS.into_iter().chain(["gain"]) {
            let (address, stride) = (format!("{operand}_address"), format!("{operand}_stride"));
            let last = 128 + 80;
            cases.push((8, all(&address, good().get(&address) + 32)));
            cases.push((10, all(&address, BASE - 64)));
            cases.push((10, all(&address, u64::MAX - 63)));
            // One byte too many, and as far as may be.
            let far = if operand == "gain" { 0x1_0000 - 64 } else { 0x1_0000 - last / 64 * 64 };
            cases.push((10, all(&address, BASE + far)));
            if operand != "gain" {
                cases.push((8, all(&stride, 96)));
                cases.push((10, all(&stride, 0xffff_ffc0)));
            }
        }
        for (number, (code, bytes)) in cases.into_iter().enumerate() {
            hardware.write_memory(JOB, &bytes).unwrap();
            assert_eq!(ends(hardware, JOB), code, "case {number}");
            works(hardware);
        }
        for job in [JOB + 4, BASE - 0x80, BASE + 0xffc0, u64::MAX - 127] {
            assert_eq!(ends(hardware, job), 1);
            works(hardware);
        }
    });
}

/// SLVERR and DECERR at every beat, of reads and of writes.
#[test]
fn errors_of_the_bus_at_every_beat() {
    on_hardware(&VectorTop::default(), &AxiConfig::ideal(3), |hardware| {
        configured(hardware);
        works(hardware);
        for (access, beats) in [(Access::Read, 8 + 10), (Access::Write, 10 + 1)] {
            for beat in 0..beats {
                let response = if beat % 2 == 0 { Response::SlvErr } else { Response::DecErr };
                let stats = hardware.memory.stats("mem");
                let before = if access == Access::Read { stats.read_beats } else { stats.write_beats };
                let place = Place::Beat(before + beat);
                hardware.memory.behaviour("mem").errors = vec![BusError { access, place, response }];
                hardware.write_memory(JOB, &good().bytes()).unwrap();
                assert_eq!(ends(hardware, JOB), 11 + (beat % 2) as u32, "beat {beat}, {access:?}");
                hardware.memory.behaviour("mem").errors.clear();
                works(hardware);
            }
        }
    });
}

/// A job ends well with a TIMEOUT of the memory's latency, or of the cycles between a DMA and its port where these are
/// more. With a smaller TIMEOUT it ends with an error.
#[test]
fn the_shortest_time_that_memory_needs() {
    for latency in [1, 3, 20] {
        let in_time = |timeout: u32| {
            let end = std::cell::Cell::new(0);
            on_hardware(&VectorTop::default(), &AxiConfig::ideal(latency), |hardware| {
                hardware.write_memory(JOB, &good().bytes()).unwrap();
                Device::new(&mut *hardware)
                    .configure(&Settings { window: WINDOW, timeout, max_descriptors: 3 })
                    .unwrap();
                end.set(ends(hardware, JOB));
            });
            assert!([0, 13].contains(&end.get()), "error {}", end.get());
            end.get() == 0
        };
        let shortest = (1..).find(|&timeout| in_time(timeout)).unwrap();
        assert_eq!(shortest, latency.max(3), "latency {latency}");
    }
}

/// For each request, an answer whose ID belongs to another DMA or to none: `ERROR_TIMEOUT` (13), and resets of both
/// sides help.
fn wrong_ids(block: &VectorTop, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    // The number of the DMA: 1 of 6.
    let flips = block.bus.axi.id_width..block.bus.axi.id_width + 3;
    let irq = sim.output("irq_o")?;
    let hardware = &mut Hardware::new(sim, &AxiConfig::ideal(3), run.seed())?;
    for (access, requests) in [(Access::Read, 4), (Access::Write, 3)] {
        for request in 0..requests {
            for bit in flips.clone() {
                configured(hardware);
                works(hardware);
                let stats = hardware.memory.stats("mem");
                let before = if access == Access::Read { stats.reads } else { stats.writes };
                let wrong = Misrouted { access, request: before + request, flips: 1 << bit };
                hardware.memory.behaviour("mem").misrouted = Some(wrong);
                Device::new(&mut *hardware)
                    .configure(&Settings { window: WINDOW, timeout: 50, max_descriptors: 3 })
                    .unwrap();
                hardware.write_memory(JOB, &good().bytes()).unwrap();
                let end = end_of(hardware, JOB);
                rule(run, hardware.sim, "mem", matches!(end, Ok(13)), &format!("{wrong:?} ends with {end:?}"))?;
                let again = Device::new(&mut *hardware).start(JOB);
                let refused = matches!(again, Err(DeviceError::Refused));
                rule(run, hardware.sim, "ctrl", refused, "a job starts though what is owed does not come")?;
                hardware.memory.behaviour("mem").misrouted = None;
                hardware.sim.reset(2)?;
                run.expect_u64(hardware.sim, irq, 0)?;
            }
        }
    }
    Ok(())
}

#[test]
fn answers_with_a_wrong_id_are_an_error() {
    let block = VectorTop::default();
    sim::kit::run(&block, wrong_ids_bench, &options(1)).unwrap_or_else(|e| panic!("{e:#}"));
}

fn wrong_ids_bench(block: &VectorTop) -> anyhow::Result<Box<dyn Bench>> {
    let spec = block.clone();
    sim::kit::bench(block, move |sim, run| wrong_ids(&spec, sim, run))
}

#[tag(full)]
#[test]
#[ignore = "a minute: a model of the whole accelerator for each fault"]
fn faults_of_wrong_ids_are_found() {
    let faults = [
        ("nobody waits for the walker's bursts", Fault::net("awaits_o", "1'b0").module("job_walker")),
        ("nobody waits for bursts of the DMAs", Fault::net("watch_awaited_in", "other_awaits_i").module("dma_bank")),
    ];
    must_be_noticed(&VectorTop::default(), wrong_ids_bench, 1, &faults);
}

/// Memory that stops answering, at every request: `ERROR_TIMEOUT` (13), and nothing hangs.
#[test]
fn silence_is_an_error() {
    for request in 0..5 {
        for reads in [true, false] {
            on_hardware(&VectorTop::default(), &AxiConfig::ideal(3), |hardware| {
                configured(hardware);
                works(hardware);
                let stats = hardware.memory.stats("mem");
                let silence = |before: u64| Some(sim::bus::Silence::from(before + request));
                let behaviour = hardware.memory.behaviour("mem");
                if reads {
                    behaviour.silent_reads = silence(stats.reads);
                } else {
                    behaviour.silent_writes = silence(stats.writes);
                }
                Device::new(&mut *hardware)
                    .configure(&Settings { window: WINDOW, timeout: 50, max_descriptors: 3 })
                    .unwrap();
                hardware.write_memory(JOB, &good().bytes()).unwrap();
                // The descriptor in two bursts, and two rows; two rows and the tag.
                let expected = if request < if reads { 4 } else { 3 } { 13 } else { 0 };
                assert_eq!(ends(hardware, JOB), expected, "request {request}, reads {reads}");
                if expected == 13 {
                    let again = Device::new(&mut *hardware).start(JOB);
                    assert!(matches!(again, Err(DeviceError::Refused)), "what is owed has not come");
                }
            });
        }
    }
}
