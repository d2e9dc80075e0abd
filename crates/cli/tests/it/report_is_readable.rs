//! The page of `report` as a reader finds it: in a real browser, on a large screen and on a telephone, light and dark.
//!
//! Needs Chromium. Without it this is skipped; `SPARSIGHT_REQUIRE_CHROMIUM=1` turns that into a failure.

use crate::support::{assert_exit, run, sparsight};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Looks at pages in frames: see there.
const MEASURE: &str = include_str!("../browser/measure.js");
/// Pixels: a large screen, and a telephone.
const WIDTHS: [u32; 2] = [1280, 400];

/// The answer to `advise`, as text; the page of it is written beside it.
fn advice(folder: &Path, arguments: &[&str]) -> Value {
    let arguments = [&["advise"], arguments, &["--report", "page.html"]].concat();
    crate::support::json(folder, &arguments)
}

/// The answer to `plan` about a matrix of two kinds of rows, cut in any case; the page of it is written beside it.
fn plan(folder: &Path) -> Value {
    let arguments = ["gallery:kkt,n=20000,m=8000,row=200", "--device", "nvidia-h200", "--cut"];
    crate::support::json(folder, &[&["plan"], &arguments[..], &["--report", "page.html"]].concat())
}

/// The page that `report` makes of an answer.
fn page_of(folder: &Path, answer: &Value) -> String {
    fs::write(folder.join("advice.json"), answer.to_string()).unwrap();
    let said = run(folder, &["report", "advice.json"]);
    assert_exit(&said, 0, "advice.html: verdict, ");
    fs::read_to_string(folder.join("advice.html")).unwrap()
}

/// File name of an untrusted matrix of five rows.
const TINY: &str =
    "<script>alert(1)<\u{2044}script> & \"co\" of a name that is longer than a telephone is wide.mtx";

/// A plan that was run, and gains.
fn ran(plan: &Value) -> Value {
    let mut plan = plan.clone();
    let one = &mut plan["matrices"][0];
    let whole = one["single"]["predicted_s"].as_f64().unwrap();
    for (at, strategy) in one["strategies"].as_array_mut().unwrap().iter_mut().enumerate() {
        for (field, factor) in [("predicted_s", 0.8), ("low_s", 0.7), ("high_s", 0.9)] {
            strategy[field] = (whole * (factor + 0.2 * at as f64)).into();
        }
    }
    let run =
        |what: &str, plan: &str, time: f64| json!({ "what": what, "plan": plan, "time_s": time * whole });
    one["measured"] = json!([
        run("single", "csr-vector/t8/b128/f64", 1.1),
        run("single 2", "csr-balanced/i1024/b128/f64", 1.05),
        run("sequential", "2 parts", 0.85),
        { "what": "fused", "plan": "2 parts", "failed": "y[3] is 1.5, not 1.25" },
        run("cusparse-csr/a1", "cusparse-csr/a1/f64", 1.9),
    ]);
    plan
}

/// A plan of more parts and kernels than there are words and colours for, shortened.
fn slices(plan: &Value) -> Value {
    let mut plan = plan.clone();
    let one = &mut plan["matrices"][0];
    let nrows = one["matrix"]["nrows"].as_u64().unwrap();
    let mut part = one["strategies"][0]["parts"][0].clone();
    let mut from = 0;
    let parts = (0..200_u64).map(|at| {
        // Some of a few rows, and none that ends at the last.
        let to = from + if at % 3 == 0 { 1 } else { nrows / 150 };
        part["rows"] = json!([from, to]);
        part["kernel"] = format!("kernel-with-unknown-name-{}", at % 9).into();
        part["id"] = format!("kernel-with-unknown-name-{}/t8/b128/f64", at % 9).into();
        from = to;
        part.clone()
    });
    let parts: Vec<Value> = parts.collect();
    one["strategies"][0]["parts"] = parts.into();
    one.as_object_mut().unwrap().remove("structure").unwrap();
    plan
}

