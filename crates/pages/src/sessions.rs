//! `/ui/sessions`: what passed between agents and the servers they call, where `proofmark guard` stood between them.

use askama::Template;
use proofmark_decider::{DecideError, ToldRequest, session_entries};
use proofmark_receipt::{Json, Timestamp};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_session::{Event, SessionDocument};
use proofmark_statement::{Bearing, EntryStatement, Kind, Statement, of_entry};
use proofmark_store::{Cursor, SessionEntry};

use super::frame::{Frame, Here};
use super::html::html;
use super::text::Shown;
use super::visit::Visit;
use super::words::{When, address, counted, encoded, number, short_digest, spaced, span};

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
    /// Why nothing counts of what it says.
    wrong: Option<Shown>,
    entries: Vec<EntryRow>,
    next: Option<String>,
    first: Option<String>,
    /// Where a request of the user is recorded.
    address: Option<String>,
}

/// One entry of a session.
struct EntryRow {
    when: When,
    /// `is-pass`, `is-fail`, `is-wait` or nothing.
    class: &'static str,
    word: Shown,
    what: Shown,
    href: Option<String>,
    /// What else it says in a few words.
    tags: Vec<Shown>,
    /// The name of each, how it begins, and the text.
    texts: Vec<(Shown, Shown, Shown)>,
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
    let trusted = context.decider.deciders();
    let wrong = match session_entries(&context.store(), name, &trusted, &mut |_, _| {}) {
        Ok(_) => None,
        Err(DecideError::Session(error)) => {
            Some(Shown::line(&format!("No decision is made on this session: failed to {error}."), 600))
        }
        Err(error) => return Err(error.into()),
    };
    let path = format!("/ui/sessions/{}", encoded(name));
    let (mut entries, mut decided, mut blocked) = (Vec::new(), 0, 0);
    for entry in found.iter().take(ENTRIES) {
        let document = Json::parse(entry.document.as_bytes()).ok().and_then(SessionDocument::read);
        if let Some(Event::Decided(event)) = document.as_ref().and_then(SessionDocument::event) {
            decided += 1;
            blocked += u64::from(!event.was_forwarded());
        }
        entries.push(EntryRow::of(entry, document.as_ref()));
    }
    let page = SessionPage {
        frame: Frame::of(visit, Here::Sessions, format!("Session {}", Shown::line(name, 80).plain()))?,
        name: Shown::line(name, 120),
        lead: format!("{} decided on this page, {} blocked.", counted(decided, "call"), number(blocked)).into(),
        wrong,
        next: (found.len() > ENTRIES).then(|| format!("{path}?from={}", from.saturating_add(ENTRIES as u64))),
        address: Some(path.clone()),
        first: (from > 0).then_some(path),
        entries,
    };
    html(&page)
}

/// `POST /ui/sessions/{name}`: `request`. What the user asked for. Leads back to the session.
pub(crate) fn tell_request(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&[])?;
    let session = context.variable("name");
    if context.store().session_entries(session, 0, 1)?.is_empty() {
        return Err(Problem::not_found("session").help("it does not exist, or belongs to another tenant"));
    }
    // Browsers send each end of a line as two characters.
    let text = visit.form.text("request").replace("\r\n", "\n");
    let (tenant, by) = (&context.caller.tenant, context.caller.id.as_str());
    context.decider.tell_request(&ToldRequest { tenant, session, text: &text, by })?;
    Ok(Reply::see_other(&format!("/ui/sessions/{}", encoded(session))))
}

impl EntryRow {
    fn of(entry: &SessionEntry, document: Option<&SessionDocument>) -> Self {
        let Some(document) = document else {
            return Self {
                when: When::clock(entry.at),
                class: "is-fail",
                word: "damaged".into(),
                what: "This entry cannot be read.".into(),
                href: None,
                tags: Vec::new(),
                texts: Vec::new(),
            };
        };
        // The time that is signed, and not the column beside it.
        let at = document.at().parse::<Timestamp>().map_or(entry.at, |at| at.unix_millis());
        let EntryStatement { word, bearing, what, statements } = of_entry(document);
        let mut row = Self {
            when: When::clock(at),
            class: match bearing {
                Bearing::Good => "is-pass",
                Bearing::Bad => "is-fail",
                Bearing::Open => "is-wait",
                Bearing::Plain => "",
            },
            word: Shown::line(&spaced(&word), 40),
            what: Shown::line(&what, 400),
            href: None,
            tags: Vec::new(),
            texts: Vec::new(),
        };
        statements.into_iter().for_each(|statement| row.take(statement));
        row
    }

    fn take(&mut self, Statement { name, value, kind }: Statement) {
        let name = name.unwrap_or_default();
        match kind {
            // The entry is about one of these, so what it says leads there.
            Kind::Decision => self.href = Some(format!("/ui/decisions/{}", encoded(&value))),
            Kind::Receipt => self.href = Some(format!("/ui/receipts/{}", encoded(&value))),
            Kind::Data | Kind::Legible | Kind::Text => {
                self.texts.push((name.into(), Shown::line(&value, MAX_GIST), cut(&value)))
            }
            Kind::Digest => self.tags.push(Shown::line(&format!("{name}: {}", short_digest(&value)), 200)),
            Kind::Words if name.is_empty() => self.tags.push(Shown::line(&value, 200)),
            Kind::Words => self.tags.push(Shown::line(&format!("{name}: {value}"), 200)),
        }
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
