//! Decides for the hooks of a host: one process for each event, which finds what happened before in the store.
//!
//! A call that has two events, or whose event comes twice, has one decision. What ends is matched with what was decided by the
//! host's name of the call, or by tool and arguments where the host names no calls.

mod calls;
mod links;
mod stop;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proofmark_boundary::{ActionPolicy, HostTool, Request, ToolCall};
use proofmark_evidence::CallStatus;
use proofmark_guard::{Agent, Block, Event, Keep, MAX_ARGUMENTS, MAX_CALLS, Session, digest, labels_of, strings};
use proofmark_hosts::{Call, Ended, Host, Message};
use proofmark_receipt::{Json, Object, object};
use proofmark_store::{Finding, Store, StoreError, Tenant};

use crate::decide::DecideError;
use crate::decider::{Asked, Decider, MAX_RACES};
use crate::session_log::{self, Entry, SessionLog};
use calls::{Calls, HookedCall, Match, arguments_digest, twin_digest};
use proofmark_verifier::clock;
pub use stop::{HostRecord, StepAt, StopError, StopRuling};

/// A call that ran though it was blocked, as a finding.
const EXECUTED_BLOCKED: (&str, &str) = ("executed_blocked", "it was executed though it was not allowed");
/// A call that ran and that no hook was asked about, as a finding.
const EXECUTED_UNDECIDED: (&str, &str) = ("executed_undecided", "it was executed, and no hook was asked about it");
/// How many of the sessions that were begun last are searched for a subagent.
const MAX_SESSIONS_SEARCHED: usize = 100;
/// The most characters of a host's name of a call that are stored with a finding.
const MAX_CALL_ID: usize = 200;

/// What the hooks of a session have in common.
#[derive(Clone, Debug)]
pub struct HookSettings {
    pub host: &'static Host,
    /// The name of the session in the store.
    pub session: String,
    pub agent: Option<String>,
    pub environment: Option<String>,
    /// The folder of the agent's project, as the fact `agent.project` has it.
    pub project: Option<String>,
    pub keep: Keep,
}

/// The hooks of one session.
pub struct Hooks {
    decider: Decider,
    settings: HookSettings,
    /// Set when nobody waits for the answer any more: nothing is decided after that.
    stop: Arc<AtomicBool>,
}

/// What is said of a call that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookRuling {
    Allowed,
    /// It may not be made; what the model is told.
    Blocked(String),
}

/// What is known of a session.
struct Known {
    log: SessionLog,
    session: Session,
    calls: Calls,
}

/// A call that is to be decided.
struct Pending<'a> {
    message: &'a Message,
    call: &'a Call,
    action: Object,
    policy: &'a ActionPolicy,
}

impl Hooks {
    /// Hooks that decide with `decider`, until `stop` is set.
    #[must_use]
    pub fn new(decider: Decider, settings: HookSettings, stop: Arc<AtomicBool>) -> Self {
        Self { decider, settings, stop }
    }

    /// Decides on a call. The decision is on disk when it returns. `transcript` is asked for where hooks are not told how calls
    /// end.
    ///
    /// # Errors
    /// [`DecideError`]; the call may not be made then.
    pub fn before(
        &self,
        message: &Message,
        call: &Call,
        transcript: &dyn Fn() -> HostRecord,
    ) -> Result<HookRuling, DecideError> {
        let policy = self.decider.policy().ok_or(DecideError::NoPolicy)?;
        let pending = Pending { message, call, action: self.action(&policy, message, call), policy: &policy };
        let mut known = self.known()?;
        if self.settings.host.record.alone_has_exit_codes() && known.calls.any_unsettled() {
            self.compare(&mut known, &transcript())?;
            known.catch_up(self)?;
        }
        for _ in 0..MAX_RACES {
            let decided = match known.calls.decided(message, call, &self.decider.now()).cloned() {
                Some(decided) => self.joined(&mut known, call, &decided),
                None if known.session.is_full() => {
                    let why = format!("This session has had {MAX_CALLS} calls. Start a new one.");
                    return Ok(HookRuling::Blocked(Block::without_decision("session_full", &why).text));
                }
                None => self.decide(&known, &pending),
            };
            match decided {
                // Another process has decided or recorded something meanwhile, which is a fact here.
                Err(error) if session_log::has_moved(&error) => known.catch_up(self)?,
                decided => return decided,
            }
        }
        Err(DecideError::Raced)
    }

