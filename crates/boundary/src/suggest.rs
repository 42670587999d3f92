//! A policy for calls that were seen: it allows calls of their kind, and no others.
//!
//! What was seen says what an agent did, not what it may do. So a suggestion says of each rule how often its call was seen and
//! what it leaves open, and a person reads it before it counts.

mod arguments;
mod guess;
mod learned;
mod places;
mod rules;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use proofmark_receipt::document::{counted, shown};
use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use crate::Request;
use crate::facts::ACTION_CLASSES;
use crate::policy::{ActionPolicy, ActionPolicyError, HostTool, MAX_BOUNDARIES, ToolCall};
use guess::Guessed;
pub use learned::{Learned, LearnedArgument, LearnedSource, LearnedTool, learned_policy};
pub use places::{argument_place, result_places};
use yaml::Commented;

/// A call that was executed.
#[derive(Clone, Debug)]
pub struct SeenCall {
    /// The action that it was decided as.
    pub action: Object,
    /// Whether the server says of the tool that it changes something.
    pub said_to_change: bool,
    /// How it ended, if that is known.
    pub status: Option<CallStatus>,
    /// The signs of steering in what came back.
    pub signs: Vec<String>,
    /// Whether what came back before it had such signs.
    pub tainted: bool,
}

/// A suggested policy.
#[derive(Clone, Debug)]
pub struct Suggestion {
    pub document: Object,
    /// The document as YAML, with comments.
    pub text: String,
    /// What it allows that was not seen.
    pub left_open: Vec<String>,
}

/// Why nothing can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    #[error("suggest a policy: no call was executed that it could allow")]
    Nothing,
    #[error("suggest a policy: the calls are of more than the {MAX_BOUNDARIES} kinds that a policy can tell apart")]
    TooMany,
    /// What was added to the current policy makes it invalid.
    #[error("suggest a policy: {0}")]
    Policy(ActionPolicyError),
}

/// The calls of one tool in one way.
struct Group<'a> {
    tool: &'a str,
    /// How the action is to be recognized beside its tool, each as the fact and its value.
    facts: Vec<(&'static str, Option<&'a str>)>,
    calls: Vec<&'a SeenCall>,
}

/// The members of an action that follow from the policy. Those of [`OF_PINS`] follow from the pins of definitions.
const OF_POLICY: [&str; 9] =
    ["tool", "class", "boundary", "recipient", "amount", "server", "args", "via", "outer_args"];
const OF_PINS: [&str; 2] = ["definition", "definition_state"];
/// The longest name that a rule is to hold, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The facts of an action by which the calls of one tool are told apart.
const APART: [&str; 4] = ["server", "surface", "method", "via"];

/// Suggests a policy that allows calls of the kinds that were seen, or adds this to a policy. `name` says what they were
/// seen in.
///
/// # Errors
/// [`SuggestError`].
pub fn suggest(name: &str, calls: &[SeenCall], current: Option<&Object>) -> Result<Suggestion, SuggestError> {
    let groups = groups(calls);
    if groups.is_empty() {
        return Err(SuggestError::Nothing);
    }
    if groups.len() > MAX_BOUNDARIES {
        return Err(SuggestError::TooMany);
    }
    let mut left_open = Vec::new();
    let mut tools: BTreeMap<(Option<&str>, &str), Commented> = BTreeMap::new();
    let mut names = current.map(ids).unwrap_or_default();
    let mut boundaries = Vec::new();
    let mut classes = BTreeSet::new();
    let everywhere: Vec<&str> = APART
        .into_iter()
        .chain(["tool"])
        .filter(|name| *name == "tool" || groups.iter().all(|group| group.fact(name).is_some()))
        .collect();
    let guessed = guessed(&groups);
    for group in &groups {
        let server = group.fact("server");
        let Some(tool) = guessed.get(&(server, group.tool)) else { continue };
        if let Some(entry) = &tool.entry {
            tools.entry((server, group.tool)).or_insert_with(|| entry.clone());
        }
        if let Some((via, dispatcher)) = group.fact("via").zip(guess::dispatcher(group)) {
            // Also where it was called for itself: its entry has to say that it calls others.
            tools.insert((server, via), dispatcher);
        }
        classes.extend((!ACTION_CLASSES.contains(&tool.class.as_str())).then(|| tool.class.clone()));
        let (boundary, open) = rules::boundary(group, tool, unused(group.tool, &mut names), &everywhere);
        boundaries.push(boundary);
        let is_of_others = groups.iter().any(|other| other.tool == group.tool && other.fact("server") != server);
        let of = server.filter(|_| is_of_others).map_or_else(String::new, |server| format!(" of `{}`", shown(server)));
        left_open.extend(open.into_iter().map(|open| format!("`{}`{of}: {open}", shown(group.tool))));
    }
    let parts = yaml::Parts { tools: tools.into_values().collect(), origins: Vec::new(), boundaries, classes };
    let heading = heading(name, calls.len(), &groups, &left_open);
    let (document, text) = yaml::policy(&heading, &parts, current);
    ActionPolicy::read(&Json::Object(document.clone())).map_err(SuggestError::Policy)?;
    Ok(Suggestion { document, text, left_open })
}

