//! Who vouches for what is read: the rules that give labels to the values of results.

mod path;

use std::ops::ControlFlow;

use proofmark_evidence::Condition;
use proofmark_flow::{
    Leaf, MAX_SEEN_VALUES, MAX_WITHIN_BYTES, Origins, REQUEST, SeenResult, SeenText, SeenValue, Step, each_leaf,
    name_words, normal, path_text, value_digest,
};
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::glob::{self, Globs};
use proofmark_receipt::{Json, Object};
use proofmark_session::{masked, name_on_server};

use super::text::text;
use super::{ActionPolicy, Demand, OriginDemand};
use path::PathPattern;

/// The most entries of `origins`.
const MAX_ORIGINS: usize = 1_024;
/// The most labels that one field may list.
pub(crate) const MAX_LABELS: usize = 64;
/// The most conditions of one entry.
const MAX_CONDITIONS: usize = 32;
/// The longest path of a value that is recorded, in bytes.
const MAX_PATH: usize = 256;
/// The longest extension of a file's name, in bytes.
const MAX_EXTENSION: usize = 5;
/// How many characters a name has at least that a request can name: shorter ones stand in many texts.
const MIN_NAME: usize = 3;
/// The label of what nobody vouches for. A rule that gives it ends the search.
pub(crate) const NOBODY: &str = "text";

/// An entry of `origins`.
#[derive(Debug)]
pub(crate) struct OriginRule {
    tool: Globs,
    server: Option<Globs>,
    path: Option<PathPattern>,
    /// Members of the object that the value is in.
    when: Vec<(String, Expected)>,
    /// Arguments of the call that read it.
    args: Vec<(String, Expected)>,
    /// Where every argument of that call has to come from.
    anchor: Option<Vec<String>>,
    /// The member of the object that the user's request has to name.
    named: Option<String>,
    pub(super) label: String,
    within: bool,
}

/// What a member or an argument has to be.
#[derive(Debug)]
enum Expected {
    /// Globs, one of which it matches; those that begin with `!` are ones that it must not match.
    Text(Vec<String>),
    /// Labels, one of which it has.
    From(Vec<String>),
}

/// A call whose result is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadCall<'a> {
    pub tool: &'a str,
    pub server: Option<&'a str>,
    /// `None` where they are not known.
    pub args: Option<&'a Json>,
}

/// Whether a rule is about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    Yes,
    No,
    /// What it asks for is not there. A weaker rule must not take its place.
    Unclear,
}

/// Reads `origins`.
pub(super) fn read(field: &Field<'_>) -> Result<Vec<OriginRule>, DocumentError> {
    let items = field.items()?;
    if items.len() > MAX_ORIGINS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_ORIGINS} entries")).with_help("join some"));
    }
    items.iter().map(entry).collect()
}

fn entry(field: &Field<'_>) -> Result<OriginRule, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["tool", "server", "path", "if", "args", "anchor", "named", "label", "within"])?;
    Ok(OriginRule {
        tool: Globs::read(&fields.need("tool", "name the tools whose results are labelled, as in `tool: get_*`")?)?,
        server: fields.get("server").map(|field| Globs::read(&field)).transpose()?,
        path: fields.get("path").map(|field| PathPattern::read(&field)).transpose()?,
        when: fields.get("if").map(|field| conditions(&field)).transpose()?.unwrap_or_default(),
        args: fields.get("args").map(|field| conditions(&field)).transpose()?.unwrap_or_default(),
        anchor: fields.get("anchor").map(|field| labels(&field)).transpose()?,
        named: fields.get("named").map(|field| text(&field).map(str::to_owned)).transpose()?,
        label: label(&fields.need("label", "name who vouches for it, as in `label: own`")?)?,
        within: fields.get("within").map(|field| field.boolean()).transpose()?.unwrap_or(false),
    })
}

/// The label that a rule gives. What the user asked for is told by the host, and no result can be that.
fn label(field: &Field<'_>) -> Result<String, DocumentError> {
    let label = text(field)?;
    if label == REQUEST {
        let error = field.error(Cause::InvalidValue, "`request` is the label of what the user asked for");
        return Err(error.with_help("name another one"));
    }
    if label.starts_with(['=', '<']) {
        return Err(field.error(Cause::InvalidValue, "a label cannot begin with `=` or `<`").with_help("name another"));
    }
    Ok(label.to_owned())
}

