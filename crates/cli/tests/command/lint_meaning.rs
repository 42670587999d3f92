//! What lint finds by the meaning of rules: a folder of doubtful documents, and the examples, in which nothing is found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use proofmark_receipt::{Json, SigningKey};

use crate::run::{Place, project_file};

/// The codes that `lint` finds in each file of a folder, by the name of the file.
fn found(place: &Place, folder: &Path) -> BTreeMap<String, Vec<String>> {
    let done = place.run(&["lint", folder.to_str().unwrap(), "--json"]);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in done.stdout.lines() {
        let finding = Json::parse(line.as_bytes()).unwrap();
        let text = |name: &str| finding.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned();
        let file = Path::new(&text("file")).file_name().unwrap().to_str().unwrap().to_owned();
        found.entry(file).or_default().push(text("code"));
    }
    found
}

/// The first line of each file names what lint has to find in it.
#[test]
fn doubtful_policies_and_workflows_are_named() {
    let place = Place::new();
    let folder = project_file("crates/cli/tests/doubtful");
    let found = found(&place, Path::new(&folder));
    let mut missed = String::new();
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().next().and_then(|line| line.strip_prefix("# finds: ")).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !found.get(name).is_some_and(|codes| codes.iter().any(|other| other == code)) {
            writeln!(missed, "{name} lacks {code}: {:?}", found.get(name)).unwrap();
        }
        count += 1;
    }
    assert!(count >= 60 && missed.is_empty(), "{count}\n{missed}");
}

