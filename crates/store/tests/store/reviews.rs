//! Reviews of decisions, and which decisions wait for one.

use proofmark_store::{
    DecisionIndex, DecisionsWanted, JudgedRules, NewDecision, QueueFilter, Review, ReviewVerdict, StoreError, Tenant,
    TenantStore, WaitingWanted,
};

use crate::samples::{Home, Local, decision, decision_id};

/// The decision with this number, on a subject, and how many approvals it waits for: none when it allowed.
fn decide(store: &TenantStore<'_>, number: u64, subject: &str, wanted: Option<u64>) {
    let about = DecisionIndex {
        review: wanted.is_some(),
        wanted: wanted.unwrap_or(1),
        subject: subject.to_owned(),
        facts: wanted.map(|_| format!("{{\"n\": {number}}}")),
        ..DecisionIndex::default()
    };
    let decision = decision(number, &number.to_string(), 1, wanted.is_none());
    store.submit(NewDecision { decided_at: time(number), about, ..decision }).wait().unwrap();
}

fn name(number: u64) -> String {
    decision_id(number)
}

fn time(number: u64) -> i64 {
    (number * 10).cast_signed()
}

fn review(store: &TenantStore<'_>, number: u64, person: &str, role: &str, at: i64) -> Result<(), StoreError> {
    let denial = role.is_empty();
    let review = Review {
        decision_id: name(number),
        fingerprint: number.to_string(),
        subject: "s".to_owned(),
        verdict: if denial { ReviewVerdict::Denied } else { ReviewVerdict::Approved },
        reviewer: person.to_owned(),
        person: person.to_owned(),
        role: role.to_owned(),
        note: "n".to_owned(),
        receipt_id: None,
        reviewed_at: at,
        until: at + 100,
    };
    store.submit(review).wait().map(drop)
}

fn waiting(store: &TenantStore<'_>) -> Vec<String> {
    let wanted = DecisionsWanted { to_review: true, limit: 10, ..DecisionsWanted::default() };
    store.decisions(&wanted).unwrap().decisions.into_iter().map(|decision| decision.decision_id).collect()
}

engines! {
    a_person_reviews_a_decision_once_in_a_role,
    the_newest_decision_of_a_subject_waits_until_it_has_enough_reviews,
    those_that_have_waited_longest_come_first_however_often_they_were_asked_for,
    what_waits_is_found_by_its_text_its_agent_and_the_role_it_asks_for,
    decisions_are_counted_by_hour_rules_and_agent,
    a_denial_stands_until_it_ends,
    a_denial_is_of_the_action_whatever_subject_asks,
}

fn a_person_reviews_a_decision_once_in_a_role(home: &Home) {
    let store = home.open();
    let (ours, others) = (store.local(), store.of(&"b".parse::<Tenant>().unwrap()));
    decide(&ours, 0, "s", Some(3));
    assert!(review(&ours, 0, "ann", "lead", 1).is_ok());
    assert!(matches!(review(&ours, 0, "ann", "lead", 2), Err(StoreError::Reviewed(_))));
    assert!(review(&ours, 0, "ann", "owner", 3).is_ok() && review(&ours, 0, "bob", "lead", 4).is_ok());
    assert!(review(&ours, 0, "ann", "", 5).is_ok(), "who has approved may still deny");
    assert!(matches!(review(&ours, 0, "ann", "chief", 6), Err(StoreError::Reviewed(_))), "and not the other way round");
    assert!(review(&others, 0, "ann", "lead", 7).is_ok(), "another tenant's reviews are its own");
    let reviews: Vec<_> =
        ours.reviews(&name(0)).unwrap().into_iter().map(|review| (review.person, review.role)).collect();
    let texts = [("ann", "lead"), ("ann", "owner"), ("bob", "lead"), ("ann", "")];
    assert_eq!(reviews, texts.map(|(person, role)| (person.to_owned(), role.to_owned())));
}

fn the_newest_decision_of_a_subject_waits_until_it_has_enough_reviews(home: &Home) {
    let store = home.open();
    let ours = store.local();
    for number in 0..3 {
        decide(&ours, number, "s", Some(2));
    }
    decide(&ours, 3, "another", Some(1));
    assert_eq!(waiting(&ours), [name(3), name(2)]);
    assert_eq!(ours.facts(&name(0)).unwrap(), None, "the newest has taken its place");
    assert_eq!(ours.facts(&name(2)).unwrap(), ours.newest_facts("s").unwrap());
    assert!(ours.newest_facts("s").unwrap().is_some());
    review(&ours, 0, "ann", "lead", time(3)).unwrap();
    assert_eq!(waiting(&ours), [name(3), name(2)]);
    review(&ours, 2, "bob", "lead", time(3)).unwrap();
    assert_eq!(waiting(&ours), [name(3)]);
    decide(&ours, 4, "s", Some(1));
    assert_eq!(waiting(&ours), [name(4), name(3)]);
    decide(&ours, 5, "s", None);
    assert_eq!(waiting(&ours), [name(3)]);
    assert_eq!(ours.newest_facts("s").unwrap(), None);
    let late = review(&ours, 4, "cid", "lead", time(6));
    assert!(matches!(late, Err(StoreError::AllowedSince(_, by)) if by == name(5)));
}

