//! Requests that are like the one on the page and wait as well: one review for all of them, each signed by itself.

use proofmark_receipt::Sha256Digest;
use proofmark_server::problem::Problem;
use proofmark_store::{Decision as StoredDecision, WaitingWanted};

use super::super::action::Action;
use super::super::forms::Form;
use super::super::text::Shown;
use super::super::visit::Visit;
use proofmark_statement::legible;

/// How many of those that the agent waits for are looked at.
const MAX_LOOKED_AT: usize = 100;
/// How many are offered with one review.
const MAX_LIKE: usize = 20;
/// How the field of one begins; its id follows.
const FIELD: &str = "also ";

/// Another request of the same agent for the same tool.
pub(crate) struct Like {
    pub(crate) id: String,
    pub(crate) title: Shown,
    /// All of its action, since it is signed, too.
    pub(crate) action: Shown,
    /// The digest of what is shown of it, which its review binds.
    pub(crate) shown: String,
    pub(crate) is_chosen: bool,
}

impl Like {
    /// The name of its field.
    pub(crate) fn field(&self) -> String {
        format!("{FIELD}{}", self.id)
    }
}

/// Those with the same tool, class, agent and environment, for which the same roles are asked.
pub(crate) fn like(visit: &Visit<'_>, stored: &StoredDecision, action: &Action) -> Result<Vec<Like>, Problem> {
    let about = &stored.about;
    let wanted = WaitingWanted { agent: about.agent.clone(), ..WaitingWanted::default() };
    let (found, _) = visit.context.store().waiting(&wanted, MAX_LOOKED_AT)?;
    let others = found.iter().map(|waiting| &waiting.decision).filter(|other| {
        let is_alike =
            (&other.about.tool, &other.about.class, &other.about.agent) == (&about.tool, &about.class, &about.agent);
        is_alike && other.decision_id != stored.decision_id
    });
    let all = others.filter_map(|other| {
        let its = Action::in_list(other);
        let is_alike = its.environment() == action.environment() && its.roles() == action.roles();
        // One whose action cannot be shown whole is reviewed on its own page.
        let statement = its.statement.as_ref().filter(|_| is_alike)?;
        Some(Like {
            id: other.decision_id.clone(),
            title: its.title(),
            action: legible(&its.document.clone().into()).into(),
            shown: statement.shown().to_string(),
            is_chosen: visit.form.get(&format!("{FIELD}{}", other.decision_id)).is_some(),
        })
    });
    Ok(all.take(MAX_LIKE).collect())
}

/// Those that a form reviews, too, of those that it could: their ids, and the digests of what its page showed of them.
pub(super) fn chosen(form: &Form, like: &[Like]) -> Vec<(String, Sha256Digest)> {
    let named = form.fields().filter_map(|(name, shown)| Some((name.strip_prefix(FIELD)?, shown)));
    let offered = named.filter(|(id, _)| like.iter().any(|like| like.id == *id));
    // Without what was shown there is nothing that a review could bind.
    offered.filter_map(|(id, shown)| Some((id.to_owned(), shown.parse().ok()?))).collect()
}
