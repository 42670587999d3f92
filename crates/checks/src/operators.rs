//! Expressions that compare, and so leave the answer to the submission.
//!
//! In `f(7) == 49` the value of `f(7)` decides by its own `__eq__`, and `49` is handed to it. The expected value belongs
//! in `expected_output`, which is compared outside of the submission's process.

/// How expressions of a language are written, as far as it takes to find comparisons in them.
pub(crate) struct Operators {
    /// Operators that a value of the submission may decide: by `__eq__` and the like, or in JavaScript by `valueOf`.
    /// Longer ones first.
    pub(crate) deciding: &'static [&'static str],
    /// Operators that are not among those, though they hold their characters.
    pub(crate) other: &'static [&'static str],
    /// Functions whose answer shows the outcome of a comparison among their arguments.
    pub(crate) carriers: &'static [&'static str],
    /// Words before a bracket that call nothing.
    pub(crate) keywords: &'static [&'static str],
    /// Words after which the text belongs to a function, or to a clause of a comprehension.
    pub(crate) bodies: &'static [&'static str],
    pub(crate) line_comment: &'static str,
    pub(crate) block_comment: Option<(&'static str, &'static str)>,
    /// Whether a slash that does not divide begins a pattern.
    pub(crate) slash_quotes: bool,
    /// Characters that only the end of a word may be.
    pub(crate) word_ends: &'static [char],
}

impl Operators {
    /// The comparison whose outcome is the value of the expression, or a part of it.
    pub(crate) fn deciding(&self, text: &str) -> Option<&'static str> {
        let mut pieces = Pieces::of(text, self);
        // For the text and each bracket open in it, whether the outcome of a comparison there reaches the value.
        let mut reach = vec![true];
        let mut before = "";
        while let Some(piece) = pieces.next() {
            // The stack is empty where more brackets close than open: not an expression, so nothing in it decides.
            let reaches = reach.last().copied().unwrap_or(false);
            match piece {
                "(" | "[" | "{" => reach.push(reaches && self.shows(piece, before, pieces.follows_value)),
                ")" | "]" | "}" => drop(reach.pop()),
                // It goes up to the bracket that closes around it: after `(lambda: 1)` comparisons decide again.
                body if self.bodies.contains(&body) => {
                    reach.iter_mut().last().into_iter().for_each(|reaches| *reaches = false)
                }
                _ if reaches => {
                    if let Some(operator) = self.deciding.iter().find(|operator| **operator == piece) {
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
    /// arguments of one of the carriers. The arguments of other functions, subscripts and bodies do not show.
    fn shows(&self, bracket: &str, before: &str, follows_value: bool) -> bool {
        !follows_value || self.keywords.contains(&before) || (bracket == "(" && self.carriers.contains(&before))
    }

    /// The word, the operator or the character that a text begins with.
    fn piece<'a>(&self, text: &'a str) -> &'a str {
        let word = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        // `other` first: some of its operators, as `===` and `<<`, begin with one that decides.
        let operator = self.other.iter().chain(self.deciding).find(|operator| text.starts_with(*operator));
        let length = match (word, operator) {
            (0, Some(operator)) => operator.len(),
            (0, None) => text.chars().next().map_or(0, char::len_utf8),
            (word, _) => word + self.word_end(text.get(word..).unwrap_or_default()),
        };
        text.get(..length).unwrap_or(text)
    }

    /// The bytes of the character that ends a word, where the text begins with one that is not part of an operator.
    fn word_end(&self, text: &str) -> usize {
        match text.strip_prefix(self.word_ends) {
            // In `a!=b` the mark belongs to the operator, not to the name.
            Some(rest) if !rest.starts_with('=') => text.len() - rest.len(),
            Some(_) | None => 0,
        }
    }
}

/// An expression in pieces: words, operators, other characters. Strings and comments are passed over.
struct Pieces<'a> {
    rest: &'a str,
    operators: &'a Operators,
    /// Whether the last piece ends a value, after which a slash divides.
    after_value: bool,
    /// Whether the piece before the last one did.
    follows_value: bool,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a str, operators: &'a Operators) -> Pieces<'a> {
        Pieces { rest: text, operators, after_value: false, follows_value: false }
    }

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            let text = self.rest;
            let first = text.chars().next()?;
            let Some(passed) = self.passed_over(first) else {
                let piece = self.operators.piece(text);
                self.follows_value = self.after_value;
                self.after_value = matches!(first, ')' | ']' | '}') || is_word(first);
                self.rest = text.get(piece.len()..).unwrap_or_default();
                return Some(piece);
            };
            // A comment ends no value: a bracket behind it would look like that of a call.
            self.after_value |= passed.is_value;
            self.rest = text.get(passed.bytes..).unwrap_or_default();
        }
    }

    /// The string, the pattern or the comment that begins here.
    fn passed_over(&self, first: char) -> Option<Passed> {
        let text = self.rest;
        let to = |end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
        let Operators { line_comment, block_comment, slash_quotes, .. } = *self.operators;
        if text.starts_with(line_comment) {
            return Some(Passed { bytes: to("\n"), is_value: false });
        }
        if let Some((_, end)) = block_comment.filter(|(begin, _)| text.starts_with(*begin)) {
            return Some(Passed { bytes: to(end), is_value: false });
        }
        match first {
            '"' | '\'' | '`' => Some(Passed { bytes: quoted(text, first), is_value: true }),
            '/' if slash_quotes && !self.after_value => Some(Passed { bytes: quoted(text, first), is_value: true }),
            _ => None,
        }
    }
}

/// Text in which no operator counts.
struct Passed {
    bytes: usize,
    is_value: bool,
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
    use crate::language::Language;

    fn deciding(text: &str, language: Language) -> Option<&'static str> {
        language.functions().unwrap().operators.deciding(text)
    }

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
            ("/* a */ (f(7) == 49)", "=="),
            ("[1, /* a */ (f(7) == 49)]", "=="),
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
