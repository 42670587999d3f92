//! Servers in the configurations of hosts, put under guard and taken out again.

use std::process::Command;

use crate::{BINARY, Place, said};

#[test]
fn a_host_configuration_is_wrapped_and_unwrapped_exactly() {
    // The URL of a database with its password is not written to a configuration.
    let place = Place::in_file();
    let before = "{ \"mcpServers\": {\n  \"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\"], \"env\": {\"A\": \"b\"}},\n  \
                  \"remote\": {\"url\": \"https://example.org/mcp\"} }, \"other\": 1.50 }\n";
    std::fs::write(place.at("mcp.json"), before).unwrap();
    let now = || std::fs::read_to_string(place.at("mcp.json")).unwrap();
    let wrap = ["guard", "wrap", "mcp.json", "--policy", "policy.yaml"];
    let shown = place.proofmark(&[&wrap[..], &["--dry-run", "--json"]].concat());
    assert!(shown.status.success() && now() == before, "{}", said(&shown));
    let change = proofmark_receipt::Json::parse(shown.stdout.trim_ascii()).unwrap();
    let change = change.as_object().unwrap();
    assert_eq!(change.get("server").unwrap().as_str(), Some("files"));
    assert_eq!(change.get("before").unwrap().to_text(), r#"["npx","-y","x"]"#);
    assert!(change.get("after").unwrap().to_text().ends_with(r#","--","npx","-y","x"]"#), "{}", said(&shown));
    assert!(place.proofmark(&wrap).status.success());
    assert!(now().contains(r#""--name", "files", "--", "npx", "-y", "x"]"#), "{}", now());
    assert!(now().contains("\"other\": 1.50"), "{}", now());
    // What is guarded already is left alone.
    let wrapped = now();
    assert!(place.proofmark(&wrap).status.success() && now() == wrapped);
    assert!(place.proofmark(&["guard", "unwrap", "mcp.json"]).status.success());
    assert_eq!(now(), before);
    let given = place.proofmark(&["guard", "wrap", "mcp.json", "--policy", "-"]);
    assert!(given.status.code() == Some(2) && said(&given).contains("help: name a file"), "{}", said(&given));
    assert_eq!(now(), before);
    for unknown in ["// comment\n{}", "[]", "{}", r#"{"mcpServers": {"x": {"command": ["a"]}}}"#] {
        std::fs::write(place.at("mcp.json"), unknown).unwrap();
        let refused = place.proofmark(&wrap);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert_eq!(now(), unknown);
    }
}

#[test]
fn a_wrapped_configuration_keeps_every_byte_that_is_not_about_the_guard() {
    let place = Place::new();
    let before = "// my servers\n{\n\t\"z\" : [ 1,2 ],   \"mcpServers\" : {\n\t\t\"files\": { \"args\": [\"-y\", \"x\"], \
                  /* pinned */ \"command\":\"npx\",\t\"env\" :{\"A\":\"b\"} },\n\n\t\t\"plain\": {\"command\": \"p\"} // last\n\t},\n\t\"a\": 1.50\n}";
    let file = place.at("mcp.json");
    std::fs::write(&file, before).unwrap();
    let now = || std::fs::read_to_string(&file).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(place.folder.path()).envs(place.home.variables());
        command.env_remove("PROOFMARK_HOME").env_remove("PROOFMARK_STORE").env_remove("XDG_DATA_HOME");
        let done = command.env("HOME", place.at("user")).output().unwrap();
        assert!(done.status.success(), "{}", said(&done));
    };
    run(&["guard", "wrap", "mcp.json", "--policy", "policy.yaml"]);
    // Without the guards themselves, it is what it was.
    let binary = std::fs::canonicalize(BINARY).unwrap().display().to_string();
    let policy = std::path::absolute(place.at("policy.yaml")).unwrap().display().to_string();
    let guard = |name: &str| format!("\"guard\", \"--policy\", \"{policy}\", \"--name\", \"{name}\", \"--\", ");
    let files =
        now().replace(&format!("{}\"npx\", ", guard("files")), "").replacen(&format!("\"{binary}\""), "\"npx\"", 1);
    let plain = format!("\"{binary}\",\n\t\t\t\"args\": [{}\"p\"]", guard("plain"));
    assert_eq!(files.replace(&plain, "\"p\""), before, "{}", now());
    // What changes meanwhile stays, when the servers are taken out of guard again.
    let changed = now().replace("1.50", "2.50").replace("/* pinned */", "/* mine */");
    std::fs::write(&file, changed).unwrap();
    run(&["guard", "unwrap", "mcp.json"]);
    assert_eq!(now(), before.replace("1.50", "2.50").replace("/* pinned */", "/* mine */"));
}

#[test]
fn every_command_of_a_file_is_guarded_or_named() {
    let place = Place::in_file();
    let before = r#"{
  "mcpServers": {"files": {"command": "npx"}},
  "projects": {"/work": {"mcpServers": {"files": {"command": "other"}, "web": {"url": "https://example.org"}}}},
  "mcp": {"servers": {"db": {"command": "db", "args": ["-v"]}}},
  "redis": {"servers": {"one": {"port": 1}}}
}
"#;
    let write = |text: &str| std::fs::write(place.at("mcp.json"), text).unwrap();
    let now = || std::fs::read_to_string(place.at("mcp.json")).unwrap();
    let wrap = ["guard", "wrap", "mcp.json", "--policy", "policy.yaml"];
    write(before);
    let wrapped = place.proofmark(&wrap);
    assert!(wrapped.status.success(), "{}", said(&wrapped));
    for end in [r#""files", "--", "npx"]"#, r#""files", "--", "other"]"#, r#""db", "--", "db", "-v"]"#] {
        let lines: String = now().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        assert!(lines.contains(end), "{end} in {lines}");
    }
    // Nothing is left in the project that `unwrap` would believe.
    let files: Vec<_> = std::fs::read_dir(place.at("")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!files.iter().any(|name| name.to_string_lossy().contains("unguarded")), "{files:?}");
    assert!(place.proofmark(&["guard", "unwrap", "mcp.json"]).status.success());
    assert_eq!(now(), before);
    for (hidden, name) in [
        (r#"{"mcpservers": {"x": {"command": "a"}}, "mcpServers": {}}"#, "mcpservers x"),
        (r#"{"mcpServers": {"x": {"Command": "a"}}}"#, "mcpServers x"),
        (r#"{"mcpServers": {"x": {"command": "a", "COMMAND": "b"}}}"#, "mcpServers x"),
        (r#"{"mcpServers": {}, "other": [{"command": "a"}]}"#, "other 0"),
    ] {
        write(hidden);
        let named = place.proofmark(&wrap);
        let told = format!("{name} has a command, and is not guarded");
        assert!(named.status.code() == Some(1) && said(&named).contains(&told), "{hidden}: {}", said(&named));
        assert_eq!(now(), hidden);
    }
}

#[test]
fn a_wrapped_server_gets_every_option_of_its_guard() {
    let place = Place::in_file();
    std::fs::write(place.at("mcp.json"), r#"{"mcpServers": {"files": {"command": "npx"}}}"#).unwrap();
    let now = || std::fs::read_to_string(place.at("mcp.json")).unwrap();
    let wrap = ["guard", "wrap", "mcp.json", "--policy", "policy.yaml"];
    let run = |options: &[&str]| place.proofmark(&[&wrap[..], options].concat());
    assert!(run(&[]).status.success());
    // Once more with other options changes them.
    assert!(run(&["--", "--agent", "coder", "--session", "s", "--wait", "5m", "--hide"]).status.success());
    let words: String = now().split_whitespace().collect();
    assert!(words.contains(r#""--agent","coder","--session","s","--wait","5m","--hide","--","npx"]"#), "{words}");
    assert_eq!(words.matches("--policy").count(), 1, "{words}");
    let before = now();
    for wrong in [&["--", "--agnet", "x"][..], &["--", "--wait", "5"], &["--", "--policy", "other.yaml"]] {
        let refused = run(wrong);
        assert!(refused.status.code() == Some(2) && now() == before, "{wrong:?}: {}", said(&refused));
    }
}
