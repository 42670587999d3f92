//! What happens to a step that is not accepted: retries and their delays, then an action.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::{Json, object};

use crate::vocabulary;

/// The most attempts a step may have.
pub const MAX_ATTEMPTS: u32 = 100;
/// The longest delay before an attempt, in milliseconds: 7 days.
pub const MAX_DELAY_MS: u64 = 7 * 86_400_000;

/// What happens to a step that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnFailure {
    pub action: Action,
    /// How many attempts there are, the first one included.
    pub max_attempts: u32,
    pub strategy: Strategy,
    /// The delay before the second attempt, in milliseconds.
    pub initial_delay_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
    pub jitter: Jitter,
    /// Whether the document has `maxAttempts`, or the number is the default.
    pub attempts_given: bool,
}

/// What the workflow does once the attempts are used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The workflow ends. A document may also write `action: retry`: after the retries it ends.
    Abort,
    /// The workflow continues with the next step although this one is not accepted.
    Continue,
    Goto(String),
}

/// How delays grow with the attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    Fixed,
    /// The initial delay times the attempt.
    Linear,
    /// Doubles with each attempt.
    Exponential,
}

/// How much of a delay is random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// The whole delay.
    Full,
    /// The second half of it.
    Equal,
}

impl Default for OnFailure {
    /// Three attempts without a delay, then abort.
    fn default() -> Self {
        Self {
            action: Action::Abort,
            max_attempts: 3,
            strategy: Strategy::Fixed,
            initial_delay_ms: 0,
            max_delay_ms: MAX_DELAY_MS,
            jitter: Jitter::None,
            attempts_given: false,
        }
    }
}

impl Action {
    /// `abort`, `continue` or `goto:<step>`.
    pub fn to_text(&self) -> String {
        match self {
            Self::Abort => "abort".to_owned(),
            Self::Continue => "continue".to_owned(),
            Self::Goto(step) => format!("goto:{step}"),
        }
    }

    /// Reads what [`Action::to_text`] writes, and `retry` as `abort`.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "abort" | "retry" => Some(Self::Abort),
            "continue" => Some(Self::Continue),
            _ => text.strip_prefix("goto:").filter(|step| !step.is_empty()).map(|step| Self::Goto(step.to_owned())),
        }
    }
}

impl Strategy {
    /// `fixed`, `linear` or `exponential`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Linear => "linear",
            Self::Exponential => "exponential",
        }
    }

    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        field.choice(&[("fixed", Self::Fixed), ("linear", Self::Linear), ("exponential", Self::Exponential)])
    }
}

impl Jitter {
    /// `none`, `full` or `equal`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Full => "full",
            Self::Equal => "equal",
        }
    }
}

impl OnFailure {
    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::ON_FAILURE)?;
        let defaults = Self::default();
        let read = Self {
            action: fields.get("action").map_or(Ok(Action::Abort), |field| read_action(&field))?,
            max_attempts: read_attempts(&fields)?.unwrap_or(defaults.max_attempts),
            strategy: fields.get("retryStrategy").map_or(Ok(Strategy::Fixed), |field| Strategy::read(&field))?,
            initial_delay_ms: read_delay(&fields, "initialDelayMs")?.unwrap_or(defaults.initial_delay_ms),
            max_delay_ms: read_delay(&fields, "maxDelayMs")?.unwrap_or(defaults.max_delay_ms),
            jitter: fields.get("jitter").map_or(Ok(Jitter::None), |field| read_jitter(&field))?,
            attempts_given: fields.get("maxAttempts").is_some(),
        };
        if read.initial_delay_ms > read.max_delay_ms {
            Err(field
                .error(
                    Cause::ConflictingFields,
                    format!("`initialDelayMs` {} is above `maxDelayMs` {}", read.initial_delay_ms, read.max_delay_ms),
                )
                .with_help("lower the first or raise the second"))
        } else {
            Ok(read)
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        object! {
            // Without `attempts_given`: the default and the same number written out are one contract.
            "action": self.action.to_text(),
            "maxAttempts": u64::from(self.max_attempts),
            "retryStrategy": self.strategy.as_str(),
            "initialDelayMs": self.initial_delay_ms,
            "maxDelayMs": self.max_delay_ms,
            "jitter": self.jitter.as_str(),
        }
        .into()
    }
}

/// A whole number from 0 to `most`.
pub(crate) fn count(field: &Field<'_>, most: u64) -> Result<u64, DocumentError> {
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("a whole number"))?;
    number.as_u64().filter(|value| *value <= most).ok_or_else(|| {
        let message = format!("`{}` is not a whole number in range", shown(number.as_str()));
        field.error(Cause::InvalidValue, message).with_help(format!("write one from 0 to {most}"))
    })
}

/// A number of attempts: 1 to [`MAX_ATTEMPTS`].
pub(crate) fn attempts(field: &Field<'_>) -> Result<u32, DocumentError> {
    field.positive()?;
    let attempts = count(field, u64::from(MAX_ATTEMPTS))?;
    // `count` refuses more than `MAX_ATTEMPTS`, so the conversion does not fail.
    Ok(u32::try_from(attempts).unwrap_or(MAX_ATTEMPTS))
}

/// A delay in milliseconds, at most [`MAX_DELAY_MS`].
pub(crate) fn delay(field: &Field<'_>) -> Result<u64, DocumentError> {
    count(field, MAX_DELAY_MS)
}

fn read_attempts(fields: &Fields<'_>) -> Result<Option<u32>, DocumentError> {
    fields.get("maxAttempts").map(|field| attempts(&field)).transpose()
}

fn read_delay(fields: &Fields<'_>, name: &str) -> Result<Option<u64>, DocumentError> {
    fields.get(name).map(|field| delay(&field)).transpose()
}

fn read_jitter(field: &Field<'_>) -> Result<Jitter, DocumentError> {
    field.choice(&[("none", Jitter::None), ("full", Jitter::Full), ("equal", Jitter::Equal)])
}

fn read_action(field: &Field<'_>) -> Result<Action, DocumentError> {
    let text = field.text()?;
    Action::from_text(text).ok_or_else(|| {
        let message = format!("unknown action `{}`", shown(text));
        field.error(Cause::InvalidValue, message).with_help("write `abort`, `retry`, `continue` or `goto:` and a step")
    })
}