/// A label, or a list of labels.
pub(super) fn labels(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let fields = match field.json.as_array() {
        Some(_) => field.items()?,
        None => vec![field.clone()],
    };
    if fields.is_empty() {
        return Err(field.error(Cause::Empty, "the list has no labels").with_help("write one"));
    }
    if fields.len() > MAX_LABELS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_LABELS} labels")).with_help("join some"));
    }
    fields.iter().map(|field| text(field).map(str::to_owned)).collect()
}

fn conditions(field: &Field<'_>) -> Result<Vec<(String, Expected)>, DocumentError> {
    let fields = field.fields()?;
    let mut conditions = Vec::new();
    for (name, field) in fields.iter() {
        if conditions.len() >= MAX_CONDITIONS {
            let error = field.error(Cause::TooMany, format!("more than {MAX_CONDITIONS} conditions"));
            return Err(error.with_help("write two entries"));
        }
        conditions.push((name.to_owned(), expected(&field)?));
    }
    if conditions.is_empty() {
        return Err(field.error(Cause::Empty, "there is no condition").with_help("write one, or leave the field out"));
    }
    Ok(conditions)
}

fn expected(field: &Field<'_>) -> Result<Expected, DocumentError> {
    if field.json.as_object().is_some() {
        let fields = field.fields()?;
        fields.only(&["from"])?;
        return Ok(Expected::From(labels(&fields.need("from", "name the labels, as in `{from: [request]}`")?)?));
    }
    Ok(Expected::Text(labels(field)?))
}

impl OriginRule {
    fn names(&self, call: &ReadCall<'_>) -> bool {
        let tool = || self.tool.matches(call.tool) || self.tool.matches(name_on_server(call.server, call.tool));
        match (&self.server, call.server) {
            (None, _) => tool(),
            (Some(globs), Some(server)) => globs.matches(server) && tool(),
            (Some(_), None) => false,
        }
    }

    /// Whether the call that read the values is one that the rule asks for.
    fn applies_to_call(&self, call: &ReadCall<'_>, origins: &Origins) -> Applies {
        let arguments = call.args.and_then(Json::as_object);
        if let Some(labels) = &self.anchor {
            let Some(arguments) = call.args else { return Applies::Unclear };
            let flow = each_leaf(arguments, &mut |leaf| {
                let is_name = leaf.steps.last() == Some(&Step::Name);
                if is_name || origins.has_label(leaf.text, labels) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            if flow.is_break() {
                return Applies::No;
            }
        }
        all(self.args.iter().map(|(name, expected)| match arguments.and_then(|arguments| member(arguments, name)) {
            Some(value) => expected.holds(value, origins),
            None => Applies::Unclear,
        }))
    }

    /// Whether the rule is about a value that such a call read.
    fn applies_to(&self, leaf: &Leaf<'_, '_>, request: Option<&str>, origins: &Origins) -> Applies {
        match &self.path {
            // A text without fields is no place that a path can name.
            Some(_) if leaf.steps.is_empty() => return Applies::Unclear,
            Some(path) if !path.covers(leaf.steps) => return Applies::No,
            Some(_) | None => {}
        }
        let around = |name: &str| leaf.record.and_then(|record| record.get(name));
        let named = self.named.iter().map(|name| match (around(name).and_then(Json::as_str), request) {
            (Some(value), Some(request)) if names(request, value) => Applies::Yes,
            (Some(_), Some(_)) => Applies::No,
            (Some(_), None) | (None, _) => Applies::Unclear,
        });
        let when = self.when.iter().map(|(name, expected)| match around(name) {
            Some(value) => expected.holds(value, origins),
            None => Applies::Unclear,
        });
        all(named.chain(when))
    }
}

/// One that is not so decides, then one that is unclear.
fn all(parts: impl Iterator<Item = Applies>) -> Applies {
    parts.fold(Applies::Yes, |all, part| match (all, part) {
        (Applies::No, _) | (_, Applies::No) => Applies::No,
        (Applies::Unclear, _) | (_, Applies::Unclear) => Applies::Unclear,
        (Applies::Yes, Applies::Yes) => Applies::Yes,
    })
}

/// Whether a request names something of this name, which may be that of a file.
fn names(request: &str, value: &str) -> bool {
    let stem = match value.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.len() <= MAX_EXTENSION => stem,
        Some(_) | None => value,
    };
    let (said, wanted) = (name_words(request), name_words(stem));
    let length: usize = wanted.iter().map(|word| word.chars().count()).sum();
    length >= MIN_NAME && said.windows(wanted.len().max(1)).any(|words| words == wanted)
}

/// The argument at a path like `to` or `message.to`.
fn member<'a>(arguments: &'a Object, path: &str) -> Option<&'a Json> {
    let mut names = path.split('.');
    let first = arguments.get(names.next()?)?;
    names.try_fold(first, |value, name| value.as_object()?.get(name))
}

