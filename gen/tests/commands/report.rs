//! The page of a sweep, as files and in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{in_folder, senbazuru};
use senbazuru::catalogue::{Catalogue, Params};
use senbazuru::flows::tools::Versions;
use senbazuru::point::{Point, Stage, StageResult, Status};
use senbazuru::present::page;
use senbazuru::sweep::{Plot, PointResult, Results};
use serde_json::{Map, Value, json};
use sim::process::Tool;
use tempfile::TempDir;

const HOSTILE: &str = "</script><script>document.title = 'owned'</script> & \"quotes\"";

/// Meshes whose numbers follow known laws: AND nodes 100 x^1.5 (twice as many for the wider operands), levels
/// 10 + 4 log2 x. The last point failed.
fn meshes() -> Results {
    let mut points = Vec::new();
    for width in [4, 8] {
        for rows in [1u32, 4, 16, 64] {
            let mut params: Params = Catalogue::standard().find("mac_mesh").cloned().unwrap().defaults();
            params.insert("rows".into(), json!(rows));
            params.insert("operand_width".into(), json!(width));
            let point = Point::new(Catalogue::standard().find("mac_mesh").unwrap(), params.clone()).unwrap();
            let failed = rows == 64 && width == 8;
            let stage = |stage, metrics: Value, details, message: Option<&str>| StageResult {
                stage,
                key: "0".repeat(32),
                block: "mac_mesh".into(),
                parameters: params.clone(),
                top: point.sources.top.clone(),
                status: if message.is_some() { Status::Failed } else { Status::Passed },
                message: message.map(str::to_owned),
                metrics: metrics.as_object().cloned().unwrap_or_else(Map::new),
                details,
                tools: Versions::new(),
                seconds: 0.25,
            };
            let x = f64::from(rows);
            let nodes = (100.0 * x.powf(1.5)) as u64 * u64::from(width == 8) + (100.0 * x.powf(1.5)) as u64;
            let cost = json!({ "and_nodes": nodes, "levels": 10 + 4 * rows.ilog2() });
            let synth = if failed {
                stage(Stage::Synth, json!({}), Value::Null, Some(HOSTILE))
            } else {
                stage(Stage::Synth, cost, Value::Null, None)
            };
            points.push(PointResult {
                parameters: params.clone(),
                label: format!("rows = {rows}, operand_width = {width}"),
                top: Some(point.sources.top.clone()),
                command: format!("senbazuru point mac_mesh --set rows={rows} --set operand_width={width}"),
                stages: vec![
                    stage(
                        Stage::Gen,
                        json!({ "skew_cycles": rows }),
                        serde_json::to_value(&point.manifest).unwrap(),
                        None,
                    ),
                    synth,
                ],
                missing: None,
            });
        }
    }
    Results {
        schema: 1,
        name: "meshes".into(),
        title: "Meshes of known cost".into(),
        about: "Numbers that follow known laws.".into(),
        block: "mac_mesh".into(),
        generator: "senbazuru test".into(),
        small: false,
        command: String::new(),
        file: "sweeps/meshes.toml".into(),
        axes: vec!["operand_width".into(), "rows".into()],
        plots: vec![],
        tools: Versions::from([("yosys".to_owned(), "Yosys 0.0 (test)".to_owned())]),
        illegal: vec![],
        points,
    }
}

fn folder_of(results: &Results) -> TempDir {
    in_folder(&[("results.json", &serde_json::to_string(results).unwrap())])
}

fn page_of(results: &Results) -> (TempDir, PathBuf) {
    let folder = folder_of(results);
    let file = folder.path().join("report.html");
    page::write(&[folder.path().to_owned()], &file, &Catalogue::standard()).unwrap();
    (folder, file)
}

