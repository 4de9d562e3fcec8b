//! Costs of decoder layers, for comparisons.

use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::DmaSpec;
use models::cycles::Counts;
use models::cycles::kelle::Kelle;
use models::schemes::{Choice, Kind};

use super::super::costs::{BEATS, WIDE};
use super::timing::timing;
use super::{caps_of, golden_of};

/// Tokens that a head keeps: 32 heads of one sequence take 4,096 rows.
const SLOTS: u32 = 127;

/// With the paper's array and memories on a bus of 64 bytes.
pub const COSTS: Counts<KelleTop> = Counts {
    block: || {
        let spec = KelleSpec { axi: WIDE, weights: 65_536, inner: 11_008, ..KelleSpec::default() };
        KelleTop {
            vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            attention: AttentionSpec {
                spec: spec.clone(),
                heads: 32,
                slots: SLOTS,
                width: 128,
                group: 4,
                // A row is refreshed in time.
                interval: 19_456,
                ..AttentionSpec::default()
            },
            spec,
            read_beats: BEATS,
            ..KelleTop::default()
        }
    },
    choices: || {
        let or = |most, word| Kind::Or(Box::new(Kind::Count(1..=most)), word);
        vec![
            Choice {
                name: "budget",
                default: "slots",
                kind: or(65_535, "slots"),
                about: "tokens that a head keeps; slots: as many as it has",
            },
            Choice {
                name: "refresh",
                default: "interval",
                kind: or(1 << 31, "interval"),
                about: "mean cycles between refreshes of a row, for energy; interval: the block's",
            },
        ]
    },
    costs: |block, settings, latency| {
        // Descriptors are counted one by one, and each knows one head.
        let attention = AttentionSpec { heads: block.attention.heads.min(1), ..block.attention.clone() };
        let block = &KelleTop { attention, ..block.clone() };
        let budget = match settings.word("budget")? {
            "slots" => block.attention.slots.into(),
            _ => settings.count("budget")?,
        };
        let refresh = match settings.word("refresh")? {
            "interval" => block.attention.interval.into(),
            _ => settings.count("refresh")?,
        };
        let golden = golden_of(block)?;
        let timed = (golden.clone(), timing(block, latency));
        Ok(Box::new(Kelle::new(caps_of(golden.shape()), timed, [budget, refresh])))
    },
};
