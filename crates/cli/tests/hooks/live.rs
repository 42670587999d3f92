//! The hosts ask before each call, and do what they are answered.

use proofmark_receipt::Json;

use crate::agent::{Agent, Ran};
use crate::place::{BINARY, Place, said};

const DONE: &str = r#"{"say": "done"}"#;

/// A place in which the host's hooks are installed; `None` after a skip.
fn installed(agent: Agent) -> Option<Place> {
    let programs = agent.programs()?;
    let mut place = Place::new();
    place.add_to_path(&programs);
    agent.prepare(&place);
    install(agent, &place, &[]);
    Some(place)
}

fn install(agent: Agent, place: &Place, more: &[&str]) {
    let trust: &[&str] = if agent == Agent::Codex { &["--trust"] } else { &[] };
    let installed = place.install(agent.name(), &[trust, more].concat());
    assert!(installed.status.success(), "{}", said(&installed));
}

/// The lines of decisions, as they are listed.
fn decisions(place: &Place) -> Vec<String> {
    let listed = place.proofmark(&["decision", "list", "--json"]);
    assert!(listed.status.success(), "{}", said(&listed));
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn sessions(place: &Place) -> String {
    let listed = place.proofmark(&["session", "list", "--json"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    let name = |line: &str| Some(line.split("\"session\":\"").nth(1)?.split('"').next()?.to_owned());
    text.lines().filter_map(name).map(|name| said(&place.proofmark(&["session", "show", &name]))).collect()
}

fn shell(agent: Agent, command: &str) -> [String; 2] {
    [agent.shell(command), DONE.to_owned()]
}

/// A test of each host.
macro_rules! of_each {
    ($check:ident: $($name:ident $agent:ident),*) => {
        $(
            #[test]
            fn $name() {
                $check(Agent::$agent);
            }
        )*
    };
}

of_each!(calls_are_decided: claude_asks Claude, codex_asks Codex, copilot_asks Copilot, gemini_asks Gemini, opencode_asks OpenCode);
of_each!(an_approval_counts_once: claude_is_approved Claude, codex_is_approved Codex, copilot_is_approved Copilot, gemini_is_approved Gemini);
of_each!(the_agent_is_held: claude_is_held Claude, codex_is_held Codex, copilot_is_held Copilot, gemini_is_held Gemini);

/// A forbidden command has no effect and the model reads why; an allowed one runs, and its result is recorded.
fn calls_are_decided(agent: Agent) {
    let Some(place) = installed(agent) else { return };
    let turns = [agent.shell("echo x > forbidden"), agent.shell("echo x > allowed; echo made it"), DONE.to_owned()];
    let ran = agent.run(&place, &turns).unwrap();
    assert!(!place.at("project/forbidden").exists(), "{agent:?}: {}", ran.said);
    assert!(place.at("project/allowed").exists(), "{agent:?}: {}", ran.said);
    let results = agent.results(&ran);
    let [refused, _] = results.as_slice() else { panic!("{agent:?}: {results:?}") };
    assert!(refused.contains("This command is not allowed here."), "{agent:?}: {results:?}");
    let decisions = decisions(&place);
    let blocked = decisions.iter().filter(|decision| decision.contains(r#""outcome":"replan_required""#)).count();
    assert!(decisions.len() == 2 && blocked == 1, "{agent:?}: {decisions:?}");
    let shown = sessions(&place);
    assert!(shown.contains("allowed shell") && shown.contains("result"), "{agent:?}: {shown}");
    let kept = said(&place.proofmark(&["session", "export", session(&place).as_str()]));
    assert!(kept.contains("made it"), "{agent:?}: {kept}");
}

fn session(place: &Place) -> String {
    let listed = said(&place.proofmark(&["session", "list", "--json"]));
    listed.split("\"session\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

fn an_approval_counts_once(agent: Agent) {
    let Some(place) = installed(agent) else { return };
    assert!(place.proofmark(&["key", "new", "owner"]).status.success());
    place.write("policy.yaml", "version: 1\nboundaries:\n  - id: commands\n    match: {tool: shell}\n    require:\n      - approval: {role: owner}\n");
    let policy = place.at("policy.yaml").display().to_string();
    let add = ["reviewer", "add", "ann", "--key", "owner", "--role", "owner", "--policy", &policy];
    let added = place.proofmark(&add);
    assert!(added.status.success(), "{}", said(&added));
    let turns = shell(agent, "echo x >> made");
    let made = || place.read("project/made").unwrap_or_default();
    let ran = agent.run(&place, &turns).unwrap();
    let results = agent.results(&ran);
    let [refused] = results.as_slice() else { panic!("{agent:?}: {results:?}") };
    assert!(made().is_empty() && refused.contains("proofmark decision approve "), "{agent:?}: {results:?}");
    let id = refused.split("proofmark decision approve ").nth(1).unwrap().get(..36).unwrap().to_owned();
    let approved =
        place.proofmark(&["decision", "approve", "--yes", &id, "--key", "owner", "--role", "owner", "--note", "fine"]);
    assert!(approved.status.success(), "{}", said(&approved));
    agent.run(&place, &turns).unwrap();
    assert_eq!(made(), "x\n", "{agent:?}");
    agent.run(&place, &turns).unwrap();
    assert_eq!(made(), "x\n", "{agent:?}");
}

#[test]
fn typing_into_a_shell_is_refused_with_the_shell() {
    let Some(place) = installed(Agent::Codex) else { return };
    place.write("policy.yaml", include_str!("../../../../examples/hooks/agent.yaml"));
    let ran = bypass(&place);
    assert!(!place.at("project/typed").exists(), "{}", ran.said);
    let results = Agent::Codex.results(&ran);
    assert!(results[0].contains("cannot be read here"), "{results:?}");
}

#[test]
fn settings_are_not_written_under_names_that_the_host_takes_for_theirs() {
    let Some(place) = installed(Agent::Gemini) else { return };
    place.write("policy.yaml", include_str!("../../../../examples/hooks/agent.yaml"));
    let write = |path: &str| {
        let path = Json::from(path).to_text();
        format!(r#"{{"call": "write_file", "args": {{"file_path": {path}, "content": "x"}}}}"#)
    };
    let names = ["@.gemini/settings.json", "%2egemini/settings.json", ".gem\0ini/settings.json", "notes.txt"];
    let turns: Vec<String> = names.into_iter().map(write).chain([DONE.to_owned()]).collect();
    let ran = Agent::Gemini.run(&place, &turns).unwrap();
    assert!(place.at("project/notes.txt").exists(), "{}", ran.said);
    assert_eq!(place.read("project/.gemini/settings.json"), None, "{}", ran.said);
}

/// The agent starts a shell that waits for commands, and types one.
fn bypass(place: &Place) -> Ran {
    let turns = [
        r#"{"call": "exec_command", "args": {"cmd": "bash -i", "tty": true, "yield_time_ms": 500}}"#,
        r#"{"call": "write_stdin", "args": {"session_id": "$session", "chars": "echo x > typed; exit\n", "yield_time_ms": 25000}}"#,
        DONE,
    ];
    Agent::Codex.run(place, &turns.map(str::to_owned)).unwrap()
}

#[test]
fn a_command_that_no_hook_saw_is_found_in_the_transcript() {
    let Some(place) = installed(Agent::Codex) else { return };
    place.write("policy.yaml", "version: 1\nboundaries:\n  - {id: all, match: {}}\n");
    place.write("workflow.yaml", WORKFLOW);
    install(Agent::Codex, &place, &["--workflow", place.at("workflow.yaml").to_str().unwrap(), "--step", "work"]);
    let ran = bypass(&place);
    assert!(place.at("project/typed").exists(), "{}", ran.said);
    let findings = said(&place.proofmark(&["finding", "list", "--json"]));
    assert!(findings.contains("executed_undecided"), "{findings}");
    // The judgement of the step knows of it.
    let shown = sessions(&place);
    assert!(shown.contains("no decision write_stdin"), "{shown}");
}

/// A step that is done when its tests have run and passed.
const WORKFLOW: &str = "
name: change
class: mutating
tools:
  mutating: [shell, write_stdin, shell_input]
steps:
  - id: work
    agent: coder
    verification:
      onMissingEvidence: reject-and-retry
      retryPrompt: Run the tests with `sh allowed_tests.sh`.
      toolCalls:
        - name: shell
          args: {command: {expect: sh allowed_tests.sh}}
      noOtherMutations: false
    onFailure: {action: abort, maxAttempts: 3, retryStrategy: fixed, initialDelayMs: 0, jitter: none}
";

/// What the agent says each time.
const CLAIM: &str = r#"{"say": "All tests pass.\n\n```result\n{\"tests\": \"passed\"}\n```\n"}"#;

/// An agent that says it is done is held until its tests have run and passed.
fn the_agent_is_held(agent: Agent) {
    let Some(place) = installed(agent) else { return };
    place.write("workflow.yaml", WORKFLOW);
    place.write("project/allowed_tests.sh", "test -e fixed && echo passed\n");
    install(agent, &place, &["--workflow", place.at("workflow.yaml").to_str().unwrap(), "--step", "work"]);
    let turns = [
        CLAIM.to_owned(),
        // They are run, and fail.
        agent.shell("sh allowed_tests.sh"),
        CLAIM.to_owned(),
        agent.shell("touch fixed # allowed"),
        agent.shell("sh allowed_tests.sh"),
        CLAIM.to_owned(),
    ];
    let ran = agent.run(&place, &turns).unwrap();
    let prompts: usize = ran.requests.iter().filter(|request| request.contains("Run the tests with `sh")).count();
    assert!(place.at("project/fixed").exists(), "{agent:?}: {prompts} of {}: {}", ran.requests.len(), ran.said);
    assert!(prompts >= 5, "{agent:?}: {prompts}");
    let shown = sessions(&place);
    let runs = said(&place.proofmark(&["run", "list", "--json"]));
    assert!(runs.contains("accepted"), "{agent:?}: {runs}{shown}");
    assert!(shown.contains("stop"), "{agent:?}: {shown}");
    // What the host recorded beside is what hooks saw.
    assert!(!shown.contains("undecided"), "{agent:?}: {shown}");
}

/// What a subagent does are facts of the session of the agent that started it.
fn a_subagent_belongs_to_its_session(agent: Agent, task: &str) {
    let Some(place) = installed(agent) else { return };
    let policy = "version: 1\nboundaries:\n  - id: all\n    match: {}\n    deny:\n      - {when: \"calls.exists(call, call.tool == 'shell')\", reason: {code: once, message: One command is enough.}}\n";
    place.write("policy.yaml", policy);
    let [first, again] = ["touch inner", "touch outer"].map(|command| agent.shell(command));
    let turns = [task.to_owned(), first, DONE.to_owned(), again, DONE.to_owned()];
    let ran = agent.run(&place, &turns).unwrap();
    assert!(place.at("project/inner").exists() && !place.at("project/outer").exists(), "{agent:?}: {}", ran.said);
    let listed = said(&place.proofmark(&["session", "list", "--json"]));
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn a_subagent_of_copilot_belongs_to_its_session() {
    let task = r#"{"call": "task", "args": {"name": "maker", "description": "work", "prompt": "work", "agent_type": "task", "mode": "sync"}}"#;
    a_subagent_belongs_to_its_session(Agent::Copilot, task);
}

#[test]
fn a_subagent_of_opencode_belongs_to_its_session() {
    let task = r#"{"call": "task", "args": {"description": "work", "prompt": "work", "subagent_type": "general"}}"#;
    a_subagent_belongs_to_its_session(Agent::OpenCode, task);
}

#[test]
fn a_server_of_codex_is_guarded_as_well() {
    let Some(place) = installed(Agent::Codex) else { return };
    place.write(
        "guard.yaml",
        "version: 1\ntools:\n  - {tool: read, class: generic, reads: true}\nboundaries:\n  - id: reads\n    match: {action_class: generic}\n",
    );
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard/server.py");
    let [guard, effects] = ["guard.yaml", "effects"].map(|name| place.at(name).display().to_string());
    // What is not required, Codex does not wait for before it asks the model.
    let configuration = place.read("home/.codex/config.toml").unwrap();
    place.write(
        "home/.codex/config.toml",
        &format!(
            "{configuration}\n[mcp_servers.lenient]\ncommand = {BINARY:?}\nargs = [\"guard\", \"--policy\", {guard:?}, \
             \"--name\", \"lenient\", \"--session\", \"guarded\", \"--\", \"python3\", {server:?}, {effects:?}]\nenv = {{PROOFMARK_HOME = {:?}}}\nstartup_timeout_sec = 120\nrequired = true\n",
            place.at("proofmark").display().to_string()
        ),
    );
    let call = |tool: &str| format!(r#"{{"call": "{tool}", "namespace": "mcp__lenient", "args": {{"path": "a"}}}}"#);
    let ran = Agent::Codex.run(&place, &[call("read"), call("delete"), DONE.to_owned()]).unwrap();
    assert_eq!(place.read("effects").as_deref(), Some("read\n"), "{}", ran.said);
    let results = Agent::Codex.results(&ran);
    assert!(results[0].contains("ok read") && results[1].contains("Not executed"), "{results:?}");
    let shown = said(&place.proofmark(&["session", "show", "guarded"]));
    assert!(shown.contains("blocked delete"), "{shown}");
}
