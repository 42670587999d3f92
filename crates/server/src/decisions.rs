//! Decisions, findings and reviews, for people and their tools.

use proofmark_boundary::Outcome as OutcomeWord;
use proofmark_decider::{NewReview, Revocation, SignedApproval, Statement, ToldRequest};
use proofmark_evidence::{Reviewer, WantedScope};
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, Sha256Digest, Timestamp};
use proofmark_store::{Decision as StoredDecision, DecisionsWanted, Finding, QueueFilter, Review, StoreError, Tenant};
use proofmark_verifier::{ChangedDecision, signed_facts};
use serde::Serialize;
use utoipa::ToSchema;

use crate::context::{RequestContext, invalid_parameter};
use crate::deciding::Form;
use crate::keys::Role;
use crate::opaque::{
    DecisionReceipt, FindingCode, MaybeObject, Mode, Next, Outcome, PasskeyStatement, Receipt, ReviewVerdictName, Time,
    Uuid,
};
use crate::problem::Problem;
use crate::reply::{Document, JSON, Reply};

/// How many items a page has by default.
const PAGE: usize = 50;
/// The most facts one page shows, in bytes; those that are left out are shown by `GET /v1/decisions/{id}`.
const MAX_FACTS: usize = 8 << 20;

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionPage {
    decisions: Vec<DecisionEntry>,
    /// The ids of decisions that are left out, because their rows are not what was signed: `store check` says what was changed
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    changed: Vec<String>,
    #[schema(value_type = Next)]
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Decision)]
pub(crate) struct DecisionEntry {
    #[schema(value_type = Uuid)]
    decision_id: String,
    #[schema(value_type = Time)]
    decided_at: String,
    #[schema(value_type = Outcome)]
    outcome: String,
    #[schema(value_type = Mode)]
    mode: String,
    #[schema(required = true)]
    action_class: Option<String>,
    #[schema(required = true)]
    agent: Option<String>,
    /// The action of the request, in the plain form
    #[schema(value_type = MaybeObject)]
    action: Option<Document>,
    /// All facts of the request (agent, task, facts, calls, …), in the plain form, while the decision waits for a review;
    /// null for agents, and past 8 MiB of a page
    #[schema(value_type = MaybeObject)]
    facts: Option<Document>,
    /// Oldest first
    reviews: Vec<ReviewEntry>,
    #[schema(value_type = DecisionReceipt)]
    receipt: Option<Document>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Review)]
pub(crate) struct ReviewEntry {
    #[schema(value_type = Uuid)]
    decision_id: String,
    #[schema(value_type = ReviewVerdictName)]
    verdict: &'static str,
    /// The id of the API key, or the signer id of an approval given with `proofmark decision approve`
    reviewer: String,
    /// Of an approval
    #[schema(required = true)]
    role: Option<String>,
    note: String,
    #[schema(value_type = Time)]
    reviewed_at: String,
    /// When it stops to count
    #[schema(value_type = Time)]
    until: String,
}

/// A review, and the approval that was signed for it.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reviewed {
    #[schema(value_type = Uuid)]
    decision_id: String,
    #[schema(value_type = ReviewVerdictName)]
    verdict: &'static str,
    reviewer: String,
    #[schema(required = true)]
    role: Option<String>,
    note: String,
    #[schema(value_type = Time)]
    reviewed_at: String,
    #[schema(value_type = Time)]
    until: String,
    #[schema(required = true, value_type = Option<Receipt>)]
    approval: Option<Document>,
}

/// What a passkey signs, and how it is asked to
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToSign {
    /// The approval that is signed: its receipt's id and time, the hashes of the action, role, note and expiry
    #[schema(value_type = PasskeyStatement)]
    statement: Document,
    /// SHA-256 of the canonical form of the statement, in base64url: the challenge of `navigator.credentials.get`
    challenge: String,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindingPage {
    findings: Vec<FindingEntry>,
    #[schema(value_type = Next)]
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Finding)]
struct FindingEntry {
    /// As it was reported
    decision_id: String,
    #[schema(value_type = FindingCode)]
    code: String,
    message: String,
    #[schema(value_type = Time)]
    found_at: String,
}

/// `POST /v1/decisions`: a decision on a request in either form; the answer is the signed receipt.
pub(crate) const DECIDE: Form = Form { candidate: |_| None, reply: |_, text| Reply::text(JSON, text) };

