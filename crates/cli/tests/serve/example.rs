//! `examples/agent`: what its README runs, run.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use proofmark_testing::python_with;
use tempfile::TempDir;

use crate::server::PROOFMARK;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agent");

#[test]
fn the_agent_is_blocked_mends_its_mail_is_reviewed_and_sends_it() {
    let Some(python) = python_with("verifiedx", "verifiedx==0.1.20") else { return };
    let folder = TempDir::new().unwrap();
    let script = script(&std::fs::read_to_string(format!("{EXAMPLE}/README.md")).unwrap());
    // The README says `python3`, and means the one with the SDK.
    let (bin, story) = (folder.path().join("bin"), folder.path().join("story"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(&story).unwrap();
    let wrapper = bin.join("python3");
    let named = Command::new("sh").args(["-c", "command -v \"$0\""]).arg(&python).output().unwrap().stdout;
    std::fs::write(&wrapper, format!("#!/bin/sh\nexec {} \"$@\"\n", String::from_utf8(named).unwrap().trim())).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&wrapper).status().unwrap().success());
    let (proofmark, path) = (Path::new(PROOFMARK).parent().unwrap(), std::env::var("PATH").unwrap());
    let done = Command::new("sh")
        .args(["-eu", "-c", &script])
        .env("PATH", format!("{}:{}:{path}", bin.display(), proofmark.display()))
        .envs([("STORY", story.as_os_str()), ("EXAMPLE", EXAMPLE.as_ref()), ("HOME", story.as_os_str())])
        .env("PORT", free_port().to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let log = std::fs::read_to_string(story.join("server.log")).unwrap_or_default();
    assert!(done.status.success(), "{said}{}{log}", String::from_utf8_lossy(&done.stderr));
    let count = |text: &str| said.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count("SENT to customer@example.com: [T-1] Your refund"), 1, "{said}");
    assert_eq!(count("SENT to customer@example.com: [T-2] Your refund"), 1, "{said}");
    assert_eq!((count("replanned: "), count("stopped: human_review")), (4, 2), "{said}");
    assert_eq!((count("approved by ann"), count("valid chain of 8")), (1, 1), "{said}");
    let shown = said.lines().filter(|line| line.ends_with(" Your refund")).filter_map(|line| line.split(' ').next());
    let modes: Vec<&str> = shown.filter(|word| word.contains('_')).collect();
    assert_eq!(modes, ["local_replan", "human_review", "local_replan", "continue_downstream"].repeat(2), "{said}");
    for told in ["executed_", "never_reported", "invalid", "undecidable"] {
        assert_eq!(count(told), 0, "{said}");
    }
}

/// The blocks of shell in a README, as one script.
fn script(readme: &str) -> String {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.collect::<Vec<_>>().join("\n")
}

/// A port nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
