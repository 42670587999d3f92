//! The words of a command, written as an array or as one line.

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

/// The most words a command may have.
pub const MAX_WORDS: usize = 256;

/// Characters by which a shell does more than start one program.
const OF_SHELLS: [char; 12] = ['|', '&', ';', '<', '>', '$', '`', '(', ')', '\\', '*', '?'];

/// Reads a command.
pub(super) fn read(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let words = match field.json.as_str() {
        Some(line) => split(field, line)?,
        None if field.json.as_array().is_some() => texts(field)?,
        None => return Err(field.wrong_type("an array of words, or a line of them")),
    };
    // The words become C strings for `execve`, which a null character would end.
    if words.is_empty() || words.len() > MAX_WORDS || words.iter().any(|word| word.contains('\0')) {
        return Err(field.error(Cause::InvalidValue, format!("write 1 to {MAX_WORDS} words, without null characters")));
    }
    Ok(words)
}

/// Reads an array of texts.
pub(super) fn texts(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    field.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
}

/// The words of a line: separated by white space, and quoted by `'` or `"`. Nothing else of a shell's language counts.
fn split(field: &Field<'_>, line: &str) -> Result<Vec<String>, DocumentError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in line.chars() {
        match (quote, char) {
            (Some(open), char) if char == open => quote = None,
            (Some(_), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, char) if char.is_whitespace() => words.extend(word.take()),
            (None, char) if OF_SHELLS.contains(&char) => {
                let message = format!(
                    "`{}` has a meaning for shells only, and no shell reads the command",
                    shown(&char.to_string())
                );
                let help =
                    "quote it, write the words as an array, or let a shell read it, as in `[\"bash\", \"-c\", \"…\"]`";
                return Err(field.error(Cause::InvalidValue, message).with_help(help));
            }
            (None, char) => word.get_or_insert_default().push(char),
        }
    }
    if quote.is_some() {
        return Err(field.error(Cause::InvalidValue, "a quote is not closed").with_help("close it"));
    }
    words.extend(word);
    Ok(words)
}
