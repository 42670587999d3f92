//! What is put into configurations of hosts, and taken out again.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use proofmark_receipt::{Json, Object};

use crate::place::{BINARY, Place, said};

/// Each host with its file below the home, its file in a project, and the event before a tool.
const HOSTS: [(&str, &str, &str, &str); 6] = [
    ("claude", ".claude/settings.json", ".claude/settings.local.json", "PreToolUse"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json", "PreToolUse"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json", "BeforeTool"),
    ("copilot", ".copilot/hooks/proofmark.json", ".github/hooks/proofmark.json", "PreToolUse"),
    ("vscode", ".copilot/hooks/proofmark.json", ".github/hooks/proofmark.json", "PreToolUse"),
    ("cursor", ".cursor/hooks.json", ".cursor/hooks.json", "preToolUse"),
];

/// A configuration with hooks of somebody else, in a form of its own.
const OTHERS: &str = "{\n    \"model\" : \"x\",\n    \"hooks\": {\"PreToolUse\": [ {\"matcher\": \"Bash\", \"hooks\": \
                      [{\"type\": \"command\", \"command\": \"mine.sh\"}]} ],\n      \"preToolUse\": [{\"command\": \
                      \"mine.sh\"}],\n  \"BeforeTool\": []}\n }";

fn json(text: &str) -> Object {
    Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
}

#[test]
fn a_new_file_has_the_hooks_and_goes_with_them() {
    for (host, user, project, before) in HOSTS {
        for (scope, file) in [("user", format!("home/{user}")), ("project", format!("project/{project}"))] {
            let place = Place::new();
            let installed = place.install(host, &["--scope", scope]);
            assert!(installed.status.success(), "{}", said(&installed));
            let text = place.read(&file).unwrap_or_else(|| panic!("no {file}: {}", said(&installed)));
            let hooks = json(&text);
            assert!(hooks.get("hooks").unwrap().as_object().unwrap().contains(before), "{text}");
            assert!(text.contains(place.at("policy.yaml").to_str().unwrap()), "{text}");
            assert!(text.contains(&format!("--home {}", place.at("proofmark").display())), "{text}");
            // Once more changes nothing.
            assert!(place.install(host, &["--scope", scope]).status.success());
            assert_eq!(place.read(&file).unwrap(), text);
            let removed = place.proofmark(&["hook", "uninstall", host, "--scope", scope]);
            assert!(removed.status.success(), "{}", said(&removed));
            assert_eq!(place.read(&file), None);
            assert!(place.proofmark(&["hook", "uninstall", host, "--scope", scope]).status.success());
        }
    }
}

#[test]
fn a_host_that_is_too_old_is_named_at_once() {
    for (version, is_too_old) in [("2.1.197", true), ("2.1.330", false)] {
        let mut place = Place::new();
        place.use_only_system_programs();
        place.write("bin/claude", &format!("#!/bin/sh\necho '{version} (Claude Code)'\n"));
        std::fs::set_permissions(place.at("bin/claude"), Permissions::from_mode(0o755)).unwrap();
        place.add_to_path(&place.at("bin"));
        let installed = place.install("claude", &[]);
        let told = said(&installed);
        assert!(installed.status.success(), "{told}");
        let wanted = "Claude Code 2.1.197 runs a call whose hook fails";
        assert_eq!(told.contains(wanted) && told.contains("update it to 2.1.295 or later"), is_too_old, "{told}");
    }
}

