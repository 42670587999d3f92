//! `proofmark session`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_session::SessionDocument;
use proofmark_store::{SessionEntry, Store, StoredSession, Tenant};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::listing::Listing;
use crate::options::{Paging, Since, StoreAt};
use crate::out;
use crate::paint::{Paint, printable};

/// How many entries are read at a time.
const PAGE: usize = 500;

/// List, show and export the sessions that `proofmark guard` and `proofmark hook` recorded
#[derive(Subcommand)]
pub(crate) enum Session {
    /// List sessions, those begun last first
    List(List),
    /// Show what passed in a session: calls, decisions, results
    Show(Show),
    /// Write the signed entries of a session, one per line
    ///
    /// They are one chain, which `proofmark receipt verify --as-chain` checks anywhere, and a trace for `proofmark workflow accept`.
    Export(Export),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  proofmark session list --since 2h\n  proofmark session list --json")]
pub(crate) struct List {
    #[command(flatten)]
    since: Since,
    /// Only of this tenant: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark session show nightly")]
pub(crate) struct Show {
    /// The session
    session: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print the entries as JSON, one per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  proofmark session export nightly > nightly.jsonl
  proofmark session export nightly | proofmark receipt verify - --as-chain")]
pub(crate) struct Export {
    /// The session
    session: String,
    #[command(flatten)]
    store: StoreAt,
}

impl Session {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Session::List(command) => command.run(config),
            Session::Show(command) => command.run(config),
            Session::Export(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let mut page = store.of(&self.tenant).sessions(self.paging.limit.most, self.paging.after)?;
        // Those begun last come first, so the rest is older still.
        if let Some(from) = self.since.from
            && let Some(older) = page.sessions.iter().position(|session| session.begun_at < from)
        {
            page.sessions.truncate(older);
            page.next = None;
        }
        if self.json {
            let mut out = out::stdout();
            page.sessions.iter().try_for_each(|session| out.json(&json(session).to_text()))?;
        } else {
            let mut listing = Listing::new(["BEGUN AT", "LAST AT", "ENTRIES", "SESSION"]);
            for session in &page.sessions {
                let [begun, last] = [session.begun_at, session.last_at].map(Timestamp::from_unix_millis);
                let entries = session.entries.to_string();
                listing.push([
                    begun.as_str().into(),
                    last.as_str().into(),
                    entries.into(),
                    session.session.as_str().into(),
                ]);
            }
            listing.print("no sessions: `proofmark guard` and `proofmark hook` record them")?;
        }
        if let Some(next) = page.next {
            Paging::say_more(next);
        }
        Ok(Exit::Yes)
    }
}

fn json(session: &StoredSession) -> Json {
    object! {
        "session": session.session.as_str(),
        "begun_at": Timestamp::from_unix_millis(session.begun_at).as_str(),
        "last_at": Timestamp::from_unix_millis(session.last_at).as_str(),
        "entries": session.entries,
    }
    .into()
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let (mut out, paint) = (out::stdout(), Paint::for_stdout());
        each(&store, &self.session, |entry| {
            match (self.json, read(&entry)) {
                (true, _) => out.json(&entry.document)?,
                (false, Some(document)) => writeln!(out, "{}", line(&document, paint).trim_end())?,
                (false, None) => writeln!(out, "{} an entry that cannot be read", printable(&entry.kind))?,
            }
            Ok(())
        })
    }
}

impl Export {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let mut out = out::stdout();
        each(&store, &self.session, |entry| Ok(writeln!(out, "{}", entry.document)?))
    }
}

/// The entries of a session as a trace: one per line.
pub(crate) fn trace(store: &Store, session: &str) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    each(store, session, |entry| Ok(writeln!(text, "{}", entry.document)?))?;
    Ok(text)
}

