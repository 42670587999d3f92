//! A guarded connection with a store: what waits for reviews, and what is recorded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proofmark_boundary::{ActionPolicy, Asker};
use proofmark_decider::{
    Decider, Guard, NewReview, Owner, Passage, PinStatus, accounts_to_approve, approve_pins, pins,
};
use proofmark_evidence::Reviewer;
use proofmark_evidence::Signers;
use proofmark_guard::{Pinning, Settings as GuardSettings};
use proofmark_keys::TrustedSigners;
use proofmark_receipt::SigningKey;
use proofmark_receipt::document::{Format, parse};
use proofmark_store::{Store, Tenant};
use proofmark_testing::Home;

/// Who gives approvals is appended.
const POLICY: &str = "
version: 1
tools: [{tool: write, class: record_mutation}, {tool: read, class: generic}]
boundaries:
  - {id: reads, match: {tool: read}}
  - {id: writes, match: {tool: write}, require: [{approval: {role: owner, count: 2}}]}
";
const OPEN: &str = "
version: 1
tools: [{tool: write, class: record_mutation}, {tool: read, class: generic}]
boundaries: [{id: all, match: {}}]
";
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":"l","result":{"tools":[{"name":"read"},{"name":"write"}]}}"#;

struct Place {
    home: Home,
    key: [u8; 32],
}

impl Place {
    fn new() -> Self {
        Self { home: Home::new(), key: [7; 32] }
    }

    fn key(&self) -> SigningKey {
        SigningKey::from_seed(self.key)
    }

    fn decider(&self) -> Arc<Decider> {
        let server = self.key().signer();
        let people = ["ann", "bob"].map(|id| format!("'reviewer:{id}@{server}'")).join(", ");
        let policy = policy(&format!("{POLICY}roles: {{owner: [{people}]}}\n"));
        let store = Store::open(self.home.store()).unwrap();
        Arc::new(Decider::for_command_line(
            Some(policy),
            self.key(),
            store,
            TrustedSigners::exactly(Signers::default()),
        ))
    }

    fn guard(&self) -> Guard {
        self.guard_of("s", None)
    }

    fn guard_of(&self, session: &str, agent: Option<&str>) -> Guard {
        let settings = GuardSettings {
            session: session.to_owned(),
            agent: agent.map(str::to_owned),
            server: "notes".to_owned(),
            wait: Duration::from_secs(600),
            ..GuardSettings::default()
        };
        let guard = Guard::open(self.decider(), Owner::local(), settings, Pinning::Learn).unwrap();
        guard.from_client(br#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#);
        guard.from_server(TOOLS.as_bytes());
        guard
    }

    /// Reviews a decision, as a caller of a server that shares the store.
    fn review(&self, decision_id: &str, reviewer: &str, approve: bool) {
        let reviewer = Reviewer { id: reviewer.to_owned(), key: None, roles: vec!["owner".to_owned()] };
        let new = NewReview {
            shown: None,
            tenant: &Tenant::LOCAL,
            decision_id,
            reviewer: &reviewer,
            approve,
            note: "seen",
            role: None,
            expires_in: None,
            signed: None,
            scope: None,
        };
        self.decider().review(&new).unwrap();
    }

    /// The kinds of the session's entries.
    fn kinds(&self) -> Vec<String> {
        let store = Store::open(self.home.store()).unwrap();
        let entries = store.of(&Tenant::LOCAL).session_entries("s", 0, 100).unwrap();
        entries.into_iter().map(|entry| entry.kind).collect()
    }
}

fn policy(text: &str) -> ActionPolicy {
    ActionPolicy::read(&parse(text.as_bytes(), Format::Yaml).unwrap()).unwrap()
}

fn write(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write","arguments":{{}},"_meta":{{"progressToken":{id}}}}}}}"#
    )
}

/// What is moved, whichever request it is of.
fn moved(passages: Vec<Passage>) -> Vec<Passage> {
    let moved = passages.into_iter().map(|passage| match passage {
        Passage::Of(_, passage) => *passage,
        passage => passage,
    });
    moved.collect()
}

/// The decision that a call waits for, by what the client is told.
#[track_caller]
fn waits(passages: Vec<Passage>) -> String {
    let passages = moved(passages);
    let [Passage::Progress(told)] = &passages[..] else { panic!("{passages:?}") };
    assert!(told.contains("notifications/progress"), "{told}");
    told.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned()
}