/// The request that a call would be under another policy, with these facts around it.
#[must_use]
pub fn as_under(policy: &ActionPolicy, call: &SeenCall, facts: &Object) -> Option<Request> {
    let action = &call.action;
    let text = |name: &str| action.get(name).and_then(Json::as_str);
    let empty = Json::Object(Object::new());
    let (tool, args) = match text("via") {
        Some(via) => (via, action.get("outer_args")),
        None => (text("tool")?, action.get("args")),
    };
    let args = args.unwrap_or(&empty);
    let said_to_change = call.said_to_change;
    let named = ToolCall { tool, server: text("server"), args, said_to_change };
    let mut new = if text("surface") == Some("host") {
        policy.action_of_host(&named, &HostTool { name: tool, class: None, target: None })
    } else {
        policy.action_of(&named)
    };
    let is_call = text("surface") == Some("mcp") && text("method") == Some("tools/call");
    // Of other requests the protocol or the host says what they are about, and not the policy.
    let is_kept = |name: &str| match name {
        "target" => !is_call,
        name => !OF_POLICY.contains(&name) && !OF_PINS.contains(&name),
    };
    action.iter().filter(|(name, _)| is_kept(name)).for_each(|(name, value)| drop(new.insert(name, value.clone())));
    let mut facts = facts.clone();
    facts.insert("action", new);
    Request::from_facts(facts).ok()
}

impl Group<'_> {
    fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(fact, _)| *fact == name)?.1
    }

    /// How often it was seen, how that ended, and what was read.
    fn seen(&self) -> String {
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        for call in &self.calls {
            *ends.entry(call.status.map_or("without a known end", CallStatus::as_str)).or_default() += 1;
        }
        let ends: Vec<_> = ends.into_iter().map(|(end, count)| format!("{count} {end}")).collect();
        let signs: BTreeSet<_> = self.calls.iter().flat_map(|call| &call.signs).map(|sign| shown(sign)).collect();
        let signs = if signs.is_empty() {
            String::new()
        } else {
            format!("; what came back had signs of steering: {}", signs.into_iter().collect::<Vec<_>>().join(", "))
        };
        format!("{} ({}){signs}", counted(self.calls.len() as u64, "call"), ends.join(", "))
    }
}

/// The calls by their tools, in the order in which these were first called. Those with names that no rule can hold are left out.
fn groups(calls: &[SeenCall]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = BTreeMap::new();
    for call in calls {
        let text = |name: &str| call.action.get(name).and_then(Json::as_str);
        let Some(tool) = text("tool") else { continue };
        let facts: Vec<_> = APART.iter().map(|name| (*name, text(name))).collect();
        let names = facts.iter().filter_map(|(_, value)| *value).chain([tool]);
        if names.into_iter().any(|name| name.len() > MAX_NAME_BYTES) {
            continue;
        }
        let place = *places.entry((tool, facts.clone())).or_insert_with(|| {
            groups.push(Group { tool, facts, calls: Vec::new() });
            groups.len() - 1
        });
        groups.get_mut(place).into_iter().for_each(|group| group.calls.push(call));
    }
    groups
}

/// What is guessed of each tool of a server, from all of its calls: it has one entry, in whatever way it is called.
fn guessed<'a>(groups: &[Group<'a>]) -> BTreeMap<(Option<&'a str>, &'a str), Guessed> {
    let mut tools: BTreeMap<(Option<&str>, &str), Group<'_>> = BTreeMap::new();
    for group in groups {
        let server = group.facts.iter().find(|(name, _)| *name == "server").and_then(|(_, server)| *server);
        let facts = vec![("server", server)];
        let tool = tools.entry((server, group.tool)).or_insert(Group { tool: group.tool, facts, calls: Vec::new() });
        tool.calls.extend(&group.calls);
    }
    tools.into_iter().map(|(place, group)| (place, guess::of(&group))).collect()
}

/// The ids of the boundaries of a policy.
fn ids(policy: &Object) -> BTreeSet<String> {
    let boundaries = policy.get("boundaries").and_then(Json::as_array).unwrap_or_default();
    boundaries.iter().filter_map(|boundary| boundary.as_object()?.get("id")?.as_str().map(str::to_owned)).collect()
}

/// An id for the boundary of a tool that no other has.
fn unused(tool: &str, names: &mut BTreeSet<String>) -> String {
    let plain = tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@ ".contains(c));
    let base = if plain && !tool.trim().is_empty() && tool.len() <= 128 { tool } else { "tool" };
    let mut name = base.to_owned();
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("{base}-{number}");
        number += 1;
    }
    name
}

fn heading(name: &str, calls: usize, groups: &[Group<'_>], left_open: &[String]) -> Vec<String> {
    let (calls, kinds) = (counted(calls as u64, "call"), counted(groups.len() as u64, "kind"));
    let mut lines = vec![
        format!("Suggested by `proofmark policy suggest` from {calls} of {kinds} in the session `{}`.", shown(name)),
        "It allows calls of these kinds and no others. Read it before you use it: what an agent did is not always"
            .to_owned(),
        "what it may do, and the classes of tools are guessed where a comment says so.".to_owned(),
    ];
    if !left_open.is_empty() {
        lines.push("It also allows what was not seen:".to_owned());
        lines.extend(left_open.iter().map(|open| format!("  {open}")));
    }
    lines
}

/// A fact's reason.
fn reason(code: &str, message: &str) -> Json {
    object! { "code": code, "message": message }.into()
}
