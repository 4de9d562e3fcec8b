//! `senbazuru compare` on small work.

use std::fs;
use std::path::Path;

use snapbox::str;

use crate::support::{in_folder, senbazuru};

/// Two machines in numbers: one computes twice as fast on twice the area, the other one has half of the bits and room
/// for fewer tokens.
const MACHINES: &str = r#"
[[machine]]
name = "large"
area = 200.0
source = "a guess"
[machine.numbers]
products = 256
elements = 16
weight_bits = 8
activation_bits = 16
cache_bits = 8

[[machine]]
name = "small"
area = 100.0
memory = 1.5
source = "another guess"
[machine.numbers]
products = 128
elements = 16
weight_bits = 4
activation_bits = 16
cache_bits = 4
tokens = 64
"#;

const AXES: &str = r#"
title = "Two machines"
models = ["SmolLM2-135M"]
bandwidths = [8, 4096]
[[work]]
phases = ["token"]
batches = [1]
contexts = [64, 128]
[[show]]
phase = "token"
batch = 1
context = 64
"#;

/// Exit code, output and error in a folder.
fn compare(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = senbazuru(&[&["compare"], args].concat()).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn machines_in_numbers() {
    let folder = in_folder(&[("both.toml", &format!("{AXES}{MACHINES}"))]);
    let run = |args: &[&str]| senbazuru(&[&["compare"], args].concat()).current_dir(folder.path());
    run(&["both.toml"]).assert().code(0).stderr_eq("").stdout_eq(str![[r#"
Two machines

accelerator  logic, mm²  copies  memory of one, Mbit  products a cycle of one  from
-----------  ----------  ------  -------------------  -----------------------  -------------
large               200    1.00                    -                      256  a guess
small               100    2.00                  1.5                      128  another guess

a layer of SmolLM2-135M  accelerator  cycles of one  MB moved  busy     8 B  4096 B
-----------------------  -----------  -------------  --------  ----  ------  ------
a token after 63         large                14436       3.6  0.98  452016   14436
                         small                28548       1.8  0.99  229296   14274

fastest, how much, why    context  8 B a cycle            4096 B a cycle
------------------------  -------  ---------------------  ---------------------
decoding, 1 side by side       64  small 1.97: bandwidth  small 1.01: compute
                              128  large alone: capacity  large alone: capacity

no room (-):
  small: a context of 128 tokens, it has room for 64

"#]]);
    let (code, out, errors) = compare(folder.path(), &["both.toml", "--csv", "deep/out.csv", "--json", "-o", "out"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let data: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(data["machines"][1]["copies"], 2.0);
    assert_eq!(data["cells"][3]["no_room"], "a context of 128 tokens, it has room for 64");
    assert_eq!(data["winners"][2]["why"], "capacity");
    assert_eq!(data["models"][0]["parameters"], 134_515_008);
    let csv = fs::read_to_string(folder.path().join("deep/out.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * 2, "{csv}");
    assert!(csv.starts_with("machine,model,part,phase,batch,context,bandwidth,area_mm2,"), "{csv}");
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    for part in ["Two machines", "SmolLM2-135M: a token after 63", "no room: a context of 128 tokens", "large"] {
        assert!(page.to_lowercase().contains(&part.to_lowercase()), "{part}");
    }
    for name in
        ["results.csv", "results.json", "results.jsonl", "results.sqlite", "plots/chart-1.svg", "plots/chart-2.svg"]
    {
        assert!(folder.path().join("out").join(name).is_file(), "{name}");
    }
    // The page can be made anew, as that of a sweep.
    senbazuru(&["report", "out"]).current_dir(folder.path()).assert().code(0);
}

const ENERGY: &str = r#"
title = "Round numbers"
clock_mhz = 1000
[[energy]]
event = "product"
part = "logic"
pj = 1
per = "event"
source = "a"
[[energy]]
event = "prodcut"
part = "logic"
pj = 2
per = "event"
source = "a"
[[energy]]
kind = "element"
part = "logic"
pj = 0
per = "event"
source = "a"
[[energy]]
kind = "bus"
part = "bus"
pj = 0
per = "event"
source = "a"
[[energy]]
kind = "dram read"
part = "dram"
pj = 4
per = "bit"
source = "a"
[[power]]
part = "leakage"
mw = 0.5
per = "mm2"
source = "a"
"#;

/// Energy of products and bytes, and of the area for the time; a name that nothing makes is told.
#[test]
fn energy() {
    let folder = in_folder(&[("both.toml", &format!("{AXES}{MACHINES}")), ("e.toml", ENERGY)]);
    let (code, out, errors) =
        compare(folder.path(), &["both.toml", "--energy", "e.toml", "--json", "--csv", "out.csv"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let data: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(data["unused"], serde_json::json!(["e.toml: prodcut"]));
    assert_eq!(data["machines"][0]["energy"]["title"], "Round numbers");
    let cell = &data["cells"][0];
    let number = |at: &serde_json::Value| at.as_f64().unwrap();
    assert_eq!(cell["events"]["product"]["count"], cell["products"]);
    for time in cell["times"].as_array().unwrap() {
        let energy = &time["energy"];
        let parts = [
            number(&cell["products"]),
            8.0 * 4.0 * number(&cell["bytes"]),
            // 200 mm² at 0.5 pJ a cycle each.
            100.0 * number(&time["time_cycles"]),
        ];
        let names = ["logic_nj", "dram_nj", "leakage_nj"];
        for (name, picojoules) in names.into_iter().zip(parts) {
            assert!((number(&energy[name]) - picojoules / 1e3).abs() < 1e-6 * picojoules, "{name}: {time}");
        }
        let all = parts.iter().sum::<f64>() / 1e3;
        assert!((number(&energy["energy_per_token_nj"]) - all).abs() < 1e-6 * all, "{time}");
    }
    let csv = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert!(csv.lines().next().unwrap().ends_with("refresh_nj,leakage_nj,energy_nj,energy_per_token_nj"), "{csv}");
    let (_, out, _) = compare(folder.path(), &["both.toml", "--energy", "e.toml"]);
    assert!(out.contains("energies of events that nothing makes:\n  e.toml: prodcut\n"), "{out}");
    assert!(out.contains("µJ at 4096 B a cycle"), "{out}");
}

/// An energy file that is wrong or lacks something ends the command before anything is written.
#[test]
fn wrong_energies() {
    let less = ENERGY.replace("\"dram read\"", "\"dram raed\"");
    let named = format!("energy = \"none.toml\"{AXES}{MACHINES}");
    let folder = in_folder(&[("both.toml", &format!("{AXES}{MACHINES}")), ("e.toml", &less), ("named.toml", &named)]);
    let (code, out, errors) = compare(folder.path(), &["both.toml", "--energy", "e.toml", "--csv", "out.csv"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let wanted = "no energy of `byte of weights`: wanted is event = \"byte of weights\" or kind = \"dram read\"";
    assert!(errors.contains("e.toml: machine `large`:\n  no energy") && errors.contains(wanted), "{errors}");
    assert!(!folder.path().join("out.csv").exists());
    let (code, _, errors) = compare(folder.path(), &["named.toml"]);
    assert_eq!(code, 2);
    assert!(errors.contains("named.toml:1: ") && errors.contains("none.toml"), "{errors}");
}

/// A ratio of energies, of bytes of events, and of a machine's events to others of its own. Each is computed here from
/// the events that the same command prints.
#[test]
fn steps_of_a_ladder() {
    let steps = r#"
[[step]]
name = "logic and memory"
paper = "2 (Figure 1)"
of = { machine = "large" }
by = { machine = "small" }
batch = 1
why = "a guess"
[[step]]
name = "bytes of weights"
paper = "-"
of = { machine = "large", events = ["byte of weights"] }
by = { machine = "small", events = ["byte of weights", "byte of keys and values"] }
measure = "bytes"
over = "mean"
why = "bits"
[[step]]
name = "share of products"
paper = "-"
of = { machine = "large", events = ["product"] }
by = { machine = "large", events = ["product", "byte of weights"] }
why = "a pJ : 32 pJ"
"#;
    let file = format!("energy = \"e.toml\"{AXES}{MACHINES}{steps}");
    let folder = in_folder(&[("ladder.toml", &file), ("e.toml", ENERGY)]);
    let one = ["ladder.toml", "--context", "64", "--json"];
    let (code, out, errors) = compare(folder.path(), &one);
    assert_eq!((code, errors.as_str()), (0, ""));
    let data: serde_json::Value = serde_json::from_str(&out).unwrap();
    let number = |at: &serde_json::Value| at.as_f64().unwrap();
    let energy = |cell: usize| number(&data["cells"][cell]["times"][1]["energy"]["energy_nj"]);
    let count = |cell: usize, event: &str| number(&data["cells"][cell]["events"][event]["count"]);
    let (weights, cached) = ("byte of weights", "byte of keys and values");
    let wanted = [
        energy(0) / energy(1),
        count(0, weights) / (count(1, weights) + count(1, cached)),
        count(0, "product") / (count(0, "product") + 32.0 * count(0, weights)),
    ];
    for (step, wanted) in data["steps"].as_array().unwrap().iter().zip(wanted) {
        assert!((number(&step["here"]) / wanted - 1.0).abs() < 1e-9, "{step}: {wanted}");
    }
    // Of the contexts of the file one is too long for the small machine.
    let (_, out, errors) = compare(folder.path(), &["ladder.toml", "--steps", "--markdown"]);
    assert!(out.contains("| logic and memory | 2 (Figure 1) | - | a guess |\n"), "{out}{errors}");
    for (from, to, told) in [
        ("of = { machine = \"large\" }", "of = { machine = \"lrge\" }", "no machine `lrge`; there are: large, small"),
        ("batch = 1\nwhy", "batch = 7\nwhy", "no work with a batch of 7; there are: 1"),
        ("batch = 1\nwhy", "model = \"GPT\"\nwhy", "no model `GPT`; there are: SmolLM2-135M"),
        (
            "[\"byte of weights\"] }",
            "[\"byte of wights\"] }",
            "machine `large` makes no event `byte of wights`; it makes: ",
        ),
        ("energy = \"e.toml\"", "", "machine `large` has no table of energies: give it `energy`"),
        ("over = \"mean\"", "over = \"average\"", "unknown variant `average`"),
    ] {
        assert!(file.contains(from), "{from}");
        fs::write(folder.path().join("wrong.toml"), file.replacen(from, to, 1)).unwrap();
        let (code, _, errors) = compare(folder.path(), &["wrong.toml", "--context", "64"]);
        assert!(code == 2 && errors.contains(told), "{to}: {code} {errors}");
    }
    fs::write(folder.path().join("none.toml"), format!("{AXES}{MACHINES}")).unwrap();
    let (code, _, errors) = compare(folder.path(), &["none.toml", "--steps"]);
    assert!(code == 2 && errors.contains("none.toml: no step; give it [[step]]"), "{errors}");
}

/// Streams of twice the bits are twice as many bytes in memory and on the bus, event by event.
#[test]
fn events_of_streams() {
    let folder = in_folder(&[]);
    let of = |bits: &str| {
        let work = ["--model", "OPT-125M", "--phase", "token", "--batch", "2", "--context", "96", "--json"];
        let (code, out, errors) =
            compare(folder.path(), &[&[&*format!("titanus_core:stream_bits={bits}")], &work[..]].concat());
        assert_eq!((code, errors.as_str()), (0, ""));
        let data: serde_json::Value = serde_json::from_str(&out).unwrap();
        let moved = |event: &str| {
            let event = &data["cells"][0]["events"][event];
            event["count"].as_f64().unwrap() * event["bits"].as_f64().unwrap() / 8.0
        };
        let all = ["memory read", "read beat", "memory write", "write beat"].map(moved);
        (data["cells"][0]["bytes"].as_f64().unwrap(), all)
    };
    let [(less, few), (more, many)] = ["4", "8"].map(of);
    // Keys and values of 768 channels of 2 sequences: 96 tokens are restored, one is appended.
    let [restored, appended] = [96.0, 1.0].map(|tokens| 2.0 * 2.0 * tokens * 768.0 * 4.0 / 8.0);
    assert_eq!(more - less, restored + appended);
    for (number, wanted) in [restored, restored, appended, appended].into_iter().enumerate() {
        let grown = many[number] - few[number];
        // A beat of 64 bytes for each sequence may be a part of one.
        assert!((grown - wanted).abs() <= 2.0 * 64.0, "{number}: {grown}, not {wanted}");
    }
}

/// Flags go before the file, axis by axis.
#[test]
fn flags_over_a_file() {
    let folder = in_folder(&[("both.toml", &format!("{AXES}{MACHINES}"))]);
    let cells = |args: &[&str]| {
        let (code, out, errors) = compare(folder.path(), &[&["both.toml", "--json"], args].concat());
        assert_eq!((code, errors.as_str()), (0, ""));
        let data: serde_json::Value = serde_json::from_str(&out).unwrap();
        let of = |cell: &serde_json::Value| format!("{} {} {}", cell["phase"], cell["batch"], cell["context"]);
        data["cells"].as_array().unwrap().iter().map(|cell| of(cell).replace('"', "")).collect::<Vec<_>>()
    };
    let twice = |work: &[&str]| work.iter().flat_map(|one| [(*one).to_owned(), (*one).to_owned()]).collect::<Vec<_>>();
    assert_eq!(cells(&["--context", "8"]), twice(&["token 1 8"]));
    assert_eq!(cells(&["--phase", "prompt", "--batch", "2"]), twice(&["prompt 2 64", "prompt 2 128"]));
}

/// All accelerators of the catalogue, and a file of machines alone beside them.
#[test]
fn accelerators_of_the_catalogue() {
    let folder = in_folder(&[("machines.toml", MACHINES)]);
    let axes = ["--model", "smollm2-135m", "--context", "16", "--batch", "2", "--bandwidth", "32", "--json"];
    let rows = ["tender_top:bits=4,array.rows=32,array.columns=32", "kllm", "kelle", "titanus", "machines.toml"];
    let (code, out, errors) = compare(folder.path(), &[&rows[..], &axes, &["--part", "model"]].concat());
    assert_eq!((code, errors.as_str()), (0, ""));
    let data: serde_json::Value = serde_json::from_str(&out).unwrap();
    let cells = data["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 6);
    for cell in cells {
        assert!(cell["cycles"].as_u64().unwrap() > 100_000, "{cell}");
    }
    assert_eq!(data["machines"][0]["products_a_cycle"], 1024.0);
    // One area is not known for all, so there is one machine of each.
    assert!(data["machines"].as_array().unwrap().iter().all(|machine| machine["copies"] == 1.0));
    let layers = compare(folder.path(), &[&rows[..], &axes].concat()).1;
    let layers: serde_json::Value = serde_json::from_str(&layers).unwrap();
    for (whole, layer) in cells.iter().zip(layers["cells"].as_array().unwrap()) {
        let (whole, layer) = (whole["products"].as_u64().unwrap(), layer["products"].as_u64().unwrap());
        assert_eq!(whole - 30 * layer, 2 * 576 * 49_152);
    }
}

/// A file, a machine or a model that is incomplete or contradicts itself.
#[test]
fn mistakes_are_told_with_what_would_be_right() {
    let config = r#"{"model_type": "llama", "hidden_size": 64}"#;
    let folder = in_folder(&[("config.json", config), ("deep/model.gguf", "GGUF?"), ("machines.toml", MACHINES)]);
    let numbers = "products = 1\nelements = 1\nweight_bits = 4\nactivation_bits = 8\ncache_bits = 8\n";
    let machine = format!("[[machine]]\nname = \"a\"\n[machine.numbers]\n{numbers}");
    let with = |more: &str| format!("{more}\n{machine}");
    for (text, part) in [
        (
            "[[machine]]\nname = \"a\"\n".to_owned(),
            "file.toml:1: machine `a`: neither `block` nor `numbers`, wanted is a block",
        ),
        (machine.replace("cache_bits = 8", ""), "missing field `cache_bits`"),
        (machine.replace("products = 1", "products = 0"), "machine `a`: `products` is 0, allowed: a number above 0"),
        (machine.clone() + "turbo = 1\n", "unknown field `turbo`"),
        (
            machine.replace("name = \"a\"", "name = \"a\"\nblock = \"kelle\""),
            "both `block` and `numbers`, wanted is one",
        ),
        (
            machine.replace("name = \"a\"", "name = \"a\"\nset = { x = 1 }"),
            "`x` is of a block, and this machine has `numbers`",
        ),
        (
            machine.replace("name = \"a\"", "name = \"a\"\narea = 2.0"),
            "`area` without a `source`: say where it comes from",
        ),
        (
            machine.replace("name = \"a\"", "name = \"a\"\nsource = \"x\"\narea = -2.0"),
            "`area` is -2, allowed: mm² above 0",
        ),
        (format!("{machine}{machine}"), "two machines are called `a`: give one of them another `name`"),
        (
            "[[machine]]\nname = \"a\"\nblock = \"keller\"\n".to_owned(),
            "file.toml:3: `keller` is no accelerator whose layers are counted; did you mean kelle_top?",
        ),
        (
            "[[machine]]\nname = \"a\"\nblock = \"mac_mesh\"\n".to_owned(),
            "`mac_mesh` is no accelerator whose layers are counted",
        ),
        (
            "[[machine]]\nname = \"a\"\nblock = \"tender\"\nset = { depths = 3 }\n".to_owned(),
            "file.toml:4: tender_top has no parameter `depths`; did you mean depth?",
        ),
        (
            "[[machine]]\nname = \"a\"\nblock = \"tender\"\noptions = { bits = 5 }\n".to_owned(),
            "machine `a`: `bits` is \"5\", allowed: 4, 8",
        ),
        (
            "[[machine]]\nname = \"a\"\nblock = \"tender\"\noptions = { bits = [4] }\n".to_owned(),
            "option `bits` is [4], wanted is a number or a word",
        ),
        (with("bandwidths = [0]"), "file.toml:1: bandwidth 0, allowed: bytes a cycle above 0, up to 1e9"),
        (with("bandwidths = []"), "file.toml:1: `bandwidths` is empty"),
        (with("margin = 2.0"), "`margin` is 2, allowed: a share from 0 to 1"),
        (with("part = \"head\""), "`part` is `head`, wanted is layer or model"),
        (with("curve = [8, 4]"), "`curve` goes from 8 to 4, which is empty"),
        (with("models = [\"config.json\"]"), "there is no `num_attention_heads`"),
        (
            with("models = [\"llama\"]"),
            "no model `llama`: no file of this name, and the shapes here are SmolLM2-135M, Llama-2-7B",
        ),
        (with("models = [\"llama-2-7b\", \"Llama-2-7B\"]"), "the model Llama-2-7B is there twice"),
        (
            with("[[work]]\nphases = [\"token\"]\nbatches = [0]\ncontexts = [1]"),
            "file.toml:1: batch 0, allowed: 1 to 65536",
        ),
        (
            with("[[work]]\nphases = [\"token\"]\nbatches = []\ncontexts = [1]"),
            "no work: phases, batches or contexts are empty",
        ),
        (
            with("[[work]]\nphases = [\"answer\"]\nbatches = [1]\ncontexts = [1]"),
            "unknown variant `answer`, expected `token` or `prompt`",
        ),
        (with("[[show]]\nphase = \"token\"\nbatch = 1\ncontext = 9"), "a token after 8 is no work of this file"),
        ("title = \"none\"\n".to_owned(), "file.toml: no machine; give blocks, or a file with [[machine]]"),
        (format!("equal_area = true\n{machine}{MACHINES}"), "`equal_area` is true, and there is no `area` of a"),
        ("machine = 1".to_owned(), "file.toml: TOML parse error at line 1"),
    ] {
        fs::write(folder.path().join("file.toml"), &text).unwrap();
        let (code, out, errors) = compare(folder.path(), &["file.toml"]);
        assert!(
            code == 2
                && out.is_empty()
                && errors.contains(part)
                && errors.contains("file.toml") | !part.contains("file"),
            "{text}\n{errors}"
        );
    }
    for (args, part) in [
        (&["tenders"][..], "`tenders` is no accelerator whose layers are counted; did you mean tender_top?"),
        (&["tender:bit=4"], "`tender:bit=4`: tender_top has no parameter `bit`"),
        (&["tender:array.rows=3"], "parameter `array.rows` is 3, allowed: "),
        (&["none.toml"], "cannot read none.toml"),
        (&["tender", "--model", "deep/model.gguf"], "deep/model.gguf"),
        (&["tender", "--context", "0"], "context 0, allowed: 1 to 1048576"),
        (&["tender", "--bandwidth", "nan"], "bandwidth NaN, allowed: bytes a cycle above 0"),
        (&["tender", "--bandwidth", "8,8"], "bandwidth 8 is there twice"),
        (&["tender", "--batch", "2,2"], "2 tokens after 127, one of each sequence is there twice"),
        (&["tender", "tender"], "two machines are called `tender`"),
        (&["tender", "--csv", "deep"], "cannot write deep: it is a folder; name a file"),
        (&["tender", "-o", "config.json"], "config.json"),
        (
            &["machines.toml", "--area", "synth", "--liberty", "none"],
            "areas by synthesis need a cell library, not `none`",
        ),
    ] {
        let (code, out, errors) = compare(folder.path(), args);
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{args:?}: {errors}");
    }
    assert!(!folder.path().join("target").exists(), "nothing is written");
}

/// Files of results in a store.
fn stored(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let all = entries(&folder.join("store/cycles")).iter().flat_map(|group| entries(group)).collect::<Vec<_>>();
    all.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

/// What was counted before a kill is not counted again, and the end is the same.
#[test]
fn a_killed_comparison_goes_on() {
    let folder = in_folder(&[]);
    let work = ["--model", "smollm2-135m", "--context", "16,64,128,256", "--batch", "1,2,4", "--store", "store"];
    let args = [&["compare", "titanus", "kelle"], &work[..]].concat();
    let whole = senbazuru(&args).current_dir(folder.path()).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let all = stored(folder.path());
    assert_eq!(all.len(), 2 * 2 * 4 * 3);
    let times = |paths: &[std::path::PathBuf]| -> Vec<_> {
        paths.iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).collect()
    };
    // As a kill leaves it: some results, one of them damaged, and a file that was being written.
    let (kept, gone) = all.split_at(all.len() / 2);
    gone.iter().for_each(|path| fs::remove_file(path).unwrap());
    fs::write(&gone[0], "{ half").unwrap();
    fs::write(gone[1].with_file_name(".new-x"), "half").unwrap();
    let before = times(kept);
    let again = senbazuru(&args).current_dir(folder.path()).output().unwrap();
    assert_eq!((again.status.code(), again.stdout), (Some(0), whole.stdout));
    assert_eq!(times(kept), before, "known results are read only");
    assert_eq!(stored(folder.path()).len(), all.len());
}
