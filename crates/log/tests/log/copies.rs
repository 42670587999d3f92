use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use proofmark_log::{
    CopiedFile, CopyPlace, LogCopy, LogError, LogFolder, LogHome, LogKeeper, audit_files, audit_store,
};
use proofmark_tlog::{SignedCheckpoint, TilePath};

use crate::samples::{ORIGIN, Place, add, keeper};

/// A place that takes so many files, and then fails.
#[derive(Clone, Default)]
struct Limited(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    room: usize,
    files: BTreeMap<String, Vec<u8>>,
    checkpoint: Option<Vec<u8>>,
    /// What another process writes just before the next checkpoint.
    meanwhile: Option<Vec<u8>>,
}

impl Limited {
    fn with(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    /// The size of the checkpoint there.
    fn size(&self) -> Option<u64> {
        let note = String::from_utf8(self.0.lock().unwrap().checkpoint.clone()?).unwrap();
        note.lines().nth(1)?.parse().ok()
    }
}

impl CopyPlace for Limited {
    fn name(&self) -> String {
        "a place".to_owned()
    }

    fn read_checkpoint(&self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().checkpoint.clone())
    }

    fn add(&self, files: &[CopiedFile]) -> Result<(), String> {
        let mut state = self.0.lock().unwrap();
        for CopiedFile { path, bytes } in files {
            if state.files.len() == state.room {
                return Err("it is full".to_owned());
            }
            let before = state.files.insert(path.to_string(), bytes.clone());
            assert!(before.is_none_or(|before| before == *bytes), "{path} was replaced");
        }
        Ok(())
    }

    fn replace_checkpoint(&self, before: Option<&[u8]>, note: &[u8]) -> Result<bool, String> {
        let mut state = self.0.lock().unwrap();
        if let Some(other) = state.meanwhile.take() {
            state.checkpoint = Some(other);
        }
        if state.checkpoint.as_deref() != before {
            return Ok(false);
        }
        state.checkpoint = Some(note.to_vec());
        Ok(true)
    }
}

#[test]
fn a_copy_is_a_log_that_others_read() {
    let (place, public) = (Place::new(), Place::new());
    let store = place.store();
    let folder = LogFolder::at(public.path());
    let copy = LogCopy::new(Box::new(folder.clone()));
    let signing = keeper(&place, &store).with_copy(Some(&copy));
    let vkeys = [signing.vkey().clone()];
    let mut before = 0;
    for size in [0, 1, 255, 256, 257, 700] {
        add(&store, before..size);
        let published = signing.publish().unwrap();
        // Its files are there when it is signed, and it comes after.
        let last = TilePath::of_entries(size.saturating_sub(1) / 256, size);
        assert!(last.is_none_or(|last| public.path().join(last.to_string()).is_file()), "{size}");
        assert_eq!(copy.entries(), Some(before), "{size}");
        signing.copy().unwrap();
        let note = folder.checkpoint().unwrap().unwrap();
        assert_eq!(note, published.note.as_bytes());
        let audit = audit_files(&note, &folder, &vkeys).unwrap();
        assert_eq!((audit.entries, audit.faults), (size, Vec::new()));
        before = size;
    }
    // One that begins later has all of it at once.
    let later = Limited::default();
    later.with(|state| state.room = 100);
    let copy = LogCopy::new(Box::new(later.clone()));
    keeper(&place, &store).with_copy(Some(&copy)).copy().unwrap();
    assert_eq!((later.size(), copy.entries()), (Some(700), Some(700)));
    let files: Vec<String> = later.0.lock().unwrap().files.keys().cloned().collect();
    let all = [
        "tile/0/000",
        "tile/0/001",
        "tile/0/002.p/188",
        "tile/1/000.p/2",
        "tile/entries/000",
        "tile/entries/001",
        "tile/entries/002.p/188",
    ];
    assert_eq!(files, all);
}

