//! A table of other people's times, made up so that the right answers are known.

use sparsight_lab::foreign::{
    ForeignDraws, ForeignEvaluation, ForeignMethod, ForeignTable, evaluate_foreign,
};
use std::fmt::Write as _;
use std::fs;
use tempfile::TempDir;

const MATRICES: usize = 140;

/// `one` takes a launch and its bytes; `twice` twice as long; `line` a launch, half of `one` and its bytes; `late` a start more.
fn table() -> String {
    let mut text = "gpu\tname\trows\tcols\tnnz\trow_max\trow_variance\tshort_us\tlong_us\n".to_owned();
    for matrix in 0..MATRICES {
        let rows = 100 * (matrix + 1) * (matrix % 7 + 1);
        let nnz = rows * (matrix % 13 + 2);
        let bytes = (12 * nnz + 4 * (rows + 1) + 16 * rows) as f64;
        let one = [5.0 + bytes / 1e5, 9.0 + bytes / 2e5];
        let gpus = [
            ("one", one),
            ("twice", one.map(|t| 2.0 * t)),
            ("line", one.map(|t| 1.0 + 0.5 * t + bytes / 1e6)),
            ("late", one.map(|t| 3.0 + t)),
        ];
        for (gpu, [short, long]) in gpus {
            let row_max = matrix % 13 + 5;
            writeln!(text, "{gpu}\tm{matrix}\t{rows}\t{rows}\t{nnz}\t{row_max}\t1.5\t{short}\t{long}")
                .unwrap();
        }
    }
    text
}

fn read(text: &str) -> Result<ForeignTable, sparsight::Error> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("table.tsv");
    fs::write(&path, text).unwrap();
    ForeignTable::read(&path)
}

fn median(of: &ForeignEvaluation, from: &str, to: &str, matrices: usize, method: ForeignMethod) -> f64 {
    let is_of = |row: &&sparsight_lab::foreign::ForeignError| {
        (row.from.as_str(), row.to.as_str(), row.matrices, row.method) == (from, to, matrices, method)
            && row.format.is_none()
            && row.size.is_none()
    };
    of.errors.iter().find(is_of).expect("every pair has a row").median
}

#[test]
fn equations_find_the_numbers_that_made_the_times() {
    let table = read(&table()).unwrap();
    assert_eq!(table.formats, ["short", "long"]);
    let position = |name| table.gpus.iter().position(|gpu| gpu.name == name).unwrap();
    let all = vec![(0..4).collect::<Vec<_>>()];
    let draws = ForeignDraws { matrices: vec![0, 10], draws: 3, seed: 7 };
    let judged = evaluate_foreign(&table, &all, &draws);
    // Twice as long is half as much too little, and one factor says so.
    assert!((median(&judged, "one", "twice", 0, ForeignMethod::Unchanged) - 0.5).abs() < 1e-12);
    assert!(median(&judged, "one", "twice", 10, ForeignMethod::OneFactor) < 1e-9);
    assert!(median(&judged, "one", "late", 10, ForeignMethod::Affine) < 1e-6);
    assert!(median(&judged, "one", "late", 10, ForeignMethod::OneFactor) > 0.01);
    assert!(median(&judged, "one", "line", 10, ForeignMethod::Plain) < 1e-6);
    // What other pairs teach is smooth: nearly right, and better than one factor where that is not enough.
    let learned = median(&judged, "one", "line", 10, ForeignMethod::Learned);
    assert!(learned < 0.03, "{learned}");
    assert!(learned < median(&judged, "one", "line", 10, ForeignMethod::OneFactor));
    // The least time of `one` is the least of `twice`; nothing is chosen better than the best.
    assert!(judged.choices.iter().all(|row| row.best_over_chosen > 0.0 && row.best_over_chosen <= 1.0));
    let unchanged = judged.choices.iter().find(|row| {
        (row.from.as_str(), row.to.as_str(), row.method) == ("one", "twice", ForeignMethod::Unchanged)
    });
    assert!((unchanged.unwrap().best_over_chosen - 1.0).abs() < 1e-12);
    assert_eq!(
        judged.coverage.len(),
        8,
        "each of four GPUs, with none and with ten matrices; without facts learned alone"
    );
    // A group has its own pairs only; equal seeds draw the same.
    let two = vec![vec![position("one"), position("twice")]];
    let once = evaluate_foreign(&table, &two, &draws);
    assert!(once.errors.iter().all(|row| row.from != "line" && row.to != "line"));
    assert_eq!(once, evaluate_foreign(&table, &two, &draws));
}

