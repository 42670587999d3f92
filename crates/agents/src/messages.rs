//! What passes between a program beside an agent and the server that decides for it. Both sides write and read it here, strictly.

mod follows;
mod http;

use std::time::Duration;

use proofmark_decider::{HookRuling, HostRecord, StopRuling};
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, Place};
use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, object};

pub use follows::Follows;
pub(crate) use http::{MAX_HEAD, OverHttp};

/// The longest message of either side, in bytes: one of MCP, or an event with the record of its host, as a text in JSON.
pub(crate) const MAX_BYTES: usize = 160 << 20;
/// How deep a message nests.
const MAX_DEPTH: usize = 8;
/// The most values that a message holds: passages are most of them.
const MAX_NODES: usize = 7 * follows::MAX_PASSAGES;
/// The most words that a guarded server is started by.
const MAX_WORDS: usize = 1_000;

/// A guard that begins beside an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGuard {
    /// What the guarded server is called.
    pub server: String,
    /// What the guarded server is reached by.
    pub origin: Vec<String>,
    /// What the session is called among those of the caller.
    pub session: String,
    /// Which start of the agent's host it belongs to.
    pub process: Option<String>,
    pub agent: Option<String>,
    pub environment: Option<String>,
    /// The name of the policy that is asked.
    pub policy: Option<String>,
    pub hide: bool,
    pub wait: Duration,
    /// Whether the guarded server is one over HTTP.
    pub over_http: bool,
}

/// A guard that has begun: what it is called from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub guard: String,
}

/// What happened at a guarded connection. A line is the body of its request, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    ClientSaid,
    /// What the client said goes nowhere, because the guarded server does not read.
    NotForwarded,
    ServerSaid,
    TimePassed,
    Moved,
    ClientEnded,
    ServerEnded,
    /// At a server over HTTP: the body says what ([`OverHttp`]).
    OverHttp,
    Closed,
}

/// An event of a host, and what only the side of the agent knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// The host that was told of it.
    pub host: String,
    /// As the host wrote it.
    pub event: String,
    /// What the session is called among those of the caller; by default as the host names it.
    pub session: Option<String>,
    pub agent: Option<String>,
    pub environment: Option<String>,
    /// The name of the policy that is asked.
    pub policy: Option<String>,
    /// The folder of the project.
    pub project: Option<String>,
    /// Which start of the host it comes from.
    pub process: Option<String>,
    /// The files that the call is about, with those that links lead to from them.
    pub paths: Option<Vec<String>>,
    /// The host's own record, where the server has asked for it, or the agent is about to stop.
    pub record: Option<HostRecord>,
    /// The step that is judged, where the agent is about to stop.
    pub stop: Option<StepToJudge>,
}

/// A step that an agent has worked on, as its side says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepToJudge {
    /// The text of the workflow.
    pub workflow: String,
    pub step: String,
    /// The agent's last message.
    pub message: Option<String>,
}

/// What a server answers to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    Ruled(HookRuling),
    /// The step was judged.
    Stopped(StopRuling),
    /// There was nothing to rule on.
    Recorded,
    /// The event is to be sent again with the host's own record.
    NeedsRecord,
}

/// What one side sends to the other as a document.
pub trait Sent: Sized {
    /// The document.
    fn to_json(&self) -> Json;

    /// Reads what [`Sent::to_json`] writes, and nothing else.
    ///
    /// # Errors
    /// [`DocumentError`] names the member.
    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError>;

    /// Reads a body.
    ///
    /// # Errors
    /// [`DocumentError`] names what is wrong and where.
    fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        let limits = Limits { max_bytes: MAX_BYTES, max_depth: MAX_DEPTH, max_nodes: MAX_NODES };
        let json = Json::parse_with(bytes, limits)
            .map_err(|error| DocumentError::new(Place::Whole, Cause::InvalidValue, error.to_string()))?;
        Self::read(&Field::root(&json).fields()?)
    }
}

