//! [`JobLink`] between a controller, an accelerator and its neighbours, all of which the bench plays. Operations of
//! both kinds are right or wrong. Tokens come early, late or never, and clears at any moment.

use std::collections::VecDeque;

use golden::common::shell::job_controller::code;
use golden::common::shell::job_link::{Link, Most, Taken, Token};
use hdl::blocks::common::JobLink;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

/// The bench of the block; a vector is an operation.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &JobLink) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| {
        let mut player = Player::new(&block, sim, run)?;
        sim.reset(1)?;
        for _ in 0..run.vectors() {
            player.operation(sim, run)?;
        }
        // Hundreds of thousands of cycles where counters are wide.
        if run.vectors() >= 2000 || block.token_bits < 8 { player.most(sim, run) } else { Ok(()) }
    })
}

/// Inputs and outputs of a stream's handshake.
struct Driven {
    valid: In,
    ready: Out,
}

struct Taking {
    valid: Out,
    ready: In,
}

struct Pins {
    clear: In,
    limit: In,
    idle: Out,
    tokens: Out,
    ended: Out,
    operation: Driven,
    opcode: In,
    words: In,
    end: Taking,
    error: Out,
    other: Taking,
    other_opcode: Out,
    other_words: Out,
    other_end: Driven,
    other_error: In,
    prior: Driven,
    prior_last: In,
    next: Taking,
    next_last: Out,
}

impl Pins {
    fn find(sim: &Sim) -> sim::Result<Self> {
        let driven = |name: &str| -> sim::Result<Driven> {
            Ok(Driven { valid: sim.input(&format!("{name}_valid_i"))?, ready: sim.output(&format!("{name}_ready_o"))? })
        };
        let taking = |name: &str| -> sim::Result<Taking> {
            Ok(Taking { valid: sim.output(&format!("{name}_valid_o"))?, ready: sim.input(&format!("{name}_ready_i"))? })
        };
        Ok(Self {
            clear: sim.input("clear_i")?,
            limit: sim.input("limit_i")?,
            idle: sim.output("idle_o")?,
            tokens: sim.output("tokens_o")?,
            ended: sim.output("ended_o")?,
            operation: driven("operation")?,
            opcode: sim.input("operation_opcode_i")?,
            words: sim.input("operation_words_i")?,
            end: taking("operation_end")?,
            error: sim.output("operation_end_error_o")?,
            other: taking("other")?,
            other_opcode: sim.output("other_opcode_o")?,
            other_words: sim.output("other_words_o")?,
            other_end: driven("other_end")?,
            other_error: sim.input("other_end_error_i")?,
            prior: driven("prior")?,
            prior_last: sim.input("prior_last_i")?,
            next: taking("next")?,
            next_last: sim.output("next_last_o")?,
        })
    }
}

/// How the neighbours behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// All tokens are there, and everything is taken at once: cycles are counted.
    Quick,
    /// Anything waits at random.
    Stalls,
}

/// An operation as it is drawn, with the tokens that come for it.
struct Drawn {
    opcode: u8,
    words: Vec<u32>,
    /// Cycles to wait where the words say none.
    limit: u32,
    /// The model's check of a link operation; none for other operations.
    checked: Option<Result<Link, u8>>,
    tokens: Vec<Token>,
    /// The next core takes nothing.
    refused: bool,
}

/// A letter for each token.
fn text(tokens: &[Token]) -> String {
    tokens.iter().map(|&last| if last { 'L' } else { '.' }).collect()
}

struct Player {
    pins: Pins,
    rng: StimulusRng,
    own: u8,
    count: usize,
    most: Most,
    /// Tokens that the block has.
    waiting: VecDeque<Token>,
    /// Tokens that it will be offered.
    coming: VecDeque<Token>,
    given: Vec<Token>,
}

impl Player {
    fn new(block: &JobLink, sim: &Sim, run: &Run) -> sim::Result<Self> {
        Ok(Self {
            pins: Pins::find(sim)?,
            rng: run.rng("operations"),
            own: block.opcode as u8,
            count: block.words as usize,
            most: Most::of(block.token_bits, block.patience_bits),
            waiting: VecDeque::new(),
            coming: VecDeque::new(),
            given: Vec::new(),
        })
    }

    fn often(&mut self, one_of: u32) -> bool {
        self.rng.random_range(0..one_of) == 0
    }

