use proofmark_receipt::Json;

use crate::run::{Place, project_file};

pub(crate) const ENDLESS: &str = "name: loop
class: readonly
tools: {mutating: [write_*], readonly: [read_*]}
steps:
  - id: a
    next: b
    verification: {onMissingEvidence: reject-and-retry, evidence: [{path: first, expect: present}]}
    onFailure: {action: abort, maxAttempts: 2}
  - id: b
    next: a
    verification: {onMissingEvidence: reject-and-retry, evidence: [{path: second, expect: {predicate: 'value.sze() > 2'}}]}
    onFailure: {action: abort, maxAttempts: 2}
";

#[test]
fn the_example_is_clean_in_every_form() {
    let place = Place::new();
    let workflow = project_file("examples/accept/workflow.yaml");
    for form in ["human", "json", "sarif", "github", "junit"] {
        let done = place.run(&["lint", &workflow, "--format", form]);
        assert_eq!(done.code, 0, "{form}: {done:?}");
    }
}

#[test]
fn a_finding_has_a_file_a_place_and_a_code() {
    let place = Place::new();
    let bad = place.file("flows/bad.yaml", ENDLESS.replace("value.sze()", "value.size()"));
    place.file("flows/good.yaml", std::fs::read(project_file("examples/accept/workflow.yaml")).unwrap());
    let folder = place.path("flows");
    let done = place.run(&["lint", folder.to_str().unwrap()]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stdout.contains("[cycle]") && done.stdout.contains("bad.yaml:"), "{done:?}");
    assert!(!done.stdout.contains("good.yaml"), "{done:?}");
    let json = place.run(&["lint", &bad, "--format", "json"]);
    for line in json.stdout.lines() {
        let finding = Json::parse(line.as_bytes()).unwrap();
        let finding = finding.as_object().unwrap();
        for member in ["file", "line", "column", "code", "severity", "message"] {
            assert!(finding.contains(member), "{member}: {line}");
        }
    }
}

#[test]
fn every_seeded_fault_is_found() {
    let place = Place::new();
    let folder = project_file("crates/cli/tests/bad_workflows");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().next().and_then(|line| line.strip_prefix("# finds: ")).unwrap();
        let done = place.run(&["lint", path.to_str().unwrap(), "--format", "json", "--deny", "warnings"]);
        assert_eq!(done.code, 1, "{}: {done:?}", path.display());
        assert!(done.stdout.contains(&format!("\"code\":\"{code}\"")), "{} lacks {code}: {done:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} bad workflows");
}

#[test]
fn warnings_alone_fail_only_where_they_are_denied() {
    let place = Place::new();
    let warned = project_file("crates/cli/tests/bad_workflows/retry_metadata.yaml");
    let lint = |more: &[&str]| place.run(&[&["lint", &warned], more].concat());
    let done = lint(&[]);
    assert!(done.code == 0 && done.stdout.contains("warning"), "{done:?}");
    assert_eq!((lint(&["--deny", "warnings"]).code, lint(&["--deny", "nothing"]).code), (1, 2));
    let allowed = lint(&["--deny", "warnings", "--allow", "any-suite", "--allow", "missing-retry-metadata"]);
    assert!(allowed.code == 0 && !allowed.stdout.contains("missing-retry-metadata"), "{allowed:?}");
    assert_eq!(lint(&["--deny", "warnings", "--allow", "any-suite"]).code, 1, "another code is allowed");
    let wrong = project_file("crates/cli/tests/bad_workflows/cycle.yaml");
    assert_eq!(place.run(&["lint", &wrong, "--allow", "cycle"]).code, 1, "an error is never left out");
    assert_eq!(place.run(&["lint", &warned, &wrong]).code, 1, "an error is one beside a warning");
}

#[test]
fn a_folder_may_hold_cases_and_traces_beside_its_workflows() {
    let place = Place::new();
    let copy = |name: &str| std::fs::read(project_file(&format!("examples/accept/{name}"))).unwrap();
    for name in ["workflow.yaml", "cases.yaml", "trace1.json", "trace2.json"] {
        place.file(&format!("flows/{name}"), copy(name));
    }
    place.file("flows/request.json", r#"{"output": {"content": "x"}, "verification": {}}"#);
    let folder = place.path("flows");
    let done = place.run(&["lint", folder.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("2 files checked"), "{done:?}");
    for name in ["trace1.json", "trace2.json", "request.json"] {
        assert!(done.stderr.contains(&format!("{name}: it is not a workflow")), "{name}: {done:?}");
    }
    // A document that is meant to be one of these is checked, however wrong it is.
    let broken = place.file("flows/other.yaml", "name: x\nclass: readonly\nstepz: []\n");
    place.file("flows/cut.json", "{\"steps\": [");
    place.file("flows/table.yaml", "cases: [{name: a, step: s, workflw: w.yaml}]\n");
    let done = place.run(&["lint", folder.to_str().unwrap()]);
    assert_eq!(done.code, 1, "{done:?}");
    for words in
        ["[unknown-field]", "did you mean `steps`?", "cut.json:1:", "table.yaml:1:", "did you mean `workflow`?"]
    {
        assert!(done.stdout.contains(words), "lacks {words}: {done:?}");
    }
    // A file that is named is meant to be checked.
    let trace = place.path("flows/trace1.json");
    assert_eq!(place.run(&["lint", trace.to_str().unwrap()]).code, 1);
    assert_eq!(place.run(&["lint", &broken]).code, 1);
}

#[test]
fn a_folder_of_other_documents_is_no_success() {
    let place = Place::new();
    place.file("traces/trace.json", r#"[{"name": "a"}]"#);
    let folder = place.path("traces");
    let done = place.run(&["lint", folder.to_str().unwrap()]);
    assert!(done.code == 2 && done.stderr.contains("help: "), "{done:?}");
}

#[test]
fn a_wrong_step_fails_its_case_and_the_table_goes_on() {
    let place = Place::new();
    let folder = project_file("examples/accept/");
    let table = std::fs::read_to_string(project_file("examples/accept/cases.yaml")).unwrap();
    let table = ["workflow.yaml", "attempt1", "attempt2", "trace1", "trace2"]
        .iter()
        .fold(table, |table, name| table.replace(&format!(": {name}"), &format!(": {folder}{name}")));
    let wrong = place.file("wrong.yaml", table.replacen("step: implement", "step: implment", 1));
    let done = place.run(&["workflow", "test", &wrong]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stdout.contains("`implement`") && done.stdout.contains("3 of 4 cases passed"), "{done:?}");
    let lost = place.file("lost.yaml", table.replacen("attempt1.md", "gone.md", 1));
    let done = place.run(&["workflow", "test", &lost]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stdout.contains("gone.md") && done.stdout.contains("3 of 4 cases passed"), "{done:?}");
}
