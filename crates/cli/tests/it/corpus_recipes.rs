//! `scripts/gallery-corpus` makes what it says: recipes that are accepted, of all generators and sizes, none twice.

use sparsight::matrix::derived::instance;
use sparsight::matrix::gallery::{Recipe, generators};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn corpus(arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/gallery-corpus");
    let output = Command::new("python3").arg(script).args(arguments).output().expect("python3 is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_corpus_covers_every_generator_and_size_within_its_budget() {
    let text = corpus(&[]);
    let recipes: Vec<Recipe> = text.lines().map(|line| line.parse().expect(line)).collect();
    assert!(recipes.len() >= 600);
    let names: Vec<String> = recipes.iter().map(ToString::to_string).collect();
    let instances: BTreeSet<&str> = names.iter().map(|name| instance(name)).collect();
    // Where few parameters can be small, two seeds of one matrix may be drawn; they are no more to learn from.
    assert!(instances.len() >= 600, "{} differ in more than their seed", instances.len());

    let outside = |r: &&Recipe| {
        let size = r.size();
        let small = size.nrows.max(size.ncols) <= 60_000_000;
        !(small && (500..=120_000_000).contains(&size.nnz))
    };
    let outside: Vec<(String, _)> =
        recipes.iter().filter(outside).map(|r| (r.to_string(), r.size().nnz)).collect();
    assert!(outside.is_empty(), "too small or too large: {outside:#?}");
    let mut decades: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for recipe in &recipes {
        decades.entry(recipe.generator().name).or_default().insert(recipe.size().nnz.ilog10());
    }
    for generator in generators() {
        let covered = decades.get(generator.name).map_or(0, |d| d.range(3..8).count());
        assert_eq!(covered, 5, "{} has matrices of {:?}", generator.name, decades.get(generator.name));
    }
    // About 0.1 us a non-zero to make, convert and check it in every format and both value types.
    let total: u128 = recipes.iter().map(|recipe| recipe.size().nnz).sum();
    assert!(total < 3_000_000_000, "{total} non-zeros in all");
}

#[test]
fn the_same_arguments_give_the_same_lines_and_another_seed_others() {
    assert_eq!(corpus(&["--count", "40"]), corpus(&["--count", "40"]));
    assert_ne!(corpus(&["--count", "40"]), corpus(&["--count", "40", "--seed", "1"]));
    assert_eq!(corpus(&["--count", "40"]).lines().count(), 40);
}
