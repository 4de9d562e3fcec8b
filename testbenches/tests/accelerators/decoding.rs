//! Layers of a running model in the golden models. However tokens come, the results are the same, and near the float
//! layer's.

use std::sync::atomic::{AtomicU64, Ordering};

use golden::accelerators::memory::SparseMemory;
use golden::tender::granularity::relative_error;
use hdl::accelerators::kelle::KelleTop;
use hdl::accelerators::kllm::KllmTop;
use hdl::accelerators::titanus::TitanusCore;
use hdl::accelerators::top::TopParameters;
use hdl::lang::CatalogBlock;
use host::kllm::Bits;
use host::registers::shell;
use host::{Bus, Device, Window};
use jobs::hardware::{on_hardware, ready};
use lower::exact::Exact;
use lower::layer::Layer;
use lower::needs::Room;
use lower::pass::{DecoderLayer, Pass, Rows};
use lower::titanus::Compression;
use sim::bus::AxiConfig;
use sim::stimulus::rng_for;
use testbenches::accelerators::decoding::LayerAccelerator;
use testbenches::accelerators::drawn_layer::{Shape, Sizes, drawn as drawn_layer, drawn_rows};
use testbenches::accelerators::kelle::layer::decoding::{BUDGET, OnKelle, block as kelle_block};
use testbenches::accelerators::kelle::timing;
use testbenches::accelerators::kllm::layer::decoding::OnKllm;
use testbenches::accelerators::kllm::real::with_orizuru;
use testbenches::accelerators::titanus::layer::decoding::{COMPRESSION, OnTitanus};
use testbenches::accelerators::titanus::small_layer_core;

const WINDOW: Window = Window { base: 0x1_0000, limit: 0x1fff_ffff, address_width: 40 };
/// One key head that three query heads share.
const SIZES: Sizes = Sizes { width: 128, heads: [3, 1], head: 64, inner: 192 };
const TOKENS: usize = 7;
/// Of memory.
const LATENCY: u32 = 20;

fn kllm() -> OnKllm {
    OnKllm::with(Bits::Four).unwrap()
}

fn kelle() -> OnKelle {
    OnKelle::keeping(BUDGET).unwrap()
}

fn titanus() -> OnTitanus {
    OnTitanus::keeping(COMPRESSION).unwrap()
}

/// A layer of drawn weights, rows for it, and texts to choose scales and codebooks by.
struct Drawn {
    layer: Layer,
    rows: Rows,
    texts: Vec<Rows>,
}

fn drawn() -> Drawn {
    let mut rng = rng_for(7, "decoding");
    let layer = drawn_layer(&mut rng, Shape::Llama, SIZES);
    let rows = |count| drawn_rows(&mut rng, SIZES.width, count);
    let [rows, long, short] = [TOKENS, 24, 16].map(rows);
    Drawn { layer, rows, texts: vec![long, short] }
}

/// The layer, with room for [`TOKENS`] of one text.
fn made<'a>(on: &'a dyn LayerAccelerator, of: &Drawn) -> Box<dyn DecoderLayer + 'a> {
    on.lowering().layer(&WINDOW, &of.layer, &of.texts, Room::for_one(TOKENS)).unwrap()
}

/// The results of the tokens in passes of so many, and the saturated words; there is room for no other token.
fn passes(on: &dyn LayerAccelerator, of: &Drawn, counts: &[usize]) -> (Rows, u64) {
    let mut layer = made(on, of);
    let (mut rows, mut all) = (of.rows.as_slice(), Rows::new());
    for &count in counts {
        let (now, behind) = rows.split_at(count);
        let pass = layer.pass(&[(0, now.to_vec())]).unwrap();
        assert!(pass.job.bytes_written() > 2 * 128 * count as u64);
        all.extend(pass.rows);
        rows = behind;
    }
    assert_eq!(all.len(), TOKENS);
    assert!(layer.pass(&[(0, of.rows[..1].to_vec())]).is_err());
    (all, layer.overflows())
}

/// The error of the layer's addition, beside the float layer's.
fn error(of: &Drawn, rows: &[Vec<f64>]) -> f64 {
    let added = |rows: &[Vec<f64>]| -> Rows {
        let row = |(row, before): (&Vec<f64>, &Vec<f64>)| row.iter().zip(before).map(|(x, y)| x - y).collect();
        rows.iter().zip(&of.rows).map(row).collect()
    };
    relative_error(&added(&Exact::of(&of.layer, &of.rows).out), &added(rows))
}

