//! Hooks of coding agents whose decisions are made elsewhere.

use super::*;

use proofmark_hosts::{Host, SampleCall};

impl Place {
    /// What the hook of this host answers an event, as this account.
    fn hook(&self, account: u32, host: &str, event: &str) -> Output {
        self.hook_with(account, host, event, &[])
    }

    fn hook_with(&self, account: u32, host: &str, event: &str, options: &[&str]) -> Output {
        let mut command = self.proofmark(account);
        command.args(["hook", host, "--server", &self.address(), "--agent", "coder"]).args(options);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn shell(&self, account: u32, command: &str) -> String {
        let call = SampleCall {
            command: command.to_owned(),
            folder: self.at("agent").display().to_string(),
            session: "s1",
            id: format!("call of {command}"),
            now: "2026-01-02T03:04:05Z".to_owned(),
        };
        let event = Host::named("claude").unwrap().events.sample(&call).to_text();
        said(&self.hook(account, "claude", &event))
    }
}

const DENIED: &str = r#""permissionDecision":"deny""#;

#[test]
fn a_hook_asks_another_account() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    let allowed = place.shell(AGENT, "ls");
    assert!(!allowed.contains(DENIED), "{allowed}");
    let decision = place.last_decision();
    assert_eq!((bound(&decision, "separation"), bound(&decision, "account")), ("account".into(), "60002".into()));
    assert!(place.shell(AGENT, "rm -r /").contains(DENIED));
    // Another account is another one, whatever it says.
    for account in [OTHER, JUDGE, ROOT] {
        assert!(place.shell(account, "ls").contains(DENIED), "{account}");
    }
    let shown = said(&place.judge(&["session", "show", "60002/claude-s1"]));
    assert!(shown.contains("allowed shell") && shown.contains("blocked shell"), "{shown}");
    judge.kill();
    let blocked = place.shell(AGENT, "ls");
    assert!(blocked.contains(DENIED) && blocked.contains("could not be decided"), "{blocked}");
}

#[test]
fn links_are_those_of_the_agents_machine() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    let project = place.at("agent");
    std::os::unix::fs::symlink("/etc", project.join("docs")).unwrap();
    let read = |file: &str| {
        let event = format!(
            r#"{{"session_id":"s2","transcript_path":"","cwd":"{0}","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{{"file_path":"{0}/{file}"}},"tool_use_id":"{file}"}}"#,
            project.display()
        );
        said(&place.hook(AGENT, "claude", &event))
    };
    assert!(!read("notes.txt").contains(DENIED), "{}", read("notes.txt"));
    // The server cannot look into the agent's folder, so it could not see this.
    let outside = read("docs/passwd");
    assert!(outside.contains(DENIED) && outside.contains("outside the project"), "{outside}");
}

#[test]
fn how_a_call_ended_is_recorded_there() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    assert!(!place.shell(AGENT, "ls").contains(DENIED));
    let event = format!(
        r#"{{"session_id":"s1","transcript_path":"","cwd":"{}","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{"command":"ls","description":"proofmark hook doctor"}},"tool_response":{{"stdout":"a","stderr":"","interrupted":false}},"tool_use_id":"call of ls"}}"#,
        place.at("agent").display()
    );
    let recorded = place.hook(AGENT, "claude", &event);
    assert!(recorded.status.success() && recorded.stderr.is_empty(), "{recorded:?}");
    let shown = said(&place.judge(&["session", "show", "60002/claude-s1"]));
    assert!(shown.contains("shell succeeded"), "{shown}");
}

const WORKFLOW: &str = "
name: build
class: mutating
steps:
  - id: tests
    agent: coder
    verification:
      onMissingEvidence: reject-and-retry
      noOtherMutations: false
      retryPrompt: Run ls first.
      evidence:
        - {path: summary, expect: present}
      toolCalls:
        - {name: shell, args: {command: {expect: ls}}}
    onFailure: {action: abort, maxAttempts: 3, retryStrategy: fixed, initialDelayMs: 0, jitter: none}
";

