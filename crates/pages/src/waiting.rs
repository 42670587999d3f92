//! `/ui/waiting`: the decisions that wait for a review, those that have waited longest first.

use askama::Template;
use axum::http::header;
use proofmark_server::own_roles;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_store::{Cursor, QueueFilter, Review, ReviewVerdict, WaitingDecision, WaitingWanted};
use serde::Serialize;

use super::action::Action;
use super::frame::{Frame, Here};
use super::html::html;
use super::passkey;
use super::text::Shown;
use super::visit::Visit;
use super::words::{DAY, When, address, ago, encoded, number, span, spelled};

/// How many decisions a page has.
const PAGE: usize = 50;
/// How many reviews of a day are looked at.
const MAX_REVIEWS: usize = 1_000;

/// The parameters that narrow the list.
pub(crate) const FILTERS: [&str; 6] = ["find", "role", "agent", "environment", "amount", "whose"];

#[derive(Template)]
#[template(path = "waiting.html")]
struct WaitingPage {
    frame: Frame,
    heading: String,
    lead: String,
    narrowing: Narrowing,
    rows: Vec<WaitingRow>,
    next: Option<String>,
    /// The place of the newest that waits: what comes later is new.
    seen: String,
    said: Option<Said>,
    today: Option<String>,
    /// How many wait for others, and where they are shown.
    others: Option<(String, String)>,
    /// Where only what the visitor can approve is shown.
    own: Option<String>,
}

struct WaitingRow {
    href: String,
    title: Shown,
    gist: Shown,
    why: Option<Shown>,
    agent: Option<Shown>,
    environment: Option<Shown>,
    asked: u64,
    roles: Vec<Shown>,
    waited: String,
    since: When,
}

/// The filters of the list, as the address has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Narrowing {
    pub(crate) find: Option<Shown>,
    pub(crate) role: Option<Shown>,
    pub(crate) agent: Option<Shown>,
    pub(crate) environment: Option<Shown>,
    pub(crate) amount: Option<Shown>,
    /// The roles in which the visitor can approve; none where everybody's decisions are shown.
    mine: Option<Vec<String>>,
    /// Whether the visitor can choose between their own and everybody's.
    pub(crate) has_own: bool,
    /// What can be chosen.
    pub(crate) roles: Vec<Shown>,
    pub(crate) agents: Vec<Shown>,
    pub(crate) environments: Vec<Shown>,
}

/// A review that was just given, for the page after it.
pub(crate) struct Said {
    pub(crate) approved: bool,
    pub(crate) title: Shown,
    pub(crate) href: String,
}

impl Narrowing {
    pub(crate) fn of(visit: &Visit<'_>) -> Self {
        let text = |name: &str| visit.context.parameter(name).filter(|text| !text.is_empty()).map(Shown::from);
        let own = roles_of_visitor(visit);
        let has_own = !own.is_empty();
        let everybodys = visit.context.parameter("whose") == Some("all");
        Self {
            find: text("find"),
            role: text("role"),
            agent: text("agent"),
            environment: text("environment"),
            amount: text("amount").filter(|amount| amount.raw().parse::<f64>().is_ok_and(f64::is_finite)),
            mine: (has_own && !everybodys).then_some(own),
            has_own,
            ..Self::default()
        }
    }

    /// As [`Narrowing::of`], for what the visitor can approve.
    fn of_visitor(visit: &Visit<'_>) -> Self {
        Self { mine: Some(roles_of_visitor(visit)), ..Self::of(visit) }
    }

    pub(crate) fn wanted(&self) -> WaitingWanted {
        let text = |text: &Option<Shown>| text.as_ref().map(|text| text.raw().to_owned());
        WaitingWanted {
            text: text(&self.find),
            role: text(&self.role),
            agent: text(&self.agent),
            filter: QueueFilter {
                roles: self.mine.clone(),
                environment: text(&self.environment),
                amount: self.amount.as_ref().and_then(|amount| amount.raw().parse().ok()),
            },
            ..WaitingWanted::default()
        }
    }

    pub(crate) fn is_any(&self) -> bool {
        self.find.is_some()
            || self.role.is_some()
            || self.agent.is_some()
            || self.environment.is_some()
            || self.amount.is_some()
    }

    /// Whether only what the visitor can approve is shown.
    pub(crate) fn is_mine(&self) -> bool {
        self.mine.is_some()
    }

    /// The same without regard to who can approve.
    fn of_everybody(&self) -> Self {
        Self { mine: None, ..self.clone() }
    }

