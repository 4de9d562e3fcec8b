//! A second stage of a search: numbers become smaller, step by step, as long as the first objective stays within a limit.

use anyhow::{Result, ensure};

use super::point::{Evaluate, Genes, Objectives};

/// What becomes smaller.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// The largest value of each integer, where the search begins; the least is 0.
    pub limits: Genes,
    /// The variable of each integer. A variable has one integer, or one for each layer.
    pub variables: Vec<usize>,
    /// Most of the objective [`kept`](Self::kept).
    pub limit: f64,
    /// The number of the objective that stays within the limit.
    pub kept: usize,
}

/// A change that was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// All integers are as far below their limits; this far.
    All(u32),
    /// All integers of a variable became one smaller.
    Variable(usize),
    /// An integer became one smaller.
    One(usize),
}

/// A setting after a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The change.
    pub change: Change,
    /// The setting.
    pub genes: Genes,
    /// Its worth.
    pub worth: Objectives,
}

impl Narrowing {
    /// The changes that are kept, in order:
    ///
    /// 1. All integers become smaller together.
    /// 2. All integers of a variable become one smaller, of the variable that does the least harm, as long as possible.
    /// 3. Single integers become one smaller, once each: first the ones that do the least harm alone.
    ///
    /// # Errors
    /// The limit is broken even with the largest values, or `evaluate` fails.
    pub fn steps(&self, evaluate: &mut Evaluate<'_>) -> Result<Vec<Step>> {
        let (limit, kept) = (self.limit, self.kept);
        let mut worths = |settings: &[Genes]| -> Result<Vec<Objectives>> {
            let found = evaluate(settings)?;
            let fits = found.len() == settings.len() && found.iter().all(|worth| worth.len() > kept);
            ensure!(fits, "{} results for {} settings", found.len(), settings.len());
            Ok(found)
        };
        let mut steps: Vec<Step> = Vec::new();
        for down in 0..=self.limits.iter().copied().max().unwrap_or(0) {
            let genes: Genes = self.limits.iter().map(|limit| limit.saturating_sub(down)).collect();
            let worth = worths(std::slice::from_ref(&genes))?.swap_remove(0);
            if worth[kept] > limit {
                ensure!(down > 0, "{:.3} with the largest values, beyond {limit:.3}", worth[kept]);
                break;
            }
            steps.push(Step { change: Change::All(down), genes, worth });
        }
        let mut genes = steps.last().map_or_else(Genes::new, |step| step.genes.clone());
        loop {
            let all = 0..=self.variables.iter().copied().max().unwrap_or(0);
            let lower = |variable: usize| Some((Change::Variable(variable), self.lower(&genes, variable)?));
            let Some(step) = least(all.filter_map(lower).collect(), kept, &mut worths)? else { break };
            if step.worth[kept] > limit {
                break;
            }
            genes.clone_from(&step.genes);
            steps.push(step);
        }
        let one = |genes: &Genes, place: usize| {
            let mut lower = genes.clone();
            lower[place] -= 1;
            lower
        };
        let places: Vec<usize> = (0..genes.len()).filter(|&place| genes[place] > 0).collect();
        let alone: Vec<Genes> = places.iter().map(|&place| one(&genes, place)).collect();
        let harms = worths(&alone)?;
        let mut order: Vec<(usize, &Objectives)> = places.into_iter().zip(&harms).collect();
        order.sort_by(|(_, a), (_, b)| a[kept].total_cmp(&b[kept]));
        for (place, _) in order {
            let lower = one(&genes, place);
            let worth = worths(std::slice::from_ref(&lower))?.swap_remove(0);
            if worth[kept] <= limit {
                genes.clone_from(&lower);
                steps.push(Step { change: Change::One(place), genes: lower, worth });
            }
        }
        Ok(steps)
    }

    /// All integers of a variable one smaller, unless one is 0.
    fn lower(&self, genes: &Genes, variable: usize) -> Option<Genes> {
        let one = |(&gene, &of): (&u32, &usize)| if of == variable { gene.checked_sub(1) } else { Some(gene) };
        genes.iter().zip(&self.variables).map(one).collect()
    }
}

/// The change that does the least harm; of equal ones the first.
fn least(
    all: Vec<(Change, Genes)>,
    kept: usize,
    worths: &mut dyn FnMut(&[Genes]) -> Result<Vec<Objectives>>,
) -> Result<Option<Step>> {
    let settings: Vec<Genes> = all.iter().map(|(_, genes)| genes.clone()).collect();
    let found = worths(&settings)?;
    let steps = all.into_iter().zip(found).map(|((change, genes), worth)| Step { change, genes, worth });
    Ok(steps.min_by(|a, b| a.worth[kept].total_cmp(&b.worth[kept])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two variables with two integers each. The harm of an integer that is one smaller is its weight.
    fn narrowing(limit: f64) -> Narrowing {
        Narrowing { limits: vec![3; 4], variables: vec![0, 1, 0, 1], limit, kept: 0 }
    }

    fn worth(genes: &Genes) -> Objectives {
        let harm = |(gene, weight): (&u32, f64)| f64::from(3 - gene) * weight;
        let harm: f64 = genes.iter().zip([1.0, 2.0, 1.5, 4.0]).map(harm).sum();
        vec![harm, f64::from(genes.iter().sum::<u32>())]
    }

    fn steps(limit: f64) -> Result<Vec<Step>> {
        narrowing(limit).steps(&mut |settings| Ok(settings.iter().map(worth).collect()))
    }

    /// All once (8.5), the first variable once more (2.5, and another time would be 13.5 of 13), then single integers:
    /// the first one (1) fits, and nothing after it.
    #[test]
    fn steps_by_hand() {
        let found = steps(13.0).unwrap();
        let changes: Vec<Change> = found.iter().map(|step| step.change).collect();
        assert_eq!(changes, [Change::All(0), Change::All(1), Change::Variable(0), Change::One(0)]);
        let last = found.last().unwrap();
        assert_eq!((&last.genes, &last.worth), (&vec![0, 2, 1, 2], &vec![12.0, 5.0]));
        assert!(found.iter().all(|step| step.worth == worth(&step.genes)));
    }

    #[test]
    fn down_to_nothing() {
        assert_eq!(steps(1e9).unwrap().last().unwrap().genes, [0; 4]);
    }

    #[test]
    fn refusals() {
        assert_eq!(steps(-1.0).unwrap_err().to_string(), "0.000 with the largest values, beyond -1.000");
        let nothing = narrowing(1.0).steps(&mut |_| Ok(Vec::new())).unwrap_err().to_string();
        assert_eq!(nothing, "0 results for 1 settings");
    }
}
