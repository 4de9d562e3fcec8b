//! `scripts/site`, looked at in a browser that has no network.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use test_tag::tag;

use senbazuru::catalogue::Catalogue;
use sim::process::Tool;
use snapbox::cmd::cargo_bin;

/// The page as Chromium has it after so many milliseconds of its own time; anything on the console is an error.
fn browsed(page: &Path, milliseconds: u32, options: &[&str]) -> String {
    let profile = tempfile::tempdir().unwrap();
    let chromium = Tool::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"])
        .args(options)
        .arg(format!("--virtual-time-budget={milliseconds}"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .timeout(Duration::from_secs(900));
    let output = chromium.run().unwrap_or_else(|e| panic!("{e}"));
    fs::remove_file(page).unwrap();
    assert!(output.success(), "{}", output.log());
    let console: Vec<_> = output.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{}: {console:#?}", page.display());
    output.stdout
}

fn title(page: &str) -> &str {
    page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap()
}

/// Opens a page in Chromium and returns the value of `script` when all is loaded.
fn looked_at(page: &Path, script: &str) -> String {
    let text = fs::read_to_string(page).unwrap();
    let script = format!(
        "<script>addEventListener('load', async () => {{ document.title = await (async () => {{ {script} }})(); }});</script></body>"
    );
    let copy = page.with_file_name("looked-at.html");
    fs::write(&copy, text.replace("</body>", &script)).unwrap();
    title(&browsed(&copy, 10_000, &[])).to_owned()
}

/// What `docs/site/look.js` finds.
#[derive(serde::Deserialize)]
struct Look {
    count: BTreeMap<String, u32>,
    faults: Vec<String>,
}

/// Looks at pages of a folder, or at all of the contents, at 1,400 and 390 pixels, light and dark.
fn looked_over(folder: &Path, pages: Option<&[&str]>) -> Look {
    let pages = serde_json::to_string(&pages).unwrap();
    let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/site/look.js")).unwrap();
    // As an address: nothing of it is taken for a tag.
    let shown = "document.title = encodeURIComponent(text)";
    let page = format!(
        "<!doctype html><title></title><body><script>{script}</script><script>lookAtAll({pages}).then(\
         (found) => {{ const text = JSON.stringify(found); {shown}; }});</script></body>"
    );
    let harness = folder.join("looked-over.html");
    fs::write(&harness, page).unwrap();
    let dom = browsed(&harness, 1_000_000, &["--allow-file-access-from-files"]);
    let mut bytes = Vec::new();
    let mut rest = title(&dom).bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&bytes)))
}

/// The number of drawings, and the number of drawings that are missing.
const IMAGES: &str = "const all = [...document.querySelectorAll('main img')];
    return all.length + ' ' + all.filter((image) => image.naturalWidth === 0).length;";

/// How many times larger the first drawing is, and how far it moved: by two steps of the button, by the key `1`, by `0`, by the
/// wheel, by an arrow, and by a finger that is drawn over it and a second one that goes away from it.
const ZOOM: &str = "// No frames are drawn here.
    window.requestAnimationFrame = (draw) => setTimeout(draw, 1);
    const wait = () => new Promise((done) => setTimeout(done, 300));
    document.querySelector('main img').click();
    await wait();
    const dialog = document.querySelector('dialog.zoom'), drawing = dialog.querySelector('img');
    const stage = dialog.querySelector('.stage');
    const before = drawing.getBoundingClientRect();
    const found = [];
    const see = async (act) => {
      act();
      await wait();
      found.push((drawing.getBoundingClientRect().width / before.width).toFixed(2));
    };
    const key = (name) => dialog.dispatchEvent(new KeyboardEvent('keydown', { key: name }));
    const [larger] = dialog.querySelectorAll('button');
    await see(() => { larger.click(); larger.click(); });
    await see(() => key('1'));
    const fit = Math.min(stage.clientWidth / drawing.naturalWidth, stage.clientHeight / drawing.naturalHeight);
    found.push((1 / fit).toFixed(2));
    await see(() => key('0'));
    const wheel = new WheelEvent('wheel', { deltaY: -100, clientX: 400, clientY: 300, cancelable: true });
    await see(() => stage.dispatchEvent(wheel));
    const left = drawing.getBoundingClientRect().left;
    await see(() => key('ArrowRight'));
    found.push(Math.round(drawing.getBoundingClientRect().left - left));
    const finger = (kind, pointerId, clientX, target) => target.dispatchEvent(new PointerEvent('pointer' + kind,
      { pointerId, clientX, clientY: 300, bubbles: true, pointerType: 'touch' }));
    const wide = drawing.getBoundingClientRect().width;
    finger('down', 1, 300, stage);
    finger('down', 2, 400, stage);
    finger('move', 2, 460, document);
    await wait();
    finger('up', 1, 300, document);
    finger('up', 2, 460, document);
    found.push(drawing.getBoundingClientRect().width > wide);
    return found.join(' ');";

