//! Words as a shell reads them, before anything in them is expanded.

/// One part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A character that is not quoted: it may be a part of a pattern or of braces.
    Plain(char),
    /// A character that stands for itself.
    Quoted(char),
    /// The folder of the user: `~` at the beginning.
    Home,
    /// `$name` or `${name}`.
    Variable { name: String, quoted: bool },
    /// A pipe from or to the commands of `<(…)` or `>(…)`, which has the name of a file.
    Pipe,
    /// What the text does not say, of one word: a quoted output of a command, or an expansion that is not followed here.
    Unknown,
    /// What the text does not say, and what may come to several words or to none.
    Words,
    /// A number that the text does not say.
    Number,
}

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// As it stands in the text.
    pub(crate) written: String,
}

impl Word {
    /// Its text, where nothing in it is quoted or expanded: only such a word is reserved.
    pub(crate) fn plain(&self) -> Option<String> {
        self.parts.iter().map(|part| if let Part::Plain(c) = part { Some(*c) } else { None }).collect()
    }

    /// Its text without quotes, where nothing in it is expanded.
    pub(crate) fn unquoted(&self) -> Option<String> {
        let chars = self.parts.iter().map(|part| match part {
            Part::Plain(c) | Part::Quoted(c) => Some(*c),
            _ => None,
        });
        chars.collect()
    }

    /// Whether it has the value of a variable.
    pub(crate) fn has_variable(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable { .. }))
    }

    /// Its text after quotes were removed, and whether any were there, as the end of a here-document has it.
    pub(crate) fn delimiter(&self) -> (String, bool) {
        let chars = self.parts.iter().filter_map(|part| match part {
            Part::Plain(c) | Part::Quoted(c) => Some(*c),
            _ => None,
        });
        (chars.collect(), self.written.contains(['\'', '"', '\\']))
    }

    /// The name and the value of an assignment, as in `NAME=value` and `NAME+=value`.
    pub(crate) fn assignment(&self) -> Option<(String, Self)> {
        let end = self.parts.iter().position(|part| *part == Part::Plain('='))?;
        let before = Self { parts: self.parts.get(..end)?.to_vec(), written: String::new() }.plain()?;
        let name = before.strip_suffix('+').unwrap_or(&before);
        let adds = name != before;
        if !is_name(name) {
            return None;
        }
        let mut parts = self.parts.get(end + 1..)?.to_vec();
        if adds {
            parts.insert(0, Part::Unknown);
        }
        let is_own = matches!(parts.get(1), None | Some(Part::Plain('/')));
        if let Some(first) = parts.first_mut().filter(|first| **first == Part::Plain('~')) {
            *first = if is_own { Part::Home } else { Part::Unknown };
        }
        let written = self.written.split_once('=').map(|(_, value)| value.to_owned()).unwrap_or_default();
        Some((name.to_owned(), Self { parts, written }))
    }

    /// Whether it is `NAME=`, before a list in parentheses.
    pub(crate) fn begins_list(&self) -> bool {
        self.parts.last() == Some(&Part::Plain('=')) && self.assignment().is_some()
    }
}

/// Whether it is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}
