//! Processes that are killed while they sign.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use proofmark_log::{
    LogCopy, LogFolder, LogHome, LogKeeper, Published, Witness, WitnessAnswer, Witnesses, audit_files, audit_store,
};
use proofmark_store::{LogEntry, Store, Tenant};
use proofmark_tlog::{Cosigner, Party, SignedCheckpoint};

use crate::samples::{Place, digest, keeper};

/// The home that a process is to use, when it is the one that is killed; and the number of its first entry.
const HOME: &str = "PROOFMARK_TEST_LOG_HOME";
const FIRST: &str = "PROOFMARK_TEST_LOG_FIRST";

/// 2026-01-01, in seconds since 1970.
const AT: u64 = 1_767_225_600;

/// How often a process is killed, each time a little later.
const KILLS: usize = 16;

#[test]
fn a_process_that_is_killed_leaves_a_log_that_is_whole_and_goes_on() {
    let (place, state) = (Place::new(), Place::new());
    let store = place.store();
    let vkey = keeper(&place, &store).vkey().clone();
    let cosigner = Cosigner::from_seed("witness.example/w1", &[1; 32]).unwrap();
    let party = Party { name: "w1".to_owned(), key: cosigner.vkey().clone(), url: Some("http://w1".to_owned()) };
    let witness = Arc::new(Witness::open(cosigner, vec![vkey.clone()], state.path()).unwrap());
    let asked = Arc::clone(&witness);
    let ask = move |_: &str, body: String| match asked.add_checkpoint(body.as_bytes(), AT).unwrap() {
        WitnessAnswer::Cosigned(lines) => Ok((200, lines.into_bytes())),
        WitnessAnswer::Refused(refusal) => Ok((refusal.status(), refusal.body().into_bytes())),
    };
    let witnesses = Witnesses::new(&[party], Box::new(ask));
    let mut answered = Vec::new();
    for kill in 0..KILLS {
        let first = 1_000_000 * (kill as u64 + 1);
        // Each says what it does before it does it, so the end of its output is a moment within one of its steps.
        let said = killed_after(&place, 3 * kill + kill % 3, first);
        answered.extend(said.iter().filter_map(|line| line.strip_prefix("answered ")?.parse::<u64>().ok()));

        // What the home keeps may have been seen by then: a witness has cosigned it.
        let store = place.store();
        let signing = keeper(&place, &store).with_witnesses(&witnesses);
        let kept = place.home().published().unwrap();
        if let Some(SignedCheckpoint { checkpoint, .. }) = kept {
            let note = std::fs::read_to_string(place.path().join("log/checkpoint")).unwrap();
            let seen = Published { note, checkpoint, is_new: false };
            assert_eq!(signing.cosign(&seen, AT).unwrap().missing, [], "{kill}");
        }
        let audit = audit_store(&store, &place.home()).unwrap();
        assert_eq!(audit.faults, [], "{kill}: {said:?}");
        let folder = LogFolder::at(&copy_of(place.path()));
        if let Some(note) = folder.checkpoint().unwrap() {
            assert_eq!(
                audit_files(&note, &folder, std::slice::from_ref(&vkey)).unwrap().faults,
                [],
                "{kill}: {said:?}"
            );
        }
        // It goes on, the witness follows, and so does the copy.
        let copy = LogCopy::new(Box::new(folder.clone()));
        let signing = signing.with_copy(Some(&copy));
        let published = signing.publish().unwrap();
        assert_eq!(signing.cosign(&published, AT).unwrap().missing, [], "{kill}");
        signing.copy().unwrap();
        assert_eq!(copy.entries(), Some(store.log_length().unwrap()));
        for number in &answered {
            let index = store.log_index(&digest(*number)).unwrap();
            assert!(index.is_some_and(|index| index < published.checkpoint.size), "{number} was answered");
        }
    }
    assert!(answered.len() > KILLS, "nothing was answered: {answered:?}");
    let audit = audit_store(&store, &place.home()).unwrap();
    assert_eq!((audit.entries, audit.faults), (store.log_length().unwrap(), Vec::new()));
}

/// What a process said that was killed after so many lines.
fn killed_after(place: &Place, lines: usize, first: u64) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_signs", "--nocapture", "--test-threads=1"])
        .env(HOME, place.path())
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_step = |line: &String| ["answered ", "sign", "copy", "add"].iter().any(|word| line.starts_with(word));
    let mut said: Vec<String> = output.by_ref().map(Result::unwrap).filter(is_step).take(lines + 1).collect();
    child.kill().unwrap();
    // What it had said by then counts as well; its last line may be cut.
    said.extend(output.map_while(Result::ok).filter(|line| line.ends_with('.')).map(|line| line.replace('.', "")));
    // Else it ended by itself, because something failed.
    assert_eq!(child.wait().unwrap().signal(), Some(9), "{said:?}");
    said.iter().map(|line| line.trim_end_matches('.').to_owned()).collect()
}

fn copy_of(home: &Path) -> PathBuf {
    home.join("public")
}

/// Not a test by itself: the process that is killed above.
#[test]
fn child_signs() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    // In one piece, so that only the kill can cut it.
    let say = |step: &str| std::io::stdout().write_all(format!("\n{step}.\n").as_bytes()).unwrap();
    let store = Store::open(home.join("proofmark.db")).unwrap();
    let log = LogHome::of(&home);
    let copy = LogCopy::new(Box::new(LogFolder::at(&copy_of(&home))));
    let signer = log.signer(None).unwrap();
    let signing = LogKeeper::new(&store, log, signer).with_copy(Some(&copy));
    let tenant = store.of(&Tenant::LOCAL);
    for round in 0_u64.. {
        say("add");
        // More than a tile now and then.
        let numbers = first + round * 1_000..first + round * 1_000 + if round % 4 == 3 { 300 } else { 7 };
        let pending: Vec<_> = numbers.map(|number| (number, tenant.submit(LogEntry(digest(number))))).collect();
        for (number, one) in pending {
            drop(one.wait().unwrap());
            if number % 50 == 0 {
                say(&format!("answered {number}"));
            }
        }
        say("sign");
        signing.publish().unwrap();
        say("copy");
        signing.copy().unwrap();
    }
}
