//! What a rule demands of the log that a receipt is in.

use std::fmt;

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use crate::logged::{LogPolicy, Logged, MAX_WITNESSES, Standing};
use crate::refusal::{Refusal, refuse};

/// That a receipt is in a log which a policy names, and who has to have cosigned the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedDemand {
    by: LogPolicy,
    /// How many different witnesses, beside the quorum of the policy.
    witnesses: usize,
}

impl LoggedDemand {
    /// Reads `logged` and `witnesses` of a receipt rule; `None` where the rule has neither. `by` is what the policy of the rule pins.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write; also for a rule that no receipt could meet.
    pub(crate) fn read(fields: &Fields<'_>, by: Option<&LogPolicy>) -> Result<Option<Self>, DocumentError> {
        let (logged, witnesses) = (fields.get("logged"), fields.get("witnesses"));
        if let Some(logged) = &logged
            && !logged.boolean()?
        {
            // `false` alone would leave open whether a logged receipt is refused.
            let error = logged.error(Cause::InvalidValue, "`logged` is `false`");
            return Err(error.with_help("write `true`, or leave the field out where the receipt need not be in a log"));
        }
        let Some(field) = witnesses.as_ref().or(logged.as_ref()) else { return Ok(None) };
        let Some(by) = by else {
            let error = field.error(Cause::MissingField, "the policy does not say which logs count");
            return Err(error.with_help(
                "write `log_policy: |` at the top of the policy (`logPolicy` in a workflow), with the keys of the log and of its witnesses",
            ));
        };
        let witnesses = witnesses.map(|field| read_count(&field, by)).transpose()?.unwrap_or(0);
        Ok(Some(Self { by: by.clone(), witnesses }))
    }

    /// How many different witnesses are asked for, beside the quorum; 0 for none.
    #[must_use]
    pub fn witnesses(&self) -> usize {
        self.witnesses
    }

    /// Whether no witness at all is asked for, so that the log alone is believed.
    #[must_use]
    pub fn trusts_the_log(&self) -> bool {
        self.witnesses == 0 && self.by.asks_for_no_witness()
    }

    /// Whether it is met by what was found of a receipt.
    pub(crate) fn meets(&self, found: Option<&Logged>) -> Result<(), Refusal> {
        let Some(Standing { quorum, witnesses }) = found.and_then(|logged| self.by.standing(logged)) else {
            return Err(Refusal::NotLogged);
        };
        refuse(!quorum || witnesses < self.witnesses, Refusal::NotWitnessed)
    }

    /// What meets it.
    #[must_use]
    pub fn met(&self) -> Option<Logged> {
        self.by.supposed(|_| true)
    }
}

impl fmt::Display for LoggedDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("in a log of the policy")?;
        match self.witnesses {
            0 if self.trusts_the_log() => Ok(()),
            0 => f.write_str(", cosigned by its quorum"),
            1 => f.write_str(", cosigned by a witness"),
            count => write!(f, ", cosigned by {count} witnesses"),
        }
    }
}

fn read_count(field: &Field<'_>, by: &LogPolicy) -> Result<usize, DocumentError> {
    let there = by.witnesses().count();
    let count = field.positive()?;
    // What is more than a `usize` is more than there are.
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > MAX_WITNESSES {
        let error = field.error(Cause::TooMany, format!("no checkpoint has more than {MAX_WITNESSES} witnesses"));
        return Err(error.with_help(format!("write a number from 1 to {MAX_WITNESSES}")));
    }
    if count > there {
        let error = field
            .error(Cause::InvalidValue, format!("`log_policy` lists {there} witnesses, and this asks for {count}"));
        return Err(error.with_help("list more witnesses in the log policy, or ask for fewer"));
    }
    Ok(count)
}
