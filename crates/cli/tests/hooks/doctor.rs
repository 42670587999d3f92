//! `proofmark hook doctor` says yes only where a call is stopped.

use std::os::unix::fs::PermissionsExt;

use proofmark_hosts::Host;
use proofmark_receipt::Json;

use crate::agent::Agent;
use crate::place::{Place, said};

fn hosts() -> impl Iterator<Item = &'static str> {
    Host::all().map(|host| host.name)
}

/// Every file that an installation may have made.
const FILES: [&str; 6] = [
    "home/.claude/settings.json",
    "home/.codex/hooks.json",
    "home/.gemini/settings.json",
    "home/.copilot/hooks/proofmark.json",
    "home/.cursor/hooks.json",
    "home/.config/opencode/plugins/proofmark.js",
];

/// The states of what the doctor found, with what it was.
fn findings(place: &Place, arguments: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
    let output = place.proofmark(&[&["hook", "doctor"], arguments, &["--json"]].concat());
    let json = Json::parse(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    let list = json.as_object().unwrap().get("findings").unwrap().as_array().unwrap().to_vec();
    let text =
        |finding: &Json, name: &str| finding.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned();
    let found = list.iter().map(|finding| (text(finding, "state"), text(finding, "what"))).collect();
    (output.status.code(), found)
}

/// Those that are bad.
fn bad(found: &[(String, String)]) -> Vec<&str> {
    found.iter().filter(|(state, _)| state == "bad").map(|(_, what)| what.as_str()).collect()
}

/// A place without the programs of hosts, so that only the installation counts.
fn place() -> Place {
    let mut place = Place::new();
    place.use_only_system_programs();
    place
}

#[test]
fn a_good_installation_refuses_the_call() {
    for host in hosts() {
        let place = place();
        assert!(place.install(host, &[]).status.success());
        let (code, found) = findings(&place, &[host]);
        assert!(bad(&found).is_empty(), "{host}: {found:?}");
        assert!(
            found.iter().any(|(state, what)| state == "good" && what.contains("refused `touch ")),
            "{host}: {found:?}"
        );
        // Only Codex itself knows whether it trusts its hooks.
        assert_eq!(code, Some(if host == "codex" { 2 } else { 0 }), "{host}: {found:?}");
    }
}

#[test]
fn a_host_without_hooks_is_not_in_order() {
    for host in hosts() {
        let (code, found) = findings(&place(), &[host]);
        assert!(code == Some(1) && bad(&found)[0].contains("has no hooks"), "{host}: {found:?}");
    }
}

#[test]
fn a_hook_that_does_not_do_its_work_is_found() {
    let fake = |text: &str| {
        let place = place();
        place.write("fake/proofmark", &format!("#!/bin/sh\n{text}\n"));
        let program = place.at("fake/proofmark");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        (place, program.display().to_string())
    };
    for host in hosts() {
        for (text, expected) in [
            ("exit 1", "exit code 1"),
            ("echo hello", "not one json object"),
            ("echo '{}'", "neither"),
            ("kill -9 $$", "kill"),
            ("echo 'Loading'; exec real hook \"$2\"", "exit code 127"),
        ] {
            let (place, program) = fake(text);
            assert!(place.install(host, &[]).status.success());
            for file in FILES {
                if let Some(text) = place.read(file) {
                    place.write(file, &text.replace(crate::place::BINARY, &program));
                }
            }
            let (code, found) = findings(&place, &[host]);
            let bad = bad(&found);
            assert!(
                code == Some(1) && bad.iter().any(|what| what.to_lowercase().contains(expected)),
                "{host} {text}: {found:?}"
            );
        }
        // The program is gone.
        let (place, program) = fake("exit 0");
        assert!(place.install(host, &[]).status.success());
        std::fs::remove_file(&program).unwrap();
        for file in FILES {
            if let Some(text) = place.read(file) {
                place.write(file, &text.replace(crate::place::BINARY, &program));
            }
        }
        let (code, found) = findings(&place, &[host]);
        assert!(
            code == Some(1) && bad(&found).iter().any(|what| what.contains("cannot be found")),
            "{host}: {found:?}"
        );
    }
}

#[test]
fn settings_that_switch_hooks_off_are_found() {
    for (host, file, from, to, expected) in [
        ("claude", FILES[0], "{\n", "{\"disableAllHooks\": true,", "disableAllHooks"),
        ("claude", FILES[0], "\"onFailure\": \"block\"", "\"async\": true", "asynchronous"),
        ("claude", FILES[0], ",\n            \"onFailure\": \"block\"", "", "onFailure"),
        ("claude", FILES[0], "\"matcher\": \"*\"", "\"matcher\": \"Bash\"", "matcher"),
        ("claude", FILES[0], "\"timeout\": 60", "\"timeout\": 1", "timeout"),
        ("gemini", FILES[2], "{\n", "{\"hooksConfig\": {\"enabled\": false},", "hooksConfig.enabled"),
        ("gemini", FILES[2], "{\n", "{\"hooksConfig\": {\"disabled\": [\"proofmark\"]},", "hooksConfig.disabled"),
        ("copilot", FILES[3], "{\n", "{\"disableAllHooks\": true,", "disableAllHooks"),
        ("cursor", FILES[4], "\"failClosed\": true", "\"failClosed\": false", "failClosed"),
        ("cursor", FILES[4], "\"stop\"", "\"other\"", "no hook for stop"),
    ] {
        let place = place();
        assert!(place.install(host, &[]).status.success());
        let text = place.read(file).unwrap();
        assert!(text.contains(from), "{text}");
        place.write(file, &text.replacen(from, to, 1));
        let (code, found) = findings(&place, &[host]);
        assert!(code == Some(1) && bad(&found).iter().any(|what| what.contains(expected)), "{host} {to}: {found:?}");
    }
}

#[test]
fn a_policy_that_allows_everything_proves_nothing() {
    let place = place();
    place.write("policy.yaml", "version: 1\nboundaries:\n  - {id: all, match: {}}\n");
    assert!(place.install("claude", &[]).status.success());
    let (code, found) = findings(&place, &["claude"]);
    assert!(code == Some(1) && bad(&found)[0].contains("allowed every call"), "{found:?}");
}

#[test]
fn a_refusal_without_a_decision_proves_nothing() {
    for host in hosts() {
        let place = place();
        assert!(place.install(host, &[]).status.success());
        place.write("proofmark/proofmark.db", "not a store");
        let (code, found) = findings(&place, &[host]);
        assert!(
            code == Some(1) && bad(&found).iter().any(|what| what.contains("without a decision")),
            "{host}: {found:?}"
        );
    }
}

#[test]
fn a_project_can_switch_the_users_hooks_of_gemini_off_and_that_is_found() {
    let place = place();
    assert!(place.install("gemini", &[]).status.success());
    place.write("project/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}");
    let (code, found) = findings(&place, &["gemini"]);
    assert!(code == Some(1) && bad(&found)[0].contains("hooksConfig.enabled"), "{found:?}");
}

#[test]
fn claude_is_in_order() {
    the_host_itself_is_in_order(Agent::Claude);
}

#[test]
fn codex_is_in_order_once_it_trusts_its_hooks() {
    let Some(place) = with_program(Agent::Codex) else { return };
    assert!(place.install("codex", &[]).status.success());
    let (code, found) = findings(&place, &["codex"]);
    assert!(code == Some(1) && bad(&found).iter().any(|what| what.contains("not trusted")), "{found:?}");
    // It skips hooks that nobody has trusted, and runs the call.
    let turns = [Agent::Codex.shell("echo x > forbidden"), r#"{"say": "done"}"#.to_owned()];
    let ran = Agent::Codex.run(&place, &turns).unwrap();
    assert!(place.at("project/forbidden").exists(), "{}", ran.said);
    let trusted = place.install("codex", &["--trust"]);
    assert!(trusted.status.success(), "{}", said(&trusted));
    assert_in_order(Agent::Codex, &place);
}

#[test]
fn copilot_is_in_order() {
    the_host_itself_is_in_order(Agent::Copilot);
}

#[test]
fn gemini_is_in_order() {
    the_host_itself_is_in_order(Agent::Gemini);
}

#[test]
fn opencode_is_in_order() {
    the_host_itself_is_in_order(Agent::OpenCode);
}

/// A place in which the host's own program is found; `None` after a skip.
fn with_program(agent: Agent) -> Option<Place> {
    let programs = agent.programs()?;
    let mut place = Place::new();
    place.add_to_path(&programs);
    Some(place)
}

fn the_host_itself_is_in_order(agent: Agent) {
    let Some(place) = with_program(agent) else { return };
    assert!(place.install(agent.name(), &[]).status.success());
    assert_in_order(agent, &place);
}

/// The doctor finds nothing bad, and the version of the host is the one that it says to be tested.
fn assert_in_order(agent: Agent, place: &Place) {
    let (code, found) = findings(place, &[agent.name()]);
    assert_eq!(code, Some(0), "{agent:?}: {found:?}");
    let is_version = |(state, what): &(String, String)| {
        state == "good" && what.split(' ').next_back().is_some_and(|word| word.split('.').count() == 3)
    };
    assert!(found.iter().any(is_version), "{agent:?}: {found:?}");
}
