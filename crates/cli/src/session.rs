//! `proofmark session`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use proofmark_decider::{Decider, ToldRequest, session_entries};
use proofmark_evidence::{Capability, Signers};
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_session::{SessionChain, SessionDocument};
use proofmark_statement::{Bearing, EntryStatement, Kind, Statement, of_entry};
use proofmark_store::{SessionEntry, Store, StoredSession, Tenant};

use crate::config::Config;
use crate::error::{CommandError, with_help};
use crate::exit::Exit;
use crate::guard::request;
use crate::listing::Listing;
use crate::options::{Paging, Period, Signing, Since, StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::session_export::Exported;

/// How many entries are read at a time.
const PAGE: usize = 500;

/// List, show and export the sessions that `proofmark guard` and `proofmark hook` recorded
#[derive(Subcommand)]
pub(crate) enum Session {
    /// List sessions, most recently begun first
    List(List),
    /// Show what happened in a session: calls, decisions, results
    Show(Show),
    /// Write the signed entries of a session, one per line
    ///
    /// They are one chain, which `proofmark receipt verify --as-chain` checks anywhere, and a trace for `proofmark workflow accept`.
    Export(Export),
    /// Record what the user asked for, so that rules may ask whether a value comes from it
    ///
    /// For sessions of this machine's own guards and hooks. A server is told at `POST /v1/sessions/requests`, or on the page of the session.
    Ask(Ask),
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark session ask nightly --request request.txt")]
pub(crate) struct Ask {
    /// The session, which may not have begun yet
    session: String,
    /// What the user has asked the agent for, as a text file that the agent cannot write
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
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
  proofmark session export nightly | proofmark receipt verify - --as-chain
  proofmark session export nightly --as runtime-trace > trace.intoto.json
  proofmark session export nightly --as mcp-audit > audit.jsonl
  proofmark session export nightly --as ocsf --since 1h > events.jsonl

Exit codes: 0 the session was exported; 1 decisions on its calls are not what was signed, and are left out; 2 the session
cannot be verified.")]
pub(crate) struct Export {
    /// The session
    session: String,
    /// The format: the signed entries, or what readers of another format take
    #[arg(long = "as", value_enum, default_value_t = Form::Entries, value_name = "FORM")]
    form: Form,
    #[command(flatten)]
    period: Period,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The entries as they are stored, which are a chain
    Entries,
    /// A Runtime Trace of in-toto, in a DSSE envelope
    RuntimeTrace,
    /// Audit records as MCP proposes them (SEP-3004), each with the hash of the one before
    McpAudit,
    /// Events of OCSF 1.5.0, one per line: each call as an API Activity, and what was blocked as a Detection Finding, too
    Ocsf,
}

impl Session {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Session::List(command) => command.run(config),
            Session::Show(command) => command.run(config),
            Session::Export(command) => command.run(config),
            Session::Ask(command) => command.run(config),
        }
    }
}

impl Ask {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let text = request(&self.request)?;
        let (key, store) = (self.signing.key(config)?, self.store.open(config)?);
        let trusted = self.trusting.signers(config)?;
        let decider = Arc::new(Decider::for_command_line(None, key, store, trusted));
        let told = ToldRequest { tenant: &Tenant::LOCAL, session: &self.session, text: &text, by: "command line" };
        decider.tell_request(&told).map_err(|error| CommandError::new(error.to_string(), error.help()))?;
        out::note(format_args!("recorded the request in the session `{}`", printable(&self.session)));
        Ok(Exit::Yes)
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let mut page = store.of(&self.tenant).sessions(self.paging.limit, self.paging.after)?;
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
                (false, Some(document)) => writeln!(out, "{}", line(&document, paint))?,
                (false, None) => writeln!(out, "{} an entry that cannot be read", printable(&entry.kind))?,
            }
            Ok(())
        })?;
        drop(out);
        check(&store, &self.session, config)
    }
}

