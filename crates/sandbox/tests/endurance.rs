//! Ten thousand cases leave a host as they found it.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/leftovers.rs"]
mod leftovers;

use std::time::Duration;

use leftovers::HostState;
use proofmark_checks::{Case, End, Job, Language, Limits, Program};
use proofmark_sandbox::Host;

const JOBS: u32 = 100;
const CASES: u32 = 100;

fn job(first: u32) -> Job {
    Job {
        language: Language::Python,
        runtime: None,
        packages: vec![],
        program: Program::Call { source: "def f(x): return x+1".to_owned(), entrypoint: "f".to_owned() },
        cases: (first..first + CASES)
            .map(|number| Case { input: format!("[{number}]"), timeout: Duration::from_secs(20) })
            .collect(),
        limits: Limits {
            memory_mb: 64,
            total_timeout: Duration::from_secs(600),
            output_bytes: 1 << 16,
            processes: 16,
            disk_mb: 0,
        },
    }
}

#[test]
fn ten_thousand_cases_are_answered_and_leave_nothing() {
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    let start = HostState::now(&folder);
    let host = Host::probe(None);
    let mut worker = host.worker();
    worker.run(&job(0));
    let warm = HostState::now(&folder);
    // The warm interpreter, and the init of its cell.
    assert_eq!(host.level().map(|_| warm.processes() <= start.processes() + 2), Ok(true));
    for number in 0..JOBS {
        let first = number * CASES;
        let outcome = worker.run(&job(first));
        for (case, x) in outcome.cases.iter().zip(first..) {
            assert_eq!(case.end, End::Value((x + 1).to_string().into_bytes()), "case {x}");
        }
        assert_eq!(outcome.cases.len(), CASES as usize);
        let left = HostState::now(&folder).left_since(&warm);
        assert!(left.is_empty(), "after {first} cases: {left:?}");
    }
    drop(worker);
    drop(host);
    let left = HostState::left_at_last(&folder, &start);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(left.is_empty(), "{left:?}");
}
