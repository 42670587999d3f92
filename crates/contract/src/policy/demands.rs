//! What a workflow policy demands of steps.

use proofmark_evidence::EvidenceStatus;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, object};

use crate::class::Class;
use crate::read;
use crate::workflow::{OnFailure, Strategy};

/// A kind of demand: what an exemption can lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandKind {
    /// There is a verification block with at least one rule.
    RequireVerification,
    /// At least one met rule rests on evidence of this status.
    MinEvidence,
    AllowWarn,
    NoOtherMutations,
    ToolCalls,
    Receipts,
    MaxAttempts,
    MaxDelayMs,
    Strategies,
    /// `onFailure: continue` is forbidden in mutating steps.
    Continue,
}

/// What is demanded of steps. The default demands nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demands {
    /// Whether a verification block with at least one rule is required.
    pub require_verification: bool,
    /// The status of evidence that at least one met rule must rest on.
    pub min_evidence: EvidenceStatus,
    /// Whether `onMissingEvidence: warn` may be used. `onFailure: continue` depends on the class alone.
    pub allow_warn: bool,
    /// Whether `noOtherMutations` must hold.
    pub no_other_mutations: bool,
    pub tool_calls: Vec<String>,
    pub receipts: bool,
    pub max_attempts: Option<u32>,
    /// The ceiling of delays, in milliseconds.
    pub max_delay_ms: Option<u64>,
    /// The allowed retry strategies; `None` is all.
    pub strategies: Option<Vec<Strategy>>,
}

impl DemandKind {
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
    /// What is demanded of steps of a class without any policy.
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

    /// The stricter one of each pair.
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

    /// Whether the retry strategy is allowed.
    pub(crate) fn allows_strategy(&self, on_failure: &OnFailure) -> bool {
        self.strategies.as_ref().is_none_or(|allowed| allowed.contains(&on_failure.strategy))
    }

    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        Ok(Self {
            require_verification: tightening(fields, "requireVerification", true)?,
            min_evidence: fields.get("minEvidence").map_or(Ok(EvidenceStatus::Absent), |field| read_status(&field))?,
            // Here `false` is the strict value, so `tightening` is true where warnings are forbidden.
            allow_warn: !tightening(fields, "allowWarn", false)?,
            no_other_mutations: tightening(fields, "noOtherMutations", true)?,
            tool_calls: fields.get("toolCalls").map_or(Ok(Vec::new()), |field| read::names(&field))?,
            receipts: tightening(fields, "receipts", true)?,
            max_attempts: fields.get("maxAttempts").map(|field| crate::workflow::attempts(&field)).transpose()?,
            max_delay_ms: fields.get("maxDelayMs").map(|field| crate::workflow::delay(&field)).transpose()?,
            strategies: fields.get("strategies").map(|field| read_strategies(&field)).transpose()?,
        })
    }

    pub(crate) fn to_json(&self) -> Json {
        let list = |words: Vec<&str>| words.into_iter().map(Json::from).collect::<Vec<_>>();
        let strategies = self.strategies.as_ref();
        object! {
            "requireVerification": self.require_verification,
            "minEvidence": self.min_evidence.as_str(),
            "allowWarn": self.allow_warn,
            "noOtherMutations": self.no_other_mutations,
            "toolCalls": list(self.tool_calls.iter().map(String::as_str).collect()),
            "receipts": self.receipts,
            "maxAttempts"?: self.max_attempts.map(u64::from),
            "maxDelayMs"?: self.max_delay_ms,
            "strategies"?: strategies.map(|all| list(all.iter().map(|strategy| strategy.as_str()).collect())),
        }
        .into()
    }
}

/// Whether a demand is made. The other value is refused, since a policy cannot lift what holds without it.
fn tightening(fields: &Fields<'_>, name: &str, strict: bool) -> Result<bool, DocumentError> {
    match fields.get(name) {
        None => Ok(false),
        Some(field) if field.boolean()? == strict => Ok(true),
        Some(field) => {
            let message = "a policy only tightens";
            Err(field
                .error(Cause::InvalidValue, message)
                .with_help(format!("write `{strict}`, leave it out, or write an exemption")))
        }
    }
}

fn read_status(field: &Field<'_>) -> Result<EvidenceStatus, DocumentError> {
    field.choice(&[
        ("self_reported", EvidenceStatus::SelfReported),
        ("observed", EvidenceStatus::Observed),
        ("verified", EvidenceStatus::Verified),
    ])
}

fn read_strategies(field: &Field<'_>) -> Result<Vec<Strategy>, DocumentError> {
    let items = field.items()?;
    if items.is_empty() {
        Err(field.error(Cause::Empty, "the list has no strategies").with_help("write one, or leave the field out"))
    } else {
        items.iter().map(Strategy::read).collect()
    }
}

fn lower<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (one, None) | (None, one) => one,
    }
}

/// The strategies that both allow.
fn common(left: &Option<Vec<Strategy>>, right: &Option<Vec<Strategy>>) -> Option<Vec<Strategy>> {
    match (left, right) {
        // May be empty: then no strategy is allowed, and the violation says that the policy needs a fix.
        (Some(left), Some(right)) => Some(left.iter().copied().filter(|strategy| right.contains(strategy)).collect()),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    }
}
