//! Every field of every answer stands in docs/answers.md, and is of the type that it is said to have there: in the section of its schema,
//! or in the one of what answers share.

use crate::support::{add_corpus, made_up_profiles};
use serde_json::{Value, json};
use sparsight::answer::{
    AdviseAnswer, AdviseGpusAnswer, AdviseManyAnswer, Answer, BenchAnswer, BenchedBefore, BreakEvenAnswer,
    CalibrateAnswer, CompareAnswer, CompareGpusAnswer, CompareManyAnswer, DeviceSummary, DevicesAnswer,
    ErrorAnswer, GalleryAnswer, InfoAnswer, InfoManyAnswer, KernelSourceAnswer, KernelsAnswer, MeasuredPlan,
    OwnCandidate, PlanAnswer, ProfileAnswer, ReportAnswer,
};
use sparsight::kernels::DeviceKind;
use sparsight::matrix::{Dtype, Seconds};
use sparsight::model::{LinkRate, Links};
use sparsight::profile::{GridName, MeasuredExchange};
use sparsight::records::{DamagedLine, RepairedFile};
use sparsight_lab::answer::{
    EvaluateAnswer, EvaluateTransferAnswer, EvaluateWithoutAnswer, FitAnswer, ForeignAnswer, MeasureAnswer,
    PredictAnswer, PredictManyAnswer, ProfileLinksAnswer, ProfilesAddAnswer, ProfilesIndexAnswer,
    RepairAnswer, RulesAnswer, TransferAnswer, TransferManyAnswer, UnreadableMatrix,
};
use sparsight_lab::received::{HeldOutQuality, IndexedProfile};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const GRID: &str = "gallery:stencil2d,n=300";

/// Fields whose names are data: of models, kernels, origins.
const MAPS: [&str; 4] = ["trained_on", "reference_origins", "log_errors", "cutting"];

/// Fields of a section in the tables: names, and the types that each may have (it may stand in several tables).
type Section = BTreeMap<String, BTreeSet<String>>;

/// The first two columns of the tables, by schema; under an empty name those that answers share.
fn documented() -> BTreeMap<String, Section> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/answers.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut known: BTreeMap<String, Section> = BTreeMap::new();
    // What stands before the first section are no fields.
    for section in text.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap_or_default().trim_matches('`');
        let schema = if title.starts_with("sparsight/") { title } else { "" };
        let fields = known.entry(schema.to_owned()).or_default();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let names: Vec<&str> =
                cells[1].split('`').filter(|word| !word.trim_matches([',', ' ']).is_empty()).collect();
            let kinds: Vec<&str> = cells[2].split(", ").filter(|word| !word.ends_with("optional")).collect();
            for (at, name) in names.iter().enumerate() {
                // One type each, or one for all.
                let kind = if kinds.len() == names.len() { kinds[at] } else { kinds.first().unwrap_or(&"") };
                fields.entry((*name).to_owned()).or_default().insert((*kind).to_owned());
            }
        }
    }
    known
}

/// True if a value is of a type, as the page words types.
fn is_of(kind: &str, value: &Value) -> bool {
    if let Some(kind) = kind.strip_suffix(" or null") {
        return value.is_null() || is_of(kind, value);
    }
    let all = |of: &str| value.as_array().is_some_and(|all| all.iter().all(|one| is_of(of, one)));
    match kind {
        "count" => value.is_u64(),
        "number" => value.is_number(),
        // Rules go by their names.
        "text" | "*rules*" => value.is_string(),
        "true or false" => value.is_boolean(),
        "true" => *value == Value::Bool(true),
        "object" => value.is_object(),
        "list" => value.is_array(),
        "list of texts" => all("text"),
        "list of counts" => all("count"),
        "list of numbers" => all("number"),
        "list of pairs" => all("list"),
        shared if shared.starts_with('*') => {
            value.is_object() || shared == "*candidate*" && value.is_string()
        }
        many if many.starts_with("list of *") => all("object"),
        _ => {
            let words: Vec<&str> = kind.split(' ').collect();
            let count = |word: &str| match word {
                "two" => 2,
                "three" => 3,
                "four" => 4,
                "six" => 6,
                "seven" => 7,
                other => panic!("docs/answers.md: '{other}' of '{kind}' is no type"),
            };
            match words[..] {
                [many, "counts"] => all("count") && value.as_array().unwrap().len() == count(many),
                [many, "numbers"] => all("number") && value.as_array().unwrap().len() == count(many),
                ["list", "of", many, "objects"] => {
                    all("object") && value.as_array().unwrap().len() == count(many)
                }
                ["list", "of", many, "lists"] => {
                    all("list") && value.as_array().unwrap().len() == count(many)
                }
                _ => panic!("docs/answers.md: '{kind}' is no type"),
            }
        }
    }
}