fn drawings(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.join("plots")).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    names.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn a_sweep_becomes_a_page_that_stands_alone() {
    let file = "title = \"Small meshes\"\nblock = \"mac_mesh\"\nstages = [\"gen\"]\n[axes]\nrows = [1, 2, 3]\n";
    let folder = in_folder(&[("meshes.toml", file)]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (store, out) = (path("store"), path("out"));
    senbazuru(&["sweep", &path("meshes.toml"), "--store", &store, "-o", &out]).assert().code(0);
    senbazuru(&["report", &out]).assert().code(0).stderr_eq("").stdout_eq(format!("{out}/report.html\n"));
    let page = fs::read_to_string(path("out/report.html")).unwrap();
    for part in
        ["Small meshes", "senbazuru point mac_mesh --set rows=2", "verilog/mac_mesh_r2_c16_w8_a32/mac_pe_w8_a32.v"]
    {
        assert!(page.contains(part), "{part}");
    }
    // Nothing is fetched: no address of another host but the name of SVG, no script or style in another file.
    let hosts: Vec<_> =
        page.split("http").skip(1).filter(|rest| rest.starts_with("://") || rest.starts_with("s://")).collect();
    assert!(hosts.iter().all(|rest| rest.starts_with("://www.w3.org/2000/svg\"")), "{hosts:?}");
    assert!(!page.contains("<link") && !page.contains(" src=") && !page.contains("@import"));
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(folder.path().join("out").join(link).exists(), "{link}");
    }
}

#[test]
fn laws_fronts_and_failures_are_shown() {
    let mut results = meshes();
    let (folder, file) = page_of(&results);
    let page = fs::read_to_string(&file).unwrap();
    for part in [
        "y = 100 x<tspan dy=\"-4\">1.5</tspan><tspan dy=\"4\">, R² 1</tspan>",
        "y = 200 x<tspan dy=\"-4\">1.5</tspan><tspan dy=\"4\">, R² 1</tspan>",
        "y = 10 + 4 log₂ x, R² 1",
        "operand_width = 4, rows = 64, and_nodes = 51,200",
        "Pareto front",
        "1 failed",
        "&lt;script&gt;document.title",
        "Yosys 0.0 (test)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script>document.title"));
    // Chosen by itself: size and depth against rows, size against depth; the first design and the last.
    assert_eq!(drawings(folder.path()).len(), 3 + 2);
    assert!(drawings(folder.path())[0].contains("prefers-color-scheme: dark"));

    // The file's own plots replace the choice, and drawings that are not made any more go away.
    let plot = |x: &str, y: &str| Plot {
        title: "Chosen <by hand>".into(),
        x: x.into(),
        y: y.into(),
        series: None,
        log: false,
        joined: false,
        pareto: true,
        conditions: vec![],
    };
    results.plots = vec![plot("levels", "and_nodes"), plot("rows", "no_such_number")];
    fs::write(folder.path().join("results.json"), serde_json::to_string(&results).unwrap()).unwrap();
    fs::write(folder.path().join("plots/mine.svg"), "kept").unwrap();
    page::write(&[folder.path().to_owned()], &file, &Catalogue::standard()).unwrap();
    let page = fs::read_to_string(&file).unwrap();
    assert!(
        page.contains("Chosen &lt;by hand&gt;")
            && page.contains("no point has both rows and the number no_such_number")
    );
    assert_eq!(drawings(folder.path()).len(), 1 + 2 + 1);
    // Without series there is one front: depth and size grow together, so one mesh is on it.
    let front = page.matches("data-value=\"front\"").count();
    assert_eq!(front, 1, "the smallest mesh is the smallest in both");

    // A plot may show a part of the points.
    let part = Plot { conditions: vec!["rows == 64".into()], ..plot("levels", "and_nodes") };
    let lost = Plot { conditions: vec!["lines == 64".into()], ..plot("levels", "and_nodes") };
    results.plots = vec![part, lost];
    let (folder, file) = page_of(&results);
    let drawing = &drawings(folder.path())[0];
    assert!(drawing.contains("rows = 64") && !drawing.contains("rows = 4,"), "{drawing}");
    assert!(fs::read_to_string(file).unwrap().contains("Chosen &lt;by hand&gt;: `lines == 64`"));
}