    /// The address of a page with these filters and this parameter more.
    pub(crate) fn address(&self, path: &str, more: Option<(&str, &str)>) -> String {
        let filters = [
            ("find", &self.find),
            ("role", &self.role),
            ("agent", &self.agent),
            ("environment", &self.environment),
            ("amount", &self.amount),
        ];
        let filters = filters.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?.raw())));
        // What is shown by default is not in the address.
        let whose = (self.has_own && self.mine.is_none()).then_some(("whose", "all"));
        address(path, &filters.chain(whose).chain(more).collect::<Vec<_>>())
    }

    fn is_role(&self, role: &Shown) -> bool {
        self.role.as_ref() == Some(role)
    }

    fn is_environment(&self, environment: &Shown) -> bool {
        self.environment.as_ref() == Some(environment)
    }

    fn is_agent(&self, agent: &Shown) -> bool {
        self.agent.as_ref() == Some(agent)
    }

    /// Offers what the rows have, and what is chosen.
    fn offer(&mut self, rows: &[WaitingRow], own: &[String]) {
        let roles = rows.iter().flat_map(|row| row.roles.iter().cloned());
        let roles = own.iter().map(|role| role.as_str().into()).chain(roles).chain(self.role.clone());
        self.roles = each_once(roles);
        let environments = rows.iter().filter_map(|row| row.environment.clone());
        self.environments = each_once(environments.chain(self.environment.clone()));
        self.agents = each_once(rows.iter().filter_map(|row| row.agent.clone()).chain(self.agent.clone()));
    }
}

/// The roles in which the visitor can approve: those of their API key, those that the policy gives them, and those in which a passkey
/// counts here. None where nobody is signed in.
fn roles_of_visitor(visit: &Visit<'_>) -> Vec<String> {
    if visit.token.is_none() {
        return Vec::new();
    }
    own_roles(&visit.context).into_iter().chain(passkey::roles(visit)).collect()
}

fn each_once(all: impl Iterator<Item = Shown>) -> Vec<Shown> {
    // This is not a set: the visitor's own roles come first, and stay there.
    let mut once: Vec<Shown> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// `GET /ui/waiting`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&[&FILTERS[..], &["after", "said"]].concat())?;
    let (store, now) = (context.store(), visit.now);
    let mut narrowing = Narrowing::of(visit);
    let after = context.parsed::<Cursor>("after", "the place at the end of the page before")?;
    let wanted = narrowing.wanted();
    let (found, more) = store.waiting(&WaitingWanted { after, ..wanted.clone() }, PAGE)?;
    let count = store.waiting_count(&wanted)?;
    // The script asks what came after this place, so that only what is new is announced.
    let newest = store.waiting(&WaitingWanted { before: Some(Cursor::LAST), ..wanted }, 1)?.0;
    let next = found.last().filter(|_| more).map(|last| last.place.to_string());
    let next = next.map(|place| narrowing.address("/ui/waiting", Some(("after", &place))));
    let rows: Vec<_> = found.iter().map(|one| WaitingRow::of(one, &narrowing, now)).collect();
    // After the rows: what is offered is what would find something, and the visitor's own roles.
    narrowing.offer(&rows, &context.caller.roles);
    let all = narrowing.of_everybody();
    let others = if narrowing.is_mine() { store.waiting_count(&all.wanted())?.saturating_sub(count) } else { 0 };
    let others = (others > 0).then(|| (number(others), all.address("/ui/waiting", None)));
    let own =
        (narrowing.has_own && !narrowing.is_mine()).then(|| Narrowing::of_visitor(visit).address("/ui/waiting", None));
    let frame = Frame::of(
        visit,
        Here::Waiting,
        match count {
            0 => "Waiting".to_owned(),
            count => format!("({}) Waiting", number(count)),
        },
    )?;
    let may_review = frame.who.as_ref().is_some_and(|who| who.may_review);
    let reviews = store.reviews_since(now.saturating_sub(DAY), MAX_REVIEWS)?;
    let page = WaitingPage {
        heading: heading(count, may_review, narrowing.is_any()),
        lead: lead(visit, &found, count)?,
        narrowing,
        rows,
        next,
        seen: newest.first().map(|one| one.place.to_string()).unwrap_or_default(),
        said: said(visit)?,
        today: today(&reviews),
        others,
        own,
        frame,
    };
    html(&page)
}

