//! What a server answers to programs beside agents.
//!
//! An account or an API key has sessions of its own: their stored names begin with its name, so nobody joins or reads those of
//! another. What its agents call themselves stands behind that name, too.

use std::sync::Arc;
use std::time::Duration;

use proofmark_decider::{
    DecideError, FailedRequest, Guard, HookSettings, Hooks, HostRecord, KeptSessions, Owner, Passage, PostedMessage,
    StepAt, StopError, Taken, read_message, session_entries, session_of,
};
use proofmark_guard::{MAX_MESSAGE_BYTES, MessageError, Moving, Pinning, Settings as GuardSettings};
use proofmark_hosts::{Event, Host, Message, Stop};
use proofmark_receipt::{Json, object};
use proofmark_server::context::{RequestContext, invalid_parameter};
use proofmark_server::endpoint::{Endpoint, Method, blocking_up_to};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_server::{Caller, Role};
use proofmark_session::Keep;
use tracing::info;

use crate::guards::{Guards, Kept};
use crate::messages::{
    Begun, Follows, Happened, HookAnswer, HookEvent, MAX_BYTES, MAX_HEAD, NewGuard, OverHttp, Sent, StepToJudge,
};

/// Where guards begin.
pub(crate) const GUARDS: &str = "/v1/agents/guards";
/// Where hooks ask.
pub(crate) const HOOKS: &str = "/v1/agents/hooks";
/// What happened at a guard.
const OF_GUARD: &str = "/v1/agents/guards/{id}/{what}";
/// Where sessions are read.
const SESSIONS: &str = "/v1/agents/sessions";

/// The longest description of a guard that begins, in bytes.
const MAX_DESCRIPTION: usize = 256 << 10;
/// The longest name that is given to anything, in bytes.
const MAX_NAME: usize = 128;
/// The longest that a call may wait for an approval, in seconds.
const MAX_WAIT: u64 = 3_600;
/// How many entries of a session are read at once.
const PAGE: usize = 200;

/// How long an attempt at a step that comes too early is waited for. Others need the thread.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a server does with what agents' hosts send. No side of an agent can change it.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// What becomes of definitions that guarded servers list first.
    pub pinning: Pinning,
    /// How much of results is recorded.
    pub keep: Keep,
}

/// The endpoints: for keys with the role `agent-host`, and for accounts of this host.
#[must_use]
pub fn endpoints(terms: Terms) -> Vec<Endpoint> {
    const HOST: Option<Role> = Some(Role::AgentHost);
    let guards = Guards::start();
    let (begun_in, sessions) = (Arc::clone(&guards), Arc::new(KeptSessions::default()));
    vec![
        blocking_up_to(MAX_DESCRIPTION, Method::Post, GUARDS, HOST, move |context| begin(&begun_in, terms, context)),
        blocking_up_to(MAX_MESSAGE_BYTES + MAX_HEAD, Method::Post, OF_GUARD, HOST, move |context| {
            happened(&guards, context)
        }),
        blocking_up_to(MAX_BYTES, Method::Post, HOOKS, HOST, move |context| hook(terms, &sessions, context)),
        blocking_up_to(0, Method::Get, SESSIONS, HOST, session),
    ]
}

/// `POST /v1/agents/guards`: a guard begins.
fn begin(guards: &Guards, terms: Terms, context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let new = NewGuard::parse(context.body()).map_err(|error| Problem::unreadable("read the guard", &error))?;
    for (name, what) in [(&new.server, "server"), (&new.session, "session")] {
        check_name(name, what)?;
    }
    guards.has_place_for(&context.caller)?;
    let settings = GuardSettings {
        session: format!("{}{}", prefix(&context.caller), new.session),
        server: new.server,
        origin: new.origin,
        process: process(&context.caller, new.process.as_deref())?,
        agent: agent(&context.caller, new.agent.as_deref())?,
        environment: new.environment,
        keep: terms.keep,
        hide: new.hide,
        wait: new.wait.min(Duration::from_secs(MAX_WAIT)),
        shadow: false,
        // The side of the agent says nothing that its own calls are judged by.
        request: None,
    };
    let (session, caller) = (settings.session.clone(), context.caller.clone());
    let owner = owner(context, new.policy.as_deref())?;
    // Over HTTP clients probe and leave.
    let begin = if new.over_http { Guard::begin } else { Guard::open };
    let guard = begin(Arc::clone(context.decider), owner, settings, terms.pinning)?;
    let guard = guards.keep(guard, new.over_http, caller)?;
    info!(session, separation = context.asker.separation.as_str(), "a guard begins beside an agent");
    Ok(Begun { guard }.to_json().into())
}

