//! A policy of what was learned from many runs: which tools, and from where each argument may come.

use std::collections::BTreeSet;

use proofmark_receipt::document::{counted, shown};
use proofmark_receipt::{Json, Object, object};

use super::guess::{self, is_plain};
use super::rules::only_names;
use super::yaml::{self, Commented};
use super::{SuggestError, Suggestion, reason, unused};
use crate::facts::ACTION_CLASSES;
use crate::policy::{ActionPolicy, MAX_BOUNDARIES};

/// What was learned of the tools and of what they bring.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    pub tools: Vec<LearnedTool>,
    pub sources: Vec<LearnedSource>,
}

/// A tool, and what its calls had in common.
#[derive(Clone, Debug)]
pub struct LearnedTool {
    /// As it is called in facts.
    pub tool: String,
    pub server: Option<String>,
    pub calls: u64,
    pub runs: u64,
    /// The names of its arguments.
    pub names: BTreeSet<String>,
    pub arguments: Vec<LearnedArgument>,
}

/// An argument at a place, as `from` names it.
#[derive(Clone, Debug)]
pub struct LearnedArgument {
    pub place: String,
    /// The labels and constants that it may come from; `None` where it is left open.
    pub from: Option<Vec<String>>,
}

/// A place of results that a policy vouches for.
#[derive(Clone, Debug)]
pub struct LearnedSource {
    pub tool: String,
    pub server: Option<String>,
    /// `None` for the whole text.
    pub path: Option<String>,
    pub label: String,
    /// Where the arguments of the call that reads it have to come from.
    pub anchor: Option<Vec<String>>,
}

impl Learned {
    /// The entries of `origins`.
    #[must_use]
    pub fn origins(&self) -> Vec<Json> {
        let sources = self.sources.iter().filter(|source| is_named(&source.tool, source.server.as_deref()));
        sources.map(|source| Json::Object(source.item())).collect()
    }
}

impl LearnedTool {
    /// Whether its name says that it only reads.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        guess::by_name(&self.tool, false) == guess::READS
    }

    fn item(&self) -> Object {
        let reads = self.only_reads();
        object! {
            "tool": self.tool.as_str(),
            "server"?: self.server.as_deref(),
            "class": guess::by_name(&self.tool, false),
            "reads"?: reads.then_some(true),
        }
    }
}

/// Whether a policy can name a tool and its server: as globs, their names would mean others, too.
fn is_named(tool: &str, server: Option<&str>) -> bool {
    is_plain(tool) && server.is_none_or(is_plain)
}

/// The policy of what was learned, with `heading` above it as a comment.
///
/// # Errors
/// [`SuggestError`].
pub fn learned_policy(learned: &Learned, heading: &[String]) -> Result<Suggestion, SuggestError> {
    let tools = learned.tools.iter().filter(|tool| is_named(&tool.tool, tool.server.as_deref()));
    let tools: Vec<&LearnedTool> = tools.collect();
    if tools.is_empty() {
        return Err(SuggestError::Nothing);
    }
    if tools.len() > MAX_BOUNDARIES {
        return Err(SuggestError::TooMany);
    }
    let (mut ids, mut left_open) = (BTreeSet::new(), Vec::new());
    let mut parts = yaml::Parts::default();
    for tool in tools {
        let class = guess::by_name(&tool.tool, false);
        parts.classes.extend((!ACTION_CLASSES.contains(&class)).then(|| class.to_owned()));
        let seen = format!("{} in {}", counted(tool.calls, "call"), counted(tool.runs, "run"));
        let comment = format!("{}: {seen}; the class is guessed from the name.", shown(&tool.tool));
        parts.tools.push(Commented { comments: vec![comment], item: tool.item() });
        let (boundary, open) = boundary(tool, unused(&tool.tool, &mut ids));
        parts.boundaries.push(boundary);
        left_open.extend(open);
    }
    let sources = learned.sources.iter().filter(|source| is_named(&source.tool, source.server.as_deref()));
    parts.origins.extend(sources.map(|source| Commented { comments: Vec::new(), item: source.item() }));
    let (document, text) = yaml::policy(heading, &parts, None);
    ActionPolicy::read(&Json::Object(document.clone())).map_err(SuggestError::Policy)?;
    Ok(Suggestion { document, text, left_open })
}

fn boundary(tool: &LearnedTool, id: String) -> (Commented, Option<String>) {
    let mut require = Vec::new();
    let names: BTreeSet<&str> = tool.names.iter().map(String::as_str).collect();
    let why = reason("other_argument", "The call has an argument that no run gave.");
    match only_names(&names) {
        Some(fact) => require.push(Json::from(object! { "fact": fact, "reason": why })),
        None => {
            let why = reason("no_arguments", "The call has no arguments.");
            require.push(object! { "fact": "has(action.args)", "reason": why }.into());
        }
    }
    let mut from = Object::new();
    for argument in &tool.arguments {
        if let Some(labels) = &argument.from {
            let labels: Vec<Json> = labels.iter().map(|label| Json::from(label.as_str())).collect();
            from.insert(argument.place.as_str(), labels);
        }
    }
    if !from.is_empty() {
        require.push(object! { "from": from }.into());
    }
    let open: Vec<String> = tool
        .arguments
        .iter()
        .filter(|argument| argument.from.is_none())
        .map(|argument| format!("`{}`", shown(&argument.place)))
        .collect();
    let open = (!open.is_empty()).then(|| format!("`{}`: any value of {}", shown(&tool.tool), open.join(", ")));
    let item = object! {
        "id": id,
        "match": object! { "tool": tool.tool.as_str(), "server"?: tool.server.as_deref() },
        "require": require,
    };
    let comments = open.iter().map(|open| format!("Left open: {open}.")).collect();
    (Commented { comments, item }, open)
}

impl LearnedSource {
    fn item(&self) -> Object {
        let anchor = self
            .anchor
            .as_ref()
            .map(|labels| Json::Array(labels.iter().map(|label| Json::from(label.as_str())).collect()));
        object! {
            "tool": self.tool.as_str(),
            "server"?: self.server.as_deref(),
            "path"?: self.path.as_deref(),
            "anchor"?: anchor,
            "label": self.label.as_str(),
        }
    }
}
