//! `advise --gpus`: what it says, in which words, and what it refuses.

use crate::support::{assert_exit, json, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const LINKS: &str = "gpus_per_host = 2\n[host]\nlatency_s = 10e-6\nbytes_per_s = 200e9\n\
                     [network]\nlatency_s = 40e-6\nbytes_per_s = 25e9\n";

fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("links.toml"), LINKS).unwrap();
    dir
}

/// The part of each of 400 rows, a line each.
fn parts(of: impl Fn(usize) -> usize) -> String {
    (0..400).map(|row| of(row).to_string()).collect::<Vec<_>>().join("\n")
}

fn answer(dir: &Path, arguments: &str) -> Value {
    let all = format!("advise --device nvidia-h200 --links links.toml {arguments}");
    json(dir, &all.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn large_matrices_are_spread_over_gpus_and_small_ones_are_not() {
    let dir = folder();
    let small = answer(dir.path(), "gallery:stencil3d,n=30 --gpus 2,4");
    assert_eq!(small["best"], 1);
    let counts: Vec<&Value> = small["gpus"].as_array().unwrap().iter().map(|on| &on["count"]).collect();
    assert_eq!(counts, [1, 2, 4], "one comes first, also if not asked for");
    assert_eq!(small["gpus"][1]["limit"], "exchange");
    assert_eq!(small["gpus"][1]["extrapolated"], true, "a file is no measurement");
    let large = answer(dir.path(), "gallery:stencil3d,n=130 --gpus 1,2");
    assert_eq!(large["best"], 2);
    let two = &large["gpus"][1];
    assert!(two["speedup"].as_f64().unwrap() > 1.3, "{two}");
    // A plane of 130 x 130 entries each way.
    assert_eq!(two["exchanged_bytes"], 2 * 130 * 130 * 8);
    assert_eq!(two["most_exchanged_bytes"], 130 * 130 * 8);
    let shares = two["shares"].as_array().unwrap();
    let nnz = |share: &Value| {
        ["interior", "boundary"].map(|rows| share[rows]["nnz"].as_u64().unwrap()).iter().sum::<u64>()
    };
    assert_eq!(shares.iter().map(nnz).sum::<u64>(), large["matrix"]["nnz"].as_u64().unwrap());
    assert!(shares.iter().all(|share| share["peers"] == 1));
}

#[test]
fn the_links_of_eight_h200s_are_shipped() {
    let dir = folder();
    let all = "advise gallery:stencil3d,n=30 --device nvidia-h200 --gpus 2,8,16".split_whitespace();
    let answer = json(dir.path(), &all.collect::<Vec<_>>());
    assert_eq!(answer["links"]["source"], "nvidia-h200");
    let extrapolated = [1, 2, 3].map(|at: usize| answer["gpus"][at]["extrapolated"].as_bool().unwrap());
    assert_eq!(extrapolated, [false, false, true], "eight were measured, sixteen were not");
    let two = answer["gpus"][1]["predicted_s"].as_f64().unwrap();
    let queue = answer["links"]["queue_s"].as_f64().unwrap();
    assert!(two >= queue && queue > 2e-5, "{two} {queue}: so small a product is as long as queueing it");
}

#[test]
fn the_words_say_what_to_do() {
    let dir = folder();
    let said = |matrix: &str| {
        let all = format!("advise {matrix} --device nvidia-h200 --links links.toml --gpus 2");
        run(dir.path(), &all.split_whitespace().collect::<Vec<_>>())
    };
    let stay = said("gallery:stencil3d,n=30");
    assert!(stay.contains("\nStay on one GPU: ") && stay.contains(", limited by exchange."), "{stay}");
    assert!(stay.contains("  * extrapolated: the links are stated, not measured"), "{stay}");
    let spread = said("gallery:stencil3d,n=130");
    assert!(spread.contains("\nUse 2 GPUs: ") && spread.contains(" times as fast as one."), "{spread}");
}

#[test]
fn a_number_that_is_faster_and_used_less_is_named_beside_the_efficient_one() {
    let dir = folder();
    fs::write(dir.path().join("links.toml"), FAST).unwrap();
    let asked = "gallery:stencil3d,n=130 --gpus 2,16";
    let answer = answer(dir.path(), asked);
    assert_eq!([&answer["best"], &answer["fastest"]].map(Value::as_u64), [Some(2), Some(16)]);
    let all = format!("advise {asked} --device nvidia-h200 --links links.toml");
    let said = run(dir.path(), &all.split_whitespace().collect::<Vec<_>>());
    assert!(
        said.contains(" times as fast as one. 16 GPUs are the fastest: ") && said.contains(" % used."),
        "{said}"
    );
}

/// A GPU like an H200 with so much memory, as a data sheet.
fn sheet(memory: &str) -> String {
    format!(
        "name = \"Little GPU\"\nmultiprocessors = 132\nl2_bytes = 50e6\nmemory_bytes = {memory}\n\
         copy_bytes_per_s = 4e12\nlaunch_s = 2e-6\ncompute_capability = [9, 0]\n"
    )
}

#[test]
fn a_matrix_beyond_one_gpu_takes_the_fewest_gpus_that_hold_it() {
    let dir = folder();
    fs::write(dir.path().join("little.toml"), sheet("4e6")).unwrap();
    // 5.2 MB in CSR, with x and y 6.5.
    let asked = "advise gallery:stencil3d,n=40 --device little.toml --links links.toml --gpus";
    let with = |gpus: &str, more: &str| {
        let all = format!("{asked} {gpus} {more}");
        run(dir.path(), &all.split_whitespace().collect::<Vec<_>>())
    };
    let answer = json(dir.path(), &format!("{asked} 2,4,8").split_whitespace().collect::<Vec<_>>());
    let too_few = answer["too_few"].as_array().unwrap();
    assert_eq!(too_few[0]["count"], 1);
    assert!(too_few[0]["why"].as_str().unwrap().ends_with("the device has 4.00 MB"), "{too_few:?}");
    let gpus = answer["gpus"].as_array().unwrap();
    assert!(!gpus.is_empty());
    for on in gpus {
        assert!(on["memory_bytes"].as_u64().unwrap() <= 4_000_000, "{on}");
        assert!(on.get("speedup").is_none() && on.get("efficiency").is_none(), "{on}");
    }
    // Of so little nothing is gained by more.
    assert_eq!(answer["best"], gpus[0]["count"]);
    let said = with("2,4", "");
    assert!(said.contains("\nUse 2 GPUs: ") && said.contains("; it does not fit on one GPU."), "{said}");
    assert!(said.contains("\n  does not fit on 1 GPU: needs "), "{said}");
    let none = with("1", "");
    assert!(!none.starts_with("exit code: 0") && none.contains("on 1 GPU, needs "), "{none}");
    // Parts of which one is too large.
    let parts: Vec<&str> = (0..64_000).map(|row| if row < 60_000 { "0" } else { "1" }).collect();
    fs::write(dir.path().join("uneven"), parts.join("\n")).unwrap();
    let uneven = with("2", "--parts uneven");
    assert!(!uneven.starts_with("exit code: 0") && uneven.contains("on 2 GPUs, needs "), "{uneven}");
}

#[test]
fn eight_and_1024_gpus_over_hosts_are_extrapolated_from_a_file() {
    let dir = folder();
    let grid = "gallery:stencil2d,n=300";
    let over_hosts = answer(dir.path(), &format!("{grid} --gpus 2,8,1024"));
    let gpus = over_hosts["gpus"].as_array().unwrap();
    let counts: Vec<&Value> = gpus.iter().map(|on| &on["count"]).collect();
    assert_eq!(counts, [1, 2, 8, 1024]);
    assert!(gpus[1..].iter().all(|on| on["extrapolated"] == true), "{gpus:?}");
    // Each gives and gets what its neighbours read, at most 300 entries each way.
    assert_eq!(gpus[2]["exchanged_bytes"], 7 * 2 * 300 * 8);
    assert_eq!(gpus[2]["shares"].as_array().unwrap().len(), 8);
    assert!(gpus[3].get("shares").is_none(), "1,024 shares are not listed");
    assert_eq!(over_hosts["best"], 1);
    // Hosts of two: the network's 40 us come on top of nothing else, and a host of eight does without.
    let time = |on: &Value| on["predicted_s"].as_f64().unwrap();
    assert!(time(&gpus[2]) > 4e-5 && time(&gpus[3]) > 4e-5, "{gpus:?}");
    fs::write(dir.path().join("links.toml"), LINKS.replace("gpus_per_host = 2", "gpus_per_host = 8"))
        .unwrap();
    let on_a_host = answer(dir.path(), &format!("{grid} --gpus 8"));
    assert!(time(&on_a_host["gpus"][1]) < time(&gpus[2]) - 2e-5, "{on_a_host}");
    let words = "advise gallery:stencil2d,n=300 --device nvidia-h200 --links links.toml --gpus 1024";
    let said = run(dir.path(), &words.split_whitespace().collect::<Vec<_>>());
    assert!(said.contains("1024 *") && said.contains("  * extrapolated: the links are stated"), "{said}");
}

/// Links so fast that small matrices pay.
const FAST: &str = "gpus_per_host = 4\n[host]\nlatency_s = 1e-6\nbytes_per_s = 200e9\n";

#[test]
fn a_family_reports_the_break_even_size_of_several_gpus() {
    let dir = folder();
    fs::write(dir.path().join("links.toml"), FAST).unwrap();
    let family = answer(dir.path(), "gallery:stencil2d,points=9 --gpus 2,4 --break-even n");
    assert_eq!(family["parameter"], "n");
    let sizes = family["sizes"].as_array().unwrap();
    let at = |value: &Value| sizes.iter().find(|size| size["value"] == *value).unwrap();
    let time = |size: &Value, count: u64| {
        let on = size["gpus"].as_array().unwrap().iter().find(|on| on["count"] == count).unwrap();
        on["predicted_s"].as_f64().unwrap()
    };
    for from in family["from"].as_array().unwrap() {
        let count = from["count"].as_u64().unwrap();
        let there = at(&from["value"]);
        assert_eq!(there["nnz"], from["nnz"]);
        assert!(time(there, 1) > 1.05 * time(there, count), "{there}");
        let below = sizes.iter().rev().find(|size| size["nnz"].as_u64() < there["nnz"].as_u64());
        let below = below.expect("the smallest does not pay");
        assert!(time(below, 1) <= 1.05 * time(below, count), "{below}");
        let ratio = there["nnz"].as_f64().unwrap() / below["nnz"].as_f64().unwrap();
        assert!(ratio < 1.06, "{ratio}");
    }
    let said = |words: &str| run(dir.path(), &words.split_whitespace().collect::<Vec<_>>());
    let words = "advise gallery:stencil2d --device nvidia-h200 --links links.toml --gpus 2 --break-even";
    let spoken = said(&format!("{words} n"));
    assert!(spoken.contains("2 GPUs are faster than one from about "), "{spoken}");
    assert!(spoken.contains("extrapolated as the links are: stated, not measured"), "{spoken}");
    for (words, refusal) in [
        (format!("{words} m"), "'m' of stencil2d is none"),
        (format!("{words} points"), "'points' of stencil2d is none"),
        (words.replace("gallery:stencil2d", "A.mtx") + " n", "takes a recipe of the gallery"),
        (format!("{words} n --parts parts"), "a file of parts is for one size"),
        (format!("{words} n --reorder rcm"), "--reorder"),
        (words.replace("--gpus 2", "--gpus 1") + " n", "names no number above 1"),
    ] {
        let refused = said(&words);
        assert!(!refused.starts_with("exit code: 0") && refused.contains(refusal), "{words}: {refused}");
    }
}

#[test]
fn devices_are_compared_by_numbers_of_gpus() {
    let dir = folder();
    fs::write(dir.path().join("little.toml"), sheet("4e6")).unwrap();
    let words = "compare gallery:stencil3d,n=40 --devices nvidia-h200,nvidia-h100,little.toml --gpus 2,4 \
                 --links links.toml --price nvidia-h200=4,nvidia-h100=3 --unit dollar";
    let words: Vec<&str> = words.split_whitespace().collect();
    let answer = json(dir.path(), &words);
    let devices = answer["devices"].as_array().unwrap();
    let numbers = |device: &Value| -> Vec<u64> {
        device["gpus"].as_array().unwrap().iter().map(|on| on["count"].as_u64().unwrap()).collect()
    };
    assert_eq!([&devices[0], &devices[1]].map(numbers), [[1, 2, 4], [1, 2, 4]]);
    assert_eq!(devices[2]["too_few"][0]["count"], 1);
    let one = devices[0]["gpus"][0]["predicted_s"].as_f64().unwrap();
    for device in devices {
        for on in device["gpus"].as_array().unwrap() {
            let number = |name: &str| on[name].as_f64().unwrap();
            assert!((number("speed") - one / number("predicted_s")).abs() < 1e-12);
            assert!((number("products_per_s") * number("predicted_s") - 1.0).abs() < 1e-12);
            let price = device.get("price").and_then(Value::as_f64);
            let per_price = price.map(|price| number("products_per_s") / (price * number("count")));
            let said = on.get("products_per_s_per_price").and_then(Value::as_f64);
            assert_eq!(said.is_some(), per_price.is_some());
            assert!(said.zip(per_price).is_none_or(|(a, b)| (a / b - 1.0).abs() < 1e-12), "{on}");
        }
    }
    // As advise --gpus says it.
    let alone = "advise gallery:stencil3d,n=40 --device nvidia-h100 --links links.toml --gpus 2,4";
    let alone = json(dir.path(), &alone.split_whitespace().collect::<Vec<_>>());
    assert_eq!(alone["gpus"][1]["predicted_s"], devices[1]["gpus"][1]["predicted_s"]);
    assert_eq!(alone["best"], devices[1]["best"]);
    let said = run(dir.path(), &words);
    for part in
        ["\nFastest: ", "\nMost products for the price: 1 x nvidia-h", "does not fit on 1 GPU of little.toml"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let csv = run(dir.path(), &[&words[..], &["--csv"]].concat());
    let header = "device,device_name,price,power_w,best,count,predicted_s,low_s,high_s,speed,speedup,efficiency,limited_by,";
    assert!(csv.contains(header), "{csv}");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/csv.md");
    let promised = fs::read_to_string(pages).unwrap();
    let columns = csv.lines().find(|line| line.contains(header)).unwrap().split_once("row_max,").unwrap().1;
    assert!(promised.contains(columns), "docs/csv.md does not have {columns}");
    assert_eq!(csv.lines().filter(|line| line.contains("stencil3d")).count(), 8, "{csv}");
    let two = run(dir.path(), &[&words[..], &["gallery:stencil2d"]].concat());
    assert!(two.contains("--gpus takes one matrix, but 2 were given"), "{two}");
    assert!(two.contains("hint: name one of them, or leave out --gpus"), "{two}");
    let many = run(dir.path(), &[&words[..], &["--iterations", "9"]].concat());
    assert!(many.contains("--iterations cannot be used with --gpus"), "{many}");
}

#[test]
fn a_partitioner_decides_who_exchanges_what() {
    let dir = folder();
    // Every second row: each reads its neighbours from the other part.
    fs::write(dir.path().join("comb"), parts(|row| row % 2)).unwrap();
    fs::write(dir.path().join("halves"), parts(|row| row / 200)).unwrap();
    let got = |parts: &str| {
        let all = answer(dir.path(), &format!("gallery:stencil2d,n=20 --gpus 2 --parts {parts}"));
        assert_eq!(all["deal"], parts);
        all["gpus"][1]["exchanged_bytes"].as_u64().unwrap()
    };
    assert_eq!(got("comb"), 400 * 8);
    assert_eq!(got("halves"), 2 * 20 * 8);
}

#[test]
fn invalid_gpu_flags_and_links_are_refused_with_a_reason() {
    let dir = folder();
    fs::write(dir.path().join("three"), "0\n1\n2\n").unwrap();
    fs::write(dir.path().join("slow.toml"), LINKS.replace("200e9", "0")).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/nvidia-h200/links.json");
    let none = fs::read_to_string(shipped).unwrap().replace("\"gpus_per_host\": 8", "\"gpus_per_host\": 0");
    fs::write(dir.path().join("none.json"), none).unwrap();
    fs::write(dir.path().join("odd.toml"), LINKS.replace("[host]", "[hosts]")).unwrap();
    let refused = |arguments: &str| {
        let all = format!("advise {arguments} --device nvidia-h200");
        let said = run(dir.path(), &all.split_whitespace().collect::<Vec<_>>());
        assert!(!said.starts_with("exit code: 0"), "{arguments}: {said}");
        said
    };
    let grid = "gallery:stencil2d,n=20";
    for (arguments, words) in [
        (format!("{grid} --gpus 0 --links links.toml"), "'0' is not a number of GPUs from 1 to 8192"),
        (format!("{grid} --links links.toml"), "--gpus"),
        (format!("{grid} {grid} --gpus 2 --links links.toml"), "--gpus takes one matrix, but 2 were given"),
        (format!("{grid} {grid} --gpus 2 --links links.toml"), "hint: name one of them, or leave out --gpus"),
        (format!("{grid} --gpus 2 --links none.toml"), "none.toml"),
        (format!("{grid} --gpus 2 --links slow.toml"), "slow.toml:4: host.bytes_per_s = 0e0 is not possible"),
        (format!("{grid} --gpus 2 --links odd.toml"), "odd.toml:"),
        (format!("{grid} --gpus 2 --links none.json"), "a host has a GPU at least"),
        (
            format!("{grid} --gpus 2 --links links.toml --parts three"),
            "3 rows were given a part, the matrix has 400",
        ),
        (format!("{grid} --gpus 2 --links links.toml --csv"), "--csv cannot be used with --gpus"),
        (
            format!("{grid} --gpus 2 --links links.toml --verify-all"),
            "--verify-all cannot be used with --gpus",
        ),
    ] {
        let said = refused(&arguments);
        assert!(said.contains(words), "{arguments}: {said}");
    }
    fs::write(dir.path().join("three"), parts(|row| row % 3)).unwrap();
    let said = refused(&format!("{grid} --gpus 2 --links links.toml --parts three"));
    assert!(said.contains("three deals out 3 parts, and --gpus asks for 2"), "{said}");
}

#[test]
fn impossible_links_are_refused_with_line_and_unit() {
    let dir = folder();
    for (from, to, says) in [
        (
            "200e9",
            "1e308",
            "odd.toml:4: host.bytes_per_s = 1e308 is not possible (bytes a second, 1 MB/s to 100 TB/s)",
        ),
        ("200e9", "1e-300", "odd.toml:4: host.bytes_per_s = 1e-300 is not possible"),
        ("200e9", "200", "odd.toml:4: host.bytes_per_s = 200 looks like GB/s: write 200e9"),
        ("25e9", "nan", "odd.toml:7: network.bytes_per_s = NaN is not possible"),
        ("10e-6", "1e308", "odd.toml:3: host.latency_s = 1e308 is not possible (seconds, 0 to 1 s)"),
        ("40e-6", "40", "odd.toml:6: network.latency_s = 40 looks like us: write 40e-6"),
        ("40e-6", "-1", "odd.toml:6: network.latency_s = -1e0 is not possible"),
        ("[network]", "per_peer_s = 1e300\n[network]", "odd.toml:5: host.per_peer_s = 1e300 is"),
        ("gpus_per", "queue_s = inf\ngpus_per", "odd.toml:1: queue_s = inf is not possible"),
    ] {
        fs::write(dir.path().join("odd.toml"), LINKS.replace(from, to)).unwrap();
        let words = "advise gallery:stencil2d,n=20 --device nvidia-h200 --gpus 2 --links odd.toml";
        let said = run(dir.path(), &words.split(' ').collect::<Vec<_>>());
        assert!(said.starts_with("exit code: 2") && said.contains(says), "{from} -> {to}: {said}");
    }
}

#[test]
fn too_many_gpus_are_refused_at_once() {
    let dir = folder();
    let list = (1..=3000).map(|count| count.to_string()).collect::<Vec<_>>().join(",");
    for (gpus, says) in [
        ("65536", "'65536' is not a number of GPUs from 1 to 8192"),
        ("8192,8191", "16383 GPUs over all numbers of them: at most 8192 are predicted at one time"),
        (&list, "4501499 GPUs over all numbers of them"),
    ] {
        for command in ["advise", "compare"] {
            let device = if command == "advise" { "--device" } else { "--devices" };
            let begun = std::time::Instant::now();
            let grid = "gallery:stencil2d,n=20";
            let said = run(
                dir.path(),
                &[command, grid, device, "nvidia-h200", "--links", "links.toml", "--gpus", gpus],
            );
            assert_exit(&said, 2, says);
            assert!(begun.elapsed().as_secs() < 10, "{command} took {:?}", begun.elapsed());
        }
    }
}