fn those_that_have_waited_longest_come_first_however_often_they_were_asked_for(home: &Home) {
    let store = home.open();
    let (ours, others) = (store.local(), store.of(&"b".parse::<Tenant>().unwrap()));
    for (number, subject) in [(0, "s"), (1, "t"), (2, "s"), (3, "u"), (4, "s")] {
        decide(&ours, number, subject, Some(1));
    }
    let all = WaitingWanted::default();
    let (waiting, more) = ours.waiting(&all, 2).unwrap();
    let shown: Vec<_> = waiting.iter().map(|one| (one.decision.decision_id.clone(), one.since, one.asked)).collect();
    assert_eq!((shown, more), (vec![(name(4), time(0), 3), (name(1), time(1), 1)], true));
    let after = WaitingWanted { after: Some(waiting[1].place), ..all.clone() };
    let before = WaitingWanted { before: Some(waiting[1].place), ..all.clone() };
    let ids = |wanted: &WaitingWanted| -> Vec<String> {
        ours.waiting(wanted, 9).unwrap().0.into_iter().map(|one| one.decision.decision_id).collect()
    };
    assert_eq!((ids(&after), ids(&before)), (vec![name(3)], vec![name(4)]));
    assert_eq!((ours.waiting_count(&all).unwrap(), ours.waiting_count(&before).unwrap()), (3, 1));
    assert_eq!(ours.waiting_on("s").unwrap().map(|one| one.asked), Some(3));
    assert_eq!((others.waiting_on("s").unwrap(), others.waiting_count(&all).unwrap()), (None, 0));
    review(&ours, 4, "ann", "lead", time(5)).unwrap();
    assert_eq!((ours.waiting_on("s").unwrap(), ours.waiting_count(&all).unwrap()), (None, 2));
    decide(&ours, 6, "s", Some(1));
    assert_eq!(ours.waiting_on("s").unwrap().map(|one| (one.asked, one.since)), Some((1, time(6))));
    assert_eq!(ours.decisions_on("s", 2).unwrap().len(), 2);
    assert_eq!(ours.reviews_on("s", 9).unwrap().len(), 1);
    assert_eq!(ours.reviews_since(time(5), 9).unwrap().first().map(|(_, decided)| *decided), Some(time(4)));
    assert!(ours.reviews_since(time(5) + 1, 9).unwrap().is_empty());
}