impl Happened {
    const WORDS: [(&'static str, Self); 9] = [
        ("client", Self::ClientSaid),
        ("not-forwarded", Self::NotForwarded),
        ("server", Self::ServerSaid),
        ("time", Self::TimePassed),
        ("moved", Self::Moved),
        ("client-ended", Self::ClientEnded),
        ("server-ended", Self::ServerEnded),
        ("http", Self::OverHttp),
        ("closed", Self::Closed),
    ];

    /// Its word, as paths have it.
    pub(crate) fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, happened)| *happened == self).map_or("", |(word, _)| word)
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, happened)| happened)
    }
}

impl Sent for NewGuard {
    fn to_json(&self) -> Json {
        let origin: Vec<Json> = self.origin.iter().map(|word| Json::from(word.as_str())).collect();
        object! {
            "server": self.server.as_str(),
            "origin": origin,
            "session": self.session.as_str(),
            "process"?: self.process.as_deref(),
            "agent"?: self.agent.as_deref(),
            "environment"?: self.environment.as_deref(),
            "policy"?: self.policy.as_deref(),
            "hide": self.hide,
            "wait_ms": u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX),
            "over_http": self.over_http,
        }
        .into()
    }

    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        fields.only(&[
            "server",
            "origin",
            "session",
            "process",
            "agent",
            "environment",
            "policy",
            "hide",
            "wait_ms",
            "over_http",
        ])?;
        let wait = fields.need("wait_ms", "say how long a call may wait")?;
        Ok(Self {
            server: fields.need("server", "name the server")?.text()?.to_owned(),
            origin: texts(&fields.need("origin", "say how the server is reached")?)?,
            session: fields.need("session", "name the session")?.text()?.to_owned(),
            process: maybe_text(fields, "process")?,
            agent: maybe_text(fields, "agent")?,
            environment: maybe_text(fields, "environment")?,
            policy: maybe_text(fields, "policy")?,
            hide: fields.need("hide", "write true or false")?.boolean()?,
            wait: Duration::from_millis(whole_number(&wait)?),
            over_http: fields.need("over_http", "write true or false")?.boolean()?,
        })
    }
}

impl Sent for Begun {
    fn to_json(&self) -> Json {
        object! { "guard": self.guard.as_str() }.into()
    }

    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        fields.only(&["guard"])?;
        Ok(Self { guard: fields.need("guard", "name the guard")?.text()?.to_owned() })
    }
}

impl Sent for HookEvent {
    fn to_json(&self) -> Json {
        let paths = self.paths.as_ref();
        let stop = self.stop.as_ref().map(|stop| {
            object! { "workflow": stop.workflow.as_str(), "step": stop.step.as_str(), "message"?: stop.message.as_deref() }
        });
        let record = self.record.as_ref().map(|record| match record {
            HostRecord::Missing => object! {},
            HostRecord::Lines(lines) => object! { "lines": lines.as_str() },
            HostRecord::Unreadable(why) => object! { "unreadable": why.as_str() },
        });
        object! {
            "host": self.host.as_str(),
            "event": self.event.as_str(),
            "session"?: self.session.as_deref(),
            "agent"?: self.agent.as_deref(),
            "environment"?: self.environment.as_deref(),
            "policy"?: self.policy.as_deref(),
            "project"?: self.project.as_deref(),
            "process"?: self.process.as_deref(),
            "paths"?: paths.map(|paths| paths.iter().map(|path| Json::from(path.as_str())).collect::<Vec<_>>()),
            "record"?: record,
            "stop"?: stop,
        }
        .into()
    }

    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        fields.only(&[
            "host",
            "event",
            "session",
            "agent",
            "environment",
            "policy",
            "project",
            "process",
            "paths",
            "record",
            "stop",
        ])?;
        Ok(Self {
            host: fields.need("host", "name the host")?.text()?.to_owned(),
            event: fields.need("event", "write the event")?.text()?.to_owned(),
            session: maybe_text(fields, "session")?,
            agent: maybe_text(fields, "agent")?,
            environment: maybe_text(fields, "environment")?,
            policy: maybe_text(fields, "policy")?,
            project: maybe_text(fields, "project")?,
            process: maybe_text(fields, "process")?,
            paths: fields.get("paths").map(|field| texts(&field)).transpose()?,
            record: fields.get("record").map(|field| read_record(&field)).transpose()?,
            stop: fields.get("stop").map(|field| read_stop(&field)).transpose()?,
        })
    }
}

