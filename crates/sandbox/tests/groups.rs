//! Where the host has control groups, the kernel counts the memory of a case.

#![allow(
    unreachable_pub,
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/leftovers.rs"]
mod leftovers;
#[path = "support/levels.rs"]
mod levels;

use std::time::Duration;

use leftovers::HostState;
use proofmark_checks::{Case, End, Job, Language, Limits, Program};
use proofmark_sandbox::Host;

const PATIENCE: Duration = Duration::from_secs(120);

/// Every part is within the limit of one process; all together are not. Without the `:` bash would replace each part, with
/// what it holds, by `sleep`.
const SPREAD: &str = "
for part in 1 2 3 4 5 6 7 8; do (printf -v held '%*s' 16000000 ''; sleep 100; :) & done
wait
";

fn job(source: &str) -> Job {
    let program = Program::Stdio { source: source.to_owned() };
    let limits = Limits { memory_mb: 64, total_timeout: PATIENCE, output_bytes: 1 << 16, processes: 32, disk_mb: 0 };
    let cases = vec![Case { input: String::new(), timeout: PATIENCE }];
    Job { language: Language::Bash, runtime: None, packages: vec![], program, cases, limits }
}

#[test]
fn a_case_that_holds_too_much_ends_and_the_next_starts_afresh() {
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    let before = HostState::now(&folder);
    for level in levels::available() {
        let host = Host::probe(Some(level));
        let counted = host.control_groups().map(ToOwned::to_owned);
        println!("{level}: {counted:?}");
        let mut worker = host.worker();
        for _ in 0..2 {
            let ended = worker.run(&job(SPREAD));
            assert_eq!(ended.cases[0].end, End::MemoryLimit, "{level}");
            let named = ended.isolation.iter().any(|mechanism| mechanism == "control-group");
            assert_eq!(named, counted.is_ok(), "{level}: {:?}", ended.isolation);
            let held = worker.run(&job("echo held"));
            assert_eq!(held.cases[0].end, End::Text(b"held\n".to_vec()), "{level}");
        }
        drop((worker, host));
        let left = HostState::now(&folder).left_since(&before);
        assert!(left.is_empty(), "{level}: {left:?}");
        assert!(counted.is_err() || !counted.unwrap().exists(), "{level}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
