//! A guard that lives in a server, as the connection beside the agent has it.
//!
//! What the server may have taken is not sent again: the two sides could differ about it. Then the guard has lost its session, and
//! blocks every call until a new one begins. What certainly was not taken is: a result waits here until the server has learnt of it,
//! and calls are blocked meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use proofmark_guard::{Moving, undecidable, withheld};

use super::{AGAIN_AFTER, AskError, Server, read};
use crate::endpoints::GUARDS;
use crate::messages::{Begun, Follows, Happened, NewGuard, Passage, Sent};

/// How long an answer may take: longer than the server lets it take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(35);
/// How long a result waits for a server that cannot be reached.
const LEARNT_WITHIN: Duration = Duration::from_secs(60);
/// How long a call waits for a server that has too much to do.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// A guard in a server.
pub struct RemoteGuard {
    server: Server,
    /// Where the server has it.
    place: String,
    waits_for_list: AtomicBool,
    /// How many messages of the guarded server wait until the server that decides has learnt of them.
    unlearnt: AtomicUsize,
    trouble: Mutex<Trouble>,
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
    pub fn begin(server: Server, new: &NewGuard) -> Result<Self, AskError> {
        let begun: Begun = read(&server.ask(GUARDS, new.to_json().to_text().into(), ANSWERED_WITHIN)?)?;
        let place = format!("{GUARDS}/{}", begun.guard);
        let (waits_for_list, unlearnt) = (AtomicBool::new(false), AtomicUsize::new(0));
        Ok(Self { server, place, waits_for_list, unlearnt, trouble: Mutex::default() })
    }

    /// Takes in a line of the client; what is to be moved, in this order.
    pub fn from_client(&self, line: Vec<u8>) -> Vec<Passage> {
        let line = Bytes::from(line);
        let why = if self.unlearnt.load(Ordering::Acquire) > 0 {
            "the server that decides has not learnt yet how an earlier call ended".to_owned()
        } else {
            match self.tell(Happened::ClientSaid, line.clone(), TAKEN_WITHIN) {
                Ok(follows) => return follows,
                Err(why) => why,
            }
        };
        not_decided(&line, &why)
    }

    /// Takes in a line of the client that goes nowhere, because the guarded server does not read. What is to be moved.
    pub fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage> {
        let line = Bytes::from(line);
        self.tell(Happened::NotForwarded, line.clone(), TAKEN_WITHIN).unwrap_or_else(|why| not_decided(&line, &why))
    }

    /// Takes in a line of the guarded server; what is to be moved, in this order.
    pub fn from_server(&self, line: Vec<u8>) -> Vec<Passage> {
        let line = Bytes::from(line);
        let mut told = self.tell(Happened::ServerSaid, line.clone(), Duration::ZERO);
        if told.is_err() {
            // Calls are blocked while it is not learnt.
            self.unlearnt.fetch_add(1, Ordering::AcqRel);
            told = self.tell(Happened::ServerSaid, line.clone(), LEARNT_WITHIN);
            // What follows would be told in another order than it happened in.
            told = told.map_err(|_| self.lose("how a call ended could not be recorded"));
            self.unlearnt.fetch_sub(1, Ordering::AcqRel);
        }
        told.unwrap_or_else(|why| {
            let why = format!("what the server answered is withheld: {why}");
            withheld(&line, &why).map(Passage::ToClient).into_iter().collect()
        })
    }

    /// Takes in that time has passed: to be called a few times a second. What is to be moved, in this order.
    pub fn tick(&self) -> Vec<Passage> {
        let mut passages = std::mem::take(&mut self.trouble().notes);
        passages.extend(self.tell(Happened::TimePassed, Bytes::new(), Duration::ZERO).unwrap_or_default());
        passages
    }

    /// Takes in that everything before [`Passage::Moved`] has been moved. What is to be moved next, in this order.
    pub fn moved(&self, moving: Moving) -> Vec<Passage> {
        let told = self.tell(Happened::Moved, Bytes::from_static(moving.as_str().as_bytes()), LEARNT_WITHIN);
        told.unwrap_or_else(|why| {
            self.lose(&why);
            Vec::new()
        })
    }

    /// Whether a request waits for a list of the guarded server, or is on its way after that.
    pub fn waits_for_list(&self) -> bool {
        self.waits_for_list.load(Ordering::Acquire)
    }

    /// Takes in that the client sends nothing more. What is to be moved.
    pub fn client_ended(&self) -> Vec<Passage> {
        self.tell(Happened::ClientEnded, Bytes::new(), Duration::ZERO).unwrap_or_default()
    }

    /// Answers what is open, for a guarded server that has ended.
    pub fn server_ended(&self) -> Vec<Passage> {
        self.tell(Happened::ServerEnded, Bytes::new(), Duration::ZERO).unwrap_or_default()
    }

    /// Ends the session.
    ///
    /// # Errors
    /// Why the server does not know that it has ended.
    pub fn close(&self) -> Result<(), String> {
        self.tell(Happened::Closed, Bytes::new(), TAKEN_WITHIN).map(drop)
    }

    /// What follows from what happened, or why that is not known. It is sent again for so long while the server has certainly not
    /// taken it.
    fn tell(&self, happened: Happened, body: Bytes, again_for: Duration) -> Result<Vec<Passage>, String> {
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
                    return Ok(follows.passages);
                }
                Err(error @ (AskError::Unreachable(_) | AskError::Busy)) => {
                    self.is_not_taken(&error);
                    // A call is refused at once where nobody is there.
                    let is_call = happened == Happened::ClientSaid && error != AskError::Busy;
                    if is_call || begun.elapsed() >= again_for {
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
        let why = format!("the session is lost, because {why}; restart this MCP server to begin another one");
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

    fn trouble(&self) -> MutexGuard<'_, Trouble> {
        // Nothing panics while it is locked, so its content is whole.
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_decided(line: &[u8], why: &str) -> Vec<Passage> {
    let text = undecidable(line, &format!("The action could not be decided: {why}."));
    text.map(Passage::ToClient).into_iter().collect()
}
