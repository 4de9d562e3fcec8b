//! The pass of a layer as files: a C program runs it on the hardware, and finds every byte that the golden model has.

use host::Window;
use jobs::hardware::on_hardware;
use lower::files::{Contents, HEADER, MEMORY, RESULTS};
use lower::needs::Room;
use lower::pass::Pass;
use sim::bus::AxiConfig;
use sim::stimulus::rng_for;
use testbenches::accelerators::c_program::{CError, CLayer};
use testbenches::accelerators::decoding::LayerAccelerator;
use testbenches::accelerators::drawn_layer::{Shape, Sizes, drawn, drawn_rows};
use testbenches::accelerators::kelle::layer::decoding::{OnKelle, block};

const WINDOW: Window = Window { base: 0x1_0000, limit: 0xff_ffff, address_width: 40 };
const SIZES: Sizes = Sizes { width: 64, heads: [2, 1], head: 64, inner: 96 };
/// Looks at STATUS.
const POLLS: u32 = 10_000_000;

/// Three tokens through a layer of an accelerator.
fn pass(on: &OnKelle) -> Pass {
    let mut rng = rng_for(7, "files of a layer");
    let layer = drawn(&mut rng, Shape::Llama, SIZES);
    let [rows, text] = [3, 12].map(|count| drawn_rows(&mut rng, SIZES.width, count));
    let mut layer = on.lowering().layer(&WINDOW, &layer, &[text], Room::for_one(3)).unwrap();
    layer.pass(&[(0, rows)]).unwrap()
}

#[test]
fn a_c_program_runs_a_layer() {
    let block = block(8, 1, 16);
    let pass = pass(&OnKelle::new(block.clone(), 8).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let bytes = Contents::of_pass(&pass, 0).write(folder.path(), &WINDOW, "A layer of drawn weights. */").unwrap();
    let sizes = [MEMORY, RESULTS, HEADER].map(|name| std::fs::metadata(folder.path().join(name)).unwrap().len());
    assert_eq!(bytes as u64, sizes.iter().sum::<u64>());
    let program = CLayer::build(folder.path()).unwrap();
    // Another last byte of the results.
    let mut results = std::fs::read(folder.path().join(RESULTS)).unwrap();
    assert_eq!(results.len() as u64, pass.job.bytes_written());
    *results.last_mut().unwrap() ^= 1;
    std::fs::write(folder.path().join(RESULTS), &results).unwrap();
    let other = CLayer::build(folder.path()).unwrap();
    let last = pass.job.written.last().unwrap();
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        let end = program.run(hardware, POLLS).unwrap();
        assert_eq!((end.code, end.descriptors), (0, pass.job.descriptors));
        // The chain empties its heads first, so it runs again.
        let Err(CError::Wrong(end)) = other.run(hardware, POLLS) else { panic!("another byte is not noticed") };
        assert_eq!(end.place, last.address + last.bytes.len() as u64 - 1);
    });
    std::fs::remove_file(folder.path().join(MEMORY)).unwrap();
    assert!(CLayer::build(folder.path()).is_err());
}
