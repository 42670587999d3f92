//! Decisions, findings and reviews, for people and their tools.

use std::collections::BTreeSet;

use proofmark_receipt::document::Field;
use proofmark_receipt::{Json, Object, Timestamp};
use proofmark_verifier::boundary::{Disposition, Request, Reviewer};
use proofmark_verifier::{Asked, DecisionsWanted, Finding, NewReview, Review, StoredDecision, Tenant};

use crate::context::RequestContext;
use crate::keys::Role;
use crate::metrics;
use crate::problem::Problem;

/// How many a page has when nothing is said.
const PAGE: usize = 50;
/// The most facts one page shows, in bytes; those that are left out are shown by `GET /v1/decisions/{id}`.
const MAX_FACTS: usize = 8 << 20;

/// `POST /v1/decisions`: a decision on a request in either form; the answer is the signed receipt.
pub(crate) fn decide(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let request = Request::read(&context.json()?)
        .map_err(|error| Problem::bad(error.code(), format!("read the request: {error}")))?;
    let asked = Asked {
        request: &request,
        tenant: &context.caller.tenant,
        candidate: None,
        replayable: context.replayable(),
        stop: &context.stop,
    };
    let receipt = context.decider.decide(&asked)?;
    metrics::decided(receipt.disposition().mode());
    Ok(receipt.document().clone().into())
}

/// `GET /v1/decisions`, newest first.
pub(crate) fn list(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["outcome", "class", "agent", "since", "until", "limit", "after"])?;
    let text = |name: &str| context.parameter(name).map(str::to_owned);
    page(
        context,
        DecisionsWanted { outcome: outcome(context)?, class: text("class"), agent: text("agent"), ..wanted(context)? },
    )
}

/// `GET /v1/reviews`: decisions that wait for a human's word.
pub(crate) fn reviews(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["since", "until", "limit", "after"])?;
    page(context, DecisionsWanted { to_review: true, ..wanted(context)? })
}

/// `GET /v1/decisions/{id}`.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let kept = context.store().decision(context.variable("id"))?;
    let mut room = usize::MAX;
    shown(context, &kept.ok_or_else(|| Problem::not_found("such decision"))?, &mut room)
}

/// `GET /v1/findings`, newest first.
pub(crate) fn findings(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["limit", "after"])?;
    context.decider.find_unreported()?;
    let wanted = wanted(context)?;
    let found = context.store().findings(wanted.limit, wanted.after)?;
    let mut answer = Object::new();
    answer.insert("findings", found.findings.iter().map(finding).collect::<Vec<_>>());
    answer.insert("next", found.next.map_or(Json::Null, |next| Json::from(next.to_string())));
    Ok(answer.into())
}

/// `POST /v1/reviews/{id}`: `{verdict, note, role?, expires_in?}`.
pub(crate) fn review(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let wrong = |error: proofmark_receipt::document::DocumentError| {
        Problem::bad(error.code(), format!("read the review: {error}"))
    };
    let root = Field::root(&body);
    let fields = root.fields().map_err(wrong)?;
    fields.only(&["verdict", "note", "role", "expires_in"]).map_err(wrong)?;
    let verdict = fields.need("verdict", "approve or deny").map_err(wrong)?;
    let note = fields.need("note", "say why").map_err(wrong)?;
    let role = fields.get("role").map(|role| role.text()).transpose().map_err(wrong)?;
    let seconds = match body.as_object().and_then(|body| body.get("expires_in")) {
        None => None,
        Some(json) => {
            let seconds = json.as_number().and_then(|number| number.as_i64());
            let wrong = || Problem::bad("wrong_type", "`expires_in` has to be a whole number of seconds");
            Some(seconds.ok_or_else(wrong)?.saturating_mul(1_000))
        }
    };
    let (kept, approval) = context.decider.review(&NewReview {
        tenant: &context.caller.tenant,
        decision_id: context.variable("id"),
        reviewer: &reviewer(context),
        approve: verdict.choice(&[("approve", true), ("deny", false)]).map_err(wrong)?,
        note: note.text().map_err(wrong)?,
        role,
        expires_in: seconds,
    })?;
    let mut answer = reviewed(&kept);
    answer.insert("approval", approval.map_or(Json::Null, |receipt| receipt.document().clone()));
    Ok(answer.into())
}

