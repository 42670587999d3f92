//! Plain literals, whose value is known without an interpreter.

use super::{Integer, Value};
/// How deep a literal may nest; deeper ones are left to the interpreter.
const MAX_DEPTH: usize = 32;

/// The plain literals of a language.
pub(crate) struct Literals {
    /// The words that stand for a value.
    pub(crate) constants: &'static [(&'static str, Value)],
    /// The most digits of an integer; longer ones are left to the interpreter.
    pub(crate) max_digits: usize,
    /// Whether parentheses make tuples.
    pub(crate) tuples: bool,
    /// Whether braces make dicts.
    pub(crate) dicts: bool,
    /// Characters that mean something else than themselves in a string, besides the backslash.
    pub(crate) not_in_strings: &'static [char],
}

impl Literals {
    /// The value of `text` where it is a plain literal: a number, a string without escapes, a constant, or a list, tuple
    /// or dict of such. `None` leaves it to an interpreter of the language, which knows all the rest.
    pub(crate) fn value(&self, text: &str) -> Option<Value> {
        let mut reader = Reader { rest: text.trim(), literals: self };
        let value = reader.value(0)?;
        reader.rest.is_empty().then_some(value)
    }
}

struct Reader<'a> {
    rest: &'a str,
    literals: &'a Literals,
}

impl Reader<'_> {
    /// One value and the white space after it.
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let value = match self.rest.chars().next()? {
            '"' | '\'' => self.string()?,
            '0'..='9' | '-' => self.number()?,
            '[' => Value::List(self.items('[', ']', depth)?.0),
            '(' if self.literals.tuples => self.tuple(depth)?,
            '{' if self.literals.dicts => self.braces(depth)?,
            'A'..='Z' | 'a'..='z' => self.word()?,
            _ => return None,
        };
        self.rest = self.rest.trim_start();
        Some(value)
    }

    fn string(&mut self) -> Option<Value> {
        let quote = self.rest.chars().next()?;
        let (text, rest) = self.rest.get(1..)?.split_once(quote)?;
        // A quote right after may begin or end a string in three quotes.
        if text.chars().any(|c| c == '\\' || c.is_control() || self.literals.not_in_strings.contains(&c))
            || rest.starts_with(quote)
        {
            return None;
        }
        self.rest = rest;
        Some(Value::Text(text.to_owned()))
    }

    fn number(&mut self) -> Option<Value> {
        // Letters belong to it too, so that `1e3`, `0x10` and `1n` are one token, which is refused as a whole.
        let end = self.rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '.' | '_' | 'a'..='z' | 'A'..='Z'));
        let (token, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let digits = token.strip_prefix('-').unwrap_or(token);
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let whole = |part: &str| plain(part) && (part == "0" || !part.starts_with('0'));
        self.rest = rest;
        match digits.split_once('.') {
            Some((before, after)) if whole(before) && plain(after) => token.parse().ok().map(Value::Float),
            // `-0` is the integer 0 in one language and a double in another.
            None if whole(digits) && token != "-0" && digits.len() <= self.literals.max_digits => {
                Integer::new(token).map(Value::Int)
            }
            Some(_) | None => None,
        }
    }

    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let (_, value) = self.literals.constants.iter().find(|(constant, _)| *constant == word)?;
        Some(value.clone())
    }

    fn tuple(&mut self, depth: usize) -> Option<Value> {
        let (mut items, comma) = self.items('(', ')', depth)?;
        match (items.len(), comma) {
            // Parentheses around one value do not make a tuple.
            (1, false) => items.pop(),
            _ => Some(Value::Tuple(items)),
        }
    }

    /// The values between brackets, and whether a comma followed the last.
    fn items(&mut self, open: char, close: char, depth: usize) -> Option<(Vec<Value>, bool)> {
        let mut items = Vec::new();
        self.rest = self.rest.strip_prefix(open)?.trim_start();
        let mut comma = false;
        loop {
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest;
                // `[,]` is a hole in one language and an error in the other.
                return (!items.is_empty() || !comma).then_some((items, comma));
            }
            if !items.is_empty() && !comma {
                return None;
            }
            items.push(self.value(depth + 1)?);
            comma = self.comma();
        }
    }

    fn comma(&mut self) -> bool {
        let rest = self.rest.strip_prefix(',');
        self.rest = rest.unwrap_or(self.rest).trim_start();
        rest.is_some()
    }

    /// A dict whose keys are numbers or strings. Sets, and other keys, need the language's own rules of what is equal.
    fn braces(&mut self, depth: usize) -> Option<Value> {
        let mut pairs: Vec<(Value, Value)> = Vec::new();
        self.rest = self.rest.strip_prefix('{')?.trim_start();
        let mut comma = true;
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Some(Value::Dict(pairs));
            }
            let key = if comma { self.value(depth + 1)? } else { return None };
            self.rest = self.rest.strip_prefix(':')?.trim_start();
            let value = self.value(depth + 1)?;
            let simple = matches!(key, Value::Text(_) | Value::Int(_));
            if !simple || pairs.iter().any(|(other, _)| *other == key) {
                return None;
            }
            pairs.push((key, value));
            comma = self.comma();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    fn literal(language: Language, text: &str) -> Option<Value> {
        language.functions().unwrap().literals.value(text)
    }

    fn python(text: &str) -> Option<Value> {
        literal(Language::Python, text)
    }

    fn javascript(text: &str) -> Option<Value> {
        literal(Language::JavaScript, text)
    }

    fn int(value: i64) -> Value {
        Value::Int(Integer::new(&value.to_string()).unwrap())
    }

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn plain_literals_are_known() {
        assert_eq!(python(" -12 "), Some(int(-12)));
        assert_eq!(python("(1)"), Some(int(1)));
        assert_eq!(python("(1,)"), Some(Value::Tuple(vec![int(1)])));
        assert_eq!(python("()"), Some(Value::Tuple(Vec::new())));
        assert_eq!(python("[1.5, 'a', None,]"), Some(Value::List(vec![Value::Float(1.5), text("a"), Value::Null])));
        assert_eq!(python("{'a': [True]}"), Some(Value::Dict(vec![(text("a"), Value::List(vec![Value::Bool(true)]))])));
        assert_eq!(
            javascript("[null, undefined, \"x\"]"),
            Some(Value::List(vec![Value::Null, Value::Undefined, text("x")]))
        );
    }

    #[test]
    fn everything_else_is_left_to_the_interpreter() {
        for text in [
            "",
            "1 + 1",
            "1, 2",
            "01",
            "1_000",
            "1e3",
            "0x10",
            "1j",
            "--1",
            "- 1",
            "'a' 'b'",
            "'a\\n'",
            "'''a'''",
            "\"\"\"\"\"\"",
            "f'a'",
            "b'a'",
            "sorted([1])",
            "[1 2]",
            "[,]",
            "{1, 2}",
            "{1: 2, 1: 3}",
            "{1.5: 2}",
            "{(1,): 2}",
            "nan",
            "null",
            "[1] * 3",
            "('a'",
            "1.",
            ".5",
            "-0",
        ] {
            assert_eq!(python(text), None, "{text}");
        }
        for text in ["(1)", "{a: 1}", "{}", "9007199254740993", "1n", "-0", "NaN", "None", "[1,,2]", "`a`", "/a/"] {
            assert_eq!(javascript(text), None, "{text}");
        }
        assert_eq!(python(&"[".repeat(10_000)), None);
    }
}
