//! Names without their letter case.

/// A name in the form that names are compared in regardless of letter case. Some programs take `paramſ` for `params`, so
/// folding covers all of Unicode.
pub(crate) fn folded(name: &str) -> String {
    // By way of upper case: `ſ` and the Kelvin sign have no lower case of their own that says what they stand for.
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Whether a name equals one of `known` except for letter case.
pub(crate) fn same_when_folded(name: &str, known: &[&str]) -> bool {
    let name = folded(name);
    known.iter().any(|known| folded(known) == name)
}
