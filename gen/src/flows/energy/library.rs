//! The electrical side of a library: capacitances, energies, transitions, in SI units.

use std::collections::BTreeMap;

use crate::flows::liberty::{Function, Group, Templates, unit, words};

/// A table of a library over the transition at an input and the load at an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Index values by axis; which axis is which.
    axes: Vec<(Axis, Vec<f64>)>,
    values: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    /// Transition time at the input.
    Transition,
    /// Capacitance at the output.
    Load,
    /// Anything else: looked up at its first value.
    Other,
}

impl Table {
    /// The value at a transition and a load, interpolated; beyond the ends of the table the last slope goes on.
    #[must_use]
    pub fn at(&self, transition: f64, load: f64) -> f64 {
        let mut values = self.values.clone();
        // The last axis is the inner one.
        for (axis, index) in self.axes.iter().rev() {
            let x = match axis {
                Axis::Transition => transition,
                Axis::Load => load,
                Axis::Other => index[0],
            };
            values = values.chunks(index.len()).map(|row| interpolate(index, row, x)).collect();
        }
        values[0]
    }

    fn read(group: &Group<'_>, units: &Units, scale: f64, templates: &Templates<'_, '_>) -> Option<Self> {
        let template = templates.of(group);
        let mut axes = Vec::new();
        for number in 1..=3 {
            let index = numbers(templates.index(group, number));
            let variable = template.and_then(|t| t.value(&format!("variable_{number}"))).unwrap_or_default();
            let (axis, unit) = match variable {
                "input_net_transition" | "input_transition_time" => (Axis::Transition, units.time),
                "total_output_net_capacitance" => (Axis::Load, units.capacitance),
                _ => (Axis::Other, 1.0),
            };
            if !index.is_empty() {
                axes.push((axis, index.into_iter().map(|x| x * unit).collect::<Vec<_>>()));
            }
        }
        let values: Vec<f64> = numbers(group.values("values")).into_iter().map(|v| v * scale).collect();
        let size: usize = axes.iter().map(|(_, index)| index.len()).product();
        (!values.is_empty() && values.len() == size).then_some(Self { axes, values })
    }
}

fn interpolate(index: &[f64], values: &[f64], x: f64) -> f64 {
    if index.len() == 1 {
        return values[0];
    }
    let upper = index.iter().position(|i| *i > x).unwrap_or(index.len() - 1).max(1);
    let (x0, x1) = (index[upper - 1], index[upper]);
    values[upper - 1] + (values[upper] - values[upper - 1]) * (x - x0) / (x1 - x0)
}

/// `"1, 2", "3, 4"`: numbers of all strings.
fn numbers(values: &[&str]) -> Vec<f64> {
    words(values).filter_map(|n| n.parse().ok()).collect()
}

/// The units of the file, in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Units {
    time: f64,
    capacitance: f64,
    energy: f64,
    /// None when the file does not name it, and has no leakage.
    leakage: Option<f64>,
    /// Of cells that do not say their own, in units of leakage.
    default_leakage: Option<f64>,
}

/// Energy of a transition, given at an input or for a pair of input and output.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// The input that causes it; none when it is given for the pin alone.
    pub related: Option<String>,
    /// Tables for the rising and the falling edge, one or both.
    tables: Vec<Table>,
}

impl Power {
    /// Joules of a transition, mean of both edges.
    #[must_use]
    pub fn at(&self, transition: f64, load: f64) -> f64 {
        mean(&self.tables, transition, load)
    }
}

fn mean(tables: &[Table], transition: f64, load: f64) -> f64 {
    if tables.is_empty() {
        return 0.0;
    }
    tables.iter().map(|t| t.at(transition, load)).sum::<f64>() / tables.len() as f64
}

/// An input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// Farads.
    pub capacitance: f64,
    /// Energies of its own transitions.
    pub power: Vec<Power>,
}

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Farads of the pin itself.
    pub capacitance: f64,
    /// Function of inputs and state.
    pub function: Function,
    /// Transition times by the input that causes the edge.
    arcs: Vec<(String, Vec<Table>)>,
    /// Energies of its transitions.
    pub power: Vec<Power>,
}

