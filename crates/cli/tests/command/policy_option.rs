//! Which action policy a command takes: of its option, of the environment, or of the project.

use crate::run::{Done, Place, project_file};

/// A place with an action that `yes.yaml` allows and `no.yaml` does not.
fn place() -> (Place, String) {
    let place = Place::new();
    place.file("yes.yaml", "version: 1\nclasses: [payment]\nboundaries:\n  - id: all\n    match: {tool: pay}\n");
    place.file("no.yaml", "version: 1\nclasses: [payment]\nboundaries: []\nunmatched: replan_required\n");
    let action = place.file("action.json", r#"{"action": {"tool": "pay", "class": "payment"}}"#);
    (place, action)
}

fn decide(place: &Place, action: &str, more: &[&str], variable: &str) -> Done {
    place.run_with(&[&["decide", action], more].concat(), &[("PROOFMARK_POLICY", variable)], b"")
}

#[test]
fn the_option_wins_over_the_variable_and_that_over_the_project() {
    let (place, action) = place();
    place.file("proofmark.yaml", "policy: no.yaml\n");
    let of_project = decide(&place, &action, &[], "");
    assert!(
        of_project.code == 1 && of_project.stderr.contains("action policy: no.yaml, by proofmark.yaml"),
        "{of_project:?}"
    );
    let of_variable = decide(&place, &action, &[], "yes.yaml");
    assert!(
        of_variable.code == 0 && of_variable.stderr.contains("action policy: yes.yaml, by PROOFMARK_POLICY"),
        "{of_variable:?}"
    );
    let given = decide(&place, &action, &["--policy", "no.yaml"], "yes.yaml");
    assert!(given.code == 1 && !given.stderr.contains("action policy"), "{given:?}");
    for command in [&["policy", "explain"][..], &["serve", "--check"]] {
        let done = place.run(command);
        assert!(done.code == 0 && done.stderr.contains("action policy: no.yaml, by proofmark.yaml"), "{done:?}");
    }
    let cases = place.file(
        "cases.yaml",
        "cases:\n  - {name: a, request: {action: {tool: pay, class: payment}}, expect: {outcome: allow}}\n",
    );
    assert_eq!(place.run(&["policy", "test", &cases]).code, 1);
    assert_eq!(place.run_with(&["policy", "test", &cases], &[("PROOFMARK_POLICY", "yes.yaml")], b"").code, 0);
    let named = place.file("named.yaml", format!("policy: yes.yaml\n{}", std::fs::read_to_string(&cases).unwrap()));
    assert_eq!(place.run(&["policy", "test", &named]).code, 0, "the table names its policy");
}

#[test]
fn a_policy_that_is_not_found_is_an_error_and_never_none() {
    let (place, action) = place();
    let none = decide(&place, &action, &[], "");
    assert!(
        none.code == 2 && none.stderr.contains("help: name it with `--policy FILE`, with PROOFMARK_POLICY"),
        "{none:?}"
    );
    for command in [&["decide", action.as_str()][..], &["policy", "explain"], &["serve", "--check"]] {
        let absent = place.run_with(command, &[("PROOFMARK_POLICY", "absent.yaml")], b"");
        assert!(absent.code == 2 && absent.stderr.contains("absent.yaml"), "{absent:?}");
        for (file, why) in
            [("policy: absent.yaml\n", "absent.yaml"), ("policy: 1\n", "policy"), ("polcy: a\n", "polcy")]
        {
            place.file("proofmark.yaml", file);
            let done = place.run(command);
            assert!(done.code == 2 && done.stderr.contains(why), "{command:?} {file}: {done:?}");
        }
        std::fs::remove_file(place.path("proofmark.yaml")).unwrap();
    }
    std::os::unix::fs::symlink(project_file("README.md"), place.path("proofmark.yaml")).unwrap();
    let linked = decide(&place, &action, &[], "");
    assert!(
        linked.code == 2 && linked.stderr.contains("it is a link") && !linked.stderr.contains("Proofmark"),
        "{linked:?}"
    );
}

/// An agent may write the project's file, and set variables of what it starts.
#[test]
fn what_stands_beside_an_agent_takes_no_policy_that_the_agent_can_choose() {
    let (place, _) = place();
    place.file("proofmark.yaml", "policy: yes.yaml\n");
    place.file(".mcp.json", "{}");
    for command in [
        &["guard", "--", "true"][..],
        &["guard", "wrap", ".mcp.json"],
        &["hook", "claude"],
        &["hook", "install", "claude"],
        &["gate", "--tree", "HEAD"],
        &["gate", "install", "--pre-push"],
    ] {
        let done = place.run_with(command, &[("PROOFMARK_POLICY", "yes.yaml")], b"{}");
        assert!(done.code == 2 && done.stderr.contains("--policy <FILE>"), "{command:?}: {done:?}");
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"decide_action","arguments":{}}}"#;
    let served = place.run_with(&["mcp"], &[("PROOFMARK_POLICY", "absent.yaml")], list.as_bytes());
    assert_eq!(served.code, 0, "{served:?}");
}
