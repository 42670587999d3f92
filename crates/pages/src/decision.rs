//! `/ui/decisions/{id}`: why an action was stopped, what exactly it would do, and a reviewer's approval or denial.

mod arguments;
mod before;
mod course;
mod evidence;
mod like;
mod review;
mod scope;
mod state;

use askama::Template;
use axum::http::StatusCode;
use proofmark_boundary::{DecisionReceipt, Request};
use proofmark_decider::PolicyAsked;
use proofmark_receipt::{Json, Object, SignatureStatus};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_statement::{Section, legible, of_decision};
use proofmark_store::{Decision as StoredDecision, WaitingDecision, WaitingWanted};

use super::action::{Action, stored_json};
use super::frame::{Frame, Here};
use super::html::html;
use super::policy;
use super::stated::Stated;
use super::text::{Coded, Shown};
use super::visit::Visit;
use super::waiting::{FILTERS, Narrowing, Said, said};
use super::words::{When, encoded, short_digest};

use arguments::{Argument, arguments, without};
use course::{Course, Happened, course};
pub(crate) use evidence::RuleNames;
use evidence::{EvidenceRow, ReasonRow, evidence, reasons};
use review::{ReviewForm, review_form};
pub(crate) use review::{review, statement};
use state::State;

#[derive(Template)]
#[template(path = "decision.html")]
struct DecisionPage {
    frame: Frame,
    id: String,
    state: State,
    action: Action,
    /// `wants to run`, or what became of it.
    verb: &'static str,
    facts: Vec<(&'static str, Shown)>,
    asked: Option<String>,
    decided: When,
    session: Option<(Shown, String)>,
    allowed: bool,
    reasons: Vec<ReasonRow>,
    changes: Vec<Coded>,
    /// What the action says beside its arguments, and who asks.
    about: Vec<Stated>,
    /// Where the policy that decided is shown, if it is still in force.
    policy_page: Option<String>,
    /// What became of it, if it is not.
    policy_told: Option<Shown>,
    arguments: Vec<Argument>,
    arguments_json: String,
    before: Option<Shown>,
    fingerprint: (String, String),
    evidence: Vec<EvidenceRow>,
    course: Vec<Happened>,
    newer: Option<String>,
    form: Option<ReviewForm>,
    /// Why the form is missing.
    no_form: Option<&'static str>,
    queue: Option<Queue>,
    list: String,
    /// What the receipt says beside its reasons.
    stated: Vec<Stated>,
    seen_by_agent: Option<SeenByAgent>,
    /// Why the agent says it wants this, argument by argument.
    says: Vec<(Shown, Shown)>,
    /// The calls before it in its session, the last ones.
    calls: Vec<(Shown, Shown)>,
    /// Who else looks at it.
    looking: Vec<Shown>,
    genuine: Genuine,
    said: Option<Said>,
}

/// The place among those that wait.
struct Queue {
    position: String,
    total: String,
    previous: Option<String>,
    next: Option<String>,
}

/// The facts of the request, which reviewers may see.
struct SeenByAgent {
    text: Shown,
    /// Whether they are those that the receipt binds.
    is_bound: bool,
}

/// What the signature says.
struct Genuine {
    valid: bool,
    cause: Shown,
    is_own: bool,
    signer: String,
    position: u64,
    /// The signed document, byte for byte.
    document: String,
    shown: Shown,
}

/// What a reviewer typed, and why it was not stored.
#[derive(Default)]
pub(crate) struct Attempted {
    note: Option<String>,
    role: Option<String>,
    expires_in: Option<String>,
    refusal: Option<Refused>,
}

/// Why a review was not stored.
pub(crate) struct Refused {
    status: StatusCode,
    message: Coded,
    help: Option<Coded>,
}

/// `GET /ui/decisions/{id}`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[&FILTERS[..], &["said"]].concat())?;
    page(visit, Attempted::default())
}

fn no_decision() -> Problem {
    Problem::not_found("decision").help("it does not exist, or belongs to another tenant")
}

