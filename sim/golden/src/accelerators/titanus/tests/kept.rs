//! State that stays from job to job, and state that is lost.

use super::*;
use crate::accelerators::job::Accelerator;

fn scores(tokens: u32) -> Descriptor {
    product().words(&[(32, 1), (36, 4), (40, tokens), (44, 4), (80, 1)]).long(64, 0x2000)
}

fn with_constants() -> (TitanusCore, SparseMemory) {
    let (core, mut memory) = (core(), with_tokens());
    memory.store(0x2800, &records(&[(1.0, 0); 6]));
    assert_eq!(run(&core, &mut memory, &[constants()]).end.code, 0);
    (core, memory)
}

#[test]
fn the_context() {
    let (core, mut memory) = with_constants();
    assert_eq!(run(&core, &mut memory, &[scores(1)]).end.code, code::SIZE, "there is none after reset");
    let keep = append(4, 0).word(44, 1);
    assert_eq!(run(&core, &mut memory, std::slice::from_ref(&keep)).end.code, 0);
    let report = run(&core, &mut memory, &[scores(4)]);
    assert_eq!((report.end.code, report.executed[0].defined), (0, true));
    assert_eq!(run(&core, &mut memory, &[scores(4), scores(5)]).end.code, code::SIZE);
    assert_eq!(core.context_tokens(), 0, "any error");
    // After an append that keeps nothing, a restore to rows, and other operations, the context stays.
    run(&core, &mut memory, std::slice::from_ref(&keep));
    let others = [append(1, 4), restore_rows(5), constants(), scores(4)];
    assert_eq!((run(&core, &mut memory, &others).end.code, core.context_tokens()), (0, 4));
    assert_eq!((run(&core, &mut memory, &[restore(5)]).end.code, core.context_tokens()), (0, 5));
    // Only a new cache: the old context goes, so that cache and context never belong to different sequences.
    assert_eq!((run(&core, &mut memory, &[append(5, 0)]).end.code, core.context_tokens()), (0, 0));
    assert_eq!(run(&core, &mut memory, &[append(1, 5).word(44, 1)]).end.code, code::SIZE);
    run(&core, &mut memory, std::slice::from_ref(&keep));
    // A soft reset.
    let mut device = Device::new(core, 4, 16, memory);
    device.write(0x08, 2).unwrap();
    memory_of(&mut device, &[scores(1)]);
    assert_eq!(device.read(0x1c).unwrap(), u32::from(code::SIZE));
}

/// A prompt token by token: the context grows by each token, and the levels come with the last token of the prefill.
#[test]
fn a_prompt_token_by_token() {
    let (once, apart) = (core(), core());
    let mut memory = with_tokens();
    let begin = |tokens| append(tokens, 0).words(&[(44, 1), (48, 4 | LINES << 16)]);
    let keep = |position| append(1, position).word(44, 1);
    assert_eq!(run(&once, &mut memory, &[begin(5)]).end.code, 0);
    for position in 0..5 {
        let descriptor = if position == 0 { begin(1) } else { keep(position) };
        assert_eq!(run(&apart, &mut memory, &[descriptor]).end.code, 0);
        let tokens = position + 1;
        assert_eq!((apart.cache_tokens(), apart.context_tokens()), (tokens, tokens));
        assert_eq!(apart.is_filling(), tokens < 4);
        assert_eq!(apart.stream_bits().map(|bits| bits > 16), [tokens >= 4; 2], "a header is all there is");
    }
    let holds = |core: &TitanusCore| {
        let state = core.state.borrow();
        (state.streams().cloned(), state.context().cloned())
    };
    assert_eq!(holds(&once), holds(&apart));
    // Tokens may be kept up to the end of the context, and after a restored context, but not after a context of other
    // tokens.
    assert_eq!(run(&apart.clone(), &mut memory, &[keep(5)]).end.code, 0);
    assert_eq!(run(&apart.clone(), &mut memory, &[keep(5), keep(6)]).end.code, code::SIZE);
    assert_eq!(run(&apart, &mut memory, &[append(1, 5), keep(6)]).end.code, code::SIZE);
    assert_eq!((apart.cache_tokens(), apart.context_tokens()), (0, 0));
    let report = run(&apart, &mut memory, &[append(4, 0), restore(4), keep(4)]);
    assert_eq!((report.end.code, apart.context_tokens()), (0, 5));
    let context = holds(&apart).1.unwrap();
    assert_eq!(
        (context.keys[4].as_slice(), context.values[4].as_slice()),
        (&[9, 127, 0, -128][..], &[0, 0, 3, -3][..])
    );
    // Tokens that wait are dropped with their cache.
    assert_eq!(run(&apart, &mut memory, &[begin(2), append(3, 0), restore_rows(3)]).end.code, 0);
    assert_eq!((apart.is_filling(), apart.context_tokens()), (false, 0));
}

