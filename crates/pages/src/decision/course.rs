//! What happened so far: how often the action was asked for, with which arguments, and what became of it.

use proofmark_receipt::Json;
use proofmark_store::{Decision as StoredDecision, DecisionsWanted, Review, ReviewVerdict, StoreError, TenantStore};

use super::super::action::Action;
use super::super::text::{Coded, Shown};
use super::super::words::{When, encoded, spaced};

/// The most decisions on one subject, and on similar ones, that are shown.
const MAX_DECISIONS: usize = 12;

/// One thing that happened.
pub(crate) struct Happened {
    at: i64,
    pub(crate) when: When,
    /// `is-wait`, `is-fail`, `is-pass`, or nothing.
    pub(crate) class: &'static str,
    /// In bold, before the rest.
    pub(crate) who: Option<Shown>,
    pub(crate) what: Shown,
    pub(crate) more: Option<Coded>,
    pub(crate) href: Option<String>,
    pub(crate) is_this: bool,
}

/// The course of an action, and an earlier form of it.
pub(crate) struct Course {
    pub(crate) happened: Vec<Happened>,
    /// The same action with other arguments, asked for earlier, and what followed.
    pub(crate) before: Option<Before>,
    /// The newest decision on the subject, where it is another one.
    pub(crate) newer: Option<String>,
}

pub(crate) struct Before {
    pub(crate) action: Action,
    pub(crate) words: Shown,
}

/// Gathers what happened to the action of a decision.
pub(crate) fn course(store: &TenantStore<'_>, this: &StoredDecision, action: &Action) -> Result<Course, StoreError> {
    let subject = &this.about.subject;
    let same = store.decisions_on(subject, MAX_DECISIONS)?;
    let similar = similar(store, this, action)?;
    let mut happened = Vec::new();
    for decision in same.iter().chain(&similar) {
        let asked = Action::in_list(decision);
        // What somebody has changed says nothing about what happened.
        if asked.changed.is_some() {
            continue;
        }
        happened.push(decided(decision, &asked, this, action));
        if decision.allowed {
            executed(store, decision, &mut happened)?;
        }
    }
    let mut subjects: Vec<&str> = vec![subject];
    for decision in &similar {
        // Several decisions may be on one subject, whose reviews are shown once.
        if !subjects.contains(&decision.about.subject.as_str()) {
            subjects.push(&decision.about.subject);
        }
    }
    let mut reviews = Vec::new();
    for subject in subjects {
        reviews.extend(store.reviews_on(subject, MAX_DECISIONS)?);
    }
    happened.extend(reviews.iter().map(reviewed));
    // The sort is stable, so that what was stored at one moment stays in the order of the store.
    happened.sort_by_key(|one| one.at);
    // By place and not by time: two decisions may be of one millisecond.
    let newer = same.first().filter(|newest| newest.position > this.position).map(|newest| newest.decision_id.clone());
    Ok(Course { happened, before: before(&similar, &reviews, this), newer })
}

/// Decisions on another form of this action, which came before: on the same tool and target; without a target, with arguments
/// that are mostly the same, or any call of the tool would seem to be one.
fn similar(store: &TenantStore<'_>, this: &StoredDecision, action: &Action) -> Result<Vec<StoredDecision>, StoreError> {
    let Some(tool) = action.document.get("tool").and_then(Json::as_str) else { return Ok(Vec::new()) };
    let wanted = DecisionsWanted {
        tool: Some(tool.to_owned()),
        agent: this.about.agent.clone(),
        limit: MAX_DECISIONS * 2,
        ..DecisionsWanted::default()
    };
    let found = store.decisions(&wanted)?.decisions.into_iter().filter(|decision| {
        decision.about.subject != this.about.subject
            && decision.position < this.position
            && is_form(&Action::in_list(decision), action)
    });
    Ok(found.take(MAX_DECISIONS).collect())
}

fn is_form(asked: &Action, action: &Action) -> bool {
    if asked.target != action.target || action.target.is_some() {
        return asked.target == action.target;
    }
    let same = asked.args().iter().filter(|pair| action.args().contains(pair)).count();
    same * 2 > asked.args().len().max(action.args().len())
}

