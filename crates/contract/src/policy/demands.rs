//! What a policy demands.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object};

use crate::tools;
use crate::workflow::{Class, OnFailure, Strategy};
use proofmark_evidence::EvidenceStatus;

/// One kind of demand, under the name a policy has for it; what an exemption can lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// There is a verification block with at least one rule.
    RequireVerification,
    /// At least one met rule rests on evidence of this standing.
    MinEvidence,
    /// `warn` may not be used.
    AllowWarn,
    /// `noOtherMutations` may not be turned off.
    NoOtherMutations,
    /// Calls of these tools are asked for.
    ToolCalls,
    /// A receipt is asked for.
    Receipts,
    /// The ceiling of attempts.
    MaxAttempts,
    /// The ceiling of delays.
    MaxDelayMs,
    /// The retry strategies there are.
    Strategies,
    /// `onFailure` may not go on as if nothing had been.
    Continue,
}

/// What steps have to keep; nothing where nothing is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demands {
    /// Whether there has to be a verification block with a rule.
    pub require_verification: bool,
    /// The standing at least one met rule must rest on.
    pub min_evidence: EvidenceStatus,
    /// Whether `warn` and `onFailure: continue` may be used.
    pub allow_warn: bool,
    /// Whether `noOtherMutations` must hold.
    pub no_other_mutations: bool,
    /// The tools whose calls must be asked for.
    pub tool_calls: Vec<String>,
    /// Whether a receipt must be asked for.
    pub receipts: bool,
    /// The ceiling of attempts.
    pub max_attempts: Option<u32>,
    /// The ceiling of delays, in milliseconds.
    pub max_delay_ms: Option<u64>,
    /// The retry strategies there are; all where nothing is said.
    pub strategies: Option<Vec<Strategy>>,
}

impl Demand {
    const ALL: [(&'static str, Self); 10] = [
        ("requireVerification", Self::RequireVerification),
        ("minEvidence", Self::MinEvidence),
        ("allowWarn", Self::AllowWarn),
        ("noOtherMutations", Self::NoOtherMutations),
        ("toolCalls", Self::ToolCalls),
        ("receipts", Self::Receipts),
        ("maxAttempts", Self::MaxAttempts),
        ("maxDelayMs", Self::MaxDelayMs),
        ("strategies", Self::Strategies),
        ("continue", Self::Continue),
    ];

    /// The name in a policy.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, demand)| *demand == self).map_or("", |(name, _)| name)
    }

    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        field.choice(&Self::ALL)
    }
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            require_verification: false,
            min_evidence: EvidenceStatus::Absent,
            allow_warn: true,
            no_other_mutations: false,
            tool_calls: Vec::new(),
            receipts: false,
            max_attempts: None,
            max_delay_ms: None,
            strategies: None,
        }
    }
}

impl Demands {
    /// What always holds for steps of a class, whatever the policy.
    pub fn of_class(class: Class) -> Self {
        match class {
            Class::Readonly => Self::default(),
            Class::Mutating => Self {
                require_verification: true,
                min_evidence: EvidenceStatus::Observed,
                allow_warn: false,
                ..Self::default()
            },
        }
    }

    /// Both together: the stricter of each.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut tool_calls = self.tool_calls.clone();
        tool_calls.extend(other.tool_calls.iter().filter(|name| !self.tool_calls.contains(name)).cloned());
        Self {
            require_verification: self.require_verification || other.require_verification,
            min_evidence: self.min_evidence.max(other.min_evidence),
            allow_warn: self.allow_warn && other.allow_warn,
            no_other_mutations: self.no_other_mutations || other.no_other_mutations,
            tool_calls,
            receipts: self.receipts || other.receipts,
            max_attempts: lower(self.max_attempts, other.max_attempts),
            max_delay_ms: lower(self.max_delay_ms, other.max_delay_ms),
            strategies: common(&self.strategies, &other.strategies),
        }
    }

    /// How an attempt is repeated under these demands.
    pub(crate) fn allows_strategy(&self, on_failure: &OnFailure) -> bool {
        self.strategies.as_ref().is_none_or(|allowed| allowed.contains(&on_failure.strategy))
    }

    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        Ok(Self {
            require_verification: tightening(fields, "requireVerification", true)?,
            min_evidence: fields
                .get("minEvidence")
                .map_or(Ok(EvidenceStatus::Absent), |field| read_standing(&field))?,
            allow_warn: !tightening(fields, "allowWarn", false)?,
            no_other_mutations: tightening(fields, "noOtherMutations", true)?,
            tool_calls: fields.get("toolCalls").map_or(Ok(Vec::new()), |field| tools::names(&field))?,
            receipts: tightening(fields, "receipts", true)?,
            max_attempts: fields.get("maxAttempts").map(|field| crate::workflow::attempts(&field)).transpose()?,
            max_delay_ms: fields.get("maxDelayMs").map(|field| crate::workflow::delay(&field)).transpose()?,
            strategies: fields.get("strategies").map(|field| read_strategies(&field)).transpose()?,
        })
    }

    pub(crate) fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("requireVerification", self.require_verification);
        object.insert("minEvidence", self.min_evidence.as_str());
        object.insert("allowWarn", self.allow_warn);
        object.insert("noOtherMutations", self.no_other_mutations);
        object.insert("toolCalls", self.tool_calls.iter().map(|name| Json::from(name.as_str())).collect::<Vec<_>>());
        object.insert("receipts", self.receipts);
        if let Some(attempts) = self.max_attempts {
            object.insert("maxAttempts", u64::from(attempts));
        }
        if let Some(delay) = self.max_delay_ms {
            object.insert("maxDelayMs", delay);
        }
        if let Some(strategies) = &self.strategies {
            let words = strategies.iter().map(|strategy| Json::from(strategy.as_str()));
            object.insert("strategies", words.collect::<Vec<_>>());
        }
        object.into()
    }
}

/// Whether a demand is made. A policy cannot lift what holds without it: the other value is refused.
fn tightening(fields: &Fields<'_>, name: &str, strict: bool) -> Result<bool, DocumentError> {
    match fields.get(name) {
        None => Ok(false),
        Some(field) if field.boolean()? == strict => Ok(true),
        Some(field) => {
            let message = format!("a policy only tightens; write `{strict}`, leave it out, or write an exemption");
            Err(field.error(Cause::InvalidValue, message))
        }
    }
}

fn read_standing(field: &Field<'_>) -> Result<EvidenceStatus, DocumentError> {
    field.choice(&[
        ("self_reported", EvidenceStatus::SelfReported),
        ("observed", EvidenceStatus::Observed),
        ("verified", EvidenceStatus::Verified),
    ])
}

fn read_strategies(field: &Field<'_>) -> Result<Vec<Strategy>, DocumentError> {
    let items = field.items()?;
    match items.is_empty() {
        true => Err(field.error(Cause::Empty, "no strategy would be left; write one, or leave the field out")),
        false => items.iter().map(Strategy::read).collect(),
    }
}

fn lower<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (one, None) | (None, one) => one,
    }
}

/// What both allow.
fn common(left: &Option<Vec<Strategy>>, right: &Option<Vec<Strategy>>) -> Option<Vec<Strategy>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.iter().copied().filter(|strategy| right.contains(strategy)).collect()),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    }
}
