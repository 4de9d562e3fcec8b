//! What `eval` prints.

use std::fmt::Write;

use models::evaluation::{Material, Outcome};
use models::schemes::{Chosen, Part, Registry, Tally};
use serde_json::{Map, Value, json};

use crate::present::numbers::{counted, decimal};
use crate::present::report;
use crate::present::table::Table;

/// All schemes: what each does, and its options.
pub(super) fn schemes(registry: &Registry) -> String {
    let mut text = String::new();
    for part in Part::ALL {
        let mut of_part = registry.iter().filter(|scheme| scheme.part() == part).peekable();
        if of_part.peek().is_some() {
            let gap = if text.is_empty() { "" } else { "\n" };
            let cache = if part.is_cache() { ", with `--scheme` or `--cache`" } else { "" };
            let _ = writeln!(text, "{gap}Schemes that replace {}{cache}", part.about());
        }
        for scheme in of_part {
            let _ = writeln!(text, "{}: {}", scheme.name(), scheme.about());
            for choice in scheme.choices() {
                let (name, default, about) = (choice.name, choice.default, choice.about);
                let _ = writeln!(text, "  {name}={default}: {about}; allowed: {}", choice.kind);
            }
        }
    }
    text
}

/// Figures of all schemes, and what they were measured on.
pub(super) fn outcomes(
    chosen: &[Chosen<'_>],
    material: &Material,
    windows: Option<WindowSizes>,
    outcomes: &[Outcome],
) -> String {
    let mut text = String::new();
    let of = || chosen.iter().zip(outcomes);
    if let Some([length, stride]) = windows {
        let mut table = Table::new(["scheme", "perplexity", "+- %"]);
        for (scheme, outcome) in of() {
            let perplexity = outcome.perplexity().map(|p| decimal(p, 4)).unwrap_or_default();
            table.row([scheme.canonical(), perplexity, decimal(100.0 * outcome.uncertainty(), 1)]);
        }
        let [count, scored] = material.text();
        let _ = writeln!(
            text,
            "{}\n{scored} {}, in windows of {length}, stride {stride}: {count} in all",
            report::table(&table),
            if scored == 1 { "token counts" } else { "tokens count" }
        );
    }
    if outcomes.iter().any(|outcome| outcome.questions > 0) {
        let mut table = Table::new(["scheme", "right %", "right by byte %"]);
        for (scheme, outcome) in of() {
            let share = |right: usize| decimal(100.0 * right as f64 / outcome.questions as f64, 2);
            table.row([scheme.canonical(), share(outcome.right[0]), share(outcome.right[1])]);
        }
        let questions = outcomes.first().map_or(0, |outcome| outcome.questions);
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}\n{}", report::table(&table), counted(questions, "question"));
    }
    for (scheme, outcome) in of().filter(|(_, outcome)| !outcome.tallies.is_empty()) {
        let figure = |tally: &Tally| format!("{} {}", tally.name, decimal(tally.value(), 4));
        let figures: Vec<String> = outcome.tallies.iter().map(figure).collect();
        let _ = writeln!(text, "{}: {}", scheme.canonical(), figures.join(", "));
    }
    text
}

/// The same figures as data. What was not measured is `null`.
pub(super) fn data(
    chosen: &[Chosen<'_>],
    material: &Material,
    windows: Option<WindowSizes>,
    outcomes: &[Outcome],
) -> Value {
    let schemes = chosen.iter().zip(outcomes).map(|(scheme, outcome)| {
        let perplexity = outcome.perplexity();
        let figure = |tally: &Tally| (tally.name.to_string(), json!(tally.value()));
        json!({
            "scheme": scheme.canonical(),
            "perplexity": perplexity,
            "uncertainty": perplexity.map(|_| outcome.uncertainty()),
            "questions": outcome.questions,
            "right": outcome.right[0],
            "right_by_byte": outcome.right[1],
            "figures": outcome.tallies.iter().map(figure).collect::<Map<_, _>>(),
        })
    });
    let text = windows.map(|[context, stride]| {
        let [windows, tokens] = material.text();
        json!({ "context": context, "stride": stride, "windows": windows, "tokens": tokens })
    });
    json!({ "text": text, "schemes": schemes.collect::<Vec<_>>() })
}

/// Length and stride of the windows of the text.
pub(super) type WindowSizes = [usize; 2];
