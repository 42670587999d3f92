//! Globs: `*` is any run of characters, `?` any one; every other character is itself.

use crate::document::{Cause, DocumentError, Field};

/// The longest glob, in bytes. With the limit on names, this bounds the cost of a match.
const MAX_GLOB_BYTES: usize = 256;
/// The most globs one field may list.
const MAX_GLOBS: usize = 64;

/// Whether `glob` matches the whole of `text`.
#[must_use]
pub fn matches(glob: &str, text: &str) -> bool {
    matches_bytes(glob.as_bytes(), text.as_bytes())
}

/// Whether `wide` matches every text that `narrow` matches; `false` when that is not obvious.
#[must_use]
pub fn covers(wide: &str, narrow: &str) -> bool {
    // `matches` reads `narrow` as a text, in which a `?` of `wide` also matches a `*`, although that stands for more.
    let unclear = wide.contains('?') && narrow.contains('*');
    wide == narrow || wide == "*" || (!unclear && matches(wide, narrow))
}

/// One or several globs. A text matches when one of them matches it whole, in the same letter case.
#[derive(Clone, Debug)]
pub struct Globs(Vec<String>);

impl Globs {
    /// Reads a glob, or a list of them.
    ///
    /// # Errors
    /// [`DocumentError`] when there is none, too many of them, or one is too long.
    pub fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        Self::read_at_most(field, MAX_GLOBS)
    }

    /// As [`Globs::read`], with another limit on how many there are.
    ///
    /// # Errors
    /// [`DocumentError`] when there is none, too many of them, or one is too long.
    pub fn read_at_most(field: &Field<'_>, most: usize) -> Result<Self, DocumentError> {
        let fields = match field.json.as_array() {
            Some(_) => field.items()?,
            None => vec![field.clone()],
        };
        if fields.is_empty() {
            return Err(field
                .error(Cause::Empty, "the list has no globs")
                .with_help("write one, or leave the field out"));
        }
        if fields.len() > most {
            return Err(field
                .error(Cause::TooMany, format!("more than {most} globs"))
                .with_help("use `*` to join some"));
        }
        Ok(Self(fields.iter().map(read_one).collect::<Result<_, _>>()?))
    }

    /// Whether one of the globs matches the text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|glob| matches(glob, text))
    }

    /// How many globs there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether a glob matches every text, so that even an absent one counts as matching.
    #[must_use]
    pub fn match_all(&self) -> bool {
        self.0.iter().any(|glob| glob.bytes().all(|byte| byte == b'*'))
    }

    /// Whether each of the globs is a text, and is one of these.
    #[must_use]
    pub fn all_are(&self, one_of: impl Fn(&str) -> bool) -> bool {
        self.0.iter().all(|glob| !glob.contains(['*', '?']) && one_of(glob))
    }

    /// The globs without `*` and `?`.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).filter(|glob| !glob.contains(['*', '?']))
    }

    /// The globs as they are written.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether every text that one of the other globs matches is matched; `false` where that is not obvious.
    #[must_use]
    pub fn cover(&self, other: &Self) -> bool {
        other.0.iter().all(|narrow| self.0.iter().any(|wide| covers(wide, narrow)))
    }

    /// The globs, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.join(" or ")
    }

    /// The globs as one regular expression that matches the whole text.
    #[must_use]
    pub fn pattern(&self) -> String {
        let alternatives: Vec<_> = self.0.iter().map(|glob| escaped(glob)).collect();
        format!("^(?s:{})$", alternatives.join("|"))
    }

    /// An example of a text that matches.
    #[must_use]
    pub fn sample(&self) -> String {
        self.0.first().map(|glob| glob.replace('*', "").replace('?', "x")).unwrap_or_default()
    }
}

fn read_one(field: &Field<'_>) -> Result<String, DocumentError> {
    let glob = field.text()?;
    if glob.is_empty() {
        return Err(field.error(Cause::Empty, "an empty glob matches nothing").with_help("write `*` for anything"));
    }
    if glob.len() > MAX_GLOB_BYTES {
        return Err(field
            .error(Cause::TooLarge, format!("the glob is longer than {MAX_GLOB_BYTES} bytes"))
            .with_help("shorten it"));
    }
    Ok(glob.to_owned())
}

fn escaped(glob: &str) -> String {
    let mut pattern = String::new();
    for letter in glob.chars() {
        match letter {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            letter if letter.is_alphanumeric() || letter == '_' => pattern.push(letter),
            letter if letter.is_ascii() => {
                pattern.push('\\');
                pattern.push(letter);
            }
            letter => pattern.push(letter),
        }
    }
    pattern
}

/// Matches greedily and goes back to the last `*` only: at most glob × text steps.
fn matches_bytes(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(read) {
        match (glob.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at + 1, read));
                at += 1;
            }
            (Some(b'?'), _) => {
                at += 1;
                read += character_len(*byte);
            }
            (Some(letter), _) if letter == byte => {
                at += 1;
                read += 1;
            }
            (_, Some((after, from))) => {
                // By whole characters, so that a `?` after the `*` never begins inside one.
                let from = from + text.get(from).map_or(1, |byte| character_len(*byte));
                star = Some((after, from));
                (at, read) = (after, from);
            }
            (_, None) => return false,
        }
    }
    glob.get(at..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

/// The length in bytes of the UTF-8 character that begins with `byte`.
fn character_len(byte: u8) -> usize {
    match byte {
        0xF0.. => 4,
        0xE0..=0xEF => 3,
        0xC0..=0xDF => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_texts() {
        for (glob, text, expected) in [
            ("update_ticket", "update_ticket", true),
            ("update_ticket", "update_ticket2", false),
            ("update_*", "update_", true),
            ("*_ticket", "my_ticket", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-d", false),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("*", "", true),
            ("?", "", false),
            ("**x", "yyx", true),
            ("Ab", "ab", false),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn a_glob_covers_what_it_stands_for() {
        for (wide, narrow, expected) in [
            ("*", "get_?", true),
            ("get_*", "get_a", true),
            ("get_*", "get_*", true),
            ("get_*", "get_a*", true),
            ("get_?", "get_*", false),
            ("get_?", "get_a", true),
            ("get_a", "get_*", false),
        ] {
            assert_eq!(covers(wide, narrow), expected, "{wide} {narrow}");
        }
    }

    #[test]
    fn hostile_globs_end() {
        let glob = "a*".repeat(128);
        assert!(!matches(&glob, &"a".repeat(4000)) || glob.len() == 256);
        assert!(!matches(&format!("{}b", "*a".repeat(100)), &"a".repeat(4000)));
    }
}
