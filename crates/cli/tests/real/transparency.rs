//! Real servers, under real clients, with a guard that allows everything and without one.

use std::path::PathBuf;
use std::process::Command;

use proofmark_receipt::{Json, Object, object};

use proofmark_testing::OPEN_POLICY;

use crate::place::{NODE, Place, messages, said, script, words};

const SERVERS: &str = "@modelcontextprotocol";
const SDK: &str = "@modelcontextprotocol/sdk";
const INSPECTOR: &str = "@modelcontextprotocol/inspector";

/// A server, and what is done with it.
struct Server {
    name: &'static str,
    command: Vec<String>,
    steps: &'static str,
}

const EVERYTHING: &str = r#"[["lists", 4], ["ping"], ["call", "echo", {"message": "ä\u2028 \ud83d\ude00 1.0"}],
    ["call", "get-sum", {"a": 1.5, "b": 2}], ["call", "get-structured-content", {"location": "Chicago"}],
    ["call", "get-tiny-image", {}], ["call", "get-resource-links", {"count": 2}],
    ["call", "get-annotated-message", {"messageType": "error"}],
    ["call", "trigger-long-running-operation", {"duration": 0.2, "steps": 4}],
    ["call", "trigger-sampling-request", {"prompt": "two and two", "maxTokens": 5}],
    ["call", "trigger-elicitation-request", {}], ["call", "get-roots-list", {}],
    ["read", "demo://resource/static/document/architecture.md"], ["subscribe", "demo://resource/dynamic/text/1"],
    ["read", "demo://nothing"], ["prompt", "simple-prompt", {}], ["prompt", "args-prompt", {"city": "Ulm"}],
    ["complete", "completable-prompt", {"name": "department", "value": "E"}]]"#;

fn node_servers(modules: &std::path::Path, place: &Place, run: &str) -> Vec<Server> {
    let server = |name: &str| modules.join(SERVERS).join(name).join("dist/index.js").display().to_string();
    let memory = format!("MEMORY_FILE_PATH={}", place.path(&format!("{run}-memory.json")));
    vec![
        Server { name: "everything", command: words(&["node", &server("server-everything")]), steps: EVERYTHING },
        Server {
            name: "filesystem",
            command: words(&["node", &server("server-filesystem"), &place.path("files")]),
            steps: r#"[["lists", 1], ["call", "write_file", {"path": "FILES/a.txt", "content": "one\ntwo\n"}],
                ["call", "read_text_file", {"path": "FILES/a.txt"}], ["call", "list_directory", {"path": "FILES"}],
                ["call", "edit_file", {"path": "FILES/a.txt", "edits": [{"oldText": "one", "newText": "three"}]}],
                ["call", "read_text_file", {"path": "/etc/passwd"}], ["call", "list_allowed_directories", {}]]"#,
        },
        Server {
            name: "memory",
            command: words(&["env", &memory, "node", &server("server-memory")]),
            steps: r#"[["lists", 3], ["call", "create_entities", {"entities": [{"name": "Ada", "entityType": "person",
                "observations": ["wrote programs"]}]}], ["call", "search_nodes", {"query": "Ada"}], ["call", "read_graph", {}],
                ["read", "memory://knowledge-graph"]]"#,
        },
        Server {
            name: "thinking",
            command: words(&["node", &server("server-sequential-thinking")]),
            steps: r#"[["lists", 1], ["call", "sequentialthinking", {"thought": "first", "nextThoughtNeeded": false,
                "thoughtNumber": 1, "totalThoughts": 1}]]"#,
        },
    ]
}

fn python_servers(python: &std::path::Path) -> Vec<Server> {
    let server = |module: &str| vec![python.display().to_string(), "-m".to_owned(), module.to_owned()];
    vec![
        Server {
            name: "git",
            command: server("mcp_server_git"),
            steps: r#"[["lists", 4], ["call", "git_status", {"repo_path": "FILES"}], ["call", "git_log", {"repo_path": "FILES"}],
                ["call", "git_show", {"repo_path": "FILES", "revision": "none"}]]"#,
        },
        Server {
            name: "time",
            command: server("mcp_server_time"),
            steps: r#"[["lists", 1], ["call", "convert_time", {"source_timezone": "Europe/Berlin", "time": "12:00",
                "target_timezone": "Asia/Tokyo"}], ["call", "get_current_time", {"timezone": "nowhere"}]]"#,
        },
        Server {
            name: "fetch",
            command: server("mcp_server_fetch"),
            steps: r#"[["lists", 4], ["call", "fetch", {"url": "http://127.0.0.1:9/nothing"}],
                ["prompt", "fetch", {"url": "http://127.0.0.1:9/nothing"}]]"#,
        },
    ]
}

