//! Another key or passkey for a reviewer whom a policy lists already: the text of the entry is changed where it stands.

use proofmark_hosts::JsonText;
use proofmark_receipt::Json;
use proofmark_receipt::document::{self, Format};

use super::FIELD;

/// The list of a document after the entry at `index` got one more value under `member`; `None` if the list has no such entry.
pub(super) fn extended(document: &Json, index: usize, member: &str, value: &str) -> Option<Vec<Json>> {
    let mut entries = document.as_object()?.get(FIELD)?.as_array()?.to_vec();
    let Json::Object(entry) = entries.get_mut(index)? else { return None };
    let values = match entry.get(member) {
        None => Json::from(value),
        Some(Json::Array(values)) => values.iter().cloned().chain([value.into()]).collect::<Vec<_>>().into(),
        Some(one) => vec![one.clone(), value.into()].into(),
    };
    entry.insert(member, values);
    Some(entries)
}

/// The text of a policy in which the entry at `index` has one more value under `member`; `None` where its form cannot be kept.
pub(super) fn with_value(text: &str, format: Format, index: usize, member: &str, value: &str) -> Option<String> {
    let mut expected = document::parse(text.as_bytes(), format).ok()?;
    let entries = extended(&expected, index, member, value)?;
    let changed = match format {
        Format::Json => {
            let mut json = JsonText::read(text.as_bytes(), false).ok()?;
            json.put(&[FIELD], &entries.clone().into()).ok()?;
            json.text().to_owned()
        }
        Format::Yaml => in_yaml(text, index, member, &Json::from(value).to_text())?,
    };
    let Json::Object(policy) = &mut expected else { return None };
    policy.insert(FIELD, entries);
    // The change is by lines. A policy in an unusual form is left alone, whatever was made of it.
    (document::parse(changed.as_bytes(), format).ok()? == expected).then_some(changed)
}

fn in_yaml(text: &str, index: usize, member: &str, value: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start = lines.iter().position(|line| line.strip_prefix(FIELD).is_some_and(|rest| rest.starts_with(':')))?;
    let is_within = |line: &&String| line.is_empty() || line.starts_with([' ', '-', '#']);
    let end = start + 1 + lines.iter().skip(start + 1).take_while(is_within).count();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_item = |line: &str| line.trim_start().starts_with('-');
    let item_at = |at: &usize| lines.get(*at).filter(|line| is_item(line)).map(|line| indent(line));
    let own = (start + 1..end).find_map(|at| item_at(&at))?;
    let begins: Vec<usize> = (start + 1..end).filter(|at| item_at(at) == Some(own)).collect();
    let begin = *begins.get(index)?;
    let end = begins.get(index + 1).copied().unwrap_or(end);
    let found = (begin..end).find_map(|at| Some((at, place_of(lines.get(at)?, member)?)));
    let Some((at, place)) = found else {
        return Some(joined(without(lines, begin, end, member, value, own)?));
    };
    let line = lines.get(at)?.clone();
    let rest = line.get(place..)?;
    let given = rest.trim_start();
    let from = place + rest.len() - given.len();
    let of_line = match given.chars().next() {
        None => {
            // A list below: one more line behind its last.
            let count = lines.get(at + 1..end)?.iter().take_while(|line| is_item(line)).count();
            let last = lines.get(at + count).filter(|_| count > 0)?;
            let new = format!("{}- {value}", " ".repeat(indent(last)));
            lines.insert(at + count + 1, new);
            return Some(joined(lines));
        }
        Some('[') => format!("{}, {value}{}", line.get(..from + given.find(']')?)?, given.get(given.find(']')?..)?),
        Some(_) => {
            let length = scalar(given);
            let (one, after) = (given.get(..length)?, given.get(length..)?);
            format!("{}[{one}, {value}]{after}", line.get(..from)?)
        }
    };
    *lines.get_mut(at)? = of_line;
    Some(joined(lines))
}

