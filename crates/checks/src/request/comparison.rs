//! Expressions that compare, and so leave the answer to the submission.
//!
//! In `f(7) == 49` the value of `f(7)` decides by its own `__eq__`, and `49` is handed to it. The expected value belongs
//! in `expected_output`, which is compared outside of the submission's process.

use super::{Code, Field, RequestError, shown};
use crate::job::Language;

/// Operators that a value of the submission may decide: by `__eq__` and the like, or in JavaScript by `valueOf`.
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
/// Operators that are none of those, though they hold their characters. `===` and `!==` ask no value.
const OTHERS: [&str; 8] = [">>>", "===", "!==", "<<", ">>", "=>", "->", ":="];
/// Functions whose answer shows the outcome of a comparison among their arguments.
const CARRIERS: [&str; 20] = [
    "bool",
    "all",
    "any",
    "int",
    "float",
    "str",
    "repr",
    "abs",
    "sum",
    "min",
    "max",
    "list",
    "tuple",
    "set",
    "frozenset",
    "sorted",
    "Boolean",
    "Number",
    "String",
    "Set",
];
/// Words before a bracket that call nothing.
const KEYWORDS: [&str; 11] = ["not", "and", "or", "in", "is", "if", "else", "await", "typeof", "void", "yield"];

/// Refuses an expression whose value is that of a comparison.
pub(super) fn refuse(field: &Field<'_>, language: Language) -> Result<(), RequestError> {
    let Some(text) = field.json.as_str() else { return Ok(()) };
    let Some(operator) = deciding(text, language) else { return Ok(()) };
    let message = format!(
        "the submission decides `{}`, for its own values say what `{operator}` means; write what is computed in `input` and the right value in `expected_output`, as in `f(7)` and `49`",
        shown(text.trim())
    );
    Err(field.error(Code::InvalidValue, message))
}

/// The comparison whose outcome is the value of the expression, or a part of it.
fn deciding(text: &str, language: Language) -> Option<&'static str> {
    let mut pieces = Pieces::of(text, language);
    // For the text and each bracket open in it, whether the outcome of a comparison there reaches the value.
    let mut reach = vec![true];
    let mut before = "";
    while let Some(piece) = pieces.next() {
        let reaches = reach.last().copied().unwrap_or(false);
        match piece {
            "(" | "[" | "{" => reach.push(reaches && shows(piece, before, pieces.follows_value)),
            ")" | "]" | "}" => drop(reach.pop()),
            // What follows belongs to a function, or to a clause of a comprehension.
            "lambda" | "for" | "=>" => reach.iter_mut().last().into_iter().for_each(|reaches| *reaches = false),
            "in" if reaches => return Some("in"),
            _ if reaches => {
                if let Some(operator) = COMPARISONS.into_iter().find(|operator| *operator == piece) {
                    return Some(operator);
                }
            }
            _ => {}
        }
        before = piece;
    }
    None
}

/// Whether a bracket after the piece `before` shows what it holds: it groups, makes a list or the like, or holds the
/// arguments of a function of [`CARRIERS`]. The arguments of other functions, subscripts and bodies do not show.
fn shows(bracket: &str, before: &str, follows_value: bool) -> bool {
    !follows_value || KEYWORDS.contains(&before) || (bracket == "(" && CARRIERS.contains(&before))
}

/// An expression in pieces: words, operators, other characters. Strings and comments are passed over.
struct Pieces<'a> {
    rest: &'a str,
    language: Language,
    /// Whether the last piece ends a value, after which a slash divides.
    after_value: bool,
    /// Whether the piece before the last one did.
    follows_value: bool,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a str, language: Language) -> Pieces<'a> {
        Pieces { rest: text, language, after_value: false, follows_value: false }
    }

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            let text = self.rest;
            let first = text.chars().next()?;
            let Some(passed) = self.passed_over(first) else {
                let piece = piece(text);
                self.follows_value = self.after_value;
                self.after_value = matches!(first, ')' | ']' | '}') || is_word(first);
                self.rest = text.get(piece.len()..).unwrap_or_default();
                return Some(piece);
            };
            self.after_value = true;
            self.rest = text.get(passed..).unwrap_or_default();
        }
    }

    /// The bytes of the string, the pattern or the comment that begins here.
    fn passed_over(&self, first: char) -> Option<usize> {
        let text = self.rest;
        let to = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
        let python = self.language == Language::Python;
        match first {
            '"' | '\'' | '`' => Some(quoted(text, first)),
            '#' if python => Some(to("\n")),
            '/' if !python && text.starts_with("//") => Some(to("\n")),
            '/' if !python && text.starts_with("/*") => Some(to("*/")),
            '/' if !python && !self.after_value => Some(quoted(text, first)),
            _ => None,
        }
    }
}