/// What the client prints of all servers, one after the other: without a guard, or with relays on both sides of one.
fn printed(place: &Place, client: &[String], servers: &[Server], guarded: bool) -> Json {
    let run = if guarded { "guarded" } else { "direct" };
    let relay = |side: &str, name: &str, command: &[String]| {
        let relay = words(&["python3", &script("relay.py"), &place.path(&format!("{side}-{name}"))]);
        [relay, command.to_vec()].concat()
    };
    let sessions = servers.iter().map(|server| {
        let command = match guarded {
            true => {
                relay("outer", server.name, &place.guard(server.name, &relay("inner", server.name, &server.command)))
            }
            false => server.command.clone(),
        };
        let command: Vec<_> = command.into_iter().map(Json::from).collect();
        let steps = server.steps.replace("FILES", &place.path("files"));
        format!(r#"{{"command": {}, "steps": {steps}}}"#, Json::from(command).to_text())
    });
    let sessions: Vec<String> = sessions.collect();
    let file = format!("{run}.json");
    std::fs::write(place.at(&file), format!("[{}]", sessions.join(","))).unwrap();
    let (program, arguments) = client.split_first().unwrap();
    let output = place.command(program).args(arguments).arg(place.at(&file)).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    Json::parse(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
}

/// A folder of files under version control.
fn files(place: &Place) {
    std::fs::create_dir(place.at("files")).unwrap();
    let commit =
        ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--allow-empty", "-m", "first"];
    for arguments in [&["init", "--quiet"][..], &commit] {
        let done = Command::new("git").args(arguments).current_dir(place.at("files")).output().unwrap();
        assert!(done.status.success(), "{}", said(&done));
    }
}

/// What both sides of each guard saw is the same: what the client was told in the same order.
fn assert_nothing_changed(place: &Place, servers: &[Server]) {
    for server in servers {
        let seen = |side: &str, to: &str| messages(&place.read(&format!("{side}-{}.{to}", server.name)));
        let (said, got) = (seen("inner", "client"), seen("outer", "client"));
        assert_eq!(said, got, "{}", server.name);
        assert!(got.len() > 1, "{} said nothing", server.name);
        let (mut said, mut got) = (seen("outer", "server"), seen("inner", "server"));
        // A call may wait until the guard knows the server's list, and other messages may pass it.
        said.sort();
        got.sort();
        assert_eq!(said, got, "{}", server.name);
    }
}

fn compare(client: &[String], servers: impl Fn(&Place, &str) -> Vec<Server>) {
    let place = Place::with(OPEN_POLICY);
    files(&place);
    let direct = printed(&place, client, &servers(&place, "direct"), false);
    let guarded = servers(&place, "guarded");
    let told = printed(&place, client, &guarded, true);
    for ((direct, told), server) in direct.as_array().unwrap().iter().zip(told.as_array().unwrap()).zip(&guarded) {
        for (direct, told) in direct.as_array().unwrap().iter().zip(told.as_array().unwrap()) {
            assert_eq!(direct.to_text(), told.to_text(), "{}", server.name);
        }
    }
    assert_eq!(direct, told);
    assert_nothing_changed(&place, &guarded);
}

fn python() -> Option<PathBuf> {
    ["mcp.client.client", "mcp_server_git", "mcp_server_time", "mcp_server_fetch"]
        .iter()
        .try_fold(PathBuf::new(), |_, module| proofmark_testing::python_with(module, module))
}

fn modules(more: &[&str]) -> Option<PathBuf> {
    let servers = ["everything", "filesystem", "memory", "sequential-thinking"];
    let servers: Vec<_> = servers.iter().map(|name| format!("{SERVERS}/server-{name}")).collect();
    let packages: Vec<&str> = servers.iter().map(String::as_str).chain(more.iter().copied()).collect();
    proofmark_testing::node_modules_with(&packages)
}

#[test]
fn python_servers_are_the_same_under_the_python_client() {
    let Some(python) = python() else { return };
    let client = [python.display().to_string(), script("client.py")];
    compare(&client, |_, _| python_servers(&python));
}

#[test]
fn node_servers_are_the_same_under_the_python_client() {
    let (Some(python), Some(modules)) = (python(), modules(&[])) else { return };
    let client = [python.display().to_string(), script("client.py")];
    compare(&client, |place, run| node_servers(&modules, place, run));
}

#[test]
fn node_servers_are_the_same_under_the_typescript_client() {
    let Some(modules) = modules(&[SDK]) else { return };
    let client = words(&["node", &script("client.mjs"), &modules.display().to_string()]);
    compare(&client, |place, run| node_servers(&modules, place, run));
}

#[test]
fn the_inspector_sees_the_same_server() {
    let Some(modules) = modules(&[INSPECTOR, NODE]) else { return };
    let place = Place::with(OPEN_POLICY);
    let server = modules.join(SERVERS).join("server-everything/dist/index.js").display().to_string();
    let server = words(&["node", &server]);
    let entry = |command: &[String]| {
        let (program, arguments) = command.split_first().unwrap();
        let arguments: Vec<_> = arguments.iter().cloned().map(Json::from).collect();
        let mut env = Object::new();
        for (name, value) in place.home.variables() {
            env.insert(name, value.into_string().unwrap());
        }
        object! { "command": program.as_str(), "args": arguments, "env": env }
    };
    let servers = object! { "direct": entry(&server), "guarded": entry(&place.guard("inspected", &server)) };
    std::fs::write(place.at("servers.json"), Json::from(object! { "mcpServers": servers }).to_text()).unwrap();
    let calls: [&[&str]; 3] = [
        &["tools/list"],
        &["tools/call", "--tool-name", "get-sum", "--tool-arg", "a=1", "--tool-arg", "b=2"],
        &["resources/list"],
    ];
    for call in calls {
        let ask = |server: &str| {
            let launcher = modules.join(INSPECTOR).join("clients/launcher/build/index.js");
            let mut inspector = place.command(modules.join(NODE).join("bin/node"));
            inspector
                .arg(launcher)
                .args([
                    "--cli",
                    "--connect-timeout",
                    "120000",
                    "--config",
                    "servers.json",
                    "--server",
                    server,
                    "--method",
                ])
                .args(call);
            let output = inspector.output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            Json::parse(&output.stdout).unwrap()
        };
        assert_eq!(ask("direct"), ask("guarded"));
    }
}
