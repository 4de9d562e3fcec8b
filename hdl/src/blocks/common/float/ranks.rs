//! Ranks of registers inside of a unit, at some of the places where it can be cut. Nothing stops them; a pipeline that can
//! be held up is [`Pipeline`](crate::blocks::common::Pipeline).

use super::exceptions::{Exception, Exceptions};
use super::shape::Shape;
use crate::lang::{Module, Signal, bit};

/// Places registers at some of the places where a unit can be cut.
///
/// `compute` calls [`Ranks::cut`] at each of these places, in order. Which places get registers is decided beforehand.
pub struct Ranks {
    /// For each place: whether registers stand there.
    places: Vec<bool>,
    place: usize,
    rank: u32,
    /// Ranks at the spare places.
    spare: u32,
    carried: Vec<(&'static str, Signal)>,
    /// For each carried signal: whether it is not needed any more.
    ended: Vec<bool>,
    /// Exceptions that somebody asks for.
    raises: Exceptions,
    raised: Vec<(Exception, Carried)>,
}

/// A value that crosses a place, and the name of its registers.
pub(super) type Crossing<'a> = (&'a str, &'a mut Signal);

/// A signal that goes along with the pipeline; [`Ranks::now`] is its value at the present place.
#[derive(Clone, Copy)]
pub(super) struct Carried(usize);

impl Ranks {
    /// There is one place less than the shape has depths.
    pub(super) fn new(valid: Signal, shape: &Shape) -> Self {
        let (stages, depths) = (shape.stages, &*shape.depths);
        // Ranks that find no place among these stand at spare ones.
        let spare = stages.saturating_sub(depths.len() as u32 - 1);
        let places = choose(stages - spare, depths);
        Self {
            places,
            place: 0,
            rank: 0,
            spare,
            carried: vec![("valid", valid)],
            ended: vec![false],
            raises: shape.raises,
            raised: vec![],
        }
    }

    /// From here on, `signal` crosses every place.
    pub(super) fn carry(&mut self, name: &'static str, signal: Signal) -> Carried {
        self.carried.push((name, signal));
        self.ended.push(false);
        Carried(self.carried.len() - 1)
    }

    /// The same for a value without a name, which gets one.
    #[track_caller]
    pub(super) fn keep(&mut self, m: &mut Module, name: &'static str, value: Signal) -> Carried {
        self.carry(name, m.wire(name, value))
    }

    /// Says when an exception happens. It crosses every place from here on, if the unit has an output for it.
    #[track_caller]
    pub(super) fn raise(&mut self, m: &mut Module, exception: Exception, value: Signal) {
        if self.raises.contains(&exception) {
            let carried = self.keep(m, exception.name(), value);
            self.raised.push((exception, carried));
        }
    }

    /// Whether an exception happens, as [`Ranks::raise`] was told; low where it was not told.
    pub(super) fn raised(&self, exception: Exception) -> Signal {
        let found = self.raised.iter().find(|(raised, _)| *raised == exception);
        found.map_or_else(|| bit().lit(0), |(_, carried)| self.now(*carried))
    }

    /// The value that was given to [`Ranks::carry`], delayed to the present place.
    pub(super) fn now(&self, carried: Carried) -> Signal {
        self.carried[carried.0].1
    }

    /// From here on, nothing reads this value.
    pub(super) fn end(&mut self, carried: Carried) {
        self.ended[carried.0] = true;
    }

    /// `valid` next to the result.
    pub(super) fn valid(&self) -> Signal {
        debug_assert_eq!(self.place, self.places.len(), "a place was forgotten");
        self.carried[0].1
    }

    /// Whether there will be registers at the next place (0) or at one of the places after it.
    pub(super) fn registers_at(&self, next: u32) -> bool {
        self.places[self.place + next as usize]
    }

    /// Whether there are registers at the place before.
    pub(super) fn registers_before(&self) -> bool {
        self.place > 0 && self.places[self.place - 1]
    }

    /// The next place: registers for all that crosses it, or none.
    pub(super) fn cut<'a>(&mut self, m: &mut Module, data: impl IntoIterator<Item = Crossing<'a>>) {
        self.place += 1;
        if self.places[self.place - 1] {
            self.rank(m, data);
        }
    }