fn heading(count: u64, may_review: bool, narrowed: bool) -> String {
    let whom = if may_review { "for you" } else { "for a reviewer" };
    match (count, narrowed) {
        // The words are not "Nothing waits": a filter must not hide from a reviewer that there is work.
        (0, true) => "Nothing that waits matches".to_owned(),
        (0, false) => "Nothing waits".to_owned(),
        (1, _) => format!("One decision waits {whom}"),
        (count, _) => format!("{} decisions wait {whom}", spelled(count)),
    }
}

/// The sentence under the heading.
fn lead(visit: &Visit<'_>, found: &[WaitingDecision], count: u64) -> Result<String, Problem> {
    if let Some(longest) = found.first().filter(|_| visit.context.parameter("after").is_none()) {
        let waited = span(visit.now.saturating_sub(longest.since));
        let which = if count == 1 { "It has" } else { "The longest has" };
        return Ok(format!("{which} waited {waited}. Agents stand still until somebody approves or denies."));
    }
    // On a later page the first is not the one that has waited longest.
    if count > 0 {
        return Ok("Those that have waited longest come first.".to_owned());
    }
    let last = visit.context.store().reviews_since(i64::MIN, 1)?;
    Ok(match last.first() {
        Some((review, _)) => {
            let who = Shown::line(&review.reviewer, 64).plain();
            format!("The last review was by {who}, {}.", ago(visit.now, review.reviewed_at))
        }
        None => "No decision has been reviewed yet.".to_owned(),
    })
}

/// What reviewers did within a day.
fn today(reviews: &[(Review, i64)]) -> Option<String> {
    let approved = reviews.iter().filter(|(review, _)| review.verdict == ReviewVerdict::Approved).count() as u64;
    let denied = (reviews.len() as u64).saturating_sub(approved);
    let mut waits: Vec<i64> = reviews.iter().map(|(review, decided)| review.reviewed_at - decided).collect();
    // The median, because one decision over a weekend would move a mean by hours.
    waits.sort_unstable();
    let median = span(*waits.get(waits.len() / 2)?);
    let at_least = if reviews.len() == MAX_REVIEWS { "at least " } else { "" };
    let (approved, denied) = (number(approved), number(denied));
    Some(format!("In 24 hours: {at_least}{approved} approved, {denied} denied, median wait {median}."))
}

/// The review that led to this page, which the address names.
pub(crate) fn said(visit: &Visit<'_>) -> Result<Option<Said>, Problem> {
    let Some(id) = visit.context.parameter("said") else { return Ok(None) };
    let store = visit.context.store();
    let Some(stored) = store.decision(id)? else { return Ok(None) };
    let reviews = store.reviews(id)?;
    // Only a review of the visitor: the address can be sent to somebody else.
    let own = reviews.iter().rev().find(|review| review.reviewer == visit.context.caller.id);
    Ok(own.map(|review| Said {
        approved: review.verdict == ReviewVerdict::Approved,
        title: Action::of(&stored).title(),
        href: format!("/ui/decisions/{}", encoded(id)),
    }))
}

impl WaitingRow {
    fn of(waiting: &WaitingDecision, narrowing: &Narrowing, now: i64) -> Self {
        let action = Action::in_list(&waiting.decision);
        let path = format!("/ui/decisions/{}", encoded(&waiting.decision.decision_id));
        Self {
            href: narrowing.address(&path, None),
            title: action.title(),
            gist: action.gist(),
            why: action.why(),
            environment: action.environment(),
            asked: waiting.asked,
            roles: action.roles().iter().map(|role| Shown::line(role, 64)).collect(),
            waited: span(now.saturating_sub(waiting.since)),
            since: When::full(waiting.since),
            agent: action.agent,
        }
    }
}

#[derive(Serialize)]
struct Count {
    /// How many wait.
    waiting: u64,
    /// How many of them came after the place that the page has seen.
    new: u64,
}

/// `GET /ui/waiting/count`: what a page that is open asks, to say that there is more.
pub(crate) fn count(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[&FILTERS[..], &["seen"]].concat())?;
    let (store, wanted) = (visit.context.store(), Narrowing::of(visit).wanted());
    let seen = visit.context.parameter("seen").filter(|seen| !seen.is_empty());
    let after = seen.and_then(|seen| seen.parse::<Cursor>().ok());
    let waiting = store.waiting_count(&wanted)?;
    let new = match seen {
        Some(_) => store.waiting_count(&WaitingWanted { after, ..wanted })?,
        // Nothing waited when the page was made.
        None => waiting,
    };
    let count = Count { waiting, new };
    // An old count would hide what waits.
    Ok(Reply::json(&count)?.header(header::CACHE_CONTROL, "no-store"))
}
