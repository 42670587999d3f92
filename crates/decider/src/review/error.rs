//! Why a review is not stored, and what to do about it.

use proofmark_evidence::{ApprovalError, Refusal};
use proofmark_receipt::document::shown;
use proofmark_receipt::{SignError, Timestamp};
use proofmark_store::StoreError;

use crate::decide::DecideError;
use crate::grant::{GrantError, MAX_NOTE};
use crate::passkey::PasskeyRefusal;

/// Why a review is not stored.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The tenant has no such decision.
    #[error("review the decision `{}`: there is none with this id", shown(.0))]
    Unknown(String),
    /// What was shown, or is stored as its action, is not what was decided on.
    #[error("review the decision `{0}`: what was shown is not the action that was decided on")]
    OtherAction(String),
    /// An allowed action waits for no review.
    #[error("review the decision `{0}`: the action was allowed, so there is nothing to review")]
    Allowed(String),
    /// A denial stands until it expires.
    #[error("approve: {reviewer} denied the action in the review of decision `{decision_id}`, until {until}")]
    Denied {
        reviewer: String,
        decision_id: String,
        /// When the denial expires.
        until: Timestamp,
    },
    /// Several roles are asked for.
    #[error("approve: the decision asks for several roles, {}", .0.join(", "))]
    Roles(Vec<String>),
    /// No rule asks for such an approval.
    #[error("approve as `{}`: no rule for this action asks for it{}", shown(.role), but_for(.roles))]
    NotAsked {
        /// The role it was given in.
        role: String,
        /// The roles that rules ask for.
        roles: Vec<String>,
    },
    /// It would not count.
    #[error("approve as `{}`: the approval {}, so it cannot count", shown(.role), .why.words())]
    CannotCount {
        /// The role it was given in.
        role: String,
        why: Refusal,
        /// Who may approve in the role by the policy.
        holders: Vec<String>,
    },
    /// It has as many approvals as are asked for.
    #[error("approve as `{}`: there are as many unused approvals as are asked for", shown(.0))]
    Enough(String),
    /// The policy that decided is not one of those here.
    #[error(
        "approve the decision `{decision_id}`: the policy that asks for it, {policy}, is not in force on this server"
    )]
    OtherPolicy {
        decision_id: String,
        /// Its name, where it has one, and its digest.
        policy: String,
    },
    /// The facts of the decision are not stored.
    #[error("approve the decision `{0}`: the facts it was made on are not stored")]
    NoFacts(String),
    /// The note is empty or too long.
    #[error("review: the note is empty, has more than {MAX_NOTE} bytes, or has the character U+0000")]
    Note,
    /// It would expire too soon or too late.
    #[error("review: a review counts for at least a second and at most 30 days")]
    Expiry,
    /// What a passkey signed does not count.
    #[error("approve: what the passkey signed does not count: {0}")]
    Passkey(#[from] PasskeyRefusal),
    /// It cannot reach so far.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// It cannot be approved.
    #[error("approve: {0}")]
    Approval(#[from] ApprovalError),
    /// It cannot be signed.
    #[error("sign the approval: {0}")]
    Sign(#[from] SignError),
    /// The decision cannot be read.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// The store refused, or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReviewError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Decide(error) => return error.help(),
            Self::Store(error) => return error.help(),
            Self::Unknown(_) => "name the id of a stored decision",
            Self::OtherAction(_) => {
                "open the decision again; if its action still differs, verify the store with `proofmark store check`"
            }
            Self::Denied { .. } => "ask for the action again after that",
            Self::Roles(_) => "choose one of them as `role`",
            Self::NotAsked { .. } => "deny the action, or change what blocks it",
            Self::CannotCount { why: why @ Refusal::Signer, holders, .. } if !holders.is_empty() => {
                return Some(format!("{}; the policy gives the role to {}", way_out(*why), holders.join(", ")));
            }
            Self::CannotCount { why, .. } => way_out(*why),
            Self::Enough(_) => "let the agent ask again",
            Self::OtherPolicy { .. } => {
                "approve with `proofmark decision approve`, or on a server that has this policy (`--policy`)"
            }
            Self::NoFacts(_) => "let the agent ask again, and review that decision",
            Self::Passkey(refusal) => refusal.help(),
            Self::Grant(error) => return error.help(),
            Self::Note => "say why",
            Self::Expiry => "choose another `expires_in`",
            Self::Sign(error) => return error.help(),
            Self::Allowed(_) | Self::Approval(_) => return None,
        };
        Some(text.to_owned())
    }
}

fn but_for(roles: &[String]) -> String {
    if roles.is_empty() { String::new() } else { format!(", but for {}", roles.join(", ")) }
}

fn way_out(why: Refusal) -> &'static str {
    match why {
        Refusal::Signer => {
            "approve with `proofmark decision approve` and a key of the role, or let the reviewer's entry in the file of API keys, or \
             the policy, name the role"
        }
        Refusal::SameReviewer => "let another person approve",
        Refusal::ScopeNotOffered => {
            "approve this action once, or let the owner of the policy offer more in `scopes` of the rule"
        }
        Refusal::GrantTooLong => "choose a shorter time",
        Refusal::RoleOfNobody => {
            "list who holds the role, with `proofmark reviewer add NAME --key KEY --role ROLE --policy FILE`, or give it to the \
             reviewer's API key with `proofmark api-key add … --holds ROLE`"
        }
        _ => "let the agent ask again, and review that decision",
    }
}
