//! The file of passwords of PostgreSQL's own programs (PostgreSQL 17, section 34.16).
//!
//! A line is `host:port:database:user:password`. `*` stands for anything, `\` before a character for that character, and `#`
//! at its beginning makes a line a comment. The first line that fits counts.

/// What a password is for.
pub(crate) struct Wanted<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password that the text of a file of passwords has for `wanted`.
pub(crate) fn password(text: &str, wanted: &Wanted<'_>) -> Option<String> {
    let port = wanted.port.to_string();
    let keys = [wanted.host, &port, wanted.database, wanted.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let rest = keys.iter().try_fold(line, |rest, key| after(rest, key))?;
        Some(field(rest).0)
    })
}

/// What follows the first field of `line`, if that field stands for `key`.
fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    // Before it is unescaped: a field that is `\*` stands for that name alone.
    if let Some(rest) = line.strip_prefix("*:") {
        return Some(rest);
    }
    let (field, rest) = field(line);
    rest.filter(|_| field == key)
}

/// The first field of `line`, and what follows it; none where no other field follows.
fn field(line: &str) -> (String, Option<&str>) {
    let mut field = String::new();
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            ':' => return (field, line.get(at + 1..)),
            '\\' => field.push(characters.next().map_or('\\', |(_, escaped)| escaped)),
            character => field.push(character),
        }
    }
    // The password, or a line with too few fields.
    (field, None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WANTED: Wanted<'_> = Wanted { host: "db", port: 5432, database: "p", user: "ann" };

    #[test]
    fn the_first_line_that_fits_counts() {
        for (text, found) in [
            ("db:5432:p:ann:one\ndb:5432:p:ann:two", Some("one")),
            ("other:5432:p:ann:one\n*:*:*:*:two", Some("two")),
            ("#db:5432:p:ann:one\r\ndb:5432:p:ann:two\r\n", Some("two")),
            (r"d\b:5432:p:ann:o\:n\\e:rest", Some(r"o:n\e")),
            (r"\*:5432:p:ann:one", None),
            ("db:5432:p:ann", None),
            ("db:543:p:ann:one", None),
            ("db:5432:p:anna:one", None),
            ("", None),
        ] {
            assert_eq!(password(text, &WANTED).as_deref(), found, "{text}");
        }
    }

    fn escaped(text: &str) -> String {
        text.chars().flat_map(|c| if matches!(c, ':' | '\\') { vec!['\\', c] } else { vec![c] }).collect()
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_found(host in "[^#\n\r*][^\n\r]{0,8}", user in "[^\n\r*][^\n\r]{0,8}", secret in "[^\n\r]{0,8}") {
            let line = format!("{}:*:*:{}:{}", escaped(&host), escaped(&user), escaped(&secret));
            let wanted = Wanted { host: &host, user: &user, ..WANTED };
            prop_assert_eq!(password(&line, &wanted), Some(secret));
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _found = password(&text, &WANTED);
        }
    }
}