/// A table of other people's times: enough matrices for every method.
fn foreign_times() -> String {
    let mut table = "gpu\tname\trows\tcols\tnnz\tshort_us\tlong_us\n".to_owned();
    for (gpu, matrix) in (0..4).flat_map(|gpu| (1..130).map(move |matrix| (gpu, matrix))) {
        let (rows, time) = (100 * matrix, 5 + gpu + matrix * (gpu + 1));
        writeln!(table, "g{gpu}\tm{matrix}\t{rows}\t{rows}\t{}\t{time}\t{}", 5 * rows, time + 9).unwrap();
    }
    table
}

/// Calls `look` with every field and its value.
fn fields(value: &Value, look: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                look(name, value);
                if !MAPS.contains(&name.as_str()) {
                    fields(value, look);
                }
            }
        }
        Value::Array(all) => {
            for one in all {
                fields(one, look);
            }
        }
        _ => {}
    }
}

/// Fields of an answer with that schema that the page does not list, and those that differ from it: `name: value`.
fn undocumented(schema: &str, answer: &Value) -> Vec<String> {
    let known = documented();
    let own = known.get(schema).unwrap_or_else(|| panic!("no section for {schema}"));
    // Of several matrices each is as one.
    let of_one = known.get(&schema.replace("-many/", "/")).unwrap_or(own);
    let mut wrong = BTreeSet::new();
    fields(answer, &mut |name, value| {
        let here = [own, of_one, &known[""]].into_iter().filter_map(|section| section.get(name));
        let mut kinds: BTreeSet<&str> = here.flatten().map(String::as_str).collect();
        if kinds.is_empty() {
            wrong.insert(name.to_owned());
            return;
        }
        // Without a type it is as in another section.
        if kinds.remove("") {
            let elsewhere = known.values().filter_map(|section| section.get(name)).flatten();
            kinds.extend(elsewhere.map(String::as_str).filter(|kind| !kind.is_empty()));
        }
        if !kinds.into_iter().any(|kind| is_of(kind, value)) {
            wrong.insert(format!("{name}: {value}"));
        }
    });
    wrong.into_iter().collect()
}

/// Checks an answer that names its schema.
fn assert_documented(answer: &Value) {
    let schema = answer["schema"].as_str().unwrap();
    let missing = undocumented(schema, answer);
    assert!(missing.is_empty(), "{schema}: {missing:?}");
}

#[test]
fn a_field_that_is_not_described_is_found() {
    let answer = json!({ "schema": "sparsight/advise/1", "candidates": [{ "id": "x", "made_up": 1 }] });
    assert_eq!(undocumented("sparsight/advise/1", &answer), ["made_up"]);
    // What another answer has is not described here.
    assert_eq!(undocumented("sparsight/advise/1", &json!({ "nccl": "2" })), ["nccl"]);
    let many = json!({ "matrices": [{ "terms": [], "strip_rows": 640 }] });
    assert_eq!(undocumented("sparsight/predict-many/1", &many), ["strip_rows"]);
}

#[test]
fn a_field_of_another_type_is_found() {
    let answer = json!({ "matrix": { "nnz": 1.5, "name": 7 }, "equal": ["a", 1], "dtype": "f64", "gains_nothing": true });
    assert_eq!(undocumented("sparsight/advise/1", &answer), ["equal: [\"a\",1]", "name: 7", "nnz: 1.5"]);
    for (kind, value, is) in [
        ("two counts", json!([1, 2]), true),
        ("two counts", json!([1]), false),
        ("two counts or null", Value::Null, true),
        ("count", json!(-1), false),
        ("true", json!(false), false),
        ("*rules*", json!("banded"), true),
        ("list of *device*", json!([1]), false),
    ] {
        assert_eq!(is_of(kind, &value), is, "{kind}: {value}");
    }
}

