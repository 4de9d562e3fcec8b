//! Accelerators with several ports to memory: all numbers of them, errors and silence on each one alone.

use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::lang::CatalogBlock;
use host::{Bus, BusCaps, Device, DeviceError, Settings, Window};
use jobs::draft::{Draft, Operations};
use jobs::hardware::{Hardware, on_hardware};
use sim::bus::{Access, AxiConfig, BusError, Place, PortStats, Rate, Response, Silence};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use test_tag::tag;
use testbenches::accelerators::{tender, vector};

/// Four DMAs that read, one that writes.
const MOST: u32 = 5;

const BASE: u64 = 0x10_0000;
const WINDOW: Window = Window { base: BASE, limit: BASE + 0xffff, address_width: 32 };
const X: u64 = BASE + 0x1000;
const OUT: u64 = BASE + 0x8000;

/// Three and, on a wider bus, two are among the configurations of the catalogue.
#[test]
fn jobs_on_the_most_ports() {
    run(&vector(MOST), vector::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
}

fn with_ports(block: &TenderTop, ports: u32) -> TenderTop {
    TenderTop { bus: TopParameters { ports, ..block.bus.clone() }, ..block.clone() }
}

#[test]
fn products_on_the_most_ports() {
    let small = TenderTop::configurations().swap_remove(0);
    run(&with_ports(&small, MOST), tender::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[tag(release)]
#[test]
#[ignore = "minutes: a model of the whole accelerator for each number of ports"]
fn any_number_of_ports() {
    let small = TenderTop::configurations().swap_remove(0);
    for ports in 1..=MOST {
        run(&vector(ports), vector::bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
        let block = with_ports(&small, ports);
        run(&block, tender::bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Transfers that only the first port has.
#[tag(full)]
#[test]
#[ignore = "minutes: a model of the whole accelerator for each fault"]
fn faults_of_other_ports_are_found() {
    let late = "(|timeout_i) & (waited_0_q >= timeout_i)";
    let faults = [
        ("only the first port has a time", Fault::net("late", late).module("job_controller")),
        ("beats are read on the first port", Fault::net("read_beat_o", "watch_0_read").module("dma_bank")),
        ("beats are written on the first port", Fault::net("write_beat_o", "watch_0_written").module("dma_bank")),
        ("writes wait on the first port", Fault::net("write_waits_o", "watch_0_write_waits").module("dma_bank")),
    ];
    must_be_noticed(&vector(3), vector::bench, 400, &faults);
}

/// Two lanes.
fn vector(ports: u32) -> VectorTop {
    VectorTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width: 32, id_width: 1 },
            dma: DmaSpec { burst_beats: 4, ..DmaSpec::default() },
            ports,
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 16, ..VectorParameters::default() },
    }
}

/// Rows of 20 elements through all operands: elements, addends, factors and gains are read by the readers 0 to 3.
fn job(rows: u32) -> Draft {
    let mut job = scaled(rows);
    for step in ["add", "multiply", "norm", "gain"] {
        job.set(step, 1u32);
    }
    job
}

/// The same, but rows are scaled only: x is the only operand.
fn scaled(rows: u32) -> Draft {
    let mut job = Operations::of(&vector(1)).draft("vector");
    job.header(1, 5, BASE + 0x200).set("rows", rows).set("columns", 20u32);
    job.set("scales", 1u32).set("scale", 0x4000u32).set("quantizer", 0x3c00u32);
    for (operand, address) in [("x", X), ("addend", BASE + 0x2000), ("factor", BASE + 0x3000), ("out", OUT)] {
        job.operand(operand, (address, 64));
    }
    job.set("gain_address", BASE + 0x4000);
    job
}

fn configure(hardware: &mut Hardware<'_>, timeout: u32) {
    let mut device = Device::new(hardware);
    device.configure(&Settings { window: WINDOW, timeout, max_descriptors: 3 }).unwrap();
}

/// The number of the error with which a job ends, 0 for none.
fn ends(hardware: &mut Hardware<'_>, rows: u32) -> u32 {
    hardware.write_memory(BASE, &job(rows).bytes()).unwrap();
    let mut device = Device::new(hardware);
    device.start(BASE).unwrap();
    match device.wait(30_000) {
        Ok(_) => 0,
        Err(DeviceError::Job(failure)) => failure.number,
        Err(other) => panic!("{other}"),
    }
}

/// A good job of two rows, and its results: each row is (2 x + 1) * 1 for x = 1, over its root mean square.
fn works(hardware: &mut Hardware<'_>) {
    for (at, value) in [(X, 0x3c00u16), (BASE + 0x2000, 0x3c00), (BASE + 0x3000, 0x3c00), (BASE + 0x4000, 0x4000)] {
        hardware.write_memory(at, &value.to_le_bytes().repeat(64)).unwrap();
    }
    hardware.write_memory(OUT, &[0x55; 128]).unwrap();
    assert_eq!(ends(hardware, 2), 0);
    for row in 0..2 {
        let mut bytes = [0; 64];
        hardware.read_memory(OUT + 64 * row, &mut bytes).unwrap();
        assert_eq!(bytes[..40], [0, 0x40].repeat(20), "gain 2 times 1.0");
        assert_eq!(bytes[40..], [0x55; 24], "after the row");
    }
}

fn stats(hardware: &Hardware<'_>) -> Vec<PortStats> {
    hardware.ports.iter().map(|port| hardware.memory.stats(port)).collect()
}

/// Transfers on each port in a good job.
fn passed(hardware: &mut Hardware<'_>) -> Vec<[u64; 4]> {
    let before = stats(hardware);
    works(hardware);
    let each = stats(hardware).into_iter().zip(before);
    each.map(|(now, before)| {
        [
            now.reads - before.reads,
            now.writes - before.writes,
            now.read_beats - before.read_beats,
            now.write_beats - before.write_beats,
        ]
    })
    .collect()
}

/// Readers 0 to 3, then the writer, take turns; descriptors and tags are on the first port.
#[test]
fn dmas_are_where_the_page_says() {
    // Beats of a descriptor; of two rows of x, of addends, factors, results, and of gains, which are read for each row; of a tag.
    let (shared, row, gain, tag) = (32, 20, 20, 1);
    let cases = [
        (3, vec![[shared + row + gain, tag], [row, row], [row, 0]]),
        (2, vec![[shared + 2 * row, row + tag], [row + gain, 0]]),
        (5, vec![[shared + row, tag], [row, 0], [row, 0], [gain, 0], [0, row]]),
    ];
    for (ports, expected) in seeds::some(&cases, 1) {
        let ports = *ports;
        on_hardware(&vector(ports), &AxiConfig::ideal(3), |hardware| {
            configure(hardware, 0);
            let caps = Device::new(&mut *hardware).bus_caps().unwrap();
            assert_eq!(caps, BusCaps { address_width: 32, ports, data_width: 32 });
            let beats: Vec<[u64; 2]> = passed(hardware).iter().map(|p| [p[2], p[3]]).collect();
            assert_eq!(&beats, expected, "{ports} ports");
        });
    }
}

/// SLVERR and DECERR at every beat of every port.
#[test]
fn errors_at_every_beat_of_every_port() {
    on_hardware(&vector(3), &AxiConfig::ideal(3), |hardware| {
        configure(hardware, 0);
        let passed = passed(hardware);
        for (port, [_, _, read_beats, write_beats]) in hardware.ports.clone().iter().zip(passed) {
            for (access, beats) in [(Access::Read, read_beats), (Access::Write, write_beats)] {
                for beat in 0..beats {
                    let response = if beat % 2 == 0 { Response::SlvErr } else { Response::DecErr };
                    let stats = hardware.memory.stats(port);
                    let before = if access == Access::Read { stats.read_beats } else { stats.write_beats };
                    let place = Place::Beat(before + beat);
                    hardware.memory.behaviour(port).errors = vec![BusError { access, place, response }];
                    assert_eq!(ends(hardware, 2), 11 + (beat % 2) as u32, "beat {beat} of {port}, {access:?}");
                    hardware.memory.behaviour(port).errors.clear();
                    works(hardware);
                }
            }
        }
    });
}

/// One port alone does not answer from a request on: `ERROR_TIMEOUT` (13). Starts are refused until the answers come at
/// last, or both sides are reset.
#[test]
fn silence_of_one_port_is_an_error() {
    on_hardware(&vector(3), &AxiConfig::ideal(3), |hardware| {
        configure(hardware, 50);
        for (port, [reads, writes, ..]) in hardware.ports.clone().iter().zip(passed(hardware)) {
            let requests =
                (0..=reads).map(|k| (true, k, k < reads)).chain((0..=writes).map(|k| (false, k, k < writes)));
            for (read, request, asked) in requests {
                let now = hardware.memory.stats(port);
                let behaviour = hardware.memory.behaviour(port);
                if read {
                    behaviour.silent_reads = Some(Silence::from(now.reads + request));
                } else {
                    behaviour.silent_writes = Some(Silence::from(now.writes + request));
                }
                assert_eq!(ends(hardware, 2), if asked { 13 } else { 0 }, "request {request} of {port}, read: {read}");
                let again = Device::new(&mut *hardware).start(BASE);
                assert_eq!(matches!(again, Err(DeviceError::Refused)), asked, "what is owed has not come");
                let behaviour = hardware.memory.behaviour(port);
                (behaviour.silent_reads, behaviour.silent_writes) = (None, None);
                if !asked {
                    Device::new(&mut *hardware).wait(30_000).unwrap();
                } else if request % 2 == 0 {
                    hardware.sim.reset(2).unwrap();
                    configure(hardware, 50);
                } else {
                    for _ in 0..200 {
                        hardware.cycle().unwrap();
                    }
                }
                works(hardware);
            }
        }
    });
}

/// Cycles that waited for reads are counted: more where memory is slower, and none that were not there.
#[test]
fn waits_for_reads_are_counted() {
    let waits = [1, 40].map(|latency| {
        let counted = std::sync::Mutex::new((0, 0));
        on_hardware(&vector(1), &AxiConfig::ideal(latency), |hardware| {
            configure(hardware, 0);
            hardware.write_memory(BASE, &scaled(2).bytes()).unwrap();
            let mut device = Device::new(&mut *hardware);
            device.start(BASE).unwrap();
            device.wait(30_000).unwrap();
            let counters = device.counters().unwrap();
            *counted.lock().unwrap() = (counters.read_waits, counters.cycles);
        });
        counted.into_inner().unwrap()
    });
    let [(quick, quick_cycles), (slow, slow_cycles)] = waits;
    assert!(quick > 0 && slow >= quick + 39 && slow < slow_cycles && quick < quick_cycles, "{waits:?}");
}

/// One port alone takes no address: `ERROR_TIMEOUT` (13), and a soft reset waits until all are taken and answered at
/// last.
#[test]
fn a_memory_that_takes_nothing() {
    on_hardware(&vector(3), &AxiConfig::ideal(3), |hardware| {
        configure(hardware, 50);
        for (port, [reads, writes, ..]) in hardware.ports.clone().iter().zip(passed(hardware)) {
            for (read, requests) in [(true, reads), (false, writes)] {
                if requests == 0 {
                    continue;
                }
                let takes = |hardware: &mut Hardware<'_>, most| {
                    let behaviour = hardware.memory.behaviour(port);
                    *(if read { &mut behaviour.max_reads } else { &mut behaviour.max_writes }) = most;
                };
                takes(hardware, 0);
                assert_eq!(ends(hardware, 2), 13, "{port}, read: {read}");
                let waits = Device::new(&mut *hardware).soft_reset(20);
                assert!(matches!(waits, Err(DeviceError::ResetTooLong { .. })), "{port}, read: {read}: {waits:?}");
                takes(hardware, usize::MAX);
                Device::new(&mut *hardware).soft_reset(100).unwrap();
                works(hardware);
            }
        }
    });
}

/// Each port has its own time: while one is silent, the others have a beat all the time, and the job ends nevertheless.
#[test]
fn ports_that_answer_do_not_hide_a_silent_one() {
    const TIMEOUT: u32 = 100;
    let config = AxiConfig { read_rate: Rate { beats: 1, cycles: 40 }, ..AxiConfig::ideal(3) };
    on_hardware(&vector(3), &config, |hardware| {
        configure(hardware, TIMEOUT);
        works(hardware);
        // Factors alone are there.
        let port = hardware.ports[2].clone();
        let reads = hardware.memory.stats(&port).reads;
        hardware.memory.behaviour(&port).silent_reads = Some(Silence::from(reads));
        assert_eq!(ends(hardware, 60), 13);
        let cycles = Device::new(&mut *hardware).counters().unwrap().cycles;
        // The descriptor of 32 beats, the checks of five operands, the time; the others would go on for as many beats as they keep.
        let most = 32 * 40 + 5 * 20 + u64::from(TIMEOUT) + 100;
        assert!(cycles < most, "{cycles} cycles, expected are less than {most}");
    });
}