/// `POST /v1/agents/guards/{id}/{what}`: what happened there, and what follows.
fn happened(guards: &Guards, context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let happened = Happened::from_word(context.variable("what")).ok_or_else(Problem::unknown_path)?;
    let id = context.variable("id");
    if happened == Happened::Closed {
        guards.close(&context.caller, id)?;
        return Ok(Follows::default().to_json().into());
    }
    let Kept { guard, over_http, .. } = &*guards.of(&context.caller, id)?;
    let mut follows = match (happened, over_http) {
        (Happened::ClientSaid, false) => Follows::of(guard.from_client(context.body())),
        (Happened::NotForwarded, false) => Follows::of(guard.not_forwarded(context.body())),
        (Happened::ServerSaid, false) => Follows::of(guard.from_server(context.body())),
        (Happened::TimePassed, false) => Follows::of(guard.tick()),
        (Happened::Moved, false) => Follows::of(guard.moved(moving(context.body())?)),
        (Happened::ClientEnded, false) => Follows::of(guard.client_ended()),
        (Happened::ServerEnded, false) => Follows::of(guard.server_ended()),
        (Happened::TimePassed, true) => Follows::of(guard.round()),
        (Happened::OverHttp, true) => over_http_at(guard, context.body())?,
        (_, _) => return Err(Problem::unknown_path()),
    };
    if happened == Happened::TimePassed {
        let failed = |error| Passage::Log(format!("failed to record the session: {error}; calls are blocked"));
        follows.passages.extend(guard.flush().err().map(failed));
    }
    follows.waits_for_list = guard.waits_for_list();
    (follows.is_idle, follows.is_recorded) = (guard.is_idle(), guard.is_recorded());
    Ok(follows.to_json().into())
}

/// What follows from what happened at a guarded server over HTTP. What is recorded is what the guard makes of the message and of what
/// it knows: an answer to a request that is not open, and a refusal of what is a message, are not.
fn over_http_at(guard: &Guard, body: &[u8]) -> Result<Follows, Problem> {
    let (told, bytes) = OverHttp::split(body).map_err(|error| Problem::unreadable("read what happened", &error))?;
    let is_a_message = || Problem::bad("invalid_event", "the body is a message and not to be refused");
    let of_posted = |PostedMessage { passages, status, waits }| Follows { status, waits, ..Follows::of(passages) };
    Ok(match told {
        OverHttp::Posted { exchange, may_wait, headers } => {
            match read_message(&headers, bytes).map(|(headers, message)| (headers, message.in_exchange(exchange))) {
                Ok((headers, message)) if may_wait => of_posted(guard.posted(message, &headers)),
                Ok((headers, message)) => of_posted(guard.posted(message.without_waiting(), &headers)),
                Err(refusal) => of_posted(guard.not_taken(&refusal)),
            }
        }
        OverHttp::NotAMessage { headers } => {
            of_posted(guard.not_taken(&read_message(&headers, bytes).err().ok_or_else(is_a_message)?))
        }
        OverHttp::StillOpen { id } => of_posted(guard.not_taken(&MessageError::still_open(id))),
        OverHttp::Streamed { exchange, stream } => {
            let (passages, is_open) = guard.streamed(exchange, bytes.to_vec(), &stream);
            Follows { is_open, ..Follows::of(passages) }
        }
        OverHttp::HungUp { id, when } => {
            guard.hung_up(&id, when);
            Follows::default()
        }
        OverHttp::Failed { id } => {
            let FailedRequest { passages, suspicious } = guard.failed(id.as_ref(), &String::from_utf8_lossy(bytes));
            Follows { is_suspicious: suspicious, ..Follows::of(passages) }
        }
        OverHttp::IsOpen { id } => Follows { is_open: guard.is_open(&id), ..Follows::default() },
    })
}

