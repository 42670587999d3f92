//! `/ui/sessions`: what passed between agents and the servers they call, where `proofmark guard` stood between them.

use askama::Template;
use proofmark_receipt::{Json, Timestamp};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_session::{CallResult, CallStatus, Decided, Event, Executed, SessionDocument};
use proofmark_store::{Cursor, SessionEntry};

use super::frame::{Frame, Here};
use super::html::html;
use super::text::Shown;
use super::visit::Visit;
use super::words::{When, address, counted, encoded, number, spaced, span};

/// How many sessions a page has.
const PAGE: usize = 50;
/// How many entries of a session a page has.
const ENTRIES: usize = 200;
/// The longest arguments and results on the page, in characters; the record has the whole.
const MAX_TEXT: usize = 2_000;
/// The same on the line that is always shown.
const MAX_GIST: usize = 160;

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: Frame,
    rows: Vec<SessionRow>,
    next: Option<String>,
}

struct SessionRow {
    href: String,
    name: Shown,
    begun: When,
    lasted: String,
    entries: String,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: Frame,
    name: Shown,
    lead: Shown,
    entries: Vec<EntryRow>,
    next: Option<String>,
    first: Option<String>,
}

/// One entry of a session.
struct EntryRow {
    when: When,
    /// `is-pass`, `is-fail`, `is-wait` or nothing.
    class: &'static str,
    word: &'static str,
    what: Shown,
    href: Option<String>,
    /// Signs of text that tries to steer the agent.
    signs: Vec<Shown>,
    /// The name of each, how it begins, and the text.
    texts: Vec<(&'static str, Shown, Shown)>,
}

/// `GET /ui/sessions`.
pub(crate) fn list(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&["after"])?;
    let after = visit.context.parsed::<Cursor>("after", "the place at the end of the page before")?;
    let found = visit.context.store().sessions(PAGE, after)?;
    let rows = found.sessions.iter().map(|session| SessionRow {
        href: format!("/ui/sessions/{}", encoded(&session.session)),
        name: Shown::line(&session.session, 120),
        begun: When::full(session.begun_at),
        lasted: span(session.last_at.saturating_sub(session.begun_at)),
        entries: format!("{} entr{}", number(session.entries), if session.entries == 1 { "y" } else { "ies" }),
    });
    let next = found.next.map(|next| address("/ui/sessions", &[("after", &next.to_string())]));
    html(&SessionsPage { frame: Frame::of(visit, Here::Sessions, "Sessions")?, rows: rows.collect(), next })
}

/// `GET /ui/sessions/{name}`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&["from"])?;
    let name = context.variable("name");
    let from = context.parsed::<u64>("from", "the position of an entry")?.unwrap_or_default();
    // One more than is shown tells whether there is another page.
    let found = context.store().session_entries(name, from, ENTRIES + 1)?;
    // Behind the last entry there is an empty page, and no error.
    if found.is_empty() && from == 0 {
        return Err(Problem::not_found("session").help("it does not exist, or belongs to another tenant"));
    }
    let path = format!("/ui/sessions/{}", encoded(name));
    let entries: Vec<_> = found.iter().take(ENTRIES).map(EntryRow::of).collect();
    let decided = entries.iter().filter(|entry| entry.href.is_some()).count() as u64;
    let blocked = entries.iter().filter(|entry| entry.word == "blocked").count() as u64;
    let page = SessionPage {
        frame: Frame::of(visit, Here::Sessions, format!("Session {}", Shown::line(name, 80).plain()))?,
        name: Shown::line(name, 120),
        lead: format!("{} decided on this page, {} blocked.", counted(decided, "call"), number(blocked)).into(),
        next: (found.len() > ENTRIES).then(|| format!("{path}?from={}", from.saturating_add(ENTRIES as u64))),
        first: (from > 0).then_some(path),
        entries,
    };
    html(&page)
}

