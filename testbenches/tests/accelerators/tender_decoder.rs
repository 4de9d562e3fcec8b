//! A whole decoder on the Tender accelerator, a token at a time: the RTL and the golden model agree after every job.

use test_tag::tag;

use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::top::TopParameters;
use hdl::blocks::tender::MultiScaleArray;
use host::Window;
use jobs::hardware::{Hardware, on_hardware};
use lower::files::Contents;
use lower::needs::Room;
use lower::tender::{Decoder, InSoftware, decoder, likeliest, on_device};
use lower::whole::{Checked, DecoderModel, Executor, Orders, Recorder, Sizes, Source, Spent, Team};
use models::decoder::{Activation, Config, Family, Float, Model, Positions, Precision, Rotary, Scaling, Tokenizer};
use models::smollm2;
use models::tender::groups::Groups;
use models::tender::learnt::Learnt;
use sim::bus::AxiConfig;
use sim::{BuildOptions, Design, Initial};
use testbenches::accelerators::c_program::{CError, CLayer};
use testbenches::accelerators::tender::decoding::for_decoding;
use testbenches::accelerators::tender::timing::timing;
use testbenches::accelerators::tender::{caps_of, golden_of};

/// Cycles until memory answers.
const LATENCY: u32 = 20;
const WINDOW: Window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 32 };

/// Two layers, two key heads that two query heads share each.
const CONFIG: Config = Config {
    family: Family::Llama,
    layers: 2,
    width: 128,
    ffn_width: 192,
    heads: 4,
    kv_heads: 2,
    head_width: 32,
    positions: Positions::Rotary(Rotary { base: 100.0, scaling: Scaling::None }),
    activation: Activation::Silu,
    norm_eps: 1e-5,
    vocabulary: 50,
    context: 40,
};

fn made() -> Model {
    Model::drawn(CONFIG, &mut sim::stimulus::rng(seeds::seed(1))).unwrap()
}

fn learnt(model: &Model) -> Groups {
    let mut learnt = Learnt::default();
    // A made model has no channels that all texts share: others would be saturated.
    learnt.learn(model, &TEXT).unwrap();
    Groups::of(model.config(), &learnt, 8, 8).unwrap()
}

fn software(block: &TenderTop) -> InSoftware {
    InSoftware::new(golden_of(block).unwrap(), &WINDOW)
}

const TEXT: [u32; 7] = [3, 10, 41, 5, 9, 26, 5];

/// A token's row of the residual stream.
fn row(model: &Model, token: u32) -> Vec<f64> {
    model.embed(&[token], 0).unwrap().values
}

/// Logits of the text's tokens.
fn logits(model: &Model, block: &TenderTop, on: &mut dyn Executor, text: &[u32]) -> (Vec<Vec<f64>>, Spent) {
    let (learnt, mut all) = (learnt(model), Spent::default());
    let on_block = (&caps_of(block), block.bus.overlaps, &WINDOW);
    let mut decoder = decoder((Source::whole(model), &learnt), on_block, Sizes::one_by_one(32), on).unwrap();
    let mut token = |&token: &u32| {
        let mut add = |spent: &Spent| {
            all += *spent;
            Ok(())
        };
        let logits = decoder.token(on, (row(model, token), true), &mut add).unwrap();
        logits.into_iter().map(|x| x.to_f64()).collect()
    };
    (text.iter().map(&mut token).collect(), all)
}

fn relative(found: &[f64], exact: &[f64]) -> f64 {
    let error: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    error / exact.iter().map(|x| x * x).sum::<f64>()
}

/// The model's own arithmetic: it computes the network, up to rounding to integers of 8 bits.
#[test]
fn logits_are_near_the_float_ones() {
    let (model, block) = (made(), for_decoding(16));
    let (found, _) = logits(&model, &block, &mut software(&block), &TEXT);
    let x = model.forward(&TEXT, &mut model.cache(), &mut Float).unwrap();
    let exact = model.logits(&x, &mut Float).unwrap();
    for (found, exact) in found.iter().zip(exact.iter()) {
        let error = relative(found, exact);
        println!("{error:.2e}");
        assert!(error > 0.0 && error < 1e-3, "{error:.2e}");
    }
}

