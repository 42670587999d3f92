use std::fs;

use proofmark_log::{LogFolder, Mirrored, StoredLog, audit_files, mirror};
use proofmark_tlog::{Code, Cosigner, SignedCheckpoint};

use crate::samples::{Place, Shown, add, digest, keeper};

#[test]
fn a_mirror_follows_a_log_and_is_one() {
    let (place, copy) = (Place::new(), Place::new());
    let store = place.store();
    let keeper = keeper(&place, &store);
    let folder = LogFolder::at(copy.path());
    let vkeys = [keeper.vkey().clone()];
    let cosigner = Cosigner::from_seed("mirror.example/m1", &[9; 32]).unwrap();
    let mut before = 0;
    for size in [1, 255, 256, 257, 700] {
        add(&store, before..size);
        let shown = Shown { files: StoredLog(&store), note: keeper.publish().unwrap().note };
        let mirrored = mirror(&shown, &folder, &vkeys, &[], Some((&cosigner, 1_000 + size))).unwrap();
        assert_eq!(mirrored, Mirrored { before, entries: size });
        let note = folder.checkpoint().unwrap().unwrap();
        let signed = SignedCheckpoint::open(&note, &vkeys, [cosigner.vkey()]).unwrap();
        assert_eq!((signed.checkpoint.size, signed.cosignatures[0].time), (size, 1_000 + size));
        let audit = audit_files(&note, &folder, &vkeys).unwrap();
        assert_eq!((audit.entries, audit.faults), (size, Vec::new()));
        before = size;
    }
    let widths = ["tile/0/001", "tile/0/002.p/188", "tile/1/000.p/2", "tile/entries/002.p/188"];
    assert!(widths.iter().all(|name| copy.path().join(name).is_file()));
    // A file of the mirror that was changed is found.
    fs::write(copy.path().join("tile/0/001"), vec![0; 8_192]).unwrap();
    let note = folder.checkpoint().unwrap().unwrap();
    assert_eq!(audit_files(&note, &folder, &vkeys).unwrap().faults[0].code, "entry_mismatch");
}

#[test]
fn a_second_history_is_refused_and_the_mirror_stays() {
    let (place, other, copy) = (Place::new(), Place::new(), Place::new());
    let (store, fork) = (place.store(), other.store());
    let honest = keeper(&place, &store);
    // The same key signs for another store: what a log must never do.
    fs::create_dir_all(other.path()).unwrap();
    let signer = place.home().signer(None).unwrap();
    let forked = proofmark_log::LogKeeper::new(&fork, other.home(), signer);
    other.home().begin(crate::samples::ORIGIN, None).unwrap();
    fs::remove_dir_all(other.path().join("log/keys")).unwrap();
    copy_folder(&place.path().join("log/keys"), &other.path().join("log/keys"));
    let folder = LogFolder::at(copy.path());
    let vkeys = [honest.vkey().clone()];
    add(&store, 0..10);
    let first = Shown { files: StoredLog(&store), note: honest.publish().unwrap().note };
    mirror(&first, &folder, &vkeys, &[], None).unwrap();
    let held = folder.checkpoint().unwrap();
    for (numbers, code) in
        [(0..9, Code::ConsistencyMismatch), (20..21, Code::SplitView), (21..30, Code::ConsistencyMismatch)]
    {
        add(&fork, numbers);
        let shown = Shown { files: StoredLog(&fork), note: forked.publish().unwrap().note };
        let refused = mirror(&shown, &folder, &vkeys, &[], None).unwrap_err();
        assert_eq!(refused.code(), Some(code), "{refused}");
        assert_eq!(folder.checkpoint().unwrap(), held);
        let evidence = || fs::read_dir(copy.path()).unwrap().map(|entry| entry.unwrap().path());
        let others = evidence().filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("other-"));
        let kept: Vec<_> = others.map(|path| fs::read_to_string(path).unwrap()).collect();
        assert!(kept.contains(&shown.note), "{kept:?}");
    }
    // Files that are not those that were signed.
    add(&store, 10..20);
    let note = honest.publish().unwrap().note;
    place.sql("UPDATE log_entries SET digest = zeroblob(32) WHERE number = 15");
    let refused = mirror(&Shown { files: StoredLog(&store), note }, &folder, &vkeys, &[], None).unwrap_err();
    assert_eq!(refused.code(), Some(Code::EntryMismatch));
    assert_eq!(folder.checkpoint().unwrap(), held);
    assert_eq!(store.log_index(&digest(9)).unwrap(), Some(9));
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
