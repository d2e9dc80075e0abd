//! Files as people have them, named by their kind: what is read of each, and what is said.

use sparsight_matrix::io::{self, Field, Foreign, Loaded, ReadError, ReadOptions, Remark, Symmetry};
use std::path::{Path, PathBuf};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

fn read(name: &str) -> Loaded<f64> {
    io::read(&case(name), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn fails(name: &str) -> ReadError {
    io::read::<f64>(&case(name), &ReadOptions::default()).unwrap_err()
}

fn remarks(loaded: &Loaded<f64>) -> Vec<String> {
    loaded.remarks.iter().filter(|remark| remark.is_worth_saying()).map(ToString::to_string).collect()
}

/// The matrix that most of the text files hold.
fn expected() -> io::Loaded<f64> {
    read("suitesparse_unpacked/cant/cant.mtx")
}

#[test]
fn stored_ones_stay_ones() {
    for (name, only_ones) in [("graph_int_ones.npz", true), ("val_bool_.npz", true), ("lp01_int8.npz", true)]
    {
        let loaded = read(name);
        assert_eq!(loaded.stored.field, Field::Integer, "{name}");
        assert_eq!(
            loaded.matrix.values().iter().all(|v| v.to_bits() == 1.0_f64.to_bits()),
            only_ones,
            "{name}"
        );
    }
    let graph = read("graph_int_ones.npz").matrix;
    assert_eq!(graph.transposed().unwrap(), graph, "an undirected graph is symmetric");
    let pattern = read("one_percent.mtx");
    assert_eq!((pattern.stored.field, pattern.stored.symmetry), (Field::Pattern, Symmetry::Symmetric));
    assert!(pattern.matrix.values().iter().all(|v| v.to_bits() == 1.0_f64.to_bits()));
}

#[test]
fn the_matrix_of_an_archive_is_none_of_its_side_files() {
    for (name, member) in [("rhs_big.tar.gz", "set/A.mtx"), ("mac.tar.gz", "m/m.mtx")] {
        let loaded = read(name);
        assert_eq!(loaded.matrix, expected().matrix, "{name}");
        let Some(Remark::Member { member: read, .. }) = loaded.remarks.first() else { panic!("{name}") };
        assert!(read.ends_with(member), "{read}");
    }
    assert_eq!(remarks(&read("rhs_big.tar.gz")), ["set/A.mtx is read, passed over: set/rhs.mtx (a vector)"]);
    assert_eq!(remarks(&read("mac.tar.gz")), [""; 0]);
    let (files, passed) = io::files_in(&case("suitesparse_unpacked/cant")).unwrap();
    assert_eq!(files, [case("suitesparse_unpacked/cant/cant.mtx")]);
    let passed: Vec<String> = passed.iter().map(ToString::to_string).collect();
    assert_eq!(passed, ["cant_b.mtx (a vector)", "cant_coord.mtx (dense)"]);
}

#[test]
fn files_written_by_scipy_are_read() {
    let loaded = read("scipy_uint64.mtx");
    assert_eq!((loaded.stored.field, loaded.matrix.nrows(), loaded.matrix.nnz()), (Field::Integer, 30, 90));
    let skew = read("skew_zero_diag.mtx");
    assert_eq!(skew.matrix.row(1), (&[0, 1, 2][..], &[2.5, 0.0, 1.0][..]));
    assert_eq!(remarks(&skew), [""; 0], "zeros belong on that diagonal");
    assert_eq!(read("plain_csr.npz").matrix, read("pydata_coo.npz").matrix);
    assert_eq!(remarks(&read("pydata_coo.npz")), [""; 0]);
}

#[test]
fn files_of_other_programs_are_read_and_noted() {
    let one_percent = read("one_percent.mtx");
    assert_eq!(
        remarks(&one_percent),
        ["the first line is read as the banner '%%MatrixMarket', from which it differs"]
    );
    let hash = read("hash_comment.mtx");
    assert_eq!(hash.matrix, expected().matrix);
    assert_eq!(remarks(&hash), ["lines that begin with '#' are taken for comments, which begin with '%'"]);
    assert_eq!(read("fortran_exp.mtx").matrix.values(), [1.5e-103, 1.0, 1.0]);
}

#[test]
fn the_first_bytes_decide_whatever_the_name_says() {
    for name in ["plain_named_gz.mtx.gz", "gz_named_plain.mtx", "targz_named_mtxgz.mtx.gz", "twice.mtx.gz"] {
        assert_eq!(read(name).matrix, expected().matrix, "{name}");
    }
}

#[test]
fn harwell_boeing_and_rutherford_boeing_are_read() {
    let (hb, rb) = (read("hb.rsa"), read("rb.rb"));
    assert_eq!(hb.matrix, rb.matrix);
    assert_eq!((hb.stored.symmetry, hb.stored.entries, hb.matrix.nrows()), (Symmetry::Symmetric, 4, 3));
    assert_eq!(hb.matrix.transposed().unwrap(), hb.matrix);
}

#[test]
fn a_missing_size_line_is_told() {
    let error = fails("no_size_weighted.mtx");
    assert!(
        error.to_string().ends_with(":2:1: line 2 looks like an entry: the size line is missing"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("rows columns entries"));
}

#[test]
fn known_formats_are_named_with_what_converts_them() {
    for (name, expected) in [
        ("snap.txt", Foreign::EdgeList),
        ("model.mps", Foreign::Mps),
        ("metis.graph", Foreign::Metis),
        ("petsc64.bin", Foreign::Petsc),
    ] {
        let error = fails(name);
        let ReadError::Foreign { format, .. } = &error else { panic!("{error}") };
        assert_eq!(*format, expected);
        assert!(error.hint().unwrap().contains("scipy.sparse.save_npz"), "{name}");
    }
}

#[test]
fn complex_values_are_refused_or_left_out() {
    let places = ReadOptions { places_only: true, ..ReadOptions::default() };
    for name in ["val_c64.npz", "complex_herm.mtx"] {
        let error = fails(name).to_string();
        assert!(error.contains("complex"), "{error}");
        let loaded = io::read::<f64>(&case(name), &places).unwrap();
        assert_eq!(loaded.stored.field, Field::Complex, "{name}");
    }
}

/// Numbers of fixed width that touch each other, values without a decimal point, every kind of symmetry.
#[test]
fn harwell_boeing_files_are_cut_by_width_and_not_by_blanks() {
    let read = |kind: &str, formats: &str, body: &str| {
        let text = format!(
            "title{}KEY\n{:14}{:14}{:14}{:14}{:14}\n{kind:14}{:14}{:14}{:14}{:14}\n{formats}\n{body}",
            " ".repeat(67),
            3,
            1,
            1,
            1,
            0,
            3,
            3,
            4,
            0
        );
        io::read_stream::<f64>(text.as_bytes(), Path::new("a.rb"), &ReadOptions::default())
    };
    let formats = format!("{:16}{:16}{:20}", "(4I1)", "(4I1)", "(2F4.1)");
    let dense = |a: &io::Loaded<f64>| -> Vec<f64> {
        let mut dense = vec![0.0; 9];
        for row in 0..3 {
            let (cols, values) = a.matrix.row(row);
            cols.iter().zip(values).for_each(|(col, value)| dense[3 * row + *col as usize] = *value);
        }
        dense
    };
    // Columns: rows 1, 2; row 2; row 3. Values 1.5, -2.5, 3.5, 4.5: of fields without a point the last digit is behind it.
    let body = "1345\n1223\n  15-2.5\n  35 4.5\n";
    let general = read("RUA", &formats, body).unwrap();
    assert_eq!(dense(&general), [1.5, 0.0, 0.0, -2.5, 3.5, 0.0, 0.0, 0.0, 4.5]);
    // A blank field is 0, and a line whose fields are not as wide as the header says is cut at blanks: scipy writes such.
    let blank = read("RUA", &formats, "1345\n1223\n    -2.5\n  35 4.5\n").unwrap();
    assert_eq!(dense(&blank), [0.0, 0.0, 0.0, -2.5, 3.5, 0.0, 0.0, 0.0, 4.5]);
    let scipys =
        read("RUA", &formats.replace("(2F4.1)", "(4E4.1)"), "1345\n1223\n1.5 -2.5 3.5 4.5\n").unwrap();
    assert_eq!(dense(&scipys), dense(&general));
    let whole =
        read("RUA", &formats.replace("(2F4.1)", "(4E4.1)"), "1345\n1223\n   1   2   3   4\n").unwrap();
    assert_eq!(
        dense(&whole),
        [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 4.0],
        "only F puts a decimal point in"
    );
    // Right-hand sides follow where a fifth line says so.
    let sides =
        read("RUA", &formats, "F              1             0\n1345\n1223\n  15-2.5\n  35 4.5\n 9.0 9.0\n")
            .unwrap();
    assert_eq!(dense(&sides), dense(&general));
    assert_eq!(remarks(&sides), ["right-hand sides behind the matrix are not read"]);
    let symmetric = read("rsa", &formats, body).unwrap();
    assert_eq!(dense(&symmetric), [1.5, -2.5, 0.0, -2.5, 3.5, 0.0, 0.0, 0.0, 4.5]);
    let skew = read("RZA", &formats, body).unwrap();
    assert_eq!(dense(&skew), [1.5, 2.5, 0.0, -2.5, 3.5, 0.0, 0.0, 0.0, 4.5]);
    let pattern = read("psa", &formats[..32], "1345\n1223\n").unwrap();
    assert_eq!(dense(&pattern), [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    for (kind, formats, body, expected) in [
        ("RSE", &formats, body, "a matrix of elements is not read"),
        ("CUA", &formats, body, "complex values cannot be read"),
        ("RUA", &formats, "1345\n1223\n  15-2.5\n", "the file ends after 2 of 4 values"),
        ("RUA", &formats, "1345\n1423\n  15-2.5\n", "expected a row from 1 to 3, found '4'"),
        ("RUA", &formats, "1315\n1223\n", "expected a pointer from 3 to 5, found '1'"),
        ("RUA", &formats, "1344\n1223\n  15-2.5\n  35 4.5\n", "expected a last pointer of 5, found '4'"),
        (
            "RUA",
            &formats,
            "1345\n1223\n  15 x.5\n  35 4.5\n",
            "expected a finite value that fits the type, found 'x.5'",
        ),
        ("RUA", &formats.replace("(2F4.1)", "(2Z4.1)"), body, "format '(2Z4.1)' is not understood"),
    ] {
        let error = read(kind, formats, body).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

#[test]
fn a_size_line_that_is_missing_is_told_from_one_that_is_wrong() {
    let error = |banner: &str, body: &str| {
        let text = format!("%%MatrixMarket matrix {banner}\n{body}\n");
        io::read_matrix_market::<f64>(text.as_bytes(), Path::new("a.mtx"), &ReadOptions::default())
            .unwrap_err()
            .to_string()
    };
    for (banner, body) in [
        ("coordinate pattern general", "1 2\n2 3"),
        ("coordinate real general", "1 2 0.5\n2 3 0.5"),
        ("coordinate real general", "1 2 5\n2 3 7\n3 1 1"),
        ("coordinate integer general", "1 2 7\n2 3 9\n3 1 4"),
        ("coordinate real symmetric", "1 1 4\n2 1 -1\n2 2 4"),
        ("coordinate real symmetric", "3 1 5\n4 1 2\n5 2 9"),
        ("coordinate integer general", "0 1 5\n1 2 6"),
    ] {
        assert_eq!(
            error(banner, body),
            "a.mtx:2:1: line 2 looks like an entry: the size line is missing",
            "{banner} {body}"
        );
    }
    let long = format!("1 2 5\n{}", "7 8 1\n".repeat(5000));
    assert!(error("coordinate real general", &long).contains("the size line is missing"));
    for (banner, body, expected) in [
        ("coordinate real general", "3 3 2\n1 1 1\n4 1 1", "row index 4 is outside the declared 3 rows"),
        ("coordinate real symmetric", "3 4 1\n1 1 1", "a symmetric matrix must be square, this one is 3 x 4"),
        ("array real symmetric", "4 6\n7\n8\n9", "a symmetric matrix must be square, this one is 4 x 6"),
        ("coordinate real general", "3 3 5\n1 1 1", "declared 5 entries, the file holds 1"),
    ] {
        assert!(error(banner, body).ends_with(expected), "{}", error(banner, body));
    }
}

#[test]
fn lines_may_stand_before_the_banner() {
    let text = "\n% written by a program\n## MatrixMarket matrix coordinate real general\n2 2 1\n2 1 3.5\n";
    let loaded = io::read_stream::<f64>(text.as_bytes(), Path::new("a"), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.matrix.nnz(), 1);
    assert_eq!(remarks(&loaded).len(), 1);
}
