//! Replays. Cells that hold change nothing, lost bits are seen, and accesses that differ from the jobs' accesses are
//! refused.

use super::*;
use crate::kelle::edram_bank::Distribution;

/// Cells that lose their bit after 100 cycles at the earliest, and all within 200.
fn cells() -> Replay {
    Replay::new(&SHAPE, 2, 1, &Distribution::new(&[(0, 100), (u32::MAX, 200)]).unwrap())
}

#[derive(Clone)]
struct Events {
    now: u64,
    all: Vec<(u64, Event)>,
}

impl Events {
    fn after(&mut self, cycles: u64, event: Event) {
        self.now += cycles;
        self.all.push((self.now, event));
    }

    fn read(&mut self, cycles: u64, value: bool, bytes: [bool; 2], row: usize) {
        self.after(cycles, Event::Read(Read { value, bytes, row }));
    }

    /// Two tokens enter, in rows 4 and 2.
    fn two_tokens() -> Self {
        let mut events = Self { now: 5, all: Vec::new() };
        for rows in [&[4][..], &[4, 2]] {
            events.after(1, Event::Write(rows[rows.len() - 1]));
            for value in [false, true] {
                for bytes in [[true, false], [false, true]] {
                    rows.iter().for_each(|&row| events.read(1, value, bytes, row));
                }
            }
        }
        events
    }

    /// The same with late values.
    fn two_late_tokens() -> Self {
        let mut events = Self { now: 5, all: Vec::new() };
        for rows in [&[4][..], &[4, 2]] {
            for value in [false, true] {
                events.after(1, Event::Write(rows[rows.len() - 1]));
                for bytes in [[true, false], [false, true]] {
                    rows.iter().for_each(|&row| events.read(1, value, bytes, row));
                }
            }
        }
        events
    }

    /// So many cycles later, both rows are refreshed.
    fn refreshed(mut self, later: u64) -> Self {
        self.now += later;
        for row in [4, 2] {
            for byte in 0..2 {
                self.after(1, Event::RefreshRead { byte, row });
                self.after(1, Event::RefreshWrite { byte, row });
            }
        }
        self
    }

    /// So many cycles later, both tokens are saved to memory.
    fn saved(mut self, later: u64) -> Self {
        self.now += later;
        for row in [4, 2] {
            self.read(1, false, [true; 2], row);
            self.read(1, true, [true; 2], row);
        }
        self
    }
}

/// Results of the attention of two tokens, and then scores, keys and values of the head.
fn both(top: &KelleTop) -> [Vec<u8>; 3] {
    both_of(top, &Descriptor::attention())
}

fn both_of(top: &KelleTop, attention: &Descriptor) -> [Vec<u8>; 3] {
    let mut memory = attention_memory(attention);
    assert_eq!(run(top, &mut memory).end.code, 0);
    memory.store(0x1000, &Descriptor::save(0, 2).0);
    assert_eq!(run(top, &mut memory).end.code, 0);
    let rows = |at: u64, count| [0x7000, 0x7080].map(|row| memory.bytes(row + at, count)).concat();
    [memory.bytes(0x6000, 128), rows(0, 64), rows(64, 16)]
}

fn replayed(events: Events) -> ([Vec<u8>; 3], Result<u64, String>) {
    let top = top().replaying(cells().with_events(events.all));
    (both(&top), top.replayed())
}

#[test]
fn what_cells_lose_is_seen() {
    let right = both(&top());
    let tokens = Events::two_tokens();
    for events in [tokens.clone().saved(50), tokens.clone().refreshed(50).saved(50)] {
        assert_eq!(replayed(events), (right.clone(), Ok(0)));
    }
    // Bits are lost in all keys and values: 8 numbers of each token, also numbers that the tokens do not use. A late
    // refresh keeps the bits lost.
    let lost = right[2].iter().map(|byte| !byte).collect();
    let wrong = [right[0].clone(), right[1].clone(), lost];
    for events in [tokens.clone().saved(300), tokens.clone().refreshed(300).saved(50)] {
        assert_eq!(replayed(events), (wrong.clone(), Ok(2 * 2 * 8 * 16)));
    }
    // Attention computes with the values that it reads.
    let mut late = tokens.saved(1);
    late.all[6..].iter_mut().for_each(|event| event.0 += 300);
    let (results, flips) = replayed(late);
    assert!(results[0][..64] == right[0][..64] && results[0][64..] != right[0][64..] && flips.unwrap() > 1000);
}

/// A late value changes no number. It is written in time for all reads, and its row is young again.
#[test]
fn late_values() {
    let late = Descriptor::attention().word(48, 2);
    let right = both(&top());
    assert_eq!(both_of(&top(), &late), right);
    let replayed = |events: Events| {
        let top = top().replaying(cells().with_events(events.all));
        (both_of(&top, &late), top.replayed())
    };
    let tokens = Events::two_late_tokens();
    assert_eq!(replayed(tokens.clone().saved(50)), (right.clone(), Ok(0)));
    // The scores of the second token take a long time, so the first token's bits are lost.
    let mut slow = tokens.clone().saved(50);
    slow.all[11..].iter_mut().for_each(|event| event.0 += 300);
    let [_, scores, saved] = replayed(slow).0;
    let lost: Vec<u8> = right[2][..16].iter().map(|byte| !byte).collect();
    assert_eq!((&scores, &saved[..16], &saved[16..]), (&right[1], &lost[..], &right[2][16..]));
    let with = |change: fn(&mut Vec<(u64, Event)>)| {
        let mut events = tokens.clone().saved(1);
        change(&mut events.all);
        replayed(events).1.unwrap_err()
    };
    for (problem, found) in [
        ("is written to row 3, must be 4", with(|all| all[3].1 = Event::Write(3))),
        ("must be the write of a token", with(|all| all.swap(3, 4))),
    ] {
        assert!(found.contains(problem), "{found}");
    }
}

#[test]
fn other_accesses_are_refused() {
    let right = Events::two_tokens().saved(1);
    let with = |change: fn(&mut Vec<(u64, Event)>)| {
        let mut events = right.clone();
        change(&mut events.all);
        replayed(events).1.unwrap_err()
    };
    const OTHER: Event = Event::Read(Read { value: false, bytes: [true, false], row: 2 });
    for (problem, found) in [
        ("must be the write of a token", with(|all| all[0].1 = OTHER)),
        ("row 2 is read in cycle 7: it holds another token", with(|all| all[1].1 = OTHER)),
        ("must be a read with value false and bytes [true, false]", with(|all| all.swap(1, 2))),
        ("end before the jobs", with(|all| all.truncate(15))),
        ("must be none", with(|all| all.push((500, Event::Write(1))))),
    ] {
        assert!(found.contains(problem), "{found}");
    }
}