/// The page, with what was typed where it was not stored.
fn page(visit: &Visit<'_>, attempted: Attempted) -> Result<Reply, Problem> {
    let context = &visit.context;
    let store = context.store();
    let stored = store.decision(context.variable("id"))?.ok_or_else(no_decision)?;
    let waiting = store.waiting_on(&stored.about.subject)?;
    let waits = waiting.as_ref().filter(|waiting| waiting.decision.decision_id == stored.decision_id);
    let action = Action::of(&stored);
    if let Some(changed) = &action.changed {
        return Err(changed.clone().into());
    }
    let Course { happened, before, newer } = course(&store, &stored, &action)?;
    let narrowing = Narrowing::of(visit);
    let queue = waits.map(|waits| Queue::of(visit, waits, &narrowing)).transpose()?;
    let (form, no_form) = review_form(visit, &stored, &action, &attempted)?;
    let asked = action.receipt.as_ref().map(|receipt| context.decider.policy_asked(&context.caller.tenant, receipt));
    // The names of another policy's rules would be wrong here.
    let policy = match &asked {
        Some(PolicyAsked::InForce(policy)) => Some(policy),
        Some(PolicyAsked::Changed(_) | PolicyAsked::NotHere | PolicyAsked::OfStep(_)) | None => None,
    };
    let names = RuleNames { policy: policy.map(|policy| &**policy) };
    let policy_told =
        asked.as_ref().zip(action.receipt.as_ref()).and_then(|(asked, receipt)| policy_told(asked, receipt));
    let title = format!("{} · {}", action.title().plain(), if waits.is_some() { "Waiting" } else { "Decision" });
    let here = if waits.is_some() { Here::Waiting } else { Here::Decisions };
    let seen = seen_by_agent(visit, &stored, &action)?;
    let status = attempted.refusal.as_ref().map_or(StatusCode::OK, |refused| refused.status);
    let session = store.session_of(&stored.decision_id)?;
    let state = State::of(visit, &stored, &action, waits.is_some())?;
    let page = DecisionPage {
        frame: Frame::of(visit, here, title)?,
        verb: if stored.allowed {
            "was allowed to run"
        } else if waits.is_some() {
            "wants to run"
        } else {
            "asked to run"
        },
        facts: facts(&action, seen.as_ref().filter(|(_, seen)| seen.is_bound).map(|(facts, _)| facts)),
        asked: waits.map(|waits| waits.asked).filter(|asked| *asked > 1).map(|asked| format!("{asked} times")),
        decided: When::ago(visit.now, stored.decided_at),
        session: session.map(|session| (Shown::line(&session, 80), format!("/ui/sessions/{}", encoded(&session)))),
        allowed: stored.allowed,
        reasons: reasons_beside(&state, action.receipt.as_ref(), &names),
        // What an approval would change is beside the point while a denial stands.
        changes: if state.denial.is_some() { Vec::new() } else { changes(action.receipt.as_ref()) },
        policy_page: policy.map(|policy| policy::address_of(visit, policy)),
        policy_told,
        state,
        about: about(&action),
        arguments: arguments(&action, before.as_ref().map(|before| &before.action)),
        arguments_json: legible(&Json::from(action.document.clone())),
        before: before.map(|before| before.words),
        fingerprint: (short_digest(&stored.fingerprint), stored.fingerprint.clone()),
        evidence: action.receipt.as_ref().map(|receipt| evidence(receipt, &names)).unwrap_or_default(),
        course: happened,
        newer: newer.map(|id| format!("/ui/decisions/{}", encoded(&id))),
        form,
        no_form,
        queue,
        list: narrowing.address("/ui/waiting", None),
        stated: action.receipt.as_ref().map(|receipt| Stated::all(of_decision(receipt))).unwrap_or_default(),
        says: before::says(&action),
        calls: seen.as_ref().map(|(facts, _)| before::calls(facts)).unwrap_or_default(),
        looking: looking(visit, waits.is_some(), &stored),
        seen_by_agent: seen.map(|(_, seen)| seen),
        genuine: Genuine::of(visit, &stored),
        said: said(visit)?.filter(|said| !said.href.ends_with(&encoded(&stored.decision_id))),
        id: stored.decision_id,
        action,
    };
    Ok(html(&page)?.status(status))
}

/// What became of the policy that decided, where it is not in force any more.
fn policy_told(asked: &PolicyAsked, receipt: &DecisionReceipt) -> Option<Shown> {
    let name = receipt.asker().policy.map_or_else(String::new, |name| format!(" {name}"));
    let digest = short_digest(receipt.bound("policy_hash").unwrap_or_default());
    let told = match asked {
        PolicyAsked::InForce(_) => return None,
        PolicyAsked::Changed(_) => format!(
            "The policy{name} has changed since this decision ({digest}). A review is judged by the one that is in force."
        ),
        PolicyAsked::OfStep(_) => {
            "The contract of the workflow step asks for this approval, and says who may give it.".to_owned()
        }
        PolicyAsked::NotHere => format!(
            "The policy{name} that decided ({digest}) is not in force on this server: an approval given here would not count."
        ),
    };
    Some(Shown::from(told.as_str()))
}

