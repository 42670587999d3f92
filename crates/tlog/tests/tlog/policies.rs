//! Policy files.

use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{folder, json, list, text};

fn cosigned(policy: &Policy, names: &[&str]) -> Vec<Cosignature> {
    let witnesses = policy.witnesses().iter().filter(|witness| names.contains(&witness.name.as_str()));
    witnesses.map(|witness| Cosignature { witness: witness.key.clone(), time: 1 }).collect()
}

#[test]
fn policies_are_judged_as_the_data_says() {
    let Some(data) = json("policy.json") else { return };
    let cases = list(&data, "cases");
    for case in cases {
        let name = text(case, "name");
        let policy = Policy::parse(text(case, "policy").as_bytes());
        let outcome = policy.as_ref().err().map_or("ok", |error| error.code().as_str());
        assert_eq!(outcome, text(case, "expect"), "{name}: {policy:?}");
        let Ok(policy) = policy else { continue };
        for (is_met, sets) in [(true, "enough"), (false, "too_few")] {
            for set in list(case, sets) {
                let names: Vec<&str> = set.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
                let cosignatures = cosigned(&policy, &names);
                assert_eq!(cosignatures.len(), names.len(), "{name}");
                assert_eq!(policy.is_met_by(&cosignatures), is_met, "{name}: {names:?}");
            }
        }
    }
    assert_eq!(cases.len(), 26);
}

#[test]
fn the_policy_of_the_data_has_its_parties() {
    let Some(folder) = folder() else { return };
    let policy = Policy::parse(&std::fs::read(folder.join("policy.txt")).unwrap()).unwrap();
    assert_eq!(policy.logs()[0].name, "log.example/proofmark");
    let names: Vec<&str> = policy.witnesses().iter().map(|witness| witness.name.as_str()).collect();
    assert_eq!(names, ["w1", "w2", "w3"]);
}

fn witness_line(number: usize) -> String {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&number.to_be_bytes());
    format!("witness w{number} {}\n", Cosigner::from_seed("w", &seed).unwrap().vkey())
}

#[test]
fn faults_name_their_line() {
    let said = |policy: &[u8]| Policy::parse(policy).unwrap_err().to_string();
    assert_eq!(said(b"# all\n\nquorum w1\n"), "line 3 of the policy: `w1` is not defined on a line before");
    assert_eq!(said(b"quorum none"), "line 1 of the policy: it does not end with a line feed");
    assert_eq!(said(b"quorum\n"), "line 1 of the policy: `quorum` has another number of words");
    assert_eq!(said(b""), "the policy has no `quorum` line: write `quorum <name>`, or `quorum none`");
    assert!(said(b"quorum \x7f\n").contains("control character"));
    assert!(said(b"log x\n").contains("`x` is not a verifier key"));
}

/// Names are bytes: they need not be UTF-8.
#[test]
fn names_are_compared_as_bytes() {
    let line = witness_line(1);
    let vkey = line.split(' ').nth(2).unwrap().trim();
    let of = |name: &[u8], quorum: &[u8]| {
        [b"witness ", name, b" ", vkey.as_bytes(), b" https://x\xff\nquorum ", quorum, b"\n"].concat()
    };
    assert!(Policy::parse(&of(b"\xff", b"\xff")).is_ok());
    assert!(Policy::parse(&of(b"\xff", b"\xfe")).is_err());
    assert!(Policy::parse(&of("K".as_bytes(), "\u{212a}".as_bytes())).is_err());
}

#[test]
fn limits_have_a_code_of_their_own() {
    let of = |count| (0..count).map(witness_line).collect::<String>() + "quorum none\n";
    assert!(Policy::parse(of(MAX_POLICY_ITEMS).as_bytes()).is_ok());
    let code = |policy: &[u8]| Policy::parse(policy).unwrap_err().code();
    assert_eq!(code(of(MAX_POLICY_ITEMS + 1).as_bytes()), Code::TooLarge);
    assert_eq!(code(&vec![b'#'; MAX_POLICY_BYTES + 1]), Code::TooLarge);
}

proptest! {
    #[test]
    fn a_threshold_counts(threshold in 1_usize..8, members in 1_usize..8, cosigned in 0_u8..=255) {
        prop_assume!(threshold <= members);
        let mut text: String = (0..members).map(witness_line).collect();
        let names: Vec<String> = (0..members).map(|number| format!("w{number}")).collect();
        text += &format!("group g {threshold} {}\nquorum g\n", names.join(" "));
        let policy = Policy::parse(text.as_bytes()).unwrap();
        let names: Vec<&str> = (0..members).filter(|bit| cosigned >> bit & 1 == 1).map(|bit| names[bit].as_str()).collect();
        let mut cosignatures = self::cosigned(&policy, &names);
        // A witness counts once.
        cosignatures.extend(cosignatures.clone());
        prop_assert_eq!(policy.is_met_by(&cosignatures), names.len() >= threshold);
    }

    #[test]
    fn any_bytes_are_a_policy_or_refused(bytes: Vec<u8>, lines in "((quorum|group|witness|log|#)( [a-z0-9+]{0,3}){0,4}\n){0,6}") {
        let _ = Policy::parse(&bytes);
        let _ = Policy::parse(lines.as_bytes());
    }
}
