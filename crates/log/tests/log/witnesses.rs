use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proofmark_log::{LogKeeper, RENEW_AFTER, Witness, WitnessAnswer, WitnessError, Witnesses};
use proofmark_tlog::{Cosigner, Policy, TrustedKeys, Witnessed, add_checkpoint_body, verify_proof};

use crate::samples::{ORIGIN, Place, add, digest, keeper};

/// 2026-01-01, in seconds since 1970.
const AT: u64 = 1_767_225_600;

fn cosigner(number: u8) -> Cosigner {
    Cosigner::from_seed(&format!("witness.example/w{number}"), &[number; 32]).unwrap()
}

#[test]
fn witnesses_cosign_what_continues_and_a_proof_shows_it() {
    let (place, state) = (Place::new(), Place::new());
    let store = place.store();
    let plain = keeper(&place, &store);
    let vkey = plain.vkey().clone();
    let folder = |number: u8| state.path().join(number.to_string());
    let open = |number: u8| Witness::open(cosigner(number), vec![vkey.clone()], &folder(number)).unwrap();
    let (one, two) = (Arc::new(open(1)), Arc::new(open(2)));
    let policy = format!(
        "log {vkey}\nwitness one {} http://one/\nwitness two {} http://two\nwitness three {} http://three\ngroup most 2 one two three\nquorum most\n",
        one.vkey(),
        two.vkey(),
        cosigner(3).vkey(),
    );
    let policy = Policy::parse(policy.as_bytes()).unwrap();
    let (first, second) = (Arc::clone(&one), Arc::clone(&two));
    let ask = move |url: &str, body: String| {
        let witness = match url {
            "http://one/add-checkpoint" => &first,
            "http://two/add-checkpoint" => &second,
            _ => return Err("it cannot be reached".to_owned()),
        };
        Ok(match witness.add_checkpoint(body.as_bytes(), AT).unwrap() {
            WitnessAnswer::Cosigned(lines) => (200, lines.into_bytes()),
            WitnessAnswer::Refused(refusal) => (refusal.status(), refusal.body().into_bytes()),
        })
    };
    let ask = Arc::new(ask);
    let witnesses = || {
        let ask = Arc::clone(&ask);
        Witnesses::new(policy.witnesses(), Box::new(move |url, body| ask(url, body)))
    };
    for size in [3, 4, 300] {
        add(&store, 0..size);
        // Each time a new process, which does not know what they have cosigned.
        let witnesses = witnesses();
        let signer = place.home().signer(None).unwrap();
        let keeper = LogKeeper::new(&store, place.home(), signer).with_witnesses(&witnesses);
        let published = keeper.publish().unwrap();
        assert_eq!(published.checkpoint.size, size);
        let cosigning = keeper.cosign(&published, AT).unwrap();
        assert_eq!(cosigning.missing, [("three".to_owned(), "it cannot be reached".to_owned())]);
        assert_eq!(cosigning.cosigned, 2);
        let proof = keeper.prove(&digest(2), None).unwrap().to_bytes();
        let found = verify_proof(&proof, &digest(2), TrustedKeys { logs: &[], policy: Some(&policy) });
        assert_eq!((found.witnessed, found.cosignatures.len()), (Witnessed::Met, 2));
    }
    let hash = proofmark_receipt::Sha256Digest::of(ORIGIN.as_bytes()).bare_hex();
    assert!(one.checkpoint(&hash).unwrap().contains("\n300\n"));
    assert_eq!(one.checkpoint("00"), None);
}

#[test]
fn a_witness_cosigns_one_history_whatever_becomes_of_its_process() {
    let (place, other, state) = (Place::new(), Place::new(), Place::new());
    let (store, fork) = (place.store(), other.store());
    let honest = keeper(&place, &store);
    let logs = vec![honest.vkey().clone()];
    add(&store, 0..4);
    let first = honest.publish().unwrap().note;
    let open = || Witness::open(cosigner(1), logs.clone(), state.path());
    let witness = open().unwrap();
    let again = open().err();
    assert!(matches!(again, Some(WitnessError::InUse(_))), "{again:?}");
    let cosigned = witness.add_checkpoint(add_checkpoint_body(0, &[], &first).as_bytes(), 5).unwrap();
    assert!(matches!(cosigned, WitnessAnswer::Cosigned(_)));
    // What was answered is on disk.
    drop(witness);
    let witness = open().unwrap();
    let refused = |body: String| match witness.add_checkpoint(body.as_bytes(), 5).unwrap() {
        WitnessAnswer::Refused(refusal) => refusal.status(),
        WitnessAnswer::Cosigned(lines) => panic!("{lines}"),
    };
    assert_eq!(refused(add_checkpoint_body(0, &[], &first)), 409);
    // Another history of the same size, signed by the log's own key.
    add(&fork, 10..14);
    let signer = place.home().signer(None).unwrap();
    let root = proofmark_tlog::root(4, proofmark_log::StoredLog(&fork));
    drop(root.unwrap_err());
    let forked = signer.sign(4, proofmark_tlog::Hash::from_bytes([7; 32])).unwrap();
    assert_eq!(refused(add_checkpoint_body(4, &[], &forked)), 422);
    assert_eq!(refused(add_checkpoint_body(4, &[], "no note")), 400);
    drop(witness);
    // A state that it did not write stops it.
    let file = state.path().join(proofmark_receipt::Sha256Digest::of(ORIGIN.as_bytes()).bare_hex());
    fs::write(&file, first).unwrap();
    assert!(matches!(open().err(), Some(WitnessError::Changed { .. })));
}

