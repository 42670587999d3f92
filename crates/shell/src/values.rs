//! What the words of a text may come to.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::braces::braces;
use crate::reader::{Found, Joint};
use crate::variables::{is_decisive, is_evaluated};
use crate::word::{Part, Word, is_name};
use crate::{MAX_READINGS, MAX_TEXT_BYTES, MAX_TOLD_BYTES};

/// The name of a pipe.
const PIPE: &str = "/dev/fd/63";
/// How many variables a value may go through.
const MAX_STEPS: usize = 4;
/// The most values of a variable that are followed.
const MAX_VALUES: usize = 8;

/// One text that a word may come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) text: String,
    /// Whether it stands for the names of files that it matches.
    pub(crate) pattern: bool,
}

/// An argument of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arg {
    pub(crate) written: String,
    /// All that it may be; `None` where that is not known.
    pub(crate) readings: Option<Vec<Reading>>,
    /// Whether it is not the same in each shell, as with braces, or at each time.
    pub(crate) varies: bool,
    /// Whether it may come to several words or to none, of which any may be an option.
    pub(crate) splits: bool,
    /// Whether it is the name of a file that exists, which is seen when it is made.
    pub(crate) is_file: bool,
    /// Whether it is a number, which may not be known.
    pub(crate) is_number: bool,
}

impl Arg {
    /// A word of which it is not known what it will be.
    pub(crate) fn unknown(written: impl Into<String>) -> Self {
        Self { written: written.into(), readings: None, varies: false, splits: true, is_file: false, is_number: false }
    }

    pub(crate) fn known(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            written: text.clone(),
            is_number: !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()),
            readings: Some(vec![Reading { text, pattern: false }]),
            varies: false,
            splits: false,
            is_file: false,
        }
    }

    /// Its text, where it can be only one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.readings.as_deref()? {
            [Reading { text, pattern: false }] => Some(text),
            _ => None,
        }
    }
}

/// The variables of a text.
pub(crate) struct Values<'a> {
    assigned: HashMap<&'a str, Vec<Assigned>>,
    changed: HashSet<String>,
    /// Whether any variable may have any value.
    unknown: bool,
    /// Whether a number of the shell may get any value, which is evaluated then.
    evaluates: bool,
    cwd: Option<&'a str>,
    /// How many bytes of texts were made: a short text can have long values many times.
    made: Cell<usize>,
}

struct Assigned {
    /// `None` where the value is not followed.
    word: Option<Word>,
    /// The first command that it may be set for.
    from: usize,
    /// The first command that it may not be set for; `None` where it may never be set.
    until: Option<usize>,
}

/// Variables that a shell sets itself.
const SET_BY_SHELL: [&str; 18] = [
    "DIRSTACK",
    "GROUPS",
    "COLUMNS",
    "LINES",
    "_",
    "REPLY",
    "MAPFILE",
    "OPTARG",
    "OPTIND",
    "OLDPWD",
    "RANDOM",
    "SECONDS",
    "LINENO",
    "PIPESTATUS",
    "FUNCNAME",
    "COPROC",
    "reply",
    "match",
];

impl<'a> Values<'a> {
    pub(crate) fn of(found: &'a Found, cwd: Option<&'a str>) -> Self {
        let mut values = Self {
            assigned: HashMap::new(),
            changed: found.changed.iter().cloned().collect(),
            unknown: false,
            evaluates: found.changed.iter().any(|name| is_evaluated(name)),
            cwd,
            made: Cell::new(0),
        };
        for (index, command) in found.commands.iter().enumerate() {
            let is_certain = command.shell == 0
                && command.is_plain
                && command.before == Joint::Then
                && matches!(command.after, Joint::Then | Joint::And)
                && command.words.is_empty();
            for (name, word) in &command.assignments {
                let until = is_certain.then_some(usize::MAX);
                values.assigned.entry(name).or_default().push(Assigned { word: word.clone(), from: index + 1, until });
            }
            values.set_by(&command.words);
        }
        for one in &found.loops {
            if one.words.is_empty() {
                values.changed.insert(one.name.clone());
            }
            // After the loop, it may never have run.
            let until = Some(one.end.unwrap_or(one.begin));
            for word in &one.words {
                values.assigned.entry(&one.name).or_default().push(Assigned {
                    word: Some(word.clone()),
                    from: one.begin,
                    until,
                });
            }
        }
        values
    }

