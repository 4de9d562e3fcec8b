//! Prints the tables of `docs/blocks/kllm-quantization.md`: KLLM's quantization on projections of a real decoder.
//!
//! `cargo run --release -p senbazuru-models --example kllm_quantization`. Nothing is random but the seeded start of K-Means.
//! `--facts FILE` writes the errors of schemes and outlier shares, and the mean drifts, as JSON.

use anyhow::Result;
use models::kllm::quantization::attention::{self, Scores};
use models::kllm::quantization::{
    Config, Detection, Mean, Projection, Scheme, Sensitivity, arithmetic, drift, evaluate, mean,
};
use sim::facts::Facts;

/// Outlier shares in hundredths of a per cent: none, then those of the paper's Table IV.
const SHARES: [u32; 6] = [0, 50, 100, 200, 500, 1000];

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let projections = Projection::all()?;
    let both = |scheme, share| -> Result<[Mean; 2]> {
        Ok([
            mean(&projections, Config { scheme, bits: 4, share })?,
            mean(&projections, Config { scheme, bits: 3, share })?,
        ])
    };
    schemes(&both, &mut facts)?;
    by_projection(&projections)?;
    outlier_shares(&both, &mut facts)?;
    detection(&both)?;
    sensitivity(&both)?;
    breakdown(&projections)?;
    drifts(&projections, &mut facts)?;
    roundings(&projections)?;
    scores()?;
    Ok(facts.write()?)
}

type Both<'a> = &'a dyn Fn(Scheme, u32) -> Result<[Mean; 2]>;

fn percent(x: f64) -> String {
    format!("{:.2}", 100.0 * x)
}