fn what_waits_is_found_by_its_text_its_agent_and_the_role_it_asks_for(home: &Home) {
    let store = home.open();
    let ours = store.local();
    for (number, agent, action) in [(0, "billing", r#"{"tool": "Refund"}"#), (1, "mail", r#"{"tool": "send"}"#)] {
        decide(&ours, number, &number.to_string(), Some(1));
        let document =
            format!(r#"{{"reasons": [{{"message": "Nobody of {agent}"}}], "evidence": [{{"role": "{agent}"}}, 1]}}"#);
        home.sql(&format!(
            "UPDATE decisions SET agent = '{agent}', action = '{action}', document = '{document}'
             WHERE decision_id = '{}'",
            name(number)
        ));
        home.sql(&format!("UPDATE waiting SET roles = '[\"{agent}\"]' WHERE subject = '{number}'"));
    }
    let found = |wanted: WaitingWanted| -> Vec<String> {
        ours.waiting(&wanted, 9).unwrap().0.into_iter().map(|one| one.decision.decision_id).collect()
    };
    let text = |text: &str| found(WaitingWanted { text: Some(text.to_owned()), ..WaitingWanted::default() });
    assert_eq!((text("refund"), text("NOBODY OF MAIL"), text("%")), (vec![name(0)], vec![name(1)], vec![]));
    assert_eq!(found(WaitingWanted { agent: Some("mail".to_owned()), ..WaitingWanted::default() }), [name(1)]);
    assert_eq!(found(WaitingWanted { role: Some("billing".to_owned()), ..WaitingWanted::default() }), [name(0)]);
    let of_roles = |roles: &[&str]| {
        let filter =
            QueueFilter { roles: Some(roles.iter().copied().map(str::to_owned).collect()), ..QueueFilter::default() };
        let wanted = WaitingWanted { filter: filter.clone(), ..WaitingWanted::default() };
        let listed = DecisionsWanted { to_review: true, filter, limit: 9, ..DecisionsWanted::default() };
        let listed = ours.decisions(&listed).unwrap().decisions.into_iter().rev().map(|one| one.decision_id);
        assert_eq!(listed.collect::<Vec<_>>(), found(wanted.clone()), "{roles:?}");
        (ours.waiting_count(&wanted).unwrap(), found(wanted))
    };
    assert_eq!(of_roles(&["mail", "lead"]), (1, vec![name(1)]));
    assert_eq!(of_roles(&["mail", "billing"]), (2, vec![name(0), name(1)]));
    assert_eq!((of_roles(&[]), of_roles(&["bill", "\""])), ((0, vec![]), (0, vec![])));
    // What a row says only narrows the list: whether the decision asks for it says its document.
    home.sql("UPDATE waiting SET roles = '[\"lead\"]' WHERE subject = '1'");
    assert_eq!(of_roles(&["lead"]).1, Vec::<String>::new());
    home.sql(&format!("UPDATE decisions SET document = '{{' WHERE decision_id = '{}'", name(0)));
    assert_eq!(text("send"), [name(1)], "a damaged document does not fail the list");
}

fn decisions_are_counted_by_hour_rules_and_agent(home: &Home) {
    let store = home.open();
    let ours = store.local();
    let hour = 3_600_000;
    let judged = Some(JudgedRules { policy: proofmark_receipt::Sha256Digest::of(b"p"), rules: "r:stopped".to_owned() });
    for (number, at, agent) in [(0, 0, Some("a")), (1, 5, Some("a")), (2, hour, None), (3, 30 * hour, Some("b"))] {
        let about =
            DecisionIndex { agent: agent.map(str::to_owned), judged: judged.clone(), ..DecisionIndex::default() };
        let new = decision(number, &number.to_string(), 1, number == 3);
        ours.submit(NewDecision { decided_at: at, about, ..new }).wait().unwrap();
    }
    let counts = ours.decision_counts(0).unwrap();
    let shown: Vec<_> = counts.iter().map(|count| (count.hour / hour, count.allowed, count.decisions)).collect();
    assert_eq!(shown, [(30, true, 1), (1, false, 1), (0, false, 2)]);
    assert!(counts.iter().all(|count| count.judged == judged));
    assert_eq!(ours.decision_counts(hour).unwrap().len(), 2);
    let agents = ours.agent_counts(0, 2).unwrap();
    let agents: Vec<_> = agents.iter().map(|one| (one.agent.as_str(), one.allowed, one.stopped)).collect();
    assert_eq!(agents, [("a", 0, 2), ("", 0, 1)]);
    assert!(store.of(&"b".parse::<Tenant>().unwrap()).decision_counts(0).unwrap().is_empty());
}

fn a_denial_stands_until_it_ends(home: &Home) {
    let store = home.open();
    let ours = store.local();
    decide(&ours, 0, "s", Some(1));
    review(&ours, 0, "ann", "", 5).unwrap();
    assert_eq!(waiting(&ours), Vec::<String>::new());
    assert_eq!(ours.denial("0", 104).unwrap().map(|review| review.person).as_deref(), Some("ann"));
    assert_eq!((ours.denial("0", 105).unwrap(), ours.denial("another", 6).unwrap()), (None, None));
    assert_eq!(store.of(&"b".parse::<Tenant>().unwrap()).denial("0", 6).unwrap(), None);
}

fn a_denial_is_of_the_action_whatever_subject_asks(home: &Home) {
    let store = home.open();
    let ours = store.local();
    let about = |subject: &str| DecisionIndex {
        review: true,
        wanted: 1,
        subject: subject.to_owned(),
        ..DecisionIndex::default()
    };
    for (number, action, nth, subject) in [(0, "0", 1, "s"), (1, "0", 2, "t"), (2, "another", 1, "u")] {
        let new = NewDecision { about: about(subject), ..decision(number, action, nth, false) };
        ours.submit(new).wait().unwrap();
    }
    assert_eq!(waiting(&ours), [name(2), name(1), name(0)]);
    review(&ours, 0, "ann", "", time(1)).unwrap();
    assert_eq!(waiting(&ours), [name(2)], "the same action waits under no other name");
    let denial = ours.action_state("0").unwrap().denial.or(ours.denial("0", time(1)).unwrap());
    assert_eq!(denial.map(|denial| denial.subject).as_deref(), Some("s"));
    assert_eq!(ours.denial("another", time(1)).unwrap(), None);
}