#[test]
fn every_answer_has_a_section_and_every_section_an_answer() {
    let schemas = [
        AdviseAnswer::SCHEMA,
        AdviseManyAnswer::SCHEMA,
        AdviseGpusAnswer::SCHEMA,
        BenchAnswer::SCHEMA,
        BreakEvenAnswer::SCHEMA,
        CalibrateAnswer::SCHEMA,
        CompareAnswer::SCHEMA,
        CompareGpusAnswer::SCHEMA,
        CompareManyAnswer::SCHEMA,
        DevicesAnswer::SCHEMA,
        ErrorAnswer::SCHEMA,
        EvaluateAnswer::SCHEMA,
        EvaluateTransferAnswer::SCHEMA,
        EvaluateWithoutAnswer::SCHEMA,
        FitAnswer::SCHEMA,
        ForeignAnswer::SCHEMA,
        GalleryAnswer::SCHEMA,
        InfoAnswer::SCHEMA,
        InfoManyAnswer::SCHEMA,
        KernelSourceAnswer::SCHEMA,
        KernelsAnswer::SCHEMA,
        MeasureAnswer::SCHEMA,
        PlanAnswer::SCHEMA,
        PredictAnswer::SCHEMA,
        PredictManyAnswer::SCHEMA,
        ProfileAnswer::SCHEMA,
        ProfileLinksAnswer::SCHEMA,
        ProfilesAddAnswer::SCHEMA,
        ProfilesIndexAnswer::SCHEMA,
        RepairAnswer::SCHEMA,
        ReportAnswer::SCHEMA,
        RulesAnswer::SCHEMA,
        TransferAnswer::SCHEMA,
        TransferManyAnswer::SCHEMA,
        // Of the drop-in, whose own tests compare its fields.
        "sparsight/run/1",
    ];
    let sections: BTreeSet<String> = documented().into_keys().filter(|schema| !schema.is_empty()).collect();
    assert_eq!(sections, BTreeSet::from(schemas.map(str::to_owned)));
}

#[test]
fn every_field_of_the_golden_answers_is_described() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    let mut answers = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let stdout = text.split_once("----- stdout -----\n").map_or("", |(_, stdout)| stdout);
        if stdout.starts_with('{') {
            assert_documented(&serde_json::from_str(stdout).unwrap());
            answers += 1;
        }
    }
    assert!(answers >= 3, "{answers} golden answers are JSON");
}

