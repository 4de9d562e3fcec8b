//! Titanus cores in a chain: random jobs, cycles, and layers whose tokens go from core to core.

use golden::accelerators::titanus::Operation;
use golden::common::shell::job_controller::code;
use hdl::accelerators::titanus::{TitanusChain, TitanusCore};
use hdl::lang::CatalogBlock;
use host::titanus::{Caps, LinkJob};
use host::{Chain, Device, DeviceError, Settings, Window};
use jobs::draft::Operations;
use lower::layer::Layer;
use lower::titanus::linked::{Linked, Split, linked};
use lower::titanus::{Compression, Prompt};
use rand::SeedableRng;
use sim::bus::{AxiConfig, AxiMemory};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use sim::stimulus::{Stall, StimulusRng, rng_for};
use test_tag::tag;
use testbenches::accelerators::drawn_layer::{Shape, Sizes, drawn as drawn_layer, drawn_rows};
use testbenches::accelerators::titanus::layer::chains;
use testbenches::accelerators::titanus::{caps_of, golden_of, small_layer_core};
use testbenches::accelerators::titanus_chain::cores::{Core, Cores, LINK};
use testbenches::accelerators::titanus_chain::layers::{Starts, run_jobs};
use testbenches::accelerators::titanus_chain::{bench, draw, timing};

const WINDOW: Window = Window { base: 0x1_0000, limit: 0x1fff_ffff, address_width: 40 };
const SIZES: Sizes = Sizes { width: 128, heads: [4, 2], head: 64, inner: 192 };
const THRESHOLDS: [u8; 2] = [14, 20];
const HOW: Compression = Compression { sparsity: 0.338, bits: [4, 4] };

