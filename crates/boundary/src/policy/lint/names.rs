//! Names and globs of a policy that do not name what they seem to.

use std::collections::BTreeSet;

use proofmark_predicate::meaning::{place, walk};
use proofmark_receipt::document::shown;
use proofmark_receipt::glob::Globs;

use super::super::{ActionPolicy, Boundary, Demand, Unmatched};
use super::{Warning, warning};

pub(super) fn warnings(policy: &ActionPolicy) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for boundary in &policy.boundaries {
        warnings.extend(regexes(&format!("{}.match", boundary.at), boundary.matcher.globs()));
        warnings.extend(of_other_class(policy, boundary));
        warnings.extend(of_any_server(policy, boundary));
    }
    warnings.extend(entries(policy));
    if policy.unmatched == Unmatched::AllowExempted {
        for exemption in policy.exemptions.iter().filter(|exemption| exemption.matcher.matches_all()) {
            let message = "the exemption covers every unmatched action";
            warnings.push(warning(&exemption.at, "exempts-everything", message, "narrow it with `match`"));
        }
    }
    warnings.extend(presented(policy));
    warnings.extend(unused_roles(policy));
    warnings.extend(unused_log_policy(policy));
    warnings
}

/// Keys of logs that no rule asks for.
fn unused_log_policy(policy: &ActionPolicy) -> Option<Warning> {
    let mut rules = policy.boundaries.iter().flat_map(|boundary| &boundary.require);
    let is_used = rules.any(|rule| matches!(&rule.demand, Demand::Receipt(rule) if rule.demand.logged.is_some()));
    policy.log_policy.as_ref().filter(|_| !is_used).map(|_| {
        let message = "no rule asks for a receipt that is in a log";
        warning("log_policy", "unused-log-policy", message, "write `logged: true` in a receipt rule, or remove it")
    })
}

/// Globs that are written like regular expressions, of which nothing but `*` and `?` has a meaning.
fn regexes<'g>(at: &str, globs: impl Iterator<Item = &'g Globs>) -> Vec<Warning> {
    // After a letter a dot may be part of the name, as in `mail.*`.
    let any = |glob: &str| {
        let before = glob.find(".*").map(|at| glob.get(..at).and_then(|before| before.chars().next_back()));
        before.is_some_and(|last| !last.is_some_and(|last| last.is_alphanumeric()))
    };
    let is_regex = |glob: &&str| {
        any(glob) || glob.contains(".+") || glob.starts_with('^') || glob.ends_with('$') || glob.contains(['|', '\\'])
    };
    let found: Vec<&str> = globs.flat_map(Globs::texts).filter(is_regex).collect();
    let warned = found.into_iter().map(|glob| {
        let message =
            format!("`{}` looks like a regular expression: in a glob only `*` and `?` have a meaning", shown(glob));
        warning(at, "regex-in-glob", message, "write `*` for any characters, and a list for alternatives")
    });
    warned.collect()
}

/// A boundary for a class and a tool that `tools` gives another class.
fn of_other_class(policy: &ActionPolicy, boundary: &Boundary) -> Option<Warning> {
    let classes: Vec<&str> = boundary.matcher.literal_classes().collect();
    let tools: Vec<&str> = boundary.matcher.only_tools()?;
    if classes.is_empty() || !boundary.matcher.names("action_class") {
        return None;
    }
    let class_of =
        |tool: &str| policy.tools.iter().find(|entry| entry.names_everywhere(tool)).map(|entry| entry.class());
    let other = tools
        .iter()
        .find_map(|tool| class_of(tool).filter(|class| !classes.contains(class)).map(|class| (tool, class)));
    let all_others = tools.iter().all(|tool| class_of(tool).is_some_and(|class| !classes.contains(&class)));
    let (tool, class) = other.filter(|_| all_others)?;
    let message = format!("`tools` classes `{}` as `{class}`, so the boundary never matches it", shown(tool));
    Some(warning(&format!("{}.match", boundary.at), "tool-of-other-class", message, "correct one of the two"))
}