/// Pages that differ in what may go wrong, by name.
fn pages(folder: &Path) -> Vec<(&'static str, String)> {
    let text = "%%MatrixMarket matrix coordinate real general\n5 5 4\n1 1 1\n2 2 1\n3 3 1\n1 5 2\n";
    fs::write(folder.join(TINY), text).unwrap();
    let skewed = advice(folder, &["gallery:power-law,n=30000", "--device", "nvidia-h200"]);
    let mut verified =
        advice(folder, &["gallery:fem,n=16", "--device", "nvidia-h100", "--iterations", "1000"]);
    for (place, one) in verified["candidates"].as_array_mut().unwrap().iter_mut().enumerate() {
        if let Some(predicted) = one["predicted_s"].as_f64().filter(|_| place % 9 == 0) {
            one["measured_s"] = (predicted * [0.8, 1.0, 1.3][place % 3]).into();
        } else if place == 1 {
            one["failed"] = "y[3] is 1.5, not 1.25".into();
        }
    }
    // What no version has written, and a later one may.
    let mut strange = skewed.clone();
    for one in strange["candidates"].as_array_mut().unwrap() {
        let id = format!("{}/of-a-kernel-that-has-an-unknown-id", one["id"].as_str().unwrap());
        one["id"] = id.into();
    }
    strange["verdict"]["best"] = strange["candidates"][0]["id"].clone();
    strange["verdict"]["gains_nothing"] = true.into();
    let mut old = skewed.clone();
    for newer in ["structure", "cache_bytes", "provenance", "verdict"] {
        old.as_object_mut().unwrap().remove(newer).unwrap();
    }
    let of = |answer: &Value| page_of(folder, answer);
    let cut = plan(folder);
    vec![
        ("cut", of(&cut)),
        ("ran", of(&ran(&cut))),
        ("slices", of(&slices(&cut))),
        ("skewed", of(&skewed)),
        ("verified", of(&verified)),
        ("strange", of(&strange)),
        ("old", of(&old)),
        ("tiny", of(&advice(folder, &[TINY, "--device", "nvidia-h200"]))),
        (
            "wide",
            of(&advice(folder, &["gallery:random,rows=300,cols=90000,row=40", "--device", "nvidia-h200"])),
        ),
        (
            "grid",
            of(&advice(folder, &["gallery:stencil2d,n=300", "--iterations", "1", "--device", "nvidia-h200"])),
        ),
    ]
}

/// Chromium, by one of the names that it goes by.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    let found = found.into_iter().find(|program| program.is_file());
    if found.is_none() {
        let required = std::env::var_os("SPARSIGHT_REQUIRE_CHROMIUM").is_some_and(|value| value == "1");
        assert!(!required, "Chromium is not on the PATH");
        eprintln!("skipped: Chromium is not on the PATH, so no page is rendered");
    }
    found
}

/// Faults of each page: `NAME WIDTH<tab>FAULT`, and the number of texts that were examined.
fn looked_at(chromium: &Path, pages: &[(&str, String)], scheme: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut frames = format!("<!DOCTYPE html><meta charset=\"utf-8\"><script>{MEASURE}</script><body>");
    for (name, page) in pages {
        let page = page.replace('&', "&amp;").replace('"', "&quot;");
        for width in WIDTHS {
            // A browser has no window as narrow as a telephone, but a frame may be.
            let size = format!("width=\"{width}\" height=\"900\"");
            let _ = write!(frames, "<iframe title=\"{name} {width}\" {size} srcdoc=\"{page}\"></iframe>");
        }
    }
    let file = folder.path().join("frames.html");
    fs::write(&file, frames).unwrap();
    let mut command = assert_cmd::Command::from_std(Command::new(chromium));
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]);
    command.args(["--window-size=1400,1000", &format!("--blink-settings=preferredColorScheme={scheme}")]);
    command.arg(format!("--user-data-dir={}", folder.path().join("browser").display()));
    command.arg("--dump-dom").arg(format!("file://{}", file.display()));
    let output = command.timeout(std::time::Duration::from_secs(300)).output().unwrap();
    let document = String::from_utf8(output.stdout).unwrap();
    let body = document.split_once("<body>").and_then(|(_, rest)| rest.rsplit_once("</body>"));
    let (body, _) = body.unwrap_or_else(|| panic!("{document}\n{}", String::from_utf8_lossy(&output.stderr)));
    let lines = body.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    lines.lines().map(ToOwned::to_owned).collect()
}

