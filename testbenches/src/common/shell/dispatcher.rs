//! [`Dispatcher`] between a controller and engines, all of which the bench plays. Operations of all kinds; engines that
//! begin and end at any moment, or fail; clears. Every output is compared in every cycle.

use golden::common::shell::dispatcher::{Asked, Cycle, Dispatcher as Golden, Engine};
use hdl::blocks::common::Dispatcher;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

/// The bench of the block; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Dispatcher) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| {
        let mut player = Player::new(&block, sim, run)?;
        sim.reset(1)?;
        for cycle in 0..run.vectors() {
            // Other habits after a while.
            if cycle % 100 == 0 {
                player.habits = Habits::draw(&mut player.rng);
            }
            player.cycle(sim, run)?;
        }
        Ok(())
    })
}

struct Pins {
    clear: In,
    idle: Out,
    /// Of operations that come: valid, engine, nothing, waits, independent, early, kept, opcode, words.
    asked: [In; 9],
    asked_ready: Out,
    /// Of ends that are told: valid, error, back, kept.
    told: [Out; 4],
    told_ready: In,
    /// To the engines: valid, opcode, words.
    engine: [Out; 3],
    engine_ready: In,
    right: In,
    /// To the engines: what they wait for has ended; the same for what is read early.
    released: [Out; 2],
    /// From the engines: valid, error.
    end: [In; 2],
    end_ready: Out,
}

impl Pins {
    fn find(sim: &Sim) -> sim::Result<Self> {
        let input = |name: &str| sim.input(name);
        let output = |name: &str| sim.output(name);
        Ok(Self {
            clear: input("clear_i")?,
            idle: output("idle_o")?,
            asked: [
                input("operation_valid_i")?,
                input("engine_i")?,
                input("operation_nothing_i")?,
                input("operation_waits_i")?,
                input("operation_independent_i")?,
                input("operation_early_i")?,
                input("operation_kept_i")?,
                input("operation_opcode_i")?,
                input("operation_words_i")?,
            ],
            asked_ready: output("operation_ready_o")?,
            told: [
                output("operation_end_valid_o")?,
                output("operation_end_error_o")?,
                output("operation_end_back_o")?,
                output("operation_end_kept_o")?,
            ],
            told_ready: input("operation_end_ready_i")?,
            engine: [output("engine_valid_o")?, output("engine_opcode_o")?, output("engine_words_o")?],
            engine_ready: input("engine_ready_i")?,
            right: input("right_i")?,
            released: [output("released_o")?, output("early_o")?],
            end: [input("engine_end_valid_i")?, input("engine_end_error_i")?],
            end_ready: output("engine_end_ready_o")?,
        })
    }
}

/// How often what happens, in 1 of so many cycles.
#[derive(Clone, Copy, Debug)]
struct Habits {
    offer: u32,
    take_end: u32,
    ready: u32,
    right: u32,
    end: u32,
    /// Of ends: an error.
    fail: u32,
    clear: u32,
    /// The smallest and the largest number of independent operations.
    independent: [u64; 2],
    /// An engine that ends seldom, if there is one with this number: many others go after its operation.
    slow: usize,
    /// Of the operations that the slow engine would get, it gets 1 in so many. The others go to the next engine.
    spared: u32,
    /// One operation in so many is awaited by all later ones.
    waits: u32,
}

impl Habits {
    fn draw(rng: &mut StimulusRng) -> Self {
        let mut one_in = |choices: &[u32]| choices[rng.random_range(0..choices.len())];
        Self {
            offer: one_in(&[1, 1, 2, 9]),
            take_end: one_in(&[1, 1, 3]),
            ready: one_in(&[1, 1, 4]),
            right: one_in(&[1, 2, 6]),
            end: one_in(&[1, 3, 12, 30]),
            fail: one_in(&[3, 10, 100]),
            clear: one_in(&[20, 60, 300]),
            independent: [[0, 1], [0, 3], [0, 7], [5, 7]][one_in(&[0, 1, 2, 3]) as usize],
            slow: one_in(&[0, 1, 2, 9]) as usize,
            spared: one_in(&[1, 8]),
            waits: one_in(&[6, 40]),
        }
    }
}

