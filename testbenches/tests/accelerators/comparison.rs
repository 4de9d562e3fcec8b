//! The accelerators side by side. The example writes docs/comparison.md from the models of cycles, and figures that the
//! page quotes are on the other pages.

#[expect(dead_code, reason = "the program around it")]
#[path = "../../examples/comparison.rs"]
mod example;

const PAGE: &str = include_str!("../../../docs/comparison.md");

/// The column of the table of machines with this head.
fn column(head: &str) -> Vec<&str> {
    let [_, tables, _] = example::parts(PAGE).unwrap();
    let mut rows = tables.lines().take_while(|line| line.starts_with('|')).map(|line| line.split('|').map(str::trim));
    let at = rows.next().unwrap().position(|cell| cell == head).unwrap();
    rows.skip(1).map(|mut cells| cells.nth(at).unwrap()).collect()
}

#[test]
fn page_is_fresh() {
    let (fresh, _) = example::tables().unwrap();
    let [_, tables, _] = example::parts(PAGE).unwrap();
    assert!(
        tables == fresh,
        "`cargo run -p senbazuru-testbenches --example comparison -- docs/comparison.md target/comparison.json` fills in:\n{fresh}"
    );
}

#[test]
fn perplexities_are_those_of_their_page() {
    let page = include_str!("../../../docs/perplexity.md");
    let quoted = column("perplexity of SmolLM2-135M");
    assert_eq!(quoted.len(), 5);
    for value in quoted {
        assert!(page.contains(&format!("| {value} |")), "{value} is not on docs/perplexity.md");
    }
}

/// Areas as they are told where the blocks were synthesised; Tender's has 64 lanes of the vector unit there, here 32.
#[test]
fn areas_are_those_of_their_pages() {
    let tender = include_str!("../../../docs/blocks/tender-top.md");
    let kllm = include_str!("../../../docs/blocks/kllm-top.md");
    let told = [
        ("202", tender, "(260 mm²"),
        ("202", tender, "(260 mm²"),
        ("453", kllm, "453 mm², "),
        ("147", PAGE, "147.0 mm² "),
        ("338", PAGE, "| all | 338.5 |"),
    ];
    let areas = column("logic, mm²");
    assert_eq!(areas, told.map(|(area, ..)| area));
    for (area, page, text) in told {
        assert!(page.contains(text), "{area}: no `{text}`");
    }
}