/// Where what follows `member:` begins in a line.
fn place_of(line: &str, member: &str) -> Option<usize> {
    let name = format!("{member}:");
    let places = line.match_indices(&name).map(|(at, _)| at);
    let begins =
        |at: &usize| line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '{', ',']));
    places.filter(begins).map(|at| at + name.len()).next()
}

/// How long the scalar at the beginning is.
fn scalar(text: &str) -> usize {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let end = match quote {
        Some(quote) => text.get(1..).and_then(|rest| rest.find(quote)).map(|at| at + 2),
        None => text.find([',', '}', '#']),
    };
    text.get(..end.unwrap_or(text.len())).map_or(text.len(), |scalar| scalar.trim_end().len())
}

/// The lines with a member that the entry from `begin` to `end` does not have.
fn without(
    mut lines: Vec<String>,
    begin: usize,
    end: usize,
    member: &str,
    value: &str,
    indent: usize,
) -> Option<Vec<String>> {
    let last = (begin..end).rev().find(|at| lines.get(*at).is_some_and(|line| !line.trim().is_empty()))?;
    let is_flow = lines.get(begin)?.trim_start().trim_start_matches('-').trim_start().starts_with('{');
    if is_flow {
        let line = lines.get_mut(last)?;
        line.insert_str(line.rfind('}')?, &format!(", {member}: {value}"));
    } else {
        lines.insert(last + 1, format!("{}{member}: {value}", " ".repeat(indent + 2)));
    }
    Some(lines)
}

fn joined(lines: Vec<String>) -> String {
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_form() {
        let begun = "version: 1 # one\nreviewers: # people\n";
        for (before, after) in [
            (
                "  - {name: bob, key: b}\n  - {name: ann, key: a, roles: [x]} # she\n",
                "  - {name: bob, key: b}\n  - {name: ann, key: [a, \"k\"], roles: [x]} # she\n",
            ),
            (
                "- name: bob\n- name: ann\n  key: \"a\" # old\n  roles: [x]\n",
                "- name: bob\n- name: ann\n  key: [\"a\", \"k\"] # old\n  roles: [x]\n",
            ),
            (
                "  - name: bob\n  - key: [a, b]\n    name: ann\n",
                "  - name: bob\n  - key: [a, b, \"k\"]\n    name: ann\n",
            ),
            (
                "  - name: bob\n  - name: ann\n    key:\n      - a\n      - b\n    roles: [x]\n",
                "  - name: bob\n  - name: ann\n    key:\n      - a\n      - b\n      - \"k\"\n    roles: [x]\n",
            ),
            (
                "  - {name: bob}\n  - {name: ann, passkey: p}\n",
                "  - {name: bob}\n  - {name: ann, passkey: p, key: \"k\"}\n",
            ),
            (
                "  - name: bob\n  - name: ann\n    passkey: p\n\n",
                "  - name: bob\n  - name: ann\n    passkey: p\n    key: \"k\"\n\n",
            ),
        ] {
            let mode = "mode: shadow\n";
            let changed = with_value(&format!("{begun}{before}{mode}"), Format::Yaml, 1, "key", "k");
            assert_eq!(changed, Some(format!("{begun}{after}{mode}")), "{before}");
        }
        let json = with_value("{\"reviewers\": [{\"name\": \"ann\", \"key\": \"a\"}]}", Format::Json, 0, "key", "k");
        assert!(json.is_some_and(|json| json.contains("\"k\"")));
    }

    #[test]
    fn a_form_that_cannot_be_kept_is_left_alone() {
        for text in [
            "{reviewers: [{name: ann, key: a}]}\n",
            "reviewers: [{name: ann, key: a}]\n",
            "reviewers:\n  - name: \"x, key: y\"\n    key: a\n",
            "reviewers:\n  - name: ann\n    key: >\n      a\n",
            "a: &a {name: ann, key: a}\nreviewers:\n  - *a\n",
        ] {
            assert_eq!(with_value(text, Format::Yaml, 0, "key", "k"), None, "{text}");
        }
    }
}
