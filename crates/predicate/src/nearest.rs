//! Suggestions for misspelt names.

/// The known name nearest to `name`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // The cost of a distance is quadratic in the length, and no known name is this long.
    if name.len() > 64 {
        return None;
    }
    let allowed = (name.chars().count() / 3).max(1);
    known
        .filter(|candidate| candidate.len() <= 64)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        // Of several names at one distance the first in the alphabet, so a message does not depend on their order.
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}
