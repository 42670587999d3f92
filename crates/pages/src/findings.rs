//! `/ui/findings`: executions that are not as they were decided.

use askama::Template;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_store::{Cursor, Finding};

use super::action::Action;
use super::frame::{Frame, Here};
use super::html::html;
use super::text::Shown;
use super::visit::Visit;
use super::words::{When, address, encoded, spaced};

/// How many findings a page has.
const PAGE: usize = 50;

/// What is found, and how it is called here.
const CODES: [(&str, &str); 6] = [
    ("executed_blocked", "Executed though not allowed"),
    ("executed_undecided", "Executed without a decision"),
    ("executed_other_arguments", "Executed with other arguments"),
    ("executed_twice", "Executed more than once"),
    ("executed_after_expiry", "Executed too late"),
    ("never_reported", "Allowed, and never reported"),
];

#[derive(Template)]
#[template(path = "findings.html")]
struct FindingsPage {
    frame: Frame,
    code: String,
    rows: Vec<FindingRow>,
    next: Option<String>,
}

struct FindingRow {
    class: &'static str,
    title: Shown,
    action: Option<(Shown, String)>,
    agent: Option<Shown>,
    message: Shown,
    decision: Shown,
    when: When,
}

impl FindingsPage {
    fn codes(&self) -> Vec<(&'static str, &'static str, bool)> {
        CODES.iter().map(|(code, name)| (*code, *name, *code == self.code)).collect()
    }
}

/// `GET /ui/findings`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&["code", "after"])?;
    // The sweep of the server runs now and then; the list must not miss what became due since.
    context.decider.find_unreported()?;
    let code = context.parameter("code").unwrap_or_default().to_owned();
    let after = context.parsed::<Cursor>("after", "the place at the end of the page before")?;
    let found = context.store().findings((!code.is_empty()).then_some(code.as_str()), PAGE, after)?;
    let next = found.next.map(|next| address("/ui/findings", &[("code", &code), ("after", &next.to_string())]));
    let rows = found.findings.iter().map(|finding| FindingRow::of(visit, finding)).collect::<Result<_, _>>()?;
    html(&FindingsPage { frame: Frame::of(visit, Here::Findings, "Findings")?, code, rows, next })
}

impl FindingRow {
    fn of(visit: &Visit<'_>, finding: &Finding) -> Result<Self, Problem> {
        let stored = visit.context.store().decision(&finding.decision_id)?;
        let action = stored.as_ref().map(Action::of);
        // A later version may find other things in the same store: they are listed by their codes.
        let name = CODES.iter().find(|(code, _)| *code == finding.code).map(|(_, name)| (*name).to_owned());
        Ok(Self {
            // A report that is missing may still be on its way.
            class: if finding.code == "never_reported" { "wait" } else { "fail" },
            title: Shown::line(&name.unwrap_or_else(|| spaced(&finding.code)), 120),
            agent: action.as_ref().and_then(|action| action.agent.clone()),
            action: action.map(|action| (action.title(), format!("/ui/decisions/{}", encoded(&finding.decision_id)))),
            message: finding.message.as_str().into(),
            decision: Shown::line(&finding.decision_id, 80),
            when: When::full(finding.found_at),
        })
    }
}
