//! Entries of guarded sessions: what happened, in a line.

use proofmark_session::{CallResult, CallStatus, Cancelled, Decided, Event, Listed, Opened, SessionDocument};

use crate::{Kind, Statement};

/// What an entry of a session says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryStatement {
    /// What happened, in a word or two; the kind of an entry that only another version knows.
    pub word: String,
    pub bearing: Bearing,
    /// What it happened to.
    pub what: String,
    pub statements: Vec<Statement>,
}

/// What an entry means for the person who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    Good,
    Bad,
    /// Something is to be done, or is not known.
    Open,
    Plain,
}

/// What an entry says happened.
#[must_use]
pub fn of_entry(entry: &SessionDocument) -> EntryStatement {
    match entry.event() {
        Some(event) => of_event(event),
        None => EntryStatement::new(entry.kind(), Bearing::Plain, ""),
    }
}

fn of_event(event: Event) -> EntryStatement {
    let kind = event.kind().as_str();
    let plain = |what: String| EntryStatement::new(kind, Bearing::Plain, what);
    let bad = |what: String| EntryStatement::new(kind, Bearing::Bad, what);
    match event {
        Event::Opened(opened) => of_opened(opened),
        Event::Server(server) => {
            let what = spaced(&[server.name.as_deref(), server.version.as_deref()]);
            // Pinned, or none: nothing to tell.
            match server.instructions.filter(|state| !matches!(state.as_str(), "" | "pinned")) {
                Some(state) => bad(what).with("instructions", Kind::Words, Some(state)),
                None => plain(what),
            }
        }
        Event::Tools(listed) | Event::Prompts(listed) | Event::Templates(listed) => of_list(kind, &listed),
        Event::Changed(changed) => plain(changed.list),
        Event::Policy(policy) => plain(String::new()).with("another policy", Kind::Digest, Some(policy.policy_hash)),
        Event::Asked(asked) => plain(String::new()).with("request of the user", Kind::Data, Some(asked.text)),
        Event::Told(told) => plain(told.method),
        Event::Passed(passed) => plain(passed.method).with("arguments", Kind::Data, passed.arguments),
        Event::Decided(decided) => of_decided(decided),
        Event::Waiting(waiting) => EntryStatement::new(kind, Bearing::Open, "for an approval").with(
            "decision",
            Kind::Decision,
            Some(waiting.decision),
        ),
        Event::Result(result) => of_result(kind, result),
        Event::Ended(ended) => plain(spaced(&[Some(&ended.tool), ended.status.map(CallStatus::as_str)])).with(
            "decision",
            Kind::Decision,
            Some(ended.decision),
        ),
        Event::Joined(joined) => plain(joined.tool).with("decision", Kind::Decision, Some(joined.decision)),
        Event::Undecided(undecided) => {
            let tool = undecided.tool.unwrap_or(undecided.host_tool);
            EntryStatement::new("no decision", Bearing::Bad, tool).with("arguments", Kind::Data, undecided.arguments)
        }
        Event::Cancelled(cancelled) => of_cancelled(kind, cancelled),
        Event::Refused(refused) => bad(refused.reason),
        Event::Stop(stop) => {
            plain(format!("step {} {}", stop.step, stop.state)).with("receipt", Kind::Receipt, stop.receipt)
        }
        Event::Lost(lost) => bad(format!("{} entries that could not be stored", lost.entries)),
        Event::Closed(closed) => plain(closed.server.map_or_else(String::new, |server| format!("server {server}"))),
    }
}

fn of_opened(opened: Opened) -> EntryStatement {
    let what = match opened.host {
        Some(host) => format!("host {host}"),
        None => spaced(&[Some("server"), opened.server.as_deref()]),
    };
    let shadow = if opened.shadow == Some(true) { ", in shadow mode" } else { "" };
    EntryStatement::new("opened", Bearing::Plain, what + shadow)
}

fn of_list(kind: &str, listed: &Listed) -> EntryStatement {
    let what = format!("{} listed", listed.listed);
    if listed.quarantined.is_empty() {
        return EntryStatement::new(kind, Bearing::Plain, what);
    }
    EntryStatement::new(kind, Bearing::Bad, what).with("quarantined", Kind::Words, Some(listed.quarantined.join(", ")))
}

fn of_decided(decided: Decided) -> EntryStatement {
    let (word, bearing) = match (decided.allowed, decided.was_forwarded()) {
        (true, _) => ("allowed", Bearing::Good),
        (false, true) => ("would be blocked", Bearing::Open),
        (false, false) => ("blocked", Bearing::Bad),
    };
    let what = match decided.method.as_deref() {
        Some("tools/call") | None => decided.tool,
        Some(_) => decided.method,
    };
    EntryStatement::new(word, bearing, what.unwrap_or_default())
        .with("arguments", Kind::Data, decided.arguments)
        // Several guards can have one session.
        .with("server", Kind::Words, decided.server)
        .with("decision", Kind::Decision, decided.decision)
}