/// `GET /v1/decisions`, newest first.
pub(crate) fn list(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["outcome", "class", "agent", "since", "until", "limit", "after"])?;
    let text = |name: &str| context.parameter(name).map(str::to_owned);
    let wanted = DecisionsWanted {
        outcome: outcome(context)?,
        class: text("class"),
        agent: text("agent"),
        ..page_parameters(context)?
    };
    page(context, &wanted)
}

/// `GET /v1/reviews`: decisions that wait for a review.
pub(crate) fn reviews(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["whose", "environment", "amount", "since", "until", "limit", "after"])?;
    let whose = context.parameter("whose");
    let is_mine = match whose {
        Some("mine") => true,
        None | Some("all") => false,
        Some(_) => return Err(invalid_parameter("whose", "`mine` or `all`")),
    };
    let amount = context.parsed::<f64>("amount", "a number")?;
    if amount.is_some_and(|amount| !amount.is_finite()) {
        return Err(invalid_parameter("amount", "a number"));
    }
    let filter = QueueFilter {
        roles: is_mine.then(|| own_roles(context)),
        environment: context.parameter("environment").map(str::to_owned),
        amount,
    };
    page(context, &DecisionsWanted { to_review: true, filter, ..page_parameters(context)? })
}

/// The roles in which the caller can approve: those of their API key, and those that the policies of their tenant give them.
#[must_use]
pub fn own_roles(context: &RequestContext<'_>) -> Vec<String> {
    let person = reviewer(context).person(context.decider.key().signer());
    let policies = context.decider.policies_of(&context.caller.tenant);
    let listed = policies.iter().flat_map(|(_, policy)| policy.roles_of(&person)).map(str::to_owned);
    context.caller.roles.iter().cloned().chain(listed).collect()
}

/// `GET /v1/decisions/{id}`.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let stored = context.store().decision(context.variable("id"))?.ok_or_else(|| Problem::not_found("decision"))?;
    // One decision is shown with its facts whatever their length.
    let mut space = usize::MAX;
    Reply::json(&entry(context, stored, &mut space)?)
}

/// `GET /v1/findings`, newest first.
pub(crate) fn findings(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["limit", "after"])?;
    // The sweep of `listen` runs every 30 s; the list must not miss what became due since.
    context.decider.find_unreported()?;
    let wanted = page_parameters(context)?;
    let page = context.store().findings(None, wanted.limit, wanted.after)?;
    Reply::json(&FindingPage {
        findings: page.findings.into_iter().map(FindingEntry::from).collect(),
        next: page.next.map(|next| next.to_string()),
    })
}