/// What an engine of the bench has in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hand {
    #[default]
    Empty,
    New,
    Right,
}

struct Player {
    block: Dispatcher,
    pins: Pins,
    rng: StimulusRng,
    golden: Golden,
    habits: Habits,
    /// What is offered: it stays until it is taken, or a clear comes.
    offered: Option<Asked>,
    hands: Vec<Hand>,
    /// Cycles since an error was told.
    over: u32,
}

impl Player {
    fn new(block: &Dispatcher, sim: &Sim, run: &Run) -> sim::Result<Self> {
        let mut rng = run.rng("dispatcher");
        let habits = Habits::draw(&mut rng);
        let engines = block.engines as usize;
        let (golden, hands) = (Golden::new(engines), vec![Hand::Empty; engines]);
        Ok(Self { block: block.clone(), pins: Pins::find(sim)?, rng, golden, habits, offered: None, hands, over: 0 })
    }

    fn once_in(&mut self, cycles: u32) -> bool {
        self.rng.random_range(0..cycles) == 0
    }

    fn draw(&mut self) -> Asked {
        let words = (0..self.block.words).map(|_| self.rng.random()).collect();
        let kept = Bits::random(self.block.kept_width, &mut self.rng).words().to_vec();
        let (Habits { slow, spared, waits, .. }, engines) = (self.habits, self.block.engines as usize);
        let engine = self.rng.random_range(0..engines);
        // Seldom the slow one: others pass it.
        let passes = engine == slow && !self.once_in(spared);
        Asked {
            engine: if passes { (engine + 1) % engines } else { engine },
            nothing: self.once_in(2 * waits),
            waits: self.once_in(waits),
            independent: self.rng.random_range(self.habits.independent[0]..=self.habits.independent[1]),
            early: self.rng.random_range(0..=7),
            kept,
            opcode: self.rng.random(),
            words,
        }
    }

    /// What the neighbours do in this cycle.
    fn plan(&mut self) -> Cycle {
        let habits = self.habits;
        // After an error that was told, a clear is near.
        let clear = self.once_in(if self.over > 3 { 2 } else { habits.clear });
        if self.offered.is_none() && self.once_in(habits.offer) {
            self.offered = Some(self.draw());
        }
        let engines = (0..self.hands.len()).map(|e| {
            let (new, right) = (self.hands[e] == Hand::New, self.hands[e] == Hand::Right);
            let end = if e == habits.slow { 40 } else { habits.end };
            let ends = (new && self.once_in(4 * end)) || (right && self.once_in(end));
            let fails = ends && (new || self.once_in(habits.fail));
            // What was refused, and a few others, were never said to be right.
            let error = if fails && !self.once_in(20) { self.rng.random_range(1..=255) } else { 0 };
            let released = self.golden.released(e) == Some(true);
            Engine {
                ready: self.hands[e] == Hand::Empty && self.once_in(habits.ready),
                right: new && !ends && self.once_in(habits.right),
                end: (ends && (error != 0 || released)).then_some(error),
            }
        });
        let engines = engines.collect();
        Cycle { clear, asked: self.offered.clone(), end_ready: self.once_in(habits.take_end), engines }
    }