/// Chromium's numbers of what a reader prefers.
const SCHEMES: [(&str, &str); 2] = [("dark", "0"), ("light", "1")];

#[test]
fn report_text_does_not_overlap_and_is_legible() {
    let Some(chromium) = chromium() else { return };
    let dir = TempDir::new().unwrap();
    let pages = pages(dir.path());
    std::thread::scope(|scope| {
        let runs = SCHEMES.map(|(name, scheme)| {
            let (chromium, pages) = (&chromium, &pages);
            (name, scope.spawn(move || looked_at(chromium, pages, scheme)))
        });
        for (scheme, run) in runs {
            let lines = run.join().unwrap();
            let (seen, faults): (Vec<_>, Vec<_>) =
                lines.iter().partition(|line| line.contains("\tlooked at\t"));
            assert!(faults.is_empty(), "{scheme}: {faults:#?}");
            assert_eq!(seen.len(), WIDTHS.len() * pages.len(), "{scheme}: {lines:#?}");
            let texts = |line: &&String| line.rsplit('\t').next().unwrap().parse::<u32>().unwrap();
            assert!(seen.iter().all(|line| texts(line) > 40), "{scheme}: {seen:#?}");
        }
    });
}

#[test]
fn the_pictures_of_info_are_those_of_the_page_and_nothing_overlaps() {
    let dir = TempDir::new().unwrap();
    let name = "a<b>&\"c\" of a name that is longer than both pictures are wide, by much more than a letter or two.mtx";
    let text = "%%MatrixMarket matrix coordinate pattern general\n5 7 4\n1 1\n2 2\n3 3\n1 5\n";
    fs::write(dir.path().join(name), text).unwrap();
    fs::write(dir.path().join("none.mtx"), text.replace("5 7 4\n1 1\n2 2\n3 3\n1 5\n", "0 0 0\n")).unwrap();
    let mut figures = Vec::new();
    for (at, matrix) in
        [name, "none.mtx", "gallery:power-law,n=30000", "gallery:random,rows=300,cols=90000,row=40"]
            .into_iter()
            .enumerate()
    {
        let file = format!("{at}.svg");
        let said = run(dir.path(), &["info", matrix, "--device", "nvidia-h200", "--svg", &file]);
        assert_exit(&said, 0, &format!("the pictures are in {file}"));
        let figure = fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(!figure.contains("var(") && !figure.contains("<b>") && !figure.contains("NaN"), "{figure}");
        let _ = advice(dir.path(), &[matrix, "--device", "nvidia-h200"]);
        let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
        let drawn = |text: &str, what: &str| -> Vec<String> {
            text.lines().filter(|line| line.starts_with(what)).map(ToOwned::to_owned).collect()
        };
        assert_eq!(drawn(&figure, "<path class=\"d"), drawn(&page, "<path class=\"d"), "{matrix}");
        let bars = drawn(&figure, "<rect class=\"bar\"").len();
        assert_eq!(bars, drawn(&page, "<rect class=\"bar\"").len(), "{matrix}");
        assert_eq!(bars > 0, matrix != "none.mtx");
        figures.push((figure, matrix));
    }
    let Some(chromium) = chromium() else { return };
    let pages: Vec<(&str, String)> = figures
        .into_iter()
        .map(|(figure, matrix)| {
            let page = "<!DOCTYPE html><style>body { background: #fff; margin: 0; }</style><header><p>A page</p></header>";
            (matrix, format!("{page}<section style=\"background: #fff\">{figure}</section>"))
        })
        .collect();
    let lines = looked_at(&chromium, &pages, SCHEMES[1].1);
    // Of a matrix without rows there is nothing to be seen.
    let is_fault = |line: &&String| !line.contains("\tlooked at\t") && !line.starts_with("none.mtx");
    let faults: Vec<_> = lines.iter().filter(|line| line.contains(" 1280\t")).filter(is_fault).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("\tlooked at\t")).count(), 8, "{lines:#?}");
}

