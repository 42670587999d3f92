//! Where a receipt is in the transparency log.

use proofmark_receipt::{Answer, Receipt};
use proofmark_server::Logged;
use proofmark_server::problem::Problem;

use crate::text::Shown;
use crate::visit::Visit;
use crate::words::{When, number};

/// The line about it, with what the browser checks it by.
pub(super) struct LogLine {
    pub(super) class: &'static str,
    pub(super) icon: &'static str,
    pub(super) words: Shown,
    pub(super) seen: String,
    pub(super) proof: String,
    pub(super) policy: String,
}

impl LogLine {
    /// `None` where the server shows no log, and until a checkpoint covers the receipt.
    pub(super) fn of(visit: &Visit<'_>, receipt: &Receipt) -> Result<Option<Self>, Problem> {
        let log = visit.context.services.log.as_ref();
        let logged = log.map(|log| log.logged(visit.context.decider.store(), &receipt.hash())).transpose();
        Ok(logged.map_err(|error| Problem::internal().cause(error))?.flatten().map(Self::from))
    }
}

impl From<Logged> for LogLine {
    fn from(logged: Logged) -> Self {
        let seen = seen(&logged);
        let Logged { proof, policy, verification, .. } = logged;
        let (class, icon, words) = match (&verification.checkpoint, verification.index) {
            (Some(checkpoint), Some(index)) if verification.answer == Answer::Valid => {
                let (index, size) = (number(index), number(checkpoint.size));
                ("ok", "ok", format!("In the log {}: entry {index} of {size}", checkpoint.origin))
            }
            _ => ("bad", "no", "The log does not prove that it has this receipt".to_owned()),
        };
        Self { class, icon, words: Shown::line(&words, 200), seen, proof, policy }
    }
}

/// As in `seen by 2 of 2 witnesses since 21 Nov 2026, 18:01:12 UTC`.
fn seen(Logged { verification, witnesses, .. }: &Logged) -> String {
    let cosigned = &verification.cosignatures;
    let Some(since) = cosigned.iter().map(|cosignature| cosignature.time).min() else {
        return match witnesses {
            0 => "no witness is asked whether others are shown the same log".to_owned(),
            _ => format!("seen by none of {} yet", witnesses_in_words(*witnesses)),
        };
    };
    let since = When::full(i64::try_from(since.saturating_mul(1_000)).unwrap_or(i64::MAX)).words();
    format!("seen by {} of {} since {since}", cosigned.len(), witnesses_in_words(*witnesses))
}

fn witnesses_in_words(count: usize) -> String {
    format!("{count} witness{}", if count == 1 { "" } else { "es" })
}
