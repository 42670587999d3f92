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
        let done = place.run(&["lint", path.to_str().unwrap(), "--format", "json"]);
        assert_eq!(done.code, 1, "{}: {done:?}", path.display());
        assert!(done.stdout.contains(&format!("\"code\":\"{code}\"")), "{} lacks {code}: {done:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} bad workflows");
}