#[test]
fn several_sweeps_on_a_page() {
    let (one, two) = (folder_of(&meshes()), folder_of(&meshes()));
    let out = tempfile::tempdir().unwrap();
    let names = [one.path(), two.path()].map(|p| p.display().to_string());
    let file = out.path().join("both.html").display().to_string();
    let error = "error: several folders make one page: say where with `-o FILE`\n";
    senbazuru(&["report", &names[0], &names[1]]).assert().code(2).stderr_eq(error);
    senbazuru(&["report", &names[0], &names[1], "-o", &file]).assert().code(0);
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("id=\"sweep-1\"") && page.contains("id=\"sweep-2\"") && page.contains("href=\"#sweep-2\""));
    let inner = two.path().file_name().unwrap().to_string_lossy().into_owned();
    assert!(page.contains(&format!("href=\"../{inner}/plots/chart-1.svg\"")), "{inner}");
    // The address says which table it means.
    let script = "return [...document.querySelectorAll('table.points')].map((table) => \
        table.querySelector('tbody').querySelector('td[data-value]:nth-of-type(3)').dataset.value).join(' ');";
    let driven = driven(Path::new(&file), "both-driven.html", script);
    assert_eq!(browse(&driven, "#table=sweep-2&sort=rows&desc", &[]).quiet().title(), "1 64");
}

#[test]
fn folders_that_are_no_sweep_are_refused() {
    let mut other = meshes();
    other.schema = 2;
    let (empty, other) = (tempfile::tempdir().unwrap(), folder_of(&other));
    let half = in_folder(&[("results.json", "{ \"schema\": 1,")]);
    for (folder, part) in [
        (&empty, "holds no results.json; give the folder of a sweep: `senbazuru sweep FILE -o"),
        (&other, "schema is 2, this senbazuru reads 1; run the sweep again"),
        (&half, "results.json: EOF while parsing"),
    ] {
        let run = senbazuru(&["report", &folder.path().display().to_string()]).assert().code(2);
        let error = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(error.contains(part), "{error}");
        assert!(!folder.path().join("report.html").exists());
    }
}

/// The page as a browser shows it.
struct Browser {
    dom: String,
    console: Vec<String>,
}

/// Opens a page with the end of its address in Chromium.
fn browse(file: &Path, hash: &str, options: &[&str]) -> Browser {
    let profile = tempfile::tempdir().unwrap();
    let chromium = Tool::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .args(options)
        .arg(format!("file://{}{hash}", file.display()))
        .timeout(Duration::from_secs(60));
    let output = chromium.run().unwrap_or_else(|e| panic!("{e}"));
    assert!(output.success(), "{}", output.log());
    let console = output.stderr.lines().filter(|l| l.contains("CONSOLE")).map(str::to_owned).collect();
    Browser { dom: output.stdout, console }
}

/// A copy of the page that runs `script` at its end and shows the return value in the title.
fn driven(file: &Path, name: &str, script: &str) -> PathBuf {
    let page = fs::read_to_string(file).unwrap();
    let nonce = page.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let script = format!("<script nonce=\"{nonce}\">document.title = (() => {{ {script} }})();</script></body>");
    let copy = file.with_file_name(name);
    fs::write(&copy, page.replace("</body>", &script)).unwrap();
    copy
}

impl Browser {
    fn quiet(self) -> Self {
        assert!(self.console.is_empty(), "{:#?}", self.console);
        self
    }

    fn title(&self) -> &str {
        self.dom.split("<title>").nth(1).unwrap().split("</title>").next().unwrap()
    }
}

/// Scripts: the shown values of a column, top to bottom; another address, acted on at once.
const SHOWN: &str = r#"
const go = (hash) => { location.hash = hash; window.dispatchEvent(new Event("hashchange")); };
const shown = (name) => {
  const column = [...document.querySelectorAll("th[data-name]")].findIndex((th) => th.dataset.name === name);
  return [...document.querySelectorAll("table.points tbody")].filter((body) => !body.hidden)
    .map((body) => body.querySelectorAll("td[data-value]")[column].dataset.value).join(" ");
};
"#;