/// A simulation of a design with a memory that answers after [`LATENCY`] cycles.
fn simulate<T>(design: &Design, work: impl FnOnce(&mut dyn Executor) -> T) -> T {
    let model = sim::Model::build(design, &BuildOptions::default()).unwrap();
    let mut sim = model.instance_with(Initial::Random(seeds::seed(2))).unwrap();
    let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(LATENCY), 1).unwrap();
    work(&mut on_device(hardware, &WINDOW, Hardware::sleep).unwrap())
}

fn design(block: &TenderTop) -> Design {
    Design::from(&hdl::lang::elaborate(block).unwrap())
}

/// Every byte of every job is the golden model's, and so are its cycles.
#[test]
fn every_job_is_the_golden_one() {
    let (model, block) = (made(), for_decoding(8));
    let golden = || software(&block).timed(timing(&block, LATENCY));
    let alone = logits(&model, &block, &mut golden(), &TEXT);
    simulate(&design(&block), |device| {
        let mut on = Checked::new(device, golden());
        let (found, spent) = logits(&model, &block, &mut on, &TEXT);
        assert!(spent.computing > spent.cycles / 2, "{spent:?}");
        assert!(on.bytes() > 10_000, "{}", on.bytes());
        assert_eq!((&found, Spent { computing: 0, ..spent }), (&alone.0, alone.1));
    });
}

/// Tokens of two texts come together, first several and then one of each. Every byte of every job is the golden
/// model's, and the logits are those of the texts token by token.
#[test]
fn texts_come_together() {
    come_together(&for_decoding(8));
}

/// The same where operations overlap, which takes less time.
#[test]
fn operations_overlap() {
    let apart = TenderTop { array: MultiScaleArray { rows: 4, ..for_decoding(8).array }, ..for_decoding(8) };
    let bus = TopParameters { overlaps: true, ..apart.bus.clone() };
    let (together, apart) = (come_together(&TenderTop { bus, ..apart.clone() }), come_together(&apart));
    assert!(together < apart, "{together} cycles, {apart} one by one");
}

/// Returns the cycles.
fn come_together(block: &TenderTop) -> u64 {
    let model = made();
    let golden = || software(block).timed(timing(block, LATENCY));
    let texts = [&TEXT[..5], &TEXT[3..]];
    let alone = texts.map(|text| logits(&model, block, &mut golden(), text).0);
    let sizes = Sizes { rows: 7, room: Room { texts: 2, tokens: 32 } };
    let rows = |text: usize, range: std::ops::Range<usize>| {
        let tokens = &texts[text][range.clone()];
        (text, model.embed(tokens, range.start).unwrap().iter().map(<[f64]>::to_vec).collect::<Vec<_>>())
    };
    let passes = [vec![rows(0, 0..4), rows(1, 0..3)], vec![rows(1, 3..4), rows(0, 4..5)]];
    simulate(&design(block), |device| {
        let (mut on, learnt, mut cycles) = (Checked::new(device, golden()), learnt(&model), 0);
        let on_block = (&caps_of(block), block.bus.overlaps, &WINDOW);
        let mut decoder = decoder((Source::whole(&model), &learnt), on_block, sizes, &mut on).unwrap();
        let mut pass = |texts: &[(usize, Vec<Vec<f64>>)]| -> Vec<Vec<f64>> {
            let mut add = |spent: &Spent| {
                cycles += spent.cycles;
                Ok(())
            };
            let found = decoder.pass(&mut on, (texts, true), &mut add).unwrap();
            found.iter().map(|row| row.iter().map(|x| x.to_f64()).collect()).collect()
        };
        assert_eq!(pass(&passes[0]), [alone[0][3].clone(), alone[1][2].clone()]);
        assert_eq!(pass(&passes[1]), [alone[1][3].clone(), alone[0][4].clone()]);
        let refused = |texts: &[(usize, Vec<Vec<f64>>)], decoder: &mut Decoder, on: &mut dyn Executor| {
            decoder.pass(on, (texts, true), &mut |_| Ok(())).unwrap_err().to_string()
        };
        let many = [rows(0, 0..5), rows(1, 0..3)];
        assert_eq!(refused(&many, &mut decoder, &mut on), "a pass of 8 tokens, there is room for 7");
        assert_eq!(refused(&[], &mut decoder, &mut on), "a pass of no text");
        assert!(on.bytes() > 10_000, "{}", on.bytes());
        cycles
    })
}