/// The blocks of the pages that are policies or workflows, and the examples. That nobody holds a role yet is what their
/// comments say.
#[test]
fn the_examples_have_no_findings() {
    let place = Place::new();
    let mut blocks = 0;
    let pages = fs::read_dir(project_file("docs")).unwrap().map(|entry| entry.unwrap().path());
    for page in pages.filter(|path| path.is_file()).chain([project_file("README.md").into()]) {
        let text = fs::read_to_string(&page).unwrap();
        for (index, block) in text.split("```yaml").skip(1).enumerate() {
            let (_, block) = block.split_once('\n').unwrap();
            let block = block.split("```").next().unwrap();
            let is_one = ["boundaries:", "steps:", "requirements:"].iter().any(|mark| block.contains(mark));
            // A workflow of GitHub has steps, too.
            let is_one = is_one && !block.contains("uses:");
            if is_one {
                let digest = format!("sha256:{}", "5".repeat(64));
                let name = page.file_stem().unwrap().to_str().unwrap();
                let reviewers =
                    [1, 2].map(|seed| format!("reviewer r{seed} {}\\n", SigningKey::from_seed([seed; 32]).signer()));
                let block = block
                    .replace("suite: suite.yaml", &format!("suite: '{digest}'"))
                    .replace("of: reviewers.txt", &format!("of: \"{}\"", reviewers.concat()));
                place.file(&format!("all/{name}{index}.yaml"), block);
                blocks += 1;
            }
        }
    }
    assert!(blocks >= 10, "{blocks}");
    let mut all = found(&place, &place.path("all"));
    for folder in ["accept", "agent", "decide", "guard", "hooks", "policies"] {
        all.extend(found(&place, Path::new(&project_file(&format!("examples/{folder}")))));
    }
    for codes in all.values_mut() {
        // The blocks are of pages that do not belong together, so an exemption is for none of their workflows.
        codes.retain(|code| code != "role-of-nobody" && code != "exemption-unused");
    }
    all.retain(|_, codes| !codes.is_empty());
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn a_warning_that_is_meant_is_named_in_the_policy() {
    let place = Place::new();
    let policy = |lint: &str| format!("version: 1\nboundaries:\n  - id: a\n    match: {{tool: a}}\n{lint}");
    let lint = |text: &str| {
        let file = place.file("policy.yaml", text);
        place.run(&["lint", &file, "--deny", "warnings"])
    };
    let bare = lint(&policy(""));
    assert!(bare.code == 1 && bare.stdout.contains("allow: [allows-everything]"), "{bare:?}");
    for accepted in ["    lint: {allow: [allows-everything]}\n", "lint: {allow: [allows-everything]}\n"] {
        let done = lint(&policy(accepted));
        assert_eq!(done.code, 0, "{done:?}");
    }
    let needless = lint(&policy("lint: {allow: [allows-everything, any-suite]}\n"));
    assert!(needless.code == 1 && needless.stdout.contains("needless-allow"), "{needless:?}");
    let wrong = lint(&policy("lint: {allow: [allow-everything]}\n"));
    assert!(wrong.code == 1 && wrong.stdout.contains("did you mean `allows-everything`?"), "{wrong:?}");
    let nobody = "lint: {allow: [role-of-nobody]}\n";
    let error = lint(&format!("{}{nobody}", policy("    require: [{approval: {role: owner}}]\n")));
    assert!(error.code == 1 && error.stdout.contains("error[role-of-nobody]"), "an error is never left out: {error:?}");
}

#[test]
fn an_approval_that_the_deciding_key_can_give_is_named() {
    let place = Place::new();
    let text = "version: 1\nboundaries:\n  - id: a\n    match: {tool: a}\n    require: [{approval: {role: owner}}]\n";
    let policy = place.file("policy.yaml", text);
    for key in ["default", "ann"] {
        assert_eq!(place.run(&["key", "new", key]).code, 0);
        let added = place.run(&["reviewer", "add", key, "--key", key, "--role", "owner", "--policy", &policy]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let codes = |more: &[&str]| {
        let done = place.run(&[&["lint", &policy], more].concat());
        (done.stdout.matches("decider-approves").count(), done.stdout.contains("`default` approves"), done.code)
    };
    assert_eq!(codes(&[]), (1, true, 0));
    assert_eq!(codes(&["--key", "ann"]), (1, false, 0));
    assert_eq!(codes(&["--key", "nobody"]).2, 2);
}

/// Each of its thousands of findings once held a copy of the only line.
#[test]
fn a_policy_of_one_long_line_needs_little_memory() {
    let place = Place::new();
    let rule = r#"{"fact":"action.args.n <= 5 && (action.args.a != 'x' || action.args.a != 'y')"}"#;
    let filler = "x".repeat(3_600);
    let boundary = |index: usize| {
        format!(
            r#"{{"id":"b{index}","match":{{"tool":"t{index}"}},"require":[{rule},{rule},{{"fact":"action.args.b != '{filler}'"}}]}}"#
        )
    };
    let boundaries: Vec<_> = (0..512).map(boundary).collect();
    let policy = place.file("policy.json", format!(r#"{{"version":1,"boundaries":[{}]}}"#, boundaries.join(",")));
    assert!(fs::metadata(&policy).unwrap().len() > 1_900_000);
    let script = "ulimit -v 1048576 && exec \"$0\" lint \"$1\" --json";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_proofmark"), &policy])
        .envs(place.home.variables())
        .output()
        .unwrap();
    let lines = output.stdout.split(|byte| *byte == b'\n').count();
    assert!(output.status.success() && lines > 1_500, "{lines} {:?}", String::from_utf8_lossy(&output.stderr));
}

/// A policy with misspelled fields must not pass over in silence.
#[test]
fn an_unknown_document_in_a_folder_is_no_success() {
    let place = Place::new();
    let good = "version: 1\nboundaries:\n  - id: a\n    match: {tool: a}\n    deny: [{when: action.args.x > 3, reason: {code: c, message: m}}]\n";
    place.file("policies/good.yaml", good);
    place.file("policies/trace.json", r#"[{"name": "a"}]"#);
    place.file("policies/request.json", r#"{"output": {"content": "x"}, "verification": {}}"#);
    let folder = place.path("policies");
    let lint = || place.run(&["lint", folder.to_str().unwrap()]);
    assert_eq!(lint().code, 0, "{:?}", lint());
    place.file("policies/bad.YAML", good.replace("boundaries", "boundarys").replace("version", "verzion"));
    let done = lint();
    assert!(done.code == 2 && done.stderr.contains("bad.YAML") && done.stdout.contains("1 file"), "{done:?}");
}
