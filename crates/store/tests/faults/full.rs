//! A disk that is full.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use proofmark_store::StoreError;
use proofmark_testing::postgres::Cluster;
use proofmark_testing::skip;

use crate::load::{Load, check};

/// Tells the test that it runs where it may mount a disk, and the folder for it.
const INSIDE: &str = "PROOFMARK_TEST_DISK";
const NAME: &str = "full::servers_go_on_by_themselves_after_the_disk_was_full";

#[test]
fn servers_go_on_by_themselves_after_the_disk_was_full() {
    if let Some(folder) = std::env::var_os(INSIDE) {
        return on_a_small_disk(Path::new(&folder));
    }
    // A disk that is mounted in a namespace ends with the last process there.
    let unshare = || {
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--propagation", "private"]);
        unshare
    };
    let folder = tempfile::tempdir().unwrap();
    let mounted = unshare().args(["mount", "-t", "tmpfs", "tmpfs"]).arg(folder.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return skip("mount", "this user may not mount a small disk; run the test as root");
    }
    let mut inside = unshare();
    inside.arg(std::env::current_exe().unwrap()).args(["--exact", NAME, "--nocapture"]);
    let output = inside.env(INSIDE, folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}

fn on_a_small_disk(folder: &Path) {
    let Some(cluster) = Cluster::start() else { return };
    run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=32m,mode=755", "tmpfs"]).arg(folder));
    let space = folder.join("space");
    fs::create_dir(&space).unwrap();
    run(Command::new("chown").arg("--reference").arg(cluster.folder()).arg(&space));
    let _done = cluster.psql(&format!("CREATE TABLESPACE small LOCATION '{}'", space.display()));
    let _done = cluster.psql("CREATE DATABASE small OWNER proofmark TABLESPACE small");
    let url = cluster.url("small");
    let load = Load::start(&[&url, &url]);
    load.wait_for(40);

    let filler = folder.join("filler");
    fill(&filler);
    load.wait_for_failures(8);
    fs::remove_file(&filler).unwrap();
    load.wait_for(40);
    let asked = load.stop();
    let full = |answer: &Result<(), StoreError>| matches!(answer, Err(StoreError::Full { .. }));
    assert!(asked.iter().any(|asked| full(&asked.answer)));
    check(&url, &asked);
}

/// Writes a file that takes the rest of its disk.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}
