//! The commands of a shell text as facts.

use proofmark_receipt::{Json, Object, object};
use proofmark_shell::Command;

/// The name that hosts' tools have in common that run a command.
const SHELL: &str = "shell";

/// The commands of an action's shell text: `args.command` of a host's shell, which is what the host runs, or else `action.command`, which a
/// policy takes from an argument. `None` for an action without one.
pub(super) fn commands(action: &Object) -> Option<Vec<Command>> {
    let text = |name| action.get(name).and_then(Json::as_str);
    let is_shell = text("surface") == Some("host") && text("tool") == Some(SHELL);
    let own = action.get("args").and_then(Json::as_object).and_then(|args| args.get("command"));
    let command = own.filter(|_| is_shell).or(action.get("command"));
    let cwd = text("cwd").filter(|cwd| cwd.starts_with('/'));
    match command {
        Some(Json::String(command)) => Some(proofmark_shell::read(command, cwd)),
        // A program and its arguments, one by one.
        Some(Json::Array(words)) => {
            let words: Option<Vec<&str>> = words.iter().map(Json::as_str).collect();
            Some(words.map_or_else(proofmark_shell::unreadable, |words| proofmark_shell::read_words(&words, cwd)))
        }
        Some(_) => Some(proofmark_shell::unreadable()),
        // Of a shell, a text that is missing is not known.
        None => is_shell.then(proofmark_shell::unreadable),
    }
}

/// A command as predicates see it.
pub(super) fn to_json(command: &Command) -> Json {
    let texts = |texts: &[String]| texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>();
    let assignments = command
        .assignments
        .iter()
        .map(|(name, value)| Json::from(object! { "name": name.as_str(), "value"?: value.as_deref() }));
    let paths = command.paths.iter().map(|path| {
        Json::from(object! {
            "path": path.path.as_str(),
            "certain": path.certain,
            "pattern": path.pattern,
            "writes": path.writes,
        })
    });
    Json::from(object! {
        "program"?: command.program.as_deref(),
        "args": texts(&command.args),
        "exact": command.exact,
        "subcommand"?: command.subcommand.as_deref(),
        "script"?: command.script.as_deref(),
        "assignments": assignments.collect::<Vec<_>>(),
        "paths": paths.collect::<Vec<_>>(),
        "opaque": !command.opaque.is_empty(),
        "because": command.opaque.iter().map(|cause| Json::from(cause.as_str())).collect::<Vec<_>>(),
    })
}