/// Who reviews. Without API keys it is the holder of this server's key.
fn reviewer(context: &RequestContext<'_>) -> Reviewer {
    let caller = &context.caller;
    let own = (caller.tenant == Tenant::LOCAL).then(|| context.decider.key().signer());
    Reviewer { id: caller.id.clone(), key: caller.signer.or(own), roles: caller.roles.clone() }
}

fn wanted(context: &RequestContext<'_>) -> Result<DecisionsWanted, Problem> {
    let time = |name: &str| context.parsed::<Timestamp>(name, "a time as in 2026-03-01T12:00:00Z");
    Ok(DecisionsWanted {
        since: time("since")?.map(|time| time.unix_millis()),
        until: time("until")?.map(|time| time.unix_millis()),
        limit: context.limit(PAGE)?,
        after: context.parsed("after", "the `next` of the page before")?,
        ..DecisionsWanted::default()
    })
}

/// A word that is no outcome would find nothing, and look as if there was nothing.
fn outcome(context: &RequestContext<'_>) -> Result<Option<String>, Problem> {
    let words: BTreeSet<&str> = Disposition::ALL.iter().map(|disposition| disposition.outcome().as_str()).collect();
    match context.parameter("outcome") {
        Some(outcome) if !words.contains(outcome) => {
            let words = words.into_iter().collect::<Vec<_>>().join(", ");
            Err(Problem::bad("invalid_parameter", format!("the parameter `outcome` is none of {words}")))
        }
        outcome => Ok(outcome.map(str::to_owned)),
    }
}

fn page(context: &RequestContext<'_>, wanted: DecisionsWanted) -> Result<Json, Problem> {
    let found = context.store().decisions(&wanted)?;
    let mut room = MAX_FACTS;
    let decisions: Vec<Json> =
        found.decisions.iter().map(|kept| shown(context, kept, &mut room)).collect::<Result<_, _>>()?;
    let mut answer = Object::new();
    answer.insert("decisions", decisions);
    answer.insert("next", found.next.map_or(Json::Null, |next| Json::from(next.to_string())));
    Ok(answer.into())
}

/// A decision, with its facts where there is room for so many bytes.
fn shown(context: &RequestContext<'_>, kept: &StoredDecision, room: &mut usize) -> Result<Json, Problem> {
    let parsed = |text: &str| Json::parse(text.as_bytes()).unwrap_or(Json::Null);
    let optional = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::from);
    let reviews = context.store().reviews(&kept.decision_id)?;
    // What other agents were told is nothing for agents.
    let facts = match context.caller.role.may(Role::Reviewer) && kept.about.review {
        true => context.store().facts(&kept.decision_id)?,
        false => None,
    };
    let facts = facts.filter(|facts| facts.len() <= *room);
    *room = room.saturating_sub(facts.as_ref().map_or(0, String::len));
    let mut shown = Object::new();
    shown.insert("decision_id", kept.decision_id.as_str());
    shown.insert("decided_at", Timestamp::from_unix_millis(kept.decided_at).as_str());
    shown.insert("outcome", kept.outcome.as_str());
    shown.insert("mode", kept.about.mode.as_str());
    shown.insert("action_class", optional(&kept.about.class));
    shown.insert("agent", optional(&kept.about.agent));
    shown.insert("action", kept.about.action.as_deref().map_or(Json::Null, parsed));
    shown.insert("facts", facts.as_deref().map_or(Json::Null, parsed));
    shown.insert("reviews", reviews.iter().map(|review| reviewed(review).into()).collect::<Vec<Json>>());
    shown.insert("receipt", parsed(&kept.document));
    Ok(shown.into())
}

fn reviewed(review: &Review) -> Object {
    let mut object = Object::new();
    object.insert("decision_id", review.decision_id.as_str());
    object.insert("verdict", review.verdict.as_str());
    object.insert("reviewer", review.reviewer.as_str());
    object.insert("role", if review.role.is_empty() { Json::Null } else { Json::from(review.role.as_str()) });
    object.insert("note", review.note.as_str());
    object.insert("reviewed_at", Timestamp::from_unix_millis(review.reviewed_at).as_str());
    object.insert("until", Timestamp::from_unix_millis(review.until).as_str());
    object
}

fn finding(finding: &Finding) -> Json {
    let mut object = Object::new();
    object.insert("decision_id", finding.decision_id.as_str());
    object.insert("code", finding.code.as_str());
    object.insert("message", finding.message.as_str());
    object.insert("found_at", Timestamp::from_unix_millis(finding.found_at).as_str());
    object.into()
}