/// The word, the operator or the character that a text begins with.
fn piece(text: &str) -> &str {
    let word = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let operator = OTHERS.into_iter().chain(COMPARISONS).find(|operator| text.starts_with(operator));
    let length = match (word, operator) {
        (0, Some(operator)) => operator.len(),
        (0, None) => text.chars().next().map_or(0, char::len_utf8),
        (word, _) => word,
    };
    text.get(..length).unwrap_or(text)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// The bytes of a string, also one in three quotes; up to the end of the text where nothing closes it.
fn quoted(text: &str, quote: char) -> usize {
    let triple = quote.to_string().repeat(3);
    let close = if quote != '/' && text.starts_with(&triple) { triple } else { quote.to_string() };
    let mut at = close.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(&close) {
            return at + close.len();
        }
        let mut characters = rest.chars();
        if characters.next() == Some('\\') {
            characters.next();
        }
        at = text.len() - characters.as_str().len();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_found_wherever_it_decides() {
        let table = [
            ("f(7) == 49", "=="),
            ("49==f(7)", "=="),
            ("f(7)!=48", "!="),
            ("f(1) < 2 <= f(3)", "<"),
            ("f(7) >= 1", ">="),
            ("f(7) in (1, 2)", "in"),
            ("1 not in f(7)", "in"),
            ("(f(7) == 49)", "=="),
            ("((f(7)) == 49)", "=="),
            ("not f(7) == 49", "=="),
            ("not (f(7) == 49)", "=="),
            ("bool(f(7) == 49)", "=="),
            ("all(f(x) == y for x, y in [(7, 49)])", "=="),
            ("all([f(x) == y for x, y in [(7, 49)]])", "=="),
            ("any((f(x) == 1) for x in range(9))", "=="),
            ("f(1) == 1 and f(2) == 4", "=="),
            ("1 if f(7) == 49 else 0", "=="),
            ("f('=') == '='", "=="),
            ("f(7) # right\n == 49", "=="),
            ("[f(7) == 49, f(8) == 64]", "=="),
            ("[f(x) == x * x for x in range(3)]", "=="),
            ("{f(x) == x * x for x in range(3)}", "=="),
            ("{'a': f(7) == 49}", "=="),
            ("[[1, (f(7) == 49,)]]", "=="),
            ("int(f(7) == 49)", "=="),
            ("str(f(7) == 49)", "=="),
            ("sum(f(x) == x * x for x in range(5))", "=="),
            ("max(f(7) == 49, False)", "=="),
            ("+(f(7) == 49)", "=="),
            ("(f(7) == 49) + 0", "=="),
            ("(f(7) == 49) is True", "=="),
            ("True and (f(7) == 49)", "=="),
            ("'right' if (f(7) == 49) else 'wrong'", "=="),
        ];
        for (text, operator) in table {
            assert_eq!(deciding(text, Language::Python), Some(operator), "{text}");
        }
        let table = [
            ("f(7) == 49", "=="),
            ("!(f(7) == 49)", "=="),
            ("f(7) > 48", ">"),
            ("'a' in f(7)", "in"),
            ("f(/=/) != 1", "!="),
            ("/* a */ f(7) / 2 == 1", "=="),
            ("[f(7) == 49]", "=="),
            ("({a: f(7) == 49})", "=="),
            ("Number(f(7) == 49)", "=="),
            ("new Set([f(7) == 49])", "=="),
        ];
        for (text, operator) in table {
            assert_eq!(deciding(text, Language::JavaScript), Some(operator), "{text}");
        }
    }

    #[test]
    fn other_expressions_are_left_alone() {
        let table = [
            "f(7)",
            "f('a == b')",
            r#"f("""a" == b""")"#,
            r"f('it\'s == 1')",
            "f(7 == 7)",
            "[x for x in f(7)]",
            "{x: 1 for x in f(7) if x > 1}",
            "f(key=lambda x: x == 3)",
            "f(7) is None",
            "f(7) is not None",
            "not f(7)",
            "nothing(f(7) == 1)",
            "bool(f(7))",
            "all(is_prime(x) for x in range(9) if x > 1)",
            "(f(1)) + (f(2))",
            "f(1) << 2 >> 1",
            "inner(f)",
            "f(7) # == 49",
            "isinstance(f(7), int)",
            "f(7)[1 == 1]",
            "[f(7)[1 == 1]]",
            "sorted(f(7), key=lambda x: x == 3)",
            "list(filter(lambda x: x > 1, f(7)))",
            "[x for x in f(7) if x > 1]",
            "sum(x for x in f(7) if x in (1, 2))",
            "['a == b', \"c in d\"]",
            "",
            "((((((((((((",
            ")(",
            "\"",
            "'''",
            "\\",
        ];
        for text in table {
            assert_eq!(deciding(text, Language::Python), None, "{text}");
        }
        let table = [
            "f(7) === 49",
            "f(7) !== 49",
            "[1].map(x => x > 3)",
            "f(`a == b`)",
            "f(7) / 2 / 1",
            "x => x == 1",
            "f(/a == b/)",
            "[f(7) === 49]",
            "(function () { for (let i = 0; i < 3; i++) f(i); return f(7) })()",
        ];
        for text in table {
            assert_eq!(deciding(text, Language::JavaScript), None, "{text}");
        }
    }
}
