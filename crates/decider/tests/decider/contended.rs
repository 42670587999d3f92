//! Many decisions on one action at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use proofmark_boundary::{ActionPolicy, Request};
use proofmark_decider::{Asked, Attempt, Begun, Decider, Deciding};
use proofmark_keys::TrustedSigners;
use proofmark_receipt::SigningKey;
use proofmark_receipt::document::{Format, parse};
use proofmark_store::{DecisionsWanted, Store, Tenant};
use proofmark_testing::Home;

/// The fifth denial in a row, and those after it, ask for a person.
const POLICY: &str = "
version: 1
tools: [{tool: pay, class: record_mutation}]
repeat: {same_action_denied: 5, then: human_review}
boundaries:
  - {id: payments, match: {tool: pay}, require: [{fact: \"context_fill_pct < 0.5\"}]}
";
const BEFORE_REVIEW: usize = 4;

const CLIENTS: usize = 64;

fn decider(home: &Home) -> Arc<Decider> {
    let policy = ActionPolicy::read(&parse(POLICY.as_bytes(), Format::Yaml).unwrap()).unwrap();
    let store = Arc::new(Store::open(home.store()).unwrap());
    Arc::new(Decider::new(Some(policy), SigningKey::from_seed([7; 32]), store, TrustedSigners::default()))
}

fn request(is_allowed: bool) -> Request {
    let full = if is_allowed { "0.1" } else { "0.9" };
    let text = format!(
        r#"{{"action":{{"tool":"pay","class":"record_mutation","args":{{"amount":600}}}},"context_fill_pct":{full}}}"#
    );
    Request::read(&parse(text.as_bytes(), Format::Json).unwrap()).unwrap()
}

/// A decision that is made without waiting for those before it.
#[track_caller]
fn made(decider: &Decider, request: &Request) -> Deciding {
    let stop = AtomicBool::new(false);
    match decider.begin(&Asked::new(request, &Tenant::LOCAL, &stop), &mut Attempt::default()).unwrap() {
        Begun::Made(deciding) => deciding,
        Begun::Waits(_) => panic!("the decision waits for those before it"),
    }
}

/// The modes of all stored decisions, in their order.
fn modes(decider: &Decider) -> Vec<String> {
    let (mut modes, mut after) = (Vec::new(), None);
    loop {
        let page = decider
            .store()
            .of(&Tenant::LOCAL)
            .decisions(&DecisionsWanted { limit: 100, after, ..DecisionsWanted::default() })
            .unwrap();
        modes.extend(page.decisions.into_iter().map(|decision| decision.about.mode));
        after = page.next;
        if after.is_none() {
            modes.reverse();
            return modes;
        }
    }
}

/// A commit holds up none of them, so they share the next one; and each counts those before it.
#[test]
fn decisions_on_one_action_are_made_while_those_before_them_are_written() {
    let home = Home::new();
    let decider = decider(&home);
    let held = home.hold();
    let mut requests: Vec<Request> = (1..CLIENTS).map(|_| request(false)).collect();
    // After an allowed one, denials are counted anew.
    requests.insert(CLIENTS / 2, request(true));
    let deciding: Vec<Deciding> = requests.iter().map(|request| made(&decider, request)).collect();
    drop(held);
    let told: Vec<String> = deciding
        .into_iter()
        .map(|deciding| {
            deciding.wait().unwrap().expect("nothing overtakes it").decision.unwrap().disposition().mode().to_owned()
        })
        .collect();
    assert_eq!(told, modes(&decider));
    let reviews = |told: &[String]| told.iter().position(|mode| mode == "human_review");
    let (before, after) = told.split_at(CLIENTS / 2);
    assert_eq!((reviews(before), reviews(after)), (Some(BEFORE_REVIEW), Some(1 + BEFORE_REVIEW)));
}

/// What counts on a decision that is refused, because another process was faster, is made again.
#[test]
fn two_processes_count_every_denial_once() {
    let home = Home::new();
    let deciders = [decider(&home), decider(&home)];
    let request = request(false);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (decider, request) = (&deciders[thread % 2], &request);
            scope.spawn(move || {
                let stop = AtomicBool::new(false);
                for _ in 0..8 {
                    decider.decide(&Asked::new(request, &Tenant::LOCAL, &stop)).unwrap();
                }
            });
        }
    });
    let modes = modes(&deciders[0]);
    let before = modes.iter().take_while(|mode| *mode != "human_review").count();
    assert_eq!((modes.len(), before), (64, BEFORE_REVIEW));
    assert!(modes[before..].iter().all(|mode| mode == "human_review"));
}