impl EntryRow {
    fn of(entry: &SessionEntry) -> Self {
        let read = Json::parse(entry.document.as_bytes()).ok().and_then(SessionDocument::read);
        let Some(document) = read else {
            // A row that says so, because a page without it would look complete.
            return Self::plain(entry.at, "is-fail", "damaged", "This entry cannot be read.".into());
        };
        // The time that is signed, and not the column beside it.
        let at = document.at().parse::<Timestamp>().map_or(entry.at, |at| at.unix_millis());
        let plain = |class, word, what: &str| Self::plain(at, class, word, Shown::line(what, 400));
        match document.event() {
            Some(Event::Decided(event)) => decided(at, &event),
            Some(Event::Result(event)) => result(at, &event),
            Some(Event::Opened(opened)) => {
                let (by, name) = opened.host.map_or(("server", opened.server), |host| ("host", Some(host)));
                Self::plain(at, "", "opened", Shown::line(&format!("{by} {}", name.unwrap_or_default()), 160))
            }
            Some(Event::Closed(_)) => plain("", "closed", "The session ended."),
            Some(Event::Refused(refused)) => plain("is-fail", "refused", &refused.reason),
            Some(Event::Cancelled(cancelled)) => {
                let executed = match (cancelled.declined, cancelled.executed) {
                    (Some(_), _) => "The user of the client declined the call while it waited.",
                    (None, Executed::No) => "The call was cancelled before the server saw it.",
                    (None, Executed::Unknown) => "The call was cancelled; whether it was executed is not known.",
                };
                plain("is-wait", "cancelled", executed)
            }
            Some(Event::Tools(listed)) if listed.quarantined.is_empty() => {
                plain("", "noted", "The server listed its tools; all are as they were pinned.")
            }
            Some(Event::Tools(listed)) => {
                let names = listed.quarantined.join(", ");
                plain("", "noted", &format!("The server listed its tools. Not passed on: {names}"))
            }
            // A later version may record other kinds; their names are shown, so that none is hidden.
            Some(_) | None => plain("", "noted", &spaced(document.kind())),
        }
    }

    fn plain(at: i64, class: &'static str, word: &'static str, what: Shown) -> Self {
        Self { when: When::clock(at), class, word, what, href: None, signs: Vec::new(), texts: Vec::new() }
    }
}

fn decided(at: i64, decided: &Decided) -> EntryRow {
    let (class, word) = match (decided.allowed, decided.was_forwarded()) {
        (true, _) => ("is-pass", "allowed"),
        (false, true) => ("is-wait", "passed on in shadow mode"),
        (false, false) => ("is-fail", "blocked"),
    };
    let what = match decided.method.as_deref() {
        Some("tools/call") | None => decided.tool.as_deref().unwrap_or_default(),
        Some(method) => method,
    };
    let arguments = decided.arguments.as_deref();
    EntryRow {
        href: decided.decision.as_ref().map(|id| format!("/ui/decisions/{}", encoded(id))),
        texts: arguments.map(|text| ("arguments", Shown::line(text, MAX_GIST), cut(text))).into_iter().collect(),
        ..EntryRow::plain(at, class, word, Shown::line(what, 160))
    }
}

fn result(at: i64, result: &CallResult) -> EntryRow {
    let signs: Vec<_> = result.signs.iter().map(|sign| Shown::line(&spaced(sign), 60)).collect();
    let kept = result.text.as_deref().or(result.excerpt.as_deref()).filter(|text| !text.is_empty());
    let word = if result.status == Some(CallStatus::Failed) { "failed" } else { "result" };
    let class = if signs.is_empty() { "" } else { "is-fail" };
    EntryRow {
        texts: kept.map(|kept| ("result", Shown::line(kept, MAX_GIST), cut(kept))).into_iter().collect(),
        signs,
        ..EntryRow::plain(at, class, word, Shown::line(&result.tool, 160))
    }
}

/// The beginning of a long text.
fn cut(text: &str) -> Shown {
    let mut characters = text.chars();
    let mut begin: String = characters.by_ref().take(MAX_TEXT).collect();
    if characters.next().is_some() {
        begin.push_str(" …");
    }
    begin.into()
}