fn row(cells: impl IntoIterator<Item = String>) {
    println!("| {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

fn head(title: &str, cells: &[&str]) {
    println!("\n### {title}\n");
    row(cells.iter().map(ToString::to_string));
    row(cells.iter().enumerate().map(|(i, _)| if i == 0 { "---" } else { "---:" }.to_owned()));
}

fn schemes(both: Both, facts: &mut Facts) -> Result<()> {
    head(
        "Schemes: error of the output in per cent, mean of 12 projections (paper: Table II)",
        &["scheme", "W4A4, all tokens", "W4A4, by token", "W4A3, all tokens", "W4A3, by token"],
    );
    let k_means = |sensitivity, detection| Scheme::KMeans(sensitivity, detection);
    for (name, scheme, share) in [
        ("integers, weights only (W4A16)", Scheme::RtnWeightsOnly, 0),
        ("K-Means, weights only (W4A16), uniform", Scheme::KMeansWeightsOnly(Sensitivity::Uniform), 0),
        ("K-Means, weights only (W4A16), weighted", Scheme::KMeansWeightsOnly(Sensitivity::Weights), 0),
        ("RTN", Scheme::Rtn, 0),
        ("RTN, zero point", Scheme::RtnZeroPoint, 0),
        ("SmoothQuant", Scheme::SmoothQuant, 0),
        ("Hadamard rotation (QuaRot's idea)", Scheme::Rotated, 0),
        ("groups of 96, 8-bit channels (Atom's idea)", Scheme::Grouped, 0),
        ("RTN, 1 % online outliers", Scheme::Rtn, 100),
        ("RTN, zero point, 1 % online outliers", Scheme::RtnZeroPoint, 100),
        ("K-Means, uniform, no outliers", k_means(Sensitivity::Uniform, Detection::Online), 0),
        ("K-Means, weighted, no outliers", k_means(Sensitivity::Both, Detection::Online), 0),
        ("KLLM-S: weighted, 1 % offline", Scheme::KLLM_S, 100),
        ("KLLM: weighted, 1 % online", Scheme::KLLM, 100),
    ] {
        let [a4, a3] = both(scheme, share)?;
        facts.add(&format!("error {name} W4A4"), a4.frobenius);
        facts.add(&format!("error {name} W4A3"), a3.frobenius);
        row([name.to_owned()].into_iter().chain([a4.frobenius, a4.of_token, a3.frobenius, a3.of_token].map(percent)));
    }
    Ok(())
}

fn by_projection(projections: &[Projection]) -> Result<()> {
    head(
        "Projections: error of the output of all tokens in per cent, W4A4 / W4A3",
        &["layer, projection", "RTN", "RTN, 1 %", "SmoothQuant", "rotation", "groups", "KLLM-S 1 %", "KLLM 1 %"],
    );
    for projection in projections {
        let mut cells = vec![projection.name.clone()];
        for (scheme, share) in [
            (Scheme::Rtn, 0),
            (Scheme::Rtn, 100),
            (Scheme::SmoothQuant, 0),
            (Scheme::Rotated, 0),
            (Scheme::Grouped, 0),
            (Scheme::KLLM_S, 100),
            (Scheme::KLLM, 100),
        ] {
            let errors = [4, 3].map(|bits| evaluate(projection, Config { scheme, bits, share }));
            let [a4, a3] = errors.map(|e| e.map(|e| 100.0 * e.frobenius()));
            cells.push(format!("{:.1} / {:.1}", a4?, a3?));
        }
        row(cells);
    }
    Ok(())
}

fn outlier_shares(both: Both, facts: &mut Facts) -> Result<()> {
    for (bits, pick) in [(4, 0), (3, 1)] {
        head(
            &format!("Outliers, W4A{bits}: error of all tokens / by token in per cent (paper: Table IV)"),
            &["scheme", "0 %", "0.5 %", "1 %", "2 %", "5 %", "10 %"],
        );
        let offline = |detection| Scheme::KMeans(Sensitivity::Both, detection);
        for (name, scheme) in [
            ("RTN, zero point, online", Scheme::RtnZeroPoint),
            ("KLLM-S", Scheme::KLLM_S),
            ("KLLM-S, scale fixed too", offline(Detection::OfflineScale)),
            ("KLLM-S, bounded as KLLM", offline(Detection::OfflineBounded)),
            ("KLLM", Scheme::KLLM),
        ] {
            let mut cells = vec![name.to_owned()];
            for share in SHARES {
                let m = both(scheme, share)?[pick];
                facts.add(&format!("outliers {name} W4A{bits} {share}"), m.frobenius);
                cells.push(format!("{} / {}", percent(m.frobenius), percent(m.of_token)));
            }
            row(cells);
        }
    }
    Ok(())
}

fn detection(both: Both) -> Result<()> {
    head(
        "Online and offline detection at 1 %: error of all tokens / by token, and outliers kept, in per cent",
        &["detection", "W4A4", "W4A3", "kept, mean", "kept, worst token"],
    );
    let mut cases = vec![("online".to_owned(), Detection::Online), ("offline".to_owned(), Detection::Offline)];
    cases.push(("offline, scale fixed too".into(), Detection::OfflineScale));
    cases.push(("offline, bounded as online".into(), Detection::OfflineBounded));
    let shifted = |p| (format!("offline, thresholds at {p} % of the calibrated"), Detection::OfflineShifted(p));
    cases.extend([50, 71, 129, 200].map(shifted));
    for (name, detection) in cases {
        let [a4, a3] = both(Scheme::KMeans(Sensitivity::Both, detection), 100)?;
        let errors = [a4, a3].map(|m| format!("{} / {}", percent(m.frobenius), percent(m.of_token)));
        row([name].into_iter().chain(errors).chain([a4.kept, a4.most].map(percent)));
    }
    Ok(())
}

fn sensitivity(both: Both) -> Result<()> {
    head(
        "Sample weights, 1 % online outliers: error of all tokens / by token in per cent",
        &["weighted codebooks", "W4A4", "W4A3"],
    );
    for (name, sensitivity) in [
        ("none", Sensitivity::Uniform),
        ("activations", Sensitivity::Activations),
        ("activations, with the scale", Sensitivity::ActivationsAndScale),
        ("weights", Sensitivity::Weights),
        ("activations and weights", Sensitivity::Both),
    ] {
        let means = both(Scheme::KMeans(sensitivity, Detection::Online), 100)?;
        let errors = means.map(|m| format!("{} / {}", percent(m.frobenius), percent(m.of_token)));
        row([name.to_owned()].into_iter().chain(errors));
    }
    Ok(())
}

fn breakdown(projections: &[Projection]) -> Result<()> {
    head("From RTN to KLLM, W4A3: error in per cent (paper: Figure 11)", &["step", "all tokens", "by token"]);
    let k_means = |sensitivity, detection| Scheme::KMeans(sensitivity, detection);
    for (name, scheme, share) in [
        ("RTN", Scheme::Rtn, 0),
        ("K-Means instead of integers", k_means(Sensitivity::Uniform, Detection::Offline), 0),
        ("1 % outliers, offline", k_means(Sensitivity::Uniform, Detection::Offline), 100),
        ("weighted (KLLM-S)", Scheme::KLLM_S, 100),
        ("online (KLLM)", Scheme::KLLM, 100),
    ] {
        let m = mean(projections, Config { scheme, bits: 3, share })?;
        row([name.to_owned(), percent(m.frobenius), percent(m.of_token)]);
    }
    Ok(())
}

fn drifts(projections: &[Projection], facts: &mut Facts) -> Result<()> {
    head(
        "Calibration on one half of the tokens against the other (paper: Figure 2)",
        &["layer, projection", "centroids, all values", "centroids, 1 % out", "upper thresholds, 1 %"],
    );
    let mut sums = [0.0; 3];
    for p in projections {
        let cells = [drift::centroids(p, 4, 0)?, drift::centroids(p, 4, 100)?, drift::thresholds(p, 100)?];
        sums.iter_mut().zip(cells).for_each(|(sum, x)| *sum += x / projections.len() as f64);
        row([p.name.clone()].into_iter().chain(cells.map(|x| format!("{x:.3}"))));
    }
    for (what, sum) in ["all values", "without outliers", "thresholds"].into_iter().zip(sums) {
        facts.add(&format!("drift {what}"), sum);
    }
    row(["mean".to_owned()].into_iter().chain(sums.map(|x| format!("{x:.3}"))));
    Ok(())
}

fn roundings(projections: &[Projection]) -> Result<()> {
    head(
        "fp16 arithmetic on the indices: deviation from the exact result in per cent, KLLM with 1 % outliers",
        &["", "outputs", "fp16, fused", "fp16, two roundings", "fp32"],
    );
    for bits in [4, 3] {
        let rounding = arithmetic::rounding(projections, bits, 100, 4)?;
        let cells = rounding.deviations.iter().map(|d| format!("{:.4}", 100.0 * d.1));
        row([format!("W4A{bits}"), rounding.outputs.to_string()].into_iter().chain(cells));
    }
    Ok(())
}

fn scores() -> Result<()> {
    let kinds = [
        ("fp16", Scores::Fp16),
        ("8-bit integers", Scores::Integer(8)),
        ("8-bit K-Means", Scores::KMeans(8)),
        ("4-bit integers", Scores::Integer(4)),
        ("4-bit K-Means", Scores::KMeans(4)),
    ];
    let names: Vec<&str> = ["layer"].into_iter().chain(kinds.map(|k| k.0)).collect();
    head("Attention scores times 4-bit K-Means values: error of the output in per cent", &names);
    for layer in [2, 14, 28] {
        let errors = attention::errors(layer, &kinds.map(|k| k.1))?;
        row([layer.to_string()].into_iter().chain(errors.into_iter().map(percent)));
    }
    Ok(())
}