    /// Records how a call ended.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn after(&self, message: &Message, call: &Call, ended: &Ended) -> Result<(), DecideError> {
        let mut known = self.known()?;
        let decided = match known.calls.to_end(message, call) {
            Match::Of(decided) => Some(decided.clone()),
            // The other event about the call says more.
            Match::Twin => return Ok(()),
            Match::Nothing => None,
        };
        let text = ended.response.to_text();
        let labels = labels_of(&ended.response);
        let mut members = object! {
            "call"?: call.id.clone(),
            "tool": call.tool.as_str(),
            "server"?: call.server.clone(),
            "decision"?: decided.as_ref().map(|decided| decided.decision.clone()),
            "status": ended.status.as_str(),
            "signs": strings(labels.iter().map(|label| (*label).to_owned())),
            "result": digest(&text),
        };
        for (name, value) in self.settings.keep.of(&text).iter() {
            members.insert(name, value.clone());
        }
        let found = match decided {
            _ if !ended.status.may_have_acted() => None,
            Some(decided) if decided.allowed => None,
            Some(decided) => Some((decided.decision, EXECUTED_BLOCKED)),
            None => Some((call.id.clone().unwrap_or_else(|| call.host_tool.clone()), EXECUTED_UNDECIDED)),
        };
        let mut entries = self.entries(&known, None, Event::new("result", members));
        if found.is_some() {
            let undecided = undecided(call.id.as_deref(), (&call.tool, &call.host_tool), &call.args, ended.status);
            entries.push(self.entry(undecided));
        }
        known.log.append(&self.decider, &entries, &mut |_| {})?;
        found.map_or(Ok(()), |(what, code)| self.find(&what, code))
    }

    /// The action that a call is.
    fn action(&self, policy: &ActionPolicy, message: &Message, call: &Call) -> Object {
        let named =
            ToolCall { tool: &call.tool, server: call.server.as_deref(), args: &call.args, said_to_change: false };
        let mut action = match call.mcp {
            true => policy.action_of(&named),
            false => {
                let host = HostTool { name: &call.host_tool, class: call.class, target: call.target.as_deref() };
                policy.action_of_host(&named, &host)
            }
        };
        action.insert("surface", if call.mcp { "mcp" } else { "host" });
        let project = self.settings.project.as_deref();
        let paths = call.paths.as_ref().and_then(|paths| links::followed(paths, project));
        // What a command does depends on where it runs, so an approval is of the call in this folder. Files that are known are
        // absolute.
        if let Some(folder) = message.cwd.as_deref().filter(|_| !call.mcp && paths.is_none()) {
            action.insert("cwd", folder);
        }
        if let Some(paths) = paths {
            action.insert("paths", strings(paths));
        }
        action
    }

    fn decide(&self, known: &Known, pending: &Pending<'_>) -> Result<HookRuling, DecideError> {
        let agent = Agent { id: self.settings.agent.clone(), environment: self.settings.environment.clone() };
        let mut facts = known.session.facts(pending.action.clone(), &agent, &self.settings.session);
        if let (Some(project), Some(Json::Object(agent))) = (&self.settings.project, facts.get_mut("agent")) {
            agent.insert("project", project.as_str());
        }
        let request = Request::from_facts(facts).map_err(|error| DecideError::Facts(error.to_string()))?;
        let asked =
            Asked { request: &request, tenant: &Tenant::LOCAL, candidate: None, replayable: None, stop: &self.stop };
        let receipt = self.decider.decide_with(&asked, &|decision, allowed| {
            let event = Event::decided(Some(&pending.action), Some(&decision), allowed, members(pending));
            let entries = self.entries(known, Some(pending.policy), event);
            Ok(vec![known.log.entries(&self.decider, &entries, Some(decision))?.into()])
        })?;
        Ok(match receipt.disposition().allows() {
            true => HookRuling::Allowed,
            false => HookRuling::Blocked(Block::by(&receipt, None).text),
        })
    }

    /// What was decided on this very call already. An event that is the second one about it is counted.
    fn joined(&self, known: &mut Known, call: &Call, decided: &HookedCall) -> Result<HookRuling, DecideError> {
        if call.id.is_none() {
            let joined =
                Event::new("joined", object! { "tool": call.tool.as_str(), "decision": decided.decision.as_str() });
            // Not after what others have appended meanwhile: that may be the same second event.
            let entries = known.log.entries(&self.decider, &[self.entry(joined)], None)?;
            self.decider.store().of(&Tenant::LOCAL).submit(entries).wait()?;
        }
        if decided.allowed {
            return Ok(HookRuling::Allowed);
        }
        let receipt = self.decider.stored(&Tenant::LOCAL, &decided.decision)?;
        Ok(HookRuling::Blocked(Block::by(&receipt, None).text))
    }

    /// The event as an entry, after the entry that begins the session where there is none yet.
    fn entries(&self, known: &Known, policy: Option<&ActionPolicy>, event: Event) -> Vec<Entry> {
        let opened = object! {
            "host": self.settings.host.name,
            "agent"?: self.settings.agent.clone(),
            "environment"?: self.settings.environment.clone(),
            "policy_hash"?: policy.map(|policy| policy.hash().to_string()),
        };
        let opened = known.log.is_empty().then(|| Event::new("opened", opened));
        opened.into_iter().chain([event]).map(|event| self.entry(event)).collect()
    }

    fn entry(&self, event: Event) -> Entry {
        Entry::new(event, &self.decider.now())
    }

    fn known(&self) -> Result<Known, DecideError> {
        let log = SessionLog::new(self.settings.session.clone());
        let mut known = Known { log, session: Session::default(), calls: Calls::default() };
        known.catch_up(self)?;
        Ok(known)
    }

    fn find(&self, what: &str, (code, message): (&str, &str)) -> Result<(), DecideError> {
        let finding = Finding {
            decision_id: what.chars().take(MAX_CALL_ID).collect(),
            code: code.to_owned(),
            message: message.to_owned(),
            found_at: clock::now_in(self.decider.store())?.unix_millis(),
        };
        self.decider.store().of(&Tenant::LOCAL).submit(finding).wait()?;
        Ok(())
    }
}