/// `POST /v1/reviews/{id}`: `{verdict, note, role?, expires_in?, shown?, passkey?, scope?}`.
pub(crate) fn review(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let review = ReviewBody::read(&body).map_err(|error| Problem::unreadable("read the review", &error))?;
    let signed = review.signed.as_ref();
    let (stored, approval) = context.decider.review(&NewReview {
        tenant: &context.caller.tenant,
        decision_id: context.variable("id"),
        reviewer: &reviewer(context),
        approve: review.approve,
        note: review.note,
        role: review.role,
        expires_in: expires_in(&body)?,
        shown: review.shown,
        signed,
        scope: review.scope.as_ref(),
    })?;
    let entry = ReviewEntry::from(stored);
    Reply::json(&Reviewed {
        decision_id: entry.decision_id,
        verdict: entry.verdict,
        reviewer: entry.reviewer,
        role: entry.role,
        note: entry.note,
        reviewed_at: entry.reviewed_at,
        until: entry.until,
        approval: approval.map(|receipt| receipt.document().into()),
    })
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestTold {
    session: String,
}

/// `POST /v1/sessions/requests`: `{session, request}`. What the user asked for, told by a person: no host and no agent may.
pub(crate) fn tell_request(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let read = || {
        let fields = Field::root(&body).fields()?;
        fields.only(&["session", "request"])?;
        let session = fields.need("session", "name the session, as the list of sessions shows it")?.text()?;
        Ok((session, fields.need("request", "write what the user asked for")?.text()?))
    };
    let (session, text) = read().map_err(|error| Problem::unreadable("read the request", &error))?;
    let (tenant, by) = (&context.caller.tenant, context.caller.id.as_str());
    context.decider.tell_request(&ToldRequest { tenant, session, text, by })?;
    Reply::json(&RequestTold { session: session.to_owned() })
}

/// `POST /v1/approvals/{id}/revoke`: `{note}`. Ends an approval that reaches beyond one action.
pub(crate) fn revoke(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let note = || {
        let fields = Field::root(&body).fields()?;
        fields.only(&["note"])?;
        fields.need("note", "say why")?.text()
    };
    let note = note().map_err(|error| Problem::unreadable("read the revocation", &error))?;
    let receipt = context.decider.revoke(&Revocation {
        tenant: &context.caller.tenant,
        approval: context.variable("id"),
        reviewer: &reviewer(context),
        note,
    })?;
    Ok(Reply::text(JSON, receipt.to_text()))
}

/// `POST /v1/reviews/{id}/statement`: `{note, role?, expires_in?, shown?, scope?}`. What a passkey signs to approve the decision.
pub(crate) fn statement(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = context.json()?;
    let read = || {
        let fields = Field::root(&body).fields()?;
        fields.only(&["note", "role", "expires_in", "shown", "scope"])?;
        ReviewBody::of(&fields, true, None)
    };
    let review = read().map_err(|error| Problem::unreadable("read the review", &error))?;
    let Statement { text, challenge } = context.decider.statement(&NewReview {
        tenant: &context.caller.tenant,
        decision_id: context.variable("id"),
        reviewer: &reviewer(context),
        approve: true,
        note: review.note,
        role: review.role,
        expires_in: expires_in(&body)?,
        shown: review.shown,
        signed: None,
        scope: review.scope.as_ref(),
    })?;
    Reply::json(&ToSign { statement: text.into(), challenge })
}

struct ReviewBody<'a> {
    approve: bool,
    note: &'a str,
    role: Option<&'a str>,
    scope: Option<WantedScope>,
    shown: Option<Sha256Digest>,
    signed: Option<SignedApproval>,
}

impl<'a> ReviewBody<'a> {
    fn read(body: &'a Json) -> Result<Self, DocumentError> {
        let fields = Field::root(body).fields()?;
        fields.only(&["verdict", "note", "role", "expires_in", "shown", "passkey", "scope"])?;
        let approve = fields.need("verdict", "approve or deny")?.choice(&[("approve", true), ("deny", false)])?;
        let signed = fields.get("passkey").map(|field| match field.json.as_object() {
            Some(_) if !approve => Err(field.error(Cause::InvalidValue, "a denial is not signed; leave `passkey` out")),
            // The browser says the origin, and the passkey that the policy lists has to be of it.
            Some(object) => SignedApproval::read(object, None)
                .ok_or_else(|| field.error(Cause::InvalidValue, "it is not what a passkey has signed")),
            None => Err(field.wrong_type("an object")),
        });
        Self::of(&fields, approve, signed.transpose()?)
    }

    fn of(fields: &Fields<'a>, approve: bool, signed: Option<SignedApproval>) -> Result<Self, DocumentError> {
        Ok(Self {
            note: fields.need("note", "say why")?.text()?,
            role: fields.get("role").map(|role| role.text()).transpose()?,
            shown: fields.get("shown").map(|shown| digest(&shown)).transpose()?,
            scope: fields.get("scope").map(|scope| WantedScope::read(&scope)).transpose()?.flatten(),
            approve,
            signed,
        })
    }
}

fn digest(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let digest = field.text()?.parse();
    digest.map_err(|_| {
        field.error(Cause::InvalidValue, "invalid digest").with_help("write `sha256:` and 64 hexadecimal digits")
    })
}

/// In milliseconds. How long is too long depends on the verdict, so `Decider::review` decides that.
fn expires_in(body: &Json) -> Result<Option<i64>, Problem> {
    let Some(json) = body.as_object().and_then(|body| body.get("expires_in")) else { return Ok(None) };
    let seconds = json.as_number().and_then(|number| number.as_i64());
    let seconds = seconds
        .ok_or_else(|| Problem::bad("wrong_type", "`expires_in` is not a whole number").help("write seconds"))?;
    Ok(Some(seconds.saturating_mul(1_000)))
}

/// Who reviews. Without API keys it is the holder of this server's key.
pub fn reviewer(context: &RequestContext<'_>) -> Reviewer {
    let caller = &context.caller;
    let own = (caller.tenant == Tenant::LOCAL).then(|| context.decider.key().signer());
    Reviewer { id: caller.id.clone(), key: caller.signer.or(own), roles: caller.roles.clone() }
}

