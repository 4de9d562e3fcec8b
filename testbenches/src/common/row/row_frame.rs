//! [`RowFrame`] with an analysis and lanes that the bench plays. The answer is the exclusive or of a row's data and of
//! the input next to it. A lane adds the answer to its element. A prepared element is one more.

use std::collections::VecDeque;

use golden::common::row::{Beat, Row, gate};
use hdl::blocks::common::RowFrame;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench of a frame; a vector is a row.
///
/// # Errors
/// Parameters that the block refuses; beats that do not consist of 16-bit elements with an answer of 16 bits.
pub fn bench(p: &RowFrame) -> anyhow::Result<Box<dyn sim::Bench>> {
    anyhow::ensure!(
        p.width == 16 * p.lanes && p.output_width == p.width && p.kept_width == p.width && p.result_width == 16,
        "the bench is for elements and answers of 16 bits, not width = {}, kept_width = {}, output_width = {}, result_width = {}",
        p.width,
        p.kept_width,
        p.output_width,
        p.result_width
    );
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| Frame::new(&p).run(sim, run))
}

type Data = (Vec<u16>, u64);

struct Frame<'a> {
    p: &'a RowFrame,
    /// Contents of the pipelines around the frame.
    analysis: VecDeque<u64>,
    lanes: VecDeque<Bits>,
    preparation: VecDeque<Bits>,
    /// The answer so far.
    answer: u64,
    /// Elements of the row so far.
    count: u64,
    open: Vec<Beat<Data>>,
    dropping: bool,
    /// Beats at the analysis, and beats that leave.
    inside: VecDeque<(Vec<u16>, u64, bool)>,
    /// Beats that went to the lanes and have not left.
    changed: usize,
    expected: VecDeque<(Vec<u16>, u64, bool, bool)>,
}

fn answer(row: &Row<Data>, elements: usize) -> u16 {
    let values = row.beats.iter().flat_map(|(values, _)| values.iter().copied()).take(elements);
    values.fold(row.beats[0].1 as u16, |all, value| all ^ value)
}

impl<'a> Frame<'a> {
    fn new(p: &'a RowFrame) -> Self {
        Self {
            p,
            analysis: VecDeque::new(),
            lanes: VecDeque::new(),
            preparation: VecDeque::new(),
            answer: 0,
            count: 0,
            open: vec![],
            dropping: false,
            inside: VecDeque::new(),
            changed: 0,
            expected: VecDeque::new(),
        }
    }

    fn run(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("rows");
        let (lanes, most) = (self.p.lanes as usize, self.p.max_beats as usize);
        run.only_while("beat_valid_o", &["beat_first_o", "beat_last_o", "beat_used_o", "beat_count_o", "beat_data_o"]);
        if self.p.row_width > 0 {
            run.only_while("beat_valid_o", &["beat_row_o"]);
        }
        run.only_while("lane_valid_o", &["lane_data_o", "lane_result_o"]);
        run.only_while("output_valid_o", &["output_data_o", "output_used_o", "output_last_o", "output_error_o"]);
        sim.poke_u64(sim.input("clear_i")?, 0);
        run.reset(sim, 2)?;
        let mut left = run.vectors();
        let mut row: VecDeque<Beat<Data>> = VecDeque::new();
        let (mut offers, mut takes, mut clears, mut standing) = (8, 8, false, false);
        while left > 0 || !row.is_empty() {
            if row.is_empty() {
                left -= 1;
                if rng.random_range(0..6u8) == 0 {
                    (offers, takes) = (rng.random_range(1..=8), rng.random_range(1..=8));
                    clears = rng.random_range(0..3u8) == 0;
                }
                let beats = if rng.random_range(0..8u8) == 0 { most + 2 } else { rng.random_range(1..=most) };
                row = (0..beats).map(|k| beat(&mut rng, lanes, k + 1 == beats)).collect();
            }
            standing |= rng.random_range(0..8) < offers;
            let offer = row.front().filter(|_| standing).cloned();
            let ready = rng.random_range(0..8) < takes;
            let clear = clears && rng.random_range(0..40u8) == 0;
            if self.cycle(sim, run, &mut rng, offer, ready, clear)? {
                row.pop_front();
                standing = false;
            }
        }
        for _ in 0..self.p.latency() + self.p.buffer + 8 {
            self.cycle(sim, run, &mut rng, None, true, false)?;
        }
        run.expect_equal(sim, "output", "beats that are missing", 0, self.expected.len())?;
        run.expect_equal(sim, "lane_valid_o", " once all has left", 0, self.changed)
    }

