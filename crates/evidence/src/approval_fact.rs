//! What a receipt says as an approval.

use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp};

use crate::reviewer::Reviewer;
use crate::scope::Scope;

/// The tier of a human's attestation (VRF 1.0, "Tier 3").
pub const HUMAN_TIER: u8 = 3;

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

/// What a receipt says as an approval (`metadata.approval`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalFact {
    pub role: String,
    pub subject: Subject,
    /// The reviewer that the signer names. Whether the signer may name one is decided by [`crate::Roles::person`].
    pub reviewer: Option<Reviewer>,
    pub expires_at: Timestamp,
    /// What it reaches beyond the one action; `None` for an approval that one decision uses up.
    pub scope: Option<Scope>,
}

impl Subject {
    /// The subject as a document names it: `action_hash`, `environment` and `agent`, of which the last two may be `null`;
    /// `None` when a part of it is missing, since what is bound to nothing is not bound.
    pub(crate) fn read(object: &Object) -> Option<Self> {
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

impl ApprovalFact {
    /// Reads `metadata.approval`; `None` when a part of it is missing.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let text = |name: &str| object.get(name)?.as_str();
        Some(Self {
            role: text("role")?.to_owned(),
            subject: Subject::read(object)?,
            reviewer: object.get("reviewer").map(Reviewer::read).map_or(Some(None), |read| read.map(Some))?,
            expires_at: text("expires_at")?.parse().ok()?,
            // One that cannot be read could be of less than it seems.
            scope: object.get("scope").map(Scope::read).map_or(Some(None), |read| read.map(Some))?,
        })
    }
}