#[track_caller]
fn blocked(passages: Vec<Passage>) -> String {
    let passages = moved(passages);
    let [Passage::ToClient(answer)] = &passages[..] else { panic!("{passages:?}") };
    assert!(answer.contains(r#""isError":true"#), "{answer}");
    answer.clone()
}

#[test]
fn a_call_goes_on_once_all_approvals_are_there() {
    let place = Place::new();
    let guard = place.guard();
    let decision = waits(guard.from_client(write(1).as_bytes()));
    place.review(&decision, "ann", true);
    // Each decision on a call that is not allowed counts as a denial, so it is not decided before.
    assert_eq!(guard.tick(), []);
    place.review(&decision, "bob", true);
    assert_eq!(moved(guard.tick()), [Passage::ToServer(write(1))]);
    assert_eq!(guard.tick(), []);
    guard.close().unwrap();
    assert_eq!(place.kinds(), ["opened", "tools", "decided", "waiting", "decided", "closed"]);
}

#[test]
fn a_call_that_is_denied_is_blocked_at_once() {
    let place = Place::new();
    let guard = place.guard();
    let decision = waits(guard.from_client(write(1).as_bytes()));
    place.review(&decision, "ann", false);
    let answer = blocked(guard.tick());
    assert!(answer.contains("human_denied"), "{answer}");
}

#[test]
fn a_call_is_blocked_at_once_when_its_action_is_denied_to_another_agent() {
    let place = Place::new();
    let guards = [place.guard_of("a", Some("a")), place.guard_of("b", Some("b"))];
    let waiting = guards.each_ref().map(|guard| waits(guard.from_client(write(1).as_bytes())));
    place.review(&waiting[0], "ann", false);
    for guard in guards {
        let answer = blocked(guard.tick());
        assert!(answer.contains("human_denied"), "{answer}");
    }
}

#[test]
fn a_call_that_waits_is_decided_by_the_policy_of_then() {
    let place = Place::new();
    let guard = place.guard();
    let decision = waits(guard.from_client(write(1).as_bytes()));
    assert!(guard.set_policy(policy(POLICY)));
    place.review(&decision, "ann", true);
    place.review(&decision, "bob", true);
    // The policy lists the reviewers no more. It waits on, for another decision.
    let other = waits(guard.tick());
    assert_ne!(other, decision);
    assert!(guard.set_policy(policy(OPEN)) && !guard.set_policy(policy(OPEN)));
    place.review(&other, "ann", false);
    // A denial counts under any policy.
    blocked(guard.tick());
    assert_eq!(guard.from_client(write(2).replace("write", "read").as_bytes()).len(), 1);
    guard.close().unwrap();
    assert_eq!(place.kinds().iter().filter(|kind| *kind == "policy").count(), 2);
}

#[test]
fn many_definitions_are_pinned_in_one_write() {
    let place = Place::new();
    let guard = place.guard();
    let tools: Vec<_> =
        (0..900).map(|number| format!(r#"{{"name":"t{number}","description":"does {number}"}}"#)).collect();
    guard.from_client(br#"{"jsonrpc":"2.0","id":"m","method":"tools/list"}"#);
    let list = format!(r#"{{"jsonrpc":"2.0","id":"m","result":{{"tools":[{}]}}}}"#, tools.join(","));
    let store = Store::open(place.home.store()).unwrap();
    let pinned = || proofmark_decider::pins(&store.of(&Tenant::LOCAL)).unwrap().len();
    let before = pinned();
    let done = AtomicBool::new(false);
    // Another process sees none of them or all: with a write for each, which takes minutes on a slow disk, it would see some.
    let seen = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !done.load(Ordering::Relaxed) {
                seen.insert(pinned());
            }
            seen
        });
        let passages = guard.from_server(list.as_bytes());
        done.store(true, Ordering::Relaxed);
        assert_eq!(passages.len(), 1);
        looking.join().unwrap()
    });
    assert!(seen.is_subset(&BTreeSet::from([before, before + 900])), "{seen:?}");
    assert_eq!(pinned(), 902);
}

#[test]
fn servers_that_begin_at_the_same_time_are_compared_with_each_other() {
    let place = Place::new();
    let begin = |server: &str, session: &str| {
        let settings =
            GuardSettings { session: session.to_owned(), server: server.to_owned(), ..GuardSettings::default() };
        Guard::open(place.decider(), Owner::local(), settings, Pinning::Learn).unwrap()
    };
    let lists = |guard: &Guard, tools: &str| {
        guard.from_client(br#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#);
        guard.from_server(format!(r#"{{"jsonrpc":"2.0","id":"l","result":{{"tools":[{tools}]}}}}"#));
    };
    let read = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#;
    let [first, second, third] =
        [("notes", "a"), ("other", "b"), ("notes", "c")].map(|(server, session)| begin(server, session));
    lists(&first, r#"{"name":"read"}"#);
    // Only the name of a tool that a person approved is kept from other servers.
    let store = Store::open(place.home.store()).unwrap();
    let (store, known) = (store.of(&Tenant::LOCAL), pins(&store.of(&Tenant::LOCAL)).unwrap());
    assert_eq!(approve_pins(&store, &known, "notes", None).unwrap().len(), 1);
    lists(&second, r#"{"name":"read"},{"name":"look"}"#);
    lists(&third, r#"{"name":"read","description":"Send it."}"#);
    assert!(matches!(first.from_client(read).as_slice(), [Passage::ToServer(_)]));
    for (guard, why) in [(second, "the server `notes` has a tool of this name"), (third, "its definition has changed")]
    {
        let said = blocked(guard.from_client(read));
        assert!(said.contains(why), "{said}");
    }
    // What was pinned first stays.
    let again = begin("notes", "d");
    lists(&again, r#"{"name":"read"}"#);
    assert!(matches!(again.from_client(read).as_slice(), [Passage::ToServer(_)]));
}

#[test]
fn no_account_has_the_servers_of_another_one_quarantined() {
    let place = Place::new();
    let begin = |account: &str, session: &str| {
        let settings =
            GuardSettings { session: session.to_owned(), server: "notes".to_owned(), ..GuardSettings::default() };
        let asker = Asker { account: Some(account.to_owned()), ..Asker::default() };
        Guard::open(place.decider(), Owner { tenant: Tenant::LOCAL, asker }, settings, Pinning::Learn).unwrap()
    };
    let lists = |guard: &Guard, text: &str| {
        guard.from_client(br#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#);
        let tool = format!(r#"{{"name":"read","description":"{text}"}}"#);
        guard.from_server(format!(r#"{{"jsonrpc":"2.0","id":"l","result":{{"tools":[{tool}]}}}}"#));
    };
    let read = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#;
    let passes = |guard: &Guard| matches!(guard.from_client(read).as_slice(), [Passage::ToServer(_)]);
    let first = begin("mallory", "a");
    lists(&first, "Send it.");
    let honest = begin("ann", "b");
    lists(&honest, "Reads.");
    assert!(passes(&honest), "what another account has listed first is not its pin");
    // To its own pins each account is held.
    let changed = begin("ann", "c");
    lists(&changed, "Reads all.");
    let why = blocked(changed.from_client(read));
    assert!(why.contains("its definition has changed"), "{why}");
    // What a person approved counts for all of them.
    let store = Store::open(place.home.store()).unwrap();
    let store = store.of(&Tenant::LOCAL);
    let known = pins(&store).unwrap();
    assert_eq!(accounts_to_approve(&known, "notes").into_iter().collect::<Vec<_>>(), ["ann", "mallory"]);
    let of_ann: Vec<_> = known.into_iter().filter(|pin| pin.account == "ann").collect();
    assert_eq!(approve_pins(&store, &of_ann, "notes", None).unwrap().len(), 1);
    let left = pins(&store).unwrap();
    let left: Vec<_> = left.iter().map(|pin| (pin.name.to_string(), &*pin.account, &pin.status)).collect();
    assert_eq!(left, [("read".to_owned(), "", &PinStatus::Approved)]);
    let again = begin("mallory", "d");
    lists(&again, "Send it.");
    assert!(!passes(&again));
    lists(&again, "Reads all.");
    assert!(passes(&again) && passes(&changed));
}

#[test]
fn entries_that_are_cut_off_or_replaced_are_missed() {
    for statement in [
        "DELETE FROM session_entries WHERE position = (SELECT max(position) FROM session_entries)",
        "DELETE FROM session_entries",
        "UPDATE session_entries SET hash = (SELECT hash FROM session_entries WHERE position = 0)",
    ] {
        let place = Place::new();
        let guard = place.guard();
        assert!(guard.set_policy(policy(OPEN)));
        assert_eq!(moved(guard.from_client(write(1).as_bytes())), [Passage::ToServer(write(1))]);
        place.home.sql(statement);
        for id in [2, 3] {
            let answer = blocked(guard.from_client(write(id).as_bytes()));
            assert!(answer.contains("rely on the session `s`"), "{statement}: {answer}");
        }
    }
}
