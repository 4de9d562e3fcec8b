//! `models::cycles::titanus`.

use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::titanus::TitanusCore;
use hdl::blocks::common::AxiSpec;
use host::Window;
use lower::titanus::{Compression, Prompt};
use models::cycles::Numbers;
use models::cycles::shapes::{Model, model};
use models::cycles::titanus::{STAGES, Titanus};
use models::headlines::titanus::{OURS, RUN};
use sim::stimulus::rng_for;
use test_tag::tag;
use testbenches::accelerators::drawn_layer::{Shape, Sizes, drawn, drawn_rows};
use testbenches::accelerators::titanus::layer::chains;
use testbenches::accelerators::titanus::timing::timing;
use testbenches::accelerators::titanus::{caps_of, golden_of, head_core, opt_core, small_layer_core};

use super::LATENCY;

pub fn on(block: &TitanusCore) -> Titanus {
    let golden = golden_of(block).unwrap();
    Titanus::new(caps_of(&golden), (golden, timing(block, LATENCY)), 4.3)
}

/// Slices of a matrix, heads and streams of sizes beyond the range that is counted event by event.
#[test]
fn layers_are_those_of_the_recurrences() {
    for bytes in [16, 64] {
        let axi = AxiSpec { address_width: 40, data_width: 8 * bytes, id_width: 1 };
        let mut block = head_core();
        block.bus.axi = axi;
        let spec = &mut block.spec;
        (spec.lanes, spec.tiles, spec.context, spec.buffer) = (32, 32, 256, 16);
        let titanus = on(&block);
        for (size, results) in
            [([40, 768, 192], Numbers::Fp16), ([61, 256, 64], Numbers::Int8), ([33, 576, 40], Numbers::Fp16)]
        {
            let (model, counted) = (titanus.product(size, results), titanus.counted(size, results));
            assert_eq!(model.unwrap(), counted.unwrap(), "{bytes} bytes, {size:?}");
        }
        for (values, size) in [(false, [50, 64, 40]), (true, [50, 64, 40]), (false, [37, 128, 9]), (true, [44, 64, 33])]
        {
            let (model, counted) = (titanus.dots(values, size), titanus.counted_dots(values, size));
            assert_eq!(model.unwrap(), counted.unwrap(), "{bytes} bytes, {size:?}, values {values}");
        }
        // How bursts and blocks of an append meet on the bus varies a little.
        for size in [[0, 150], [0, 201], [97, 1], [140, 1]] {
            let model = [titanus.appended(1024, size), titanus.restored(1024, size[0] + size[1])].map(Result::unwrap);
            let counted = titanus.entering(1024, size).unwrap();
            println!("{bytes} bytes, {size:?}: {model:?}, {counted:?}");
            assert!(model[0].cycles.abs_diff(counted[0].cycles) <= counted[0].cycles / 50, "{bytes} bytes, {size:?}");
            assert!(size[0] == 0 || model[1] == counted[1], "{bytes} bytes, {size:?}");
        }
    }
}

/// A token of a layer with drawn weights: cycles by the model, and by the chain that all data go through. The cache is
/// left out, since its cycles depend on the numbers.
fn token(block: &TitanusCore, (shape, of): (Shape, Model), [prompt, tokens]: [usize; 2]) {
    const WINDOW: Window = Window { base: 0x1_0000, limit: 0x1fff_ffff, address_width: 40 };
    let [width, inner] = [of.width, of.between].map(|size| size as usize);
    let mut rng = rng_for(7, "titanus layer");
    let sizes = Sizes { width, heads: of.heads.map(|heads| heads as usize), head: 64, inner };
    let layer = drawn(&mut rng, shape, sizes);
    let residual = drawn_rows(&mut rng, width, tokens);
    let golden = golden_of(block).unwrap();
    let how = Compression { sparsity: 0.338, bits: [4, 4] };
    let chains =
        chains((&caps_of(&golden), &WINDOW), golden, &layer, (&residual, prompt, Prompt::AtOnce), how).unwrap();
    let (golden, mut memory) = (golden_of(block).unwrap(), SparseMemory::new());
    let (mut counted, mut split, last) = (Vec::new(), 0, chains.jobs.len() - 1);
    for (number, job) in chains.jobs.iter().enumerate() {
        job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: job.descriptors };
        if number < last {
            assert_eq!(golden.run(limits, job.address, &mut memory).end.code, 0);
            continue;
        }
        let (timing, turns) = (timing(block, LATENCY), &mut Turns::default());
        let spent = timing.job(&golden, limits, job.address, (&mut memory, turns)).unwrap();
        // A descriptor that does not begin at a multiple of its bytes comes as two bursts, one after the other.
        split = if job.address.is_multiple_of(128) { 0 } else { u64::from(LATENCY) + 4 };
        counted = spent.iter().map(|spent| spent.cycles).collect();
    }
    let model = on(block).token(&of, tokens as u64).unwrap();
    assert_eq!(model.len(), counted.len());
    // Without the cache; operands of the chain lie at multiples of 64 bytes, where now and then a row is a burst more.
    let both = model.iter().zip(counted).filter(|((stage, _), _)| STAGES[*stage] != "append and restore");
    let sums = both.fold([0, 0], |[a, b], ((_, cycles), counted)| [a + cycles + split, b + counted]);
    println!("{of:?}: {sums:?}");
    assert!(sums[0].abs_diff(sums[1]) <= sums[1] / 100, "{of:?}: {sums:?}");
}

#[test]
fn a_token_is_that_of_the_chain() {
    let small = Model { layers: 1, width: 128, between: 192, gated: true, heads: [2, 1], head: 64, vocabulary: 512 };
    token(&small_layer_core(), (Shape::Llama, small), [8, 10]);
    token(&small_layer_core(), (Shape::Opt, Model { gated: false, heads: [2, 2], ..small }), [8, 10]);
}

/// The figures of our core that the example `headlines` prints.
#[test]
fn a_token_of_opt() {
    let found = on(&opt_core()).stages(&model("OPT-125M").unwrap(), 64).unwrap();
    println!("{STAGES:?}: {found:?}");
    assert_eq!(found, OURS);
}

/// The figures of the example `headlines` of prompts whose tokens are in flight at the same time.
#[test]
fn a_run_of_opt() {
    let run = on(&opt_core()).run(&model("OPT-125M").unwrap(), [32, 32]).unwrap();
    println!("{run:?}");
    assert_eq!(run, RUN);
}

/// The same for drawn weights: products, norms and sums of the chain that all data go through.
#[tag(full)]
#[test]
#[ignore = "a layer of 7 million weights in the golden model"]
fn token_of_opt_is_that_of_the_chain() {
    token(&opt_core(), (Shape::Opt, model("OPT-125M").unwrap()), [63, 64]);
}
