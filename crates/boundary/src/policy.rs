//! Action policies: which actions are protected, and what each of them requires.

mod arguments;
mod dispatchers;
mod error;
mod fingerprint;
mod limits;
mod lint;
mod matcher;
mod origins;
mod read;
mod results;
mod reviewers;
mod rules;
mod text;
mod tools;
mod warning_codes;

use std::sync::Arc;

use proofmark_evidence::{
    AcceptedWarnings, ApprovalDemand, Binds, Condition, LogPolicy, Person, ReceiptFact, Roles, Scopes,
};
use proofmark_passkey::{Origin, Passkey};
use proofmark_receipt::{Json, Sha256Digest, Timestamp};

pub use error::ActionPolicyError;
pub(crate) use limits::{Limit, Per};
pub use limits::{LimitKey, limit_keys};
pub use lint::Warning;
pub(crate) use matcher::{Matcher, Matching};
pub use origins::ReadCall;
pub(crate) use read::MAX_BOUNDARIES;
pub use results::ResultHandling;
pub(crate) use rules::{
    Asked, Demand, Deny, OriginDemand, ReceiptRule, Require, SameArgument, ToolCallDemand, Warn, Wording,
};
pub(crate) use tools::UNCLASSED;
pub use tools::{HostTool, ToolCall};
pub use warning_codes::warning_codes;

use crate::disposition::Disposition;

/// An action policy that was read and checked: every predicate is compiled against the facts that exist.
#[derive(Debug)]
pub struct ActionPolicy {
    pub(crate) boundaries: Vec<Boundary>,
    pub(crate) repeat: Repeat,
    pub(crate) unmatched: Unmatched,
    pub(crate) exemptions: Vec<Exemption>,
    pub(crate) mode: Mode,
    pub(crate) valid_for_millis: i64,
    pub(crate) presentation: Vec<Vec<String>>,
    pub(crate) roles: Roles,
    pub(crate) classes: Vec<String>,
    pub(crate) tools: Vec<tools::ToolClass>,
    pub(crate) results: Vec<results::ResultRule>,
    pub(crate) origins: Vec<origins::OriginRule>,
    /// The labels of what does not count as read.
    pub(crate) clean: Vec<String>,
    /// The logs and witnesses by which a receipt counts as logged.
    pub(crate) log_policy: Option<LogPolicy>,
    /// The warnings that the author means.
    pub(crate) accepted: AcceptedWarnings,
    pub(crate) hash: Sha256Digest,
}

/// What one kind of action requires.
#[derive(Debug)]
pub(crate) struct Boundary {
    /// Its place in the policy, as in `boundaries[0]`.
    pub(crate) at: Arc<str>,
    pub(crate) id: Arc<str>,
    pub(crate) matcher: Matcher,
    pub(crate) when: Option<Condition>,
    pub(crate) deny: Vec<Deny>,
    pub(crate) require: Vec<Require>,
    pub(crate) warn: Vec<Warn>,
}

/// After how many denials of one action, the present one included, somebody else decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeat {
    pub(crate) limit: u64,
    pub(crate) then: OnBlock,
}

/// What follows for an action that no boundary matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmatched {
    Block(OnBlock),
    AllowExempted,
}

/// Why some unmatched actions are allowed, who approved that, and until when.
#[derive(Debug)]
pub(crate) struct Exemption {
    pub(crate) at: Arc<str>,
    pub(crate) reason: String,
    pub(crate) approver: String,
    pub(crate) expires: Timestamp,
    pub(crate) matcher: Matcher,
}

/// Whether decisions are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    /// The action is allowed with a warning that says what would have happened.
    Shadow,
}

/// How the agent continues when a rule blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBlock {
    /// Upstream where what is missing must come from there, else local.
    ReplanRequired,
    Local,
    /// Replan in the parent, or locally without an upstream context.
    Upstream,
    HumanReview,
    GoalFailTerminal,
}

impl OnBlock {
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("replan_required", Self::ReplanRequired),
        ("local", Self::Local),
        ("upstream", Self::Upstream),
        ("human_review", Self::HumanReview),
        ("goal_fail_terminal", Self::GoalFailTerminal),
    ];

    /// The disposition, given whether there is an upstream context and whether what is missing comes from there.
    pub(crate) fn disposition(self, upstream: bool, from_upstream: bool) -> Disposition {
        match (self, upstream, from_upstream) {
            (Self::ReplanRequired, true, true) | (Self::Upstream, true, _) => Disposition::UpstreamReplan,
            (Self::ReplanRequired | Self::Upstream, _, _) | (Self::Local, _, _) => Disposition::LocalReplan,
            (Self::HumanReview, _, _) => Disposition::HumanReview,
            (Self::GoalFailTerminal, _, _) => Disposition::TerminalBlock,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ReplanRequired => "replan_required",
            Self::Local => "local",
            Self::Upstream => "upstream",
            Self::HumanReview => "human_review",
            Self::GoalFailTerminal => "goal_fail_terminal",
        }
    }
}