#[test]
fn tokens_come_together_or_one_by_one() {
    let (kllm, kelle, of) = (kllm(), kelle(), drawn());
    for (on, most) in [(&kllm as &dyn LayerAccelerator, 0.1), (&kelle as _, 1e-3)] {
        let (together, overflows) = passes(on, &of, &[TOKENS]);
        assert_eq!(overflows, 0, "{}", on.about());
        assert_eq!(passes(on, &of, &[3, 1, 1, 2]), (together.clone(), 0), "{}", on.about());
        let error = error(&of, &together);
        println!("{}: {error:.2e}", on.about());
        assert!(error > 0.0 && error < most, "{}: {error:.2e}", on.about());
    }
}

/// Tokens of a prompt see keys and values that are pruned, but not in few bits; later tokens see both. Numbers beyond
/// the range of the texts are saturated and counted.
#[test]
fn titanus_tells_a_prompt_from_what_follows() {
    let (on, of) = (titanus(), drawn());
    let rows = [&[TOKENS][..], &[3, 1, 1, 1, 1]].map(|counts| passes(&on, &of, counts));
    assert_ne!(rows[0], rows[1]);
    for (rows, overflows) in rows {
        assert!(overflows > 0);
        let error = error(&of, &rows);
        println!("{error:.2e}");
        assert!(error > 0.0 && error < 0.1, "{error:.2e}");
    }
}

/// A prompt and a token on hardware: every byte and all cycles are the golden model's. Returns the numbers, and cycles of
/// both.
fn played<B: CatalogBlock>(block: &B, on: &dyn LayerAccelerator, of: &Drawn) -> ([Rows; 2], u64) {
    let mut layer = made(on, of);
    let mut first = 0;
    let passes = [3, 1].map(|count| {
        first += count;
        layer.pass(&[(0, of.rows[first - count..first].to_vec())]).unwrap()
    });
    let cycles = AtomicU64::new(0);
    on_hardware(block, &AxiConfig::ideal(LATENCY), |hardware| {
        let (mut device, mut clock) = (Device::new(hardware), on.clock(&WINDOW, LATENCY).unwrap());
        ready(&mut device, WINDOW, 200).unwrap();
        for _ in 0..on.settling() {
            device.bus().cycle().unwrap();
        }
        for Pass { job, .. } in &passes {
            let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
            assert_eq!(counters.cycles, clock.cycles(job).unwrap());
            cycles.fetch_add(counters.cycles, Ordering::Relaxed);
        }
    });
    (passes.map(|pass| pass.rows), cycles.into_inner())
}

/// Where operations of a layer overlap, its chains are in another order. The numbers are the same, and they come earlier.
fn overlap(played: impl Fn(bool) -> ([Rows; 2], u64)) {
    let [(rows, apart), (same, together)] = [false, true].map(played);
    assert_eq!(rows, same);
    println!("{together} cycles, {apart} one by one");
    assert!(together < apart, "{together} cycles, {apart} one by one");
}

#[test]
fn operations_of_a_layer_overlap() {
    let of = drawn();
    overlap(|overlaps| {
        let small = with_orizuru();
        let block = KllmTop { bus: TopParameters { overlaps, ..small.bus.clone() }, ..small };
        played(&block, &OnKllm::new(block.clone(), Bits::Four).unwrap(), &of)
    });
}

/// On Kelle, where heads have evicted a token: linear layers and attention share the array.
#[test]
fn linear_layers_and_attention_overlap() {
    let of = drawn();
    overlap(|overlaps| {
        let block = KelleTop { overlaps, ..timing::patient(kelle_block(8, 1, 8)) };
        played(&block, &OnKelle::new(block.clone(), 3).unwrap(), &of)
    });
}

/// On Titanus: loads beside the first products, softmax of a head beside products of other heads.
#[test]
fn loads_rows_the_cache_and_products_overlap() {
    let of = drawn();
    overlap(|overlaps| {
        let core = small_layer_core();
        let block = TitanusCore { bus: TopParameters { overlaps, ports: 2, ..core.bus.clone() }, ..core };
        played(&block, &OnTitanus::new(block.clone(), COMPRESSION).unwrap(), &of)
    });
}

