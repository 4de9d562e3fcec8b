//! NSGA-II (Deb, Pratap, Agarwal, Meyarivan, IEEE Transactions on Evolutionary Computation 6 (2), 2002), and a random
//! search for comparison.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::front::{crowding, ranks};
use super::point::{Evaluate, Genes, Objectives, Point};

/// Share of pairs of parents that are crossed, and the distribution index: how close children are to their parents.
const CROSSOVER: (f64, f64) = (0.9, 15.0);
/// Distribution index of mutation: how close a changed integer stays to its old value.
const MUTATION: f64 = 20.0;
/// Draws after which a child is accepted although it was there before.
const DRAWS: usize = 16;

/// The settings to search, and the effort.
#[derive(Clone, Debug)]
pub struct Search {
    /// The largest value of each integer.
    pub limits: Vec<u32>,
    /// Settings of a generation.
    pub population: usize,
    /// Generations after the first one.
    pub generations: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// A setting that [`nsga2`] begins with, in place of the first one that it draws.
    pub known: Option<Genes>,
}

impl Search {
    fn checked(&self) -> Result<&Self> {
        ensure!(!self.limits.is_empty(), "nothing to choose: a search needs at least one integer");
        ensure!(self.population >= 2, "a population of {}; at least 2", self.population);
        if let Some(known) = &self.known {
            let (found, wanted) = (known.len(), self.limits.len());
            ensure!(found == wanted, "a setting of {found} integers to begin with, wanted are {wanted}");
            let beyond = known.iter().zip(&self.limits).find(|(integer, limit)| integer > limit);
            let (integer, limit) = beyond.unwrap_or((&0, &0));
            ensure!(beyond.is_none(), "a setting to begin with has {integer}, allowed: 0 to {limit}");
        }
        Ok(self)
    }

    /// Settings that are evaluated.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.population * (self.generations + 1)
    }

    fn rng(&self) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed)
    }

    /// Integers up to a common share of their limits: as many small settings as large ones.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Genes {
        let share: f64 = rng.random();
        self.limits.iter().map(|&limit| (rng.random::<f64>() * share * (f64::from(limit) + 1.0)) as u32).collect()
    }

    /// Two children: simulated binary crossover of rounded integers.
    fn cross(&self, a: &Genes, b: &Genes, rng: &mut ChaCha8Rng) -> [Genes; 2] {
        let mut children = [a.clone(), b.clone()];
        if rng.random::<f64>() >= CROSSOVER.0 {
            return children;
        }
        for (n, &limit) in self.limits.iter().enumerate() {
            if rng.random() {
                let u: f64 = rng.random();
                let power = 1.0 / (CROSSOVER.1 + 1.0);
                let spread = if u <= 0.5 { (2.0 * u).powf(power) } else { (0.5 / (1.0 - u)).powf(power) };
                let (mean, half) = (f64::from(a[n] + b[n]) / 2.0, (f64::from(a[n]) - f64::from(b[n])) / 2.0);
                for (child, sign) in children.iter_mut().zip([1.0, -1.0]) {
                    child[n] = (mean + sign * spread * half).round().clamp(0.0, limit.into()) as u32;
                }
                if rng.random() {
                    let [first, second] = &mut children;
                    std::mem::swap(&mut first[n], &mut second[n]);
                }
            }
        }
        children
    }

    /// Polynomial mutation of one integer of a child, on average; by at least one.
    fn mutate(&self, genes: &mut Genes, rng: &mut ChaCha8Rng) {
        let each = 1.0 / self.limits.len() as f64;
        for (gene, &limit) in genes.iter_mut().zip(&self.limits) {
            if limit > 0 && rng.random::<f64>() < each {
                let u: f64 = rng.random();
                let power = 1.0 / (MUTATION + 1.0);
                let by = if u < 0.5 { (2.0 * u).powf(power) - 1.0 } else { 1.0 - (2.0 * (1.0 - u)).powf(power) };
                let by = by * f64::from(limit);
                let by = if by.abs() < 1.0 { by.signum() } else { by.round() };
                *gene = (f64::from(*gene) + by).clamp(0.0, limit.into()) as u32;
            }
        }
    }
}

