//! The calibration of the accelerator.

use anyhow::{Result, ensure};
use golden::kllm::codebook::Codebook;
use golden::kllm::outliers::OutlierRule;
use half::f16;
use host::kllm::Bits;
use models::WrongRequest;
use models::calibration::{Array, Arrays, Asked, Calibrates, Kind, Source, Wanted};
use models::decoder::calibration::Input;
use models::kllm::calibration::{
    WEIGHT_BITS, choices, halves, has_thresholds, thresholds, token_books, tokens, weight_books, weights,
};
use models::schemes::{Choice, Settings};

use super::OnKllm;
use super::builder::outliers;
use super::learnt::{Books, HEADS, UNIT, bits_of, count};
use crate::learn::by_layer;

impl OnKllm {
    /// Bits of a row's tokens, whatever the bits of sampled ones.
    pub(super) fn bits_with(&self, settings: &Settings) -> Bits {
        bits_of(settings).unwrap_or(self.bits)
    }

    /// Codebooks that depend on more than a layer, in place of the ones that each layer has learnt alone.
    fn learn_whole(&self, from: &Source<'_>, settings: &Settings, arrays: &mut Arrays) -> Result<()> {
        let (config, by_energy) = (from.model.config(), settings.word("tokens")? == "energy");
        // Layers have trained the same codebooks where all weights count alike.
        if settings.word("counting")? == "alike" && !by_energy {
            return Ok(());
        }
        let stacked = |books: Vec<&Codebook>| -> Result<Array> {
            let values: Vec<Vec<f16>> = books.into_iter().map(halves).collect();
            Array::new(&[values.len(), values.first().map_or(0, Vec::len)], values.concat())
        };
        let of_weights = weight_books(from, settings)?;
        for &name in config.projections() {
            let books = (0..config.layers).filter_map(|layer| of_weights.get(&(layer, name))).collect();
            arrays.set(weights(name), stacked(books)?);
        }
        if !by_energy {
            return Ok(());
        }
        let of_tokens = token_books(from, settings, &of_weights)?;
        for input in Input::ALL {
            let all: Vec<_> = (0..config.layers).filter_map(|layer| of_tokens.get(&(layer, input))).collect();
            arrays.set(tokens(input), stacked(all.iter().map(|(book, _)| book).collect())?);
            if has_thresholds(settings)? {
                let ends = all.iter().flat_map(|(_, rule)| match *rule {
                    OutlierRule::Thresholds { low, high } => [low, high].map(|x| f16::from_bits(x as u16)),
                    // No outlier: all numbers are between these.
                    _ => [f16::MIN, f16::MAX],
                });
                arrays.set(thresholds(input), Array::new(&[all.len(), 2], ends)?);
            }
        }
        Ok(())
    }
}

impl Calibrates for OnKllm {
    fn choices(&self) -> Vec<Choice> {
        choices()
    }

    fn window(&self) -> usize {
        crate::learn::WINDOW
    }

    fn wanted(&self, asked: &Asked<'_>) -> Result<Vec<Wanted>> {
        let (c, bits) = (asked.config, asked.settings.count::<u32>("activations")?);
        let (layers, heads, index) = (c.layers, c.kv_heads, 1 << WEIGHT_BITS);
        let of = |name: String, extents: &[usize]| Wanted::new(name, Kind::Float16, extents);
        let mut all: Vec<Wanted> = c.projections().iter().map(|&name| of(weights(name), &[layers, index])).collect();
        all.extend(Input::ALL.map(|input| of(tokens(input), &[layers, 1 << bits])));
        let [queries, keys, values] = HEADS.map(str::to_owned);
        all.push(of(queries, &[layers, heads, 1 << count(self.bits_with(asked.settings))]));
        all.extend([keys, values].map(|name| of(name, &[layers, heads, index])));
        all.push(of(UNIT.to_owned(), &[layers, heads]));
        if has_thresholds(asked.settings)? {
            all.extend(Input::ALL.map(|input| of(thresholds(input), &[layers, 2])));
        }
        Ok(all)
    }

    fn learn(&self, from: &Source<'_>, settings: &Settings, done: &mut dyn FnMut(usize)) -> Result<Arrays> {
        if settings.word("tokens")? == "rows" {
            bits_of(settings)?;
            let found = settings.word("detection")?;
            let told = || WrongRequest(format!("option `detection` is {found}, wanted is online with `tokens=rows`"));
            ensure!(found == "online", told());
        }
        let mut arrays = by_layer(self, from, settings, done)?;
        self.learn_whole(from, settings, &mut arrays)?;
        Ok(arrays)
    }

    /// The hardware finds the extremes of each token.
    fn runs_with(&self, asked: &Asked<'_>, arrays: &Arrays) -> Result<()> {
        let bits = bits_of(asked.settings)?;
        let detection = asked.settings.word("detection")?;
        ensure!(detection == "online", "option `detection` is {detection}, wanted is online");
        let (c, share) = (asked.config, asked.settings.percent("outliers")?);
        let most = outliers(c.width.max(c.ffn_width).max(c.heads * c.head_width), share)?;
        let room = self.caps.outliers as usize;
        ensure!(
            most <= room,
            "option `outliers` means {most} outliers of a token on a side, wanted is at most product.kmax = {room}"
        );
        (0..asked.config.layers).try_for_each(|layer| Books::of_arrays(&arrays.layer(layer)?, bits).map(drop))
    }

    fn defaults(&self) -> Result<Settings> {
        Settings::parse(&choices(), &format!("activations={}", count(self.bits)))
    }
}
