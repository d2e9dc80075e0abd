//! The table of arrays and numbers in each format's description is held to what the format hands to a device.

use sparsight_matrix::gallery::Recipe;
use sparsight_matrix::{Csr, Element, Format, HostArray, Limits, NamedArrays, Stored};

/// Rows of the table that begins with this column, cells between two blanks and more.
fn table(description: &str, column: &str) -> Vec<Vec<String>> {
    let lines = description.lines().skip_while(|line| !line.starts_with(&format!("{column}  ")));
    let lines = lines.skip(1).take_while(|line| !line.is_empty() && !line.starts_with("```"));
    let cells = |line: &str| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    lines.map(cells).collect()
}

fn type_of(array: &HostArray<'_, f64>) -> &'static str {
    match array {
        HostArray::U8(_) | HostArray::Room { element: Element::U8, .. } => "unsigned char",
        HostArray::U32(_) | HostArray::Room { element: Element::U32, .. } => "unsigned int",
        HostArray::U64(_) | HostArray::Room { element: Element::U64, .. } => "unsigned long long",
        HostArray::Values(_) | HostArray::Room { element: Element::Value, .. } => "STORED",
        HostArray::Offsets { .. } => "OFFSET",
    }
}

fn length(array: &HostArray<'_, f64>) -> u64 {
    match array {
        HostArray::U8(data) => data.len() as u64,
        HostArray::U32(data) => data.len() as u64,
        HostArray::U64(data) => data.len() as u64,
        HostArray::Values(data) => data.len() as u64,
        HostArray::Offsets { offsets, .. } => offsets.len() as u64,
        HostArray::Room { len, .. } => *len,
    }
}

/// Value of a length such as `ceil(nrows / slice) + 1`; `None` where it is described in words.
fn value(text: &str, number: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
    if let Some((sum, term)) = text.rsplit_once(" + ") {
        return Some(value(sum, number)? + value(term, number)?);
    }
    if let Some(inside) = text.strip_prefix("ceil(").and_then(|rest| rest.strip_suffix(')')) {
        let (above, below) = inside.split_once(" / ")?;
        return below
            .split(" / ")
            .try_fold(value(above, number)?, |all, part| Some(all.div_ceil(value(part, number)?)));
    }
    if let Some((above, below)) = text.rsplit_once(" / ") {
        return Some(value(above, number)? / value(below, number)?);
    }
    if let Some((product, factor)) = text.rsplit_once(" * ") {
        return Some(value(product, number)? * value(factor, number)?);
    }
    text.parse().ok().or_else(|| number(text))
}

#[test]
fn every_array_and_number_is_described_with_its_type_and_length() {
    // One with even rows, one with a row that is longer than any tile, and one of whole blocks.
    let recipes = ["stencil2d,n=24", "arrow,n=6000", "dense,rows=48,cols=48"];
    let matrices: Vec<Csr<f64>> =
        recipes.iter().map(|recipe| recipe.parse::<Recipe>().unwrap().generate().unwrap()).collect();
    for format in Format::all() {
        let description = format.family().description;
        let (arrays, numbers) = (table(description, "array"), table(description, "number"));
        let mut converted = 0;
        for a in &matrices {
            let Ok(stored) = format.convert(a, &Limits::NONE) else { continue };
            converted += 1;
            check(format, a, &*stored, &arrays, &numbers);
        }
        assert!(converted > 0, "{format}");
    }
}

fn check(
    format: Format,
    a: &Csr<f64>,
    stored: &dyn Stored<f64>,
    arrays: &[Vec<String>],
    numbers: &[Vec<String>],
) {
    let known = stored.numbers();
    let mut names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let mut described: Vec<&str> = numbers.iter().map(|row| row[0].as_str()).collect();
    names.sort_unstable();
    described.sort_unstable();
    assert_eq!(described, names, "{format}");
    let found: NamedArrays<'_, f64> = stored.arrays();
    let (mut names, mut described): (Vec<&str>, Vec<&str>) =
        (found.iter().map(|(name, _)| *name).collect(), arrays.iter().map(|row| row[0].as_str()).collect());
    names.sort_unstable();
    described.sort_unstable();
    assert_eq!(described, names, "{format}");
    let number = |name: &str| {
        let of_matrix = match name {
            "nrows" => Some(a.nrows()),
            "ncols" => Some(a.ncols()),
            "nnz" => Some(a.nnz()),
            _ => None,
        };
        let last = name.strip_suffix("[end]").and_then(|name| {
            found.iter().find_map(|(found, array)| match array {
                HostArray::U64(data) if *found == name => data.last().copied(),
                _ => None,
            })
        });
        let of_format = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        of_matrix.map(|count| count as u64).or(last).or(of_format)
    };
    for row in arrays {
        let [name, of, entries, _what] = &row[..] else { panic!("{format}: {row:?}") };
        let (_, array) = found.iter().find(|(found, _)| found == name).unwrap();
        assert_eq!(of, type_of(array), "{format}: {name}");
        match value(entries, &number) {
            Some(expected) => assert_eq!(expected, length(array), "{format}: {name} has {entries}"),
            None => assert!(entries.contains(" for each "), "{format}: {name} has {entries}"),
        }
    }
}