/// What is inside of a design, then inside of its first module that has modules, then back.
const LEVELS: &str = "const seen = () => [document.querySelector('.levels .path').innerText.replace(/\\s+/g, '/'),
      document.querySelectorAll('.levels .module').length].join(' ');
    const found = [seen()];
    document.querySelector('.levels button.module').click();
    found.push(seen());
    document.querySelector('.levels .path button').click();
    found.push(seen());
    return found.join('; ');";

/// What the page that opens wrote, and the results of its search.
const FRONT: &str = "const wait = (time) => new Promise((done) => setTimeout(done, time));
    await wait(6000);
    const found = [document.querySelector('.typed pre').innerText.split('\\n')[1]];
    const input = document.querySelector('.front-search input');
    input.value = 'eviction';
    input.form.requestSubmit();
    await wait(1000);
    found.push(document.querySelectorAll('#mdbook-searchresults li').length);
    return found.join('; ');";

/// The results of the search.
const SEARCH: &str = "const wait = () => new Promise((done) => setTimeout(done, 1000));
    document.querySelector('#mdbook-search-toggle, #search-toggle').click();
    await wait();
    const bar = document.querySelector('#mdbook-searchbar, #searchbar');
    bar.value = 'eviction';
    bar.dispatchEvent(new Event('input'));
    bar.dispatchEvent(new KeyboardEvent('keyup', { key: 'n', keyCode: 78 }));
    await wait();
    return document.querySelectorAll('#mdbook-searchresults li, #searchresults li').length;";

#[tag(full)]
#[test]
#[ignore = "compiles mdBook once, asks every page for its links"]
fn the_site_is_whole_and_works_from_disk() {
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    let script = Tool::new(root.join("scripts/site").display().to_string()).dir(&root);
    let output = script.env("SENBAZURU", cargo_bin!("senbazuru")).run().unwrap();
    assert!(output.success(), "{}", output.log());
    let page = |name: &str| -> PathBuf { root.join("target/site/html").join(name) };
    // Each block has its page, with a diagram and its Verilog.
    for entry in Catalogue::standard().all().to_vec() {
        let block = entry.about().name;
        let text = fs::read_to_string(page(&format!("catalogue/{block}.html"))).unwrap();
        assert!(text.contains(&format!("src=\"{block}.svg\"")) && text.contains("endmodule"), "{block}");
    }
    for (name, images) in
        [("index.html", 2), ("waves.html", 7), ("docs/results.html", 5), ("docs/blocks/orizuru.html", 3)]
    {
        let found = looked_at(&page(name), IMAGES);
        let (all, missing) = found.split_once(' ').unwrap();
        assert!(all.parse::<u32>().unwrap() >= images && missing == "0", "{name}: {found}");
    }
    let zoom = looked_at(&page("waves.html"), ZOOM);
    let [steps, own, expected, all, wheel, pushed, moved, pinched] = zoom.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{zoom}")
    };
    let number = |text: &str| text.parse::<f64>().unwrap();
    assert!(number(steps) > 2.0 && own == expected && all == "1.00" && number(wheel) > 1.1, "{zoom}");
    assert!(pushed == wheel && moved == "-80" && pinched == "true", "{zoom}");
    let levels = looked_at(&page("catalogue/reduce_top.html"), LEVELS);
    let [top, inside, back] = levels.split("; ").collect::<Vec<_>>()[..] else { panic!("{levels}") };
    assert!(top.starts_with("reduce_top ") && inside.starts_with("reduce_top/") && back == top, "{levels}");
    let front = looked_at(&page("index.html"), FRONT);
    let (written, results) = front.split_once("; ").unwrap();
    assert_eq!(written, "Gravity is a fundamental concept in physics");
    assert!(results.parse::<u32>().unwrap() > 2, "{front}");
    let found = looked_at(&page("docs/papers.html"), SEARCH);
    assert!(found.parse::<u32>().unwrap() > 2, "{found}");
    let look = looked_over(&root.join("target/site/html"), None);
    assert!(look.faults.is_empty(), "{:#?}", look.faults);
    assert!(
        look.count["pages"] > 190
            && look.count["meanings"] > 700
            && look.count["images"] > 400
            && look.count["lettered"] > 400,
        "{:?}",
        look.count
    );
}