/// Hands over the entries of a session, first to last.
fn each(
    store: &Store,
    session: &str,
    mut take: impl FnMut(SessionEntry) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let store = store.of(&Tenant::LOCAL);
    let mut position = 0;
    loop {
        let entries = store.session_entries(session, position, PAGE)?;
        if entries.is_empty() && position == 0 {
            return Err(with_help(
                format!("read the session `{}`: the store has no such session", printable(session)),
                "list the sessions with `proofmark session list`",
            ));
        }
        let count = entries.len();
        for entry in entries {
            take(entry)?;
        }
        position += count as u64;
        if count < PAGE {
            return Ok(Exit::Yes);
        }
    }
}

fn read(entry: &SessionEntry) -> Option<SessionDocument> {
    SessionDocument::read(Json::parse(entry.document.as_bytes()).ok()?)
}

/// An entry as people read it.
fn line(entry: &SessionDocument, paint: Paint) -> String {
    let text = |name: &str| entry.text(name).map(printable).unwrap_or_default();
    let listed = |name: &str| {
        let items = entry.document().get(name).and_then(Json::as_array).unwrap_or_default();
        let items: Vec<_> = items.iter().filter_map(Json::as_str).map(printable).collect();
        items.join(", ")
    };
    let number = |name: &str| entry.document().get(name).map(Json::to_text).unwrap_or_default();
    let (at, kind) = (text("at"), text("kind"));
    let rest = match entry.text("kind") {
        Some("opened") => {
            let shadow = entry.document().get("shadow").and_then(Json::as_bool) == Some(true);
            let by = if entry.text("host").is_some() { "host" } else { "server" };
            format!("{by} {}{}", text(by), if shadow { ", in shadow mode" } else { "" })
        }
        Some("decided") => {
            let is_true = |name: &str| entry.document().get(name).and_then(Json::as_bool) == Some(true);
            let word = match (is_true("allowed"), is_true("shadowed")) {
                (true, _) => paint.good("allowed"),
                (false, false) => paint.bad("blocked"),
                (false, true) => paint.bad("would be blocked"),
            };
            let what = match entry.text("method") {
                Some("tools/call") | None => text("tool"),
                Some(_) => text("method"),
            };
            format!("{word} {what} {} {}", text("arguments"), paint.dim(&format!("decision {}", text("decision"))))
        }
        Some("result") => {
            let signs = listed("signs");
            let signs = if signs.is_empty() { String::new() } else { format!(" signs of steering: {signs}") };
            let handling = match (text("handling"), text("would")) {
                (handling, _) if handling == "withhold" => " withheld",
                (handling, _) if handling == "mark" => " marked",
                (_, would) if would == "withhold" => " would be withheld",
                (_, would) if would == "mark" => " would be marked",
                _ => "",
            };
            format!("{} {}{}{handling}", text("tool"), text("status"), paint.bad(&signs))
        }
        Some("refused") => text("reason"),
        Some("server") => {
            let (name, version, instructions) = (text("name"), text("version"), text("instructions"));
            let instructions = match instructions.as_str() {
                "" | "pinned" => String::new(),
                state => paint.bad(&format!(" instructions: {state}")),
            };
            format!("{name} {version}{instructions}")
        }
        Some("tools" | "prompts" | "resourceTemplates") => {
            let quarantined = listed("quarantined");
            if quarantined.is_empty() { String::new() } else { format!("quarantined: {quarantined}") }
        }
        Some("changed") => text("list"),
        Some("passed") => format!("{} {}", text("method"), text("arguments")),
        Some("waiting") => paint.dim(&format!("decision {}", text("decision"))),
        Some("policy") => format!("another policy: {}", text("policy_hash")),
        Some("lost") => format!("{} entries that could not be stored", number("entries")),
        Some("cancelled") if entry.text("declined").is_some() => {
            format!("executed: {}; the client answered {}", text("executed"), text("declined"))
        }
        Some("cancelled") => format!("executed: {}", text("executed")),
        Some("ended") => format!("{} {}", text("tool"), text("status")),
        Some("joined") => text("tool"),
        Some("undecided") => format!("{} {} {}", paint.bad("no decision:"), text("tool"), text("arguments")),
        Some("stop") => {
            format!("step {} {} {}", text("step"), text("state"), paint.dim(&format!("receipt {}", text("receipt"))))
        }
        _ => String::new(),
    };
    format!("{at} {kind:<9} {rest}")
}