#[test]
fn a_stop_is_judged_by_what_the_server_has_recorded() {
    let Some(place) = Place::new() else { return };
    let judge = place.serve();
    fs::write(place.at("agent/workflow.yaml"), WORKFLOW).unwrap();
    open(&place.at("agent/workflow.yaml"));
    let folder = place.at("agent").display().to_string();
    let stop = || {
        let result = r#"Done.\n\n```result\n{\"summary\": \"x\"}\n```"#;
        let event = format!(
            r#"{{"session_id":"s1","transcript_path":"","cwd":"{folder}","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"{result}"}}"#
        );
        said(&place.hook_with(AGENT, "claude", &event, &["--workflow", "workflow.yaml", "--step", "tests"]))
    };
    let refused = stop();
    assert!(refused.starts_with(r#"{"decision":"block","reason":"Run ls first."#), "{refused}");
    assert!(!place.shell(AGENT, "ls").contains(DENIED));
    let event = format!(
        r#"{{"session_id":"s1","transcript_path":"","cwd":"{folder}","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{"command":"ls","description":"proofmark hook doctor"}},"tool_response":{{"stdout":"a","stderr":"","interrupted":false}},"tool_use_id":"call of ls"}}"#
    );
    assert!(place.hook(AGENT, "claude", &event).status.success());
    let accepted = stop();
    assert!(accepted.contains("Step `tests` is accepted. Receipt "), "{accepted}");
    let shown = said(&place.judge(&["session", "show", "60002/claude-s1"]));
    assert!(shown.contains("step tests retry") && shown.contains("step tests accepted"), "{shown}");
    // The receipt is the server's: nothing of it is in the agent's account.
    assert!(!place.at("agent/.proofmark").exists() && !place.at("agent/.local").exists());
    judge.kill();
    let lost = stop();
    assert!(lost.contains("could not be judged"), "{lost}");
}

#[test]
fn a_call_whose_end_was_not_recorded_is_none_that_succeeded() {
    let Some(place) = Place::new() else { return };
    let after = r#"
version: 1
boundaries:
  - {id: first, match: {action_class: system_change}, when: "action.args.command == 'ls'", require: [{fact: "true"}]}
  - id: then
    match: {action_class: system_change}
    when: action.args.command != 'ls'
    require:
      - tool_call: {name: shell, status: succeeded}
"#;
    place.write_policy(after);
    let ended = |id: &str| {
        format!(
            r#"{{"session_id":"s1","transcript_path":"","cwd":"{}","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{"command":"ls","description":"proofmark hook doctor"}},"tool_response":{{"stdout":"a","stderr":"","interrupted":false}},"tool_use_id":"{id}"}}"#,
            place.at("agent").display()
        )
    };
    let judge = place.serve();
    assert!(!place.shell(AGENT, "ls").contains(DENIED));
    judge.kill();
    let lost = place.hook(AGENT, "claude", &ended("call of ls"));
    assert!(String::from_utf8_lossy(&lost.stderr).contains("record a result"), "{lost:?}");
    let judge = place.serve();
    assert!(place.shell(AGENT, "make").contains(DENIED), "the end of the first is not known");
    // A server that is started again in time has missed nothing.
    judge.kill();
    let (events, shown) = (ended("call of ls"), place.at("run/socket"));
    let told = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| place.hook(AGENT, "claude", &events));
        let _judge = place.serve();
        assert!(shown.exists());
        let told = waiting.join().unwrap();
        assert!(!place.shell(AGENT, "make test").contains(DENIED), "{told:?}");
        told
    });
    assert!(told.stderr.is_empty(), "{told:?}");
}

#[test]
fn options_of_a_decider_are_refused_beside_a_server() {
    let Some(place) = Place::new() else { return };
    for options in [
        &["--policy", "p.yaml"][..],
        &["--key", "k"],
        &["--trust", "t"],
        &["--store", "s"],
        &["--record-facts"],
        &["--keep", "digest"],
    ] {
        for command in
            [&["guard", "--server", "unix:/s", "--name", "a"][..], &["hook", "claude", "--server", "unix:/s"]]
        {
            let end: &[&str] = if command[0] == "guard" { &["--", "true"] } else { &[] };
            let refused = place.proofmark(AGENT).args([command, options, end].concat()).output().unwrap();
            assert!(refused.status.code() == Some(2) && said(&refused).contains("cannot be used with"), "{refused:?}");
        }
    }
    let shadow =
        place.proofmark(AGENT).args(["guard", "--server", "unix:/s", "--shadow", "--", "true"]).output().unwrap();
    assert!(said(&shadow).contains("cannot be used with"), "{shadow:?}");
}

#[test]
fn installed_commands_name_the_server() {
    let Some(place) = Place::new() else { return };
    let install = ["hook", "install", "claude", "--server", &place.address(), "--dry-run"];
    let shown = said(&place.proofmark(AGENT).args(install).output().unwrap());
    assert!(shown.contains(&format!("hook claude --server {}", place.address())), "{shown}");
    assert!(!shown.contains("separation: none"), "{shown}");
    fs::write(place.at("agent/mcp.json"), r#"{"mcpServers": {"files": {"command": "npx", "args": ["x"]}}}"#).unwrap();
    chown(place.at("agent/mcp.json"), Some(AGENT), Some(AGENT)).unwrap();
    let wrapped =
        place.proofmark(AGENT).args(["guard", "wrap", "mcp.json", "--server", &place.address()]).output().unwrap();
    assert!(wrapped.status.success(), "{wrapped:?}");
    let now = fs::read_to_string(place.at("agent/mcp.json")).unwrap();
    assert!(now.contains(&format!(r#""--server", "{}", "--name", "files", "--", "npx""#, place.address())), "{now}");
}

#[test]
fn the_doctor_knows_a_hook_that_a_server_decides_for() {
    let Some(place) = Place::new() else { return };
    let _judge = place.serve();
    let hook = |arguments: &[&str]| {
        let mut command = place.proofmark(AGENT);
        command.env("PATH", "/usr/bin:/bin").arg("hook").args(arguments).output().unwrap()
    };
    let installed = hook(&["install", "claude", "--server", &place.address()]);
    assert!(installed.status.success(), "{}", said(&installed));
    // In a home folder, where the user's settings are those of the project.
    let looked = hook(&["doctor", "claude"]);
    let told = said(&looked);
    assert!(looked.status.success() && told.contains("refused `touch "), "{told}");
    assert!(!told.contains("  bad  ") && told.matches("has hooks for").count() == 1, "{told}");
    // It still looks for the policy where the hook decides itself.
    let file = place.at("agent/.claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(&format!(" --server {}", place.address()), "")).unwrap();
    let told = said(&hook(&["doctor", "claude"]));
    assert!(told.contains("names no policy"), "{told}");
}