#[test]
fn two_cores() {
    run(&TitanusChain::configurations()[0], bench, &options(80)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Jobs take the cycles that the recurrence of the golden model says, including cycles in which they wait for each
/// other.
#[test]
fn cycles_of_chains() {
    run(&TitanusChain::configurations()[0], timing::bench, &options(60)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Both, of all configurations.
#[tag(release)]
#[test]
#[ignore = "minutes: models of five cores"]
fn all_small_configurations() {
    for block in TitanusChain::configurations() {
        run(&block, bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
        run(&block, timing::bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Rounds end well often enough, cores wait for each other, and links go wrong in all ways.
#[test]
fn what_is_drawn() {
    for block in TitanusChain::configurations() {
        let (operations, fresh) = (Operations::of(&block.core), golden_of(&block.core).unwrap());
        let mut rng = StimulusRng::seed_from_u64(5);
        let (mut good, mut links, mut waits, mut ends) = (0, 0, [0; 2], [0; 16]);
        for _ in 0..600 {
            let mut models = vec![fresh.clone(); block.cores as usize];
            let (_, jobs) = draw(&mut rng, (&operations, &mut models), 6);
            good += usize::from(jobs.iter().all(testbenches::accelerators::titanus_chain::Drawn::is_good));
            for (k, job) in jobs.iter().enumerate() {
                for executed in &job.report.executed {
                    let Operation::Link(link) = executed.operation.operation else { continue };
                    links += 1;
                    waits[usize::from(k > 0)] += usize::from(link.awaited > 0);
                    ends[usize::from(executed.codes.first().copied().unwrap_or(0))] += 1;
                }
            }
        }
        println!("{good} good rounds, {links} links, {waits:?} wait, ends {ends:?}");
        assert!(good > 30 && waits.iter().all(|&count| count > 20), "{good}, {waits:?}");
        for code in [0, code::TIMEOUT, code::FIELD] {
            assert!(ends[usize::from(code)] > 0, "{code}: {ends:?}");
        }
    }
}

/// A link without a patience takes the register TIMEOUT, so no descriptor makes a core wait for ever. With neither, a
/// soft reset ends the wait.
#[test]
fn a_link_waits_no_longer_than_the_host_says() {
    let block = &TitanusChain::configurations()[0];
    let bench = sim::kit::bench(block, |sim, run| {
        sim.reset(2)?;
        let mut memory = AxiMemory::new();
        memory.serve_all(sim, "mem", &AxiConfig::ideal(3), run.seed())?;
        let mut cores = Cores::new(sim, memory, block.cores as usize, (Stall::Never, run.seed()))?;
        let mut device = Device::new(Core { sim, cores: &mut cores, number: 0 });
        let window = Window { address_width: 32, ..WINDOW };
        let caps = Caps::read(&mut device).unwrap();
        let link = Chain::new().then(LinkJob::wait(1, false).build(&caps, &window).unwrap());
        let job = link.place(window.base, &window, 1).unwrap();
        for timeout in [200, 0] {
            device.configure(&Settings { window, timeout, max_descriptors: 1 }).unwrap();
            match device.run(&job, 400) {
                Err(DeviceError::Job(failure)) => assert_eq!((timeout, failure.number), (200, code::TIMEOUT.into())),
                other => assert!(timeout == 0 && matches!(other, Err(DeviceError::TooLong { .. })), "{other:?}"),
            }
        }
        device.soft_reset(100).unwrap();
        // A token that comes is all it needs.
        device.bus().cores.neighbours.coming.push_back(false);
        assert_eq!(device.run(&job, 400).unwrap().descriptors, 1);
        let waiting = cores.load(sim, 0, LINK)? & 0xffff;
        run.expect_equal(sim, "LINK", "tokens that wait", 0, waiting)
    });
    let design = hdl::lang::elaborate(block).unwrap();
    sim::run(&*bench.unwrap(), &sim::Design::from(&design), &options(1)).unwrap();
}

/// Links that join the wrong cores, or lose tokens.
#[tag(full)]
#[test]
#[ignore = "minutes: a model of two accelerators for each fault"]
fn faults_are_found() {
    let block = &TitanusChain::configurations()[0];
    let net = Fault::net;
    let faults = [
        ("a core gives to nobody", net("core_0_next_valid", "1'b0")),
        ("a core gives as if the next one did not take", net("core_1_prior_ready", "1'b0")),
        ("the first core shows the last one's interrupt", net("irq_o", "{right[1], right[1]}")),
    ];
    must_be_noticed(block, bench, 40, &faults);
}

fn core() -> TitanusCore {
    TitanusCore { links: 1, ..small_layer_core() }
}

fn drawn(shape: Shape, layers: usize, (tokens, prompt): (usize, usize)) -> (Vec<Layer>, Vec<Vec<f64>>, usize) {
    let mut rng = rng_for(7, "layers on a chain");
    let layers = (0..layers).map(|_| drawn_layer(&mut rng, shape, SIZES)).collect();
    (layers, drawn_rows(&mut rng, SIZES.width, tokens), prompt)
}

fn on_cores((layers, rows, prompt): &(Vec<Layer>, Vec<Vec<f64>>, usize), split: Split) -> Linked {
    let golden = golden_of(&core()).unwrap();
    let (caps, tokens) = (caps_of(&golden), (&rows[..], *prompt));
    linked((&caps, &WINDOW), &golden, (&layers[..], split), tokens, (THRESHOLDS, HOW)).unwrap()
}

/// However layers are put on cores, the rows are the same. They equal the rows of a layer that one core does by itself.
#[test]
fn rows_do_not_depend_on_cores() {
    for shape in [Shape::Llama, Shape::Opt] {
        let work = drawn(shape, 2, (7, 5));
        let [whole, halves, thirds] = [Split::Whole, Split::Halves, Split::Thirds].map(|split| on_cores(&work, split));
        assert_eq!([&whole, &halves, &thirds].map(|all| all.jobs.len()), [2, 4, 6]);
        assert!(whole.out == halves.out && whole.out == thirds.out);
        let one = (vec![work.0[0].clone()], work.1.clone(), work.2);
        let golden = golden_of(&core()).unwrap();
        let alone = (&one.1[..], one.2, Prompt::ByToken(THRESHOLDS));
        let alone = chains((&caps_of(&golden), &WINDOW), golden, &one.0[0], alone, HOW).unwrap();
        assert_eq!(on_cores(&one, Split::Whole).out, alone.out);
    }
}

/// Layers on a core each, on two and on three: byte by byte, with pauses of memory.
#[tag(release)]
#[test]
#[ignore = "models of 96 macros a core, minutes"]
fn layers_with_pauses() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    for (layers, split) in [(2, Split::Whole), (1, Split::Halves), (1, Split::Thirds)] {
        let jobs = on_cores(&drawn(Shape::Llama, layers, (6, 5)), split).jobs;
        let block = TitanusChain { cores: jobs.len() as u32, core: core() };
        let ran = run_jobs(&block, (WINDOW, &config), &jobs, Starts::Together);
        println!("{split:?}: {} cycles", ran.cycles);
    }
}

/// The gain from tokens of a prompt that follow each other: cycles of all cores at once, beside cycles of one core
/// after the other.
#[tag(release)]
#[test]
#[ignore = "models of 96 macros a core, minutes"]
fn tokens_side_by_side() {
    let config = AxiConfig::ideal(20);
    for (layers, split) in [(1, Split::Halves), (2, Split::Whole), (1, Split::Thirds)] {
        let jobs = on_cores(&drawn(Shape::Opt, layers, (8, 8)), split).jobs;
        let block = TitanusChain { cores: jobs.len() as u32, core: core() };
        let [together, in_turn] =
            [Starts::Together, Starts::InTurn].map(|starts| run_jobs(&block, (WINDOW, &config), &jobs, starts));
        let each: Vec<u64> = in_turn.cores.iter().map(|(counters, _)| counters.cycles).collect();
        let faster = in_turn.cycles as f64 / together.cycles as f64;
        println!(
            "{layers} layers, {split:?}: {} cycles, {} in turn ({each:?}): {faster:.3}",
            together.cycles, in_turn.cycles
        );
        // The slowest core bounds the cycles of a pipeline of 8 tokens.
        let slowest = *each.iter().max().unwrap() as f64;
        assert!(together.cycles as f64 >= slowest && faster > 1.0);
        assert!((together.cycles as f64) < slowest + each.iter().sum::<u64>() as f64 / 8.0 + 2000.0);
    }
}