fn read_record(field: &Field<'_>) -> Result<HostRecord, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["lines", "unreadable"])?;
    match (maybe_text(&fields, "lines")?, maybe_text(&fields, "unreadable")?) {
        (None, None) => Ok(HostRecord::Missing),
        (Some(lines), None) => Ok(HostRecord::Lines(lines)),
        (None, Some(why)) => Ok(HostRecord::Unreadable(why)),
        (Some(_), Some(_)) => Err(field.wrong_type("either lines or why there are none")),
    }
}

fn read_stop(field: &Field<'_>) -> Result<StepToJudge, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["workflow", "step", "message"])?;
    Ok(StepToJudge {
        workflow: fields.need("workflow", "write the workflow")?.text()?.to_owned(),
        step: fields.need("step", "name the step")?.text()?.to_owned(),
        message: maybe_text(&fields, "message")?,
    })
}

impl Sent for HookAnswer {
    fn to_json(&self) -> Json {
        let (answer, reason) = match self {
            Self::Ruled(HookRuling::Allowed) => ("allowed", None),
            Self::Ruled(HookRuling::Blocked(reason)) => ("blocked", Some(reason.as_str())),
            Self::Stopped(StopRuling::Accepted(told)) => ("accepted", Some(told.as_str())),
            Self::Stopped(StopRuling::Refused(prompt)) => ("refused", Some(prompt.as_str())),
            Self::Stopped(StopRuling::Over(told)) => ("over", Some(told.as_str())),
            Self::Stopped(StopRuling::Judged) => ("judged", None),
            Self::Recorded => ("recorded", None),
            Self::NeedsRecord => ("needs-record", None),
        };
        object! { "answer": answer, "reason"?: reason }.into()
    }

    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        fields.only(&["answer", "reason"])?;
        let field = fields.need("answer", "write the answer")?;
        match (field.text()?, maybe_text(fields, "reason")?) {
            ("allowed", None) => Ok(Self::Ruled(HookRuling::Allowed)),
            ("blocked", Some(reason)) => Ok(Self::Ruled(HookRuling::Blocked(reason))),
            ("accepted", Some(told)) => Ok(Self::Stopped(StopRuling::Accepted(told))),
            ("refused", Some(prompt)) => Ok(Self::Stopped(StopRuling::Refused(prompt))),
            ("over", Some(told)) => Ok(Self::Stopped(StopRuling::Over(told))),
            ("judged", None) => Ok(Self::Stopped(StopRuling::Judged)),
            ("recorded", None) => Ok(Self::Recorded),
            ("needs-record", None) => Ok(Self::NeedsRecord),
            _ => Err(field.wrong_type("an answer to an event")),
        }
    }
}

/// A number that is counted with.
fn whole_number(field: &Field<'_>) -> Result<u64, DocumentError> {
    field.json.as_number().and_then(|number| number.as_u64()).ok_or_else(|| field.wrong_type("a whole number"))
}

fn maybe_text(fields: &Fields<'_>, name: &str) -> Result<Option<String>, DocumentError> {
    fields.get(name).map(|field| field.text().map(str::to_owned)).transpose()
}

fn texts(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    items(field, MAX_WORDS)?.iter().map(|item| item.text().map(str::to_owned)).collect()
}

fn items<'a>(field: &Field<'a>, most: usize) -> Result<Vec<Field<'a>>, DocumentError> {
    // Counted before there is a place for each.
    if field.array()?.len() > most {
        return Err(field.error(Cause::TooMany, format!("there are more than {most}")));
    }
    field.items()
}

