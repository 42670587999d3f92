//! The form by which a reviewer approves or denies, and what it does.

use axum::http::StatusCode;
use proofmark_decider::NewReview;
use proofmark_evidence::{Reviewer, WantedScope};
use proofmark_receipt::Sha256Digest;
use proofmark_server::Role;
use proofmark_server::problem::Problem;
use proofmark_server::reply::{JSON, Reply};
use proofmark_server::reviewer;
use proofmark_store::{Decision as StoredDecision, Review, ReviewVerdict, StoreError, WaitingWanted};

use super::super::action::Action;
use super::super::passkey;
use super::super::text::{Coded, Shown};
use super::super::visit::Visit;
use super::super::waiting::{FILTERS, Narrowing};
use super::super::words::encoded;
use super::like::{Like, chosen, like};
use super::scope::{ScopeForm, wanted};
use super::{Attempted, Refused, no_decision, page};

/// How long an approval may count, in seconds and in words; the second is the default.
const SPANS: [(&str, &str); 3] = [("900", "15 minutes"), ("3600", "1 hour"), ("86400", "1 day")];
const DEFAULT_SPAN: &str = "3600";
/// How many reviews of a subject are looked at.
const MAX_REVIEWS: usize = 1_000;

pub(crate) struct ReviewForm {
    pub(crate) address: String,
    /// The roles that can be chosen, and whether each is.
    pub(crate) roles: Vec<(Shown, bool)>,
    pub(crate) spans: Vec<(&'static str, &'static str, bool)>,
    pub(crate) note: String,
    /// What can be approved beside the one action.
    pub(crate) scope: Option<ScopeForm>,
    /// Requests that can be reviewed with it, each for itself.
    pub(crate) like: Vec<Like>,
    /// Whether the policy lists passkeys of pages here.
    pub(crate) takes_passkeys: bool,
    /// How many reviews the page shows: with another one since, the form asks again.
    pub(crate) seen: usize,
    /// The digest of the action that the page shows, which an approval binds.
    pub(crate) shown: String,
    /// Why the last one was not stored.
    pub(crate) message: Option<Coded>,
    pub(crate) help: Option<Coded>,
}

/// The form; or why there is none.
pub(crate) fn review_form(
    visit: &Visit<'_>,
    stored: &StoredDecision,
    action: &Action,
    attempted: &Attempted,
) -> Result<(Option<ReviewForm>, Option<&'static str>), Problem> {
    let (context, store) = (&visit.context, visit.context.store());
    let refused = attempted.refusal.as_ref();
    let Some(statement) = &action.statement else {
        return Ok((
            None,
            Some(
                "The action cannot be read, or is not the one that was decided on, so nobody can know what an approval would allow.",
            ),
        ));
    };
    // After a refusal the form stays: it has what the reviewer typed, and says why it was refused.
    if let Some(why) = no_form(visit, stored)?.filter(|_| refused.is_none()) {
        return Ok((None, Some(why)));
    }
    let mut roles = action.roles();
    // Those that the reviewer holds come first.
    roles.sort_by_key(|role| !context.caller.roles.contains(role));
    let scope = ScopeForm::of(visit, stored, action, &roles)?;
    let chosen = attempted.role.as_ref().or(roles.first()).cloned();
    let roles = roles.iter().map(|role| (Shown::line(role, 64), Some(role) == chosen.as_ref())).collect();
    let span = attempted.expires_in.as_deref().unwrap_or(DEFAULT_SPAN);
    let draft = || visit.sign_ins.draft(visit.token.as_ref()?, &stored.decision_id);
    let asked = action.receipt.as_ref().map(|receipt| context.decider.policy_asked(&context.caller.tenant, receipt));
    let path = format!("/ui/decisions/{}", encoded(&stored.decision_id));
    let form = ReviewForm {
        address: Narrowing::of(visit).address(&path, None),
        roles,
        spans: SPANS.iter().map(|(seconds, words)| (*seconds, *words, *seconds == span)).collect(),
        note: attempted.note.clone().or_else(draft).unwrap_or_default(),
        scope,
        like: like(visit, stored, action)?,
        takes_passkeys: passkey::are_listed(visit, asked.as_ref()),
        seen: store.reviews_on(&stored.about.subject, MAX_REVIEWS)?.len(),
        shown: statement.shown().to_string(),
        message: refused.map(|refused| refused.message.clone()),
        help: refused.and_then(|refused| refused.help.clone()),
    };
    Ok((Some(form), None))
}