#[test]
fn every_field_of_a_prediction_and_an_evaluation_is_described() {
    let dir = made_up_profiles();
    for name in ["made-up", "made-up-cpu"] {
        let corpus = [("a/grid", GRID, 1.25), ("b/cube", "gallery:stencil3d,n=30", 0.8)];
        add_corpus(&dir.path().join(name), &corpus);
    }
    let links = "gpus_per_host = 2\n[host]\nlatency_s = 1e-5\nbytes_per_s = 2e11\n";
    fs::write(dir.path().join("fast.toml"), links.replace("1e-5", "1e-6")).unwrap();
    let little = "name = \"Little GPU\"\nmultiprocessors = 132\nl2_bytes = 50e6\nmemory_bytes = 4e6\n\
                  copy_bytes_per_s = 4e12\nlaunch_s = 2e-6\ncompute_capability = [9, 0]\n";
    fs::write(dir.path().join("little.toml"), little).unwrap();
    fs::write(dir.path().join("links.toml"), links).unwrap();
    fs::write(dir.path().join("times.tsv"), foreign_times()).unwrap();
    for command in [
        "lab fit made-up --train a/",
        "lab fit made-up-cpu",
        "advise gallery:arrow,n=20000 --profile made-up --iterations 100",
        "advise gallery:stencil2d,n=60,shuffle=1 --profile made-up --reorder rcm",
        "advise gallery:arrow,n=20000 --device nvidia-h200",
        "advise gallery:stencil2d,n=60 --device nvidia-h200 --iteration pdhg --iterations 1000",
        "lab predict gallery:arrow,n=20000 --profile made-up --model strip --kernel csr-vector,ell",
        "plan gallery:kkt,n=20000,m=8000,row=200 --profile made-up --model strip",
        "plan gallery:stencil2d,n=60 --device nvidia-h200 --strips 2 --values f32",
        "compare gallery:arrow,n=20000 --devices made-up,made-up-cpu --price made-up=8000 --unit EUR \
         --power made-up-cpu=100 --kernel csr-scalar --iterations 100",
        "lab transfer gallery:stencil2d,n=300 --from made-up --to made-up",
        "lab foreign times.tsv --matrices 0,2 --draws 2",
        "lab evaluate made-up",
        "lab evaluate made-up-cpu --from made-up",
        "lab evaluate made-up --without-each",
        "info gallery:arrow,n=20000 --profile made-up",
        "kernels --profile made-up",
        "kernels --source hyb/b256/f64",
        "rules made-up --candidates csr --leaves 4 --train a/",
        "advise gallery:arrow,n=20000 gallery:stencil2d,n=60 --device nvidia-h200 --iterations 100",
        "info gallery:arrow,n=2000 gallery:stencil2d,n=60 --profile made-up",
        "lab predict gallery:arrow,n=2000 gallery:stencil2d,n=60 --profile made-up --model strip --kernel coo",
        "compare gallery:arrow,n=2000 gallery:stencil2d,n=60 --devices made-up,made-up-cpu",
        "lab transfer gallery:stencil2d,n=300 gallery:stencil2d,n=60 --from made-up --to made-up",
        "advise gallery:stencil2d,n=60 --device nvidia-h200 --gpus 2 --links links.toml",
        "advise gallery:stencil3d,n=40 --device little.toml --gpus 2 --links links.toml",
        "advise gallery:stencil2d --device nvidia-h200 --gpus 2 --break-even n --links fast.toml",
        "compare gallery:stencil3d,n=40 --devices nvidia-h200,little.toml --gpus 2 --price nvidia-h200=4 --power \
         nvidia-h200=700 --links links.toml",
        "devices",
        "gallery",
        "bench gallery:arrow,n=2000 --device cpu --quick --kernel csr-scalar,ell --block 64",
    ] {
        assert_documented(&crate::support::json(dir.path(), &command.split_whitespace().collect::<Vec<_>>()));
    }
    // An answer that is no.
    let plan = "plan gallery:long-rows,n=3000,long=3,length=1000 --device nvidia-h200 --formats ell --json";
    let out = crate::support::run(dir.path(), &plan.split(' ').collect::<Vec<_>>());
    let object =
        out.split("----- stdout -----\n").nth(1).unwrap().split("----- stderr -----").next().unwrap();
    assert_documented(&serde_json::from_str(object).unwrap());
}

#[test]
fn every_field_of_a_shared_profile_is_described() {
    let quality = HeldOutQuality {
        dtype: Dtype::F64,
        matrices: 6,
        best_over_chosen: 0.97,
        best_over_fixed: 0.86,
        median_error: 0.03,
        covered: None,
    };
    let profile = IndexedProfile {
        name: "gpu".to_owned(),
        chip: "Made-up GPU".to_owned(),
        date: "2026-01-02".to_owned(),
        kernels: "0123".to_owned(),
        quality: vec![quality.clone()],
        file: "gpu.tar.gz".to_owned(),
        bytes: 7,
        sha256: "89ab".to_owned(),
    };
    let index = ProfilesIndexAnswer { file: PathBuf::from("index.json"), profiles: vec![profile.clone()] };
    assert_documented(&serde_json::from_str(&index.to_json()).unwrap());
    let added = ProfilesAddAnswer {
        profile,
        indexed_quality: vec![quality],
        same_kernels: true,
        folder: PathBuf::from("p/gpu"),
    };
    assert_documented(&serde_json::from_str(&added.to_json()).unwrap());
}