#[test]
fn the_address_sorts_and_filters() {
    let (_folder, file) = page_of(&meshes());
    // The first view follows the address at loading; then the address changes.
    let script = "const seen = []; const see = () => seen.push(shown('and_nodes') + ' / ' + shown('rows')); see();
        for (const hash of ['#sort=and_nodes&filter=operand_width%3D8%20rows%3E1', '#']) { go(hash); see(); }
        return seen.join('; ');";
    let page = driven(&file, "shown.html", &format!("{SHOWN} {script}"));
    assert_eq!(
        browse(&page, "#sort=and_nodes&desc", &[]).quiet().title(),
        // A number that is missing stands last, both ways.
        "51200 12800 6400 1600 800 200 100  / 64 16 16 4 4 1 1 64; 1600 12800  / 4 16 64; \
         100 800 6400 51200 200 1600 12800  / 1 4 16 64 1 4 16 64"
    );
}

#[test]
fn clicks_keys_and_words() {
    let (_folder, file) = page_of(&meshes());
    let script = r#"
const found = [];
const head = document.querySelector("th[data-name=and_nodes]");
const button = head.querySelector("button");
for (let i = 0; i < 3; i++) {
  button.focus();
  document.activeElement.click();
  found.push([head.getAttribute("aria-sort"), location.hash, shown("and_nodes")].join(" "));
}
const type = (text) => {
  const input = document.querySelector(".filter");
  input.value = text;
  input.dispatchEvent(new Event("input"));
  found.push(document.querySelector(".count").textContent);
};
["AND_nodes>=12,800", "FAILED", "front", "row=1", "rows!=1 levels<=18", ""].forEach(type);
const details = document.querySelector("tr.details"), more = document.querySelector(".more");
found.push(details.hidden);
more.click();
found.push(details.hidden, more.getAttribute("aria-expanded"), details.querySelector("code").textContent);
found.push(document.querySelector("tr.message").getClientRects().length);
return found.join("; ");
"#;
    let page = driven(&file, "clicks.html", &format!("{SHOWN} {script}"));
    assert_eq!(
        browse(&page, "", &[]).quiet().title(),
        "ascending #sort=and_nodes 100 200 800 1600 6400 12800 51200 ; \
         descending #sort=and_nodes&amp;desc 51200 12800 6400 1600 800 200 100 ; \
         \u{20} 100 800 6400 51200 200 1600 12800 ; \
         2 of 8 points; 1 of 8 points; 2 of 8 points; 0 of 8 points; no column row; 2 of 8 points; 8 points; \
         true; false; true; senbazuru point mac_mesh --set rows=1 --set operand_width=4; 1"
    );
}

#[test]
fn light_and_dark_look_like_it() {
    let (_folder, file) = page_of(&meshes());
    let colours = "const c = (e, p) => getComputedStyle(document.querySelector(e))[p];
        const all = () => [c('body', 'backgroundColor'), c('circle.mark', 'fill'), c('.figure .title', 'fill')].join(' ');
        const seen = [all()]; for (const hash of ['#theme=dark', '#theme=light', '#']) { go(hash); seen.push(all()); }
        return seen.join('; ');";
    let page = driven(&file, "colours.html", &format!("{SHOWN} {colours}"));
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&pictures).unwrap();
    let light = "rgb(253, 253, 252) rgb(11, 107, 176) rgb(27, 35, 48)";
    let dark = "rgb(20, 24, 31) rgb(92, 176, 242) rgb(228, 232, 238)";
    for (name, scheme, system) in [("light", "1", light), ("dark", "0", dark)] {
        let picture = pictures.join(format!("{name}.png"));
        let _ = fs::remove_file(&picture);
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let screenshot = format!("--screenshot={}", picture.display());
        let browser = browse(&page, "", &[&scheme, &screenshot, "--window-size=1280,1800"]).quiet();
        assert!(fs::metadata(&picture).unwrap().len() > 20_000, "{}", picture.display());
        // The system's colours, until somebody chooses.
        assert_eq!(browser.title(), [system, dark, light, system].join("; "), "{name}");
    }
}

