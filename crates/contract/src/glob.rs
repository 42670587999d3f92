//! Names with `*` for any characters, as tool lists and scopes write them.

/// Whether `name` is one that `pattern` stands for; `*` is any characters, also none, and everything else itself.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last `*`, should what follows it not fit: only the last one needs another try.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(byte) if Some(byte) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((after_star, taken)) => {
                    retry = Some((after_star, taken + 1));
                    p = after_star;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|byte| *byte == b'*')
}

/// Whether every name `narrow` stands for is one of `wide`'s. Says no where it is not plain to see.
pub(crate) fn covers(wide: &str, narrow: &str) -> bool {
    wide == narrow || wide == "*" || matches(wide, narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        let table = [
            ("book_*", "book_flight", true),
            ("book_*", "book_", true),
            ("book_*", "rebook_flight", false),
            ("*_flight", "book_flight", true),
            ("*a*b", "xxaxxbxb", true),
            ("a*b*c", "abbbbd", false),
            ("", "", true),
            ("", "a", false),
            ("**", "anything", true),
            ("get", "get", true),
            ("get", "gets", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