fn moving(body: &[u8]) -> Result<Moving, Problem> {
    let word = std::str::from_utf8(body).ok().and_then(Moving::from_word);
    word.ok_or_else(|| Problem::bad("invalid_list", "the body is not the name of a list"))
}

/// `POST /v1/agents/hooks`: an event of a host.
fn hook(terms: Terms, sessions: &Arc<KeptSessions>, context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let told = HookEvent::parse(context.body()).map_err(|error| Problem::unreadable("read the event", &error))?;
    let unknown = || Problem::bad("unknown_host", "this host is not known here").help("use one version of Proofmark");
    let host = Host::named(&told.host).ok_or_else(unknown)?;
    let message = host.read(told.event.as_bytes());
    let mut message = message.map_err(|error| Problem::bad("unreadable_event", format!("failed to {error}")))?;
    if let Event::Before(call) = &mut message.event {
        call.paths = call.paths.take().and_then(|own| with_links(&own, told.paths));
    }
    if matches!(message.event, Event::Asked(_)) {
        // Whether the host or its agent sends it is not known here, and what the user asked for must not come from the agent.
        return Ok(HookAnswer::Recorded.to_json().into());
    }
    let given = told.session.as_deref();
    let session = session_of(&context.store(), &prefix(&context.caller), host, &message, given)?;
    let unnamed = || Problem::bad("no_session", "the event does not name its session").help("name it with `--session`");
    let session = session.ok_or_else(unnamed)?;
    check_name(given.unwrap_or("-"), "session")?;
    let settings = HookSettings {
        owner: owner(context, told.policy.as_deref())?,
        host,
        session,
        agent: agent(&context.caller, told.agent.as_deref())?,
        environment: told.environment,
        project: told.project,
        process: process(&context.caller, told.process.as_deref())?,
        // Its processes are on another host, or hidden.
        runs: |_| None,
        keep: terms.keep,
    };
    let hooks = Hooks::new(Arc::clone(context.decider), settings, Arc::clone(&context.stop));
    let hooks = hooks.keeping(Arc::clone(sessions));
    if let (Event::Stop(stop), Some(at)) = (&message.event, &told.stop) {
        let record = told.record.as_ref().unwrap_or(&HostRecord::Missing);
        return judge(context, &hooks, &message, stop, at, record);
    }
    let answer = match hooks.take(&message, &|| told.record.clone())? {
        Taken::Ruled(ruling) => HookAnswer::Ruled(ruling),
        Taken::Recorded => HookAnswer::Recorded,
        Taken::NeedsRecord => HookAnswer::NeedsRecord,
    };
    Ok(answer.to_json().into())
}

/// Judges the step that an agent is at before it stops. The workflow is what its side says, and the receipt names it by its digest; it
/// has to follow the workflow policy of this server.
fn judge(
    context: &RequestContext<'_>,
    hooks: &Hooks,
    message: &Message,
    stop: &Stop,
    at: &StepToJudge,
    record: &HostRecord,
) -> Result<Reply, Problem> {
    let (workflow, policy) =
        (context.services.read_workflow(&at.workflow, &at.step)?, context.services.workflow_policy());
    let step = StepAt { workflow: &workflow, policy: policy.as_deref(), step: &at.step, patience: PATIENCE };
    let stop = Stop { message: at.message.clone(), ..stop.clone() };
    let ruling = hooks.stop(message, &stop, &step, record).map_err(|error| match error {
        StopError::Session(error) => Problem::from(error),
        StopError::Accept(error) => Problem::from(error),
    })?;
    Ok(HookAnswer::Stopped(ruling).to_json().into())
}

/// The files of a call with those behind their links, as the side of the agent has found them. It leaves none out, or they are not
/// known.
fn with_links(own: &[String], found: Option<Vec<String>>) -> Option<Vec<String>> {
    found.filter(|found| own.iter().all(|path| found.contains(path)))
}