/// A sweep over one axis: its curves have no names, and each of its points would be a series. In a front the points have
/// the names of their values next to them.
#[test]
fn one_axis_has_no_lone_marks_and_one_front() {
    let mut results = meshes();
    results.axes = vec!["rows".into()];
    results.points.retain(|p| p.parameters["operand_width"] == 4);
    // Two points that are on the front, and two that are not.
    let costs = [(100, 30), (200, 10), (300, 20), (400, 40)];
    for (point, (nodes, levels)) in results.points.iter_mut().zip(costs) {
        point.stages[1].metrics = json!({ "and_nodes": nodes, "levels": levels }).as_object().unwrap().clone();
    }
    let (folder, file) = page_of(&results);
    assert_eq!(fs::read_to_string(file).unwrap().matches("data-value=\"front\"").count(), 2);
    let all = drawings(folder.path());
    let (fronts, curves): (Vec<_>, Vec<_>) = all.iter().partition(|text| text.contains("Pareto front"));
    let [front] = &fronts[..] else { panic!("{} fronts", fronts.len()) };
    assert!(front.contains(">rows<") && !front.contains("rows 16"), "{front}");
    assert!(front.lines().any(|line| line == "16") && !front.contains("Pareto front of each"), "{front}");
    assert_eq!(front.matches("<g transform").count(), 1, "one series: {front}");
    // Marks of a legend are the only groups that are moved.
    let curves: Vec<_> = curves.into_iter().filter(|text| text.contains(" against ")).collect();
    assert!(!curves.is_empty() && curves.iter().all(|text| !text.contains("<g transform")), "{curves:?}");
}

/// A sheet that is as wide as a telephone's: letters keep their size, and nothing widens the page.
#[test]
fn letters_can_be_read_on_a_telephone() {
    let (_folder, file) = page_of(&meshes());
    let script = r#"
document.body.style.width = "360px";
document.querySelectorAll("details").forEach((d) => d.open = true);
const sizes = [...document.querySelectorAll("svg text, svg tspan")].map((t) =>
  parseFloat(getComputedStyle(t).fontSize) * Math.abs((t.ownerSVGElement.querySelector("text")).getScreenCTM().a));
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  // Marks are no letters.
  if (/[\w]/.test(texts.currentNode.data) && !element.closest("svg, script, style"))
    sizes.push(parseFloat(getComputedStyle(element).fontSize));
}
const frames = [...document.querySelectorAll(".chart, .design .scroll")];
const wide = frames.filter((e) => e.getBoundingClientRect().right > 361);
const scrolling = frames.filter((e) => e.scrollWidth > e.clientWidth);
const silent = scrolling.filter((e) => e.offsetHeight - e.clientHeight < 6);
return [sizes.length > 100, Math.min(...sizes) >= 11.95, wide.length, scrolling.length > 2, silent.length].join(" ");
"#;
    // Chromium has no window that is narrower.
    let browser = browse(&driven(&file, "telephone.html", script), "", &["--window-size=500,900"]).quiet();
    assert_eq!(browser.title(), "true true 0 true 0");
}

#[test]
fn drawings_are_well_formed() {
    let (folder, file) = page_of(&meshes());
    let files = serde_json::to_string(&drawings(folder.path())).unwrap().replace("</", "<\\/");
    // Not on the page itself, whose policy refuses the style sheets of the files.
    let page = file.with_file_name("parsed.html");
    let script = format!(
        "document.title = {files}.map((text) => new DOMParser().parseFromString(text, 'image/svg+xml'))
         .map((svg) => svg.documentElement.nodeName + svg.querySelectorAll('parsererror').length).join(' ');"
    );
    fs::write(&page, format!("<!doctype html><title></title><script>{script}</script>")).unwrap();
    assert_eq!(browse(&page, "", &[]).quiet().title(), "svg0 svg0 svg0 svg0 svg0");
}

/// The checks above would see an error: an exception, and a script that the page's policy does not know.
#[test]
fn the_console_is_heard() {
    let (_folder, file) = page_of(&meshes());
    let thrown = browse(&driven(&file, "throws.html", "throw new Error('seen');"), "", &[]);
    assert!(thrown.console.iter().any(|l| l.contains("seen")), "{:#?}", thrown.console);
    let foreign = file.with_file_name("foreign.html");
    let page = fs::read_to_string(&file).unwrap();
    fs::write(&foreign, page.replace("</body>", "<script>document.title = 'owned'</script></body>")).unwrap();
    let refused = browse(&foreign, "", &[]);
    assert_eq!(refused.title(), "Meshes of known cost");
    assert!(refused.console.iter().any(|l| l.contains("Content Security Policy")), "{:#?}", refused.console);
}