impl Export {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (since, until) = (self.period.since.from, self.period.until);
        if self.form != Form::Ocsf && (since.is_some() || until.is_some()) {
            return Err(with_help(
                "export a part of the session: only events of OCSF can be read without the others",
                "write `--as ocsf`, or leave `--since` and `--until` out",
            ));
        }
        let store = self.store.open_existing(config)?;
        if self.form == Form::Entries {
            let mut out = out::stdout();
            each(&store, &self.session, |entry| Ok(writeln!(out, "{}", entry.document)?))?;
            drop(out);
            return check(&store, &self.session, config);
        }
        let trusted = config.known_signers()?.trusted(&[])?;
        let of_tenant = store.of(&Tenant::LOCAL);
        let (mut exported, mut added) = (Exported::new(&of_tenant, trusted.signers()), Ok(()));
        // A session that does not count is not exported, nor is anything that was not verified with it.
        let count = session_entries(&of_tenant, &self.session, trusted.signers(), &mut |entry, _| {
            if added.is_ok() {
                added = exported.add(&self.session, entry);
            }
        })?;
        added?;
        if count == 0 {
            return Err(unknown(&self.session));
        }
        let unverified = exported.unverified().to_vec();
        let records = match self.form {
            Form::McpAudit => exported.audit_records()?,
            Form::Ocsf => exported.ocsf_events(since, until),
            Form::RuntimeTrace | Form::Entries => {
                exported.runtime_trace(&self.signing.key(config)?).into_iter().collect()
            }
        };
        let mut out = out::stdout();
        records.iter().try_for_each(|record| out.json(&record.to_text()))?;
        drop(out);
        for why in &unverified {
            out::note(format_args!("exported without its decision: {}", printable(why)));
        }
        Ok(if unverified.is_empty() { Exit::Yes } else { Exit::No })
    }
}

/// Whether what was shown counts, once all is shown.
fn check(store: &Store, session: &str, config: &Config) -> anyhow::Result<Exit> {
    let trusted = config.known_signers()?.trusted(&[])?;
    session_entries(&store.of(&Tenant::LOCAL), session, trusted.signers(), &mut |_, _| {})?;
    Ok(Exit::Yes)
}

/// The entries of a session as a trace: one per line. One of `trusted` has signed the last.
pub(crate) fn trace(store: &Store, session: &str, trusted: &Signers) -> anyhow::Result<Vec<u8>> {
    let mut text = String::new();
    let count = session_entries(&store.of(&Tenant::LOCAL), session, trusted, &mut |entry, _| {
        text.push_str(entry);
        text.push('\n');
    })?;
    if count == 0 { Err(unknown(session)) } else { Ok(text.into_bytes()) }
}

/// Verifies a trace where it is an export of a session, as a session of the store is verified.
pub(crate) fn check_export(bytes: &[u8], trusted: &Signers) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let first = lines.peek().and_then(|line| SessionDocument::read(Json::parse(line.as_bytes()).ok()?));
    let Some(first) = first else { return Ok(()) };
    let mut chain = SessionChain::new(first.session());
    lines.try_for_each(|line| chain.add(line).map(drop))?;
    let end = chain.tip().cloned();
    let trusted = trusted.of(Capability::Decision, chain.last_at().as_ref());
    Ok(chain.end(end.as_ref(), &trusted)?)
}

fn unknown(session: &str) -> anyhow::Error {
    with_help(
        format!("read the session `{}`: the store has no such session", printable(session)),
        "list the sessions with `proofmark session list`",
    )
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
            return Err(unknown(session));
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
    let EntryStatement { word, bearing, what, statements } = of_entry(entry);
    let word = printable(&word);
    let word = match bearing {
        Bearing::Good => paint.good(&word),
        Bearing::Bad => paint.bad(&word),
        Bearing::Open => paint.warning(&word),
        Bearing::Plain => word,
    };
    let mut line = format!("{} {word} {}", printable(entry.at()), printable(&what)).trim_end().to_owned();
    for Statement { name, value, kind } in &statements {
        let value = printable(value);
        let named = name.as_ref().map_or_else(|| value.clone(), |name| format!("{name}: {value}"));
        match kind {
            Kind::Words => line += &format!("; {named}"),
            Kind::Digest | Kind::Receipt | Kind::Decision => line += &format!("; {}", paint.dim(&named)),
            Kind::Data | Kind::Legible => line += &format!(" {value}"),
            // The export has it.
            Kind::Text => {}
        }
    }
    line
}