    fn drive(&mut self, sim: &mut Sim, now: &Cycle) {
        let (p, pins) = (&self.block, &self.pins);
        let [valid, engine, nothing, waits, independent, early, kept, opcode, words] = pins.asked;
        sim.poke_u64(pins.clear, now.clear.into());
        sim.poke_u64(valid, now.asked.is_some().into());
        if let Some(asked) = &now.asked {
            // A number beyond the engines is the last one's.
            let most = p.engines.next_power_of_two() as u64 - 1;
            let beyond = asked.engine + 1 == self.hands.len() && asked.opcode % 2 == 1;
            sim.poke_u64(engine, if beyond { most } else { asked.engine as u64 });
            sim.poke_u64(nothing, asked.nothing.into());
            sim.poke_u64(waits, asked.waits.into());
            sim.poke_u64(independent, asked.independent);
            sim.poke_u64(early, asked.early);
            sim.poke(kept, &Bits::from_words(p.kept_width, &asked.kept));
            sim.poke_u64(opcode, asked.opcode.into());
            sim.poke(words, &Bits::from_words(32 * p.words, &asked.words));
        }
        sim.poke_u64(pins.told_ready, now.end_ready.into());
        let bits = |of: fn(&Engine) -> bool| Bits::pack(1, now.engines.iter().map(|engine| of(engine).into()));
        sim.poke(pins.engine_ready, &bits(|engine| engine.ready));
        sim.poke(pins.right, &bits(|engine| engine.right));
        sim.poke(pins.end[0], &bits(|engine| engine.end.is_some()));
        // Without an end the error means nothing.
        let rng = &mut self.rng;
        let errors = now.engines.iter().map(|engine| engine.end.unwrap_or_else(|| rng.random()).into());
        sim.poke(pins.end[1], &Bits::pack(8, errors));
    }

    fn compare(&self, sim: &Sim, run: &mut Run, now: &Cycle) -> sim::Result<()> {
        let (golden, pins, engines) = (&self.golden, &self.pins, self.hands.len());
        run.expect_u64(sim, pins.idle, golden.is_idle().into())?;
        if let Some(asked) = &now.asked {
            run.expect_u64(sim, pins.asked_ready, golden.takes(asked, now.clear).into())?;
        }
        let [valid, error, back, kept] = pins.told;
        run.expect_u64(sim, valid, golden.end().is_some().into())?;
        if let Some(end) = golden.end() {
            run.expect_u64(sim, error, end.error.into())?;
            if end.error != 0 {
                run.expect_u64(sim, back, end.back)?;
                run.expect(sim, kept, &Bits::from_words(self.block.kept_width, &end.kept))?;
            }
        }
        let [valid, opcode, words] = pins.engine;
        let offered: Vec<Option<&Asked>> = (0..engines).map(|e| golden.offered(e)).collect();
        run.expect(sim, valid, &Bits::pack(1, offered.iter().map(|of| of.is_some().into())))?;
        run.expect(sim, pins.end_ready, &Bits::ones(self.block.engines))?;
        for (pin, of) in pins.released.into_iter().zip([Golden::released, Golden::released_early]) {
            let got = sim.peek(pin);
            for e in 0..engines {
                if let Some(expected) = of(golden, e) {
                    run.expect_equal(
                        sim,
                        "released_o",
                        &format!("of engine {e}"),
                        u64::from(expected),
                        got.field(e as u32, 1),
                    )?;
                }
            }
        }
        let (opcodes, all_words) = (sim.peek(opcode), sim.peek(words));
        let width = 32 * self.block.words;
        for (e, asked) in (0..).zip(offered) {
            let Some(asked) = asked else { continue };
            let name = |what: &str| format!("{what} of engine {e}");
            run.expect_equal(
                sim,
                "engine_opcode_o",
                &name("opcode"),
                u64::from(asked.opcode),
                opcodes.field(8 * e, 8),
            )?;
            let expected = Bits::from_words(width, &asked.words).to_string();
            let got = all_words.slice(width * e, width).to_string();
            run.expect_equal(sim, "engine_words_o", &name("words"), expected, got)?;
        }
        Ok(())
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let now = self.plan();
        self.drive(sim, &now);
        sim.settle()?;
        self.compare(sim, run, &now)?;
        let takes: Vec<bool> = (0..self.hands.len()).map(|e| self.golden.offered(e).is_some()).collect();
        let told = self.golden.end().is_some_and(|end| end.error != 0) && now.end_ready;
        self.over = if now.clear || !(told || self.over > 0) { 0 } else { self.over + 1 };
        if self.golden.cycle(&now) || now.clear {
            self.offered = None;
        }
        for ((hand, of), takes) in self.hands.iter_mut().zip(&now.engines).zip(takes) {
            *hand = match *hand {
                _ if now.clear || of.end.is_some() => Hand::Empty,
                Hand::Empty if of.ready && takes => Hand::New,
                Hand::New if of.right => Hand::Right,
                hand => hand,
            };
        }
        sim.tick()
    }
}