#[cfg(test)]
mod tests {
    use proofmark_decider::Passage;
    use proofmark_guard::{HungUp, MessageId, Moving, Stream};
    use proptest::prelude::*;

    use super::*;

    fn same<T: Sent + PartialEq + std::fmt::Debug>(sent: &T) {
        assert_eq!(T::parse(sent.to_json().to_text().as_bytes()).as_ref(), Ok(sent));
    }

    fn passage() -> impl Strategy<Value = Passage> {
        prop_oneof![
            any::<String>().prop_map(Passage::ToClient),
            any::<String>().prop_map(Passage::ToServer),
            any::<String>().prop_map(Passage::Log),
            prop::sample::select(vec!["tools/list", "prompts/list", "resources/templates/list"])
                .prop_map(|word| Passage::Moved(Moving::from_word(word).unwrap())),
            (id(), any::<String>()).prop_map(|(id, text)| Passage::Ask(id, text)),
            (id(), any::<String>()).prop_map(|(id, text)| Passage::Of(id, Box::new(Passage::Progress(text)))),
        ]
    }

    fn id() -> impl Strategy<Value = MessageId> {
        let json = prop_oneof![any::<String>().prop_map(|text| Json::from(text).to_text()), Just("-7".to_owned())];
        (json.prop_filter("it is short", |json| json.len() < 1_000), 0..1_u64 << 53)
            .prop_map(|(json, exchange)| MessageId::read(&json, exchange).unwrap())
    }

    fn over_http() -> impl Strategy<Value = OverHttp> {
        let headers = prop::collection::vec((any::<String>(), any::<String>()), 0..3);
        (id(), headers, any::<bool>(), prop::sample::select(vec!["before-sending", "while-answering", "for-good"]))
            .prop_flat_map(|(id, headers, flag, when)| {
                let (exchange, request) = (id.exchange(), id.clone());
                prop::sample::select(vec![
                    OverHttp::Posted { exchange, may_wait: flag, headers: headers.clone() },
                    OverHttp::NotAMessage { headers },
                    OverHttp::StillOpen { id: id.clone() },
                    OverHttp::Streamed { exchange, stream: Stream::Of { request, resumable: flag } },
                    OverHttp::Streamed { exchange, stream: Stream::Standing { resumable: flag } },
                    OverHttp::Streamed { exchange, stream: Stream::Resumed { resumable: flag } },
                    OverHttp::HungUp { id: id.clone(), when: HungUp::from_word(when).unwrap() },
                    OverHttp::Failed { id: flag.then(|| id.clone()) },
                    OverHttp::IsOpen { id },
                ])
            })
    }

