//! Whose log and whose cosignatures make a receipt a logged one. The proofs are real: signed trees with receipts in them.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use proofmark_evidence::{
    Evidence, LogPolicy, LogProof, LogProofError, Logged, MAX_WITNESSES, ReceiptDemand, ReceiptFact, Wanted,
};
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, Profile, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Status,
    Timestamp, Verdict, object, verify_receipt,
};
use proofmark_tlog::{Cosigner, LogSigner, Note, ProofFile, leaf, node};
use proptest::prelude::*;

const ORIGIN: &str = "log.example/a";

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_767_225_600_000)
}

fn log() -> LogSigner {
    LogSigner::from_seed(ORIGIN, &[1; 32]).unwrap()
}

fn witness(number: u8) -> Cosigner {
    Cosigner::from_seed(&format!("witness.example/{number}"), &[100 + number; 32]).unwrap()
}

/// A receipt signed with another key for each number.
fn receipt(number: u8) -> Receipt {
    let digest = Sha256Digest::of(b"x");
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([number; 16]),
        verified_at: now(),
        tier: 1,
        verdict: Verdict::Pass,
        task: None,
        results: Results::from_details(vec![Detail::new("a", Status::Pass)]),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    };
    draft.sign(&SigningKey::from_seed([200; 32])).unwrap()
}

/// The proof file of a receipt, the second entry of two, by this log and these witnesses.
fn file(of: &Receipt, log: &LogSigner, cosigned: &[Cosigner]) -> ProofFile {
    let first = leaf(&Sha256Digest::of(b"another entry"));
    let mut note = log.sign(2, node(&first, &leaf(&of.hash()))).unwrap();
    let text = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    cosigned.iter().for_each(|witness| note += &witness.cosign(&text, 1_767_225_600));
    let extra = Some(of.document().canonical_vrf());
    ProofFile { extra, index: 1, path: vec![first], checkpoint: note.into_bytes() }
}

fn proof(of: &Receipt, log: &LogSigner, cosigned: &[Cosigner]) -> LogProof {
    LogProof::parse(file(of, log, cosigned).to_bytes()).unwrap()
}

fn read(text: &str) -> Result<LogPolicy, DocumentError> {
    LogPolicy::read(&Field::root(&Json::from(text)))
}

/// The log, two witnesses, and a quorum.
fn policy(quorum: &str) -> LogPolicy {
    let (log, one, two) = (log(), witness(1), witness(2));
    read(&format!(
        "log {}\nwitness one {}\nwitness two {}\ngroup both all one two\nquorum {quorum}\n",
        log.vkey(),
        one.vkey(),
        two.vkey()
    ))
    .unwrap()
}

fn demand(rule: Object, by: Option<&LogPolicy>) -> Result<ReceiptDemand, DocumentError> {
    let mut rule = rule;
    rule.insert("any_suite", true);
    rule.insert("comparison", "in_process");
    rule.insert("signer", "any");
    let json = Json::from(rule);
    let fields = Field::root(&json).fields().unwrap();
    ReceiptDemand::read(&fields, by)
}

fn fact(receipt: &Receipt, logged: Option<Logged>) -> ReceiptFact {
    let verified = verify_receipt(receipt, Profile::Vrf, &[]);
    ReceiptFact { logged, ..ReceiptFact::new(receipt, &verified, false) }
}

/// Why the receipt is refused with what the proofs of it show.
fn refused(rule: Object, by: &LogPolicy, proofs: &[LogProof]) -> Option<&'static str> {
    let receipt = receipt(1);
    let its = proofs.iter().filter(|proof| proof.entry() == receipt.hash());
    let fact = fact(&receipt, by.best(its));
    demand(rule, Some(by)).unwrap().meets(&Wanted::default(), &fact, &now()).err().map(|refusal| refusal.code())
}

fn logged() -> Object {
    object! { "logged": true }
}

fn witnesses(count: u64) -> Object {
    object! { "witnesses": count }
}