/// After the first pass, a token's numbers do not depend on how many tokens come with it. This holds also where heads
/// evict and streams are in few bits.
#[test]
fn later_tokens_come_together_or_one_by_one() {
    let of = drawn();
    let few = OnKelle::keeping(4).unwrap();
    let bits = |bits| OnTitanus::keeping(Compression { sparsity: 0.338, bits: [bits, bits] }).unwrap();
    let (four, eight) = (bits(4), bits(8));
    for (on, first) in [(&few as &dyn LayerAccelerator, 1), (&four as _, 3), (&eight as _, 1)] {
        let one_by_one: Vec<usize> = [first].into_iter().chain(std::iter::repeat_n(1, TOKENS - first)).collect();
        assert_eq!(passes(on, &of, &one_by_one), passes(on, &of, &[first, TOKENS - first]), "{}", on.about());
    }
    let rows = |on: &dyn LayerAccelerator| passes(on, &of, &[1, TOKENS - 1]).0;
    // A budget of all tokens evicts none.
    let all = rows(&OnKelle::keeping(TOKENS as u16).unwrap());
    assert_eq!(all, rows(&kelle()));
    assert!(error(&of, &all) < error(&of, &rows(&few)));
    let unpruned = OnTitanus::keeping(Compression { sparsity: 0.0, bits: [8, 8] }).unwrap();
    assert!(error(&of, &rows(&unpruned)) < error(&of, &rows(&four)));
}

/// Passes of three texts on Kelle with so many heads; a text has one. Budgets are small, so that tokens go.
fn of_three_texts(on: &OnKelle, of: &Drawn) -> (Vec<Pass>, Vec<u64>) {
    let room = Room { texts: 3, tokens: TOKENS };
    let mut layer = on.lowering().layer(&WINDOW, &of.layer, &of.texts, room).unwrap();
    let rows = |text: usize, first: usize, count: usize| -> (usize, Rows) {
        (text, (first..first + count).map(|token| of.rows[(token + 2 * text) % TOKENS].clone()).collect())
    };
    // Together, in another order, some of them.
    let all = [
        vec![rows(0, 0, 3), rows(1, 0, 2), rows(2, 0, 1)],
        vec![rows(2, 1, 1), rows(0, 3, 1), rows(1, 2, 2)],
        vec![rows(1, 4, 1)],
        vec![rows(0, 4, 2), rows(2, 2, 3)],
        vec![rows(2, 5, 1), rows(1, 5, 1)],
    ];
    let passes: Vec<Pass> = all.iter().map(|texts| layer.pass(texts).unwrap()).collect();
    let mut clock = on.clock(&WINDOW, LATENCY).unwrap();
    let cycles = passes.iter().map(|pass| clock.cycles(&pass.job).unwrap()).collect();
    (passes, cycles)
}

/// Texts that share heads have the numbers of texts with heads of their own. On hardware each byte and all cycles are the
/// golden model's.
#[test]
fn texts_share_heads() {
    let of = drawn();
    let on = |heads| {
        let block = timing::patient(kelle_block(8, heads, 8));
        (OnKelle::new(block.clone(), 3).unwrap(), block)
    };
    let (own, _) = of_three_texts(&on(3).0, &of);
    let rows = |passes: &[Pass]| passes.iter().map(|pass| pass.rows.clone()).collect::<Vec<_>>();
    let descriptors = |passes: &[Pass]| passes.iter().map(|pass| pass.job.descriptors).sum::<u32>();
    let (two, _) = of_three_texts(&on(2).0, &of);
    let (sharing, block) = on(1);
    let (one, cycles) = of_three_texts(&sharing, &of);
    assert!(rows(&own) == rows(&two) && rows(&own) == rows(&one));
    assert!(descriptors(&own) < descriptors(&two) && descriptors(&two) < descriptors(&one));
    on_hardware(&block, &AxiConfig::ideal(LATENCY), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 200).unwrap();
        for _ in 0..sharing.settling() {
            device.bus().cycle().unwrap();
        }
        for (Pass { job, .. }, cycles) in one.iter().zip(&cycles) {
            let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
            assert_eq!(counters.cycles, *cycles);
        }
    });
}

/// The golden model alone: the same numbers without images, and each job takes the room of the one before.
#[test]
fn jobs_without_images_take_no_more_room() {
    let (of, counts) = (drawn(), [3, 1, 1, 2]);
    let all: [Box<dyn LayerAccelerator>; 3] = [Box::new(kllm()), Box::new(kelle()), Box::new(titanus())];
    for on in all {
        let (mut layer, mut alone) = (made(&*on, &of), made(&*on, &of));
        alone.without_images();
        let (mut first, mut places) = (0, Vec::new());
        for count in counts {
            let rows = of.rows[first..first + count].to_vec();
            let [pass, bare] = [&mut layer, &mut alone].map(|layer| layer.pass(&[(0, rows.clone())]).unwrap());
            assert_eq!(pass.rows, bare.rows, "{}", on.about());
            assert_eq!(pass.job.descriptors, bare.job.descriptors);
            assert!(pass.job.images.len() > 1 && bare.job.images.len() == 1, "{}", on.about());
            places.push([pass.job.address, bare.job.address]);
            first += count;
        }
        assert_eq!(layer.overflows(), alone.overflows());
        for place in &places[1..] {
            assert!(place[0] > places[0][0] && place[1] <= places[0][1], "{}: {places:x?}", on.about());
        }
    }
}

