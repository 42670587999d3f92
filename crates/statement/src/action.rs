//! An action that an agent asked for, as a person sees it before approving or denying it.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::{AskedBy, Subject, shown};
use proofmark_receipt::{Json, Object, Sha256Digest};

use crate::decision::separation;
use crate::legible::{legible, legible_name, legible_text};
use crate::{Kind, Said, Section, Statement};

/// Members of an action that are said first, with their names; the others follow.
const FIRST: [(&str, &str); 5] =
    [("tool", "tool"), ("server", "server"), ("target", "on"), ("class", "class"), ("surface", "surface")];
/// Members of an action that have a section of their own, or say the same of almost all.
const APART: [&str; 2] = ["args", "boundary"];
/// What `boundary` says of every action but writes into a memory.
const USUAL_BOUNDARY: &str = "action_execute";

/// What is said about an action before it is approved or denied. The terminal and the pages show the same.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionStatement {
    /// What is done, by its tool, and with what, beside the arguments. Arguments that are not an object, or an empty one, are here:
    /// some agents send a list or a text.
    pub action: Vec<Statement>,
    /// Names and values, whole, in their order.
    pub arguments: Vec<(String, Json)>,
    /// Who asks, and where.
    pub asked: Vec<Statement>,
    /// Why it was stopped, a reason each.
    pub blocked: Vec<Statement>,
    shown: Sha256Digest,
}

/// The action that is shown is not the one that was decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its action is not the one that was decided on")]
pub struct OtherActionError;

impl ActionStatement {
    /// What is said about `action`, on which `decision` was made.
    ///
    /// # Errors
    /// [`OtherActionError`] where the decision is on another action.
    pub fn of(action: &Object, decision: &DecisionReceipt) -> Result<Self, OtherActionError> {
        // What is shown is hashed here, and never copied from the decision: this is what an approval binds.
        let hash = Sha256Digest::of(&Json::Object(action.clone()).canonical_vrf());
        if decision.bound("action_hash") != Some(hash.to_string().as_str()) {
            return Err(OtherActionError);
        }
        let bound = |name: &str| decision.bound(name).map(str::to_owned);
        let subject = Subject { action: hash, environment: bound("environment"), agent: bound("agent") };
        let asked_by = AskedBy { separation: bound("separation"), account: bound("account") };
        let stopping = decision.reasons().into_iter().filter(|reason| reason.standing().stops());
        let blocked = stopping.map(|reason| match reason.detail {
            Some(detail) => format!("{} ({detail})", reason.message),
            None => reason.message.to_owned(),
        });
        Ok(Self {
            action: said_of(action),
            arguments: arguments(action),
            asked: asked(decision),
            blocked: blocked.map(|value| Statement { name: None, value, kind: Kind::Words }).collect(),
            shown: shown(&subject, &asked_by),
        })
    }

    /// The digest of what is shown, which an approval binds (`metadata.approval.shown`).
    #[must_use]
    pub fn shown(&self) -> Sha256Digest {
        self.shown
    }

    /// The arguments on one line of about so many characters.
    #[must_use]
    pub fn gist(&self, max: usize) -> String {
        let mut line = String::new();
        for (name, value) in &self.arguments {
            // The agent chooses how many arguments there are.
            if line.chars().count() > max {
                break;
            }
            let space = if line.is_empty() { "" } else { ", " };
            let value: String = value.to_text().chars().take(max).collect();
            line.push_str(&format!("{space}{name} {value}"));
        }
        line
    }

    /// All of it, the action first. Names that the agent chose are under a heading of ours.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let arguments = self.arguments.iter().map(|(name, value)| Statement {
            name: Some(legible_name(name).into_owned()),
            value: legible(value),
            kind: Kind::Legible,
        });
        let first = self.action.iter().chain(&self.asked).cloned().collect();
        let sections = [
            Said(first).under(None),
            Said(arguments.collect()).under(Some("arguments")),
            Said(self.blocked.clone()).under(Some("what blocks it")),
        ];
        sections.into_iter().filter(|section| !section.statements.is_empty()).collect()
    }
}

/// The tool and the target of an action, as in `issue_refund on order O-20931`.
#[must_use]
pub fn action_title(action: &Object) -> String {
    let text = |name: &str| action.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    let tool = text("tool").unwrap_or("an action without a tool");
    // The runtime SDK sends the tool's name as the target, too.
    match text("target").filter(|target| *target != tool) {
        // An address of mail gets something; anything else has something done to it.
        Some(target) => format!("{tool} {} {target}", if target.contains('@') { "to" } else { "on" }),
        None => tool.to_owned(),
    }
}

/// Everything that the action says beside its arguments: what is not shown cannot be approved.
fn said_of(action: &Object) -> Vec<Statement> {
    let mut said = Said::default();
    let first = FIRST.into_iter().filter_map(|(name, words)| Some((words, action.get(name)?)));
    let named = |name: &str| FIRST.iter().any(|(known, _)| *known == name);
    let others = action.iter().filter(|(name, value)| {
        !named(name) && (!APART.contains(name) || (*name == "boundary" && value.as_str() != Some(USUAL_BOUNDARY)))
    });
    for (name, value) in first.chain(others) {
        said.say(&name.replace('_', " "), Kind::Legible, Some(legible(value)));
    }
    // The section of the arguments has members of an object alone.
    let args = action.get("args").filter(|args| args.as_object().is_none_or(Object::is_empty));
    said.say("args", Kind::Legible, args.map(legible));
    said.0
}

fn asked(decision: &DecisionReceipt) -> Vec<Statement> {
    let mut said = Said::default();
    said.say("agent", Kind::Legible, decision.bound("agent").map(legible_text));
    let asker = decision.asker();
    said.say("account", Kind::Legible, asker.account.as_deref().map(legible_text));
    said.words("separation", Some(separation(asker.separation)));
    said.say("environment", Kind::Legible, decision.bound("environment").map(legible_text));
    said.0
}

fn arguments(action: &Object) -> Vec<(String, Json)> {
    match action.get("args") {
        Some(Json::Object(args)) => args.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect(),
        _ => Vec::new(),
    }
}
