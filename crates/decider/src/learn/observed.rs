//! What the calls of runs have in common: their arguments, and where the values of these came from.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_boundary::{
    ActionPolicy, ActionPolicyError, Learned, LearnedSource, LearnedTool, argument_place, result_places,
};
use proofmark_guard::values_in;
use proofmark_receipt::{Json, Object, object};
use proofmark_session::{CallStatus, name_on_server, server_tool};

use super::LearningRun;
use crate::runs::{RunSettings, replay_run};

/// The most places of one tool's results that have labels of their own.
const MAX_PLACES: usize = 48;
/// The most names of members at one place that are names of fields.
const MAX_MEMBERS: usize = 24;
/// How many members with records of one form at least have names that are data.
const MIN_ALIKE: usize = 3;
/// The most places in all.
const MAX_SOURCES: usize = 1_000;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ToolName {
    pub(super) server: Option<String>,
    pub(super) tool: String,
}

/// What was seen of a tool.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) calls: u64,
    pub(super) runs: BTreeSet<usize>,
    pub(super) names: BTreeSet<String>,
    /// By their places, as `from` names them.
    pub(super) arguments: BTreeMap<String, Vec<Value>>,
}

/// A value of an argument.
#[derive(Debug)]
pub(super) struct Value {
    /// The request that the run answers, by number. Runs of the same request do not support each other.
    pub(super) group: usize,
    pub(super) labels: BTreeSet<String>,
    pub(super) text: Option<String>,
    /// Of a number, as it is written.
    pub(super) number: Option<String>,
}

/// What was seen in runs.
pub(super) struct Observed {
    pub(super) tools: BTreeMap<ToolName, Seen>,
    /// The places of results, each with a label of its own.
    pub(super) sources: Vec<LearnedSource>,
}

impl ToolName {
    /// As it is learned, with nothing known about its arguments.
    pub(super) fn learned(&self) -> LearnedTool {
        LearnedTool {
            tool: self.tool.clone(),
            server: self.server.clone(),
            calls: 0,
            runs: 0,
            names: BTreeSet::new(),
            arguments: Vec::new(),
        }
    }
}

/// Looks at the runs: where each value of each call came from, by the same comparison by which a policy is decided.
pub(super) fn observe(runs: &[&LearningRun], settings: &RunSettings) -> Result<Observed, ActionPolicyError> {
    let sources = sources(runs, settings);
    let policy = observing(&sources)?;
    let mut tools: BTreeMap<ToolName, Seen> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for call in replay_run(&policy, settings, &run.trace).calls {
            let Some(recorded) = run.trace.calls.get(call.number - 1) else { continue };
            let Some(arguments) = recorded.arguments.as_object() else { continue };
            if recorded.status == CallStatus::Blocked {
                continue;
            }
            let seen = tools.entry(ToolName { server: call.server, tool: call.tool }).or_default();
            seen.calls += 1;
            seen.runs.insert(index);
            seen.names.extend(arguments.iter().map(|(name, _)| name.to_owned()));
            for row in call.origins.iter().filter_map(Json::as_object).filter(|row| !row.contains("plain")) {
                let text = |name: &str| row.get(name).and_then(Json::as_str);
                let place = text("at").filter(|at| !at.ends_with('~')).and_then(argument_place);
                let Some(place) = place else { continue };
                let labels = row.get("labels").and_then(Json::as_array).unwrap_or_default();
                let labels = labels.iter().filter_map(Json::as_str).map(str::to_owned).collect();
                let number = row.get("number").and_then(Json::as_number).map(|number| number.as_str().to_owned());
                let value = Value { group: run.group, labels, text: text("value").map(str::to_owned), number };
                seen.arguments.entry(place).or_default().push(value);
            }
        }
    }
    Ok(Observed { tools, sources })
}

/// The places of all results.
fn sources(runs: &[&LearningRun], settings: &RunSettings) -> Vec<LearnedSource> {
    let mut places: BTreeMap<ToolName, BTreeSet<Option<String>>> = BTreeMap::new();
    for call in runs.iter().flat_map(|run| &run.trace.calls) {
        let Some(content) = call.given.content.as_ref().or(call.result.as_ref()) else { continue };
        if call.status == CallStatus::Blocked {
            continue;
        }
        let server = call.came_from("server").or(settings.server.as_deref());
        let tool = ToolName { server: server.map(str::to_owned), tool: server_tool(server, &call.tool) };
        places.entry(tool).or_default().extend(result_places(&values_in(content)));
    }
    let (mut sources, mut labels) = (Vec::new(), BTreeSet::from(["request".to_owned(), "text".to_owned()]));
    for (ToolName { server, tool }, mut places) in places {
        places = without_data(places);
        // A path cannot name a text without fields.
        if places.len() > MAX_PLACES || places.iter().all(Option::is_none) {
            places = [None].into();
        } else {
            places.remove(&None);
        }
        if sources.len() + places.len() > MAX_SOURCES {
            break;
        }
        for path in places {
            let label = label(name_on_server(server.as_deref(), &tool), path.as_deref(), &mut labels);
            sources.push(LearnedSource { tool: tool.clone(), server: server.clone(), path, label, anchor: None });
        }
    }
    sources
}

