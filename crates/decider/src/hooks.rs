//! Decides for the hooks of a host: one process for each event, which finds what happened before in the store.
//!
//! A call that has two events, or whose event comes twice, has one decision. What ends is matched with what was decided by the
//! host's name of the call, or by tool and arguments where the host names no calls. A server, which takes the events of many hooks, keeps
//! what it has verified of their sessions ([`KeptSessions`]).

mod calls;
mod kept;
mod links;
mod stop;
mod telling;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use proofmark_boundary::{ActionPolicy, HostTool, ReadCall, Request, ToolCall};
use proofmark_guard::{Block, labels_of, values_in};
use proofmark_hosts::{Call, Ended, Event as Told, Host, Message};
use proofmark_receipt::{Json, Object};
use proofmark_session::{
    Agent, Asked, CallResult, CallStatus, Decided, Entry, Event, Joined, Keep, Kind, MAX_CALLS, Opened, Refused,
    SessionFacts, SubagentName, TextDigest, Undecided, arguments,
};
use proofmark_store::{StoreError, TenantStore};
use proofmark_verifier::clock;

use crate::asked::MAX_REQUEST;
use crate::decide::DecideError;
use crate::decider::Decider;
use crate::finding::{FindingCode, Found};
use crate::session_decider::{Known, Owner, SessionDecider};
use calls::{Calls, HookedCall, Match, arguments_digest, twin_digest};
pub use kept::KeptSessions;
pub use links::followed;
pub use stop::{HostRecord, StepAt, StopError, StopRuling};

const EXECUTED_UNDECIDED: Found =
    Found { code: FindingCode::ExecutedUndecided, message: "it was executed, and no hook was asked about it" };
const TOLD_BY_ANOTHER: Found = Found {
    code: FindingCode::ExecutedUndecided,
    message: "a hook was told of it, and the host's own record does not have it",
};
/// How many of the sessions that were begun last are searched for a subagent.
const MAX_SESSIONS_SEARCHED: usize = 100;

/// What the hooks of a session have in common.
#[derive(Clone, Debug)]
pub struct HookSettings {
    pub owner: Owner,
    pub host: &'static Host,
    /// The name of the session in the store.
    pub session: String,
    pub agent: Option<String>,
    pub environment: Option<String>,
    /// The folder of the agent's project, as the fact `agent.project` has it.
    pub project: Option<String>,
    /// Which start of the host the event comes from.
    pub process: Option<String>,
    /// Whether the start of a host that has this name still runs; `None` where that is not known.
    pub runs: fn(&str) -> Option<bool>,
    pub keep: Keep,
}

/// The hooks of one session.
pub struct Hooks {
    decider: Arc<Decider>,
    settings: HookSettings,
    /// The sessions that are not read from their beginning.
    kept: Option<Arc<KeptSessions>>,
    /// Set when nobody waits for the answer any more: nothing is decided after that.
    stop: Arc<AtomicBool>,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    Ruled(HookRuling),
    Recorded,
    /// Nothing was decided: the decision depends on the host's own record, which was not there.
    NeedsRecord,
}

/// What is said of a call that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookRuling {
    Allowed,
    /// It may not be made; what the model is told.
    Blocked(String),
}

/// What is known of a session.
#[derive(Default)]
struct Seen {
    facts: SessionFacts,
    calls: Calls,
    /// Whether anything is recorded of it but what a person told.
    has_begun: bool,
    /// Which start of the host the session was seen from last.
    process: Option<String>,
    /// The request of the last decision, which the next one has most facts in common with.
    last: Option<Request>,
}

type HookSession = SessionDecider<Seen>;

/// A call that is to be decided.
struct Pending<'a> {
    message: &'a Message,
    call: &'a Call,
    action: Object,
    policy: &'a ActionPolicy,
    began: SystemTime,
}

impl Hooks {
    /// Hooks that decide with `decider`, until `stop` is set.
    #[must_use]
    pub fn new(decider: Arc<Decider>, settings: HookSettings, stop: Arc<AtomicBool>) -> Self {
        Self { decider, settings, kept: None, stop }
    }

    /// Goes on with what is known of the session from earlier events, and keeps that for later ones.
    #[must_use]
    pub fn keeping(self, sessions: Arc<KeptSessions>) -> Self {
        Self { kept: Some(sessions), ..self }
    }