    fn draw(&mut self) -> Drawn {
        let mut words = vec![0; self.count];
        if self.often(4) {
            let opcode = loop {
                let opcode = self.rng.random();
                if opcode != self.own {
                    break opcode;
                }
            };
            words.iter_mut().for_each(|word| *word = self.rng.random());
            return Drawn { opcode, words, limit: 1, checked: None, tokens: Vec::new(), refused: false };
        }
        let Most { tokens: most_tokens, patience: longest } = self.most;
        let most = if self.often(8) { most_tokens.min(39) + 1 } else { 4 };
        let (awaited, given) = (self.rng.random_range(0..most), self.rng.random_range(0..most));
        let [marks, gives_last] = [self.rng.random::<bool>(), self.rng.random()];
        let last = u32::from(marks && awaited > 0) | u32::from(gives_last && given > 0) << 1;
        words[..4].copy_from_slice(&[awaited, given, 0, last]);
        if self.often(2) {
            words[2] = self.rng.random_range(100..=longest.min(999));
        }
        match self.rng.random_range(0..16u8) {
            0 => words[self.rng.random_range(0..self.count)] ^= 1 << self.rng.random_range(0..32u8),
            1 => {
                let one = 1 << self.rng.random_range(0..32u8);
                let values = [0, most_tokens + 1, u32::MAX, one, one];
                words[self.rng.random_range(0..2usize)] = values[self.rng.random_range(0..5usize)];
            }
            2 => words[3] = self.rng.random_range(0..8),
            _ => {}
        }
        let mut checked = Link::check(&words, &self.most);
        // As many as come: tokens that the block already has count.
        let mut tokens = Vec::new();
        let mut refused = false;
        let mut limit = 0;
        if let Ok(link) = &mut checked {
            // A changed bit may ask for tens of thousands.
            if link.awaited > 100 || link.given > 100 {
                (link.awaited, link.given) = (link.awaited % 40 + 1, link.given % 40 + 1);
                words[..2].copy_from_slice(&[link.awaited, link.given]);
            }
            let there = self.waiting.len() as u32;
            tokens = (there + 1..=link.awaited).map(|number| link.last_awaited && number == link.awaited).collect();
            match self.rng.random_range(0..10u8) {
                // Another mark, which a later token may have.
                0 if !tokens.is_empty() => {
                    let at = self.rng.random_range(0..tokens.len());
                    tokens[at] = !tokens[at];
                }
                1 | 2 => {
                    tokens.truncate(self.rng.random_range(0..=tokens.len()));
                    link.patience = self.rng.random_range(1..30);
                }
                3 => {
                    refused = link.given > 0;
                    // Counters of few bits up to their end.
                    let most = if longest < 1000 && self.often(2) { longest } else { 30 };
                    link.patience = self.rng.random_range(1..=most);
                }
                4 => tokens.push(self.rng.random()),
                _ => {}
            }
            // A wait that is too long shows where nothing else waits. Half of the patient operations get their patience
            // from the host.
            (words[2], limit) = match link.patience {
                0 => (0, 0),
                patience if self.often(2) => (0, patience),
                patience => (patience, self.rng.random_range(0..=longest)),
            };
        }
        Drawn { opcode: self.own, words, limit, checked: Some(checked), tokens, refused }
    }

    /// One cycle with the actions of the neighbours.
    fn cycle(&mut self, sim: &mut Sim, pace: Pace, (clear, refused): (bool, bool)) -> sim::Result<()> {
        let stalls = |rng: &mut StimulusRng| pace == Pace::Stalls && rng.random();
        let offers = !self.coming.is_empty() && !stalls(&mut self.rng);
        let takes = !refused && !stalls(&mut self.rng);
        let pins = &self.pins;
        sim.poke_u64(pins.clear, clear.into());
        sim.poke_u64(pins.prior.valid, offers.into());
        sim.poke_u64(pins.prior_last, self.coming.front().is_some_and(|&last| last).into());
        sim.poke_u64(pins.next.ready, takes.into());
        sim.settle()?;
        if offers && sim.peek_u64(pins.prior.ready) == 1 {
            self.waiting.extend(self.coming.pop_front());
        }
        if takes && sim.peek_u64(pins.next.valid) == 1 {
            self.given.push(sim.peek_u64(pins.next_last) == 1);
        }
        sim.tick()
    }

    /// Drops everything, for some cycles.
    fn clear(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        sim.poke_u64(self.pins.operation.valid, 0);
        sim.poke_u64(self.pins.other_end.valid, 0);
        for _ in 0..self.rng.random_range(1..4u8) {
            let (coming, given) = (self.coming.len(), self.given.len());
            self.cycle(sim, Pace::Quick, (true, false))?;
            run.expect_equal(sim, "prior_ready_o", "tokens taken in a clear", coming, self.coming.len())?;
            run.expect_equal(sim, "next_valid_o", "tokens given in a clear", given, self.given.len())?;
        }
        sim.poke_u64(self.pins.clear, 0);
        sim.poke_u64(self.pins.prior.valid, 0);
        self.waiting.clear();
        self.coming.clear();
        self.given.clear();
        sim.settle()?;
        run.expect_u64(sim, self.pins.tokens, 0)?;
        run.expect_u64(sim, self.pins.ended, 0)?;
        run.expect_u64(sim, self.pins.idle, 1)?;
        run.expect_u64(sim, self.pins.end.valid, 0)?;
        run.expect_u64(sim, self.pins.next.valid, 0)
    }

