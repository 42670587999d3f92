//! Commands as shells read them: words, quoted where that is needed.

/// The words as one command line of a POSIX shell.
pub(crate) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as the shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter));
    if !word.is_empty() && is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The words of a command line that starts one program. `None` if a shell would do more with it than take out quotes.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => quote(letter, &mut letters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(letters.next()?),
            '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '#' | '~' | '\n' => return None,
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Adds what is between quotation marks, of which the first was read.
fn quote(mark: char, letters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match letters.next()? {
            letter if letter == mark => return Some(()),
            '$' | '`' if mark == '"' => return None,
            '\\' if mark == '"' => match letters.next()? {
                letter @ ('"' | '\\' | '$' | '`') => word.push(letter),
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_split_again() {
        for word in ["/usr/bin/proofmark", "", "a b", "it's", "\"x\"", "a\\b", "ü;$(x)", "--a=b", "*", "'", "-n"] {
            let words = ["first".to_owned(), word.to_owned()];
            assert_eq!(split(&line(&words)).as_deref(), Some(&words[..]), "{word}");
            let shell = std::process::Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(word))).output();
            assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap(), word);
        }
    }

    #[test]
    fn a_line_that_does_more_than_start_a_program_is_not_split() {
        for line in ["a; b", "a | b", "a $x", "\"$x\"", "a && b", "a > b", "a `b`", "'open", "\"open", "a *"] {
            assert_eq!(split(line), None, "{line}");
        }
        assert_eq!(split(r#" a  "b \" \n" "#), Some(vec!["a".to_owned(), r#"b " \n"#.to_owned()]));
    }
}
