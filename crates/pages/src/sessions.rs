//! `/ui/sessions`: what passed between agents and the servers they call, where `proofmark guard` stood between them.

use askama::Template;
use proofmark_receipt::{Json, Object, Timestamp};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_session::SessionDocument;
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
    let entries: Vec<_> = found.iter().take(ENTRIES).filter_map(EntryRow::of).collect();
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
    /// None for an entry that cannot be read.
    fn of(entry: &SessionEntry) -> Option<Self> {
        let read = Json::parse(entry.document.as_bytes()).ok().and_then(SessionDocument::read);
        let Some(document) = read else {
            return Some(Self::plain(entry.at, "is-fail", "damaged", "This entry cannot be read.".into()));
        };
        let at = document.text("at").and_then(|at| at.parse::<Timestamp>().ok());
        let at = at.map_or(entry.at, |at| at.unix_millis());
        let text = |name: &str| document.text(name).unwrap_or_default();
        Some(match entry.kind.as_str() {
            "decided" => decided(at, document.document()),
            "result" => result(at, document.document()),
            "opened" => Self::plain(at, "", "opened", Shown::line(&format!("server {}", text("server")), 160)),
            "closed" => Self::plain(at, "", "closed", "The session ended.".into()),
            "refused" => Self::plain(at, "is-fail", "refused", Shown::line(text("reason"), 400)),
            "cancelled" => {
                let executed = match text("executed") {
                    _ if !text("declined").is_empty() => "The user of the client declined the call while it waited.",
                    "no" => "The call was cancelled before the server saw it.",
                    _ => "The call was cancelled; whether it was executed is not known.",
                };
                Self::plain(at, "is-wait", "cancelled", executed.into())
            }
            other => Self::plain(at, "", "noted", Shown::line(&listing(other, document.document()), 400)),
        })
    }

    fn plain(at: i64, class: &'static str, word: &'static str, what: Shown) -> Self {
        Self { when: When::clock(at), class, word, what, href: None, signs: Vec::new(), texts: Vec::new() }
    }
}

/// What a list of tools, or something else that passed, says in one line.
fn listing(kind: &str, document: &Object) -> String {
    let quarantined = document.get("quarantined").and_then(Json::as_array).unwrap_or_default();
    let names: Vec<_> = quarantined.iter().filter_map(Json::as_str).collect();
    match (kind, names.is_empty()) {
        ("tools", true) => "The server listed its tools; all are as they were pinned.".to_owned(),
        ("tools", false) => format!("The server listed its tools. Not passed on: {}", names.join(", ")),
        (other, _) => spaced(other),
    }
}

fn decided(at: i64, document: &Object) -> EntryRow {
    let text = |name: &str| document.get(name).and_then(Json::as_str).unwrap_or_default();
    let is_true = |name: &str| document.get(name).and_then(Json::as_bool) == Some(true);
    let (class, word) = match (is_true("allowed"), is_true("shadowed")) {
        (true, _) => ("is-pass", "allowed"),
        (false, true) => ("is-wait", "passed on in shadow mode"),
        (false, false) => ("is-fail", "blocked"),
    };
    let what = match (text("method"), text("tool")) {
        ("tools/call" | "", tool) => tool.to_owned(),
        (method, _) => method.to_owned(),
    };
    let id = text("decision");
    let arguments = text("arguments");
    EntryRow {
        href: (!id.is_empty()).then(|| format!("/ui/decisions/{}", encoded(id))),
        texts: if arguments.is_empty() {
            Vec::new()
        } else {
            vec![("arguments", Shown::line(arguments, MAX_GIST), cut(arguments))]
        },
        ..EntryRow::plain(at, class, word, Shown::line(&what, 160))
    }
}

fn result(at: i64, document: &Object) -> EntryRow {
    let text = |name: &str| document.get(name).and_then(Json::as_str).unwrap_or_default();
    let signs = document.get("signs").and_then(Json::as_array).unwrap_or_default();
    let signs: Vec<_> = signs.iter().filter_map(Json::as_str).map(|sign| Shown::line(&spaced(sign), 60)).collect();
    let kept = [text("text"), text("excerpt")].into_iter().find(|text| !text.is_empty());
    let failed = text("status") == "failed";
    let class = if !signs.is_empty() { "is-fail" } else { "" };
    EntryRow {
        signs,
        texts: kept.map(|kept| ("result", Shown::line(kept, MAX_GIST), cut(kept))).into_iter().collect(),
        ..EntryRow::plain(at, class, if failed { "failed" } else { "result" }, Shown::line(text("tool"), 160))
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