/// `GET /v1/agents/sessions?name=…&after=…`: the entries of an own session.
fn session(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["name", "after"])?;
    let name = context.parameter("name").ok_or_else(|| invalid_parameter("name", "the name of a session"))?;
    let after = context.parsed("after", "how many entries are known")?.unwrap_or(0);
    let session = format!("{}{name}", prefix(&context.caller));
    let entries = context.store().session_entries(&session, after, PAGE)?;
    if entries.is_empty() && after == 0 {
        return Err(Problem::not_found("session"));
    }
    let documents: Result<Vec<Json>, _> = entries.iter().map(|entry| Json::parse(entry.document.as_bytes())).collect();
    let documents = documents.map_err(|error| Problem::internal().cause(error))?;
    // What is shown is what is there; whether it counts is said beside it.
    let wrong = match session_entries(&context.store(), &session, &context.decider.deciders(), &mut |_, _| {}) {
        Ok(_) => None,
        Err(DecideError::Session(error)) => Some(format!("failed to {error}")),
        Err(error) => return Err(error.into()),
    };
    Ok(Json::from(object! { "entries": documents, "error"?: wrong }).into())
}

/// Whose the session is, and the policy of this name, which is asked in it.
fn owner(context: &RequestContext<'_>, policy: Option<&str>) -> Result<Owner, Problem> {
    Ok(Owner { tenant: context.caller.tenant.clone(), asker: context.asks(policy)? })
}

/// How the names of a caller's sessions begin. No two callers of one tenant have the same.
fn prefix(caller: &Caller) -> String {
    format!("{}/", caller.id.replace('%', "%25").replace('/', "%2F"))
}

/// What an agent is called: by who asks, and behind that by the name that it gives itself.
fn agent(caller: &Caller, named: Option<&str>) -> Result<Option<String>, Problem> {
    let prefix = prefix(caller);
    named.map_or(Ok(()), |name| check_name(name, "agent"))?;
    Ok(Some(named.map_or_else(|| prefix.trim_end_matches('/').to_owned(), |name| format!("{prefix}{name}"))))
}

/// Which start of a host that is beside an agent, as it says. Nobody names that of another caller.
fn process(caller: &Caller, named: Option<&str>) -> Result<Option<String>, Problem> {
    named.map_or(Ok(()), |name| check_name(name, "process"))?;
    Ok(named.map(|name| format!("{}{name}", prefix(caller))))
}

fn check_name(name: &str, what: &str) -> Result<(), Problem> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        let message = format!("the name of the {what} is empty, too long or has control characters");
        return Err(Problem::bad("invalid_name", message).help(format!("write 1 to {MAX_NAME} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(id: &str) -> Caller {
        Caller { id: id.to_owned(), ..Caller::local() }
    }

    #[test]
    fn no_two_callers_have_a_session_or_an_agent_of_one_name() {
        let (plain, other) = (caller("a"), caller("a/b"));
        assert_ne!(format!("{}b/c", prefix(&plain)), format!("{}c", prefix(&other)));
        assert_ne!(agent(&plain, Some("b")).unwrap(), agent(&other, None).unwrap());
        assert_eq!(agent(&caller("claude"), None).unwrap().as_deref(), Some("claude"));
        assert_eq!(agent(&caller("claude"), Some("one")).unwrap().as_deref(), Some("claude/one"));
        assert_ne!(prefix(&caller("a%2Fb")), prefix(&other));
        assert!(agent(&plain, Some("")).is_err() && agent(&plain, Some("a\nb")).is_err());
    }

    #[test]
    fn links_add_files_and_take_none_away() {
        let own = ["/p/a".to_owned()];
        let found = |paths: &[&str]| with_links(&own, Some(paths.iter().map(|path| (*path).to_owned()).collect()));
        assert_eq!(found(&["/p/a", "/etc/passwd"]).map(|paths| paths.len()), Some(2));
        assert_eq!(found(&["/p/b"]), None);
        assert_eq!(with_links(&own, None), None);
    }
}