/// The reasons; without a denial that the page shows by itself.
fn reasons_beside(state: &State, receipt: Option<&DecisionReceipt>, names: &RuleNames<'_>) -> Vec<ReasonRow> {
    let mut rows = receipt.map(|receipt| reasons(receipt, names)).unwrap_or_default();
    rows.retain(|row| !row.is_denial || state.denial.is_none());
    rows
}

fn changes(receipt: Option<&DecisionReceipt>) -> Vec<Coded> {
    receipt.map(|receipt| receipt.changes().into_iter().map(Shown::with_code).collect()).unwrap_or_default()
}

/// Who else has opened it lately, where it waits and visitors have names.
fn looking(visit: &Visit<'_>, waits: bool, stored: &StoredDecision) -> Vec<Shown> {
    let caller = &visit.context.caller;
    if !waits || visit.token.is_none() {
        return Vec::new();
    }
    let others = visit.context.services.viewers.look(caller.tenant.as_str(), &stored.decision_id, &caller.id);
    others.iter().map(|who| Shown::line(who, 64)).collect()
}

/// In the words that the terminal has, too.
fn about(action: &Action) -> Vec<Stated> {
    let said = action
        .statement
        .iter()
        .map(|said| Section { heading: None, statements: said.action.iter().chain(&said.asked).cloned().collect() });
    Stated::all(said.collect())
}

/// Where and for what it was asked, in the words of the request.
fn facts(action: &Action, facts: Option<&Object>) -> Vec<(&'static str, Shown)> {
    let of_agent = |name: &str| {
        let agent = facts?.get("agent")?.as_object()?;
        agent.get(name)?.as_str().filter(|text| !text.is_empty()).map(|text| Shown::line(text, 80))
    };
    let all =
        [("in", action.environment()), ("class", action.class()), ("run", of_agent("run")), ("step", of_agent("step"))];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The facts that the request stated, beside the action.
fn seen_by_agent(
    visit: &Visit<'_>,
    stored: &StoredDecision,
    action: &Action,
) -> Result<Option<(Object, SeenByAgent)>, Problem> {
    // Agents must not read the facts of other agents' requests.
    if !visit.context.caller.role.may(proofmark_server::Role::Reviewer) {
        return Ok(None);
    }
    let Some(text) = visit.context.store().facts(&stored.decision_id)? else { return Ok(None) };
    let Some(Json::Object(facts)) = stored_json(&text) else { return Ok(None) };
    let bound = action.receipt.as_ref().and_then(|receipt| receipt.bound("facts_hash"));
    let hash = Request::from_facts(facts.clone()).ok().map(|request| request.facts_hash().to_string());
    let rest = without(&facts, &["action"]);
    let is_bound = bound.is_some() && hash.as_deref() == bound;
    Ok(Some((facts, SeenByAgent { text: legible(&Json::from(rest)).into(), is_bound })))
}

impl Queue {
    fn of(visit: &Visit<'_>, waits: &WaitingDecision, narrowing: &Narrowing) -> Result<Self, Problem> {
        let (store, wanted) = (visit.context.store(), narrowing.wanted());
        let before = WaitingWanted { before: Some(waits.place), ..wanted.clone() };
        let after = WaitingWanted { after: Some(waits.place), ..wanted.clone() };
        let address = |found: Vec<WaitingDecision>| {
            let id = found.first().map(|one| encoded(&one.decision.decision_id))?;
            Some(narrowing.address(&format!("/ui/decisions/{id}"), None))
        };
        Ok(Self {
            // The store counts: the page has read only its neighbours.
            position: super::words::number(store.waiting_count(&before)?.saturating_add(1)),
            total: super::words::number(store.waiting_count(&wanted)?),
            previous: address(store.waiting(&before, 1)?.0),
            next: address(store.waiting(&after, 1)?.0),
        })
    }
}

impl Genuine {
    fn of(visit: &Visit<'_>, stored: &StoredDecision) -> Self {
        let decider = visit.context.decider;
        // The signature is verified for each visit: anyone who can write to the database can change a document and its columns.
        let verification = decider.check(stored.document.as_bytes()).verification;
        let own = decider.key().signer();
        let signer = verification.signer.map_or_else(String::new, |signer| signer.fingerprint());
        Self {
            valid: verification.answer == SignatureStatus::Valid,
            cause: verification.answer.cause().unwrap_or_default().into(),
            is_own: verification.signer == Some(own),
            signer: short_digest(&signer),
            position: stored.position,
            document: stored.document.clone(),
            shown: stored.document.as_str().into(),
        }
    }
}