#[test]
fn every_field_of_measured_answers_is_described() {
    let device = DeviceSummary {
        name: "Made-up CPU".to_owned(),
        kind: DeviceKind::Cpu,
        multiprocessors: 4,
        copy_bytes_per_s: 5e10,
        launch_s: Seconds(2e-6),
        profile: Some("made-up-cpu".to_owned()),
        profile_date: Some("2026-01-02".to_owned()),
        rescaled_from: Some("nvidia-h200".to_owned()),
        profile_launch_s: Some(Seconds(1.4e-6)),
        noise: Some("a load".to_owned()),
        assumptions: vec!["the same clock".to_owned()],
    };
    let calibrated = CalibrateAnswer {
        device: device.clone(),
        folder: PathBuf::from("c"),
        matrices: 10,
        weights: [1.0, 1.1, 0.9],
        log_sd: 0.06,
    };
    assert_documented(&serde_json::from_str(&calibrated.to_json()).unwrap());
    let profiled = ProfileAnswer {
        device,
        folder: PathBuf::from("p"),
        grid: GridName::Quick,
        points: 3,
        measured: 1,
        beyond_bound: 1,
        left: 0,
        failed: 1,
        matrices: Some(29),
        dtypes: Dtype::ALL.to_vec(),
    };
    let unreadable = UnreadableMatrix { matrix: "a/broken".to_owned(), why: "no banner".to_owned() };
    let measured = MeasureAnswer {
        shard: Some("1/2".to_owned()),
        unreadable: vec![unreadable],
        ..MeasureAnswer::default()
    };
    for text in [profiled.to_json(), measured.to_json()] {
        assert_documented(&serde_json::from_str(&text).unwrap());
    }
    let damaged = vec![DamagedLine { line: 7, reason: "no record".to_owned() }];
    let (path, set_aside) = (PathBuf::from("p/cuts.jsonl"), PathBuf::from("p/cuts.jsonl.set-aside-1"));
    let repaired =
        vec![RepairedFile { path, kept: 6, damaged, unproven: 0, unpacking: Vec::new(), set_aside }];
    let repaired = RepairAnswer { folder: PathBuf::from("p"), repaired };
    assert_documented(&serde_json::from_str(&repaired.to_json()).unwrap());
    let run = MeasuredPlan {
        what: "fused".to_owned(),
        plan: "csr-scalar/b64/f64".to_owned(),
        predicted_s: Some(Seconds(1e-6)),
        time_s: Some(Seconds(1e-6)),
        spread: Some(0.01),
        sm_mhz: Some(1980),
        throttled: Some(2),
        preparation_s: Some(Seconds(1e-3)),
        failed: Some("wrong".to_owned()),
    };
    let reported = ReportAnswer { file: PathBuf::from("a.html"), panels: vec!["times"] };
    assert_documented(&serde_json::from_str(&reported.to_json()).unwrap());
    let rate = LinkRate { latency_s: Seconds(1e-5), per_peer_s: Seconds(0.0), bytes_per_s: 2e11 };
    let links = ProfileLinksAnswer {
        folder: PathBuf::from("p"),
        gpus: vec!["Made-up GPU".to_owned(); 2],
        nccl: "2.28.3".to_owned(),
        links: Links {
            gpus_per_host: 2,
            host: rate,
            network: None,
            join_s: Seconds(4e-6),
            queue_s: Seconds(2e-5),
        },
        measured: vec![MeasuredExchange { gpus: 2, bytes: 64, time_s: Seconds(1e-5) }],
    };
    assert_documented(&serde_json::from_str(&links.to_json()).unwrap());
    let before = BenchedBefore { before_s: Seconds(1e-6), over_before: 1.1, beyond_spread: true };
    let missing = undocumented(BenchAnswer::SCHEMA, &json!(before));
    assert!(missing.is_empty(), "{missing:?}");
    let own = OwnCandidate {
        id: "my.cu/b64/f64".to_owned(),
        format: "csr".parse().unwrap(),
        kernel: "my.cu".to_owned(),
        block: 64,
        dtype: Dtype::F64,
        own: true,
    };
    let missing = undocumented(BenchAnswer::SCHEMA, &json!(own));
    assert!(missing.is_empty(), "{missing:?}");
    let missing = undocumented(PlanAnswer::SCHEMA, &json!({ "measured": [run] }));
    assert!(missing.is_empty(), "{missing:?}");
}
