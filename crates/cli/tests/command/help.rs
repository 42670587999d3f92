use crate::run::Place;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["verify"],
    &["accept"],
    &["approve"],
    &["decide"],
    &["serve"],
    &["mcp"],
    &["mcp", "config"],
    &["api-key"],
    &["findings"],
    &["policy", "coverage"],
    &["policy", "explain"],
    &["policy", "test"],
    &["lint"],
    &["test"],
    &["runs", "list"],
    &["runs", "show"],
    &["receipt", "verify"],
    &["receipt", "show"],
    &["receipt", "list"],
    &["receipt", "export"],
    &["acp", "evaluate"],
    &["x402", "encode"],
    &["x402", "decode"],
    &["key", "new"],
    &["key", "show"],
    &["key", "import"],
    &["key", "list"],
    &["doctor"],
    &["completions"],
];

#[test]
fn every_command_shows_an_example() {
    let place = Place::new();
    for command in COMMANDS {
        let done = place.run(&[command, &["--help"][..]].concat());
        assert_eq!(done.code, 0, "{command:?}");
        assert!(done.stdout.contains("Example"), "{command:?}: {}", done.stdout);
        assert!(done.stdout.contains("  proofmark "), "{command:?}: {}", done.stdout);
    }
}

#[test]
fn completions_are_written_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let done = place.run(&["completions", shell]);
        assert!(done.code == 0 && done.stdout.contains("proofmark"), "{shell}");
    }
}

#[test]
fn the_doctor_names_levels_and_runtimes() {
    let place = Place::new();
    let done = place.run(&["doctor"]);
    assert!(done.stdout.contains("level A") && done.stdout.contains("python"), "{done:?}");
    let json = place.run(&["doctor", "--json"]);
    assert!(json.stdout.starts_with("{\"levels\":["), "{json:?}");
    assert!(done.stdout.contains("  memory   ") && done.stdout.contains("control groups"), "{done:?}");
    let counted = ["{\"counted_by\":\"control-groups\",\"folder\":", "{\"counted_by\":\"sum\",\"lacking\":"];
    assert!(counted.iter().any(|memory| json.stdout.contains(&format!("\"memory\":{memory}"))), "{json:?}");
}
