//! `proofmark policy suggest`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use proofmark_boundary::ActionPolicy;
use proofmark_decider::{SessionSuggestion, suggest_policy};
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, Object, object};

use super::learn::Learn;
use crate::config::Config;
use crate::document;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::printable;

/// Suggest an action policy that allows what a guarded session or recorded runs did
///
/// Let an agent work under `proofmark guard --shadow`, and read what is suggested for its session before you use it: what an
/// agent did is not always what it may do. The comments say how often each call was seen and what is left open.
///
/// With `--runs`, the policy is learned from many runs: the tools that they used, and from where each argument came. Runs that are held
/// out say how often it would stop a good run. Give it good runs only.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark policy suggest --session nightly > suggested.yaml
  proofmark policy suggest --session nightly --policy examples/guard/policy.yaml
  proofmark policy suggest --runs examples/runs/good --server books > learned.yaml

Exit codes: 0 what is suggested allows every call that was executed; 1 it does not, as standard error says;
2 nothing can be suggested.")]
pub(crate) struct Suggest {
    /// The session
    #[arg(long, value_name = "NAME", required_unless_present = "runs")]
    session: Option<String>,
    #[command(flatten)]
    learn: Learn,
    /// Add to this policy, which keeps its rules; its comments are not repeated
    #[arg(long, value_name = "FILE", conflicts_with = "runs")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    store: StoreAt,
    /// Print the policy and the remarks on it as one JSON object
    #[arg(long)]
    json: bool,
}

impl Suggest {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let Some(session) = &self.session else { return self.learn.run(config, self.json) };
        let current = self.policy.as_deref().map(current).transpose()?;
        let store = self.store.open_existing(config)?;
        let current = current.as_ref().map(|(policy, document)| (policy, document));
        let trusted = config.known_signers()?.trusted(&[])?;
        let suggested = suggest_policy(&store, session, trusted.signers(), current)?;
        let mut out = out::stdout();
        match (&suggested.suggestion, self.json) {
            (_, true) => {
                let line = Json::Object(as_json(session, &suggested)).to_text();
                out.json(&line)?;
            }
            (Some(suggestion), false) => write!(out, "{}", suggestion.text)?,
            (None, false) => out::note("the policy needs no further rule for this session"),
        }
        drop(out);
        if !self.json {
            say(&suggested);
        }
        Ok(if suggested.not_allowed.is_empty() { Exit::Yes } else { Exit::No })
    }
}

/// A policy and its document.
fn current(path: &std::path::Path) -> anyhow::Result<(ActionPolicy, Object)> {
    let policy = document::action_policy(path)?;
    let document = document::read_document(path, "action policy")?;
    Ok((policy, document.json.as_object().cloned().unwrap_or_default()))
}

/// Says what of the session the policy does not have.
fn say(suggested: &SessionSuggestion) {
    if suggested.unknown > 0 {
        let calls = counted(suggested.unknown, "call");
        out::note(format_args!("not included: {calls} of which the store has no decision"));
    }
    for (tool, number) in &suggested.blocked {
        let calls = counted(*number, "call");
        out::note(format_args!("not included: {calls} of `{}`, not executed", printable(tool)));
    }
    for (tool, reasons) in &suggested.not_allowed {
        let reasons = reasons.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        out::note(format_args!("not allowed: calls of `{}` ({})", printable(tool), printable(&reasons)));
    }
}

fn as_json(session: &str, suggested: &SessionSuggestion) -> Object {
    let texts = |texts: &[String]| texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>();
    let suggestion = suggested.suggestion.as_ref();
    let codes =
        |codes: &BTreeSet<String>| Json::from(codes.iter().map(|code| Json::from(code.as_str())).collect::<Vec<_>>());
    object! {
        "session": session,
        "calls": suggested.calls,
        "policy"?: suggestion.map(|suggestion| suggestion.document.clone()),
        "yaml"?: suggestion.map(|suggestion| suggestion.text.as_str()),
        "left_open": suggestion.map(|suggestion| texts(&suggestion.left_open)).unwrap_or_default(),
        "not_allowed": members(&suggested.not_allowed, codes),
        "blocked": members(&suggested.blocked, |number| Json::from(*number)),
        "unknown": suggested.unknown,
    }
}

fn members<T>(map: &BTreeMap<String, T>, json: impl Fn(&T) -> Json) -> Object {
    let mut object = Object::new();
    map.iter().for_each(|(name, value)| drop(object.insert(name.as_str(), json(value))));
    object
}