    /// Takes in an event: a call is decided on, and how one ended is recorded. `record` is asked for the host's own record where hooks
    /// are not told how calls end, or were not told. It answers `None` if the caller has not sent the record yet.
    ///
    /// # Errors
    /// [`DecideError`]; a call may not be made then.
    pub fn take(&self, message: &Message, record: &dyn Fn() -> Option<HostRecord>) -> Result<Taken, DecideError> {
        match &message.event {
            Told::Before(call) => self.before(message, call, record),
            Told::After(call, ended) => self.after(message, call, ended).map(|()| Taken::Recorded),
            Told::Asked(request) => self.asked(request).map(|()| Taken::Recorded),
            Told::Stop(_) | Told::Other => Ok(Taken::Recorded),
        }
    }

    /// Records what the user asks for.
    fn asked(&self, request: &str) -> Result<(), DecideError> {
        // What is too long to be recorded is not what a user typed. Without a request, nothing comes from it.
        if request.len() > MAX_REQUEST {
            return Ok(());
        }
        self.in_turn(|session| {
            self.check_sender(session)?;
            // Hosts hand what a subagent or a command has brought to the agent as if the user had typed it, within a tag.
            let event = if request.trim_start().starts_with('<') {
                Event::Told(proofmark_session::Told { method: "prompt".to_owned() })
            } else {
                Event::Asked(Asked { text: request.to_owned(), told_by: self.settings.host.name.to_owned() })
            };
            let entries = self.entries(session, None, event);
            session.append(&entries)
        })
    }

    fn is_to_compare(&self, session: &HookSession) -> bool {
        let (record, calls) = (&self.settings.host.record, &session.known.calls);
        (record.alone_has_exit_codes() && calls.any_unsettled()) || (record.form().is_some() && calls.any_open())
    }

    /// Decides on a call. The decision is on disk when it returns.
    ///
    /// # Errors
    /// [`DecideError`]; the call may not be made then.
    fn before(
        &self,
        message: &Message,
        call: &Call,
        record: &dyn Fn() -> Option<HostRecord>,
    ) -> Result<Taken, DecideError> {
        let began = SystemTime::now();
        let Owner { tenant, asker } = &self.settings.owner;
        let policy = self.decider.policy_for(tenant, asker)?;
        let pending = Pending { message, call, action: self.action(&policy, message, call), policy: &policy, began };
        self.in_turn(|session| self.before_in(session, &pending, record))
    }

    fn before_in(
        &self,
        session: &mut HookSession,
        pending: &Pending<'_>,
        record: &dyn Fn() -> Option<HostRecord>,
    ) -> Result<Taken, DecideError> {
        let Pending { message, call, .. } = *pending;
        self.check_sender(session)?;
        if self.is_to_compare(session) {
            let Some(record) = record() else { return Ok(Taken::NeedsRecord) };
            if self.settings.host.record.alone_has_exit_codes() {
                self.compare(session, &record)?;
            } else {
                self.note_lost(session, &record)?;
            }
            session.catch_up()?;
        }
        let ruling = session.settled(|session| {
            let Seen { facts, calls, .. } = &session.known;
            match calls.decided(message, call, &self.decider.now()).cloned() {
                Some(decided) => self.joined(session, call, &decided),
                None if facts.is_full() => {
                    let why = format!("This session has had {MAX_CALLS} calls. Start a new one.");
                    Ok(HookRuling::Blocked(Block::without_decision("session_full", &why).text))
                }
                None => self.decide(session, pending),
            }
        })?;
        Ok(Taken::Ruled(ruling))
    }

    /// Records how a call ended.
    ///
    /// # Errors
    /// When it cannot be stored.
    fn after(&self, message: &Message, call: &Call, ended: &Ended) -> Result<(), DecideError> {
        self.in_turn(|session| self.after_in(session, message, call, ended))
    }