/// Models for which the accelerator has not enough, or no equal shares.
#[test]
fn what_does_not_fit() {
    let (model, block) = (made(), for_decoding(8));
    let (learnt, sizes) = (learnt(&model), Sizes::one_by_one(32));
    let refused = |block: &TenderTop, sizes: Sizes| {
        let caps = caps_of(block);
        let made = decoder((Source::whole(&model), &learnt), (&caps, false, &WINDOW), sizes, &mut software(block));
        format!("{:#}", made.unwrap_err())
    };
    let small = TenderTop { depth: 64, steps: 70, ..block.clone() };
    let wanted = "the model does not fit on the accelerator: depth must be 192, and is 64 (channels of the longest product); \
                  steps must be 199, and is 70 (channels and their groups)";
    assert_eq!(refused(&small, sizes), wanted);
    let wanted = "room for 41 tokens; the model's context is 40";
    assert_eq!(refused(&block, Sizes::one_by_one(41)), wanted);
    assert_eq!(refused(&block, Sizes { rows: 0, ..sizes }), "passes of no token");
    let three = team_of(
        3,
        |_, orders| orders.serve(&mut software(&block)),
        |on| decoder((Source::whole(&model), &learnt), (&caps_of(&block), false, &WINDOW), sizes, on).map(|_| ()),
    );
    let wanted = "a residual stream of 128 for 3 accelerators side by side; wanted are multiples of 3";
    assert_eq!(three.unwrap_err().to_string(), wanted);
}

/// Two accelerators side by side; each member serves its orders in a thread of its own.
fn team<T>(
    member: impl Fn(usize, Orders) -> anyhow::Result<()> + Sync,
    work: impl FnOnce(&mut dyn Executor) -> T,
) -> T {
    team_of(2, member, work)
}

/// The same with so many.
fn team_of<T>(
    count: usize,
    member: impl Fn(usize, Orders) -> anyhow::Result<()> + Sync,
    work: impl FnOnce(&mut dyn Executor) -> T,
) -> T {
    let member = &member;
    std::thread::scope(|scope| {
        let members = (0..count).map(|part| move |orders| member(part, orders)).collect();
        work(&mut Team::new(scope, members))
    })
}

/// Each of two has half of the columns of all projections, 25 of 50 in the last one, and takes fewer cycles. The logits
/// equal the logits of one.
#[test]
fn two_side_by_side_write_as_one() {
    let (model, block) = (made(), for_decoding(8));
    let golden = || software(&block).timed(timing(&block, LATENCY));
    let alone = logits(&model, &block, &mut golden(), &TEXT);
    let pair = team(|_, orders| orders.serve(&mut golden()), |on| logits(&model, &block, on, &TEXT));
    assert_eq!(pair.0, alone.0);
    assert!(pair.1.cycles < alone.1.cycles, "{:?} beside {:?}", pair.1, alone.1);
    let built = sim::Model::build(&design(&block), &BuildOptions::default()).unwrap();
    let bytes = std::sync::Mutex::new(Vec::new());
    let member = |_, orders: Orders| {
        let mut sim = built.instance_with(Initial::Random(seeds::seed(2)))?;
        let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(LATENCY), 1)?;
        let mut on = Checked::new(on_device(hardware, &WINDOW, Hardware::sleep)?, golden());
        orders.serve(&mut on)?;
        bytes.lock().unwrap().push(on.bytes());
        Ok(())
    };
    let (found, spent) = team(member, |on| logits(&model, &block, on, &TEXT));
    assert_eq!((&found, Spent { computing: 0, ..spent }), (&pair.0, pair.1));
    let bytes = bytes.into_inner().unwrap();
    assert!(bytes.len() == 2 && bytes.iter().all(|&bytes| bytes > 5_000), "{bytes:?}");
}