/// The places with `*` for the names of members where these are so many that they are data, such as names of products.
fn without_data(places: BTreeSet<Option<String>>) -> BTreeSet<Option<String>> {
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for place in places.iter().flatten() {
        for (at, _) in place.match_indices('.') {
            let (parent, rest) = place.split_at(at);
            let name = rest.trim_start_matches('.').split(['.', '[', '~']).next().unwrap_or_default();
            members.entry(parent.to_owned()).or_default().insert(name.to_owned());
        }
    }
    // Records of one form under many names, or very many names.
    let is_data = |parent: &str| {
        let Some(names) = members.get(parent) else { return false };
        let mut forms: BTreeMap<&BTreeSet<String>, usize> = BTreeMap::new();
        for name in names {
            members.get(&format!("{parent}.{name}")).into_iter().for_each(|form| *forms.entry(form).or_default() += 1);
        }
        let alike = forms.values().max().copied().unwrap_or(0);
        names.len() > MAX_MEMBERS || (alike >= MIN_ALIKE && 2 * alike > names.len())
    };
    let joined = |place: &String| {
        let (mut out, mut read) = (String::new(), String::new());
        for (index, part) in place.split('.').enumerate() {
            if index > 0 {
                out.push('.');
                let end = part.find(['[', '~']).unwrap_or(part.len());
                out.push_str(if is_data(&read) { "*" } else { part.get(..end).unwrap_or_default() });
                out.push_str(part.get(end..).unwrap_or_default());
                read.push('.');
            } else {
                out.push_str(part);
            }
            read.push_str(part);
        }
        out
    };
    places.iter().map(|place| place.as_ref().map(joined)).collect()
}

/// A label that says what has it, and that no other has.
fn label(tool: &str, path: Option<&str>, labels: &mut BTreeSet<String>) -> String {
    let member = path.map(|path| path.rsplit('.').next().unwrap_or(path).trim_end_matches("[*]"));
    let base = match member.filter(|member| !member.is_empty() && !member.starts_with('$')) {
        Some(member) => format!("{tool}.{member}"),
        None => tool.to_owned(),
    };
    // What begins like a constant is none.
    let base = base.trim_start_matches(['=', '<']).chars().take(100).collect::<String>();
    let mut label = base.clone();
    let mut number = 2;
    while !labels.insert(label.clone()) {
        label = format!("{base}-{number}");
        number += 1;
    }
    label
}

/// A policy that allows everything and labels every place.
fn observing(sources: &[LearnedSource]) -> Result<ActionPolicy, ActionPolicyError> {
    let mut tools: BTreeSet<ToolName> = BTreeSet::new();
    for source in sources {
        tools.insert(ToolName { server: source.server.clone(), tool: source.tool.clone() });
    }
    let learned = Learned { tools: Vec::new(), sources: sources.to_vec() };
    let tools = tools.iter().map(ToolName::learned).filter(LearnedTool::only_reads);
    let tools = tools.map(|tool| {
        Json::from(object! { "tool": tool.tool, "server"?: tool.server, "class": "generic", "reads": true })
    });
    let mut origins = learned.origins();
    if origins.is_empty() {
        // Without an entry nobody would look for origins.
        origins.push(object! { "tool": "none", "label": "none" }.into());
    }
    let document: Object = object! {
        "version": 1_u64,
        "tools": tools.collect::<Vec<_>>(),
        "origins": origins,
        "boundaries": vec![Json::from(object! { "id": "all", "match": Object::new() })],
    };
    ActionPolicy::read(&Json::Object(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_records_of_one_form_are_data() {
        let of = |texts: &[&str]| -> Vec<String> {
            without_data(texts.iter().map(|text| Some((*text).to_owned())).collect()).into_iter().flatten().collect()
        };
        assert_eq!(
            of(&["$.Watch.id", "$.Watch.price", "$.Pen.id", "$.Pen.price", "$.Mouse.id", "$.Mouse.price", "$~"]),
            ["$.*.id", "$.*.price", "$~"]
        );
        let fields = ["$.from.name", "$.to[*].name", "$.subject", "$.body"];
        assert_eq!(of(&fields).len(), 4);
        assert!(of(&fields).contains(&"$.to[*].name".to_owned()));
    }
}
