//! Who vouches for what is read: the rules that give labels to the values of results.

mod label;
mod path;
mod read;
mod words;

use std::ops::ControlFlow;

use proofmark_evidence::Condition;
use proofmark_flow::{Leaf, Origins, Step, each_leaf, name_words, normal};
use proofmark_receipt::glob::{self, Globs};
use proofmark_receipt::{Json, Object};
use proofmark_session::name_on_server;

use super::{ActionPolicy, Demand, OriginDemand};
use path::PathPattern;
pub(super) use read::{labels, read};

/// The longest extension of a file's name, in bytes.
const MAX_EXTENSION: usize = 5;
/// How many characters a name has at least that a request can name: shorter ones stand in many texts.
const MIN_NAME: usize = 3;

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
                // `true` and `false` say nothing of where they come from.
                let says_nothing = !leaf.is_text && leaf.number.is_none();
                if is_name || says_nothing || leads(labels, leaf) || origins.has_label(leaf.text, labels) {
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
            // A path cannot name a text without fields.
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

/// Whether a value is one of the constants (`=TEXT`), or a number within the bounds (`<= NUMBER`), that stand among labels.
fn leads(labels: &[String], leaf: &Leaf<'_, '_>) -> bool {
    let number = leaf.number.and_then(|number| number.as_f64());
    labels.iter().any(|label| match (label.strip_prefix('='), read::bound(label), number) {
        (Some(constant), _, _) => constant == leaf.text,
        (None, Some(bound), Some(number)) => (0.0..=bound).contains(&number),
        (None, _, _) => false,
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
}

fn names_origins(condition: &Condition) -> bool {
    condition.names().iter().any(|name| &**name == "origins")
}
