//! The file that describes a sweep.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::axis::Axis;
use super::expression::Expression;
use crate::catalogue::{Catalogue, Known, Params};
use crate::error::{Failure, Result};
use crate::params::{from_toml, read_toml};
use crate::point::{self, Options, Stage, assign, is_work};

/// A sweep that is understood: names and types fit the block.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The file.
    pub path: PathBuf,
    /// Name of the sweep: the name of the file.
    pub name: String,
    /// Heading of its report.
    pub title: String,
    /// The question of the sweep, in a sentence or two.
    pub about: String,
    /// Block.
    pub block: Known,
    /// Stages, in running order.
    pub stages: Vec<Stage>,
    /// Options of the stages.
    pub options: Options,
    /// Parameters with one value.
    pub fixed: Params,
    /// Parameters with several values, in the order of the file: the last varies fastest.
    pub axes: Vec<Axis>,
    /// Parameters that follow from the others.
    pub derived: Vec<(String, Expression)>,
    /// A condition on the parameters. Combinations that do not meet it are not part of the sweep.
    pub conditions: Vec<Expression>,
    /// Curves of the report.
    pub plots: Vec<Plot>,
    /// The axes have the few values of a quick look.
    pub small: bool,
}

/// A curve of the report.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Heading.
    #[serde(default)]
    pub title: String,
    /// Parameter or number on the horizontal axis.
    pub x: String,
    /// Number on the vertical axis.
    pub y: String,
    /// Parameter that separates the curves.
    #[serde(default)]
    pub series: Option<String>,
    /// Logarithmic axes, a fitted power law.
    #[serde(default)]
    pub log: bool,
    /// Points of a series are joined, and no law is fitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Points that no other point of their series beats in both directions are marked.
    #[serde(default)]
    pub pareto: bool,
    /// Expressions over the parameters that a point must fulfil to be shown.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
}

impl Plot {
    /// Whether a point is shown.
    ///
    /// # Errors
    /// A condition that cannot be read or evaluated.
    pub fn shows(&self, params: &Params) -> Result<bool, String> {
        self.conditions.iter().try_fold(true, |so_far, text| Ok(Expression::parse(text)?.holds(params)? && so_far))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    block: Spanned<String>,
    stages: Vec<Stage>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    fixed: BTreeMap<Spanned<String>, toml::Value>,
    axes: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default)]
    derived: BTreeMap<Spanned<String>, String>,
    #[serde(default)]
    small: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default, rename = "where")]
    conditions: Vec<Spanned<String>>,
    #[serde(default, rename = "plot")]
    plots: Vec<Plot>,
}

impl Spec {
    /// Names of the settings of the work whose cycles are counted.
    pub(super) fn settings(&self) -> impl Iterator<Item = &String> {
        let axes = self.axes.iter().map(|axis| &axis.name).chain(self.derived.iter().map(|(name, _)| name));
        self.fixed.keys().chain(axes).filter(|name| is_work(name))
    }

