//! What a receipt says as an approval.

use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp};

use crate::reviewer::Reviewer;
use crate::scope::Scope;

/// The tier of a human's attestation (VRF 1.0, "Tier 3").
pub const HUMAN_TIER: u8 = 3;

/// The members of an approval that its `shown` is the digest of.
const SHOWN: [&str; 5] = ["action_hash", "environment", "agent", "separation", "account"];

/// What an approval is of: an action, asked for by an agent in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// SHA-256 of the action in canonical form.
    pub action: Sha256Digest,
    /// The environment (`agent.environment`), if the request names one.
    pub environment: Option<String>,
    /// The agent (`agent.id`), if the request names one.
    pub agent: Option<String>,
}

/// Who asked for an action, as a decision binds it: what an approval says about it beside its subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedBy {
    /// How far the agent was from what decided, in the word of the decision.
    pub separation: Option<String>,
    /// The account or the API key that it asked with.
    pub account: Option<String>,
}

/// What a receipt says as an approval (`metadata.approval`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalFact {
    pub role: String,
    pub subject: Subject,
    pub asked_by: AskedBy,
    /// The digest of what the reviewer was shown ([`shown`]). Without it the approval does not count.
    pub shown: Option<Sha256Digest>,
    /// The reviewer that the signer names. Whether the signer may name one is decided by [`crate::Roles::person`].
    pub reviewer: Option<Reviewer>,
    pub expires_at: Timestamp,
    /// What it reaches beyond the one action; `None` for an approval that one decision uses up.
    pub scope: Option<Scope>,
}

impl Subject {
    /// The subject as a document names it: `action_hash`, `environment` and `agent`, of which the last two may be `null`;
    /// `None` when a part of it is missing, since what is bound to nothing is not bound.
    #[must_use]
    pub fn read(object: &Object) -> Option<Self> {
        let named = |name: &str| match object.get(name)? {
            Json::Null => Some(None),
            json => json.as_str().map(|text| Some(text.to_owned())),
        };
        Some(Self {
            action: object.get("action_hash")?.as_str()?.parse().ok()?,
            environment: named("environment")?,
            agent: named("agent")?,
        })
    }

    /// Writes the hash of the action, the environment and the agent, as `binding` and `metadata.approval` hold them.
    pub fn write(&self, object: &mut Object) {
        let named = |name: &Option<String>| name.as_deref().map_or(Json::Null, Json::from);
        object.insert("action_hash", self.action.to_string());
        object.insert("environment", named(&self.environment));
        object.insert("agent", named(&self.agent));
    }
}

impl AskedBy {
    /// Reads `separation` and `account`; `None` when one of them is not a text.
    pub(crate) fn read(object: &Object) -> Option<Self> {
        let named = |name: &str| match object.get(name) {
            Some(json) => json.as_str().map(|text| Some(text.to_owned())),
            None => Some(None),
        };
        Some(Self { separation: named("separation")?, account: named("account")? })
    }

    /// Writes what is known of it, as `binding` and `metadata.approval` hold it.
    pub fn write(&self, object: &mut Object) {
        for (name, value) in [("separation", &self.separation), ("account", &self.account)] {
            if let Some(value) = value {
                object.insert(name, value.as_str());
            }
        }
    }
}

/// What an approval says the reviewer was shown (`metadata.approval.shown`): the digest of the action as it was shown, the agent,
/// the environment, and who asked. Who shows an action computes it from what is shown; who checks an approval, from what was
/// decided.
#[must_use]
pub fn shown(subject: &Subject, asked_by: &AskedBy) -> Sha256Digest {
    let mut approval = Object::new();
    subject.write(&mut approval);
    asked_by.write(&mut approval);
    shown_of(&approval)
}

/// The digest that `shown` has to be in `metadata.approval`: that of its members about the action and who asked.
#[must_use]
pub fn shown_of(approval: &Object) -> Sha256Digest {
    let mut members = Object::new();
    for (name, value) in approval.iter().filter(|(name, _)| SHOWN.contains(name)) {
        members.insert(name, value.clone());
    }
    Sha256Digest::of(&Json::Object(members).canonical_vrf())
}

impl ApprovalFact {
    /// Whether the reviewer was shown what the approval is of.
    #[must_use]
    pub fn is_of_what_was_shown(&self) -> bool {
        self.shown == Some(shown(&self.subject, &self.asked_by))
    }

    /// Writes it as `metadata.approval` and decisions hold it, without a note.
    pub fn write(&self, object: &mut Object) {
        object.insert("role", self.role.as_str());
        self.subject.write(object);
        self.asked_by.write(object);
        if let Some(shown) = &self.shown {
            object.insert("shown", shown.to_string());
        }
        if let Some(reviewer) = &self.reviewer {
            object.insert("reviewer", reviewer.to_json());
        }
        object.insert("expires_at", self.expires_at.as_str());
        if let Some(scope) = &self.scope {
            object.insert("scope", scope.to_json());
        }
    }

    /// Reads `metadata.approval`; `None` when a part of it is missing.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let text = |name: &str| object.get(name)?.as_str();
        Some(Self {
            role: text("role")?.to_owned(),
            subject: Subject::read(object)?,
            asked_by: AskedBy::read(object)?,
            shown: match object.get("shown") {
                Some(shown) => Some(shown.as_str()?.parse().ok()?),
                None => None,
            },
            reviewer: object.get("reviewer").map(Reviewer::read).map_or(Some(None), |read| read.map(Some))?,
            expires_at: text("expires_at")?.parse().ok()?,
            // One that cannot be read could be of less than it seems.
            scope: object.get("scope").map(Scope::read).map_or(Some(None), |read| read.map(Some))?,
        })
    }
}