    /// Puts an operation at the port.
    fn show(&mut self, sim: &mut Sim, drawn: &Drawn) {
        sim.poke_u64(self.pins.opcode, drawn.opcode.into());
        sim.poke_u64(self.pins.limit, drawn.limit.into());
        sim.poke(self.pins.words, &Bits::pack(32, drawn.words.iter().map(|&word| word.into())));
        sim.poke_u64(self.pins.operation.valid, 1);
    }

    fn operation(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let drawn = self.draw();
        let late =
            drawn.refused || matches!(&drawn.checked, Some(Ok(link)) if link.patience > 0 && link.patience < 100);
        let pace = if late || self.rng.random() { Pace::Quick } else { Pace::Stalls };
        self.coming.extend(&drawn.tokens);
        self.given.clear();
        sim.poke_u64(self.pins.end.ready, 0);
        sim.poke_u64(self.pins.other.ready, 0);
        sim.poke_u64(self.pins.other_end.valid, 0);
        // Tokens are there before it, except tokens after a last one.
        let mut quiet = 0;
        while pace == Pace::Quick && !self.coming.is_empty() && quiet < 3 {
            let before = self.coming.len();
            self.cycle(sim, pace, (false, false))?;
            quiet = if self.coming.len() == before { quiet + 1 } else { 0 };
        }
        let clear = self.often(8).then(|| self.rng.random_range(0..24u32));
        self.show(sim, &drawn);
        match &drawn.checked {
            None => self.other(sim, run, &drawn, clear),
            Some(checked) => self.own(sim, run, (*checked, drawn.refused), (pace, clear)),
        }
    }

    /// An operation that goes on to the accelerator, and its end.
    fn other(&mut self, sim: &mut Sim, run: &mut Run, drawn: &Drawn, clear: Option<u32>) -> sim::Result<()> {
        let words = Bits::pack(32, drawn.words.iter().map(|&word| word.into()));
        let pins = &self.pins;
        sim.settle()?;
        run.expect_u64(sim, pins.other.valid, 1)?;
        run.expect_u64(sim, pins.operation.ready, 0)?;
        run.expect_u64(sim, pins.other_opcode, drawn.opcode.into())?;
        run.expect(sim, pins.other_words, &words)?;
        sim.poke_u64(pins.other.ready, 1);
        sim.settle()?;
        run.expect_u64(sim, pins.operation.ready, 1)?;
        self.cycle(sim, Pace::Stalls, (false, false))?;
        sim.poke_u64(self.pins.operation.valid, 0);
        for _ in 0..clear.unwrap_or(self.rng.random_range(0..4)) {
            self.cycle(sim, Pace::Stalls, (false, false))?;
            run.expect_u64(sim, self.pins.end.valid, 0)?;
            run.expect_u64(sim, self.pins.idle, 1)?;
        }
        if clear.is_some() {
            return self.clear(sim, run);
        }
        let error = self.rng.random::<u8>();
        sim.poke_u64(self.pins.other_end.valid, 1);
        sim.poke_u64(self.pins.other_error, error.into());
        sim.settle()?;
        run.expect_u64(sim, self.pins.end.valid, 1)?;
        run.expect_u64(sim, self.pins.error, error.into())?;
        run.expect_u64(sim, self.pins.other_end.ready, 0)?;
        sim.poke_u64(self.pins.end.ready, 1);
        sim.settle()?;
        run.expect_u64(sim, self.pins.other_end.ready, 1)?;
        self.cycle(sim, Pace::Stalls, (false, false))?;
        sim.poke_u64(self.pins.other_end.valid, 0);
        run.expect_equal(sim, "next_valid_o", "tokens of another operation", 0, self.given.len())
    }

