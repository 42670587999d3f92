//! Comparisons of texts that match more, or less, than they seem to.

use proofmark_predicate::meaning::{place, walk};
use proofmark_predicate::tree::{Expression, View};

use super::{Doubt, Use, text_of};

/// Places whose texts the agent writes, in which a path may lead elsewhere than it begins.
const RAW: [&[&str]; 4] =
    [&["action", "target"], &["action", "args"], &["action", "outer_args"], &["action", "recipient"]];

/// Places that have the text of a command.
const COMMANDS: [&[&str]; 2] = [&["action", "args", "command"], &["action", "command"]];

pub(super) fn doubts(condition: Expression<'_>, used: Use) -> Vec<Doubt> {
    if used == Use::OfWords {
        return Vec::new();
    }
    let looks_for_steps = looks_for_steps(condition);
    let mut doubts = Vec::new();
    tests(condition, used != Use::Denies, &mut |test, allows| {
        doubts.extend(raw_path(&test, used).filter(|_| !looks_for_steps));
        doubts.extend(raw_command(&test).filter(|doubt| !doubts.contains(doubt)));
        if allows && used != Use::Selects {
            doubts.extend(loose(&test));
        }
    });
    doubts
}

/// A comparison of a text with a part of it.
struct Test<'p> {
    name: &'static str,
    text: Expression<'p>,
    part: String,
}

/// Calls `see` with each comparison of a text, and whether it has to hold where the action is allowed.
fn tests<'p>(condition: Expression<'p>, allows: bool, see: &mut impl FnMut(Test<'p>, bool)) {
    match condition.view() {
        View::Not(inner) => tests(inner, !allows, see),
        View::And(items) | View::Or(items) => items.into_iter().for_each(|item| tests(item, allows, see)),
        View::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| tests(part, allows, see));
        }
        View::Macro { filter, body, .. } => {
            filter.into_iter().chain([body]).for_each(|part| tests(part, allows, see));
        }
        View::Call { function, arguments } => {
            let name = ["startsWith", "endsWith", "contains"].into_iter().find(|name| *name == function.name());
            let ([text, part], Some(name)) = (arguments.as_slice(), name) else { return };
            if let Some(part) = text_of(*part) {
                see(Test { name, text: *text, part }, allows);
            }
        }
        View::Matches { text, pattern } => see(Test { name: "matches", text, part: pattern.to_owned() }, allows),
        _ => {}
    }
}

/// Whether the condition looks for `..` anywhere.
fn looks_for_steps(condition: Expression<'_>) -> bool {
    let mut found = false;
    walk(condition, &mut |expression| match expression.view() {
        View::Call { function, arguments } if function.name() == "contains" => {
            found |= arguments.get(1).and_then(|part| text_of(*part)).is_some_and(|part| part.contains(".."));
        }
        View::Matches { pattern, .. } => found |= pattern.contains("\\.\\."),
        _ => {}
    });
    found
}

fn raw_path(test: &Test<'_>, used: Use) -> Option<Doubt> {
    let is_path = (test.part.starts_with(['/', '~']) || test.part.starts_with("./") || test.part.ends_with('/'))
        && !test.part.contains("://");
    let is_raw = match (place(inner(test.text)), used) {
        (Some(place), Use::OfArgument) => place.first() == Some(&"value"),
        (Some(place), _) => RAW.iter().any(|raw| place.starts_with(raw)),
        (None, _) => false,
    };
    (test.name == "startsWith" && is_path && is_raw).then(|| Doubt {
        code: "raw-path",
        message: format!("a path that begins with `{}` can lead elsewhere by `..` or a link", test.part),
        help: "compare `action.paths`, which are resolved, or refuse texts that contain `..`",
    })
}

fn raw_command(test: &Test<'_>) -> Option<Doubt> {
    let of = place(inner(test.text))?;
    COMMANDS.iter().any(|command| of == *command).then(|| Doubt {
        code: "raw-command",
        message: "a command can be written in many ways, of which a text finds one".to_owned(),
        help: "compare `action.commands`, which has the programs that the command starts",
    })
}

/// What a text is made of, without functions around it.
fn inner(text: Expression<'_>) -> Expression<'_> {
    match text.view() {
        View::Call { function, arguments } if function.name() == "lower" => arguments.first().copied().unwrap_or(text),
        _ => text,
    }
}

fn loose(test: &Test<'_>) -> Option<Doubt> {
    let part = test.part.as_str();
    let (message, help) = match test.name {
        "startsWith" if is_host_without_end(part) => {
            ("hosts whose names begin like this one meet it too, as in `{}.example`", "end the text with `/`")
        }
        "startsWith" if is_open_folder(part) => {
            ("folders whose names begin like this one meet it too, as in `{}-other`", "end the text with `/`")
        }
        "endsWith" if is_bare_host(part) => (
            "other hosts whose names end like this one meet it too, as in `other{}`",
            "begin the text with `@`, `.` or `/`",
        ),
        "contains" if part.contains("://") || (part.starts_with('@') && is_bare_host(part.trim_start_matches('@'))) => {
            ("a text with `{}` anywhere in it meets it, as one of another host", "compare the beginning or the end")
        }
        "matches"
            if part.contains("://") && !part.starts_with('^') && !part.contains("(^") && !part.contains("(?:^") =>
        {
            (
                "a text with a match of `{}` anywhere in it meets it, as one of another host",
                "begin the pattern with `^`",
            )
        }
        _ => return None,
    };
    Some(Doubt { code: "loose-match", message: message.replace("{}", part), help })
}

/// Whether it is `https://host`, and nothing says that the name of the host has ended.
fn is_host_without_end(part: &str) -> bool {
    part.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains('/') && !rest.ends_with(':'))
}

fn is_open_folder(part: &str) -> bool {
    part.starts_with('/') && part.len() > 1 && !part.ends_with('/') && !part.contains("://")
}

/// Whether it is the name of a host, without a sign before it.
fn is_bare_host(part: &str) -> bool {
    const DOMAINS: [&str; 14] =
        ["com", "org", "net", "io", "dev", "app", "co", "de", "uk", "eu", "example", "internal", "local", "test"];
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    part.chars().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && part.chars().all(is_letter)
        && part.rsplit_once('.').is_some_and(|(_, last)| DOMAINS.contains(&last))
}