impl Known {
    /// Takes in entries that were just written.
    fn take_in(&mut self, entries: &[Entry]) {
        for entry in entries {
            let entry = entry.to_object();
            self.session.take_in(&entry);
            self.calls.take_in(&entry);
        }
    }

    fn catch_up(&mut self, hooks: &Hooks) -> Result<(), DecideError> {
        let Self { log, session, calls } = self;
        log.catch_up(hooks.decider.store(), &calls::KINDS, &mut |entry| {
            session.take_in(entry);
            calls.take_in(entry);
        })
    }
}

/// The session of an agent that `parent` has started: that of `parent`, which may itself be a subagent. What happened in it are
/// facts for all of its agents.
///
/// # Errors
/// When the store cannot be read.
pub fn session_of_subagent(store: &Store, host: &Host, parent: &str) -> Result<String, StoreError> {
    let (store, name) = (store.of(&Tenant::LOCAL), format!("{host}-{parent}"));
    if !store.session_entries(&name, 0, 1)?.is_empty() {
        return Ok(name);
    }
    let (begin, written) = (format!("{host}-"), Json::from(parent).to_text());
    let recent = store.sessions(MAX_SESSIONS_SEARCHED, None)?.sessions;
    for session in recent.into_iter().map(|listed| listed.session).filter(|session| session.starts_with(&begin)) {
        let mut is_there = false;
        store.session_since((&session, 0), &["decided"], &mut |document| {
            // Few entries are read: the host waits.
            let entry = document.contains(&written).then(|| Json::parse(document.as_bytes()).ok()).flatten();
            let subagent =
                entry.as_ref().and_then(|entry| entry.as_object()?.get("subagent")?.as_object()?.get("id")?.as_str());
            is_there |= subagent == Some(parent);
        })?;
        if is_there {
            return Ok(session);
        }
    }
    Ok(name)
}

/// What the model is told of a call on which nothing could be decided, and why.
#[must_use]
pub fn not_executed(why: &str) -> String {
    Block::without_decision("policy_unavailable", why).text
}

/// A call that was made without a decision that allows it.
fn undecided(id: Option<&str>, (tool, host_tool): (&str, &str), args: &Json, status: CallStatus) -> Event {
    let text = Some(args.to_text()).filter(|args| args.len() <= MAX_ARGUMENTS);
    let members = object! {
        "call"?: id,
        "tool": tool,
        "host_tool": host_tool,
        "arguments"?: text,
        "status": status.as_str(),
        "message": arguments_digest(args),
    };
    Event::new("undecided", members)
}

/// What is recorded of a decision beside the action.
fn members(pending: &Pending<'_>) -> Object {
    let Pending { message, call, .. } = pending;
    let subagent = message.subagent.as_ref().map(|subagent| {
        object! { "id": subagent.id.as_str(), "kind"?: subagent.kind.clone() }
    });
    object! {
        "call"?: call.id.clone(),
        "host_tool": call.host_tool.as_str(),
        "server"?: call.server.clone(),
        "turn"?: message.turn.clone(),
        "subagent"?: subagent.map(Json::from),
        "twin"?: call.twin.as_deref().map(twin_digest),
        "message": arguments_digest(&call.args),
    }
}