/// Requests for which no layer can be made.
#[test]
fn nothing_to_choose_scales_by() {
    let of = drawn();
    let all: [Box<dyn LayerAccelerator>; 3] = [Box::new(kllm()), Box::new(kelle()), Box::new(titanus())];
    for on in all {
        assert!(!on.design().unwrap().files.is_empty());
        let refused = |texts: &[Rows], room| match on.lowering().layer(&WINDOW, &of.layer, texts, room) {
            Ok(_) => panic!("a layer for {room:?}, by {} texts", texts.len()),
            Err(error) => format!("{error:#}"),
        };
        assert!(refused(&[], Room::for_one(3)).contains("need a text"));
        for (texts, tokens) in [(1, 0), (0, 3)] {
            let wanted = format!("room for {tokens} tokens of {texts} texts, wanted are one or more of each");
            assert_eq!(refused(&of.texts, Room { texts, tokens }), wanted);
        }
    }
}

/// A device that leaves the golden model's results in memory, except for one bit, and takes so many cycles.
struct Echo {
    memory: SparseMemory,
    pass: Pass,
    cycles: u32,
    spoilt: Option<u64>,
}

impl Bus for Echo {
    type Error = std::convert::Infallible;

    fn read32(&mut self, offset: u32) -> Result<u32, Self::Error> {
        Ok(match offset {
            shell::STATUS => shell::STATUS_DONE,
            shell::DESCRIPTORS => self.pass.job.descriptors,
            shell::CYCLES => self.cycles,
            _ => 0,
        })
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), Self::Error> {
        if (offset, value) == (shell::CONTROL, shell::CONTROL_START) {
            for image in &self.pass.job.written {
                self.memory.store(image.address, &image.bytes);
            }
            if let Some(at) = self.spoilt {
                let byte = self.memory.bytes(at, 1)[0];
                self.memory.store(at, &[byte ^ 0x40]);
            }
        }
        Ok(())
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.copy_from_slice(&self.memory.bytes(address, bytes.len()));
        Ok(())
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        self.memory.store(address, bytes);
        Ok(())
    }
}

/// Any wrong byte on a device after a pass, in rows or in the cache, is found and its place is told. One cycle more or
/// less is found, too.
#[test]
fn other_hardware_is_noticed() {
    let (kllm, kelle, titanus) = (kllm(), kelle(), titanus());
    let (of, all): (_, [&dyn LayerAccelerator; 3]) = (drawn(), [&kllm, &kelle, &titanus]);
    for on in all {
        let mut layer = made(on, &of);
        let mut pass = |rows: &[Vec<f64>]| layer.pass(&[(0, rows.to_vec())]).unwrap();
        let (first, pass) = (pass(&of.rows[..3]), pass(&of.rows[3..4]));
        let mut clock = on.clock(&WINDOW, LATENCY).unwrap();
        let [_, cycles] = [&first, &pass].map(|pass| clock.cycles(&pass.job).unwrap());
        let run = |taken: u64, spoilt| {
            let echo = Echo { memory: SparseMemory::new(), pass: pass.clone(), cycles: taken as u32, spoilt };
            let mut device = Device::new(echo);
            pass.run_on(&mut device, cycles).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(run(cycles, None).unwrap().0, pass.rows);
        for image in &pass.job.written {
            for at in [image.address, image.address + image.bytes.len() as u64 - 1] {
                let error = run(cycles, Some(at)).unwrap_err();
                assert!(
                    error.contains("differ from the golden model's, byte Some("),
                    "{}, {at:#x}: {error}",
                    on.about()
                );
            }
        }
        for other in [cycles - 1, cycles + 1] {
            let error = run(other, None).unwrap_err();
            let wanted = format!("takes {other} cycles, in the golden model {cycles}");
            assert!(error.starts_with("the job at 0x") && error.ends_with(&wanted), "{}: {error}", on.about());
        }
    }
}
