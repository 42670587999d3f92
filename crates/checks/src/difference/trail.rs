//! The way to the first difference of two values.

use super::MAX_LINE_CHARS;
use super::walk::{Found, Inside, Member, Part};
use crate::render::{Notation, render, render_up_to};
use crate::value::Value;

/// The longest name of a place, and of one step to it, in characters.
const MAX_PLACE_CHARS: usize = 160;
const MAX_STEP_CHARS: usize = 40;

/// Where the first difference of two values is.
#[derive(Default)]
pub(super) struct Trail {
    /// How many containers are around it.
    pub(super) depth: usize,
    /// Its place, for example `[6].price`; empty for the whole value.
    path: String,
    /// What is to be said of it beside its place.
    note: String,
    /// Whether the two values, each on a line of its own, say all there is to say.
    pub(super) is_plain: bool,
    /// The byte of the difference in each value as it is written out in full.
    pub(super) expected_at: usize,
    pub(super) answer_at: usize,
}

impl Trail {
    /// The first line of a difference; empty where there is nothing to say.
    pub(super) fn heading(&self) -> String {
        let path = short_path(&self.path);
        match (path.as_str(), self.note.as_str()) {
            ("", note) if note.starts_with("character") => format!("at {note}"),
            ("", note) => note.to_owned(),
            (path, "") => format!("at {path}"),
            (path, note) => format!("at {path}: {note}"),
        }
    }
}

pub(super) fn of(found: &Found<'_>, expected: &Value, answer: &Value, notation: &Notation) -> Trail {
    let mut trail = Trail::default();
    follow(found, expected, answer, notation, &mut trail);
    trail
}

fn follow(found: &Found<'_>, expected: &Value, answer: &Value, notation: &Notation, trail: &mut Trail) {
    match found {
        Found::Whole(left, right) => whole(left, right, notation, trail),
        Found::Inside(inside) => {
            trail.depth += 1;
            // Of two lists as long as each other none lacks a member, whichever two are taken to belong together.
            let is_moved = matches!(length(expected), Some(count) if length(answer) == Some(count));
            let absent = |what: &str| match expected {
                Value::Set(_) => format!("a member is {what}"),
                _ if is_moved => String::new(),
                _ => what.to_owned(),
            };
            let Some(part) = inside.parts.iter().find(|part| !matches!(part, Part::Same(_))) else { return };
            match part {
                Part::Pair(left, right, found) => {
                    trail.path.push_str(&step(inside, *left, notation));
                    trail.expected_at += offset(expected, *left, notation);
                    trail.answer_at += offset(answer, *right, notation);
                    follow(found, left.value, right.value, notation, trail);
                }
                Part::Missing(member) => {
                    trail.path.push_str(&step(inside, *member, notation));
                    trail.note = absent("missing");
                    trail.expected_at += offset(expected, *member, notation);
                    trail.answer_at += offset(answer, *member, notation);
                }
                Part::Extra(member) => {
                    trail.path.push_str(&step(inside, *member, notation));
                    trail.note = absent("not expected");
                    trail.expected_at += offset(expected, *member, notation);
                    trail.answer_at += offset(answer, *member, notation);
                }
                Part::Same(_) | Part::Rest => {}
            }
        }
    }
}

fn whole(expected: &Value, answer: &Value, notation: &Notation, trail: &mut Trail) {
    let [left, right] = [expected, answer].map(|value| render(value, notation));
    let at = common(&left, &right);
    trail.expected_at += at;
    trail.answer_at += at;
    let short = [&left, &right].iter().all(|text| text.chars().nth(MAX_LINE_CHARS).is_none());
    let scalars = ![expected, answer].into_iter().any(is_container);
    trail.note = match (expected, answer) {
        (Value::Text(expected), Value::Text(answer)) => text_note(expected, answer, short),
        _ if expected.type_name() != answer.type_name() && !(is_number(expected) && is_number(answer)) => {
            format!("{} instead of {}", answer.type_name(), expected.type_name())
        }
        _ => String::new(),
    };
    trail.is_plain = trail.depth == 0 && scalars && short && left != right && !trail.note.starts_with("U+");
}

/// Where two strings differ, and which characters do where they may look alike.
fn text_note(expected: &str, answer: &str, short: bool) -> String {
    let at = common(expected, answer);
    let position = expected.get(..at).unwrap_or_default().chars().count() + 1;
    let characters = alike(expected.get(at..).unwrap_or_default(), answer.get(at..).unwrap_or_default());
    match (short, characters) {
        (true, None) => String::new(),
        (true, Some(characters)) => characters,
        (false, None) => format!("character {position}"),
        (false, Some(characters)) => format!("character {position}, {characters}"),
    }
}

/// The code points that two texts begin with, where one of them may be taken for another.
pub(super) fn alike(expected: &str, answer: &str) -> Option<String> {
    let [left, right] = [expected, answer].map(|text| text.chars().next());
    let point = |char: Option<char>| char.map_or("the end".to_owned(), |char| format!("U+{:04X}", u32::from(char)));
    let plain = |char: Option<char>| char.is_none_or(|char| char.is_ascii());
    (!(plain(left) && plain(right))).then(|| format!("{} instead of {}", point(right), point(left)))
}

/// The bytes that two texts have in common at their beginning, whole characters only.
pub(super) fn common(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(one, other)| one == other).map(|(char, _)| char.len_utf8()).sum()
}

pub(super) fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::Dict(_) | Value::Map(_))
}

/// How many members a list has.
fn length(value: &Value) -> Option<usize> {
    match value {
        Value::List(items) | Value::Tuple(items) => Some(items.len()),
        _ => None,
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Complex(..))
}

fn step(inside: &Inside<'_>, member: Member<'_>, notation: &Notation) -> String {
    match (inside.expected, member.key) {
        // Its members have no places of their own.
        (Value::Set(_), _) => String::new(),
        (_, None) => format!("[{}]", member.index),
        (_, Some(Value::Text(name) | Value::Symbol(name))) if is_plain_name(name) => format!(".{name}"),
        (_, Some(key)) => format!("[{}]", render_up_to(key, notation, MAX_STEP_CHARS)),
    }
}

fn is_plain_name(name: &str) -> bool {
    name.len() <= MAX_STEP_CHARS
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// The last steps of a path say most.
fn short_path(path: &str) -> String {
    let chars = path.chars().count();
    if chars > MAX_PLACE_CHARS {
        format!("…{}", path.chars().skip(chars - MAX_PLACE_CHARS).collect::<String>())
    } else {
        path.to_owned()
    }
}

/// The byte at which a member begins in its container as that is written out in full.
fn offset(container: &Value, member: Member<'_>, notation: &Notation) -> usize {
    let length = |value: &Value| render(value, notation).len();
    let items = |open: &str, items: &[Value]| {
        open.len() + items.iter().take(member.index).map(|item| length(item) + 2).sum::<usize>()
    };
    let pairs = |open: &str, pairs: &[(Value, Value)], between: &str| {
        let before = pairs.iter().take(member.index);
        let before: usize = before.map(|(key, value)| length(key) + between.len() + length(value) + 2).sum();
        open.len() + before + member.key.map_or(0, |key| length(key) + between.len())
    };
    match container {
        Value::List(list) => items("[", list),
        Value::Tuple(list) => items(notation.tuple[0], list),
        Value::Dict(dict) => pairs("{", dict, notation.between),
        Value::Map(map) => pairs("Map {", map, " => "),
        // It was written sorted, so the place is where the member's text is.
        Value::Set(_) => render(container, notation).find(&render(member.value, notation)).unwrap_or(0),
        _ => 0,
    }
}