/// Each rule of `docs/site/look.js` is broken once.
#[test]
fn what_is_cut_or_unreadable_is_seen() {
    let page = |main: &str| {
        format!(
            "<!doctype html><html><head><style>body, main {{ margin: 0 }}</style></head><body><main>{main}</main></body></html>"
        )
    };
    let wide = "<td style=\"min-width: 1500px\">x</td>";
    let table = |style: &str| page(&format!("<div style=\"{style}\"><table><tr>{wide}</tr></table></div>"));
    let column = "<table><thead><tr><th>a</th><th>b</th><th>meaning</th></tr></thead>\
                  <tbody><tr><td>x</td><td>x</td><td>x</td></tr></tbody></table>";
    let list = "<nav id=\"mdbook-sidebar\" style=\"position: absolute; width: 9px\"><a>top_xa1e84e09</a></nav>";
    let dim = "<p style=\"background: #222; color: #444\">x</p>";
    let pages = [
        ("sideways.html", page("<p style=\"width: 2000px\">x</p>"), "the page scrolls sideways"),
        ("hidden.html", table("overflow: hidden"), "does not scroll"),
        ("bare.html", table("overflow: auto; scrollbar-width: none"), "scrolls, and no bar says so"),
        ("column.html", page(column), "the column \"meaning\" has"),
        ("small.html", page("<p style=\"font-size: 9px\">x</p>"), "letters of 9px"),
        ("dim.html", page(dim), "rgb(68, 68, 68) on rgb(34, 34, 34)"),
        ("missing.html", page("<img src=\"data:image/svg+xml,x\">"), "is missing"),
        ("letters.html", page("<img src=\"small.svg\">"), "small.svg: letters of 9.0px"),
        ("shrunk.html", page("<img src=\"wide.svg\" style=\"max-width: 100%\">"), "wide.svg: letters of 4."),
        ("cut.html", page("<p style=\"overflow: hidden\"><img src=\"wide.svg\"></p>"), "which does not scroll"),
        ("list.html", page("x").replace("<main>", &format!("{list}<main>")), "the list at the left has a hash"),
        (
            "current.html",
            page("x")
                .replace("<main>", &format!("{list}<main>").replace("<a>top_xa1e84e09", "<a style=\"color: #888\">x")),
            "the list at the left: rgb(136, 136, 136) on rgb(255, 255, 255)",
        ),
        (
            "picture.html",
            page(&format!(
                "<pre><code style=\"display: block; overflow: auto; font-size: 20px\">{}</code></pre>",
                "-".repeat(140)
            )),
            "a text picture",
        ),
    ];
    // Letters are half as large as they say, and an exponent smaller than its line.
    let small = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" viewBox=\"0 0 200 100\">\
                 <g transform=\"scale(1.5)\"><text y=\"30\" font-size=\"24\">x<tspan font-size=\"12\">2</tspan></text></g></svg>";
    let broad = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"50\" viewBox=\"0 0 1000 50\">\
                <text y=\"30\" font-size=\"12\">x</text></svg>";
    let drawings = [("small.svg", small), ("wide.svg", broad)];
    let files: Vec<_> = pages.iter().map(|(name, text, _)| (*name, text.as_str())).chain(drawings).collect();
    let folder = crate::support::in_folder(&files);
    let good = page(&format!("<p>x</p><div style=\"overflow: auto\"><table><tr>{wide}</tr></table></div>")).replace(
        "</style>",
        "div::-webkit-scrollbar { height: 9px } div::-webkit-scrollbar-thumb { background: #888 }</style>",
    );
    fs::write(folder.path().join("good.html"), good).unwrap();
    let names: Vec<_> = pages.iter().map(|(name, ..)| *name).chain(["good.html"]).collect();
    let look = looked_over(folder.path(), Some(names.as_slice()));
    for (name, _, fault) in &pages {
        let found = look.faults.iter().any(|line| line.starts_with(name) && line.contains(fault));
        assert!(found, "{name}: {fault}: {:#?}", look.faults);
    }
    assert!(!look.faults.iter().any(|line| line.starts_with("good.html")), "{:#?}", look.faults);
}

/// The page that a link is broken on is named.
#[tag(full)]
#[test]
#[ignore = "needs what setup full installs"]
fn a_link_that_leads_nowhere_is_found() {
    let folder = crate::support::in_folder(&[
        (
            "a.html",
            "<html><body><a href=\"b.html#there\">x</a><a href=\"b.html#gone\">y</a><img src=\"no.svg\"></body></html>",
        ),
        ("b.html", "<html><body><h1 id=\"there\">x</h1></body></html>"),
    ]);
    // Run by root, it reads as nobody does.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checker = root.join("target/python/bin/linkchecker").display().to_string();
    let checker = Tool::new(checker).arg("--config").arg(root.join("docs/site/linkchecker.ini"));
    let output = checker.arg(folder.path().join("a.html")).run().unwrap();
    assert_eq!(output.code, Some(1), "{}", output.log());
    assert!(output.stdout.contains("Anchor `gone'") && output.stdout.contains("no.svg"), "{}", output.log());
}
