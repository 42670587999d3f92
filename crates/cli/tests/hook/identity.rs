//! Calls are what they are by where they come from, and not by their names.

use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{BINARY, Place, SPECIFIC, claude};

const READ_BEFORE: &str = "
version: 1
boundaries:
  - id: reads
    match: {action_class: generic}
  - id: writes
    match: {action_class: record_mutation}
    require:
      - tool_call: {name: read_file, status: succeeded, args: {file_path: action.args.file_path}}
";

/// Starts the hook in its first argument with the event in its second one, as a host of its own, and waits for its standard input
/// to end.
const HOST: &str = "import subprocess, sys
answer = subprocess.run(sys.argv[2:], input=sys.argv[1], capture_output=True, text=True)
print(answer.stdout, end='', flush=True)
sys.stderr.write(answer.stderr)
sys.stdin.read()";

impl Place {
    /// What the hook answers that another process than this one starts.
    fn told_by_another(&self, event: &str) -> Output {
        let given = self.command(&["hook", "claude", "--policy", "policy.yaml", "--deadline", "30s"]);
        let mut host = Command::new(std::env::var_os("PROOFMARK_PYTHON").unwrap_or_else(|| "python3".into()));
        host.arg("-c").arg(HOST).arg(event).arg(BINARY).args(given.get_args());
        host.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
        host.current_dir(self.folder.path()).stdin(Stdio::null()).output().unwrap()
    }
}

fn read(id: &str, file: &str, event: &str) -> String {
    claude(event, "Read", &format!(r#"{{"file_path":"{file}"}}"#), id)
}

/// A call that writes a file, each with a name of its own.
fn write(file: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let id = format!("write {}", COUNT.fetch_add(1, Ordering::Relaxed));
    claude("PreToolUse", "Write", &format!(r#"{{"file_path":"{file}","content":"x"}}"#), &id)
}

#[test]
fn a_tool_of_a_server_with_the_name_of_a_hosts_own_is_another_tool() {
    let place = Place::new();
    assert_eq!(place.claude("Bash", r#"{"command":"ls"}"#, "t1"), "");
    for tool in ["mcp__fake__shell", "mcp__host__shell", "shell", "mcp__fake__host:shell"] {
        let answer = place.claude(tool, r#"{"command":"ls"}"#, tool);
        assert!(answer.starts_with(SPECIFIC), "{tool}: {answer}");
    }
    let shown = place.said(&["session", "show", "claude-s1"]);
    assert!(shown.contains("mcp:fake:shell") && shown.contains("host:shell"), "{shown}");
    assert_eq!(shown.matches("allowed shell").count(), 1, "{shown}");
}

#[test]
fn a_call_about_something_else_is_not_the_one() {
    let place = Place::with(READ_BEFORE);
    assert_eq!(place.hook("claude", &read("t1", "/r/plan", "PreToolUse")), "");
    assert_eq!(place.hook("claude", &read("t1", "/r/plan", "PostToolUse")), "");
    assert_eq!(place.hook("claude", &write("/r/plan")), "");
    assert!(place.hook("claude", &write("/r/mail")).starts_with(SPECIFIC));
}

#[test]
fn what_an_earlier_start_of_the_host_did_does_not_count() {
    let place = Place::with(READ_BEFORE);
    for event in ["PreToolUse", "PostToolUse"] {
        let told = place.told_by_another(&read("t1", "/r/plan", event));
        assert!(told.stdout.is_empty() && told.status.success(), "{told:?}");
    }
    // Each of the two was a host of its own, so the second says nothing of the first.
    assert!(place.hook("claude", &write("/r/plan")).starts_with(SPECIFIC));
    assert_eq!(place.hook("claude", &read("t2", "/r/plan", "PreToolUse")), "");
    assert_eq!(place.hook("claude", &read("t2", "/r/plan", "PostToolUse")), "");
    assert_eq!(place.hook("claude", &write("/r/plan")), "");
    let earlier = Place::with(&READ_BEFORE.replace("status:", "earlier: true, status:"));
    for event in ["PreToolUse", "PostToolUse"] {
        assert!(earlier.told_by_another(&read("t1", "/r/plan", event)).stdout.is_empty());
    }
    assert_eq!(earlier.hook("claude", &write("/r/plan")), "");
}

#[test]
fn events_that_another_process_sends_are_not_of_the_session() {
    let place = Place::with(READ_BEFORE);
    // The host of the session is this process.
    assert_eq!(place.hook("claude", &read("t1", "/r/other", "PreToolUse")), "");
    let before = place.told_by_another(&read("t2", "/r/plan", "PreToolUse"));
    let answer = String::from_utf8_lossy(&before.stdout).into_owned();
    assert!(answer.starts_with(SPECIFIC) && answer.contains("does not come from the host"), "{answer}");
    let after = place.told_by_another(&read("t2", "/r/plan", "PostToolUse"));
    assert!(String::from_utf8_lossy(&after.stderr).contains("does not come from the host"), "{after:?}");
    assert!(place.hook("claude", &write("/r/plan")).starts_with(SPECIFIC));
    let shown = place.said(&["session", "show", "claude-s1"]);
    assert!(shown.matches("does not come from the host").count() == 2, "{shown}");
    assert!(!shown.contains("succeeded"), "{shown}");
}

#[test]
fn another_action_under_the_name_of_a_call_is_another_call() {
    let place = Place::with(READ_BEFORE);
    assert_eq!(place.hook("claude", &read("t1", "/r/other", "PreToolUse")), "");
    assert_eq!(place.hook("claude", &read("t1", "/r/plan", "PostToolUse")), "");
    assert!(place.findings().contains("t1 executed_undecided"), "{}", place.findings());
    for file in ["/r/plan", "/r/other"] {
        assert!(place.hook("claude", &write(file)).starts_with(SPECIFIC), "{file}");
    }
}