/// The hooks in a host's file that start a command of ours.
fn ours(json: &Json) -> Vec<&Object> {
    match json {
        Json::Array(items) => items.iter().flat_map(ours).collect(),
        Json::Object(object) if object.get("command").and_then(Json::as_str).is_some() => vec![object],
        Json::Object(object) => object.iter().flat_map(|(_, value)| ours(value)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_host_that_drops_arguments_gets_no_consent() {
    for (host, user, ..) in HOSTS {
        let place = Place::new();
        assert!(place.install(host, &[]).status.success());
        let file = json(&place.read(&format!("home/{user}")).unwrap()).into();
        let hooks = ours(&file);
        assert!(!hooks.is_empty(), "{host}");
        for hook in hooks {
            assert!(!hook.contains("args"), "{host}: {hook:?}");
            let line = hook.get("command").unwrap().as_str().unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            // All that comes before the policy.
            for kept in 1..words.iter().position(|word| *word == "--policy").unwrap() {
                let ended = place.command("/bin/sh").arg("-c").arg(words[..kept].join(" ")).output().unwrap();
                assert_eq!(ended.status.code(), Some(2), "{host}: {kept}: {}", said(&ended));
                assert!(ended.stdout.is_empty() && !ended.stderr.is_empty(), "{host}: {kept}: {}", said(&ended));
            }
        }
    }
}

/// What is kept of configurations.
fn kept(place: &Place) -> Vec<String> {
    let files = std::fs::read_dir(place.at("proofmark/unhooked")).into_iter().flatten().flatten();
    files.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect()
}

#[test]
fn what_an_agent_puts_beside_the_file_is_not_put_back() {
    for (host, _, project, _) in HOSTS {
        let place = Place::new();
        let file = format!("project/{project}");
        place.write(&file, OTHERS);
        assert!(place.install(host, &["--scope", "project"]).status.success());
        // It says the same, as far as an uninstallation compares it, and has other bytes.
        place.write(&format!("{file}.unhooked"), &OTHERS.replace("\"model\" :", "\n\n\"model\":"));
        assert!(place.proofmark(&["hook", "uninstall", host, "--scope", "project"]).status.success());
        assert_eq!(place.read(&file).unwrap(), OTHERS, "{host}");
    }
}

#[test]
fn hooks_of_others_stay_and_the_file_gets_back_every_byte() {
    for (host, user, ..) in HOSTS {
        for before in [OTHERS, "", "{}", "{\"hooks\": {}}\n", "{\"version\": 1}"] {
            let place = Place::new();
            let file = format!("home/{user}");
            place.write(&file, before);
            assert!(place.install(host, &["--dry-run"]).status.success());
            assert_eq!(place.read(&file).unwrap(), before);
            let installed = place.install(host, &[]);
            assert!(installed.status.success(), "{}", said(&installed));
            let after = place.read(&file).unwrap();
            assert_eq!(after.matches("mine.sh").count(), before.matches("mine.sh").count(), "{after}");
            assert_eq!(kept(&place), [before]);
            assert_eq!(place.read(&format!("{file}.unhooked")), None, "nothing of it is where the agent works");
            // Another policy takes the place of the first.
            place.write("policy.yaml.2", &place.read("policy.yaml").unwrap());
            let other = place.at("policy.yaml.2");
            let other = place.proofmark(&["hook", "install", host, "--policy", other.to_str().unwrap()]);
            assert!(other.status.success(), "{}", said(&other));
            let count = |text: &str| text.matches("hook").count();
            assert_eq!(count(&place.read(&file).unwrap()), count(&after));
            assert_eq!(kept(&place), [before]);
            let removed = place.proofmark(&["hook", "uninstall", host]);
            assert!(removed.status.success(), "{}", said(&removed));
            assert_eq!(place.read(&file).unwrap(), before, "{host}");
            assert!(kept(&place).is_empty());
        }
    }
}

#[test]
fn what_changed_meanwhile_stays() {
    for (host, user, _, before) in HOSTS {
        let place = Place::new();
        let file = format!("home/{user}");
        place.write(&file, OTHERS);
        assert!(place.install(host, &[]).status.success());
        let changed = place.read(&file).unwrap().replace("\"model\" : \"x\"", "\"model\" : \"y\"");
        place.write(&file, &changed);
        assert!(place.proofmark(&["hook", "uninstall", host]).status.success());
        let left = json(&place.read(&file).unwrap());
        assert_eq!(left.get("model").unwrap().as_str(), Some("y"));
        let hooks = left.get("hooks").unwrap().as_object().unwrap();
        assert!(!Json::from(hooks.clone()).to_text().contains("proofmark"));
        assert_eq!(
            hooks.contains(before),
            json(OTHERS).get("hooks").unwrap().as_object().unwrap().contains(before) && host != "gemini"
        );
    }
}

#[test]
fn comments_of_gemini_settings_stay() {
    let place = Place::new();
    let before = "{\n  // my theme\n  \"ui\": {\"theme\": \"x\"} /* end */\n}\n";
    place.write("home/.gemini/settings.json", before);
    assert!(place.install("gemini", &[]).status.success());
    let after = place.read("home/.gemini/settings.json").unwrap();
    assert!(after.contains("// my theme") && after.contains("/* end */") && after.contains("BeforeTool"), "{after}");
    // Something else changes, so what is left is not the backup.
    place.write("home/.gemini/settings.json", &after.replace("\"x\"", "\"y\""));
    assert!(place.proofmark(&["hook", "uninstall", "gemini"]).status.success());
    assert_eq!(place.read("home/.gemini/settings.json").unwrap(), before.replace("\"x\"", "\"y\""));
}

#[test]
fn what_is_not_understood_is_refused_and_unchanged() {
    for (host, user, ..) in HOSTS {
        for unknown in [
            "[]",
            "{",
            "{\"hooks\": []}",
            "{\"a\":1,\"a\":2}",
            "{\"hooks\": {\"PreToolUse\": {}, \"BeforeTool\": {}, \"preToolUse\": {}}}",
        ] {
            let place = Place::new();
            let file = format!("home/{user}");
            place.write(&file, unknown);
            let refused = place.install(host, &[]);
            assert_eq!(refused.status.code(), Some(2), "{host} {unknown}: {}", said(&refused));
            assert_eq!(place.read(&file).unwrap(), unknown);
        }
    }
}

#[test]
fn nothing_is_installed_that_cannot_work() {
    let place = Place::new();
    // The hook reads its own standard input.
    let policy = std::fs::File::open(place.at("policy.yaml")).unwrap();
    let mut command = place.command(BINARY);
    let refused = command.args(["hook", "install", "claude", "--policy", "-"]).stdin(policy).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("help: name a file") && place.read("home/.claude/settings.json").is_none());
    let unknown = place.install("claude", &["--", "--bogus"]);
    assert!(said(&unknown).contains("help: `proofmark hook --help` lists the options"), "{}", said(&unknown));
    let place = Place::new();
    place.write("policy.yaml", "version: 1\nboundaries: 3\n");
    assert_eq!(place.install("claude", &[]).status.code(), Some(2));
    let place = Place::new();
    place.write("p $x/policy.yaml", &place.read("policy.yaml").unwrap());
    let policy = place.at("p $x/policy.yaml");
    let refused = place.proofmark(&["hook", "install", "gemini", "--policy", policy.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let refused = place.install("vscode", &["--scope", "system"]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("VS Code"), "{}", said(&refused));
    // A link that leads out of the project is not followed.
    std::os::unix::fs::symlink(place.at("home"), place.at("project/.cursor")).unwrap();
    let refused = place.install("cursor", &["--scope", "project"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert_eq!(place.read("home/hooks.json"), None);
    let none = place.read("home/.claude/settings.json").or(place.read("home/.gemini/settings.json"));
    assert_eq!(none, None);
}

#[test]
fn the_plugin_of_opencode_is_written_and_removed() {
    let place = Place::new();
    let file = "home/.config/opencode/plugins/proofmark.js";
    assert!(place.install("opencode", &[]).status.success());
    assert!(place.read(file).unwrap().contains("\"hook\",\"opencode\""));
    assert!(place.install("opencode", &[]).status.success());
    assert!(place.proofmark(&["hook", "uninstall", "opencode"]).status.success());
    assert_eq!(place.read(file), None);
    // A plugin of somebody else is not touched.
    place.write(file, "export const Other = async () => ({})\n");
    assert_eq!(place.install("opencode", &[]).status.code(), Some(2));
    assert!(place.proofmark(&["hook", "uninstall", "opencode"]).status.success());
    assert_eq!(place.read(file).unwrap(), "export const Other = async () => ({})\n");
}

#[test]
fn paths_with_spaces_and_quotes_reach_the_hook_whole() {
    let place = Place::new();
    let odd = "it's a \"policy\"; rm -rf x.yaml";
    place.write(odd, &place.read("policy.yaml").unwrap());
    let policy = place.at(odd);
    for (host, user, ..) in HOSTS {
        let installed = place.proofmark(&["hook", "install", host, "--policy", policy.to_str().unwrap(), "--json"]);
        assert!(installed.status.success(), "{}", said(&installed));
        let line = Json::parse(&installed.stdout).unwrap();
        let hook = line.as_object().unwrap().get("hooks").unwrap().as_array().unwrap()[0].as_object().unwrap().clone();
        let words: Vec<_> = hook.get("command").unwrap().as_array().unwrap().iter().filter_map(Json::as_str).collect();
        assert!(words.contains(&policy.to_str().unwrap()), "{words:?}");
        let removed = place.proofmark(&["hook", "uninstall", host]);
        assert!(removed.status.success() && place.read(&format!("home/{user}")).is_none(), "{}", said(&removed));
    }
}

#[test]
fn more_options_of_the_hook_are_checked_and_written() {
    let place = Place::new();
    let installed = place.install("codex", &["--", "--agent", "coder", "--store", "here.db"]);
    assert!(installed.status.success(), "{}", said(&installed));
    let text = place.read("home/.codex/hooks.json").unwrap();
    let store = place.at("project/here.db").display().to_string();
    assert!(text.contains(&format!("--agent coder --store {store}")), "{text}");
    for wrong in [&["--", "--agnt", "x"][..], &["--", "claude"], &["--", "--deadline", "1000s"]] {
        let refused = place.install("gemini", wrong);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert_eq!(place.read("home/.gemini/settings.json"), None);
    }
}

#[test]
fn a_step_that_the_workflow_does_not_have_is_refused() {
    let place = Place::new();
    place.write("workflow.yaml", include_str!("../../../../examples/accept/workflow.yaml"));
    let workflow = place.at("workflow.yaml").display().to_string();
    let refused = place.install("claude", &["--workflow", &workflow, "--step", "other"]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("no such step"), "{}", said(&refused));
    assert!(place.install("claude", &["--workflow", &workflow, "--step", "implement"]).status.success());
    assert!(
        place.read("home/.claude/settings.json").unwrap().contains(&format!("--workflow {workflow} --step implement"))
    );
}

/// What opencode does with the plugin: it calls it before and after a tool, and an error stops the tool.
const OPENCODE: &str = r#"
const [plugin, command, sessionID] = process.argv.slice(2);
const { Proofmark } = await import(plugin);
const sessions = { s1: { id: "s1" }, s2: { id: "s2", parentID: "s1" }, s3: { id: "s3", parentID: "s2" } };
const client = { session: { get: async ({ path }) => ({ data: sessions[path.id] }) } };
const hooks = await Proofmark({ client, directory: process.cwd() });
const call = { tool: "bash", sessionID, callID: "c1" };
try {
  await hooks["tool.execute.before"](call, { args: { command } });
  await hooks["tool.execute.after"]({ ...call, args: { command } }, { title: "t", output: "made it", metadata: { exit: 0 } });
  console.log("runs");
} catch (error) {
  console.log(error.message);
}
"#;

#[test]
fn the_plugin_of_opencode_throws_unless_the_call_is_allowed() {
    if !proofmark_testing::has_program("node", "nodejs") {
        return;
    }
    let place = Place::new();
    assert!(place.install("opencode", &[]).status.success());
    let plugin = "home/.config/opencode/plugins/proofmark.js";
    place.write("home/.config/opencode/package.json", "{\"type\": \"module\"}");
    place.write("host.mjs", OPENCODE);
    let run_in = |session: &str, command: &str| {
        let mut node = place.command("node");
        said(&node.arg(place.at("host.mjs")).arg(place.at(plugin)).args([command, session]).output().unwrap())
    };
    let run = |command: &str| run_in("s1", command);
    assert!(run("echo forbidden").starts_with("Not executed: This command is not allowed here."));
    assert_eq!(run("echo allowed"), "runs\n");
    let shown = said(&place.proofmark(&["session", "show", "opencode-s1"]));
    assert!(shown.contains("blocked shell") && shown.contains("shell succeeded"), "{shown}");
    // A subagent of a subagent is told of in the session that began it all, and one of an unknown session is not asked about.
    assert_eq!(run_in("s3", "echo allowed too"), "runs\n");
    assert!(run_in("s4", "echo allowed").starts_with("Not executed: the session cannot be found."));
    let listed = said(&place.proofmark(&["session", "list", "--json"]));
    assert!(listed.lines().count() == 1 && listed.contains("opencode-s1"), "{listed}");
    // Without an answer, nothing runs.
    place.write(plugin, &place.read(plugin).unwrap().replace(crate::place::BINARY, "/nowhere/proofmark"));
    assert!(run("echo allowed").starts_with("Not executed: "));
}

#[test]
fn an_installation_for_the_system_uses_each_users_own_folder() {
    let place = Place::new();
    let policy = place.at("policy.yaml");
    for host in ["claude", "codex", "gemini", "copilot", "cursor"] {
        let mut command = place.command(crate::place::BINARY);
        command.args(["hook", "install", host, "--scope", "system", "--dry-run", "--policy"]).arg(&policy);
        let shown = said(&command.env_remove("PROOFMARK_HOME").output().unwrap());
        assert!(shown.starts_with("/etc/") && shown.contains(" --own-home --policy "), "{shown}");
        let shown = said(&place.install(host, &["--scope", "system", "--dry-run"]));
        assert!(shown.contains(&format!("--home {} ", place.at("proofmark").display())), "{shown}");
    }
}
