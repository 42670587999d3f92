//! Whatever happens in whatever order: what reaches either side.

use std::collections::BTreeMap;
use std::time::Duration;

use proofmark_guard::{Connection, Pins, Settings};
use proptest::prelude::*;

use super::{Guarded, Reached, policy, tools};

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// A call, with or without a token for progress, of a tool that needs an approval, or of one that does not.
    Call {
        id: u8,
        token: bool,
        write: bool,
    },
    Cancel(u8),
    List(u8),
    /// The server answers the guard's own requests, or with an error.
    AnswerGuard(bool),
    Answer(u8),
    Changed,
    Wait(u16),
    /// A person reviews what waits first, and the policy then allows all or asks again.
    Review(bool),
    ClientEnds,
    ServerEnds,
}

const ASKS: &str = r#"
version: 1
tools: [{tool: write_text, class: record_mutation}, {tool: read_text, class: generic}]
boundaries:
  - {id: reads, match: {tool: read_text}}
  - {id: writes, match: {tool: write_text}, require: [{approval: {role: owner}}]}
"#;
const ALLOWS: &str = r#"
version: 1
tools: [{tool: write_text, class: record_mutation}, {tool: read_text, class: generic}]
boundaries: [{id: all, match: {}}]
"#;

fn happens() -> impl Strategy<Value = Happens> {
    let id = 0_u8..5;
    prop_oneof![
        5 => (id.clone(), any::<bool>(), any::<bool>()).prop_map(|(id, token, write)| Happens::Call { id, token, write }),
        1 => id.clone().prop_map(Happens::Cancel),
        1 => id.clone().prop_map(Happens::List),
        3 => any::<bool>().prop_map(Happens::AnswerGuard),
        3 => id.prop_map(Happens::Answer),
        1 => Just(Happens::Changed),
        1 => (0_u16..40_000).prop_map(Happens::Wait),
        2 => any::<bool>().prop_map(Happens::Review),
        1 => Just(Happens::ClientEnds),
        1 => Just(Happens::ServerEnds),
    ]
}

/// A connection and what is open on it.
struct World {
    guarded: Guarded,
    /// The client's requests without an answer.
    open: BTreeMap<u8, Asked>,
    own: Vec<String>,
    millis: u64,
    /// Whether the server has ended.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Asked {
    is_call: bool,
    forwarded: bool,
    cancelled: bool,
}

