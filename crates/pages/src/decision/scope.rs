//! The part of the form by which a reviewer approves more than the one action, where a rule offers it.

use proofmark_decider::PolicyAsked;
use proofmark_evidence::{Bound, Free, Scopes, WantedScope};
use proofmark_receipt::{Json, Object};
use proofmark_server::problem::Problem;
use proofmark_statement::legible;
use proofmark_store::Decision as StoredDecision;

use super::super::action::{Action, stored_json};
use super::super::forms::Form;
use super::super::text::Shown;
use super::super::visit::Visit;

/// The most arguments that a pattern is offered for.
const MAX_ROWS: usize = 32;
/// How deep an argument may be.
const MAX_DEPTH: usize = 4;
/// The longest value that is shown beside its bound, in characters.
const MAX_VALUE: usize = 80;

/// What a reviewer can choose beside the one action.
pub(crate) struct ScopeForm {
    pub(crate) session: Option<Shown>,
    pub(crate) pattern: Option<Vec<PatternRow>>,
    /// `once`, `session` or `pattern`.
    chosen: String,
    pub(crate) tool: Shown,
    /// The longest that it counts, in words.
    pub(crate) longest: String,
}

/// An argument that a pattern may free.
pub(crate) struct PatternRow {
    /// Its place, as in `args.amount`.
    pub(crate) place: String,
    pub(crate) name: Shown,
    pub(crate) value: Shown,
    pub(crate) is_number: bool,
    pub(crate) is_text: bool,
    chosen: String,
    pub(crate) limit: String,
}

impl ScopeForm {
    /// What the rules offer that ask for these roles here; none where they offer nothing more than once.
    pub(crate) fn of(
        visit: &Visit<'_>,
        stored: &StoredDecision,
        action: &Action,
        roles: &[String],
    ) -> Result<Option<Self>, Problem> {
        let (decider, tenant) = (&visit.context.decider, &visit.context.caller.tenant);
        let Some(receipt) = &action.receipt else { return Ok(None) };
        let asked = decider.policy_asked(tenant, receipt);
        let (PolicyAsked::InForce(policy) | PolicyAsked::Changed(policy)) = asked else { return Ok(None) };
        let offered =
            roles.iter().map(|role| receipt.scopes_offered(&policy, role)).fold(Scopes::default(), Scopes::or);
        if !offered.are_any() {
            return Ok(None);
        }
        let session = session(visit, stored)?.filter(|_| offered.session);
        let form = &visit.form;
        let text = |name: &str| form.get(name).unwrap_or_default().to_owned();
        Ok(Some(Self {
            session: session.map(|session| Shown::line(&session, MAX_VALUE)),
            pattern: offered.pattern.then(|| rows(&action.document, form)),
            chosen: text("scope"),
            tool: action.tool.clone(),
            longest: proofmark_evidence::span::words(offered.longest_millis),
        }))
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.chosen == word || (word == "once" && self.chosen.is_empty())
    }
}

impl PatternRow {
    pub(crate) fn is(&self, word: &str) -> bool {
        self.chosen == word || (word == "same" && self.chosen.is_empty())
    }
}

/// The session that a request names.
fn session(visit: &Visit<'_>, stored: &StoredDecision) -> Result<Option<String>, Problem> {
    let facts = visit.context.store().facts(&stored.decision_id)?;
    let Some(Json::Object(facts)) = facts.and_then(|text| stored_json(&text)) else { return Ok(None) };
    let run = facts.get("agent").and_then(|agent| agent.as_object()?.get("run")?.as_str());
    Ok(run.map(str::to_owned))
}

/// The arguments one by one.
fn rows(action: &Object, form: &Form) -> Vec<PatternRow> {
    let mut rows = Vec::new();
    if let Some(args) = action.get("args") {
        collect(args, "args", 0, form, &mut rows);
    }
    rows.truncate(MAX_ROWS);
    rows
}

fn collect(json: &Json, place: &str, depth: usize, form: &Form, rows: &mut Vec<PatternRow>) {
    if rows.len() > MAX_ROWS {
        return;
    }
    match json {
        Json::Object(object) if depth < MAX_DEPTH && !object.is_empty() => {
            // A name with a dot would name another place.
            for (name, value) in object.iter().filter(|(name, _)| !name.is_empty() && !name.contains('.')) {
                collect(value, &format!("{place}.{name}"), depth + 1, form, rows);
            }
        }
        value if depth > 0 => rows.push(PatternRow {
            name: Shown::line(place, MAX_VALUE),
            value: Shown::line(&legible(value), MAX_VALUE),
            is_number: value.as_number().is_some(),
            is_text: value.as_str().is_some_and(|text| text.contains('/')),
            chosen: form.get(&format!("bound {place}")).unwrap_or_default().to_owned(),
            limit: form.get(&format!("limit {place}")).unwrap_or_default().to_owned(),
            place: place.to_owned(),
        }),
        _ => {}
    }
}

/// What a form asks for beside the one action.
pub(crate) fn wanted(form: &Form) -> Result<Option<WantedScope>, Problem> {
    let unknown = || Problem::bad("invalid_parameter", "invalid `scope`").help("write once, session or pattern");
    match form.get("scope").unwrap_or("once") {
        "once" => Ok(None),
        "session" => Ok(Some(WantedScope::Session)),
        "pattern" => {
            let mut free = Vec::new();
            for (name, choice) in form.fields() {
                let Some(place) = name.strip_prefix("bound ") else { continue };
                let limit = form.get(&format!("limit {place}")).unwrap_or_default().trim().to_owned();
                let bound = match choice {
                    "same" => continue,
                    "any" => Bound::Any,
                    "at_most" => Bound::AtMost(limit),
                    "prefix" => Bound::Prefix(limit),
                    _ => return Err(unknown()),
                };
                free.push(Free::at(place, bound));
            }
            Ok(Some(WantedScope::Pattern(free)))
        }
        _ => Err(unknown()),
    }
}
