//! `/ui/findings`: executions that are not as they were decided.

use askama::Template;
use proofmark_decider::FindingCode;
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
        FindingCode::ALL.map(|code| (code.as_str(), title(code), code.as_str() == self.code)).to_vec()
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
        // A code that only another version knows is shown as it is.
        let code = FindingCode::from_word(&finding.code);
        Ok(Self {
            class: if code == Some(FindingCode::NeverReported) { "wait" } else { "fail" },
            title: Shown::line(&code.map_or_else(|| spaced(&finding.code), |code| title(code).to_owned()), 120),
            agent: action.as_ref().and_then(|action| action.agent.clone()),
            action: action.map(|action| (action.title(), format!("/ui/decisions/{}", encoded(&finding.decision_id)))),
            message: finding.message.as_str().into(),
            decision: Shown::line(&finding.decision_id, 80),
            when: When::full(finding.found_at),
        })
    }
}

/// How what is found is called here.
fn title(code: FindingCode) -> &'static str {
    match code {
        FindingCode::ExecutedBlocked => "Executed though not allowed",
        FindingCode::ExecutedUndecided => "Executed without a decision",
        FindingCode::ExecutedOtherArguments => "Executed with other arguments",
        FindingCode::ExecutedTwice => "Executed more than once",
        FindingCode::ExecutedAfterExpiry => "Executed too late",
        FindingCode::NeverReported => "Allowed, and never reported",
    }
}