#[test]
fn only_the_logs_and_witnesses_of_the_policy_count() {
    let (ours, log, other_log) = (receipt(1), log(), LogSigner::from_seed(ORIGIN, &[2; 32]).unwrap());
    let (none, both) = (policy("none"), policy("both"));
    let of = |receipt: &Receipt, log: &LogSigner, numbers: &[u8]| {
        vec![proof(receipt, log, &numbers.iter().map(|number| witness(*number)).collect::<Vec<_>>())]
    };
    for (rule, by, proofs, refusal) in [
        (logged(), &none, vec![], Some("not_logged")),
        (logged(), &none, of(&ours, &log, &[]), None),
        (logged(), &none, of(&receipt(2), &log, &[]), Some("not_logged")),
        // Another key under the same origin.
        (logged(), &none, of(&ours, &other_log, &[1, 2]), Some("not_logged")),
        (logged(), &both, of(&ours, &log, &[1]), Some("not_witnessed")),
        (logged(), &both, of(&ours, &log, &[1, 2]), None),
        (witnesses(1), &none, of(&ours, &log, &[]), Some("not_witnessed")),
        (witnesses(1), &none, of(&ours, &log, &[2]), None),
        (witnesses(2), &none, of(&ours, &log, &[1]), Some("not_witnessed")),
        (witnesses(2), &none, of(&ours, &log, &[1, 2]), None),
        // The policy does not know the third; and the same witness cosigned twice.
        (witnesses(2), &none, of(&ours, &log, &[1, 3]), Some("not_witnessed")),
        (witnesses(2), &none, of(&ours, &log, &[1, 1]), Some("not_witnessed")),
        (witnesses(1), &both, of(&ours, &log, &[1]), Some("not_witnessed")),
        // Each of one tree: those of two trees are not added up.
        (witnesses(2), &none, [of(&ours, &log, &[1]), of(&ours, &log, &[2])].concat(), Some("not_witnessed")),
        (
            witnesses(2),
            &none,
            [of(&ours, &log, &[1]), of(&ours, &log, &[1, 2]), of(&ours, &other_log, &[])].concat(),
            None,
        ),
    ] {
        assert_eq!(refused(rule.clone(), by, &proofs), refusal, "{rule:?} {proofs:?}");
    }
}

#[test]
fn a_witness_under_another_name_is_not_one_of_the_policy() {
    let (ours, log, one) = (receipt(1), log(), witness(1));
    let renamed = Cosigner::from_seed("witness.example/other-name", &[101; 32]).unwrap();
    let by = policy("none");
    assert_eq!(refused(witnesses(1), &by, &[proof(&ours, &log, &[renamed])]), Some("not_witnessed"));
    let renamed = Cosigner::from_seed("witness.example/other-name", &[101; 32]).unwrap();
    let both_names = [one, renamed];
    assert_eq!(refused(witnesses(1), &by, &[proof(&ours, &log, &both_names)]), None);
    assert_eq!(refused(witnesses(2), &by, &[proof(&ours, &log, &both_names)]), Some("not_witnessed"));
    // A policy cannot list the key twice, whatever it is called.
    let text = format!(
        "log {}\nwitness a {}\nwitness b {}\nquorum none\n",
        log.vkey(),
        both_names[0].vkey(),
        both_names[1].vkey()
    );
    assert!(read(&text).unwrap_err().to_string().contains("stands on a line before"));
}

#[test]
fn what_was_found_is_judged_under_the_keys_of_whichever_policy_asks() {
    let by = policy("both");
    let found = by.best(&[proof(&receipt(1), &log(), &[witness(1), witness(2)])]).unwrap();
    assert_eq!((found.origin(), found.cosigned()), (ORIGIN, 2));
    let recorded = Logged::read(&Json::from(found.to_object())).unwrap();
    assert_eq!(recorded, found);
    let standing = |by: &LogPolicy| by.standing(&recorded).map(|standing| (standing.quorum, standing.witnesses));
    assert_eq!(standing(&by), Some((true, 2)));
    let text =
        |log: &LogSigner, witness: &Cosigner| format!("log {}\nwitness w {}\nquorum w\n", log.vkey(), witness.vkey());
    assert_eq!(standing(&read(&text(&log(), &witness(2))).unwrap()), Some((true, 1)));
    assert_eq!(standing(&read(&text(&log(), &witness(3))).unwrap()), Some((false, 0)));
    let other_key = LogSigner::from_seed(ORIGIN, &[2; 32]).unwrap();
    assert_eq!(standing(&read(&text(&other_key, &witness(2))).unwrap()), None);
    assert_eq!(
        standing(&read(&text(&LogSigner::from_seed("log.example/b", &[1; 32]).unwrap(), &witness(2))).unwrap()),
        None
    );

    // One that could not have been found is not read.
    let key = witness(1).vkey().to_string();
    let good = || found.to_object();
    for (member, value) in [
        ("index", Json::from(2_u64)),
        ("size", Json::from(0_u64)),
        ("size", Json::from(1_u64 << 53)),
        ("log", Json::from(key.as_str())),
        ("log", Json::Null),
        ("witnesses", Json::Array(vec![log().vkey().to_string().into()])),
        ("witnesses", Json::Array(vec![key.as_str().into(), key.as_str().into()])),
        ("witnesses", Json::Null),
    ] {
        let mut changed = good();
        changed.insert(member, value.clone());
        assert_eq!(Logged::read(&changed.into()), None, "{member} {value:?}");
        let mut without = good();
        without.remove(member);
        assert_eq!(Logged::read(&without.into()), None, "{member}");
    }
}