/// Settings of a generation with their places in it.
struct Ranked {
    points: Vec<Point>,
    ranks: Vec<usize>,
    crowding: Vec<f64>,
}

impl Ranked {
    /// The best points: by front, and in a front the points with the largest distance to their neighbours.
    fn of(points: Vec<Point>, population: usize) -> Self {
        let objectives: Vec<Objectives> = points.iter().map(|point| point.objectives.clone()).collect();
        let ranks = ranks(&objectives);
        let mut room = vec![0.0; points.len()];
        for rank in 0..=ranks.iter().copied().max().unwrap_or(0) {
            let front: Vec<usize> = (0..points.len()).filter(|&n| ranks[n] == rank).collect();
            let of_front: Vec<Objectives> = front.iter().map(|&n| objectives[n].clone()).collect();
            front.iter().zip(crowding(&of_front)).for_each(|(&n, distance)| room[n] = distance);
        }
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| ranks[a].cmp(&ranks[b]).then(room[b].total_cmp(&room[a])));
        order.truncate(population);
        Self {
            points: order.iter().map(|&n| points[n].clone()).collect(),
            ranks: order.iter().map(|&n| ranks[n]).collect(),
            crowding: order.iter().map(|&n| room[n]).collect(),
        }
    }

    /// The better one of two.
    fn parent(&self, rng: &mut ChaCha8Rng) -> &Genes {
        let [a, b] = [0; 2].map(|_| rng.random_range(0..self.points.len()));
        let better = self.ranks[b].cmp(&self.ranks[a]).then(self.crowding[a].total_cmp(&self.crowding[b]));
        &self.points[if better.is_ge() { a } else { b }].genes
    }
}

fn evaluated(genes: Vec<Genes>, evaluate: &mut Evaluate<'_>) -> Result<Vec<Point>> {
    let objectives = evaluate(&genes)?;
    ensure!(objectives.len() == genes.len(), "{} results for {} settings", objectives.len(), genes.len());
    let (wanted, counts) = (objectives.first().map_or(0, Vec::len), objectives.iter().map(Vec::len));
    let other = counts.clone().find(|&count| count != wanted || count == 0);
    ensure!(other.is_none(), "a worth of {} numbers, wanted are as many for each, and at least 1", other.unwrap_or(0));
    // NaN is worse than any number, whatever its sign.
    let real = |objectives: Objectives| {
        objectives.into_iter().map(|x| if x.is_nan() { f64::INFINITY } else { x }).collect::<Objectives>()
    };
    let points = genes.into_iter().zip(objectives);
    Ok(points.map(|(genes, objectives)| Point { genes, objectives: real(objectives) }).collect())
}

/// All settings that NSGA-II evaluates, in order.
///
/// # Errors
/// There is nothing to search, or `evaluate` fails.
pub fn nsga2(search: &Search, evaluate: &mut Evaluate<'_>) -> Result<Vec<Point>> {
    let (mut rng, count) = (search.checked()?.rng(), search.population);
    let mut first: Vec<Genes> = (0..count).map(|_| search.draw(&mut rng)).collect();
    first.iter_mut().zip(&search.known).for_each(|(first, known)| first.clone_from(known));
    let mut all = evaluated(first, evaluate)?;
    let mut seen: BTreeSet<Genes> = all.iter().map(|point| point.genes.clone()).collect();
    let mut parents = Ranked::of(all.clone(), count);
    for _ in 0..search.generations {
        let mut children: Vec<Genes> = Vec::with_capacity(count);
        while children.len() < count {
            for attempt in 1..=DRAWS {
                let two = [parents.parent(&mut rng), parents.parent(&mut rng)];
                let mut two = search.cross(two[0], two[1], &mut rng);
                two.iter_mut().for_each(|child| search.mutate(child, &mut rng));
                if let Some(new) = two.into_iter().find(|child| attempt == DRAWS || !seen.contains(child)) {
                    seen.insert(new.clone());
                    children.push(new);
                    break;
                }
            }
        }
        let children = evaluated(children, evaluate)?;
        all.extend(children.iter().cloned());
        let both = parents.points.into_iter().chain(children).collect();
        parents = Ranked::of(both, count);
    }
    Ok(all)
}