    /// One cycle; whether the beat was taken.
    fn cycle(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        rng: &mut StimulusRng,
        offer: Option<Beat<Data>>,
        ready: bool,
        clear: bool,
    ) -> sim::Result<bool> {
        let (p, lanes) = (self.p, self.p.lanes as usize);
        let offered = offer.is_some();
        let noise_ends = rng.random();
        let beat = offer.unwrap_or_else(|| beat(rng, lanes, noise_ends));
        sim.poke_u64(sim.input("clear_i")?, clear.into());
        sim.poke_u64(sim.input("input_valid_i")?, offered.into());
        sim.poke(sim.input("input_data_i")?, &Bits::pack(16, beat.data.0.iter().map(|&x| x.into())));
        sim.poke_u64(sim.input("input_used_i")?, beat.used);
        sim.poke_u64(sim.input("input_last_i")?, beat.last.into());
        if p.row_width > 0 {
            let first = self.open.is_empty() && !self.dropping;
            let value = if first { beat.data.1 } else { rng.random() };
            sim.poke(sim.input("row_i")?, &Bits::truncated(p.row_width, value));
        }
        sim.poke_u64(sim.input("output_ready_i")?, ready.into());
        // The answers of the pipelines in this cycle; noise where nothing was asked.
        self.pipelines(sim, run)?;
        let result = if self.analysis.len() > p.analysis as usize { self.analysis.pop_front() } else { None };
        sim.poke_u64(sim.input("result_i")?, result.unwrap_or(0));
        if p.preparation > 0 {
            let kept =
                if self.preparation.len() > p.preparation as usize { self.preparation.pop_front() } else { None };
            sim.poke(sim.input("kept_i")?, &kept.unwrap_or_else(|| Bits::random(p.kept_width, rng)));
        }
        let lane = if self.lanes.len() > p.scaling as usize { self.lanes.pop_front() } else { None };
        sim.poke(sim.input("lane_i")?, &lane.unwrap_or_else(|| Bits::random(p.output_width, rng)));
        sim.settle()?;
        let shown = sim.peek_u64(sim.output("output_valid_o")?) == 1;
        if shown {
            self.compare(sim, run)?;
        }
        let taken = offered && sim.peek_u64(sim.output("input_ready_o")?) == 1;
        run.expect_equal(sim, "input_ready_o", "while cleared", false, taken && clear)?;
        if shown && ready {
            self.expected.pop_front();
            run.expect_equal(sim, "lane_valid_o", " for a beat that leaves", true, self.changed > 0)?;
            self.changed -= 1;
        }
        run.expect_equal(sim, "lane_valid_o", " for beats of whole rows", true, self.changed <= self.expected.len())?;
        if taken {
            self.take(beat);
        }
        if clear {
            self.open.clear();
            self.expected.clear();
            self.inside.clear();
            self.changed = 0;
            (self.answer, self.count, self.dropping) = (0, 0, false);
        }
        sim.tick()?;
        Ok(taken)
    }