fn of_result(kind: &str, result: CallResult) -> EntryStatement {
    let bearing = if result.signs.is_empty() { Bearing::Plain } else { Bearing::Bad };
    let signs = (!result.signs.is_empty()).then(|| result.signs.join(", "));
    let handling = match (result.handling.as_deref(), result.would.as_deref()) {
        (Some("withhold"), _) => Some("withheld"),
        (Some("mark"), _) => Some("marked"),
        (_, Some("withhold")) => Some("would be withheld"),
        (_, Some("mark")) => Some("would be marked"),
        _ => None,
    };
    let text = result.text.or(result.excerpt).filter(|text| !text.is_empty());
    EntryStatement::new(kind, bearing, spaced(&[Some(&result.tool), result.status.map(CallStatus::as_str)]))
        .with("signs of steering", Kind::Words, signs)
        .with_value(handling)
        .with("result", Kind::Text, text)
}

fn of_cancelled(kind: &str, cancelled: Cancelled) -> EntryStatement {
    EntryStatement::new(kind, Bearing::Open, "")
        .with("executed", Kind::Words, Some(cancelled.executed.as_str().to_owned()))
        .with("the client answered", Kind::Words, cancelled.declined)
        .with("decision", Kind::Decision, cancelled.decision)
}

/// The words that there are, behind each other.
fn spaced(words: &[Option<&str>]) -> String {
    words.iter().flatten().copied().collect::<Vec<_>>().join(" ")
}

impl EntryStatement {
    fn new(word: &str, bearing: Bearing, what: impl Into<String>) -> Self {
        Self { word: word.to_owned(), bearing, what: what.into(), statements: Vec::new() }
    }

    /// With what else it says. What is absent makes no statement.
    fn with(mut self, name: &str, kind: Kind, value: Option<String>) -> Self {
        self.statements.extend(value.map(|value| Statement { name: Some(name.to_owned()), value, kind }));
        self
    }

    /// As [`EntryStatement::with`], of a value that needs no name.
    fn with_value(mut self, value: Option<&str>) -> Self {
        self.statements.extend(value.map(|value| Statement { name: None, value: value.to_owned(), kind: Kind::Words }));
        self
    }
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::Json;

    use super::*;

    /// An entry of each kind, as they are stored.
    const ENTRIES: &str = include_str!("../../session/tests/entries.jsonl");

    fn line(entry: &str) -> String {
        let document = SessionDocument::read(Json::parse(entry.as_bytes()).unwrap()).unwrap();
        let EntryStatement { word, bearing, what, statements } = of_entry(&document);
        let names: Vec<_> = statements.iter().map(|one| one.name.as_deref().unwrap_or(&one.value)).collect();
        format!("{bearing:?} {word}: {what} [{}]", names.join(", "))
    }

    #[test]
    fn an_entry_of_each_kind_says_what_happened() {
        let lines: Vec<_> = ENTRIES.lines().map(line).collect();
        let expected = [
            "Plain opened: server files, in shadow mode []",
            "Plain opened: host claude []",
            "Plain server: files 1 []",
            "Bad tools: 4 listed [quarantined]",
            "Plain prompts: 0 listed []",
            "Plain resourceTemplates: 1 listed []",
            "Plain changed: tools []",
            "Plain policy:  [another policy]",
            "Plain passed: resources/list [arguments]",
            "Open would be blocked: write_file [arguments, decision]",
            "Good allowed: shell [arguments, server, decision]",
            "Open waiting: for an approval [decision]",
            "Bad result: write_file succeeded [signs of steering, withheld, result]",
            "Plain result: shell failed [result]",
            "Plain ended: shell failed [decision]",
            "Plain joined: shell [decision]",
            "Bad no decision: shell [arguments]",
            "Open cancelled:  [executed, the client answered, decision]",
            "Open cancelled:  [executed]",
            "Bad refused: it is not an object []",
            "Plain stop: step build accepted [receipt]",
            "Bad lost: 12 entries that could not be stored []",
            "Plain closed: server files []",
            "Plain asked:  [request of the user]",
            "Plain told: notifications/message []",
        ];
        assert_eq!(lines, expected, "{}", lines.join("\n"));
    }

    #[test]
    fn an_entry_of_another_version_is_named_by_its_kind() {
        let known = ENTRIES.lines().next().unwrap();
        assert_eq!(line(&known.replace("\"opened\"", "\"renamed\"")), "Plain renamed:  []");
    }
}