    /// Whether a variable is set by other means that decides which program runs, or whose value is evaluated.
    pub(crate) fn changes_decisive(&self) -> bool {
        self.changed.iter().any(|name| is_decisive(name)) || self.evaluates
    }

    /// Notes what commands of the shell itself do to variables.
    fn set_by(&mut self, words: &[Word]) {
        let Some((program, words)) = words.split_first() else { return };
        let program = program.unquoted().unwrap_or_default();
        let declares = matches!(&*program, "declare" | "typeset" | "local" | "export" | "readonly");
        let sets = matches!(
            &*program,
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" | "printf" | "wait" | "print" | "vared"
        );
        if matches!(&*program, "eval" | "source" | "." | "builtin" | "command" | "emulate" | "setopt" | "shopt") {
            self.unknown = true;
        }
        if !declares && !sets {
            return;
        }
        // The text of `printf` is a name only if an option says so.
        let names_follow = program != "printf" || words.first().is_none_or(|word| word.written.starts_with('-'));
        for word in words.iter().filter(|_| names_follow) {
            match word.unquoted() {
                Some(word) => {
                    // A name may stand for another variable.
                    self.unknown |= declares && word.starts_with(['-', '+']) && word.contains('n');
                    let name = set_name(&word);
                    self.evaluates |= sets && program != "unset" && name.as_deref().is_some_and(is_evaluated);
                    self.changed.extend(name);
                }
                // Of an assignment, the name is enough.
                None => match word.assignment() {
                    Some((name, _)) => drop(self.changed.insert(name)),
                    None => self.unknown = true,
                },
            }
        }
    }

    /// The arguments that a word becomes for the command at this place.
    pub(crate) fn args(&self, word: &Word, index: usize) -> Vec<Arg> {
        let mut all = Vec::new();
        let Some(alternatives) = braces(&word.parts) else {
            return vec![Arg::unknown(word.written.clone())];
        };
        let varies = alternatives.len() > 1 || word.parts.contains(&Part::Pipe);
        for parts in alternatives {
            let readings = self.readings(&parts, index, 0);
            let made = readings.iter().flatten().map(|reading| reading.text.len()).sum::<usize>();
            self.made.set(self.made.get().saturating_add(made + word.written.len()));
            let readings = readings.filter(|_| self.made.get() <= MAX_TOLD_BYTES);
            let written = match readings.as_deref() {
                Some([one]) => one.text.clone(),
                _ => word.written.clone(),
            };
            let is_number = self.is_number(&parts, index, 0);
            let is_pattern = readings.iter().flatten().any(|reading| reading.pattern);
            let splits = is_pattern || (readings.is_none() && !is_number && self.splits(&parts, index));
            all.push(Arg { written, readings, varies, splits, is_file: false, is_number });
        }
        all
    }

    /// The value that an assignment sets, where it can be only one.
    pub(crate) fn value(&self, word: &Word, index: usize) -> Option<String> {
        match self.readings(&word.parts, index, 0)?.as_slice() {
            [one] => Some(one.text.clone()),
            _ => None,
        }
    }

    /// Whether a word comes to a number, as far as its parts say it.
    fn is_number(&self, parts: &[Part], index: usize, steps: usize) -> bool {
        self.made.set(self.made.get().saturating_add(parts.len()));
        let is_one = |part: &Part| match part {
            Part::Plain(c) | Part::Quoted(c) => c.is_ascii_digit(),
            Part::Number => true,
            Part::Variable { name, .. } => self.is_number_in(name, index, steps + 1),
            _ => false,
        };
        !parts.is_empty() && self.made.get() <= MAX_TOLD_BYTES && parts.iter().all(is_one)
    }

    /// Whether each value that a variable may have for the command at this place is a number.
    pub(crate) fn is_number_in(&self, name: &str, index: usize, steps: usize) -> bool {
        let Some(own) = self.followed(name, index, steps) else { return false };
        own.iter().all(|assigned| {
            let word = assigned.word.as_ref();
            word.is_some_and(|word| self.is_number(&word.parts, assigned.from.saturating_sub(1), steps))
        })
    }

    /// Whether a word that is not known may come to several words or to none.
    fn splits(&self, parts: &[Part], index: usize) -> bool {
        parts.iter().any(|part| match part {
            Part::Words => true,
            Part::Variable { name, quoted: false } => {
                let is_word = |value: &Reading| !value.text.is_empty() && !value.text.contains([' ', '\t', '\n']);
                let values = self.variable(name, index, 1);
                !values.is_some_and(|values| values.iter().all(is_word)) && !self.is_number_in(name, index, 1)
            }
            _ => false,
        })
    }

