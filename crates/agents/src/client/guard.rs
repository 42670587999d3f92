//! A guard that lives in a server, as the connection beside the agent has it.
//!
//! What the server may have taken is not sent again: the two sides could differ about it. Then the guard has lost its session, and
//! blocks every call until a new one begins. What certainly was not taken is: a result waits here until the server has learnt of it,
//! and calls are blocked meanwhile.

mod http;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use proofmark_decider::{FailedRequest, Judge, Passage, PostedMessage};
use proofmark_guard::{
    HeaderText, Headers, HungUp, Message, MessageError, MessageId, Moving, Stream, undecidable, withheld,
};

use super::{AGAIN_AFTER, AskError, Server, read};
use crate::endpoints::GUARDS;
use crate::messages::{Begun, Follows, Happened, NewGuard, Sent};
pub use http::RemoteJudges;

/// How long an answer may take: longer than the server lets it take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(35);
/// How long a server is told nothing of a session in which nothing happens. It forgets those of which it hears nothing for longer.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// How long a result waits for a server that cannot be reached.
const LEARNT_WITHIN: Duration = Duration::from_secs(60);
/// How long a call waits for a server that has too much to do.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// A guard in a server.
pub struct RemoteGuard {
    server: Arc<Server>,
    /// Where the server has it.
    place: String,
    over_http: bool,
    waits_for_list: AtomicBool,
    is_recorded: AtomicBool,
    /// Whether anything may follow from time alone.
    is_active: AtomicBool,
    /// When the server was last told anything.
    told: Mutex<Instant>,
    /// How many messages of the guarded server wait until the server that decides has learnt of them.
    unlearnt: AtomicUsize,
    trouble: Mutex<Trouble>,
}

/// Whether what the server has certainly not taken is sent again.
#[derive(Clone, Copy)]
enum Again {
    Never,
    /// A call is refused at once where nobody is there.
    WhileBusy,
    Within(Duration),
}

#[derive(Default)]
struct Trouble {
    /// Why the session is lost.
    lost: Option<String>,
    /// Whether the server could not be reached when it was last asked.
    is_unreachable: bool,
    /// What the operator is told next.
    notes: Vec<Passage>,
}

impl RemoteGuard {
    /// Begins a guard in the server.
    ///
    /// # Errors
    /// [`AskError`]: nothing may be guarded then.
    pub fn begin(server: Arc<Server>, new: &NewGuard) -> Result<Self, AskError> {
        let begun: Begun = read(&server.ask(GUARDS, new.to_json().to_text().into(), ANSWERED_WITHIN)?)?;
        Ok(Self {
            server,
            place: format!("{GUARDS}/{}", begun.guard),
            over_http: new.over_http,
            waits_for_list: AtomicBool::new(false),
            is_recorded: AtomicBool::new(false),
            is_active: AtomicBool::new(true),
            told: Mutex::new(Instant::now()),
            unlearnt: AtomicUsize::new(0),
            trouble: Mutex::default(),
        })
    }

    /// What follows from what the client has said, or why nothing is decided.
    fn client_told(&self, happened: Happened, body: Bytes) -> Result<Follows, String> {
        if self.unlearnt.load(Ordering::Acquire) > 0 {
            return Err("the server that decides has not learnt yet how an earlier call ended".to_owned());
        }
        self.tell(happened, body, Again::WhileBusy)
    }

    /// What follows from what the guarded server has said, or why that is not recorded. Calls are blocked while it is not.
    fn server_told(&self, happened: Happened, body: &Bytes) -> Result<Follows, String> {
        let told = self.tell(happened, body.clone(), Again::Never);
        if told.is_ok() {
            return told;
        }
        self.unlearnt.fetch_add(1, Ordering::AcqRel);
        let told = self.tell(happened, body.clone(), Again::Within(LEARNT_WITHIN));
        // What follows would be told in another order than it happened in.
        let told = told.map_err(|_| self.lose("how a call ended could not be recorded"));
        self.unlearnt.fetch_sub(1, Ordering::AcqRel);
        told.map_err(|why| format!("what the server answered is withheld: {why}"))
    }

    /// What follows from something that is told once; nothing where the server does not take it.
    fn told_once(&self, happened: Happened) -> Vec<Passage> {
        self.tell(happened, Bytes::new(), Again::Never).unwrap_or_default().passages
    }

    /// What follows from what happened, or why that is not known.
    fn tell(&self, happened: Happened, body: Bytes, again: Again) -> Result<Follows, String> {
        let follows = self.tell_once_or_again(happened, body, again);
        *self.told() = Instant::now();
        let is_active = follows.as_ref().map_or(true, |follows| !follows.is_idle);
        // Later than what time has brought: another may have begun to wait meanwhile.
        if is_active || happened != Happened::TimePassed {
            self.is_active.store(true, Ordering::Release);
        }
        follows
    }

    fn tell_once_or_again(&self, happened: Happened, body: Bytes, again: Again) -> Result<Follows, String> {
        let (path, begun) = (format!("{}/{}", self.place, happened.as_str()), Instant::now());
        loop {
            if let Some(why) = self.trouble().lost.clone() {
                return Err(why);
            }
            let asked = self.server.ask(&path, body.clone(), ANSWERED_WITHIN);
            match asked.and_then(|answer| read::<Follows>(&answer)) {
                Ok(follows) => {
                    self.is_reached();
                    self.waits_for_list.store(follows.waits_for_list, Ordering::Release);
                    self.is_recorded.fetch_or(follows.is_recorded, Ordering::AcqRel);
                    return Ok(follows);
                }
                Err(error @ (AskError::Unreachable(_) | AskError::Busy)) => {
                    self.is_not_taken(&error);
                    let again_for = match again {
                        Again::WhileBusy if error == AskError::Busy => TAKEN_WITHIN,
                        Again::Within(time) => time,
                        Again::Never | Again::WhileBusy => Duration::ZERO,
                    };
                    if begun.elapsed() >= again_for {
                        return Err(format!("failed to {error}"));
                    }
                    thread::sleep(AGAIN_AFTER);
                }
                Err(error) => return Err(self.lose(&format!("failed to {error}"))),
            }
        }
    }