    /// A spare place, inside of a part. Ranks that exceed the number of places stand there, the first at number 0.
    pub(super) fn cut_spare<'a>(&mut self, number: u32, m: &mut Module, data: impl IntoIterator<Item = Crossing<'a>>) {
        if self.has_spare(number) {
            self.rank(m, data);
        }
    }

    /// Whether there are registers at this spare place.
    pub(super) fn has_spare(&self, number: u32) -> bool {
        number < self.spare
    }

    fn rank<'a>(&mut self, m: &mut Module, data: impl IntoIterator<Item = Crossing<'a>>) {
        self.rank += 1;
        m.comment(&format!("Rank {} of registers.", self.rank));
        let crossing = self.carried.iter_mut().zip(&self.ended).filter(|(_, ended)| !**ended);
        let carried = crossing.map(|((name, signal), _)| (*name, signal));
        for (name, signal) in carried.chain(data.into_iter().map(|(name, signal)| (name, &mut *signal))) {
            let name = format!("{name}_{}_q", self.rank);
            // Only `valid` needs a reset.
            let held = if name.starts_with("valid_") { m.reg_init(&name, bit(), 0) } else { m.reg(&name, signal.ty()) };
            held.next(*signal);
            *signal = held.q;
        }
    }
}

/// `signal`, `count` cycles later.
pub(super) fn delay(m: &mut Module, name: &str, signal: Signal, count: u32) -> Signal {
    (1..=count).fold(signal, |signal, rank| {
        let held = m.reg(&format!("{name}_{rank}_q"), signal.ty());
        held.next(signal);
        held.q
    })
}

/// The `stages` places for which the deepest part is as shallow as possible; among equals the earliest.
fn choose(stages: u32, depths: &[u32]) -> Vec<bool> {
    let all: u32 = depths.iter().sum();
    let deepest = (0..all).find(|&most| possible(depths, stages, most)).unwrap_or(all);
    let mut places = vec![false; depths.len() - 1];
    // From the end: the last rank stands as early as it can, then the one before it.
    let mut rest = depths;
    for left in (0..stages).rev() {
        let earliest = (1..rest.len()).find(|&at| {
            let behind: u32 = rest[at..].iter().sum();
            behind <= deepest && possible(&rest[..at], left, deepest)
        });
        let Some(at) = earliest else { break };
        places[at - 1] = true;
        rest = &rest[..at];
    }
    places
}

/// Whether `stages` ranks can leave no part deeper than `most`.
fn possible(depths: &[u32], stages: u32, most: u32) -> bool {
    let (mut ranks, mut part) = (0, 0);
    for &depth in depths {
        if part + depth > most {
            (ranks, part) = (ranks + 1, 0);
        }
        part += depth;
        if part > most {
            return false;
        }
    }
    // Spare ranks do no harm, if there are places for them.
    ranks <= stages && (stages as usize) < depths.len()
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn parts_are_balanced() {
        assert_eq!(choose(0, &[3, 3]), [false]);
        assert_eq!(choose(1, &[10, 2, 2, 9]), [false, true, false]);
        assert_eq!(choose(1, &[1, 1, 9]), [false, true]);
        assert_eq!(choose(2, &[4, 4, 4]), [true, true]);
    }

    /// All choices, by trying.
    fn best_of_all(stages: u32, depths: &[u32]) -> Vec<bool> {
        let places = depths.len() - 1;
        let deepest = |choice: u32| {
            let (mut deepest, mut part) = (0, 0);
            for (at, depth) in depths.iter().enumerate() {
                part += depth;
                deepest = deepest.max(part);
                if choice >> at & 1 == 1 {
                    part = 0;
                }
            }
            deepest
        };
        let choices = (0..1u32 << places).filter(|choice| choice.count_ones() == stages);
        let best = choices.min_by_key(|&choice| deepest(choice)).unwrap();
        (0..places).map(|at| best >> at & 1 == 1).collect()
    }

    #[test]
    fn no_choice_is_better() {
        for depths in [
            &[26, 12, 14, 16][..],
            &[26, 15, 18, 24, 20, 18],
            &[20, 16],
            &[1, 1, 9, 1, 1],
            &[9, 1, 1, 1, 1, 1, 9],
            &[18, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 14],
        ] {
            for stages in 0..depths.len() as u32 {
                assert_eq!(choose(stages, depths), best_of_all(stages, depths), "{stages} of {depths:?}");
            }
        }
    }
}
