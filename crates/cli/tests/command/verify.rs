use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proofmark_receipt::{Json, Receipt, Sha256Digest, Status, Verdict};

use crate::run::{Place, RIGHT, project_file, request};

#[test]
fn the_example_of_the_readme_passes() {
    let place = Place::new();
    let done = place.run(&["verify", &project_file("examples/sort.json")]);
    assert_eq!(done.code, 0, "{done:?}");
    let mode = fs::metadata(place.path("home/keys/default.pem")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// As `sudo` starts programs, and containers with `--ulimit core=0`.
#[test]
fn work_is_verified_where_no_core_dump_is_allowed() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.is_empty() || pattern.starts_with('|') {
        return proofmark_testing::skip(
            "cores-in-files",
            "core dumps go to a program, which only the limit 1 prevents",
        );
    }
    let place = Place::new();
    let limited = Command::new("sh")
        .args([
            "-c",
            "ulimit -Hc 0 && exec \"$0\" verify \"$1\"",
            env!("CARGO_BIN_EXE_proofmark"),
            &project_file("examples/sort.json"),
        ])
        .envs(place.home.variables())
        .output()
        .unwrap();
    assert!(limited.status.success(), "{limited:?}");
}

#[test]
fn the_receipt_names_what_was_verified() {
    let receipt = Place::new().receipt(&request(RIGHT), &[]);
    assert_eq!(receipt.verdict(), Verdict::Pass);
    assert_eq!(receipt.hashes().output, Sha256Digest::of(RIGHT.as_bytes()));
    let metadata = receipt.metadata();
    assert_eq!(metadata.get("sandbox"), Some(&Json::from("subprocess")));
    assert_eq!(metadata.get("structural"), Some(&Json::from(true)));
    assert_eq!(metadata.get("language"), Some(&Json::from("python")));
    assert!(metadata.get("runtime").and_then(Json::as_str).unwrap().starts_with("python3."));
    assert!(!metadata.get("isolation").and_then(Json::as_array).unwrap().is_empty());
    assert!(!metadata.contains("fault"));
}

#[test]
fn a_crash_is_the_submissions_fault() {
    let receipt = Place::new().receipt(&request("def f(x):\n    raise ValueError('no')\n"), &[]);
    assert_eq!(receipt.verdict(), Verdict::Fail);
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("submission")));
    let detail = &receipt.results().details[0];
    assert_eq!(detail.status, Status::Error);
    assert!(detail.message.as_deref().unwrap().contains("ValueError"), "{detail:?}");
}

#[test]
fn a_missing_runtime_is_an_error_of_the_verifier() {
    let place = Place::new();
    let text = request(RIGHT).replace(r#""language":"python""#, r#""language":"python","runtime":"python3.99""#);
    let done = place.run(&["verify", &place.file("r.json", text), "--json"]);
    assert_eq!(done.code, 2, "{done:?}");
    let receipt = Receipt::parse(done.stdout.trim().as_bytes()).unwrap();
    assert_eq!(receipt.verdict(), Verdict::Error);
    assert_eq!(receipt.metadata().get("fault"), Some(&Json::from("verifier")));
    assert!(receipt.results().details[0].message.as_deref().unwrap().contains("python3.99"));
}

#[test]
fn yaml_javascript_and_bash_are_verified_too() {
    let place = Place::new();
    assert_eq!(place.run(&["verify", &project_file("examples/fizzbuzz.yaml")]).code, 0);
    let median = place.run(&["verify", &project_file("examples/median.yaml")]);
    assert_eq!(median.code, 1, "{median:?}");
    assert!(median.stdout.starts_with("partial "), "{median:?}");
}

#[test]
fn a_submission_can_come_from_a_file_of_its_own() {
    let place = Place::new();
    let suite = request("").replace(r#""output":{"content":""},"#, "");
    let suite = place.file("suite.json", suite);
    let solution = place.file("solution.py", RIGHT);
    let done = place.run(&["verify", &suite, "--submission", &solution]);
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn receipts_can_be_unsigned_and_not_stored() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &["--unsigned", "--no-store"]);
    assert!(receipt.signature().is_none());
    assert!(!place.path("home").exists());
}

#[test]
fn what_is_printed_is_in_the_store_and_in_the_file_asked_for() {
    let place = Place::new();
    let out = place.path("receipts.jsonl");
    let receipt = place.receipt(&request(RIGHT), &["--out", out.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(out).unwrap().trim(), receipt.to_text());
    let id = receipt.receipt_id().to_string();
    let shown = place.run(&["receipt", "show", &id[..8], "--json"]);
    assert_eq!(shown.stdout.trim(), receipt.to_text(), "{shown:?}");
}

#[test]
fn an_isolation_level_that_is_demanded_is_in_force() {
    let place = Place::new();
    let survey = place.run(&["doctor", "--json"]);
    let survey = Json::parse(survey.stdout.as_bytes()).unwrap();
    for level in survey.as_object().unwrap().get("levels").and_then(Json::as_array).unwrap() {
        let level = level.as_object().unwrap();
        let name = level.get("level").and_then(Json::as_str).unwrap();
        let receipt = place.receipt(&request(RIGHT), &["--isolation", name]);
        match level.get("holds").and_then(Json::as_bool).unwrap() {
            true => {
                assert_eq!(receipt.verdict(), Verdict::Pass, "{}", receipt.to_text());
                let isolation = receipt.metadata().get("isolation").unwrap().to_text();
                assert!(isolation.contains(&format!("level:{name}")), "{isolation}");
            }
            false => assert_eq!(receipt.verdict(), Verdict::Error, "{}", receipt.to_text()),
        }
    }
}

#[test]
fn a_suite_whose_receipt_would_be_too_large_is_still_judged_whole() {
    let place = Place::new();
    let tests: Vec<String> = (0..2000)
        .map(|index| format!(r#"{{"name":"{index}","input":"'{index}' * 500","expected_output":"'{index}' * 500"}}"#))
        .collect();
    let text = format!(
        r#"{{"output":{{"content":"x = 1"}},"verification":{{"kind":"test_suite","language":"python","tests":[{}]}}}}"#,
        tests.join(",")
    );
    let receipt = place.receipt(&text, &[]);
    assert_eq!((receipt.verdict(), receipt.results().total), (Verdict::Pass, 2000));
}