    /// Reads a file. With `small` the axes have the few values that the file gives them for a quick look.
    ///
    /// # Errors
    /// The error, with its line and the expected form.
    pub fn read(path: &Path, small: bool, catalogue: &Catalogue) -> Result<Self> {
        let (text, file) = read_toml::<File>(path)?;
        let at = |start: usize, what: String| {
            let line = 1 + text[..start].matches('\n').count();
            Failure::Usage(format!("{}:{line}: {what}", path.display()))
        };
        let found = catalogue.find(file.block.get_ref());
        let entry = found.map_err(|e| at(file.block.span().start, e.to_string()))?.clone();
        let set = |name: &Spanned<String>, value: Value, params: &mut Params| {
            assign(&*entry, name.get_ref(), value, params).map_err(|e| at(name.span().start, e))
        };
        let mut fixed = Params::new();
        for (name, value) in &file.fixed {
            let value = from_toml(value);
            let value = value.map_err(|e| at(name.span().start, format!("parameter `{}`: {e}", name.get_ref())))?;
            set(name, point::beside(name.get_ref(), value, path), &mut fixed)?;
        }
        let axis = |name: &Spanned<String>, value: &toml::Value| {
            let mut axis = Axis::parse(name.get_ref(), value).map_err(|e| at(name.span().start, e))?;
            axis.values = axis.values.into_iter().map(|value| point::beside(&axis.name, value, path)).collect();
            for value in &axis.values {
                set(name, value.clone(), &mut Params::new())?;
            }
            Ok::<Axis, Failure>(axis)
        };
        let mut axes = Vec::new();
        for (name, value) in in_file_order(&file.axes) {
            axes.push(axis(name, value)?);
        }
        for (name, value) in in_file_order(&file.small) {
            let few = axis(name, value)?;
            let Some(slot) = axes.iter_mut().find(|a| a.name == few.name) else {
                return Err(at(name.span().start, format!("`{}` is in [small], but not in [axes]", few.name)));
            };
            if small {
                *slot = few;
            }
        }
        if small && file.small.is_empty() {
            return Err(Failure::Usage(format!("{}: there is no section [small]", path.display())));
        }
        let mut derived: Vec<(String, Expression)> = Vec::new();
        for (name, text) in in_file_order(&file.derived) {
            let later: Vec<&str> = file.derived.keys().map(|d| d.get_ref().as_str()).collect();
            let later = later.into_iter().filter(|d| !derived.iter().any(|(known, _)| known == d));
            // `pe['width']` reads `pe`, and so may read everything in it.
            let inside = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
            let reads = |read: &str, other: &str| read == other || inside(read, other) || inside(other, read);
            let expression = Expression::parse(text).map_err(|e| at(name.span().start, e))?;
            let names = expression.names();
            // Values are computed in the order of the file: a later parameter would count with its default.
            let found = later.filter_map(|other| Some((other, names.iter().find(|read| reads(read, other))?)));
            if let Some((other, read)) = found.min_by_key(|(other, _)| *other != name.get_ref()) {
                let whole = if inside(read, other) {
                    format!(" (`{read}` is read as a whole: write `{other}` for a part)")
                } else {
                    String::new()
                };
                let text = if other == *name.get_ref() {
                    format!("`{other}` is derived from itself{whole}")
                } else {
                    format!(
                        "`{}` is derived from `{other}`, which is derived later; put `{other}` before it{whole}",
                        name.get_ref()
                    )
                };
                return Err(at(name.span().start, text));
            }
            // The value is checked point by point; the name now.
            if !is_work(name.get_ref()) {
                let default = entry.defaults().get(name.get_ref()).cloned().unwrap_or(Value::Null);
                set(name, default, &mut Params::new())?;
            }
            derived.push((name.get_ref().clone(), expression));
        }
        let mut sections: BTreeMap<&str, &str> = BTreeMap::new();
        let names = [("fixed", file.fixed.keys().collect::<Vec<_>>())]
            .into_iter()
            .chain([("axes", file.axes.keys().collect()), ("derived", file.derived.keys().collect())]);
        for (section, name) in names.flat_map(|(section, names)| names.into_iter().map(move |n| (section, n))) {
            if let Some(first) = sections.insert(name.get_ref(), section) {
                let text = format!("`{}` is in [{first}] and in [{section}]; one of them is enough", name.get_ref());
                return Err(at(name.span().start, text));
            }
        }
        let parse = |c: &Spanned<String>| Expression::parse(c.get_ref()).map_err(|e| at(c.span().start, e));
        let conditions = file.conditions.iter().map(parse).collect::<Result<_>>()?;
        let stages = point::in_order(&file.stages).map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
        let names = file.fixed.keys().chain(file.axes.keys()).chain(file.derived.keys());
        let setting = names.filter(|name| is_work(name.get_ref())).min_by_key(|name| name.span().start);
        if let Some(name) = setting.filter(|_| !stages.contains(&Stage::Cycles)) {
            let told = format!("`{}` is of the work of the stage `cycles`, which is not in `stages`", name.get_ref());
            return Err(at(name.span().start, told));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let blame = |e: Failure| Failure::Usage(format!("{}: {e}", path.display()));
        let mut options = file.options.checked(&stages).map_err(blame)?;
        crate::flows::liberty::beside(path, &mut options.liberty);
        // A technology is looked for beside the file, too; a name has no separator.
        if options.layout.technology.components().count() > 1 {
            options.layout.technology = path.parent().unwrap_or(Path::new("")).join(&options.layout.technology);
        }
        Ok(Self {
            path: path.to_owned(),
            title: if file.title.is_empty() { name.clone() } else { file.title }
                + if small { " (few values)" } else { "" },
            name,
            about: file.about,
            block: entry,
            stages,
            options,
            fixed,
            axes,
            derived,
            conditions,
            plots: file.plots,
            small,
        })
    }
}

fn in_file_order<V>(table: &BTreeMap<Spanned<String>, V>) -> Vec<(&Spanned<String>, &V)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