/// Whichever of two differs from its golden model, or ends, the work ends with an error that names it.
#[test]
fn a_member_that_fails_is_named() {
    let (model, block) = (made(), for_decoding(8));
    let learnt = learnt(&model);
    for wrong in 0..2 {
        let refused = |member: &(dyn Fn(Orders) -> anyhow::Result<()> + Sync)| {
            let members = |part, orders: Orders| match part == wrong {
                true => member(orders),
                false => orders.serve(&mut software(&block)),
            };
            let error = team(members, |on| {
                let mut decoder = decoder(
                    (Source::whole(&model), &learnt),
                    (&caps_of(&block), false, &WINDOW),
                    Sizes::one_by_one(32),
                    on,
                )?;
                decoder.token(on, (row(&model, 3), true), &mut |_| Ok(()))
            });
            format!("{:#}", error.unwrap_err())
        };
        let error = refused(&|orders| {
            let mut golden = software(&block);
            orders.serve(&mut Checked::new(Spoilt { device: &mut golden, spoil: Some(1) }, software(&block)))
        });
        let wanted = format!("accelerator {wrong}: hardware and golden model differ: the byte at 0x");
        assert!(error.starts_with(&wanted), "{error}");
        assert_eq!(refused(&|_| anyhow::bail!("no simulator")), format!("accelerator {wrong}: no simulator"));
        assert_eq!(refused(&|_| Ok(())), format!("accelerator {wrong}: its thread has ended"));
    }
}

/// A device whose memory differs in one bit of a weight is noticed, and so is a device that takes one cycle more.
#[test]
fn other_hardware_is_noticed() {
    let (model, block) = (made(), for_decoding(8));
    let learnt = learnt(&model);
    let refused = |device: &mut dyn Executor, golden: InSoftware, spoil: Option<u8>| {
        let mut on = Checked::new(Spoilt { device, spoil }, golden);
        let mut decoder = decoder(
            (Source::whole(&model), &learnt),
            (&caps_of(&block), false, &WINDOW),
            Sizes::one_by_one(32),
            &mut on,
        )
        .unwrap();
        let error = decoder.token(&mut on, (row(&model, 3), true), &mut |_| Ok(())).unwrap_err();
        format!("{error:#}")
    };
    let error = refused(&mut software(&block), software(&block), Some(1));
    assert!(error.starts_with("hardware and golden model differ: the byte at 0x"), "{error}");
    // Software has no cycles of its own.
    let error = refused(&mut software(&block), software(&block).timed(timing(&block, LATENCY)), None);
    assert!(error.starts_with("hardware and golden model differ: Spent {") && error.contains("cycles: 0"), "{error}");
}

