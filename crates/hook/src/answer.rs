//! What a host is answered.

use proofmark_receipt::{Json, Object};

use crate::host;
use crate::message::Occasion;
use crate::name::Host;

/// What is printed on standard output, where the exit code is 0. It is one JSON object, or nothing where the host takes silence
/// for consent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer(String);

impl Answer {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Says that a tool may be called.
    #[must_use]
    pub fn allow(host: Host, occasion: Occasion) -> Self {
        host::allow(host, occasion).into()
    }

    /// Says that a tool may not be called, and why.
    #[must_use]
    pub fn deny(host: Host, occasion: Occasion, reason: &str) -> Self {
        Some(host::deny(host, occasion, reason)).into()
    }

    /// Has the agent go on instead of stopping, with this prompt. A host whose agents cannot be held takes nothing.
    #[must_use]
    pub fn go_on(host: Host, occasion: Occasion, prompt: &str) -> Self {
        host::go_on(host, occasion, prompt).into()
    }

    /// Says nothing but, where the host can show it, `note` to the user.
    #[must_use]
    pub fn pass(host: Host, occasion: Occasion, note: Option<&str>) -> Self {
        host::pass(host, occasion, note).into()
    }
}

impl From<Option<Object>> for Answer {
    fn from(object: Option<Object>) -> Self {
        Self(object.map(|object| Json::Object(object).to_text()).unwrap_or_default())
    }
}