fn memory_of(device: &mut Device<SparseMemory>, chain: &[Descriptor]) {
    device.memory.store(0x1000, &chain[0].0);
    for (offset, value) in [(0x28, 0x1000), (0x30, 0x1000), (0x38, 0xffff), (0x3c, 0), (0x08, 1)] {
        device.write(offset, value).unwrap();
    }
}

#[test]
fn the_cache() {
    let (core, mut memory) = with_constants();
    let ends = |memory: &mut SparseMemory, chain: &[Descriptor]| {
        let code = run(&core, memory, chain).end.code;
        (code, core.cache_tokens())
    };
    for none in [append(1, 1), restore(1), restore_rows(1)] {
        assert_eq!(ends(&mut memory, &[none]), (code::SIZE, 0));
    }
    assert_eq!(ends(&mut memory, &[append(3, 0), append(1, 3)]), (0, 4));
    assert_eq!(ends(&mut memory, &[append(1, 4), restore_rows(5), load(), constants()]), (0, 5));
    assert_eq!(ends(&mut memory, &[append(2, 0)]), (0, 2), "begun anew");
    for wrong in [append(1, 1), append(1, 3), restore(1), restore(3), restore_rows(3)] {
        assert_eq!(ends(&mut memory, &[append(2, 0)]), (0, 2));
        assert_eq!(ends(&mut memory, &[wrong]), (code::SIZE, 0), "any error ends it");
    }
    // Registers show it, and a soft reset ends it.
    assert_eq!(ends(&mut memory, &[append(2, 0)]), (0, 2));
    let mut device = Device::new(core.clone(), 4, 16, memory);
    assert_eq!(device.read(0x138).unwrap(), 2);
    device.write(0x08, 2).unwrap();
    assert_eq!(device.read(0x138).unwrap(), 0);
}

#[test]
fn weights_and_constants() {
    let (core, mut memory) = with_constants();
    let product = product();
    let defined = |memory: &mut SparseMemory, product: &Descriptor| {
        let report = run(&core, memory, std::slice::from_ref(product));
        assert_eq!(report.end.code, 0);
        report.executed[0].defined
    };
    assert!(!defined(&mut memory, &product));
    run(&core, &mut memory, &[load()]);
    assert!(defined(&mut memory, &product));
    // Other errors do not change them.
    assert_ne!(run(&core, &mut memory, &[restore(6)]).end.code, 0);
    assert!(defined(&mut memory, &product));
    // A load that fails: its weights become unknown, all others stay known.
    memory.fail(0x2040..=0x2040, BusError::Decode);
    let part = load().word(36, 4);
    assert_eq!(run(&core, &mut memory, &[part]).end.code, code::DECERR);
    assert!(!defined(&mut memory, &product));
    let other = product.clone().words(&[(40, 2), (48, 1 << 16)]);
    assert!(defined(&mut memory, &other));
    memory.fail(0x2808..=0x2808, BusError::Decode);
    assert_eq!(run(&core, &mut memory, &[constants().word(36, 2)]).end.code, code::DECERR);
    assert!(!defined(&mut memory, &other) && defined(&mut memory, &other.word(60, 2)));
}

/// Results from undefined bytes are undefined, also if the bytes go through the core.
#[test]
fn undefined_bytes_are_remembered() {
    let (core, mut memory) = with_constants();
    // Results that overwrite x are undefined. Then they are loaded as weights.
    let chain = [load(), product().long(72, 0x3000), load().long(64, 0x3000), product().long(64, 0x7000)];
    let report = run(&core, &mut memory, &chain);
    assert_eq!(report.executed.iter().map(|e| e.defined).collect::<Vec<_>>(), [true, false, false, false]);
    // The same as a context.
    let chain = [
        product().long(72, 0x3000),
        append(2, 0).word(44, 1),
        scores(2),
        append(1, 2),
        restore_rows(3),
        append(2, 0).word(44, 1).long(72, 0x2000),
        scores(2),
    ];
    let report = run(&core, &mut memory, &chain);
    assert_eq!(report.end.code, 0);
    let defined: Vec<bool> = report.executed.iter().map(|e| e.defined).collect();
    assert_eq!(defined, [false, false, false, false, false, true, true]);
    assert!(!report.is_certain());
}

/// A soft reset in a job. The weights and constants of the job's loads become unknown, and all others stay. Cache and
/// context are lost.
#[test]
fn a_soft_reset_during_a_job() {
    let (core, mut memory) = with_constants();
    let defined = |memory: &mut SparseMemory, product: &Descriptor| {
        run(&core, memory, std::slice::from_ref(product)).executed[0].defined
    };
    run(&core, &mut memory, &[load(), append(4, 0).word(44, 1)]);
    let report = run(&core, &mut memory, &[load().word(36, 4), append(1, 4)]);
    assert!(report.end.code == 0 && core.dropped(&report.executed));
    assert_eq!((core.cache_tokens(), core.context_tokens()), (0, 0));
    assert!(!defined(&mut memory, &product()));
    assert!(defined(&mut memory, &product().words(&[(40, 2), (48, 1 << 16)])));
}