/// Why there is nothing to review, for this visitor.
fn no_form(visit: &Visit<'_>, stored: &StoredDecision) -> Result<Option<&'static str>, Problem> {
    let store = visit.context.store();
    if stored.allowed {
        return Ok(Some("The action was allowed: there is nothing to review."));
    }
    if store.allowed_since(&stored.decision_id)?.is_some() {
        return Ok(Some("The action was allowed since: there is nothing to review."));
    }
    let waiting = store.waiting_on(&stored.about.subject)?;
    match waiting {
        None if store.denial(&stored.fingerprint, visit.now)?.is_some() => {
            Ok(Some("It was denied: there is nothing left to review."))
        }
        None => Ok(Some("This decision needs no review.")),
        Some(newest) if newest.decision.decision_id != stored.decision_id => {
            Ok(Some("The action was asked for again: review the newer decision."))
        }
        Some(_) if !visit.context.caller.role.may(Role::Reviewer) => {
            Ok(Some("Your API key is one of an agent: it may look, and not review."))
        }
        Some(_) => Ok(None),
    }
}

/// `POST /ui/decisions/{id}`: `verdict`, `note`, `role`, `expires_in`, `seen`, `shown`. Leads to the next decision that waits.
pub(crate) fn review(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[&FILTERS[..], &["said"]].concat())?;
    let (context, form) = (&visit.context, &visit.form);
    let id = context.variable("id");
    let stored = context.store().decision(id)?.ok_or_else(no_decision)?;
    let approve = match form.get("verdict") {
        Some("approve") => true,
        Some("deny") => false,
        _ => return Err(Problem::bad("invalid_parameter", "invalid `verdict`").help("write approve or deny")),
    };
    let note = form.text("note");
    let attempted = Attempted {
        note: Some(note.clone()),
        role: form.get("role").map(str::to_owned),
        expires_in: form.get("expires_in").map(str::to_owned),
        refusal: None,
    };
    let refuse = |refusal| page(visit, Attempted { refusal: Some(refusal), ..attempted });
    if is_repeated(visit, &stored, approve)? {
        return Ok(Reply::see_other(&next(visit, &stored)?));
    }
    if let Some(refusal) = meanwhile(visit, &stored)? {
        return refuse(refusal);
    }
    let also = chosen(form, &like(visit, &stored, &Action::of(&stored))?);
    // Before the review is stored: after it, this one does not wait any more.
    let next = next(visit, &stored)?;
    let signed = form.get("passkey").filter(|signed| approve && !signed.is_empty());
    let signed = signed.map(|signed| passkey::signed(visit, signed)).transpose()?;
    let reviewer = reviewer(context);
    let scope = wanted(form)?.filter(|_| approve);
    let new = new_review(visit, &reviewer, &note, approve, scope.as_ref())?;
    let reviewed = context.decider.review(&NewReview { signed: signed.as_ref(), ..new });
    match reviewed {
        Ok(_) => {
            // With a passkey each needs an assertion of its own, so they wait on.
            if signed.is_none() {
                review_others(visit, &also, &reviewer, &note, approve)?;
            }
            if let Some(token) = &visit.token {
                visit.sign_ins.forget_draft(token);
            }
            Ok(Reply::see_other(&next))
        }
        Err(error) => {
            let problem = Problem::from(error);
            // What the store cannot do now is not about this form.
            if problem.status().is_server_error() { Err(problem) } else { refuse(Refused::of(&problem)) }
        }
    }
}

/// Gives the same review to each of these, signed for itself and of its action alone, as the page showed it. One that does not count is
/// not stored, and waits on.
fn review_others(
    visit: &Visit<'_>,
    chosen: &[(String, Sha256Digest)],
    reviewer: &Reviewer,
    note: &str,
    approve: bool,
) -> Result<(), Problem> {
    for (id, shown) in chosen {
        let new = new_review(visit, reviewer, note, approve, None)?;
        let new = NewReview { decision_id: id, shown: Some(*shown), ..new };
        if let Err(error) = visit.context.decider.review(&new) {
            let problem = Problem::from(error);
            if problem.status().is_server_error() {
                return Err(problem);
            }
        }
    }
    Ok(())
}

/// `POST /ui/decisions/{id}/statement`: `note`, `role`, `expires_in`, `shown`. What a passkey signs to approve the decision.
pub(crate) fn statement(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let (context, note) = (&visit.context, visit.form.text("note"));
    let reviewer = reviewer(context);
    let scope = wanted(&visit.form)?;
    let new = new_review(visit, &reviewer, &note, true, scope.as_ref())?;
    // The very bytes whose digest is the challenge.
    Ok(Reply::text(JSON, context.decider.statement(&new)?.text))
}

/// The review that a form asks for.
fn new_review<'a>(
    visit: &'a Visit<'_>,
    reviewer: &'a Reviewer,
    note: &'a str,
    approve: bool,
    scope: Option<&'a WantedScope>,
) -> Result<NewReview<'a>, Problem> {
    let (context, form) = (&visit.context, &visit.form);
    let seconds = form.get("expires_in").and_then(|seconds| seconds.parse::<i64>().ok());
    let shown = form.get("shown").filter(|shown| !shown.is_empty()).map(str::parse).transpose();
    let shown = shown.map_err(|_| Problem::bad("invalid_parameter", "invalid `shown`").help("open the page again"))?;
    Ok(NewReview {
        tenant: &context.caller.tenant,
        decision_id: context.variable("id"),
        reviewer,
        approve,
        note,
        // A denial needs no role: it stops the action whoever of the reviewers gives it.
        role: form.get("role").filter(|role| approve && !role.is_empty()),
        // How long a denial stands is not asked for: it has its own default.
        expires_in: seconds.filter(|_| approve).map(|seconds| seconds.saturating_mul(1_000)),
        shown,
        signed: None,
        scope,
    })
}

