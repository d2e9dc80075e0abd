//! The gallery keeps its promises: recipes read back, seeds decide, and structures are what they are called.

use sparsight_matrix::gallery::{GalleryError, Generator, PREFIX, Recipe, Value, generators};
use sparsight_matrix::{Csr, Features};
use std::collections::BTreeSet;
use std::fmt::Write;

fn recipe(text: &str) -> Recipe {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn make(text: &str) -> Csr<f64> {
    recipe(text).generate().unwrap()
}

/// A recipe of each generator with dimensions of at most `small`.
fn small_recipes(small: u64) -> Vec<String> {
    let recipe = |generator: &Generator| {
        let dimensions = generator.parameters.iter().filter_map(|p| match (p.name, p.default) {
            ("scale", _) => Some(format!(",scale={}", small.min(8))),
            (name @ ("n" | "rows" | "cols" | "m"), Value::Whole(default)) => {
                Some(format!(",{name}={}", small.min(default)))
            }
            _ => None,
        });
        format!("{}{}", generator.name, dimensions.collect::<String>())
    };
    generators().iter().map(recipe).collect()
}

#[test]
fn every_generator_has_a_name_of_its_own_and_defaults_that_it_accepts() {
    let mut names: Vec<&str> = generators().iter().map(|generator| generator.name).collect();
    assert!(names.len() >= 12);
    for generator in generators() {
        let mut text = generator.name.to_owned();
        for parameter in generator.parameters {
            write!(text, ",{}={}", parameter.name, parameter.default).unwrap();
        }
        assert_eq!(recipe(generator.name), recipe(&text));
        assert!(!generator.summary.is_empty() && generator.parameters.iter().all(|p| !p.meaning.is_empty()));
        assert_eq!(generator.parameters.iter().filter(|p| p.name == "seed").count(), 1, "{}", generator.name);
        let last = generator.parameters.last().map(|p| p.name);
        assert_eq!(last, Some("seed"), "{}: what follows it would be lost to `instance`", generator.name);
        let size = recipe(generator.name).size();
        assert!(size.nnz > 100_000 && size.nnz < 20_000_000, "{text}: {size:?}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), generators().len());
}

#[test]
fn the_canonical_text_reads_back_and_holds_every_parameter() {
    for text in small_recipes(10) {
        let parsed = recipe(&text);
        let canonical = parsed.to_string();
        assert!(canonical.starts_with(PREFIX));
        assert_eq!(recipe(&canonical), parsed);
        assert_eq!(recipe(&canonical).to_string(), canonical);
        assert_eq!(parsed.arguments().count(), parsed.generator().parameters.len());
    }
    assert_eq!(
        recipe("power-law,exponent=2.05,n=50").to_string(),
        "gallery:power-law,n=50,degree=3,exponent=2.05,seed=1"
    );
}

#[test]
fn text_that_is_no_recipe_is_refused_with_what_was_wrong() {
    let refused = |text: &str| text.parse::<Recipe>().unwrap_err();
    let unknown = refused("gallery:stencil4d,n=3");
    assert_eq!(unknown.to_string(), "the gallery has no generator 'stencil4d'");
    let hint = unknown.hint().unwrap();
    assert!(hint.starts_with("did you mean stencil2d? the gallery has ") && hint.contains("kkt"), "{hint}");
    assert!(refused("").hint().unwrap().starts_with("the gallery has "));

    let key = refused("arrow,widht=3");
    assert_eq!(key.to_string(), "arrow has no parameter 'widht'");
    assert_eq!(key.hint().unwrap(), "did you mean width? its parameters are n, width, seed");

    assert_eq!(refused("arrow,3").to_string(), "arrow: '3' is not key=value");
    assert_eq!(refused("arrow,").to_string(), "arrow: '' is not key=value");
    assert_eq!(refused("arrow,n=3,n=4").to_string(), "arrow: n is given twice");
    assert_eq!(
        refused("arrow,n=0").to_string(),
        "arrow: n must be a whole number from 1 to 4294967294, got '0'"
    );
    for text in ["arrow,n=", "arrow,n=-1", "arrow,n=1.5", "arrow,n=18446744073709551616", "banded,fill=nan"] {
        assert!(matches!(refused(text), GalleryError::BadValue { .. }), "{text}");
    }
    assert_eq!(refused("stencil2d,points=7").to_string(), "stencil2d: points must be 5 or 9, got '7'");
}

#[test]
fn a_matrix_beyond_the_limits_is_an_error_and_no_abort() {
    for text in [
        "dense,rows=100000,cols=100000",
        "stencil3d,n=4294967294,points=27",
        "stencil2d,n=100000",
        "fem,n=4000000000,unknowns=64",
        "kkt,n=4294967294,m=4294967294,row=4294967294",
        "rmat,scale=31,degree=4294967294",
        "power-law,n=4294967294,exponent=1.1",
        "random,rows=4294967294",
        "banded,n=4294967294,band=4294967295",
        "long-rows,n=4294967294,long=4294967294,length=4294967294",
    ] {
        let refused = text.parse::<Recipe>();
        assert!(matches!(refused, Err(GalleryError::TooLarge { .. })), "{text}: {refused:?}");
    }
    let error = "dense,rows=100000,cols=100000".parse::<Recipe>().unwrap_err();
    assert_eq!(error.to_string(), "dense: 10000000000 non-zeros are more than the limit of 8589934592");
}

#[test]
fn the_same_recipe_gives_the_same_matrix_and_another_seed_another() {
    for text in small_recipes(30) {
        let (a, again, other) = (make(&text), make(&text), make(&format!("{text},seed=2")));
        assert!(a == again, "{text}");
        let natural = text.starts_with("stencil");
        assert!((a == other) == natural, "{text}: only a stencil has nothing random");
    }
    let shuffled = |seed| make(&format!("stencil2d,n=30,shuffle=1,seed={seed}"));
    assert!(shuffled(1) == shuffled(1));
    assert!(shuffled(1) != shuffled(2));
}

#[test]
fn the_number_of_threads_does_not_change_a_matrix() {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let many = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    for text in small_recipes(40) {
        assert!(one.install(|| make(&text)) == many.install(|| make(&text)), "{text}");
    }
}

#[test]
fn tiny_sizes_are_matrices_of_the_size_announced() {
    for small in [1, 2, 3] {
        for text in small_recipes(small) {
            let recipe = recipe(&text);
            let a = recipe.generate::<f32>().unwrap();
            let size = recipe.size();
            assert_eq!((a.nrows() as u128, a.ncols() as u128), (size.nrows, size.ncols), "{text}");
            assert!(a.values().iter().all(|value| value.is_finite() && *value != 0.0), "{text}");
        }
    }
}

#[test]
fn f32_and_f64_are_the_same_matrix() {
    for text in small_recipes(20) {
        assert!(recipe(&text).generate::<f32>().unwrap() == make(&text).to_dtype::<f32>(), "{text}");
    }
}

#[test]
fn exact_sizes_are_exact() {
    for text in [
        "stencil2d,n=9",
        "stencil2d,n=9,points=9",
        "stencil3d,n=6",
        "stencil3d,n=6,points=27",
        "stencil3d,n=6,points=27,shuffle=1",
        "fem,n=4",
        "fem,n=3,unknowns=5,shuffle=1",
        "trimesh,n=7",
        "trimesh,n=7,unknowns=1,shuffle=1",
        "kkt,n=70,m=30",
        "arrow,n=50,width=7",
        "arrow,n=5,width=9",
        "banded,n=50,band=3",
        "banded,n=5,band=9",
        "block-diagonal,n=50,block=7",
        "random,rows=50,cols=70,row=9",
        "tall,rows=50,cols=3",
        "wide,rows=5,cols=300,row=200",
        "dense,rows=8,cols=9",
    ] {
        let recipe = recipe(text);
        assert_eq!(recipe.generate::<f32>().unwrap().nnz() as u128, recipe.size().nnz, "{text}");
    }
}

#[test]
fn announced_sizes_of_random_structures_are_close() {
    for text in [
        "banded,n=20000,band=20,fill=0.4",
        "random,rows=20000,cols=5000,row=10,spread=8",
        "hypersparse,n=100000",
        "circuit,n=50000,rail=2000",
        "lp,rows=4000,cols=12000",
        "constraints,rows=8000,cols=9000",
        "long-rows,n=30000,length=9000",
        "power-law,n=50000,exponent=2.6",
        "web,n=50000",
        "rmat,scale=14,degree=4",
    ] {
        let recipe = recipe(text);
        let ratio = recipe.generate::<f32>().unwrap().nnz() as f64 / recipe.size().nnz as f64;
        assert!((0.6..1.1).contains(&ratio), "{text}: {ratio}");
    }
}

fn entry(a: &Csr<f64>, row: usize, col: usize) -> Option<f64> {
    let (cols, values) = a.row(row);
    cols.binary_search(&(col as u32)).ok().map(|at| values[at])
}

fn assert_symmetric(a: &Csr<f64>, name: &str) {
    for row in 0..a.nrows() {
        let (cols, values) = a.row(row);
        for (&col, &value) in cols.iter().zip(values) {
            assert_eq!(entry(a, col as usize, row), Some(value), "{name}: ({row}, {col})");
        }
    }
}

#[test]
fn discretisations_and_saddle_points_are_symmetric() {
    for text in [
        "stencil2d,n=8",
        "stencil2d,n=8,points=9,shuffle=1",
        "stencil3d,n=5",
        "stencil3d,n=5,points=27,shuffle=1",
        "fem,n=4",
        "fem,n=4,shuffle=1",
        "trimesh,n=9",
        "trimesh,n=9,shuffle=1",
        "kkt,n=40,m=15",
    ] {
        assert_symmetric(&make(text), text);
    }
}

#[test]
fn laplacians_have_the_weights_of_the_textbook_and_no_net_flow_inside() {
    for (text, inside, diagonal) in [
        ("stencil2d,n=5", 12, 4.0),
        ("stencil2d,n=5,points=9", 12, 20.0),
        ("stencil3d,n=3", 13, 6.0),
        ("stencil3d,n=3,points=27", 13, 26.0),
    ] {
        let a = make(text);
        assert_eq!(entry(&a, inside, inside), Some(diagonal));
        assert!(a.row(inside).1.iter().sum::<f64>().abs() < 1e-12, "{text}");
        assert!(a.row(0).1.iter().sum::<f64>() > 0.0, "{text}: the boundary takes some away");
    }
    assert_eq!(make("stencil2d,n=3").row(4), (&[1, 3, 4, 5, 7][..], &[-1.0, -1.0, 4.0, -1.0, -1.0][..]));
}

#[test]
fn finite_elements_come_in_dense_blocks() {
    for text in ["fem,n=3", "trimesh,n=6,unknowns=3", "trimesh,n=6,unknowns=3,shuffle=1"] {
        let a = make(text);
        for node in 0..a.nrows() / 3 {
            let cols = a.row(3 * node).0;
            assert!((1..3).all(|unknown| a.row(3 * node + unknown).0 == cols), "{text}");
            assert!(cols.chunks(3).all(|block| block[0] % 3 == 0 && block[2] == block[0] + 2), "{text}");
        }
    }
}

#[test]
fn a_triangle_mesh_has_nodes_of_different_degrees() {
    let f = Features::of(&make("trimesh,n=40,unknowns=1"));
    assert!(f.row_min >= 3 && f.row_max > 7 && f.row_max <= 9, "{f:?}");
}

#[test]
fn shuffling_strews_the_columns_and_keeps_the_lengths() {
    let (natural, shuffled) = (make("stencil2d,n=60"), make("stencil2d,n=60,shuffle=1"));
    let (f, g) = (Features::of(&natural), Features::of(&shuffled));
    assert_eq!((f.nnz, f.row_quantiles, f.bandwidth), (g.nnz, g.row_quantiles, 60));
    assert!(g.bandwidth > 1_000 && g.x_reuse < f.x_reuse);
}

#[test]
fn a_saddle_point_has_a_zero_block() {
    let a = make("kkt,n=100,m=40,row=3");
    assert!((100..140).all(|row| a.row(row).0.iter().all(|&col| col < 100) && a.row(row).0.len() == 3));
    assert!((0..100).all(|row| entry(&a, row, row).is_some()));
}

#[test]
fn an_arrow_has_full_first_rows_and_columns_and_a_diagonal() {
    let a = make("arrow,n=30,width=3");
    assert!((0..3).all(|row| a.row(row).0.len() == 30));
    assert!((3..30).all(|row| a.row(row).0 == [0, 1, 2, row as u32]));
}

#[test]
fn graphs_and_circuits_have_rows_far_beyond_the_mean() {
    for text in ["power-law,n=20000", "rmat,scale=13", "circuit,n=20000,rail=2000", "web,n=20000"] {
        let f = Features::of(&make(text));
        assert!(f.row_max as f64 > 10.0 * f.row_mean(), "{text}: {} {}", f.row_max, f.row_mean());
    }
    let circuit = Features::of(&make("circuit,n=20000,rail=2000"));
    assert!(circuit.row_quantiles[0] >= 2 && circuit.row_quantiles[5] <= 12, "{circuit:?}");
}

#[test]
fn a_linear_program_is_rectangular_with_a_few_dense_rows_and_columns() {
    let a = make("lp,rows=500,cols=1500");
    let column = |col: usize| (0..500).filter(|&row| entry(&a, row, col).is_some()).count();
    assert!((0..3).all(|row| a.row(row).0.len() > 300));
    assert!((3..500).all(|row| a.row(row).0.len() <= 11));
    assert!((1497..1500).all(|col| column(col) > 100));
}

#[test]
fn long_rows_are_as_many_and_as_long_as_asked() {
    let a = make("long-rows,n=1000,long=7,length=400");
    let long = (0..1000).filter(|&row| a.row(row).0.len() >= 400).count();
    assert_eq!(long, 7);
    assert!((0..1000).all(|row| entry(&a, row, row).is_some()));
}

#[test]
fn bands_and_blocks_stay_in_their_place() {
    let band = make("banded,n=200,band=4,fill=0.5");
    assert_eq!(Features::of(&band).bandwidth, 4);
    assert!((0..200).all(|row| entry(&band, row, row).is_some()));
    let blocks = make("block-diagonal,n=20,block=8");
    assert_eq!(blocks.row(9).0, [8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(blocks.row(19).0, [16, 17, 18, 19], "the last block is smaller");
}

#[test]
fn rows_of_constraints_come_in_runs_of_one_length() {
    let a = make("constraints,rows=20000,cols=20000,families=10,seed=3");
    let length = |row: usize| a.row(row).0.len();
    let changes = (1..a.nrows()).filter(|&row| length(row) != length(row - 1)).count();
    // An offset that two variables of a family share shortens all of its rows.
    assert!((5..=20).contains(&changes), "{changes}");
    let lengths: BTreeSet<usize> = (0..a.nrows()).map(length).collect();
    assert!(lengths.len() >= 5 && lengths.last() <= Some(&30), "{lengths:?}");
    // With as many families as rows each row is of its own.
    let a = make("constraints,rows=3000,cols=3000,families=3000");
    let changes = (1..a.nrows()).filter(|&row| a.row(row).0.len() != a.row(row - 1).0.len()).count();
    assert!(changes > 2000, "{changes}");
}

#[test]
fn most_rows_of_a_hypersparse_matrix_are_empty() {
    let f = Features::of(&make("hypersparse,n=20000"));
    assert!((17_500..18_500).contains(&f.empty_rows), "{}", f.empty_rows);
}