#[test]
fn the_products_rescaling_carries_to_half_the_rate_of_memory_and_its_intervals_hold() {
    let mut text = "gpu\tname\trows\tcols\tnnz\tcsr_us\n".to_owned();
    for matrix in 0..MATRICES {
        let rows = 100 * (matrix + 1) * (matrix % 7 + 1);
        let nnz = rows * (matrix % 13 + 2);
        let bytes = (12 * nnz + 4 * (rows + 1) + 16 * rows) as f64;
        // 100 GB/s and 50; a launch of 5 us and of 6.
        for (gpu, time) in [("quick", 5.0 + bytes / 1e5), ("half", 6.0 + bytes / 0.5e5)] {
            writeln!(text, "{gpu}\tm{matrix}\t{rows}\t{rows}\t{nnz}\t{time}").unwrap();
        }
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("facts.tsv");
    fs::write(&path, "gpu\tmemory_gb_per_s\tl2_mb\nquick\t100\t0.001\nhalf\t50\t0.001\n").unwrap();
    let mut table = read(&text).unwrap();
    table.read_facts(&path).unwrap();
    let draws = ForeignDraws { matrices: vec![0, 10], draws: 3, seed: 7 };
    let judged = evaluate_foreign(&table, &[vec![0, 1]], &draws);
    for matrices in [0, 10] {
        let of = |method| median(&judged, "quick", "half", matrices, method);
        assert!(of(ForeignMethod::Calibrated) < 0.05, "{}", of(ForeignMethod::Calibrated));
        assert!(of(ForeignMethod::Unchanged) > 0.2);
        let held = judged.coverage.iter().find(|row| (row.to.as_str(), row.matrices) == ("half", matrices));
        let held = held.unwrap();
        assert_eq!(held.method, ForeignMethod::Calibrated, "two GPUs teach nothing");
        assert!(held.inside > 0.8 && held.high_over_low > 1.0, "{held:?}");
    }
    let wide = |matrices| judged.coverage.iter().find(|row| row.matrices == matrices).unwrap().high_over_low;
    assert!(wide(0) > 2.0 * wide(10), "facts alone leave more open");
}

#[test]
fn a_table_that_cannot_be_read_says_where() {
    let said = |text: &str| read(text).unwrap_err().to_string();
    let failed = read(&table().replacen("\t1.5\t", "\t1.5\t0.0006\t7\t", 1)).unwrap();
    assert_eq!(failed.implausible, 1, "a time that no launch takes");
    let header = "gpu\tname\trows\tcols\tnnz\tcsr_us\n";
    assert!(said("gpu\tname\trows\tcols\n").contains("no column nnz"));
    assert!(said("gpu\tname\trows\tcols\tnnz\n").contains("FORMAT_us"));
    assert!(said(&format!("{header}a\tm\t3\t3\t7\tquick\n")).contains(":2: csr_us: 'quick' is no number"));
    assert!(said(&format!("{header}a\tm\t0\t3\t7\t1\n")).contains("rows is not a number from 1 on"));
    assert!(said(&format!("{header}a\t\t3\t3\t7\t1\n")).contains("name is empty"));
    let table = read(&format!("{header}a\tm\t3\t3\t7\t\nb\tm\t3\t3\t7\t2\n")).unwrap();
    assert!(table.gpus[0].times[0].is_nan() && (table.gpus[1].times[0] - 2e-6).abs() < 1e-18);
}
