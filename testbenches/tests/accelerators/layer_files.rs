//! Passes of a layer as files: a C program runs them on the hardware, and finds every byte that the golden model has.

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

/// A prompt of three tokens through a layer of an accelerator, then two tokens one by one.
fn passes(on: &OnKelle) -> Vec<Pass> {
    let mut rng = rng_for(7, "files of a layer");
    let layer = drawn(&mut rng, Shape::Llama, SIZES);
    let [rows, text] = [5, 12].map(|count| drawn_rows(&mut rng, SIZES.width, count));
    let mut layer = on.lowering().layer(&WINDOW, &layer, &[text], Room::for_one(5)).unwrap();
    [0..3, 3..4, 4..5].map(|some| layer.pass(&[(0, rows[some].to_vec())]).unwrap()).into()
}

#[test]
fn a_c_program_runs_a_layer() {
    let block = block(8, 1, 16);
    let passes = passes(&OnKelle::new(block.clone(), 8).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let contents = Contents::of_passes(&passes, 0);
    let bytes = contents.write(folder.path(), &WINDOW, &["A layer of drawn weights. */".to_owned()]).unwrap();
    let sizes = [MEMORY, RESULTS, HEADER].map(|name| std::fs::metadata(folder.path().join(name)).unwrap().len());
    assert_eq!(bytes as u64, sizes.iter().sum::<u64>());
    let program = CLayer::build(folder.path()).unwrap();
    // Another last byte of the results.
    let mut results = std::fs::read(folder.path().join(RESULTS)).unwrap();
    assert_eq!(results.len() as u64, passes.iter().map(|pass| pass.job.bytes_written()).sum::<u64>());
    *results.last_mut().unwrap() ^= 1;
    std::fs::write(folder.path().join(RESULTS), &results).unwrap();
    let other = CLayer::build(folder.path()).unwrap();
    // And another first byte of the second pass instead.
    let first = passes[0].job.bytes_written() as usize;
    let mut results = std::fs::read(folder.path().join(RESULTS)).unwrap();
    *results.last_mut().unwrap() ^= 1;
    results[first] ^= 0x80;
    std::fs::write(folder.path().join(RESULTS), &results).unwrap();
    let earlier = CLayer::build(folder.path()).unwrap();
    let jobs: Vec<_> = passes.iter().map(|pass| &pass.job).collect();
    let (second, last) = (&jobs[1].written[0], jobs[2].written.last().unwrap());
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        let end = program.run(hardware, POLLS).unwrap();
        assert_eq!((end.code, end.descriptors), (0, jobs[2].descriptors));
        // The first chain empties its heads first, so all run again.
        let Err(CError::Wrong(end)) = other.run(hardware, POLLS) else { panic!("another byte is not noticed") };
        assert_eq!(end.place, last.address + last.bytes.len() as u64 - 1);
        // Results are compared after each pass.
        let Err(CError::Wrong(end)) = earlier.run(hardware, POLLS) else { panic!("another byte is not noticed") };
        assert_eq!(end.place, second.address);
    });
    std::fs::remove_file(folder.path().join(MEMORY)).unwrap();
    assert!(CLayer::build(folder.path()).is_err());
}
