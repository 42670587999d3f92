//! What a host is answered, and what it takes an answer for.

use proofmark_receipt::{Json, Object};

use crate::message::Occasion;

/// The exit code by which a hook blocks a call, with the reason on standard error.
const BLOCK: i32 = 2;
/// How much of a failed hook's first line is shown, in characters.
const MAX_SHOWN: usize = 200;

/// The exact form of a host's answers.
pub struct Answers {
    /// What lets a call run; `None` where the host takes silence for it.
    pub(crate) allow: Option<fn() -> Object>,
    pub(crate) deny: fn(Occasion, &str) -> Object,
    pub(crate) go_on: fn(Occasion, &str) -> Object,
    /// What asks for nothing, and shows a note to the user where the host can.
    pub(crate) pass: fn(Occasion, Option<&str>) -> Option<Object>,
    /// What the host takes an object for that a hook printed before a tool.
    pub(crate) read: fn(&Object) -> Reading,
    /// Whether a hook can also block by its exit code.
    pub(crate) blocks_by_exit_code: bool,
}

/// What is printed on standard output, where the exit code is 0. It is one JSON object, or nothing where the host takes silence
/// for consent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer(String);

/// What a host takes the answer of a hook for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The call is not to run, for this reason.
    Denied(String),
    Allowed,
    /// The host does not know such an answer.
    Failed(String),
}

/// What a hook left behind when it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOutput {
    /// `None` if it was killed.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Answer {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Option<Object>> for Answer {
    fn from(object: Option<Object>) -> Self {
        Self(object.map(|object| Json::Object(object).to_text()).unwrap_or_default())
    }
}

impl Answers {
    /// Says that a tool may be called.
    #[must_use]
    pub fn allow(&self) -> Answer {
        self.allow.map(|allow| allow()).into()
    }

    /// Says that a tool may not be called, and why.
    #[must_use]
    pub fn deny(&self, occasion: Occasion, reason: &str) -> Answer {
        Some((self.deny)(occasion, reason)).into()
    }

    /// Has the agent go on instead of stopping, with this prompt. A host whose agents cannot be held takes nothing.
    #[must_use]
    pub fn go_on(&self, occasion: Occasion, prompt: &str) -> Answer {
        Some((self.go_on)(occasion, prompt)).into()
    }

    /// Says nothing but, where the host can show it, `note` to the user.
    #[must_use]
    pub fn pass(&self, occasion: Occasion, note: Option<&str>) -> Answer {
        (self.pass)(occasion, note).into()
    }

    /// What the host takes the answer of a hook for that it called before a tool.
    #[must_use]
    pub fn takes(&self, output: &HookOutput) -> Reading {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.code {
            // A signal ended it, that of the host's own deadline for example.
            None => Reading::Failed("it took too long, or was killed".to_owned()),
            Some(0) => self.takes_text(&output.stdout),
            // Hosts run the call if no reason is given.
            Some(BLOCK) if self.blocks_by_exit_code && !stderr.is_empty() => Reading::Denied(stderr),
            Some(code) => Reading::Failed(failed(code, &stderr)),
        }
    }

    fn takes_text(&self, stdout: &[u8]) -> Reading {
        if stdout.trim_ascii().is_empty() {
            return match self.allow {
                Some(_) => Reading::Failed("it answered nothing".to_owned()),
                None => Reading::Allowed,
            };
        }
        // A text before the object makes hosts read none.
        let json = if stdout.starts_with(b"{") { Json::parse(stdout).ok() } else { None };
        match json.as_ref().and_then(Json::as_object) {
            Some(answer) => (self.read)(answer),
            None => Reading::Failed("its output is not one JSON object".to_owned()),
        }
    }
}

/// Reads a decision and its reason, in members of these names.
pub(crate) fn decision(answer: &Object, name: &str, reason: &str) -> Reading {
    let text = |name: &str| answer.get(name).and_then(Json::as_str);
    match (text(name), text(reason)) {
        (Some("deny" | "block"), Some(reason)) if !reason.is_empty() => Reading::Denied(reason.to_owned()),
        // As with the exit code: without a reason, hosts run the call.
        (Some("deny" | "block"), _) => Reading::Failed("it refuses without a reason".to_owned()),
        (Some("allow"), _) => Reading::Allowed,
        (_, _) => unknown(),
    }
}

/// An answer that decides nothing.
pub(crate) fn unknown() -> Reading {
    Reading::Failed("it says neither that the call may run nor that it may not".to_owned())
}

fn failed(code: i32, stderr: &str) -> String {
    let first: String = stderr.lines().next().unwrap_or_default().chars().take(MAX_SHOWN).collect();
    if first.is_empty() {
        format!("it ended with exit code {code}")
    } else {
        format!("it ended with exit code {code}: {first}")
    }
}