fn page_parameters(context: &RequestContext<'_>) -> Result<DecisionsWanted, Problem> {
    let time = |name: &str| context.parsed::<Timestamp>(name, "a time as in 2026-03-01T12:00:00Z");
    Ok(DecisionsWanted {
        since: time("since")?.map(|time| time.unix_millis()),
        until: time("until")?.map(|time| time.unix_millis()),
        limit: context.limit(PAGE)?,
        after: context.parsed("after", "the `next` of the page before")?,
        ..DecisionsWanted::default()
    })
}

/// A misspelt outcome would find nothing, and look as if there was nothing.
fn outcome(context: &RequestContext<'_>) -> Result<Option<String>, Problem> {
    match context.parameter("outcome") {
        Some(outcome) if OutcomeWord::from_word(outcome).is_none() => Err(invalid_parameter(
            "outcome",
            &format!("one of {}", OutcomeWord::ALL.map(OutcomeWord::as_str).join(", ")),
        )),
        outcome => Ok(outcome.map(str::to_owned)),
    }
}

fn page(context: &RequestContext<'_>, wanted: &DecisionsWanted) -> Result<Reply, Problem> {
    let page = context.store().decisions(wanted)?;
    let (mut space, mut decisions, mut changed) = (MAX_FACTS, Vec::new(), Vec::new());
    for stored in page.decisions {
        let id = stored.decision_id.clone();
        match entry(context, stored, &mut space) {
            Ok(entry) => decisions.push(entry),
            // One row does not keep people from the others.
            Err(EntryError::Changed(_)) => changed.push(id),
            Err(EntryError::Store(error)) => return Err(error.into()),
        }
    }
    Reply::json(&DecisionPage { decisions, changed, next: page.next.map(|next| next.to_string()) })
}

/// Why a decision is not shown.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum EntryError {
    Changed(#[from] ChangedDecision),
    Store(#[from] StoreError),
}

impl From<EntryError> for Problem {
    fn from(error: EntryError) -> Self {
        match error {
            EntryError::Changed(error) => error.into(),
            EntryError::Store(error) => error.into(),
        }
    }
}

/// A decision, with its facts where there is space for so many bytes. Everything is from the signed receipt, or compared with it.
fn entry(context: &RequestContext<'_>, stored: StoredDecision, space: &mut usize) -> Result<DecisionEntry, EntryError> {
    let receipt = context.decider.signed(&stored)?;
    let reviews = context.store().reviews(&stored.decision_id)?;
    // Agents must not read the facts of other agents' requests.
    let facts = if context.caller.role.may(Role::Reviewer) && stored.about.review {
        context.store().facts(&stored.decision_id)?
    } else {
        None
    };
    // The facts are left out and the page is not refused: `GET /v1/decisions/{id}` shows them.
    let facts = facts.filter(|facts| facts.len() <= *space);
    *space = space.saturating_sub(facts.as_ref().map_or(0, String::len));
    let facts = facts.map(|facts| signed_facts(&stored, &receipt, facts)).transpose()?;
    Ok(DecisionEntry {
        decision_id: stored.decision_id,
        decided_at: time(stored.decided_at),
        outcome: stored.outcome,
        mode: stored.about.mode,
        action_class: stored.about.class,
        agent: stored.about.agent,
        action: stored.about.action.and_then(Document::stored),
        facts: facts.and_then(Document::stored),
        reviews: reviews.into_iter().map(ReviewEntry::from).collect(),
        receipt: Document::stored(stored.document),
    })
}

impl From<Review> for ReviewEntry {
    fn from(review: Review) -> Self {
        Self {
            decision_id: review.decision_id,
            verdict: review.verdict.as_str(),
            reviewer: review.reviewer,
            // The store has an empty text where the review names no role.
            role: (!review.role.is_empty()).then_some(review.role),
            note: review.note,
            reviewed_at: time(review.reviewed_at),
            until: time(review.until),
        }
    }
}

impl From<Finding> for FindingEntry {
    fn from(finding: Finding) -> Self {
        Self {
            decision_id: finding.decision_id,
            code: finding.code,
            message: finding.message,
            found_at: time(finding.found_at),
        }
    }
}

fn time(millis: i64) -> String {
    Timestamp::from_unix_millis(millis).as_str().to_owned()
}
