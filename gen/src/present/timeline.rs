//! Draws jobs as timelines: when the engines of an accelerator work on each operation.

use std::fmt::Write as _;

use super::numbers::decimal;
use super::palette::{COLOURS, escape, standalone};

/// Width of the picture, and of the names at its left, in pixels.
const WIDTH: u64 = 1100;
const LEFT: u64 = 130;
const RIGHT: u64 = 24;
/// Height of a row, and of the bars in it.
const ROW: u64 = 30;
const BAR: u64 = 18;
/// Height of the lines of text above the rows of a job.
const HEAD: u64 = 52;
/// Pixels between two numbers of the axis at least.
const APART: u64 = 90;

/// An operation on its way through an engine, in cycles of its job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// The operation: a place in [`Timeline::rows`].
    pub row: usize,
    /// The cycle in which its engine gets it.
    pub goes: u64,
    /// The cycle in which it begins.
    pub begins: u64,
    /// The cycle in which it ends.
    pub ends: u64,
}

/// A job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub title: String,
    pub cycles: u64,
    /// In the order of the chain.
    pub bars: Vec<Bar>,
}

/// Jobs of an accelerator.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub title: String,
    /// Names of operations.
    pub rows: Vec<String>,
    pub jobs: Vec<Job>,
}

impl Timeline {
    /// A line for each operation.
    pub(crate) fn csv(&self) -> String {
        let mut text = String::from("job,number,operation,goes,begins,ends\n");
        for job in &self.jobs {
            for (number, bar) in job.bars.iter().enumerate() {
                let Bar { row, goes, begins, ends } = bar;
                let _ = writeln!(text, "{},{number},{},{goes},{begins},{ends}", job.title, self.rows[*row]);
            }
        }
        text
    }

    /// Rows that a job uses, in the order of the names.
    fn used(&self, job: &Job) -> Vec<usize> {
        (0..self.rows.len()).filter(|row| job.bars.iter().any(|bar| bar.row == *row)).collect()
    }

    /// The picture: each job has a scale of its own, and each operation a row. A thin line says that an operation waits
    /// at its engine.
    pub(crate) fn svg(&self) -> String {
        let height_of = |job: &Job| HEAD + ROW * self.used(job).len() as u64 + 16;
        let height = 40 + self.jobs.iter().map(height_of).sum::<u64>();
        let title = escape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
             <text x=\"16\" y=\"26\" class=\"f-ink title\">{title}</text>\n"
        );
        let mut top = 40;
        for job in &self.jobs {
            self.draw(job, top, &mut svg);
            top += height_of(job);
        }
        standalone(&(svg + "</svg>\n"))
    }

    fn draw(&self, job: &Job, top: u64, svg: &mut String) {
        let rows = self.used(job);
        let (first, bottom) = (top + HEAD, top + HEAD + ROW * rows.len() as u64);
        let plane = (WIDTH - LEFT - RIGHT) as f64;
        let x = |cycle: u64| LEFT as f64 + plane * cycle as f64 / job.cycles.max(1) as f64;
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{}\" class=\"f-ink name\">{}, {} cycles</text>",
            top + 20,
            escape(&job.title),
            decimal(job.cycles as f64, 0)
        );
        for cycle in (0..=job.cycles).step_by(step(job.cycles, (plane as u64 / APART).max(1)) as usize) {
            let at = x(cycle);
            let _ = writeln!(
                svg,
                "<path class=\"l-grid\" d=\"M{at:.1} {first}V{bottom}\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" class=\"f-muted small\">{}</text>",
                first - 8,
                decimal(cycle as f64, 0)
            );
        }
        for (place, row) in rows.iter().enumerate() {
            let (name, middle) = (&self.rows[*row], first + ROW * place as u64 + ROW / 2);
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"f-ink code\">{}</text>",
                LEFT - 10,
                middle + 4,
                escape(name)
            );
            let colour = row % COLOURS + 1;
            for (number, bar) in job.bars.iter().enumerate().filter(|(_, bar)| bar.row == *row) {
                let Bar { goes, begins, ends, .. } = *bar;
                if begins > goes {
                    let _ =
                        writeln!(svg, "<path class=\"l-s{colour}\" d=\"M{:.1} {middle}H{:.1}\"/>", x(goes), x(begins));
                }
                let _ = writeln!(
                    svg,
                    "<rect class=\"f-s{colour}\" x=\"{:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{BAR}\">\
                     <title>{} {number}: cycles {begins} to {ends}</title></rect>",
                    x(begins),
                    middle - BAR / 2,
                    (x(ends) - x(begins) - 0.5).max(0.7),
                    escape(name)
                );
            }
        }
    }
}

/// A round number of cycles, of which `most` steps or fewer reach the end.
fn step(cycles: u64, most: u64) -> u64 {
    let least = cycles.div_ceil(most).max(1);
    let ten = 10u64.pow(least.ilog10());
    [1, 2, 5, 10].into_iter().map(|times| times * ten).find(|step| *step >= least).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (cycles, most, expected) in [(0, 10, 1), (7, 10, 1), (100, 10, 10), (101, 10, 20), (76_772, 10, 10_000)] {
            assert_eq!(step(cycles, most), expected, "{cycles}");
        }
    }

    #[test]
    fn bars_stand_in_the_rows_of_their_operations() {
        let bars =
            vec![Bar { row: 2, goes: 10, begins: 10, ends: 500 }, Bar { row: 0, goes: 20, begins: 500, ends: 1000 }];
        let rows = ["vector", "pack", "matmul"].map(String::from).to_vec();
        let job = Job { title: "prompt".into(), cycles: 1000, bars };
        let line = Timeline { title: "a < b".into(), rows, jobs: vec![job] };
        assert_eq!(
            line.csv(),
            "job,number,operation,goes,begins,ends\nprompt,0,matmul,10,10,500\nprompt,1,vector,20,500,1000\n"
        );
        let svg = line.svg();
        assert!(svg.contains("a &lt; b") && !svg.contains(">pack<"), "{svg}");
        // `vector` stands above, and waits from cycle 20 to 500 of 1000; a pixel is 1000 / 946 cycles.
        let above = svg.find("vector 1: cycles 500 to 1000").unwrap();
        assert!(above < svg.find("matmul 0: cycles 10 to 500").unwrap());
        assert!(svg.contains("d=\"M148.9 107H603.0\""), "{svg}");
    }
}