/// The last of the similar actions, and what was said about it.
fn before(similar: &[StoredDecision], reviews: &[Review], this: &StoredDecision) -> Option<Before> {
    let last = similar.iter().max_by_key(|decision| decision.position)?;
    // A review that was given later could not have led to this form of the action.
    let of_last =
        reviews.iter().filter(|review| review.subject == last.about.subject && review.reviewed_at <= this.decided_at);
    let words = match of_last.max_by_key(|review| review.reviewed_at) {
        Some(review) => {
            let word = if review.verdict == ReviewVerdict::Denied { "denied" } else { "approved" };
            format!("when {} {word} it at {}", review.reviewer, When::clock(review.reviewed_at).words())
        }
        None => format!("when it was asked for at {}", When::clock(last.decided_at).words()),
    };
    Some(Before { action: Action::in_list(last), words: Shown::line(&words, 120) })
}

fn decided(decision: &StoredDecision, asked: &Action, this: &StoredDecision, action: &Action) -> Happened {
    let is_this = decision.decision_id == this.decision_id;
    let with = if asked.args() == action.args() || is_this {
        String::new()
    } else {
        format!(" with {}", different(asked, action))
    };
    let (class, became) = match (decision.allowed, decision.about.review) {
        (true, _) => ("is-pass", "allowed"),
        (false, true) => ("is-wait", "stopped until it is reviewed"),
        (false, false) => ("is-fail", "stopped"),
    };
    let told = asked.receipt.as_ref().and_then(|receipt| {
        let steps = receipt.document().get("safe_next_steps")?.as_array()?;
        let first = steps.first()?.as_object()?.get("message")?.as_str()?;
        Some(Shown::with_code(&format!("The agent was told: “{first}”")))
    });
    Happened {
        at: decision.decided_at,
        when: When::clock(decision.decided_at),
        class,
        who: None,
        what: Shown::line(&format!("Asked{with}, {became}{}", if is_this { ": this decision" } else { "" }), 240),
        // Of the others it is one click away, and would repeat itself here.
        more: told.filter(|_| is_this),
        href: (!is_this).then(|| format!("/ui/decisions/{}", encoded(&decision.decision_id))),
        is_this,
    }
}

/// The arguments of an action that another has not, on one line.
fn different(asked: &Action, other: &Action) -> String {
    let parts: Vec<_> = asked
        .args()
        .iter()
        .filter(|pair| !other.args().contains(pair))
        // This is enough to tell two forms of an action apart on one line; the page of each has the whole.
        .map(|(name, value)| format!("{name} {}", value.to_text().chars().take(60).collect::<String>()))
        .collect();
    if parts.is_empty() { "fewer arguments".to_owned() } else { parts.join(", ") }
}

fn reviewed(review: &Review) -> Happened {
    let denied = review.verdict == ReviewVerdict::Denied;
    let role = if review.role.is_empty() { String::new() } else { format!(" as {}", review.role) };
    Happened {
        at: review.reviewed_at,
        when: When::clock(review.reviewed_at),
        class: if denied { "is-fail" } else { "is-pass" },
        who: Some(Shown::line(&review.reviewer, 80)),
        what: if denied { "denied it".into() } else { Shown::line(&format!("approved it{role}"), 120) },
        more: Some(Shown::with_code(&format!("“{}”", review.note))),
        href: review.receipt_id.as_ref().map(|id| format!("/ui/receipts/{}", encoded(id))),
        is_this: false,
    }
}

/// The reports of an execution, and what was found about them.
fn executed(
    store: &TenantStore<'_>,
    decision: &StoredDecision,
    happened: &mut Vec<Happened>,
) -> Result<(), StoreError> {
    let one = |at, class, what: Shown, more| Happened {
        at,
        when: When::clock(at),
        class,
        who: None,
        what,
        more,
        href: None,
        is_this: false,
    };
    for (was_executed, at) in store.execution_reports(&decision.decision_id)? {
        let (class, what) = if was_executed {
            ("is-pass", "Executed, as the runtime reports")
        } else {
            ("", "Not executed, as the runtime reports")
        };
        happened.push(one(at, class, what.into(), None));
    }
    for finding in store.findings_of(&decision.decision_id)? {
        let what = Shown::line(&format!("Found: {}", spaced(&finding.code)), 120);
        happened.push(one(finding.found_at, "is-fail", what, Some(Shown::with_code(&finding.message))));
    }
    Ok(())
}