#[test]
fn of_two_spellings_of_a_signature_the_logged_one_counts() {
    let ours = receipt(1);
    // Whatever verifies is the same document; only what stands for its signature differs.
    let text = ours.to_text();
    let (before, after) = text.rsplit_once("\"signature\":\"").unwrap();
    let digit = if after.starts_with('0') { "1" } else { "0" };
    let respelt = format!("{before}\"signature\":\"{digit}{}", after.get(1..).unwrap());
    let respelt = Receipt::parse(respelt.as_bytes()).unwrap();
    assert_eq!(respelt.content(), ours.content());
    let found = proof(&ours, &log(), &[]);
    assert_ne!(respelt.hash(), found.entry(), "it is another entry");
    let by = policy("none");
    let respelt = ReceiptFact { valid: true, ..fact(&respelt, None) };
    let respelt = ReceiptFact { signer: fact(&ours, None).signer, trust: fact(&ours, None).trust, ..respelt };
    let facts = || [respelt.clone(), fact(&ours, by.best([&found]))];
    for facts in [facts().to_vec(), facts().into_iter().rev().collect()] {
        let evidence = Evidence::new(facts);
        assert_eq!(evidence.documents().len(), 1);
        assert!(evidence.documents()[0].logged.is_some());
    }
}

#[test]
fn a_rule_that_could_not_be_met_is_refused_when_it_is_read() {
    let by = policy("none");
    let field = |name: &str, value: Json| {
        let mut rule = Object::new();
        rule.insert(name, value);
        rule
    };
    for (rule, by, message) in [
        (logged(), None, "`logged`: the policy does not say which logs count"),
        (witnesses(1), None, "`witnesses`: the policy does not say which logs count"),
        (field("logged", false.into()), Some(&by), "`logged`: `logged` is `false`"),
        (field("logged", "yes".into()), Some(&by), "`logged`: "),
        (object! { "logged": false, "witnesses": 1_u64 }, Some(&by), "`logged`: `logged` is `false`"),
        (witnesses(0), Some(&by), "`witnesses`: "),
        (witnesses(3), Some(&by), "`witnesses`: `log_policy` lists 2 witnesses, and this asks for 3"),
        (witnesses(MAX_WITNESSES as u64 + 1), Some(&by), "`witnesses`: no checkpoint has more than 63 witnesses"),
        (field("witnesses", Json::Array(vec!["one".into()])), Some(&by), "`witnesses`: "),
    ] {
        let error = demand(rule.clone(), by).unwrap_err();
        assert!(error.to_string().starts_with(message), "{rule:?}: {error}");
    }
    assert_eq!(demand(Object::new(), Some(&by)).unwrap().logged, None);
    assert_eq!(demand(Object::new(), None).unwrap().logged, None);
    for (text, message) in [
        ("quorum none\n", "it names no log"),
        ("", "no `quorum` line"),
        ("quorum none", "does not end with a line feed"),
        ("log x\nquorum none\n", "not a verifier key"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.to_string().contains(message) && error.help().is_some(), "{text:?}: {error}");
    }
}

#[test]
fn a_proof_says_of_which_receipt_it_is() {
    let good = file(&receipt(1), &log(), &[]);
    assert_eq!(LogProof::parse(good.to_bytes()).unwrap().entry(), receipt(1).hash());
    assert!(LogProof::begins(&good.to_bytes()) && !LogProof::begins(b"{}"));
    let bare = ProofFile { extra: None, ..good };
    assert_eq!(LogProof::parse(bare.to_bytes()), Err(LogProofError::NoDocument));
    assert!(matches!(LogProof::parse(b"{}".to_vec()), Err(LogProofError::File(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_changed_proof_shows_nothing_more(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let by = policy("one");
        let whole = file(&receipt(1), &log(), &[witness(1)]).to_bytes();
        let good = by.best([&LogProof::parse(whole.clone()).unwrap()]).unwrap();
        let mut changed = whole;
        let at = place.index(changed.len());
        changed[at] = byte;
        if let Ok(proof) = LogProof::parse(changed)
            && let Some(found) = by.best([&proof])
        {
            // At most a line that no key of the policy has signed was changed.
            prop_assert_eq!(proof.entry(), receipt(1).hash());
            prop_assert!(found == good || found.cosigned() == 0);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let begun = [b"c2sp.org/tlog-proof@v1\n".as_slice(), &bytes].concat();
        for bytes in [bytes, begun] {
            if let Ok(proof) = LogProof::parse(bytes) {
                prop_assert!(policy("none").best([&proof]).is_none());
            }
        }
    }
}
