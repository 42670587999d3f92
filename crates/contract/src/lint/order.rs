//! Whether `before` and `after` can be met.

use super::finding::Finding;
use crate::workflow::{ToolRule, Verification};

pub(super) fn findings(verification: &Verification, at: &str) -> Vec<Finding> {
    let rules = &verification.tool_calls;
    let mut findings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        for (word, name) in [("before", &rule.before), ("after", &rule.after)] {
            let Some(name) = name else {
                continue;
            };
            let path = format!("{at}.toolCalls[{index}].{word}");
            match position(rules, name) {
                None => findings.push(Finding::error(
                    "unknown-rule",
                    path,
                    format!("no rule under `toolCalls` has the id `{name}` or asks for that tool"),
                    "name a rule by its `id`, or its tool",
                )),
                Some(other) if other == index => findings.push(Finding::error(
                    "contradictory-rules",
                    path,
                    format!("a call cannot come {word} itself"),
                    "name another rule",
                )),
                Some(_) => {}
            }
        }
    }
    findings.extend(cycle(rules, at));
    findings
}

/// The rule a `before` or `after` means.
fn position(rules: &[ToolRule], name: &str) -> Option<usize> {
    // An id takes precedence over the name of a tool, as it does when an attempt is judged (`calls_named`).
    let called = rules.iter().position(|rule| rule.id == name);
    called.or_else(|| rules.iter().position(|rule| rule.name == name))
}

/// Rules of which each must come before the next, and the last before the first.
fn cycle(rules: &[ToolRule], at: &str) -> Option<Finding> {
    let mut earlier_to_later = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let other = |name: &Option<String>| position(rules, name.as_ref()?).filter(|other| *other != index);
        earlier_to_later.extend(other(&rule.before).map(|later| (index, later)));
        earlier_to_later.extend(other(&rule.after).map(|earlier| (earlier, index)));
    }
    let mut left: Vec<usize> = (0..rules.len()).collect();
    // Removes rules that come after none of the rest, until nothing is left or only rules on or behind a cycle.
    loop {
        let before = left.len();
        let waits: Vec<usize> =
            earlier_to_later.iter().filter(|(earlier, _)| left.contains(earlier)).map(|(_, later)| *later).collect();
        left.retain(|index| waits.contains(index));
        if left.len() == before {
            break;
        }
    }
    let first = left.first()?;
    let message = "`before` and `after` form a cycle, so no order meets all of them".to_owned();
    let path = format!("{at}.toolCalls[{first}]");
    Some(Finding::error("contradictory-rules", path, message, "remove one of them"))
}
