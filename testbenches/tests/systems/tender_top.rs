//! The Tender accelerator in all configurations, and real products on it.

use hdl::accelerators::tender::TenderTop;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use hdl::lang::CatalogBlock;
use host::tender::{Caps, Overflows};
use host::vector::Integer;
use host::{Bus, Device, Settings, Window};
use sim::bus::AxiConfig;
use sim::stimulus::Stall;
use testbenches::systems::hardware::on_hardware;
use testbenches::systems::tender_top::real::{Real, q_projection, scores};
use testbenches::systems::tender_top::{bench, golden_of};
use testbenches::{options, run};

/// Its parameters are small enough to be built in ordinary tests.
#[test]
fn all_small_configurations() {
    for block in TenderTop::configurations() {
        run(&block, bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// An array of 16 x 16 PEs before a bus of 16 bytes, deep enough for a layer of the model's width.
fn layer_size() -> TenderTop {
    TenderTop {
        axi: AxiSpec { address_width: 40, data_width: 128, id_width: 1 },
        dma: DmaSpec { burst_beats: 16, ..DmaSpec::default() },
        array: MultiScaleArray { rows: 16, columns: 16, ..MultiScaleArray::default() },
        depth: 576,
        steps: 640,
        max_beats: 16,
        ..TenderTop::default()
    }
}

const WINDOW: Window = Window { base: 0x10_0000, limit: 0x3f_ffff, address_width: 40 };

/// Shares of cycles in which the array takes products.
fn shares(block: &TenderTop, config: &AxiConfig, jobs: &[fn(&Caps) -> Real]) -> Vec<f64> {
    let shares = std::sync::Mutex::new(Vec::new());
    on_hardware(block, config, |hardware| {
        let mut device = Device::new(hardware);
        device.identify().unwrap();
        let caps = Caps::read(&mut device).unwrap();
        device.configure(&Settings { window: WINDOW, timeout: 0, max_descriptors: 4 }).unwrap();
        for make in jobs {
            let real = make(&caps);
            for image in &real.images {
                device.bus().write_memory(image.address, &image.bytes).unwrap();
            }
            // What lies between the rows stays.
            device.bus().write_memory(real.out.0, &vec![0; real.out.1.bytes()]).unwrap();
            device.start(real.job).unwrap();
            device.wait(10_000_000).unwrap();
            assert_eq!(Overflows::read(&mut device).unwrap(), Overflows::default());
            let mut got = vec![0; real.out.1.bytes()];
            device.bus().read_memory(real.out.0, &mut got).unwrap();
            let expected = real.expected(&golden_of(block).unwrap(), &WINDOW);
            assert!(got == expected, "results differ");
            let counters = device.counters().unwrap();
            shares.lock().unwrap().push(counters.compute_cycles as f64 / counters.cycles as f64);
        }
    });
    shares.into_inner().unwrap()
}

/// The query projection and one head's scores of the real model, with pauses of memory.
#[test]
fn real_products() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    let jobs: [fn(&Caps) -> Real; 4] = [
        |caps| q_projection(caps, &WINDOW, Integer::Int8, (19, 21)).unwrap(),
        |caps| q_projection(caps, &WINDOW, Integer::Int4, (19, 37)).unwrap(),
        |caps| scores(caps, &WINDOW, Integer::Int8, 45).unwrap(),
        |caps| scores(caps, &WINDOW, Integer::Int4, 64).unwrap(),
    ];
    shares(&layer_size(), &config, &jobs);
}

/// Loads and results hide behind the array: what the paper's array is for.
#[test]
fn the_array_computes_nearly_always() {
    let jobs: [fn(&Caps) -> Real; 3] = [
        |caps| q_projection(caps, &WINDOW, Integer::Int8, (64, 64)).unwrap(),
        |caps| q_projection(caps, &WINDOW, Integer::Int4, (64, 64)).unwrap(),
        |caps| scores(caps, &WINDOW, Integer::Int8, 64).unwrap(),
    ];
    let shares = shares(&layer_size(), &AxiConfig::ideal(20), &jobs);
    println!("{shares:.3?}");
    assert!(shares.iter().zip([0.95, 0.8, 0.8]).all(|(share, least)| *share > least), "{shares:?}");
}

/// The defaults, a size that a chip could have.
#[test]
#[ignore = "a model of minutes"]
fn large_default_parameters() {
    run(&TenderTop::default(), bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
}
