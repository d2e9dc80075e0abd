//! The command that was given, as it can be given again.

/// With the name of the program and its arguments, quoted for a shell where they need it.
pub(crate) fn as_typed() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("sparsight".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,=+%@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_apart() {
        assert_eq!(quoted("gallery:stencil2d,n=1000"), "gallery:stencil2d,n=1000");
        assert_eq!(["a b", "", "it's", "$(x)"].map(quoted), ["'a b'", "''", r"'it'\''s'", "'$(x)'"]);
    }
}
