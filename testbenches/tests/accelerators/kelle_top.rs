//! Kelle in all small configurations.

use half::f16;
use hdl::accelerators::kelle::KelleTop;
use hdl::lang::CatalogBlock;
use host::kelle::{Attention, AttentionJob, Caps, Policy, Quantizers, Rows, SaveJob};
use host::vector::Operand;
use host::{Bus, Chain, Descriptor, Device, DeviceError, Settings, Window};
use jobs::hardware::{Hardware, on_hardware};
use rand::RngExt;
use sim::bus::{AxiConfig, Silence};
use sim::kit::{options, run};
use sim::stimulus::rng_for;
use test_tag::tag;
use testbenches::accelerators::kelle::{COSTS, bench, timing};

#[test]
fn all_small_configurations() {
    let mut blocks = KelleTop::configurations();
    blocks.reverse();
    for block in seeds::some(&blocks, 2) {
        run(block, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Cycles of random chains of all operations equal the golden recurrence, and no access to the cache waits.
#[test]
fn cycles_of_jobs() {
    let mut blocks = KelleTop::configurations();
    blocks.reverse();
    for block in seeds::some(&blocks, 2) {
        run(&timing::patient(block.clone()), timing::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// The same for all configurations.
#[tag(full)]
#[test]
#[ignore = "minutes: four models"]
fn cycles_of_jobs_all() {
    for block in KelleTop::configurations() {
        run(&timing::patient(block), timing::bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Thousands of chains whose operations overlap: results, errors, resets; and cycles of thousands that are right.
#[tag(full)]
#[test]
#[ignore = "minutes: six thousand chains"]
fn thousands_of_chains_overlap() {
    let block = KelleTop::configurations().into_iter().find(|block| block.overlaps).unwrap();
    run(&block, bench, &options(4000)).unwrap_or_else(|e| panic!("{e:#}"));
    run(&timing::patient(block), timing::bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}

const WINDOW: Window = Window { base: 0x1_0000, limit: 0x1_ffff, address_width: 40 };
const TOKENS: u32 = 3;

/// The number of the error with which a job ends, 0 for none.
fn ends(device: &mut Device<&mut Hardware<'_>>, descriptor: Descriptor) -> u32 {
    let chain = Chain::new().then(descriptor).place(WINDOW.base, &WINDOW, 1).unwrap();
    match device.run(&chain, 10_000) {
        Ok(_) => 0,
        Err(DeviceError::Job(failure)) => failure.number,
        Err(other) => panic!("{other}"),
    }
}

/// Tokens in heads outlive a timeout whose answers come at last, except in the head that was receiving tokens. Nothing
/// outlives a soft reset.
#[test]
fn heads_outlive_an_error_of_time() {
    let block = KelleTop::configurations().pop().unwrap();
    on_hardware(&block, &AxiConfig::ideal(3), |hardware| {
        let mut rng = rng_for(1, "heads");
        let mut device = Device::new(hardware);
        let caps = Caps::read(&mut device).unwrap();
        device.configure(&Settings { window: WINDOW, timeout: 100, max_descriptors: 1 }).unwrap();
        let operand = |page: u64| Operand { address: WINDOW.base + 0x1000 * page, stride: 256 };
        for page in 1..4 {
            let floats = (0..2048).flat_map(|_| f16::from_f32(rng.random_range(-1.0..1.0)).to_le_bytes());
            device.bus().write_memory(operand(page).address, &floats.collect::<Vec<_>>()).unwrap();
        }
        let rows = Rows { queries: operand(1), keys: operand(2), values: operand(3), out: operand(4) };
        let enter = |head| {
            let entering = Attention {
                head,
                tokens: TOKENS,
                group: caps.group,
                elements: caps.width,
                policy: Policy::keep(8, 0),
                quantizers: Quantizers { queries: 100.0, keys: 100.0, values: 100.0 },
                scale: 0.2,
                rows,
            };
            AttentionJob::new(entering).build(&caps, &WINDOW).unwrap()
        };
        let save = |head, page| {
            let job = SaveJob { head, first: 0, tokens: TOKENS, elements: caps.width, out: operand(page) };
            job.build(&caps, &WINDOW).unwrap()
        };
        let saved = |device: &mut Device<&mut Hardware<'_>>, page| {
            let mut bytes = vec![0; 256 * TOKENS as usize];
            device.bus().read_memory(operand(page).address, &mut bytes).unwrap();
            bytes
        };
        for head in 0..2 {
            assert_eq!(ends(&mut device, enter(head)), 0);
            assert_eq!(ends(&mut device, save(head, 5)), 0);
        }
        let before = saved(&mut device, 5);
        assert!(before.iter().filter(|&&byte| byte != 0).count() > 100, "{before:x?}");
        // Descriptors are not read; a head does not become rows; operands of a head's tokens are not read.
        for (what, reads) in [(save(1, 6), Some(0)), (save(1, 6), None), (enter(0), Some(1))] {
            let ports = device.bus().ports.clone();
            for (k, port) in ports.iter().enumerate() {
                let stats = device.bus().memory.stats(port);
                let behaviour = device.bus().memory.behaviour(port);
                match reads {
                    // The first port has the descriptor.
                    Some(more) => {
                        let request = stats.reads + if k == 0 { more } else { 0 };
                        behaviour.silent_reads = Some(Silence::from(request));
                    }
                    None => behaviour.silent_writes = Some(Silence::from(stats.writes)),
                }
            }
            assert_eq!(ends(&mut device, what), 13);
            for port in &ports {
                let behaviour = device.bus().memory.behaviour(port);
                (behaviour.silent_reads, behaviour.silent_writes) = (None, None);
            }
            for _ in 0..200 {
                device.bus().cycle().unwrap();
            }
            device.bus().write_memory(operand(7).address, &[0; 1024]).unwrap();
            assert_eq!(ends(&mut device, save(1, 7)), 0);
            assert_eq!(saved(&mut device, 7), before, "{reads:?}");
            let other = ends(&mut device, save(0, 8));
            assert_eq!(
                other,
                if reads == Some(1) { 9 } else { 0 },
                "tokens of the head that were coming are not there"
            );
        }
        device.soft_reset(10_000).unwrap();
        assert_eq!(ends(&mut device, save(1, 7)), 9, "the head has no token");
    });
}

/// The paper's array of 32 x 32 PEs, and 32 heads of 127 tokens and 128 elements, on a bus of 64 bytes. A layer of a real
/// model runs on such an array in `decoder_layer_on_hardware`.
#[tag(full)]
#[test]
#[ignore = "minutes: 1,024 PEs, 4,096 rows of the cache"]
fn chains_at_the_papers_size() {
    let block = (COSTS.block)();
    run(&block, bench, &options(60)).unwrap_or_else(|e| panic!("{e:#}"));
    run(&timing::patient(block), timing::bench, &options(60)).unwrap_or_else(|e| panic!("{e:#}"));
}