    fn after_in(
        &self,
        session: &mut HookSession,
        message: &Message,
        call: &Call,
        ended: &Ended,
    ) -> Result<(), DecideError> {
        self.check_sender(session)?;
        let decided = match session.known.calls.to_end(message, call) {
            Match::Of(decided) => Some(decided.clone()),
            // The other event about the call says more.
            Match::Twin => return Ok(()),
            Match::Nothing => None,
        };
        let text = ended.response.to_text();
        let labels = labels_of(&ended.response);
        let (excerpt, whole) = self.settings.keep.of(&text);
        let origins = self.labelled(session, call, ended);
        let result = CallResult {
            origins,
            call: call.id.clone(),
            tool: call.tool.clone(),
            server: call.server.clone(),
            decision: decided.as_ref().map(|decided| decided.decision.clone()),
            status: Some(ended.status),
            signs: labels.iter().map(|label| (*label).to_owned()).collect(),
            result: TextDigest::of(&text),
            excerpt,
            text: whole,
            ..CallResult::default()
        };
        let hooked = decided.clone();
        let found = match decided {
            _ if !ended.status.may_have_acted() => None,
            Some(decided) if decided.allowed => None,
            Some(decided) => Some((decided.decision, Found::BLOCKED)),
            None => Some((call.id.clone().unwrap_or_else(|| call.host_tool.clone()), EXECUTED_UNDECIDED)),
        };
        let mut entries = self.entries(session, None, Event::Result(result));
        if found.is_some() {
            entries.push(self.entry(Event::Undecided(Undecided {
                call: call.id.clone(),
                tool: Some(call.tool.clone()),
                host_tool: call.host_tool.clone(),
                ..undecided(&call.args, ended.status)
            })));
        }
        session.append(&entries)?;
        self.tell_ended(message, call, hooked.as_ref(), ended.status);
        found.map_or(Ok(()), |(what, found)| self.find(&what, found))
    }

    /// The labels of what a call brought, where the policy asks for them. Without a policy, or a decision on the call, there are none.
    fn labelled(&self, session: &mut HookSession, call: &Call, ended: &Ended) -> Option<Object> {
        let Owner { tenant, asker } = &self.settings.owner;
        let policy = self.decider.policy_for(tenant, asker).ok().filter(|policy| policy.asks_for_origins())?;
        let facts = &mut session.known.facts;
        let request = facts.task().map(str::to_owned);
        let read = ReadCall { tool: &call.tool, server: call.server.as_deref(), args: Some(&call.args) };
        let failed = ended.status == CallStatus::Failed;
        let values = values_in(&ended.response);
        Some(policy.labelled(&read, &values, request.as_deref(), facts.origins(), failed).to_object())
    }

    /// The action that a call is.
    fn action(&self, policy: &ActionPolicy, message: &Message, call: &Call) -> Object {
        let named =
            ToolCall { tool: &call.tool, server: call.server.as_deref(), args: &call.args, said_to_change: false };
        let mut action = if call.mcp {
            policy.action_of(&named)
        } else {
            let host = HostTool { name: &call.host_tool, class: call.class, target: call.target.as_deref() };
            policy.action_of_host(&named, &host)
        };
        action.insert("source", "hook");
        action.insert("surface", if call.mcp { "mcp" } else { "host" });
        let paths = call.paths.clone();
        // What a command does depends on where it runs, so an approval is of the call in this folder. Files that are known are
        // absolute.
        if let Some(folder) = message.cwd.as_deref().filter(|_| !call.mcp && paths.is_none()) {
            action.insert("cwd", folder);
        }
        if let Some(paths) = paths {
            action.insert("paths", paths.into_iter().map(Json::from).collect::<Vec<_>>());
        }
        action
    }

    fn decide(&self, session: &mut HookSession, pending: &Pending<'_>) -> Result<HookRuling, DecideError> {
        let HookSettings { agent: id, environment, process, .. } = self.settings.clone();
        let agent = Agent { id, environment, process };
        let policy = pending.policy;
        let seen = &mut session.known.facts;
        let origins = policy.asks_for_origins().then(|| seen.origins_of(&pending.action, policy.asks_for_pieces()));
        let mut facts = seen.facts(pending.action.clone(), &agent, &self.settings.session);
        if let Some(origins) = origins {
            facts.insert("origins", origins);
        }
        if let (Some(project), Some(Json::Object(agent))) = (&self.settings.project, facts.get_mut("agent")) {
            agent.insert("project", project.as_str());
        }
        let request = match &session.known.last {
            Some(last) => last.followed_by(facts),
            None => Request::from_facts(facts),
        };
        let request = request.map_err(|error| DecideError::Facts(error.to_string()))?;
        session.known.last = Some(request.clone());
        let opened = self.opened(session, Some(pending.policy));
        let receipt = session.decide(&request, &|decision, allowed| {
            let process = self.settings.process.clone();
            let decided = Decided { decision: Some(decision.to_owned()), allowed, process, ..recorded(pending) };
            opened.iter().cloned().chain([self.entry(Event::Decided(decided))]).collect()
        })?;
        if receipt.disposition().allows() {
            return Ok(HookRuling::Allowed);
        }
        self.tell_blocked(pending.message, pending.call, &receipt, pending.began);
        Ok(HookRuling::Blocked(Block::by(&receipt, None).text))
    }