#[test]
fn the_page_check_finds_planted_faults() {
    let Some(chromium) = chromium() else { return };
    let dir = TempDir::new().unwrap();
    let good = page_of(dir.path(), &advice(dir.path(), &["gallery:arrow,n=3000", "--device", "nvidia-h200"]));
    let with = |old: &str, new: &str| {
        assert!(good.contains(old), "{old}");
        good.replacen(old, new, 1)
    };
    let in_svg = |text: &str| with("</svg>", &format!("{text}</svg>"));
    let roofline = good.find("<section id=\"roofline\">").unwrap();
    let picture = good[roofline..].find("<svg").unwrap() + roofline;
    let behind = good[picture..].find("</svg>").unwrap() + picture;
    let emptied = format!("{}{}", &good[..=good[picture..].find('>').unwrap() + picture], &good[behind..]);
    let planted = [
        ("overlap", in_svg("<text x=\"2\" y=\"15\">planted</text>"), "and \"planted\" overlap"),
        ("outside", in_svg("<text x=\"350\" y=\"600\">planted</text>"), "\"planted\" stands"),
        ("scroll", with("<main>", "<main><div style=\"width: 1500px\">planted</div>"), "scrolls sideways"),
        ("empty", emptied, "roofline: is empty"),
        ("pale", with("<h1>", "<h1 style=\"color: #777\">"), "is hard to read"),
        ("small", with("<h2>", "<h2 style=\"font-size: 6px\">"), "is 6.0 pixels high"),
        (
            "loaded",
            with("<main>", "<main><img src=\"https://host.example/a.png\">"),
            "is not complete in itself",
        ),
        ("no number", in_svg("<rect x=\"NaN\" width=\"9\" height=\"9\"/>"), "draws what is no number"),
        (
            "bright",
            with("@media (prefers-color-scheme: dark)", "@media (min-width: 9999px)"),
            "is not in the colours",
        ),
    ];
    let pages: Vec<_> =
        planted.iter().map(|(name, page, _)| (*name, page.clone())).chain([("good", good.clone())]).collect();
    let lines = looked_at(&chromium, &pages, SCHEMES[0].1);
    for (name, _, says) in planted {
        for width in WIDTHS {
            let of = format!("{name} {width}\t");
            let found = lines.iter().any(|line| line.starts_with(&of) && line.contains(says));
            // A large screen has room for letters that a telephone has not, and the other way round.
            assert!(found, "{of}{says}: {lines:#?}");
        }
    }
    let faults = |line: &&String| line.starts_with("good ") && !line.contains("\tlooked at\t");
    assert!(!lines.iter().any(|line| faults(&line)), "{lines:#?}");
}

/// Puts what a browser must not obey into every text.
fn attack(value: &mut Value) {
    match value {
        Value::String(text) => *text = format!("{text}<script>\"'&\u{202e}"),
        Value::Array(all) => all.iter_mut().for_each(attack),
        Value::Object(all) => all.values_mut().for_each(attack),
        _ => {}
    }
}

/// Strategies of the plan in advice.
fn strategies(advice: &mut Value) -> impl Iterator<Item = &mut Value> {
    advice["plan"]["strategies"].as_array_mut().unwrap().iter_mut()
}

#[test]
fn a_page_holds_no_markup_from_elsewhere_and_is_the_same_by_either_way() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("<b>&amp;.mtx"),
        "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n3 2\n",
    )
    .unwrap();
    let mut answer = advice(dir.path(), &["<b>&amp;.mtx", "--device", "nvidia-h200"]);
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert_eq!(page, page_of(dir.path(), &answer), "by advise --report and by report");
    assert!(page.contains("&lt;b&gt;&amp;amp;.mtx</h1>") && !page.contains("<b>"), "{page}");
    let (schema, cells) = (answer["schema"].clone(), answer["structure"]["spy"]["cells"].clone());
    let executions: Vec<Value> =
        strategies(&mut answer).map(|strategy| strategy["execution"].clone()).collect();
    attack(&mut answer);
    strategies(&mut answer)
        .zip(executions)
        .for_each(|(strategy, execution)| strategy["execution"] = execution);
    (answer["schema"], answer["structure"]["spy"]["cells"]) = (schema, cells);
    let page = page_of(dir.path(), &answer);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains('\u{202e}'));
}

