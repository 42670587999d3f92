//! What has become of a decision, and what to do about it.

use proofmark_boundary::{Disposition, Outcome};
use proofmark_server::Role;
use proofmark_server::problem::Problem;
use proofmark_store::{Decision as StoredDecision, Review};

use super::super::action::Action;
use super::super::text::{Coded, Shown};
use super::super::visit::Visit;
use super::super::words::When;

/// What has become of the decision.
pub(crate) struct State {
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) words: Shown,
    /// What the reader, or the agent, does next.
    pub(crate) todo: Vec<Coded>,
    pub(crate) denial: Option<Denial>,
}

/// A denial that stands.
pub(crate) struct Denial {
    pub(crate) reviewer: Shown,
    pub(crate) note: Shown,
    pub(crate) when: When,
}

impl State {
    pub(crate) fn of(
        visit: &Visit<'_>,
        stored: &StoredDecision,
        action: &Action,
        waits: bool,
    ) -> Result<Self, Problem> {
        let (store, subject) = (visit.context.store(), &stored.about.subject);
        if waits {
            return Ok(waiting(action, visit.context.caller.role.may(Role::Reviewer)));
        }
        // What the decision itself says comes before what others said about it later.
        if stored.allowed {
            return Ok(if Outcome::from_word(&stored.outcome) == Some(Outcome::AllowWithWarning) {
                Self::new("wait", "warn", "Allowed with a warning", &[])
            } else {
                Self::new("pass", "ok", "Allowed", &[])
            });
        }
        if store.allowed_since(&stored.decision_id)?.is_some() {
            let todo = "Nothing: the same action was allowed later.";
            return Ok(Self::new("pass", "ok", "Stopped, and allowed later", &[todo]));
        }
        if let Some(denial) = store.denial(&stored.fingerprint, visit.now)? {
            // Before what waits: a denial holds also where the agent has asked again.
            return Ok(denied(&denial));
        }
        if store.waiting_on(subject)?.is_some() {
            return Ok(Self::new(
                "plain",
                "clock",
                "Asked again since",
                &["Review the newest decision on this action."],
            ));
        }
        let reviews = store.reviews_on(subject, 1)?;
        // An approval that has expired changes nothing any more.
        if let Some(review) = reviews.first().filter(|review| review.until > visit.now && stored.about.review) {
            let words = format!("Approved by {}; the agent has not asked again yet", review.reviewer);
            let until = When::full(review.until).words();
            let todo = format!("The agent has to ask again for exactly this action, before {until}.");
            return Ok(Self::new("pass", "ok", &words, &[&todo]));
        }
        Ok(stopped(stored, action))
    }

    fn new(class: &'static str, icon: &'static str, words: &str, todo: &[&str]) -> Self {
        let todo = todo.iter().map(|line| Shown::with_code(line)).collect();
        Self { class, icon, words: Shown::line(words, 160), todo, denial: None }
    }
}

fn waiting(action: &Action, may_review: bool) -> State {
    // Each of them has to approve, so all are named.
    let roles = action.roles();
    let all = roles.join(" and ");
    let (what, whom) = match roles.len() {
        0 => ("a reviewer".to_owned(), "a reviewer".to_owned()),
        1 => (format!("an approval as {all}"), format!("somebody with the role {all}")),
        _ => (format!("approvals as {all}"), format!("people with the roles {all}")),
    };
    let todo = if may_review {
        "Read what exactly would be done. Approve it to let it happen once, or deny it and write what the agent \
                 has to change."
            .to_owned()
    } else {
        format!("Send the link of this page to {whom}. Until it is approved, the agent may not do it.")
    };
    State::new("wait", "hand", &format!("Waits for {what}"), &[&todo])
}

fn denied(review: &Review) -> State {
    let until = When::full(review.until).words();
    let todo = [
        "The agent has to change what the reason says, and ask again. With other values it is another action, which is \
         decided anew. The agent is told the reason.",
        &format!("Exactly this action stays denied until {until}."),
    ];
    let denial = Denial {
        reviewer: Shown::line(&review.reviewer, 80),
        note: review.note.as_str().into(),
        when: When::full(review.reviewed_at),
    };
    let state = State::new("fail", "no", &format!("Denied by {}", review.reviewer), &todo);
    State { denial: Some(denial), ..state }
}

fn stopped(stored: &StoredDecision, action: &Action) -> State {
    let (words, todo) = match Disposition::from_words(&stored.outcome, &stored.about.mode) {
        Some(Disposition::TerminalBlock) => (
            "Stopped for good",
            "The agent may not try this again. If it should be possible, the policy has to change.",
        ),
        Some(Disposition::UpstreamReplan) => (
            "Stopped: its parent must supply something",
            "What started the agent has to supply what is missing. Then the agent asks again.",
        ),
        Some(Disposition::HumanReview) => {
            ("Stopped until it is reviewed", "The agent has to ask again; then it waits for a review.")
        }
        Some(Disposition::LocalReplan | Disposition::Allow | Disposition::AllowWithWarning) | None => (
            "Stopped: the agent must find another way",
            "Nobody has to review it. The agent changes the action and asks again, or does without it.",
        ),
    };
    let told = action.receipt.as_ref().and_then(|receipt| {
        let steps = receipt.document().get("safe_next_steps")?.as_array()?;
        let first = steps.first()?.as_object()?.get("message")?.as_str()?;
        Some(format!("The agent was told: “{first}”"))
    });
    let todo: Vec<&str> = [Some(todo), told.as_deref()].into_iter().flatten().collect();
    State::new("fail", "stop", words, &todo)
}
