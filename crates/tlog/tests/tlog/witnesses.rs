//! What a witness answers to `add-checkpoint`.

use std::collections::BTreeMap;

use proofmark_tlog::*;
use proptest::prelude::*;

use crate::data::{entries, json, key, list, number, stored, text};

/// A witness whose state is kept here.
struct Witness {
    cosigner: Cosigner,
    logs: Vec<Vkey>,
    states: BTreeMap<String, WitnessState>,
}

impl Witness {
    fn of(logs: &[Vkey]) -> Self {
        let cosigner = Cosigner::from_seed("witness.example/w1", &[4; 32]).unwrap();
        Self { cosigner, logs: logs.to_vec(), states: BTreeMap::new() }
    }

    fn answer(&mut self, body: &[u8], now: u64) -> Result<Cosigned, Refusal> {
        let request = CheckpointRequest::parse(body, &self.logs)?;
        let origin = request.origin().to_owned();
        let cosigned = request.cosign(self.states.get(&origin), &self.cosigner, now)?;
        self.states.insert(origin, cosigned.state);
        Ok(cosigned)
    }
}

#[test]
fn the_session_of_the_data_is_answered_as_it_says() {
    let Some(data) = json("witness.json") else { return };
    let log = key(&data, "log");
    let mut witness = Witness::of(std::slice::from_ref(&log));
    let steps = list(&data, "steps");
    for (step, now) in steps.iter().zip(1_767_225_600..) {
        let name = text(step, "name");
        let body = text(step, "body");
        let answer = witness.answer(body.as_bytes(), now);
        let status = answer.as_ref().err().map_or(200, Refusal::status);
        assert_eq!(u64::from(status), number(step, "status"), "{name}: {answer:?}");
        let members = step.as_object().unwrap();
        match answer {
            Ok(cosigned) => {
                assert_eq!(cosigned.state.size, number(step, "then"), "{name}");
                assert_eq!(cosigned.state.time, now);
                let opened =
                    SignedCheckpoint::open(cosigned.checkpoint.as_bytes(), [&log], [witness.cosigner.vkey()]).unwrap();
                assert_eq!(opened.cosignatures[0].time, now, "{name}");
                let (_, sent) = body.split_once("\n\n").unwrap();
                let lines = cosignature_line(sent, cosigned.line.as_bytes(), witness.cosigner.vkey());
                assert_eq!(lines.as_ref(), Ok(&cosigned.line), "{name}");
            }
            Err(refusal) => {
                if let Some(answer) = members.get("answer") {
                    assert_eq!(refusal.body(), answer.as_str().unwrap(), "{name}");
                    assert_eq!(refusal.content_type(), text(step, "content_type"), "{name}");
                    assert_eq!(read_stale_size(refusal.body().as_bytes()), Some(3), "{name}");
                }
            }
        }
    }
    assert_eq!(steps.len(), 28);
}

fn log() -> LogSigner {
    LogSigner::from_seed("log.example/a", &[3; 32]).unwrap()
}

#[test]
fn a_time_is_never_before_the_last_one() {
    let mut witness = Witness::of(&[log().vkey().clone()]);
    let note = log().sign(0, Hash::OF_NOTHING).unwrap();
    let body = add_checkpoint_body(0, &[], &note);
    for (now, time) in [(100, 100), (50, 100), (101, 101), (u64::MAX, MAX_TIME), (1, MAX_TIME)] {
        assert_eq!(witness.answer(body.as_bytes(), now).unwrap().state.time, time);
    }
}

#[test]
fn a_body_is_written_as_the_specification_shows() {
    let hash = Hash::from_bytes([0; 32]);
    assert_eq!(add_checkpoint_body(3, &[hash, hash], "note\n"), format!("old 3\n{hash}\n{hash}\n\nnote\n"));
    assert_eq!(add_checkpoint_body(0, &[], "note\n"), "old 0\n\nnote\n");
}

#[test]
fn the_last_size_has_one_spelling() {
    assert_eq!(read_stale_size(b"0\n"), Some(0));
    for other in [&b"3"[..], b"03\n", b"3\n\n", b"+3\n", b"\n", b"", b"\xff\n", b"18446744073709551616\n"] {
        assert_eq!(read_stale_size(other), None);
    }
}

#[test]
fn only_lines_of_the_witness_are_taken_from_its_answer() {
    let (witness, other) = (Witness::of(&[]).cosigner, Cosigner::from_seed("other", &[5; 32]).unwrap());
    let note = log().sign(0, Hash::OF_NOTHING).unwrap();
    let text = Note::parse(note.as_bytes()).unwrap().text().to_owned();
    let (line, others) = (witness.cosign(&text, 1), other.cosign(&text, 2));
    let lines = |answer: &str| cosignature_line(&note, answer.as_bytes(), witness.vkey());
    assert_eq!(lines(&format!("{others}{line}")), Ok(line.clone()));
    assert!(lines(&others).is_err());
    assert!(lines("").is_err() && lines(&line.replacen("AAAAA", "AAAAB", 1)).is_err());
    assert!(lines(&witness.cosign("another text\n", 1)).is_err());
    // The text must not move into the answer.
    let longer = witness.cosign(&format!("{text}\n{others}"), 1);
    assert!(lines(&format!("{others}\n{longer}")).is_err());
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let refused = Witness::of(&[]).answer(&vec![b'\n'; MAX_REQUEST_BYTES + 1], 0);
    let refusal = refused.unwrap_err();
    assert_eq!((refusal.status(), refusal.content_type()), (400, "text/plain; charset=utf-8"));
    assert!(refusal.body().ends_with(&format!("at most {MAX_REQUEST_BYTES} bytes are read\n")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The trees that a witness cosigns are prefixes of each other.
    #[test]
    fn a_witness_cosigns_one_history(
        sizes in prop::collection::vec((1_u64..300, 0_u64..300, any::<bool>()), 1..12)
    ) {
        let honest = entries(300);
        let mut forged = honest.clone();
        forged.reverse();
        let trees = [stored(&honest, &[300]), stored(&forged, &[300])];
        let mut witness = Witness::of(&[log().vkey().clone()]);
        let mut cosigned = Vec::new();
        for (now, (size, old, is_forged)) in (0..).zip(sizes) {
            let tree = &trees[usize::from(is_forged)];
            let last = witness.states.get("log.example/a").map_or(0, |state| state.size);
            let old = if now % 2 == 0 { last } else { old };
            let proof = consistency_proof(old.min(size), size, tree).unwrap();
            let note = log().sign(size, root(size, tree).unwrap()).unwrap();
            if witness.answer(add_checkpoint_body(old, &proof, &note).as_bytes(), now).is_ok() {
                cosigned.push((size, is_forged));
            }
        }
        prop_assert!(cosigned.is_sorted_by_key(|(size, _)| *size));
        prop_assert!(cosigned.iter().all(|(_, is_forged)| *is_forged == cosigned[0].1));
    }

    #[test]
    fn any_body_is_answered(bytes: Vec<u8>, text in "old [0-9]{1,3}\n([A-Za-z]{43}=\n){0,2}\n?[a-z]{1,3}\n[0-9]{1,2}\n") {
        let mut witness = Witness::of(&[log().vkey().clone()]);
        prop_assert!(witness.answer(&bytes, 0).is_err());
        prop_assert!(witness.answer(text.as_bytes(), 0).is_err());
    }
}