impl Expected {
    /// Whether every text within the value is so.
    fn holds(&self, value: &Json, origins: &Origins) -> Applies {
        let mut any = false;
        let flow = each_leaf(value, &mut |leaf| {
            any = true;
            let holds = match self {
                Self::Text(globs) => {
                    let matches = |glob: &str| glob::matches(glob, leaf.text);
                    let (mut wanted, mut denied) =
                        (globs.iter().filter(|glob| !glob.starts_with('!')).peekable(), globs.iter());
                    // What is denied is denied in other letters as well, and with the mark that channels and people have.
                    let plain = normal(leaf.text.trim_start_matches(['#', '@']));
                    let is_meant = |glob: &str| matches(glob) || glob::matches(&normal(glob), &plain);
                    let is_denied = denied.any(|glob| glob.strip_prefix('!').is_some_and(is_meant));
                    !is_denied && (wanted.peek().is_none() || wanted.any(|glob| matches(glob)))
                }
                Self::From(labels) => origins.has_label(leaf.text, labels),
            };
            if holds { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match (any, flow) {
            (false, _) => Applies::Unclear,
            (true, ControlFlow::Continue(())) => Applies::Yes,
            (true, ControlFlow::Break(())) => Applies::No,
        }
    }
}

impl ActionPolicy {
    /// Whether the policy asks where values come from.
    #[must_use]
    pub fn asks_for_origins(&self) -> bool {
        let mut denials = self.boundaries.iter().flat_map(|boundary| &boundary.deny);
        !self.origins.is_empty()
            || denials.any(|rule| rule.origin.is_some() || names_origins(&rule.when))
            || self.boundaries.iter().any(|boundary| {
                let required = boundary.require.iter().filter_map(|rule| match &rule.demand {
                    Demand::Fact(condition) => Some(condition),
                    Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
                });
                required.chain(&boundary.when).any(names_origins)
            })
    }

    /// Whether a rule asks of which pieces texts are made.
    #[must_use]
    pub fn asks_for_pieces(&self) -> bool {
        let mut denials = self.boundaries.iter().flat_map(|boundary| &boundary.deny);
        denials.any(|rule| matches!(rule.origin, Some(OriginDemand::Cover(_))))
    }

    /// The labels of what a call brought: `values` are the values that its agent is given. `request` is what the user has asked
    /// for. `failed` says that the call did not do what it was to do: then nobody vouches for what it says.
    #[must_use]
    pub fn labelled(
        &self,
        call: &ReadCall<'_>,
        values: &[Json],
        request: Option<&str>,
        origins: &Origins,
        failed: bool,
    ) -> SeenResult {
        let rules = self.origins.iter().filter(|rule| !failed && rule.names(call));
        let rules: Vec<_> = rules.map(|rule| (rule, rule.applies_to_call(call, origins))).collect();
        let mut labelling = Labelling { policy: self, arguments: call.args, seen: SeenResult::default(), within: 0 };
        for value in values {
            let _all = each_leaf(value, &mut |leaf| labelling.leaf(leaf, &rules, request, origins));
        }
        labelling.seen
    }
}

fn names_origins(condition: &Condition) -> bool {
    condition.names().iter().any(|name| &**name == "origins")
}

/// The labels of a result, while they are given.
struct Labelling<'p> {
    policy: &'p ActionPolicy,
    /// The arguments of the call, which a result may repeat.
    arguments: Option<&'p Json>,
    seen: SeenResult,
    /// How many bytes of texts are kept.
    within: usize,
}

impl Labelling<'_> {
    fn leaf(
        &mut self,
        leaf: &Leaf<'_, '_>,
        rules: &[(&OriginRule, Applies)],
        request: Option<&str>,
        origins: &Origins,
    ) -> ControlFlow<()> {
        if self.seen.values.len() >= MAX_SEEN_VALUES {
            self.seen.unknown = true;
            return ControlFlow::Break(());
        }
        let rule = rules.iter().find_map(|(rule, of_call)| {
            match all([*of_call, rule.applies_to(leaf, request, origins)].into_iter()) {
                Applies::Yes => Some(Some(*rule)),
                Applies::Unclear => Some(None),
                Applies::No => None,
            }
        });
        let rule = rule.flatten().filter(|rule| rule.label != NOBODY);
        let rule = rule.filter(|rule| !leaf.is_text || !origins.holds_written(leaf.text, &rule.label, self.arguments));
        let label = rule.map(|rule| rule.label.as_str());
        let is_clean = label.is_some_and(|label| self.policy.clean.iter().any(|clean| clean == label));
        // What is not a text, has no letters or digits, or names a field, tells an agent nothing to do.
        let says_nothing = !leaf.is_text
            || !leaf.text.chars().any(|c| c.is_alphanumeric() || !c.is_ascii())
            || leaf.is_name_of_field();
        if !is_clean && !says_nothing {
            self.seen.unknown = true;
        }
        let path = path_text(leaf.steps, MAX_PATH);
        if let Some(rule) = rule.filter(|rule| rule.within && leaf.is_text) {
            self.within += leaf.text.len();
            if self.within > MAX_WITHIN_BYTES {
                self.seen.unknown = true;
                return ControlFlow::Continue(());
            }
            let text = masked(leaf.text);
            self.seen.texts.push(SeenText { label: rule.label.clone(), path: path.clone(), text });
        }
        self.seen.values.push(SeenValue { label: label.map(str::to_owned), path, digest: value_digest(leaf.text) });
        ControlFlow::Continue(())
    }
}

impl OriginRule {
    /// The entry in words.
    pub(crate) fn shown(&self) -> String {
        let server =
            self.server.as_ref().map_or_else(String::new, |globs| format!(" from the server {}", globs.shown()));
        let path = self.path.as_ref().map_or_else(String::new, |path| format!(" at {path}"));
        let within = if self.within { ", and the words within them" } else { "" };
        let parts = self.conditions();
        let only = if parts.is_empty() { String::new() } else { format!(", if {}", parts.join(" and ")) };
        format!("Values of {}{server}{path} have the label {}{within}{only}.", self.tool.shown(), self.label)
    }