    proptest! {
        #[test]
        fn what_one_side_writes_the_other_reads(
            texts in prop::array::uniform4(any::<String>()),
            maybe in prop::array::uniform4(any::<Option<String>>()),
            words in prop::collection::vec(any::<String>(), 0..4),
            passages in prop::collection::vec(passage(), 0..6),
            flag: bool,
            millis in 0..u64::from(u32::MAX),
        ) {
            let [server, session, host, event] = texts;
            let [agent, environment, project, policy] = maybe;
            let wait = Duration::from_millis(millis);
            let (a, e, p) = (agent.clone(), environment.clone(), policy.clone());
            same(&NewGuard { server, origin: words.clone(), session, process: project.clone(), agent: a, environment: e, policy: p, hide: flag, wait, over_http: !flag });
            let status = u16::try_from(millis % 1_000).unwrap();
            same(&Follows { passages, waits_for_list: flag, is_idle: !flag, is_recorded: flag, status, waits: flag, is_open: !flag, is_suspicious: flag });
            for record in [None, Some(HostRecord::Missing), Some(HostRecord::Lines(event.clone())), Some(HostRecord::Unreadable(event.clone()))] {
                let (host, event, session) = (host.clone(), event.clone(), project.clone());
                let (agent, environment, project) = (agent.clone(), environment.clone(), project.clone());
                let process = agent.clone();
                let policy = policy.clone();
                let stop = flag.then(|| StepToJudge { workflow: host.clone(), step: event.clone(), message: agent.clone() });
                same(&HookEvent { host, event, session, agent, environment, policy, project, process, paths: flag.then(|| words.clone()), record, stop });
            }
            let stops = [StopRuling::Accepted(event.clone()), StopRuling::Refused(event.clone()), StopRuling::Over(event.clone()), StopRuling::Judged];
            stops.map(HookAnswer::Stopped).iter().for_each(same);
            let rulings = [HookRuling::Allowed, HookRuling::Blocked(event)].map(HookAnswer::Ruled);
            rulings.iter().chain(&[HookAnswer::Recorded, HookAnswer::NeedsRecord]).for_each(same);
            same(&Begun { guard: host });
        }

        #[test]
        fn what_happens_over_http_is_read_as_it_is_written(told in over_http(), bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            same(&told);
            let body = told.with(&bytes).unwrap();
            prop_assert_eq!(OverHttp::split(&body), Ok((told, bytes.as_slice())));
            prop_assert!(OverHttp::split(&bytes).is_err());
        }

        #[test]
        fn nothing_else_is_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let is_json = Json::parse(&bytes).is_ok();
            prop_assert!(is_json || (NewGuard::parse(&bytes).is_err() && HookEvent::parse(&bytes).is_err()));
            prop_assert!(is_json || (Follows::parse(&bytes).is_err() && HookAnswer::parse(&bytes).is_err()));
        }
    }

    #[test]
    fn what_is_more_than_was_agreed_on_is_refused() {
        let nothing = Follows::default().to_json().to_text();
        assert!(Follows::parse(nothing.as_bytes()).is_ok());
        for passage in [
            r#"{"to":"store","text":""}"#,
            r#"{"to":"moved","text":"tools/call"}"#,
            r#"{"to":"client"}"#,
            r#"{"to":"ask","text":""}"#,
            r#"{"to":"client","text":"","id":{"request":"1","exchange":0}}"#,
            r#"{"to":"client","text":"","of":{"request":"1.5","exchange":0}}"#,
        ] {
            let refused = nothing.replace("[]", &format!("[{passage}]"));
            assert!(Follows::parse(refused.as_bytes()).is_err(), "{refused}");
        }
        assert!(Follows::parse(nothing.replace("}", r#","approve":"1"}"#).as_bytes()).is_err());
        for refused in [
            r#"{"what":"approve"}"#,
            r#"{"what":"is-open","request":"1"}"#,
            r#"{"what":"failed","exchange":1}"#,
            r#"{"what":"not-a-message","headers":[["a"]]}"#,
            r#"{"what":"not-a-message","headers":[],"reason":"said by the agent"}"#,
            r#"{"what":"streamed","by":0,"stream":"of","resumable":false}"#,
        ] {
            assert!(OverHttp::split(refused.as_bytes()).is_err(), "{refused}");
        }
        for refused in [
            "{}",
            r#"{"answer":""}"#,
            r#"{"answer":"allowed","reason":""}"#,
            r#"{"answer":"blocked"}"#,
            r#"{"answer":true}"#,
        ] {
            assert!(HookAnswer::parse(refused.as_bytes()).is_err(), "{refused}");
        }
        assert!(HookEvent::parse(br#"{"host":"claude","event":"{}","policy_file":"policy.yaml"}"#).is_err());
        assert!(
            NewGuard::parse(
                br#"{"server":"a","origin":[],"session":"s","hide":false,"wait_ms":1,"over_http":false,"shadow":true}"#
            )
            .is_err()
        );
        assert_eq!(
            Happened::WORDS.map(|(word, _)| Happened::from_word(word).unwrap().as_str()),
            Happened::WORDS.map(|(word, _)| word)
        );
    }
}