    /// An operation of its own kind.
    fn own(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        (checked, refused): (Result<Link, u8>, bool),
        (pace, clear): (Pace, Option<u32>),
    ) -> sim::Result<()> {
        sim.settle()?;
        run.expect_u64(sim, self.pins.other.valid, 0)?;
        run.expect_u64(sim, self.pins.operation.ready, 1)?;
        let before = self.waiting.len();
        // The tokens that the model takes: waiting ones, and ones that come.
        let mut queue: VecDeque<Token> = self.waiting.iter().chain(&self.coming).copied().collect();
        let all = queue.len();
        let taken = checked.map(|link| link.take(&mut queue));
        let used = all - queue.len();
        let expected = match (checked, taken) {
            (Err(code), _) | (_, Err(code)) => code,
            (_, Ok(Taken::Missing)) => code::TIMEOUT,
            (_, Ok(Taken::OtherMark)) => code::FIELD,
            (Ok(_), Ok(Taken::All)) if refused => code::TIMEOUT,
            (Ok(_), Ok(Taken::All)) => 0,
        };
        self.cycle(sim, pace, (false, refused))?;
        sim.poke_u64(self.pins.operation.valid, 0);
        let mut cycles = 1u64;
        loop {
            sim.settle()?;
            if sim.peek_u64(self.pins.end.valid) == 1 {
                break;
            }
            run.expect_u64(sim, self.pins.idle, 0)?;
            run.expect_u64(sim, self.pins.operation.ready, 0)?;
            if clear.is_some_and(|after| u64::from(after) == cycles) {
                return self.clear(sim, run);
            }
            if cycles > 200_000 {
                return run.expect_equal(sim, "operation_end_valid_o", "an operation that does not end", 1, 0);
            }
            self.cycle(sim, pace, (false, refused))?;
            cycles += 1;
        }
        run.expect_u64(sim, self.pins.error, expected.into())?;
        if let (Pace::Quick, Ok(link)) = (pace, checked)
            && before >= used
        {
            // A cycle for the check, one after the last token, one after the last token that is given.
            let due = match (taken, refused) {
                (Ok(Taken::All), false) => link.cycles(),
                (Ok(Taken::All), true) => 3 + u64::from(link.awaited) + u64::from(link.patience),
                (Ok(Taken::Missing), _) => 2 + used as u64 + u64::from(link.patience),
                _ => 2 + used as u64,
            };
            run.expect_equal(sim, "operation_end_valid_o", "cycles of the operation", due, cycles)?;
        }
        let given: Vec<Token> =
            if expected == 0 { checked.iter().flat_map(Link::tokens).collect() } else { Vec::new() };
        run.expect_equal(sim, "next_last_o", "the tokens that are given", text(&given), text(&self.given))?;
        for _ in 0..used {
            if self.waiting.pop_front().is_none() {
                run.expect_equal(sim, "prior_ready_o", "tokens that were taken", used, 0)?;
            }
        }
        run.expect_u64(sim, self.pins.tokens, self.waiting.len() as u64)?;
        run.expect_u64(sim, self.pins.ended, (self.waiting.back() == Some(&true)).into())?;
        // The end stays until it is taken.
        if self.rng.random() {
            self.cycle(sim, pace, (false, false))?;
            run.expect_u64(sim, self.pins.end.valid, 1)?;
            run.expect_u64(sim, self.pins.error, expected.into())?;
        }
        sim.poke_u64(self.pins.end.ready, 1);
        self.cycle(sim, pace, (false, false))?;
        run.expect_u64(sim, self.pins.end.valid, 0)?;
        run.expect_u64(sim, self.pins.idle, 1)?;
        if expected != 0 { self.clear(sim, run) } else { Ok(()) }
    }

    /// For tokens that are there, and a neighbour that takes all.
    fn plain(&self, words: Vec<u32>, checked: Result<Link, u8>) -> Drawn {
        Drawn { opcode: self.own, words, limit: 0, checked: Some(checked), tokens: Vec::new(), refused: false }
    }

    /// As many tokens as may wait, and one more.
    fn most(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        self.clear(sim, run)?;
        let most = self.most.tokens;
        self.coming = vec![false; most as usize + 1].into();
        for _ in 0..=most {
            self.cycle(sim, Pace::Quick, (false, false))?;
        }
        run.expect_u64(sim, self.pins.tokens, most.into())?;
        run.expect_equal(sim, "prior_ready_o", "tokens that are left", 1, self.coming.len())?;
        // Counts with a single bit.
        for bit in 0..most.count_ones() {
            let count = 1 << bit;
            let link = [count, count, 0, 0];
            self.coming.extend((0..count).map(|_| false));
            let words = link.into_iter().chain(std::iter::repeat(0)).take(self.count).collect();
            let checked = Link::check(&link, &self.most);
            let drawn = self.plain(words, checked);
            sim.poke_u64(self.pins.end.ready, 0);
            self.given.clear();
            self.show(sim, &drawn);
            self.own(sim, run, (checked, false), (Pace::Quick, None))?;
        }
        self.given.clear();
        let words = [1, 0, 0, 0].into_iter().chain(std::iter::repeat(0)).take(self.count).collect();
        let checked = Link::check(&[1, 0, 0, 0], &self.most);
        let drawn = self.plain(words, checked);
        sim.poke_u64(self.pins.end.ready, 0);
        self.show(sim, &drawn);
        self.own(sim, run, (checked, false), (Pace::Stalls, None))
    }
}