/// A boundary for a tool that, as `tools` says, several servers have, and that does not say which of them it is about.
fn of_any_server(policy: &ActionPolicy, boundary: &Boundary) -> Option<Warning> {
    let classes: Vec<&str> = boundary.matcher.literal_classes().collect();
    let entries = || {
        let is_of_class = |class| !boundary.matcher.names("action_class") || classes.contains(&class);
        policy.tools.iter().filter(move |entry| is_of_class(entry.class()))
    };
    let servers = |tool: &str| entries().flat_map(|entry| entry.servers_of(tool)).collect::<BTreeSet<&str>>();
    let tool = boundary.matcher.tools_of_any_server().into_iter().find(|tool| servers(tool).len() > 1)?;
    let all: Vec<String> = servers(tool).into_iter().map(|server| format!("`{}`", shown(server))).collect();
    let message = format!("the boundary is about `{}` of each of the servers {}", shown(tool), all.join(", "));
    Some(warning(&format!("{}.match", boundary.at), "tool-of-any-server", message, "name the `server` in `match`"))
}

/// Entries of `tools` behind one that names all their tools: the first one counts.
fn entries(policy: &ActionPolicy) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, entry) in policy.tools.iter().enumerate() {
        let at = format!("tools[{index}]");
        warnings.extend(regexes(&at, entry.globs()));
        let before = policy.tools.get(..index).unwrap_or_default();
        if let Some(first) = before.iter().position(|earlier| earlier.covers(entry)) {
            let message = format!("`tools[{first}]` names these tools before it, and the first entry counts");
            warnings.push(warning(&at, "never-reached", message, "put it before the wider entry"));
        }
    }
    warnings
}

/// Arguments that only change how an action is shown, and that a rule looks at.
fn presented(policy: &ActionPolicy) -> Vec<Warning> {
    let mut read: BTreeSet<String> = BTreeSet::new();
    for boundary in &policy.boundaries {
        let facts = boundary.require.iter().filter_map(|rule| match &rule.demand {
            Demand::Fact(condition) => Some(condition),
            Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
        });
        let conditions = boundary.when.iter().chain(facts).chain(boundary.deny.iter().map(|rule| &rule.when));
        for predicate in conditions.filter_map(|condition| condition.predicate()) {
            walk(predicate.tree(), &mut |expression| read.extend(place(expression).map(|place| place.join("."))));
        }
    }
    let paths = policy.presentation.iter().enumerate();
    let looked_at = paths.filter(|(_, path)| read.contains(&format!("action.{}", path.join("."))));
    let warned = looked_at.map(|(index, path)| {
        let name = path.join(".");
        let message = format!("a rule looks at `{}`, so it is not only how the action is shown", shown(&name));
        let help = "leave it out: denials of different actions would be counted as one";
        warning(&format!("presentation[{index}]"), "presentation-of-rule", message, help)
    });
    warned.collect()
}

/// Reviewers none of whose roles a rule asks for.
fn unused_roles(policy: &ActionPolicy) -> Vec<Warning> {
    let mut asked: Vec<&str> = Vec::new();
    for boundary in &policy.boundaries {
        asked.extend(boundary.require.iter().filter_map(|rule| match &rule.demand {
            Demand::Approval(demand) => Some(demand.role.as_str()),
            Demand::Receipt(rule) => rule.demand.judgment.as_ref().map(|demand| demand.role.as_str()),
            Demand::Fact(_) | Demand::ToolCall(_) => None,
        }));
        asked.extend(boundary.deny.iter().filter_map(|rule| rule.unless.as_ref()).map(|demand| demand.role.as_str()));
    }
    let idle = policy
        .roles
        .reviewers
        .iter()
        .enumerate()
        .filter(|(_, reviewer)| !reviewer.roles.iter().any(|role| asked.contains(&role.as_str())));
    let warned = idle.map(|(index, reviewer)| {
        let message = format!("no rule asks for an approval or a judgment in a role of `{}`", shown(&reviewer.name));
        warning(&format!("reviewers[{index}]"), "unused-role", message, "correct the role, or remove the reviewer")
    });
    warned.collect()
}