/// A layer becomes files, and a program in C runs its jobs with the host's work between them.
#[test]
fn a_c_program_runs_a_layer() {
    const POLLS: u32 = 10_000_000;
    let (model, block) = (made(), for_decoding(8));
    let (learnt, caps) = (learnt(&model), caps_of(&block));
    let rows: Vec<Vec<f64>> = model.embed(&TEXT[..4], 0).unwrap().iter().map(<[f64]>::to_vec).collect();
    // A prompt, and a token after it.
    let passes = [0..3, 3..4].map(|some| vec![(0, rows[some].to_vec())]);
    let sizes = Sizes { rows: 3, room: Room::for_one(4) };
    let load = |memory: &mut Recorder<'_>| -> anyhow::Result<Box<dyn DecoderModel>> {
        let source = Source::layer(&model, 1)?;
        Ok(Box::new(decoder((source, &learnt), (&caps, false, &WINDOW), sizes, memory)?))
    };
    let contents = Contents::of_rows(&mut software(&block), load, &passes).unwrap();
    assert_eq!(contents.jobs().map(|job| job.moves.is_empty()).collect::<Vec<_>>(), [true, false, true, false]);
    let [_, pass] = contents.passes.as_slice() else { panic!("two passes") };
    assert!(pass.written.iter().any(|image| image.address <= pass.out.at.address));
    let folder = tempfile::tempdir().unwrap();
    contents.write(folder.path(), &WINDOW, &["A layer of made weights.".to_owned()]).unwrap();
    let program = CLayer::build(folder.path()).unwrap();
    // Without the host's work the second job has other keys.
    let mut idle = contents.clone();
    idle.passes[1].jobs[1].moves.clear();
    idle.write(folder.path(), &WINDOW, &["The same without moves.".to_owned()]).unwrap();
    let idle = CLayer::build(folder.path()).unwrap();
    on_hardware(&block, &AxiConfig::ideal(LATENCY), |hardware| {
        let end = program.run(hardware, POLLS).unwrap();
        assert_eq!((end.code, end.descriptors), (0, pass.jobs[1].descriptors));
    });
    on_hardware(&block, &AxiConfig::ideal(LATENCY), |hardware| {
        assert!(matches!(idle.run(hardware, POLLS), Err(CError::Wrong(_))));
    });
    let load = |memory: &mut Recorder<'_>| -> anyhow::Result<Box<dyn DecoderModel>> {
        let source = Source::layer(&model, 2)?;
        Ok(Box::new(decoder((source, &learnt), (&caps, false, &WINDOW), sizes, memory)?))
    };
    let refused = Contents::of_rows(&mut software(&block), load, &passes).unwrap_err();
    assert_eq!(refused.to_string(), "there is no layer 2: the model has 2, from 0");
}

/// Bytes of a panel of a projection: four columns, and the channels of the model.
const PANEL: usize = 4 * CONFIG.width;

/// A device that changes the last bit of the first weight in each panel of a projection.
struct Spoilt<'a> {
    device: &'a mut dyn Executor,
    spoil: Option<u8>,
}

impl Executor for Spoilt<'_> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> anyhow::Result<()> {
        let mut bytes = bytes.to_vec();
        if let (true, Some(bits)) = (bytes.len() == PANEL, self.spoil) {
            bytes[0] ^= bits;
        }
        self.device.write(address, &bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> anyhow::Result<()> {
        self.device.read(address, bytes)
    }

    fn run(&mut self, job: u64) -> anyhow::Result<Spent> {
        self.device.run(job)
    }
}

/// All of SmolLM2-135M, in the accelerator of `senbazuru run`: three tokens are read and two written, as in software.
#[tag(full)]
#[test]
#[ignore = "a simulation of minutes"]
fn smollm2_writes_as_the_golden_model() {
    let file = smollm2::open().unwrap();
    let tokenizer = Tokenizer::read(&file).unwrap();
    let model = Model::read(&file, Precision::File).unwrap();
    let learnt = Groups::of_texts(&model, &tokenizer, 256).unwrap();
    let (block, prompt) = (for_decoding(128), tokenizer.encode("Gravity is").unwrap());
    let golden = || software(&block).timed(timing(&block, LATENCY));
    let write = |on: &mut dyn Executor| {
        let mut decoder =
            decoder((Source::whole(&model), &learnt), (&caps_of(&block), false, &WINDOW), Sizes::one_by_one(256), on)
                .unwrap();
        let mut text = prompt.clone();
        let mut logits = Vec::new();
        for at in 0..prompt.len() + 1 {
            logits = decoder.token(on, (row(&model, text[at]), at + 1 >= prompt.len()), &mut |_| Ok(())).unwrap();
            if at + 1 == text.len() {
                text.push(likeliest(&logits));
            }
        }
        (tokenizer.decode(&text).unwrap(), logits)
    };
    // Two side by side, as in that command; one of them is simulated.
    let alone = team(|_, orders| orders.serve(&mut golden()), |on| write(on));
    assert_eq!(alone.0, "Gravity is a fundamental");
    simulate(&design(&block), |device| {
        let mut on = Checked::new(device, golden());
        assert_eq!(write(&mut on), alone);
        assert!(on.bytes() > 2_500_000, "{}", on.bytes());
    });
}