impl Refused {
    fn of(problem: &Problem) -> Self {
        // Messages complete "failed to …", and some begin with what was tried.
        let message = problem.message();
        let message = message.strip_prefix("approve: ").or_else(|| message.strip_prefix("review: ")).unwrap_or(message);
        Self {
            status: problem.status(),
            message: Shown::with_code(&format!("Nothing was stored: {message}.")),
            help: problem.way_out().map(|help| Shown::with_code(&format!("What to do: {help}."))),
        }
    }
}

/// Whether the same reviewer has sent this very review before, and did not learn that it was stored: the answer was lost.
fn is_repeated(visit: &Visit<'_>, stored: &StoredDecision, approve: bool) -> Result<bool, Problem> {
    let Some(seen) = seen(visit) else { return Ok(false) };
    let reviews = visit.context.store().reviews_on(&stored.about.subject, MAX_REVIEWS)?;
    // The newest come first, so these are the ones that the page did not show.
    let unseen = reviews.get(..reviews.len().saturating_sub(seen)).unwrap_or_default();
    let reviewer = reviewer(&visit.context);
    Ok(unseen.iter().any(|review| {
        review.decision_id == stored.decision_id
            && review.reviewer == reviewer.id
            && (review.verdict == ReviewVerdict::Approved) == approve
            && visit.form.get("role").is_none_or(|role| !approve || role == review.role)
            && review.note == visit.form.text("note")
    }))
}

/// How many reviews the page of the form showed.
fn seen(visit: &Visit<'_>) -> Option<usize> {
    visit.form.get("seen")?.parse().ok()
}

/// What somebody else did since the page was shown.
fn meanwhile(visit: &Visit<'_>, stored: &StoredDecision) -> Result<Option<Refused>, Problem> {
    let Some(seen) = seen(visit) else { return Ok(None) };
    let store = visit.context.store();
    let said = |message: String, help: &str| Refused {
        status: StatusCode::CONFLICT,
        message: Shown::with_code(&message),
        help: Some(Shown::with_code(help)),
    };
    let reviews = store.reviews_on(&stored.about.subject, MAX_REVIEWS)?;
    if reviews.len() > seen {
        let newest = reviews.first().map(|review| words(review, &reviewer(&visit.context).id)).unwrap_or_default();
        return Ok(Some(said(
            newest,
            "Nothing of yours was stored. Read it, and send your review again if it still holds.",
        )));
    }
    if let Some(by) = store.allowed_since(&stored.decision_id)? {
        let error = Problem::from(StoreError::AllowedSince(stored.decision_id.clone(), by));
        return Ok(Some(Refused::of(&error)));
    }
    let newest = store.waiting_on(&stored.about.subject)?;
    // The reviewer may insist: `again` is a field of the form that says so.
    let is_other = newest.is_some_and(|newest| newest.decision.decision_id != stored.decision_id);
    Ok((is_other && visit.form.get("again").is_none()).then(|| {
        said(
            "The agent asked again while you were reading.".to_owned(),
            "The newer decision may rest on other facts: open it, or send your review again.",
        )
    }))
}

/// What was said meanwhile, by somebody else or by the same reviewer in another tab.
fn words(review: &Review, reviewer: &str) -> String {
    let word = match review.verdict {
        ReviewVerdict::Approved => "approved it",
        ReviewVerdict::Denied => "denied it",
    };
    let note: String = review.note.chars().take(300).collect();
    if review.reviewer == reviewer {
        format!("You {word} already, on another page: “{note}”")
    } else {
        format!("Somebody else was faster: {} {word} while you were reading: “{note}”", review.reviewer)
    }
}

/// Where to go after a review: the next that waits, in the list that the reviewer came from.
fn next(visit: &Visit<'_>, stored: &StoredDecision) -> Result<String, Problem> {
    let (store, narrowing) = (visit.context.store(), Narrowing::of(visit));
    let said = Some(("said", stored.decision_id.as_str()));
    let place = store.waiting_on(&stored.about.subject)?.map(|waiting| waiting.place);
    let after = store.waiting(&WaitingWanted { after: place, ..narrowing.wanted() }, 2)?.0;
    // Behind the last one, the list begins again.
    let all = if after.is_empty() { store.waiting(&narrowing.wanted(), 2)?.0 } else { after };
    let other = all.iter().find(|one| one.decision.about.subject != stored.about.subject);
    Ok(match other {
        Some(one) => narrowing.address(&format!("/ui/decisions/{}", encoded(&one.decision.decision_id)), said),
        None => narrowing.address("/ui/waiting", said),
    })
}
