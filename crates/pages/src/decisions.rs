//! `/ui/decisions`: all decisions, newest first.

use askama::Template;
use proofmark_boundary::Outcome;
use proofmark_receipt::Timestamp;
use proofmark_server::context::invalid_parameter;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_store::{Cursor, Decision as StoredDecision, DecisionsWanted, Review, ReviewVerdict};

use super::action::Action;
use super::frame::{Frame, Here};
use super::html::html;
use super::text::Shown;
use super::visit::Visit;
use super::words::{When, address, encoded};

/// How many decisions a page has.
const PAGE: usize = 50;

/// The outcomes, and how they are called here.
const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Allow, "Allowed"),
    (Outcome::AllowWithWarning, "Allowed with a warning"),
    (Outcome::ReplanRequired, "Stopped"),
    (Outcome::GoalFailTerminal, "Stopped for good"),
];

#[derive(Template)]
#[template(path = "decisions.html")]
struct DecisionsPage {
    frame: Frame,
    filters: Filters,
    rows: Vec<DecisionRow>,
    next: Option<String>,
}

struct DecisionRow {
    href: String,
    when: When,
    /// The class, the picture and the word of its tag.
    look: (&'static str, &'static str, &'static str),
    title: Shown,
    why: Option<Shown>,
    agent: Option<Shown>,
    reviews: Vec<Shown>,
}

#[derive(Default)]
struct Filters {
    outcome: String,
    class: Shown,
    agent: Shown,
    tool: Shown,
    since: Shown,
    until: Shown,
}

impl Filters {
    fn of(visit: &Visit<'_>) -> Self {
        let text = |name: &str| visit.context.parameter(name).map(Shown::from).unwrap_or_default();
        Self {
            outcome: visit.context.parameter("outcome").unwrap_or_default().to_owned(),
            class: text("class"),
            agent: text("agent"),
            tool: text("tool"),
            since: text("since"),
            until: text("until"),
        }
    }

    fn wanted(&self, visit: &Visit<'_>) -> Result<DecisionsWanted, Problem> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // An unknown outcome would find nothing and look like an empty store.
        if !self.outcome.is_empty() && Outcome::from_word(&self.outcome).is_none() {
            return Err(invalid_parameter("outcome", "one of the outcomes of the list"));
        }
        Ok(DecisionsWanted {
            outcome: some(&self.outcome),
            class: some(self.class.raw()),
            agent: some(self.agent.raw()),
            tool: some(self.tool.raw()),
            since: day("since", self.since.raw())?,
            // The day that is named is meant as a whole.
            until: day("until", self.until.raw())?.map(|day| day.saturating_add(super::words::DAY)),
            limit: PAGE,
            after: visit.context.parsed::<Cursor>("after", "the place at the end of the page before")?,
            ..DecisionsWanted::default()
        })
    }

    fn is_any(&self) -> bool {
        [&self.class, &self.agent, &self.tool, &self.since, &self.until].iter().any(|text| !text.raw().is_empty())
            || !self.outcome.is_empty()
    }

    fn outcomes(&self) -> Vec<(&'static str, &'static str, bool)> {
        OUTCOMES.map(|(outcome, name)| (outcome.as_str(), name, outcome.as_str() == self.outcome)).to_vec()
    }

    fn address(&self, after: &str) -> String {
        let all = [
            ("outcome", self.outcome.as_str()),
            ("class", self.class.raw()),
            ("agent", self.agent.raw()),
            ("tool", self.tool.raw()),
            ("since", self.since.raw()),
            ("until", self.until.raw()),
            ("after", after),
        ];
        address("/ui/decisions", &all)
    }
}

/// The beginning of a day, in UTC, as a field for dates has it: `2026-11-21`.
pub(crate) fn day(name: &str, text: &str) -> Result<Option<i64>, Problem> {
    if text.is_empty() {
        return Ok(None);
    }
    let time: Result<Timestamp, _> = format!("{text}T00:00:00Z").parse();
    time.map(|time| Some(time.unix_millis())).map_err(|_| invalid_parameter(name, "a day as in 2026-03-01"))
}

/// `GET /ui/decisions`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&["outcome", "class", "agent", "tool", "since", "until", "after"])?;
    let filters = Filters::of(visit);
    let found = context.store().decisions(&filters.wanted(visit)?)?;
    let mut rows = Vec::new();
    for stored in &found.decisions {
        // Most decisions wait for nobody, and then nobody can have reviewed them.
        let reviews = if stored.about.review { context.store().reviews(&stored.decision_id)? } else { Vec::new() };
        rows.push(DecisionRow::of(stored, &reviews));
    }
    let next = found.next.map(|next| filters.address(&next.to_string()));
    html(&DecisionsPage { frame: Frame::of(visit, Here::Decisions, "Decisions")?, filters, rows, next })
}

impl DecisionRow {
    fn of(stored: &StoredDecision, reviews: &[Review]) -> Self {
        let action = Action::in_list(stored);
        Self {
            href: format!("/ui/decisions/{}", encoded(&stored.decision_id)),
            when: When::full(stored.decided_at),
            look: if action.changed.is_some() { CHANGED } else { look(stored) },
            title: action.title(),
            why: action.why(),
            agent: action.agent,
            reviews: reviews.iter().map(review_words).collect(),
        }
    }
}

/// The tag of a row that is not what was signed.
pub(crate) const CHANGED: (&str, &str, &str) = ("fail", "warn", "changed in the store");

/// The class, the picture and the word of a decision's tag.
pub(crate) fn look(stored: &StoredDecision) -> (&'static str, &'static str, &'static str) {
    match (Outcome::from_word(&stored.outcome), stored.about.review) {
        (Some(Outcome::Allow), _) => ("pass", "ok", "allowed"),
        (Some(Outcome::AllowWithWarning), _) => ("wait", "warn", "allowed with a warning"),
        (Some(Outcome::GoalFailTerminal), _) => ("fail", "no", "stopped for good"),
        (Some(Outcome::ReplanRequired) | None, true) => ("wait", "hand", "stopped for a review"),
        (Some(Outcome::ReplanRequired) | None, false) => ("fail", "stop", "stopped"),
    }
}

fn review_words(review: &Review) -> Shown {
    let word = if review.verdict == ReviewVerdict::Approved { "approved" } else { "denied" };
    Shown::line(&format!("{word} by {}: “{}”", review.reviewer, review.note), 160)
}
