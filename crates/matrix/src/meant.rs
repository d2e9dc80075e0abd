//! The name that somebody meant who wrote another.

/// The one of `names` that the fewest edits make of `text` (Levenshtein 1966), the first of several; `None` if they would change more than
/// half of it.
pub fn meant<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let apart = |name| (strsim::levenshtein(text, name), name);
    let (edits, near) = names.into_iter().map(apart).min_by_key(|near| near.0)?;
    (2 * edits <= near.chars().count()).then_some(near)
}

/// `did you mean NAME?` before what there is, if one of the names is near.
pub fn suggested<'n>(
    text: &str,
    names: impl IntoIterator<Item = &'n str>,
    all: impl std::fmt::Display,
) -> String {
    match meant(text, names) {
        Some(near) => format!("did you mean {near}? {all}"),
        None => all.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_name_that_was_meant_and_nonsense_finds_none() {
        let names = ["stencil2d", "stencil3d", "arrow"];
        assert_eq!(meant("stencil_2d", names), Some("stencil2d"));
        assert_eq!(meant("arow", names), Some("arrow"));
        assert_eq!((meant("poisson", names), meant("", names), meant("arrow", [])), (None, None, None));
        assert_eq!(suggested("arow", names, "there are three"), "did you mean arrow? there are three");
        assert_eq!(suggested("poisson", names, "there are three"), "there are three");
    }
}
