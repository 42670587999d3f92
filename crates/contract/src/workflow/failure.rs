//! What happens to a step that is not accepted.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::{Json, Object};

use crate::vocabulary;

/// The most attempts a step may have.
pub const MAX_ATTEMPTS: u32 = 100;
/// The longest delay before an attempt, in milliseconds: 7 days.
pub const MAX_DELAY_MS: u64 = 7 * 86_400_000;

/// What happens when a step is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnFailure {
    /// What is done once the attempts are used up.
    pub action: Action,
    /// How many attempts there are, the first one included.
    pub max_attempts: u32,
    /// How the delays grow.
    pub strategy: Strategy,
    /// The delay before the second attempt, in milliseconds.
    pub initial_delay_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
    /// How much of a delay is left to chance.
    pub jitter: Jitter,
    /// Whether the document says how many attempts there are.
    pub says_attempts: bool,
}

/// What is done once the attempts are used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The workflow ends. `action: retry` is the same, said from the other end.
    Abort,
    /// The workflow goes on with the next step; this one is not accepted.
    Continue,
    /// The workflow goes on with this step.
    Goto(String),
}

/// How delays grow with the attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Always the same.
    Fixed,
    /// By the initial delay each time.
    Linear,
    /// Twofold each time.
    Exponential,
}

/// How much of a delay is left to chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// None of it.
    None,
    /// All of it.
    Full,
    /// Half of it.
    Equal,
}

impl Default for OnFailure {
    /// Three attempts, one right after the other, then abort.
    fn default() -> Self {
        Self {
            action: Action::Abort,
            max_attempts: 3,
            strategy: Strategy::Fixed,
            initial_delay_ms: 0,
            max_delay_ms: MAX_DELAY_MS,
            jitter: Jitter::None,
            says_attempts: false,
        }
    }
}

impl Action {
    /// The words: `abort`, `continue` or `goto:<step>`.
    pub fn to_text(&self) -> String {
        match self {
            Self::Abort => "abort".to_owned(),
            Self::Continue => "continue".to_owned(),
            Self::Goto(step) => format!("goto:{step}"),
        }
    }

    /// Reads what [`Action::to_text`] writes, and `retry`.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "abort" | "retry" => Some(Self::Abort),
            "continue" => Some(Self::Continue),
            _ => text.strip_prefix("goto:").filter(|step| !step.is_empty()).map(|step| Self::Goto(step.to_owned())),
        }
    }
}

impl Strategy {
    /// The word: `fixed`, `linear` or `exponential`.
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
    /// The word: `none`, `full` or `equal`.
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
            says_attempts: fields.get("maxAttempts").is_some(),
        };
        match read.initial_delay_ms > read.max_delay_ms {
            true => Err(field.error(
                Cause::ConflictingFields,
                format!(
                    "`initialDelayMs` {} is above `maxDelayMs` {}; raise the one or lower the other",
                    read.initial_delay_ms, read.max_delay_ms
                ),
            )),
            false => Ok(read),
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("action", self.action.to_text());
        object.insert("maxAttempts", u64::from(self.max_attempts));
        object.insert("retryStrategy", self.strategy.as_str());
        object.insert("initialDelayMs", self.initial_delay_ms);
        object.insert("maxDelayMs", self.max_delay_ms);
        object.insert("jitter", self.jitter.as_str());
        object.into()
    }
}

/// A whole number of 0 or more and at most `most`.
pub(crate) fn count(field: &Field<'_>, most: u64) -> Result<u64, DocumentError> {
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("a whole number"))?;
    number.as_u64().filter(|value| *value <= most).ok_or_else(|| {
        let message = format!("`{}` is no whole number from 0 to {most}; write one", shown(number.as_str()));
        field.error(Cause::InvalidValue, message)
    })
}

/// A number of attempts: 1 to [`MAX_ATTEMPTS`].
pub(crate) fn attempts(field: &Field<'_>) -> Result<u32, DocumentError> {
    field.positive()?;
    let attempts = count(field, u64::from(MAX_ATTEMPTS))?;
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
        let message =
            format!("`{}` is no action; write `abort`, `retry`, `continue` or `goto:` and a step", shown(text));
        field.error(Cause::InvalidValue, message)
    })
}