    fn readings(&self, parts: &[Part], index: usize, steps: usize) -> Option<Vec<Reading>> {
        self.made.set(self.made.get().saturating_add(parts.len()));
        if self.made.get() > MAX_TOLD_BYTES {
            return None;
        }
        let mut all = vec![Reading::default()];
        let last_bracket = parts.iter().rposition(|part| *part == Part::Plain(']'));
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Plain(c) => {
                    let is_pattern = match c {
                        '*' | '?' => true,
                        '[' => last_bracket.is_some_and(|last| last > at),
                        _ => false,
                    };
                    for reading in &mut all {
                        reading.pattern |= is_pattern;
                        reading.text.push(*c);
                    }
                }
                // As the name of a file, it is not the folder of the user.
                Part::Quoted('~') if at == 0 => all.iter_mut().for_each(|reading| reading.text.push_str("./~")),
                Part::Quoted(c) => all.iter_mut().for_each(|reading| reading.text.push(*c)),
                Part::Home => all.iter_mut().for_each(|reading| reading.text.push('~')),
                Part::Pipe => all.iter_mut().for_each(|reading| reading.text.push_str(PIPE)),
                Part::Unknown | Part::Words | Part::Number => return None,
                Part::Variable { name, quoted } => {
                    let values = self.variable(name, index, steps + 1)?;
                    // Not quoted, a value is split into words, and an empty value makes no word.
                    let longest =
                        |all: &[Reading]| all.iter().map(|reading| reading.text.len()).max().unwrap_or_default();
                    if longest(&all) + longest(&values) > MAX_TEXT_BYTES {
                        return None;
                    }
                    let is_split = |value: &Reading| value.text.is_empty() || value.text.contains([' ', '\t', '\n']);
                    if !quoted && values.iter().any(is_split) || all.len() * values.len() > MAX_READINGS {
                        return None;
                    }
                    let with = |reading: &Reading, value: &Reading| Reading {
                        text: format!("{}{}", reading.text, value.text),
                        pattern: reading.pattern || value.pattern || (!quoted && value.text.contains(['*', '?', '['])),
                    };
                    all = all.iter().flat_map(|reading| values.iter().map(move |value| with(reading, value))).collect();
                }
            }
        }
        Some(all)
    }

    /// The values that a variable is set to, where it is certain that it has one of them for the command at this place.
    fn followed(&self, name: &str, index: usize, steps: usize) -> Option<&[Assigned]> {
        // `cd` sets `PWD` again.
        if self.unknown
            || self.made.get() > MAX_TOLD_BYTES
            || steps > MAX_STEPS
            || self.changed.contains(name)
            || SET_BY_SHELL.contains(&name)
            || name == "PWD"
            || name.starts_with("BASH")
        {
            return None;
        }
        let own = self.assigned.get(name)?;
        // Where it may not be set yet, it has the value of the environment, or none.
        let is_set = own.iter().any(|one| one.from <= index && one.until.is_some_and(|until| index < until));
        (own.len() <= MAX_VALUES && is_set).then_some(own)
    }

    /// All values that a variable may have for the command at this place.
    pub(crate) fn variable(&self, name: &str, index: usize, steps: usize) -> Option<Vec<Reading>> {
        if !self.unknown && !self.changed.contains(name) && !self.assigned.contains_key(name) && steps <= MAX_STEPS {
            let text = match name {
                "HOME" => "~".to_owned(),
                "PWD" => self.cwd?.to_owned(),
                _ => return None,
            };
            return Some(vec![Reading { text, pattern: false }]);
        }
        let mut all: Vec<Reading> = Vec::new();
        for assigned in self.followed(name, index, steps)? {
            for parts in braces(&assigned.word.as_ref()?.parts)? {
                for reading in self.readings(&parts, assigned.from.saturating_sub(1), steps)? {
                    if !all.contains(&reading) {
                        all.push(reading);
                    }
                }
            }
        }
        (all.len() <= MAX_READINGS).then_some(all)
    }
}

/// The name at the beginning of what such a command takes.
fn set_name(word: &str) -> Option<String> {
    word.split(['=', '+', '[']).next().filter(|name| is_name(name)).map(str::to_owned)
}