    /// The session is lost from here on. What is said of it.
    fn lose(&self, why: &str) -> String {
        let mut trouble = self.trouble();
        if let Some(why) = &trouble.lost {
            return why.clone();
        }
        let again = if self.over_http {
            "begin another with `initialize`"
        } else {
            "restart this MCP server to begin another one"
        };
        let why = format!("the session is lost, because {why}; {again}");
        trouble.notes.push(Passage::Log(format!("{why}; until then, every call is blocked")));
        trouble.lost = Some(why.clone());
        why
    }

    fn is_not_taken(&self, error: &AskError) {
        let mut trouble = self.trouble();
        if !std::mem::replace(&mut trouble.is_unreachable, true) {
            trouble.notes.push(Passage::Log(format!("failed to {error}; calls are blocked until it works")));
        }
    }

    fn is_reached(&self) {
        let mut trouble = self.trouble();
        if std::mem::replace(&mut trouble.is_unreachable, false) {
            trouble.notes.push(Passage::Log("the server that decides answers again".to_owned()));
        }
    }

    fn told(&self) -> MutexGuard<'_, Instant> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> MutexGuard<'_, Trouble> {
        // Nothing panics while it is locked, so its content is whole.
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Judge for RemoteGuard {
    fn client_said(&self, line: Vec<u8>) -> Vec<Passage> {
        let line = Bytes::from(line);
        let told = self.client_told(Happened::ClientSaid, line.clone());
        told.map_or_else(|why| not_decided(&line, &why), |follows| follows.passages)
    }

    fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage> {
        let line = Bytes::from(line);
        let told = self.tell(Happened::NotForwarded, line.clone(), Again::WhileBusy);
        told.map_or_else(|why| not_decided(&line, &why), |follows| follows.passages)
    }

    fn server_said(&self, line: Vec<u8>) -> Vec<Passage> {
        let line = Bytes::from(line);
        match self.server_told(Happened::ServerSaid, &line) {
            Ok(follows) => follows.passages,
            Err(why) => withheld(&line, &why).map(Passage::ToClient).into_iter().collect(),
        }
    }

    fn tick(&self) -> Vec<Passage> {
        let mut passages = std::mem::take(&mut self.trouble().notes);
        passages.extend(self.told_once(Happened::TimePassed));
        passages
    }

    fn moved(&self, moving: Moving) -> Vec<Passage> {
        let list = Bytes::from_static(moving.as_str().as_bytes());
        match self.tell(Happened::Moved, list, Again::Within(LEARNT_WITHIN)) {
            Ok(follows) => follows.passages,
            Err(why) => {
                self.lose(&why);
                Vec::new()
            }
        }
    }

    fn waits_for_list(&self) -> bool {
        self.waits_for_list.load(Ordering::Acquire)
    }

    fn client_ended(&self) -> Vec<Passage> {
        self.told_once(Happened::ClientEnded)
    }

    fn server_ended(&self) -> Vec<Passage> {
        self.told_once(Happened::ServerEnded)
    }

    fn posted(&self, message: Message, headers: &Headers) -> PostedMessage {
        http::posted(self, &message, headers)
    }

    fn not_a_message(&self, _: &MessageError, headers: &[HeaderText], body: &[u8]) {
        http::not_a_message(self, headers, body);
    }

    fn still_open(&self, id: &MessageId) {
        http::still_open(self, id);
    }

    fn streamed(&self, exchange: u64, message: Vec<u8>, stream: &Stream) -> (Vec<Passage>, bool) {
        http::streamed(self, exchange, &message, stream)
    }

    fn round(&self) -> Vec<Passage> {
        // There may be many sessions in which nothing happens.
        if self.is_active.swap(false, Ordering::AcqRel) || self.told().elapsed() > SIGN_OF_LIFE {
            self.tick()
        } else {
            Vec::new()
        }
    }

    fn is_open(&self, id: &MessageId) -> bool {
        http::is_open(self, id)
    }

    fn hung_up(&self, id: &MessageId, when: HungUp) {
        http::hung_up(self, id, when);
    }

    fn failed(&self, id: Option<&MessageId>, text: &str) -> FailedRequest {
        http::failed(self, id, text)
    }

    fn is_lost(&self) -> Option<String> {
        self.trouble().lost.clone()
    }

    fn is_recorded(&self) -> bool {
        self.is_recorded.load(Ordering::Acquire)
    }

    fn flush(&self) -> Result<(), String> {
        // The server records, and says so when it cannot.
        Ok(())
    }

    fn close(&self) -> Result<(), String> {
        let again = if self.over_http { Again::Never } else { Again::Within(TAKEN_WITHIN) };
        self.tell(Happened::Closed, Bytes::new(), again).map(drop)
    }
}

fn not_decided(line: &[u8], why: &str) -> Vec<Passage> {
    let text = undecidable(line, &format!("The action could not be decided: {why}."));
    text.map(Passage::ToClient).into_iter().collect()
}