#[test]
fn a_place_that_fails_has_the_checkpoint_wait() {
    let place = Place::new();
    let store = place.store();
    let full = Limited::default();
    let copy = LogCopy::new(Box::new(full.clone()));
    let signing = keeper(&place, &store).with_copy(Some(&copy));
    signing.publish().unwrap();
    signing.copy().unwrap();
    add(&store, 0..300);
    for room in 0..5 {
        full.with(|state| state.room = room);
        let failed = signing.publish().unwrap_err();
        assert!(matches!(&failed, LogError::Copy { place, .. } if place == "a place"), "{failed}");
        assert_eq!((full.size(), place.home().published().unwrap().unwrap().checkpoint.size), (Some(0), 0));
    }
    // A process that begins anew goes on from the checkpoint that is there.
    let copy = LogCopy::new(Box::new(full.clone()));
    let signing = keeper(&place, &store).with_copy(Some(&copy));
    full.with(|state| state.room = 100);
    assert_eq!(signing.publish().unwrap().checkpoint.size, 300);
    assert_eq!(full.size(), Some(0), "it comes after its files");
    signing.copy().unwrap();
    assert_eq!(full.size(), Some(300));
    let audit = audit_store(&store, &place.home()).unwrap();
    assert_eq!((audit.entries, audit.faults), (300, Vec::new()));
}

#[test]
fn a_copy_is_never_brought_back() {
    let (place, other) = (Place::new(), Place::new());
    let store = place.store();
    let files = Limited::default();
    files.with(|state| state.room = 100);
    let copy = LogCopy::new(Box::new(files.clone()));
    let signing = keeper(&place, &store).with_copy(Some(&copy));
    add(&store, 0..10);
    let small = signing.publish().unwrap().note;
    signing.copy().unwrap();
    // Another server on the store has copied more by then.
    add(&store, 10..20);
    let large = keeper(&place, &store).publish().unwrap().note;
    files.with(|state| state.checkpoint = Some(large.clone().into_bytes()));
    let held = signing.copy();
    assert!(held.is_ok() && files.size() == Some(20), "{held:?}");
    // One that was put back there is replaced; it was signed, too.
    files.with(|state| state.meanwhile = Some(small.into_bytes()));
    add(&store, 20..30);
    signing.publish().unwrap();
    signing.copy().unwrap();
    assert_eq!(files.size(), Some(30));
    // One of nobody is not.
    files.with(|state| state.meanwhile = Some(b"log.example/proofmark\n99\n".to_vec()));
    add(&store, 30..31);
    signing.publish().unwrap();
    assert!(matches!(signing.copy(), Err(LogError::Copy { .. })));
    assert_eq!(files.size(), Some(99));

    // A store and a home that were rolled back together do not sign where the copy shows more.
    let fork = other.store();
    other.home().begin(ORIGIN, None).unwrap();
    let keys = |home: &Place| home.path().join("log/keys");
    for entry in fs::read_dir(keys(&place)).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), keys(&other).join(entry.file_name())).unwrap();
    }
    let forking = |copy| {
        let home = LogHome::of(other.path());
        let signer = home.signer(None).unwrap();
        LogKeeper::new(&fork, home, signer).with_copy(Some(copy))
    };
    files.with(|state| state.checkpoint = Some(large.clone().into_bytes()));
    let copy = LogCopy::new(Box::new(files.clone()));
    add(&fork, 0..9);
    let refused = forking(&copy).publish().unwrap_err();
    assert!(matches!(refused, LogError::CheckpointAhead { signed: 20, stored: 9 }), "{refused}");
    add(&fork, 100..120);
    let refused = forking(&copy).publish().unwrap_err();
    assert!(matches!(refused, LogError::Forked { size: 20 }), "{refused}");
    assert_eq!(other.home().published().unwrap(), None);
    let note = files.0.lock().unwrap().checkpoint.clone().unwrap();
    assert_eq!(SignedCheckpoint::open(&note, [signing.vkey()], []).unwrap().checkpoint.size, 20);
}

#[test]
fn tiles_that_are_not_those_of_the_entries_are_not_copied() {
    let place = Place::new();
    let store = place.store();
    let files = Limited::default();
    files.with(|state| state.room = 100);
    let copy = LogCopy::new(Box::new(files.clone()));
    add(&store, 0..300);
    keeper(&place, &store).publish().unwrap();
    place.sql("UPDATE log_entries SET digest = zeroblob(32) WHERE number = 7");
    let signing = keeper(&place, &store).with_copy(Some(&copy));
    assert!(matches!(signing.copy(), Err(LogError::Tree(_))));
    assert!(files.0.lock().unwrap().files.is_empty() && files.size().is_none());
}