    /// What was decided on this very call already. An event that is the second one about it is counted.
    fn joined(&self, session: &mut HookSession, call: &Call, decided: &HookedCall) -> Result<HookRuling, DecideError> {
        if call.id.is_none() {
            let joined = Event::Joined(Joined { tool: call.tool.clone(), decision: decided.decision.clone() });
            // Not after what others have appended meanwhile: that may be the same second event.
            session.submit(&[self.entry(joined)])?;
        }
        if decided.allowed {
            return Ok(HookRuling::Allowed);
        }
        let receipt = self.decider.stored(&self.settings.owner.tenant, &decided.decision)?;
        Ok(HookRuling::Blocked(Block::by(&receipt, None).text))
    }

    /// The event as an entry, after the entry that begins the session where it is the first of this start of the host.
    fn entries(&self, session: &HookSession, policy: Option<&ActionPolicy>, event: Event) -> Vec<Entry> {
        self.opened(session, policy).into_iter().chain([self.entry(event)]).collect()
    }

    /// The entry that begins the session, or goes on with it after the host was started again; none where there is one.
    fn opened(&self, session: &HookSession, policy: Option<&ActionPolicy>) -> Option<Entry> {
        if session.known.has_begun && session.known.process == self.settings.process {
            return None;
        }
        Some(self.entry(Event::Opened(Opened {
            host: Some(self.settings.host.name.to_owned()),
            agent: self.settings.agent.clone(),
            environment: self.settings.environment.clone(),
            policy_hash: policy.map(|policy| policy.hash().to_string()),
            process: self.settings.process.clone(),
            ..Opened::default()
        })))
    }

    /// Refuses an event that another process sends than the host of this session, which still runs.
    fn check_sender(&self, session: &mut HookSession) -> Result<(), DecideError> {
        let host = session.known.process.as_deref().filter(|host| self.settings.process.as_deref() != Some(host));
        if host.and_then(self.settings.runs) != Some(true) {
            return Ok(());
        }
        let error = DecideError::NotFromHost;
        session.append(&[self.entry(Event::Refused(Refused { reason: error.to_string() }))])?;
        Err(error)
    }

    fn entry(&self, event: Event) -> Entry {
        Entry { at: self.decider.now().to_string(), event }
    }

    fn store(&self) -> TenantStore<'_> {
        self.decider.store().of(&self.settings.owner.tenant)
    }

    /// Works in the session when it is the turn of this event.
    fn in_turn<T>(&self, work: impl FnOnce(&mut HookSession) -> Result<T, DecideError>) -> Result<T, DecideError> {
        let HookSettings { owner, session, .. } = &self.settings;
        let _turn = match &self.kept {
            Some(kept) => Some(kept.turn(&owner.tenant, session, &self.stop).ok_or(DecideError::Stopped)?),
            None => None,
        };
        self.in_session(work)
    }

    /// Works in the session. What is known of it afterwards is kept, unless the work fails.
    fn in_session<T, E: From<DecideError>>(&self, work: impl FnOnce(&mut HookSession) -> Result<T, E>) -> Result<T, E> {
        let HookSettings { owner, session, .. } = self.settings.clone();
        let (decider, stop) = (Arc::clone(&self.decider), Arc::clone(&self.stop));
        let verified = self.kept.as_ref().and_then(|kept| kept.take(&owner.tenant, &session));
        let mut opened = match verified {
            Some(verified) => SessionDecider::reopen(decider, owner, session, verified, stop),
            None => SessionDecider::open(decider, owner, session, Seen::default(), stop),
        }?;
        let done = work(&mut opened)?;
        if let (Some(kept), Some(verified)) = (&self.kept, opened.into_verified()) {
            kept.put(&self.settings.owner.tenant, &self.settings.session, verified);
        }
        Ok(done)
    }

    fn find(&self, what: &str, found: Found) -> Result<(), DecideError> {
        let finding = found.about(what, &clock::now_in(self.decider.store())?);
        self.store().submit(finding).wait()?;
        Ok(())
    }
}