impl Output {
    /// Transition time in seconds: the slowest arc, mean of both edges.
    #[must_use]
    pub fn transition(&self, of_input: impl Fn(&str) -> f64, load: f64) -> f64 {
        self.arcs.iter().map(|(pin, tables)| mean(tables, of_input(pin), load)).fold(0.0, f64::max)
    }
}

/// The state of a flip-flop.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Names of the state and its complement in the functions of outputs.
    pub names: [String; 2],
    /// Rising edge loads.
    pub clock: Function,
    /// The value that is loaded.
    pub next: Function,
    /// Sets it to 0 at once.
    pub clear: Option<Function>,
    /// Sets it to 1 at once.
    pub preset: Option<Function>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Inputs by name.
    pub inputs: BTreeMap<String, Input>,
    /// Outputs by name.
    pub outputs: BTreeMap<String, Output>,
    /// State, if it is a flip-flop.
    pub state: Option<State>,
    /// Watts, when the library says how many.
    pub leakage: Option<f64>,
}

/// All cells that can be simulated: combinational ones and flip-flops.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Supply in volts.
    pub volts: f64,
    /// Cells by name.
    pub cells: BTreeMap<String, Cell>,
}

impl Cells {
    /// Reads a library.
    ///
    /// # Errors
    /// A unit or the supply is missing or cannot be read: without them there is no energy.
    pub fn read(library: &Group<'_>) -> Result<Self, String> {
        let volts = voltage(library)?;
        let units = units(library)?;
        let templates = Templates::new(library);
        let read = |cell: &Group<'_>| Some((cell.name().to_owned(), read_cell(library, cell, &units, &templates)?));
        Ok(Self { volts, cells: library.all("cell").filter_map(read).collect() })
    }
}

#[cfg(test)]
impl Cells {
    /// A number that no library may have, if there is one.
    pub(crate) fn flaw(&self) -> Option<String> {
        let from_zero = |number: f64| number.is_finite() && number >= 0.0;
        let whole = |table: &Table| {
            let rises =
                |index: &[f64]| index.iter().all(|x| x.is_finite()) && index.windows(2).all(|pair| pair[0] < pair[1]);
            table.values.iter().all(|x| x.is_finite()) && table.axes.iter().all(|(_, index)| rises(index))
        };
        let powers = |powers: &[Power]| powers.iter().flat_map(|power| &power.tables).all(whole);
        let input = |input: &Input| from_zero(input.capacitance) && powers(&input.power);
        let output = |output: &Output| {
            let arcs = output.arcs.iter().flat_map(|(_, tables)| tables).all(whole);
            from_zero(output.capacitance) && arcs && powers(&output.power)
        };
        let cell = |cell: &Cell| {
            let pins = cell.inputs.values().all(input) && cell.outputs.values().all(output);
            pins && cell.leakage.is_none_or(from_zero)
        };
        let bad = self.cells.iter().find(|(_, found)| !cell(found)).map(|(name, found)| format!("{name}: {found:?}"));
        bad.or_else(|| (!from_zero(self.volts) || self.volts == 0.0).then(|| format!("{} V", self.volts)))
    }
}

fn voltage(library: &Group<'_>) -> Result<f64, String> {
    let unit = unit(library, "voltage_unit")?.unwrap_or(1.0);
    let wanted = library.value("default_operating_conditions");
    let conditions = library.all("operating_conditions").find(|c| wanted.is_none_or(|w| c.name() == w));
    let volts = conditions.and_then(|c| c.number("voltage")).or_else(|| library.number("nom_voltage"));
    volts
        .map(|volts| volts * unit)
        .ok_or_else(|| "the library names no voltage: nom_voltage or operating_conditions".into())
}

