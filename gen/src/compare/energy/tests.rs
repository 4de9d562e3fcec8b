use std::fs;
use std::path::Path;

use models::cycles::{Events, kind};

use super::*;

/// A table of these lines; the folder stays as long as the test.
fn table(lines: &str) -> Result<Table> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.toml");
    fs::write(&path, lines).unwrap();
    Table::read(&path)
}

const NAMED: &str = "[[energy]]\nevent = \"product\"\npart = \"logic\"\npj = 2\nper = \"event\"\nsource = \"a\"\n";
const OF_KIND: &str = "[[energy]]\nkind = \"sram read\"\npart = \"memory\"\npj = 0.5\nper = \"bit\"\nsource = \"b\"\n";
const POWER: &str = "[[power]]\npart = \"leakage\"\nmw = 3\nper = \"mm2\"\nsource = \"c\"\n";

fn cost() -> Cost {
    let events = Events::default()
        .with(Event::new("product", kind::PRODUCT, 8), 10)
        .with(Event::new("word", kind::SRAM_READ, 64), 3);
    Cost { events, ..Cost::default() }
}

/// 10 products of 2 pJ, 3 words of 64 bits of 0.5 pJ. A refresh in four cycles, and 3 mW for each of 5 mm² at 200 MHz,
/// are 8 and 75 pJ a cycle and copy.
#[test]
fn energy_by_hand() {
    let table = table(&format!("title = \"t\"\nclock_mhz = 200\n{NAMED}{OF_KIND}{POWER}")).unwrap();
    let steady = [(Event::new("refresh", kind::SRAM_READ, 64), 0.25)];
    let price = Price::new(&table, ("mine", [Some(5.0), None]), &cost(), &steady).unwrap();
    let energy = price.energy(1000.0, 1.5);
    let parts = Part::ALL.map(|part| energy.of(part));
    assert_eq!(parts, [20.0, 96.0 + 8.0 * 1500.0, 0.0, 0.0, 0.0, 75.0 * 1500.0]);
    assert_eq!(energy.total(), parts.iter().sum::<f64>());
    assert_eq!(table.unused(&|name| name != "product"), ["product"]);
}

/// All that a table lacks is told at once, with the lines that would be right.
#[test]
fn what_is_missing() {
    let told = |table: &Table, area| Price::new(table, ("mine", [area, None]), &cost(), &[]).unwrap_err().to_string();
    let few = table(&format!("title = \"t\"\n{OF_KIND}")).unwrap();
    assert!(
        told(&few, None).ends_with(
            "e.toml: machine `mine`:\n  no energy of `product`: wanted is event = \"product\" or kind = \"product\""
        ),
        "{}",
        told(&few, None)
    );
    let bits = NAMED.replace("\"event\"\nsource", "\"bit\"\nsource");
    let burst = Cost { events: cost().events.with(Event::new("burst", "product", 0), 1), ..Cost::default() };
    let by_bits = table(&format!("title = \"t\"\n{}{OF_KIND}", bits.replace("event = ", "kind = "))).unwrap();
    let error = Price::new(&by_bits, ("mine", [None, None]), &burst, &[]).unwrap_err().to_string();
    assert!(error.ends_with("`burst` has no bits: wanted is per = \"event\""), "{error}");
    let power = table(&format!("title = \"t\"\nclock_mhz = 1\n{NAMED}{OF_KIND}{POWER}")).unwrap();
    assert!(told(&power, None).ends_with("machine `mine` has no `area`, which a power per mm2 needs"));
    let nothing = Price::new(&few, ("mine", [None, None]), &Cost::default(), &[]).unwrap_err().to_string();
    assert_eq!(nothing, "machine `mine` counts no events, so it has no energy: compare it without");
}

/// Each wrong line is refused with file, line, key and what is wanted.
#[test]
fn wrong_tables() {
    let good = format!("title = \"t\"\nclock_mhz = 200\n{NAMED}{OF_KIND}{POWER}");
    for (from, to, told) in [
        ("pj = 2", "pj = -1", "e.toml:3: `pj` is -1, allowed: a number from 0 to 1000000000"),
        ("pj = 2", "pj = nan", "e.toml:3: `pj` is NaN, allowed"),
        (
            "\"logic\"",
            "\"logc\"",
            "e.toml:3: `part` is `logc`, wanted is one of logic, memory, bus, dram, refresh, leakage",
        ),
        ("\"event\"\nsource", "\"word\"\nsource", "e.toml:3: `per` is `word`, wanted is one of event, bit"),
        ("\"a\"", "\" \"", "e.toml:3: `pj` without a `source`: say where it comes from"),
        ("event = \"product\"", "event = \"\"", "e.toml:3: an empty name"),
        ("event = \"product\"\n", "", "e.toml:3: neither `event` nor `kind`, wanted is the name of one"),
        ("event = ", "kind = \"x\"\nevent = ", "e.toml:3: both `event` and `kind`, wanted is one of them"),
        ("kind = \"sram read\"", "event = \"product\"", "e.toml:9: `product` has two energies, wanted is one of them"),
        ("clock_mhz = 200", "", "a power without a clock: give `clock_mhz`, in megahertz"),
        ("clock_mhz = 200", "clock_mhz = 0", "e.toml:2: `clock_mhz` is 0, allowed: a number above 0"),
        ("\"mm2\"", "\"m2\"", "e.toml:15: `per` is `m2`, wanted is one of machine, mm2, mbit"),
        ("title = \"t\"\n", "", "missing field `title`"),
        ("pj = 2\n", "", "missing field `pj`"),
        ("mw = 3", "mw = 3\nwatts = 3", "unknown field `watts`"),
        ("pj = 2", "pj = [", "e.toml: TOML parse error at line 7"),
    ] {
        assert!(good.contains(from), "{from}");
        let failure = table(&good.replacen(from, to, 1)).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains(told), "{from} -> {to}: {failure}");
    }
    let absent = Table::read(Path::new("/no/such.toml")).unwrap_err().to_string();
    assert!(absent.contains("/no/such.toml"), "{absent}");
}
