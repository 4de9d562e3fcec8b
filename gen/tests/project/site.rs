//! `scripts/site`, looked at in a browser that has no network.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use test_tag::tag;

use senbazuru::catalogue::Catalogue;
use sim::process::Tool;
use snapbox::cmd::cargo_bin;

/// Opens a page in Chromium and returns the value of `script` when all is loaded.
fn looked_at(page: &Path, script: &str) -> String {
    let text = fs::read_to_string(page).unwrap();
    let script = format!(
        "<script>addEventListener('load', async () => {{ document.title = await (async () => {{ {script} }})(); }});</script></body>"
    );
    let copy = page.with_file_name("looked-at.html");
    fs::write(&copy, text.replace("</body>", &script)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let chromium = Tool::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", copy.display()))
        .timeout(Duration::from_secs(120));
    let output = chromium.run().unwrap_or_else(|e| panic!("{e}"));
    fs::remove_file(&copy).unwrap();
    assert!(output.success(), "{}", output.log());
    let console: Vec<_> = output.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{}: {console:#?}", page.display());
    let title = output.stdout.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    title.to_owned()
}

/// The number of drawings, and the number of drawings that are missing.
const IMAGES: &str = "const all = [...document.querySelectorAll('main img')];
    return all.length + ' ' + all.filter((image) => image.naturalWidth === 0).length;";

/// The size of the first drawing when it is opened, and after two steps of zoom.
const ZOOM: &str = "// No frames are drawn here.
    window.requestAnimationFrame = (draw) => setTimeout(draw, 1);
    const wait = () => new Promise((done) => setTimeout(done, 300));
    document.querySelector('main img').click();
    await wait();
    const drawing = document.querySelector('dialog.zoom img');
    const before = drawing.getBoundingClientRect().width;
    const [larger] = document.querySelectorAll('dialog.zoom button');
    larger.click();
    larger.click();
    await wait();
    return (drawing.getBoundingClientRect().width / before).toFixed(2);";

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
        [("index.html", 1), ("waves.html", 7), ("docs/results.html", 5), ("docs/blocks/orizuru.html", 3)]
    {
        let found = looked_at(&page(name), IMAGES);
        let (all, missing) = found.split_once(' ').unwrap();
        assert!(all.parse::<u32>().unwrap() >= images && missing == "0", "{name}: {found}");
    }
    let zoom = looked_at(&page("waves.html"), ZOOM);
    assert!(zoom.parse::<f64>().unwrap() > 2.0, "{zoom}");
    let found = looked_at(&page("docs/papers.html"), SEARCH);
    assert!(found.parse::<u32>().unwrap() > 2, "{found}");
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