    /// Looks at the beat for the analysis and the one for the lanes.
    fn pipelines(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        sim.settle()?;
        let p = self.p;
        let get = |sim: &Sim, name: &str| sim.output(name).map(|port| sim.peek_u64(port));
        if get(sim, "beat_valid_o")? == 1 {
            let data = sim.peek(sim.output("beat_data_o")?);
            let used = get(sim, "beat_used_o")?;
            let Some((values, expected, last)) = self.inside.pop_front() else {
                return run.expect_u64(sim, sim.output("beat_valid_o")?, 0);
            };
            run.expect_u64(sim, sim.output("beat_used_o")?, expected)?;
            run.expect_u64(sim, sim.output("beat_last_o")?, last.into())?;
            run.expect_u64(sim, sim.output("beat_first_o")?, (self.count == 0).into())?;
            self.count += used;
            run.expect_u64(sim, sim.output("beat_count_o")?, self.count)?;
            run.expect(sim, sim.output("beat_data_o")?, &Bits::pack(16, values.iter().map(|&x| x.into())))?;
            if self.count == used && p.row_width > 0 {
                self.answer = sim.peek(sim.output("beat_row_o")?).field(0, p.row_width.min(16));
            }
            self.answer = data.unpack(16).into_iter().take(used as usize).fold(self.answer, |all, x| all ^ x);
            self.analysis.push_back(self.answer);
            if last {
                (self.answer, self.count) = (0, 0);
            }
        } else {
            self.analysis.push_back(0x5555);
        }
        // A kept element is one more.
        let beat = sim.peek(sim.output("beat_data_o")?).unpack(16);
        self.preparation.push_back(Bits::pack(16, beat.into_iter().map(|x| (x + 1) & 0xffff)));
        // The lanes answer whatever stands there.
        self.changed += usize::from(get(sim, "lane_valid_o")? == 1);
        let result = get(sim, "lane_result_o")?;
        let data = sim.peek(sim.output("lane_data_o")?).unpack(16);
        self.lanes.push_back(Bits::pack(16, data.into_iter().map(|x| x.wrapping_add(result) & 0xffff)));
        Ok(())
    }

    fn compare(&mut self, sim: &Sim, run: &mut Run) -> sim::Result<()> {
        let Some((values, used, last, error)) = self.expected.front() else {
            return run.expect_u64(sim, sim.output("output_valid_o")?, 0);
        };
        run.expect(sim, sim.output("output_data_o")?, &Bits::pack(16, values.iter().map(|&x| x.into())))?;
        run.expect_u64(sim, sim.output("output_used_o")?, *used)?;
        run.expect_u64(sim, sim.output("output_last_o")?, (*last).into())?;
        run.expect_u64(sim, sim.output("output_error_o")?, (*error).into())
    }

    fn take(&mut self, mut beat: Beat<Data>) {
        let (lanes, ends) = (self.p.lanes as usize, beat.last);
        if self.dropping {
            self.dropping = !ends;
            return;
        }
        let bits = u64::MAX.checked_shr(64 - self.p.row_width.min(16)).unwrap_or(0);
        beat.data.1 &= bits;
        let values = beat.data.0.clone();
        self.open.push(beat);
        let row = gate(&self.open, lanes, self.p.max_beats as usize).pop();
        let used = row.as_ref().map_or(lanes, |row| row.used) as u64;
        self.inside.push_back((values, used, row.is_some()));
        if let Some(row) = row {
            let prepared = u16::from(self.p.preparation > 0);
            let answer = answer(&row, row.len(lanes));
            let count = row.beats.len();
            self.expected.extend(row.beats.iter().enumerate().map(|(k, (values, _))| {
                let last = k + 1 == count;
                let values = values.iter().map(|x| x.wrapping_add(answer).wrapping_add(prepared)).collect();
                (values, if last { row.used } else { lanes } as u64, last, row.error)
            }));
            self.open.clear();
            self.dropping = !ends;
        }
    }
}

fn beat(rng: &mut StimulusRng, lanes: usize, last: bool) -> Beat<Data> {
    let most = (1u64 << hdl::lang::bits_for(lanes as u64)) - 1;
    let used = match rng.random_range(0..8u8) {
        0 => rng.random_range(0..=most),
        _ => rng.random_range(1..=lanes as u64),
    };
    Beat { data: ((0..lanes).map(|_| rng.random()).collect(), rng.random()), used, last }
}