impl Known for Seen {
    const KINDS: &'static [Kind] = &calls::KINDS;

    fn take_in(&mut self, entry: &Entry) {
        self.facts.take_in(entry);
        self.calls.take_in(entry);
        // What a person tells may come before the host begins.
        self.has_begun |= !matches!(entry.event, Event::Asked(_));
        match &entry.event {
            // Guards of the same session have others.
            Event::Opened(Opened { host: Some(_), process, .. }) => self.process.clone_from(process),
            Event::Decided(decided) if decided.source.as_deref() == Some("hook") => {
                self.process.clone_from(&decided.process);
            }
            _ => {}
        }
    }

    fn appended(&mut self, entry: &Entry) {
        self.take_in(entry);
    }
}

/// The session of an agent that `parent` has started: that of `parent`, which may itself be a subagent. What happened in it are
/// facts for all of its agents.
fn session_of_subagent(store: &TenantStore<'_>, prefix: &str, host: &Host, parent: &str) -> Result<String, StoreError> {
    let name = format!("{prefix}{host}-{parent}");
    if !store.session_entries(&name, 0, 1)?.is_empty() {
        return Ok(name);
    }
    let (begin, written) = (format!("{prefix}{host}-"), Json::from(parent).to_text());
    let recent = store.sessions(MAX_SESSIONS_SEARCHED, None)?.sessions;
    for session in recent.into_iter().map(|listed| listed.session).filter(|session| session.starts_with(&begin)) {
        let mut is_there = false;
        // What is found here is verified when the session is opened.
        store.session_since(&session, 0, &mut |document| {
            // Few entries are read: the host waits.
            let entry = document.contains(&written).then(|| Json::parse(document.as_bytes()).ok()).flatten();
            let entry = entry.and_then(|entry| Entry::read(entry.as_object()?));
            if let Some(Entry { event: Event::Decided(decided), .. }) = entry {
                is_there |= decided.subagent.is_some_and(|subagent| subagent.id == parent);
            }
            if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_there {
            return Ok(session);
        }
    }
    Ok(name)
}

/// The name of the session that an event belongs to: the one given, else that of the host and its session. `prefix` is how the names
/// of its owner's sessions begin. `None` where neither names one.
///
/// # Errors
/// When the store cannot be read.
pub fn session_of(
    store: &TenantStore<'_>,
    prefix: &str,
    host: &Host,
    message: &Message,
    given: Option<&str>,
) -> Result<Option<String>, StoreError> {
    match (given, &message.parent, &message.session) {
        (Some(given), _, _) => Ok(Some(format!("{prefix}{given}"))),
        (None, Some(parent), _) => session_of_subagent(store, prefix, host, parent).map(Some),
        // Two hosts may give one name to their sessions.
        (None, None, Some(session)) => Ok(Some(format!("{prefix}{host}-{session}"))),
        (None, None, None) => Ok(None),
    }
}

/// What the model is told of a call on which nothing could be decided, and why.
#[must_use]
pub fn not_executed(why: &str) -> String {
    Block::without_decision("policy_unavailable", why).text
}

/// A call with these arguments that was made without a decision that allows it.
fn undecided(args: &Json, status: CallStatus) -> Undecided {
    Undecided {
        arguments: arguments(args),
        status: Some(status),
        message: arguments_digest(args),
        ..Undecided::default()
    }
}

/// What is recorded of a decision whatever it is.
fn recorded(pending: &Pending<'_>) -> Decided {
    let Pending { message, call, .. } = pending;
    let subagent = message.subagent.as_ref();
    Decided {
        call: call.id.clone(),
        host_tool: Some(call.host_tool.clone()),
        server: call.server.clone(),
        turn: message.turn.clone(),
        subagent: subagent.map(|one| SubagentName { id: one.id.clone(), kind: one.kind.clone() }),
        twin: call.twin.as_deref().map(twin_digest),
        message: arguments_digest(&call.args),
        ..Decided::of(Some(&pending.action))
    }
}
