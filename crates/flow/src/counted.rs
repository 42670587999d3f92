//! The form in which values are counted: one person or account is one, however it is spelled.

use crate::normal::folded_as_one;

/// The forms under which what a text names is counted: of each address of mail in it, or of the whole text. Blanks do not count, and of an
/// address neither does the name beside it.
#[must_use]
pub fn counted(text: &str) -> Vec<String> {
    let folded = folded_as_one(text);
    // A `@` joins what is written around it with blanks.
    let joined = folded.split('@').map(str::trim).collect::<Vec<_>>().join("@");
    let words = joined.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>' | '"' | '(' | ')'));
    let mut addresses: Vec<String> = words.filter(|word| word.contains('@')).map(address).collect();
    addresses.sort();
    addresses.dedup();
    match addresses.is_empty() {
        true => vec![folded.split_whitespace().collect()],
        false => addresses,
    }
}

/// A word with a `@`, without what may stand around an address.
fn address(word: &str) -> String {
    let word = word.split_once('?').map_or(word, |(address, _)| address);
    let bare = |part: &str| part.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut parts = word.rsplit('@').map(bare);
    let (host, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // `mailto:` and other schemes end with a colon.
    let name = name.rsplit(':').next().unwrap_or_default();
    format!("{name}@{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_or_account_are_counted_as_one() {
        for spelling in [
            "ann@x.com",
            " Ann@X.Com ",
            "<ann@x.com>",
            "Ann Lee <ann@x.com>",
            "\"Lee, Ann\" <ann@x.com>",
            "mailto:ann@x.com?subject=a",
            "ann@x.com.",
            "ann@x.com;",
            "ann@x.com, ",
            "ann @ x.com",
            "ann\u{200b}@x.com",
            "x@ann@x.com",
            "(ann@x.com)",
        ] {
            assert_eq!(counted(spelling), ["ann@x.com"], "{spelling}");
        }
        assert_eq!(counted("bob@x.com, Ann <ann@x.com>"), ["ann@x.com", "bob@x.com"]);
        assert_eq!(counted("GB29 NWBK 6016"), counted("gb29nwbk6016"));
        assert_eq!(counted("Order A.Bc"), ["ordera.bc"]);
        assert_ne!(counted("a-11"), counted("a1-1"));
        assert_eq!(counted(""), [""]);
    }
}