/// As many settings as [`nsga2`] evaluates, drawn like its first generation.
///
/// # Errors
/// There is nothing to search, or `evaluate` fails.
pub fn random(search: &Search, evaluate: &mut Evaluate<'_>) -> Result<Vec<Point>> {
    let mut rng = search.checked()?.rng();
    let mut all = Vec::new();
    for _ in 0..=search.generations {
        let genes = (0..search.population).map(|_| search.draw(&mut rng)).collect();
        all.extend(evaluated(genes, evaluate)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::front::hypervolume;

    const STEPS: u32 = 1000;

    /// ZDT1 (Zitzler, Deb, Thiele, Evolutionary Computation 8 (2), 2000), whose best points are f2 = 1 - sqrt(f1).
    fn zdt1(genes: &Genes) -> Objectives {
        let x: Vec<f64> = genes.iter().map(|&gene| f64::from(gene) / f64::from(STEPS)).collect();
        let g = 1.0 + 9.0 * x[1..].iter().sum::<f64>() / (x.len() - 1) as f64;
        vec![x[0], g * (1.0 - (x[0] / g).sqrt())]
    }

    fn search(seed: u64, generations: usize) -> Search {
        Search { limits: vec![STEPS; 30], population: 100, generations, seed, known: None }
    }

    fn volume(points: &[Point]) -> f64 {
        hypervolume(&points.iter().map(|point| point.objectives.clone()).collect::<Vec<_>>(), &[1.0, 1.0])
    }

    /// The area above 1 - sqrt(x) in the unit square is 2/3.
    #[test]
    fn finds_the_known_front() {
        let mut evaluate = |genes: &[Genes]| Ok(genes.iter().map(zdt1).collect());
        for seed in 1..=3 {
            let found = nsga2(&search(seed, 250), &mut evaluate).unwrap();
            assert_eq!(found.len(), search(seed, 250).budget());
            let area = volume(&found);
            assert!((0.65..2.0 / 3.0).contains(&area), "seed {seed}: {area}");
            let at_random = volume(&random(&search(seed, 250), &mut evaluate).unwrap());
            assert!(at_random < area / 2.0, "seed {seed}: {at_random}");
        }
    }

    #[test]
    fn a_seed_is_a_search() {
        let run = |seed| nsga2(&search(seed, 3), &mut |genes| Ok(genes.iter().map(zdt1).collect())).unwrap();
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let settings: BTreeSet<Genes> = run(1).into_iter().map(|point| point.genes).collect();
        assert_eq!(settings.len(), 400, "no setting is evaluated twice");
    }

    #[test]
    fn numbers_that_are_none_lose() {
        let mut evaluate = |genes: &[Genes]| {
            Ok(genes.iter().map(|genes| if genes[0] > 3 { vec![-f64::NAN; 2] } else { vec![1.0, 1.0] }).collect())
        };
        let search = Search { limits: vec![100], population: 8, generations: 30, seed: 1, known: None };
        let found = nsga2(&search, &mut evaluate).unwrap();
        assert!(found.iter().any(|point| point.objectives == [f64::INFINITY; 2]));
        let best = super::super::front::best(&found.iter().map(|point| point.objectives.clone()).collect::<Vec<_>>());
        assert!(best.iter().all(|&n| found[n].objectives == [1.0, 1.0]));
    }

    #[test]
    fn refusals() {
        let mut evaluate = |_: &[Genes]| Ok(vec![]);
        let nothing = Search { limits: vec![], population: 4, generations: 1, seed: 1, known: None };
        assert!(nsga2(&nothing, &mut evaluate).unwrap_err().to_string().contains("at least one integer"));
        let alone = Search { limits: vec![1], population: 1, generations: 1, seed: 1, known: None };
        assert!(random(&alone, &mut evaluate).unwrap_err().to_string().contains("at least 2"));
        let few = Search { limits: vec![1], population: 2, generations: 1, seed: 1, known: None };
        assert!(nsga2(&few, &mut evaluate).unwrap_err().to_string().contains("0 results for 2 settings"));
        let told = |known: &[u32]| {
            nsga2(&Search { known: Some(known.to_vec()), ..few.clone() }, &mut |_| Ok(vec![])).unwrap_err().to_string()
        };
        assert_eq!(told(&[2]), "a setting to begin with has 2, allowed: 0 to 1");
        assert_eq!(told(&[0, 1]), "a setting of 2 integers to begin with, wanted are 1");
    }

    /// DTLZ2 with three objectives (Deb, Thiele, Laumanns, Zitzler, CEC 2002), whose best points lie on the unit sphere.
    fn dtlz2(genes: &Genes) -> Objectives {
        let x: Vec<f64> = genes.iter().map(|&gene| f64::from(gene) / f64::from(STEPS)).collect();
        let g: f64 = x[2..].iter().map(|x| (x - 0.5).powi(2)).sum();
        let [a, b] = [x[0], x[1]].map(|x| x * std::f64::consts::FRAC_PI_2);
        vec![(1.0 + g) * a.cos() * b.cos(), (1.0 + g) * a.cos() * b.sin(), (1.0 + g) * a.sin()]
    }

    /// The front of three objectives is near the sphere, and reaches each of its corners. What it dominates is nearly
    /// all that the sphere does: 1.1 cubed less the octant of the sphere.
    #[test]
    fn finds_a_front_of_three_objectives() {
        let mut evaluate = |genes: &[Genes]| Ok(genes.iter().map(dtlz2).collect());
        let search = Search { limits: vec![STEPS; 7], population: 100, generations: 150, seed: 1, known: None };
        let found: Vec<Objectives> =
            nsga2(&search, &mut evaluate).unwrap().into_iter().map(|point| point.objectives).collect();
        let front: Vec<&Objectives> = crate::explore::front::best(&found).into_iter().map(|n| &found[n]).collect();
        let radius = |point: &&Objectives| point.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mean = front.iter().map(radius).sum::<f64>() / front.len() as f64;
        assert!(front.len() > 100 && (1.0..1.02).contains(&mean), "{} points, mean radius {mean}", front.len());
        for corner in 0..3 {
            let most = front.iter().map(|point| point[corner]).fold(0.0, f64::max);
            assert!(most > 0.99, "objective {corner}: up to {most}");
        }
        let most = (1.1_f64.powi(3) - std::f64::consts::PI / 6.0) / 1.1_f64.powi(3);
        let share = hypervolume(&found, &[1.1; 3]) / most;
        assert!((0.97..1.0).contains(&share), "{share} of the sphere's");
        let at_random: Vec<Objectives> =
            random(&search, &mut evaluate).unwrap().into_iter().map(|point| point.objectives).collect();
        assert!(hypervolume(&at_random, &[1.1; 3]) / most < share - 0.05);
    }

    #[test]
    fn worths_of_other_lengths_are_refused() {
        let search = Search { limits: vec![9], population: 2, generations: 0, seed: 1, known: None };
        let told = |worths: [Objectives; 2]| nsga2(&search, &mut |_| Ok(worths.to_vec())).unwrap_err().to_string();
        assert!(told([vec![1.0], vec![1.0, 2.0]]).starts_with("a worth of 2 numbers, wanted are as many for each"));
        assert!(told([vec![], vec![]]).starts_with("a worth of 0 numbers"));
    }

    #[test]
    fn a_known_setting_comes_first() {
        let evaluate = |genes: &[Genes]| Ok(genes.iter().map(zdt1).collect());
        let known: Genes = (0..30).collect();
        let with = Search { known: Some(known.clone()), ..search(1, 0) };
        let (with, without) =
            (nsga2(&with, &mut { evaluate }).unwrap(), nsga2(&search(1, 0), &mut { evaluate }).unwrap());
        assert_eq!((&with[0].genes, &with[1..]), (&known, &without[1..]));
    }
}
