//! The name of the function that is called.

use super::{Code, Field, RequestError, shown};
use crate::job::Language;

const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

const JAVASCRIPT_KEYWORDS: [&str; 48] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Reads an entry point. It goes into source text, so nothing but a plain name is let through.
pub(super) fn read(field: &Field<'_>, language: Language) -> Result<String, RequestError> {
    let name = field.text()?;
    if is_plain(name, language) && !is_keyword(name, language) {
        return Ok(name.to_owned());
    }
    let message =
        format!("`{}` is no plain {language} identifier; write the name of one top-level function", shown(name));
    Err(field.error(Code::InvalidValue, message))
}

fn is_plain(name: &str, language: Language) -> bool {
    let special = |char: char| char == '_' || (char == '$' && language == Language::JavaScript);
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || special(first))
        && chars.all(|char| char.is_ascii_alphanumeric() || special(char))
}

fn is_keyword(name: &str, language: Language) -> bool {
    match language {
        Language::Python => PYTHON_KEYWORDS.contains(&name),
        Language::JavaScript => JAVASCRIPT_KEYWORDS.contains(&name),
        Language::Bash => false,
    }
}