impl ActionPolicy {
    /// Reads a policy.
    ///
    /// # Errors
    /// [`ActionPolicyError`] names the place; for a predicate also the position in it.
    pub fn read(document: &Json) -> Result<Self, ActionPolicyError> {
        read::policy(document)
    }

    /// SHA-256 of the policy's canonical form: the same for its JSON and its YAML.
    #[must_use]
    pub fn hash(&self) -> Sha256Digest {
        self.hash
    }

    /// The logs and witnesses by which a receipt counts as logged: it pins them, no request can.
    #[must_use]
    pub fn log_policy(&self) -> Option<&LogPolicy> {
        self.log_policy.as_ref()
    }

    /// Whether its decisions are enforced.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What looks like a mistake, in policy order.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        lint::warnings(self)
    }

    /// Who may approve in a role, as the policy names them.
    #[must_use]
    pub fn holders(&self, role: &str) -> Vec<&str> {
        self.roles.members(role).map(|member| member.name.as_str()).collect()
    }

    /// The policy's name for who gave an approval.
    #[must_use]
    pub fn name_of(&self, approval: &ReceiptFact) -> Option<&str> {
        let person = self.roles.person(approval)?;
        let listed = self.roles.reviewers.iter().find(|listed| listed.is(&person))?;
        Some(&listed.name)
    }

    /// The policy's name for the reviewer with this id: a key, or a caller of a server.
    #[must_use]
    pub fn name_of_reviewer(&self, id: &str) -> Option<&str> {
        let is_named = |person: &Person| match person {
            Person::Key(key) => key.to_string() == id,
            Person::Caller { id: caller, .. } => caller == id,
            Person::Passkey(_) => false,
        };
        let listed = self.roles.reviewers.iter().find(|listed| listed.people.iter().any(is_named))?;
        Some(&listed.name)
    }

    /// The roles that the policy gives to a person.
    #[must_use]
    pub fn roles_of(&self, person: &Person) -> Vec<&str> {
        let listed = self.roles.reviewers.iter().filter(|reviewer| reviewer.is(person));
        listed.flat_map(|reviewer| &reviewer.roles).map(String::as_str).collect()
    }

    /// The passkeys that hold a role, with the names of their holders.
    pub fn passkeys(&self, role: &str) -> impl Iterator<Item = (&str, &Passkey)> {
        let ways = self.roles.members(role).flat_map(|member| member.people.iter().map(move |person| (member, person)));
        ways.filter_map(|(member, person)| match person {
            Person::Passkey(passkey) => Some((member.name.as_str(), passkey)),
            Person::Key(_) | Person::Caller { .. } => None,
        })
    }

    /// The roles of those who are listed with a passkey for pages of this origin.
    pub fn roles_of_passkeys(&self, origin: &Origin) -> impl Iterator<Item = &str> {
        let is_of = |person: &Person| matches!(person, Person::Passkey(passkey) if passkey.origin == *origin);
        let listed = self.roles.reviewers.iter().filter(move |reviewer| reviewer.people.iter().any(is_of));
        listed.flat_map(|reviewer| &reviewer.roles).map(String::as_str)
    }

    /// Whether anybody is listed with a passkey for pages of this origin.
    #[must_use]
    pub fn lists_passkeys_of(&self, origin: &Origin) -> bool {
        let is_of = |person: &Person| matches!(person, Person::Passkey(passkey) if passkey.origin == *origin);
        self.roles.reviewers.iter().any(|reviewer| reviewer.people.iter().any(is_of))
    }

    /// The rules that ask for approvals in a role, with their places.
    pub(crate) fn approvals(&self, role: &str) -> impl Iterator<Item = (&str, &ApprovalDemand)> {
        let rules = self.boundaries.iter().flat_map(|boundary| &boundary.require);
        rules.filter_map(move |rule| match &rule.demand {
            Demand::Approval(demand) if demand.role == role => Some((&*rule.at, demand)),
            Demand::Approval(_) | Demand::Fact(_) | Demand::Receipt(_) | Demand::ToolCall(_) => None,
        })
    }

    /// What an approval may reach by every rule that asks for it in this role with these bindings.
    pub(crate) fn scopes(&self, role: &str, binds: Binds) -> Scopes {
        let demands = self.approvals(role).filter(|(_, demand)| demand.binds == binds);
        demands.map(|(_, demand)| demand.scopes).reduce(Scopes::and).unwrap_or_default()
    }

    /// A rule's place with the id of its boundary: `deploy.require[0]` for `boundaries[2].require[0]`.
    #[must_use]
    pub fn rule_name(&self, place: &str) -> String {
        let named = self.boundaries.iter().find_map(|boundary| Some((boundary, place.strip_prefix(&*boundary.at)?)));
        named.map_or_else(|| place.to_owned(), |(boundary, rest)| format!("{}{rest}", boundary.id))
    }

    pub(crate) fn knows_class(&self, class: &str) -> bool {
        crate::facts::ACTION_CLASSES.contains(&class) || self.classes.iter().any(|known| known == class)
    }
}
