//! Deliberate faults of the back end that prints C: each is made in the C of random designs, and the lock step has to notice it.

use hdl::emit::SourceFile;
use hdl::lang::elaborate;
use regex::Regex;
use sim::{Design, Lockstep, OutOfStep};

use super::pack::Pack;
use super::{CYCLES, native_instance, pack};

/// Designs in one model: most faults show in the first.
const DESIGNS: usize = 20;

/// The fault in words, the pattern of the C that it replaces, and the replacement.
type Fault = (&'static str, &'static str, &'static str);

const FAULTS: [Fault; 29] = [
    // When something is evaluated.
    ("outputs are as old as the edge", r"(reset_state\(S\);\n)  outputs\(S\);", "$1"),
    ("a reset waits for the edge", r"if \(RESET_LOW && S->was_high\) reset_state\(S\);", ""),
    ("an edge in a reset counts", r"(edge\(S\);\n)  if \(RESET_LOW\) reset_state\(S\);", "$1"),
    ("a reset wakes nobody", r"  memset\(S->flags, 1, sizeof S->flags\);\n\}", "}"),
    ("an input wakes nobody", r"(?m)^(.*S->[pq]_.*?)(F\[\d+\] = 1; ?)+", "$1"),
    ("a net wakes nobody", r"(!= t\d+\) \{ [^{}]*?)(F\[\d+\] = 1; ?)+\}", "$1 }"),
    ("a register wakes nobody", r"(!= S->a\d+\[0\]\) \{ [^{}]*?)(F\[\d+\] = 1; ?)+\}", "$1 }"),
    ("an array of registers wakes nobody", r"if \(c\) \{ [^{}]*\}", ";"),
    ("a loop wakes nobody", r"if \(c\d+\) \{ [^{}]*\}", ";"),
    ("a written memory wakes nobody", r"(if \(w->on\) \{.*?)(F\[\d+\] = 1; ?)+", "$1"),
    ("registers change one after the other", r"(S->ran\[\d+\] = 1; s)(\d+)(\(S\);) \}", "$1$2$3 k$2$3 }"),
    ("half of the flags are not asked for", r"lane64 \*\)\(F", "lane32 *)(F"),
    ("what a guard leaves alone forgets a reset", r"memcpy\(S->a\d+, S->a\d+, sizeof[^;]*;", ""),
    ("ripples downwards run upwards", r"v(\d) = (\d+); v\d >= 0; v\d--", "v$1 = 0; v$1 <= $2; v$1++"),
    // Memories and tables.
    ("a masked write writes all", r"(\bmask), 0, ", "$1, 0xff, "),
    ("a read past the end is no zero", r"(< \d+ \? [^?:\n]*\] : )0\)", "${1}1)"),
    // Values of one word.
    ("short numbers lose their sign", r"\(\(i32\)(\(\(u32\)\(x\) << \(32)", "($1"),
    ("long numbers lose their sign", r"\(\(i64\)(\(\(u64\)\(x\) << \(64)", "($1"),
    ("shifts by more than the width wrap", r" >= \d+ \? 0 : ", " < 0u ? 0 : "),
    // Loops that become vectors.
    ("a choice in a vector is the other one", r"& -\((u32|i32|u64|i64)\)", "& ~-($1)"),
    ("a difference in a vector loses its borrow", r"\(u32\)\(u16\)\(", "(u32)(u8)("),
    // Values of several words.
    ("sums lose the carry between words", r"sum >>= 64;", "sum = 0;"),
    ("products lose the carry between words", r"carry = \(u64\)\(x >> 64\);", "carry = 0;"),
    ("left shifts lose what crosses words", r"if \(b && i > w\) [^;]*;", ""),
    ("right shifts forget the sign", r"(const u64 fill = )sign[^;]*;", "${1}0;"),
    ("comparison forgets the sign", r"sign \? 1ull << 63 : 0", "0"),
    ("parts that cross words lose their upper half", r"if \(b \+ width > 64\) x \|= [^;]*;", ""),
    ("what is put across words loses its upper half", r"if \(b \+ width > 64\) d\[i \+ 1\][^;]*;", ""),
    ("bits above a value stay", r"if \(width % 64\) d\[width / 64\] &= [^;]*;", ""),
];

/// Random designs and their C. In small parts, most events that wake a part are needed.
struct Designs {
    design: Design,
    files: Vec<SourceFile>,
}

impl Designs {
    fn new(seeds: &[u64]) -> Self {
        let elaborated = elaborate(&Pack { seeds: seeds.to_vec() }).unwrap();
        Self { design: Design::from(&elaborated), files: elaborated.native_in_parts(1).unwrap() }
    }

    /// The difference that the lockstep sees; none also where the C has no place for the fault.
    fn notice(&self, from: &Regex, to: &str) -> Option<OutOfStep> {
        if !self.files.iter().any(|file| from.is_match(&file.text)) {
            return None;
        }
        let wrong = |f: &SourceFile| SourceFile { text: from.replace_all(&f.text, to).into_owned(), ..f.clone() };
        let wrong = native_instance(&self.design, self.files.iter().map(wrong).collect());
        let right = native_instance(&self.design, self.files.clone());
        Lockstep::new(&self.design, wrong, right).run(1, CYCLES).unwrap()
    }
}

/// A third of the faults in an ordinary run, all of them in a full one.
#[test]
fn a_wrong_back_end_is_noticed() {
    let seeds: Vec<u64> = (0..2).flat_map(|number| pack(number).seeds).collect();
    let all: Vec<Designs> = seeds.chunks(DESIGNS).map(Designs::new).collect();
    let mut unnoticed = Vec::new();
    for (what, from, to) in seeds::some(&FAULTS, 9) {
        let from = Regex::new(from).unwrap();
        match all.iter().find_map(|designs| designs.notice(&from, to)) {
            Some(found) => println!("{what}: {found}"),
            None => unnoticed.push(*what),
        }
    }
    assert!(unnoticed.is_empty(), "not noticed: {}", unnoticed.join(", "));
}