#[test]
fn the_page_of_a_matrix_without_non_zeros_draws_no_times() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("empty.mtx"), "%%MatrixMarket matrix coordinate real general\n5 5 0\n")
        .unwrap();
    let answer = advice(dir.path(), &["empty.mtx", "--device", "nvidia-h200"]);
    let page = page_of(dir.path(), &answer);
    assert!(page.contains("id=\"provenance\"") && page.contains("id=\"row-lengths\""), "{page}");
    for panel in ["times", "break-even", "roofline", "partition"] {
        assert!(!page.contains(&format!("id=\"{panel}")), "{panel}: {page}");
    }
}

#[test]
fn advice_shows_the_best_cut_and_whether_it_gains() {
    let dir = TempDir::new().unwrap();
    let answer = advice(dir.path(), &["gallery:kkt,n=20000,m=8000,row=200", "--device", "nvidia-h200"]);
    let whole = answer["plan"]["single"]["predicted_s"].as_f64().unwrap();
    let cut =
        answer["plan"]["strategies"].as_array().unwrap().iter().filter(|one| one["parts"][1].is_object());
    let best = cut.map(|one| one["predicted_s"].as_f64().unwrap()).min_by(f64::total_cmp).unwrap();
    let page = page_of(dir.path(), &answer);
    assert!(page.contains("id=\"partition-"), "{page}");
    let gains = page.contains("The best cut takes ") || page.contains("Cut so, a product takes ");
    assert_eq!((gains, page.contains("Leave it whole: ")), (best < whole, best >= whole), "{page}");
    // Without a page no plan is searched.
    let arguments = ["advise", "gallery:arrow,n=200", "--device", "nvidia-h200"];
    assert!(crate::support::json(dir.path(), &arguments)["plan"].is_null());
}

#[test]
fn a_plan_is_drawn_as_a_strip_of_its_rows() {
    let dir = TempDir::new().unwrap();
    let answer = plan(dir.path());
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert_eq!(page, page_of(dir.path(), &answer), "by plan --report and by report");
    let one = &answer["matrices"][0];
    for strategy in one["strategies"].as_array().unwrap() {
        let id = format!("<section id=\"partition-{}\">", strategy["execution"].as_str().unwrap());
        let panel = page.split_once(&id).unwrap().1.split_once("</section>").unwrap().0;
        for part in strategy["parts"].as_array().unwrap() {
            let [from, to] = [0, 1].map(|end| part["rows"][end].as_u64().unwrap());
            let says = format!("rows {} to {},", thousands(from), thousands(to - 1));
            assert!(panel.contains(part["id"].as_str().unwrap()) && panel.contains(&says), "{says} {panel}");
        }
        // The whole, each part, a frame, and at least one kernel in the legend.
        assert!(panel.matches("<rect").count() > 2 + strategy["parts"].as_array().unwrap().len(), "{panel}");
    }
    let page = page_of(dir.path(), &ran(&answer));
    assert!(page.contains("Cut it into ") && page.contains("of 4 the fastest is "), "{page}");
    assert!(page_of(dir.path(), &slices(&answer)).contains("The answer was shortened: parts from row "));
    // What is in texts is text.
    let mut answer = slices(&answer);
    let schema = answer["schema"].clone();
    let executions: Vec<Value> = answer["matrices"][0]["strategies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["execution"].clone())
        .collect();
    attack(&mut answer);
    answer["schema"] = schema;
    for (one, execution) in
        answer["matrices"][0]["strategies"].as_array_mut().unwrap().iter_mut().zip(executions)
    {
        one["execution"] = execution;
    }
    let page = page_of(dir.path(), &answer);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains('\u{202e}'));
}