fn id_of(message: &str) -> Option<u8> {
    let rest = message.split(r#""id":"#).nth(1)?;
    rest.split([',', '}']).next()?.parse().ok()
}

impl World {
    fn new() -> Self {
        let mut guarded = Guarded::new();
        let wait = Duration::from_secs(20);
        let settings = Settings { session: "s1".into(), server: "files".into(), wait, ..Settings::default() };
        guarded.connection = Connection::new(settings, Pins::default());
        guarded.policy = policy(ASKS);
        guarded.at_once = false;
        Self { guarded, open: BTreeMap::new(), own: Vec::new(), millis: 0, ended: false }
    }

    fn happens(&mut self, what: Happens) {
        let is_of_server =
            matches!(what, Happens::Answer(_) | Happens::AnswerGuard(_) | Happens::Changed | Happens::ServerEnds);
        if self.ended && is_of_server {
            return;
        }
        let reached = match what {
            Happens::Call { id, token, write } => {
                let meta = if token { format!(r#","_meta":{{"progressToken":"p{id}"}}"#) } else { String::new() };
                let tool = if write { "write_text" } else { "read_text" };
                self.ask(id, true, &format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}{meta}}}}}"#
                ))
            }
            Happens::List(id) => {
                self.ask(id, false, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#))
            }
            Happens::Cancel(id) => {
                self.open.entry(id).and_modify(|asked| asked.cancelled = true);
                let reached = self.guarded.client(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                ));
                // What the server has not seen gets no answer.
                if self.open.get(&id).is_some_and(|asked| !asked.forwarded) {
                    self.open.remove(&id);
                }
                reached
            }
            Happens::AnswerGuard(with_list) => {
                let list = format!(r#"{{"tools":{}}}"#, tools(&["read_text", "write_text"]));
                self.guarded.answers = if with_list { [("tools/list", list)].into() } else { BTreeMap::new() };
                let mut reached = Reached::default();
                for request in std::mem::take(&mut self.own) {
                    let answer = self.guarded.answer(&request);
                    reached.and(self.guarded.server(&answer));
                }
                reached
            }
            Happens::Answer(id) => {
                self.guarded.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"tools":[]}}}}"#))
            }
            Happens::Changed => self.guarded.server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
            Happens::Wait(millis) => {
                self.millis += u64::from(millis);
                let step = self.guarded.connection.tick(self.millis);
                self.guarded.finish(step)
            }
            Happens::Review(allows) => self.review(allows),
            Happens::ClientEnds => {
                let (outputs, mut reached) = (self.guarded.connection.client_ended(), Reached::default());
                self.guarded.take(&mut reached, outputs);
                reached
            }
            Happens::ServerEnds => {
                self.ended = true;
                let (outputs, mut reached) = (self.guarded.connection.server_ended(), Reached::default());
                self.guarded.take(&mut reached, outputs);
                reached
            }
        };
        self.check(&reached, what);
    }

    fn ask(&mut self, id: u8, is_call: bool, line: &str) -> Reached {
        let is_used = self.open.contains_key(&id);
        let reached = self.guarded.client(line);
        if is_used {
            reached.refused();
            return Reached::default();
        }
        assert!(!reached.client.iter().any(|answer| answer.contains("still open")), "{id} is free");
        self.open.insert(id, Asked { is_call, forwarded: false, cancelled: false });
        reached
    }

    fn review(&mut self, allows: bool) -> Reached {
        let Some(decision) = self.guarded.connection.waiting_decisions().into_iter().next() else {
            return Reached::default();
        };
        let released = self.guarded.connection.reviewed(&decision).unwrap();
        self.guarded.policy = policy(if allows { ALLOWS } else { ASKS });
        let step = self.guarded.connection.go_on(released, &self.guarded.policy);
        let reached = self.guarded.finish(step);
        self.guarded.policy = policy(ASKS);
        reached
    }

    fn check(&mut self, reached: &Reached, what: Happens) {
        for message in reached.server.iter().filter(|message| message.contains(r#""id":"#)) {
            let id = id_of(message).unwrap();
            let asked = self.open.get_mut(&id).unwrap_or_else(|| panic!("{what:?}: {message} is of no open request"));
            assert!(!asked.forwarded && !asked.cancelled, "{what:?}: {message} was forwarded or cancelled before");
            asked.forwarded = true;
            // Only what a decision on disk allows.
            let allowed = self.guarded.entries.iter().rev().find(|entry| {
                entry.get("kind").unwrap().as_str() == Some("decided")
                    && entry.get("request").unwrap().as_str() == Some(&*id.to_string())
            });
            let allowed = allowed.and_then(|entry| entry.get("allowed")?.as_bool());
            assert!(!asked.is_call || allowed == Some(true), "{what:?}: {message}");
            assert!(!asked.is_call || !self.ended, "{what:?}: {message} after the server has ended");
        }
        for message in &reached.client {
            assert!(!message.contains("org.proofmark/1"), "{what:?}: {message} is not the client's");
            if message.contains(r#""id":"#) {
                let id = id_of(message).unwrap();
                assert!(self.open.remove(&id).is_some(), "{what:?}: {message} answers nothing that is open");
            }
        }
        self.own.extend(reached.own.iter().cloned());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_executed_twice_or_undecided_or_after_it_was_cancelled(all in prop::collection::vec(happens(), 1..60)) {
        let mut world = World::new();
        for what in all {
            if world.guarded.decisions > 200 {
                break;
            }
            world.happens(what);
        }
        // In the end nothing is left without an answer.
        world.happens(Happens::ServerEnds);
        prop_assert!(world.open.values().all(|asked| asked.cancelled || !asked.is_call), "{:?}", world.open);
    }
}