    /// The labels that the entry asks for.
    pub(super) fn labels_asked_for(&self) -> impl Iterator<Item = &str> {
        let conditions = self.when.iter().chain(&self.args).filter_map(|(_, expected)| match expected {
            Expected::From(labels) => Some(labels),
            Expected::Text(_) => None,
        });
        conditions.chain(&self.anchor).flatten().map(String::as_str)
    }

    fn conditions(&self) -> Vec<String> {
        let when = self.when.iter().map(|(name, expected)| format!("`{name}` {}", expected.shown()));
        let args = self.args.iter().map(|(name, expected)| format!("the argument `{name}` {}", expected.shown()));
        let anchor = self.anchor.iter().map(|labels| format!("all arguments come from {}", labels.join(" or ")));
        let named = self.named.iter().map(|name| format!("the request names the `{name}`"));
        when.chain(args).chain(anchor).chain(named).collect()
    }
}

impl Expected {
    fn shown(&self) -> String {
        match self {
            Self::Text(globs) => {
                let (denied, wanted): (Vec<_>, Vec<_>) = globs.iter().partition(|glob| glob.starts_with('!'));
                let parts = [
                    (!wanted.is_empty()).then(|| {
                        format!("is {}", wanted.iter().map(|glob| glob.as_str()).collect::<Vec<_>>().join(" or "))
                    }),
                    (!denied.is_empty()).then(|| {
                        let denied: Vec<_> = denied.iter().map(|glob| glob.trim_start_matches('!')).collect();
                        format!("is not {}", denied.join(" or "))
                    }),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
            }
            Self::From(labels) => format!("comes from {}", labels.join(" or ")),
        }
    }
}