/// `1234` as `1,234`, below a million.
fn thousands(count: u64) -> String {
    if count < 1000 { count.to_string() } else { format!("{},{:03}", count / 1000, count % 1000) }
}

#[test]
fn files_that_are_no_advise_answer_are_refused() {
    let dir = TempDir::new().unwrap();
    let info = crate::support::json(dir.path(), &["info", "gallery:arrow,n=30"]);
    fs::write(dir.path().join("info.json"), info.to_string()).unwrap();
    let of_two = ["plan", "gallery:arrow,n=30", "gallery:arrow,n=40", "--device", "nvidia-h200"];
    let two = crate::support::json(dir.path(), &of_two);
    fs::write(dir.path().join("two.json"), two.to_string()).unwrap();
    fs::write(dir.path().join("torn.json"), "{\"schema\": \"sparsight/advise/1\", ").unwrap();
    fs::write(dir.path().join("lacks.json"), json!({ "schema": "sparsight/advise/1" }).to_string()).unwrap();
    fs::write(dir.path().join("bytes.json"), [0xff, 0xfe]).unwrap();
    for (arguments, says) in [
        (
            &["report", "info.json"][..],
            "info.json: schema sparsight/info/1, not sparsight/advise/1 or sparsight/plan/1",
        ),
        (
            &["report", "two.json"],
            "two.json: matrices: invalid length 2, expected one: a page shows one matrix",
        ),
        (
            &["plan", "gallery:arrow,n=30", "gallery:arrow,n=40", "--report", "a.html"],
            "--report takes one matrix, but 2 were given",
        ),
        (&["report", "torn.json"], "torn.json: no JSON: EOF"),
        (&["report", "lacks.json"], "lacks.json: missing field `matrix`"),
        (&["report", "bytes.json"], "bytes.json: not UTF-8 text"),
        (&["report", "gone.json"], "gone.json: No such file"),
        (&["report", "-"], "has no name to call the page by"),
        (&["report", "info.json", "-o", "info.json"], "the page would take the place of a file that is read"),
        (
            &["advise", "gallery:arrow,n=30", "gallery:arrow,n=40", "--report", "a.html"],
            "--report takes one matrix, but 2 were given",
        ),
        (
            &["advise", "gallery:arrow,n=30", "--device", "nvidia-h200", "--report", "gone/a.html"],
            "gone/a.html: No such file",
        ),
        (&["info", "gallery:arrow,n=30", "--svg", "gone/a.svg"], "gone/a.svg: No such file"),
        (&["info", "gallery:arrow,n=30", "--svg", "-"], "- is not a file"),
        (&["info", "gallery:arrow,n=30", "--svg", "."], ".: Is a directory"),
        (
            &["info", "gallery:arrow,n=30", "gallery:arrow,n=40", "--svg", "a.svg"],
            "--svg takes one matrix, but 2 were given",
        ),
        (&["info", "gallery:arrow,n=30", "--csv", "--svg", "a.svg"], "cannot be used with"),
    ] {
        let said = run(dir.path(), arguments);
        assert_exit(&said, 2, says);
    }
    let none_written = |name: &str| !dir.path().join(name).with_extension("html").exists();
    assert!(["info", "two", "torn", "lacks", "bytes", "gone"].into_iter().all(none_written));
}

#[test]
fn an_answer_may_come_from_standard_input_and_the_page_is_named() {
    let dir = TempDir::new().unwrap();
    let answer = advice(dir.path(), &["gallery:arrow,n=300", "--device", "nvidia-h200"]);
    let mut command = sparsight(dir.path());
    command.current_dir(dir.path()).args(["report", "-", "-o", "b.html", "--json"]);
    let said = command.write_stdin(answer.to_string()).output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!((&said["schema"], &said["file"]), (&"sparsight/report/1".into(), &"b.html".into()));
    let page = fs::read_to_string(dir.path().join("b.html")).unwrap();
    for panel in said["panels"].as_array().unwrap() {
        assert!(page.contains(&format!(" id={panel}>")), "{panel}");
    }
}