fn units(library: &Group<'_>) -> Result<Units, String> {
    let wanted = |name: &str| unit(library, name)?.ok_or_else(|| format!("the library names no {name}"));
    let (time, capacitance) = (wanted("time_unit")?, wanted("capacitive_load_unit")?);
    let volt = unit(library, "voltage_unit")?.unwrap_or(1.0);
    let default_leakage = library.number("default_cell_leakage_power");
    let leaks = default_leakage.is_some() || library.all("cell").any(|cell| leakage(cell).is_some());
    let leakage = if leaks { Some(wanted("leakage_power_unit")?) } else { None };
    // Liberty gives energies in the unit that follows from voltage and capacitance.
    Ok(Units { time, capacitance, energy: volt * volt * capacitance, leakage, default_leakage })
}

/// Of the whole cell, or the mean over the states for which it is given.
fn leakage(cell: &Group<'_>) -> Option<f64> {
    let states: Vec<f64> = cell.all("leakage_power").filter_map(|state| state.number("value")).collect();
    let mean = (!states.is_empty()).then(|| states.iter().sum::<f64>() / states.len() as f64);
    cell.number("cell_leakage_power").or(mean)
}

fn read_cell(library: &Group<'_>, cell: &Group<'_>, units: &Units, templates: &Templates<'_, '_>) -> Option<Cell> {
    let table = |group: &Group<'_>, scale: f64| Table::read(group, units, scale, templates);
    let powers = |pin: &Group<'_>| {
        let power = |group: &Group<'_>| Power {
            related: group.value("related_pin").map(str::to_owned),
            tables: group
                .groups
                .iter()
                .filter(|g| matches!(g.kind, "rise_power" | "fall_power" | "power"))
                .filter_map(|g| table(g, units.energy))
                .collect(),
        };
        pin.all("internal_power").map(power).filter(|p| !p.tables.is_empty()).collect::<Vec<_>>()
    };
    let leakage = leakage(cell).or(units.default_leakage).zip(units.leakage);
    let mut found = Cell { leakage: leakage.map(|(number, unit)| number * unit), ..Cell::default() };
    for (name, pin) in cell.pins() {
        // Liberty wants it of inputs, which the check of the file sees to; an output without one has none.
        let capacitance = library.pin_capacitance(pin).unwrap_or(0.0) * units.capacitance;
        match pin.value("direction")? {
            "input" => {
                found.inputs.insert(name.to_owned(), Input { capacitance, power: powers(pin) });
            }
            "output" => {
                let function = Function::parse(pin.value("function")?).ok()?;
                let arcs = pin.all("timing").filter_map(|arc| {
                    let kinds = ["rise_transition", "fall_transition"];
                    let tables: Vec<_> = arc
                        .groups
                        .iter()
                        .filter(|g| kinds.contains(&g.kind))
                        .filter_map(|g| table(g, units.time))
                        .collect();
                    (!tables.is_empty()).then_some((arc.value("related_pin")?.to_owned(), tables))
                });
                let output = Output { capacitance, function, arcs: arcs.collect(), power: powers(pin) };
                found.outputs.insert(name.to_owned(), output);
            }
            _ => return None,
        }
    }
    if let Some(ff) = cell.all("ff").next() {
        let function = |name: &str| ff.value(name).and_then(|text| Function::parse(text).ok());
        let name = |number: usize| ff.arguments.get(number).map(|n| (*n).to_owned()).unwrap_or_default();
        found.state = Some(State {
            names: [name(0), name(1)],
            clock: function("clocked_on")?,
            next: function("next_state")?,
            clear: function("clear"),
            preset: function("preset"),
        });
    } else if cell.groups.iter().any(|g| g.kind == "latch" || g.kind == "statetable") {
        return None;
    }
    (!found.outputs.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that the check of a file accepts as a number is a number here, too.
    #[test]
    fn blanks_and_tabs_are_no_part_of_numbers() {
        assert_eq!(numbers(&["1\t2", "3,\t4"]), [1.0, 2.0, 3.0, 4.0]);
        let text = "library (l) { cell (c) { area : \" 2.5 \"; } }";
        let library = crate::flows::liberty::parse(text).unwrap();
        assert_eq!(library.all("cell").next().unwrap().number("area"), Some(2.5));
    }

    #[test]
    fn interpolation_goes_on_beyond_the_ends() {
        let values = |x| interpolate(&[1.0, 2.0, 4.0], &[10.0, 20.0, 60.0], x);
        assert_eq!([0.5, 1.0, 1.5, 3.0, 4.0, 5.0].map(values), [5.0, 10.0, 15.0, 40.0, 60.0, 80.0]);
    }

    #[test]
    fn leakage_wherever_a_library_gives_it() {
        let of = |more: &str, cell: &str| {
            let text = format!(
                "library (l) {{ time_unit : \"1ns\"; nom_voltage : 1; capacitive_load_unit (1, pf); \
                 leakage_power_unit : \"1pW\"; {more} cell (c) {{ {cell} pin (A) {{ direction : input; }} \
                 pin (Z) {{ direction : output; function : \"A\"; }} }} }}"
            );
            Cells::read(&crate::flows::liberty::parse(&text).unwrap()).unwrap().cells["c"].leakage
        };
        let states = "leakage_power () { when : \"A\"; value : 2; } leakage_power () { when : \"!A\"; value : 4; }";
        assert_eq!(of("", "cell_leakage_power : 5;"), Some(5e-12));
        assert_eq!(of("", states), Some(3e-12));
        assert_eq!(of("", &format!("cell_leakage_power : 5; {states}")), Some(5e-12));
        assert_eq!(of("default_cell_leakage_power : 7;", ""), Some(7e-12));
        assert_eq!(of("", ""), None);
    }

    const HEAD: &str = "library (l) { time_unit : \"1ns\"; nom_voltage : 2; capacitive_load_unit (1, pf);";

    fn read(text: &str) -> Result<Cells, String> {
        Cells::read(&crate::flows::liberty::parse(text).unwrap())
    }

    #[test]
    fn a_unit_is_there_and_can_be_read() {
        let cell = "cell (c) { cell_leakage_power : 5; pin (A) { direction : input; } pin (Z) { direction : output; function : \"A\"; } } }";
        let of = |from: &str, to: &str| {
            let head =
                HEAD.replace("library (l) {", "library (l) { voltage_unit : \"1V\"; leakage_power_unit : \"1nW\"; ");
            assert!(head.contains(from), "{from}");
            read(&(head.replace(from, to) + cell)).map(|cells| cells.volts)
        };
        assert_eq!(of("1V", "100mV"), Ok(0.2));
        for (from, to, told) in [
            ("leakage_power_unit : \"1nW\";", "", "the library names no leakage_power_unit"),
            ("1nW", "1nJ", "leakage_power_unit is `1nJ`; wanted is "),
            ("1V", "1volt", "voltage_unit is `1volt`; wanted is "),
            ("1ns", "1 day", "time_unit is `1 day`; wanted is "),
            ("(1, pf)", "(pf)", "capacitive_load_unit is `pf`; wanted is "),
            ("time_unit : \"1ns\";", "", "the library names no time_unit"),
            ("nom_voltage : 2;", "", "the library names no voltage"),
        ] {
            let error = of(from, to).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn capacitances_by_pin_edge_or_default() {
        let of = |defaults: &str, input: &str, output: &str| {
            let cell = format!(
                "cell (c) {{ pin (A, B) {{ direction : input; {input} }} \
                 pin (Z) {{ direction : output; function : \"A B\"; {output} }} }} }}"
            );
            let cells = read(&(HEAD.to_owned() + defaults + &cell)).unwrap();
            let cell = &cells.cells["c"];
            assert_eq!(cell.inputs["A"], cell.inputs["B"]);
            (cell.inputs["A"].capacitance, cell.outputs["Z"].capacitance)
        };
        let defaults = "default_input_pin_cap : 3; default_output_pin_cap : 7;";
        assert_eq!(of(defaults, "", ""), (3.0 * 1e-12, 7.0 * 1e-12));
        assert_eq!(of(defaults, "capacitance : 2;", "capacitance : 0;"), (2.0 * 1e-12, 0.0));
        assert_eq!(of("", "rise_capacitance : 2; fall_capacitance : 4;", ""), (3.0 * 1e-12, 0.0));
    }
}