#[test]
fn a_checkpoint_is_kept_before_a_witness_sees_it_and_no_witness_fills_it() {
    let place = Place::new();
    let store = place.store();
    drop(keeper(&place, &store));
    add(&store, 0..2);
    let (seen, home) = (Arc::new(std::sync::Mutex::new(Vec::new())), place.home());
    let told = Arc::clone(&seen);
    let ask = move |_: &str, body: String| {
        let kept = home.published().unwrap().unwrap().checkpoint.size;
        told.lock().unwrap().push(kept);
        // So many lines that no note has room for.
        let note = body.split_once("\n\n").unwrap().1;
        let text = note.split_once("\n\n").unwrap().0.to_owned() + "\n";
        Ok((200, (0..60).map(|time| cosigner(1).cosign(&text, time)).collect::<String>().into_bytes()))
    };
    let logs = place.home().vkeys().unwrap();
    let policy = format!("log {}\nwitness one {} http://one\nquorum one\n", logs[0], cosigner(1).vkey());
    let policy = Policy::parse(policy.as_bytes()).unwrap();
    let witnesses = Witnesses::new(policy.witnesses(), Box::new(ask));
    let signer = place.home().signer(None).unwrap();
    let keeper = LogKeeper::new(&store, place.home(), signer).with_witnesses(&witnesses);
    let published = keeper.publish().unwrap();
    assert_eq!(keeper.cosign(&published, 5).unwrap().cosigned, 1);
    assert_eq!(*seen.lock().unwrap(), [2]);
    assert_eq!(keeper.publish().unwrap().note.matches('\u{2014}').count(), 2);
}

#[test]
fn a_cosignature_that_is_old_is_renewed_where_nothing_new_is_stored() {
    let (place, state) = (Place::new(), Place::new());
    let store = place.store();
    let vkey = keeper(&place, &store).vkey().clone();
    add(&store, 0..2);
    let witness = Arc::new(Witness::open(cosigner(1), vec![vkey.clone()], &state.path().join("one")).unwrap());
    let policy = format!("log {vkey}\nwitness one {} http://one\nquorum one\n", witness.vkey());
    let policy = Policy::parse(policy.as_bytes()).unwrap();
    let now = Arc::new(AtomicU64::new(AT));
    let clock = Arc::clone(&now);
    let ask = move |_: &str, body: String| match witness.add_checkpoint(body.as_bytes(), clock.load(Ordering::Relaxed))
    {
        Ok(WitnessAnswer::Cosigned(lines)) => Ok((200, lines.into_bytes())),
        Ok(WitnessAnswer::Refused(refusal)) => Ok((refusal.status(), refusal.body().into_bytes())),
        Err(error) => Err(error.to_string()),
    };
    let witnesses = Witnesses::new(policy.witnesses(), Box::new(ask));
    let signer = place.home().signer(None).unwrap();
    let keeper = LogKeeper::new(&store, place.home(), signer).with_witnesses(&witnesses);
    // What a witness that this process does not know has cosigned stays.
    let note = keeper.publish().unwrap().note;
    let text = note.split_once("\n\n").unwrap().0.to_owned() + "\n";
    let other = cosigner(2).cosign(&text, AT);
    let longer = proofmark_tlog::Note::parse(note.as_bytes()).unwrap().with_lines(&other).unwrap();
    place.sql(&format!("UPDATE log_state SET checkpoint = '{longer}'"));
    let cosigned_at = |at: u64| {
        now.store(at, Ordering::Relaxed);
        let published = keeper.publish().unwrap();
        assert!(published.note.contains(other.trim_end()), "{}", published.note);
        assert!(keeper.cosign(&published, at).unwrap().missing.is_empty());
        let proof = keeper.prove(&digest(1), None).unwrap().to_bytes();
        let found = verify_proof(&proof, &digest(1), TrustedKeys { logs: &[], policy: Some(&policy) });
        let lines = keeper.publish().unwrap().note.matches('\u{2014}').count();
        (lines, found.cosignatures.iter().map(|cosignature| cosignature.time).collect::<Vec<_>>())
    };
    assert_eq!(cosigned_at(AT), (3, vec![AT]));
    assert_eq!(cosigned_at(AT + RENEW_AFTER - 1), (3, vec![AT]));
    assert_eq!(cosigned_at(AT + RENEW_AFTER), (3, vec![AT + RENEW_AFTER]));
    assert!(keeper.publish().unwrap().note.contains(other.trim_end()));
}
