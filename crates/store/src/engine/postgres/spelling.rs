//! Statements as PostgreSQL spells them.

/// What `sql` is in PostgreSQL: parameters `?1` and `?` are `$1` and the next number, and SQLite's hints are left out
/// (` INDEXED BY name`, and `CROSS` where a join has a condition).
pub(crate) fn postgres(sql: &str) -> String {
    with_parameters(sql, |number| format!("${number}"))
}

/// As [`postgres`], with another spelling of parameters.
pub(crate) fn with_parameters(sql: &str, parameter: impl Fn(u32) -> String) -> String {
    let mut spelled = String::with_capacity(sql.len());
    let (mut rest, mut greatest) = (sql, 0_u32);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => literal(rest, first),
            '?' => {
                let digits = count(rest.get(1..), |digit| digit.is_ascii_digit());
                let given = rest.get(1..=digits).and_then(|digits| digits.parse().ok());
                let number = given.unwrap_or_else(|| greatest.saturating_add(1));
                greatest = greatest.max(number);
                spelled.push_str(&parameter(number));
                rest = rest.get(1 + digits..).unwrap_or_default();
                continue;
            }
            first if is_of_word(first) => count(Some(rest), is_of_word),
            first => first.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        match hint(part, after) {
            Some(left) => {
                spelled.truncate(spelled.trim_end().len());
                spelled.push_str(if left.starts_with(char::is_whitespace) { "" } else { " " });
                rest = left;
            }
            None => {
                spelled.push_str(part);
                rest = after;
            }
        }
    }
    spelled
}

/// What follows, if `word` begins a hint.
fn hint<'a>(word: &str, after: &'a str) -> Option<&'a str> {
    match word {
        "INDEXED" => next_word(next_word(after, "BY")?, ""),
        "CROSS" => {
            let table = next_word(next_word(after, "JOIN")?, "")?;
            let condition = next_word(table, "AS").and_then(|table| next_word(table, "")).unwrap_or(table);
            let has_condition = ["USING", "ON"].iter().any(|word| next_word(condition, word).is_some());
            has_condition.then_some(after)
        }
        _ => None,
    }
}

/// What follows the next word, if it is `wanted` or anything is wanted.
fn next_word<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let text = text.trim_start();
    let (word, after) = text.split_at(count(Some(text), is_of_word));
    (!word.is_empty() && (wanted.is_empty() || word == wanted)).then_some(after)
}

/// The length of the literal or quoted name at the beginning. Two quotes in it make two literals, which are copied alike.
fn literal(text: &str, quote: char) -> usize {
    text.get(1..).and_then(|inside| inside.find(quote)).map_or(text.len(), |end| end + 2)
}

/// How many bytes at the beginning of `text` are such characters.
fn count(text: Option<&str>, is_such: impl Fn(char) -> bool) -> usize {
    let text = text.unwrap_or_default();
    text.find(|character| !is_such(character)).unwrap_or(text.len())
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::postgres;

    #[test]
    fn parameters_have_numbers_and_hints_are_left_out() {
        for (sql, spelled) in [
            ("SELECT a FROM b WHERE c = ?1 AND d = ?12", "SELECT a FROM b WHERE c = $1 AND d = $12"),
            ("VALUES (?, ?, ?2, ?)", "VALUES ($1, $2, $2, $3)"),
            ("SELECT '?1', \"?\", 'it''s ?', ?3", "SELECT '?1', \"?\", 'it''s ?', $3"),
            ("FROM t INDEXED BY t_by_x WHERE a", "FROM t WHERE a"),
            ("FROM a CROSS JOIN b USING (c)", "FROM a JOIN b USING (c)"),
            ("FROM a CROSS JOIN b AS x ON x.c = a.c", "FROM a JOIN b AS x ON x.c = a.c"),
            ("FROM a CROSS JOIN b WHERE c", "FROM a CROSS JOIN b WHERE c"),
            ("SELECT 'INDEXED BY x', CROSSED", "SELECT 'INDEXED BY x', CROSSED"),
            ("FROM t INDEXED BY i", "FROM t "),
        ] {
            assert_eq!(postgres(sql), spelled);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_spelled(text in "[ '\"?1äa_]{0,12}(INDEXED|CROSS|JOIN|BY|USING| ){0,6}[ '?ä]{0,4}") {
            let _spelled = postgres(&text);
        }

        #[test]
        fn what_has_neither_parameters_nor_hints_stays(text in "[a-zA-Z0-9 ,.()<>=*']{0,40}") {
            prop_assume!(!text.contains("INDEXED") && !text.contains("CROSS"));
            prop_assert_eq!(postgres(&text), text);
        }
    }
}
