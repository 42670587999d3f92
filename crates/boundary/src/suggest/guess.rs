//! What a tool does, as far as its name, its definition and its calls say so.

use proofmark_receipt::{Json, Object, object};
use proofmark_session::name_on_server;

use super::Group;
use super::arguments::{Place, places_of};
use super::yaml::Commented;
use crate::policy::UNCLASSED;

/// Words in the names of tools, with the class that they suggest. The first row of which the name has a word counts.
const WORDS: [(&str, &[&str]); 8] = [
    ("webhook_call", &["webhook"]),
    ("upload", &["upload"]),
    ("external_message_send", &["send", "email", "mail", "message", "post", "publish", "notify", "reply", "tweet"]),
    ("browser_submit", &["submit", "click", "fill", "type"]),
    (
        "system_change",
        &["execute", "exec", "run", "eval", "shell", "bash", "command", "install", "deploy", "start", "stop"],
    ),
    ("memory_write", &["remember", "memorize", "memory"]),
    (
        "record_mutation",
        &[
            "write", "update", "create", "set", "edit", "patch", "add", "insert", "append", "delete", "remove", "move",
            "rename", "save", "put", "replace", "merge", "close", "assign",
        ],
    ),
    (
        READS,
        &[
            "read", "get", "list", "search", "find", "query", "fetch", "show", "describe", "view", "count", "status",
            "stat", "info", "lookup", "browse", "glob", "grep", "ls", "cat", "head", "tail", "tree", "diff", "log",
        ],
    ),
];
/// The class of what only reads.
pub(super) const READS: &str = "generic";

/// Names of arguments that say what a call is about, to whom something goes, and how much.
const TARGETS: [&str; 14] = [
    "path",
    "file_path",
    "filepath",
    "file",
    "filename",
    "uri",
    "url",
    "target",
    "id",
    "name",
    "key",
    "table",
    "repo",
    "directory",
];
const RECIPIENTS: [&str; 6] = ["to", "recipient", "recipients", "email", "channel", "address"];
const AMOUNTS: [&str; 3] = ["amount", "total", "price"];

/// What is known or guessed of a tool.
pub(super) struct Guessed {
    pub(super) class: String,
    /// Whether the policy is to say that it only reads.
    pub(super) reads: bool,
    pub(super) target: Option<Place>,
    pub(super) recipient: Option<Place>,
    pub(super) amount: Option<Place>,
    /// Its entry in `tools`; none for a name that no glob can name.
    pub(super) entry: Option<Commented>,
}

/// Whether a glob names exactly this text.
pub(super) fn is_plain(text: &str) -> bool {
    const MAX_GLOB: usize = 256;
    !text.is_empty() && text.len() <= MAX_GLOB && !text.contains(['*', '?'])
}

pub(super) fn of(group: &Group<'_>) -> Guessed {
    let said_to_change = group.calls.iter().any(|call| call.said_to_change);
    let recorded = group.calls.iter().find_map(|call| call.action.get("class")?.as_str());
    let is_of_host = group.calls.iter().any(|call| call.action.get("surface").and_then(Json::as_str) == Some("host"));
    // A class other than this one was chosen by somebody; a host's tools are known.
    let chosen = recorded.filter(|class| is_of_host || *class != UNCLASSED).map(str::to_owned);
    let (class, source) = match &chosen {
        Some(class) => (class.clone(), "the class is the one in force"),
        None => (by_name(group.tool, said_to_change).to_owned(), "the class is guessed from the name"),
    };
    let reads = chosen.is_none() && class == READS;
    // The policy sees no target in an argument that no entry names.
    let has_entry = is_plain(group.tool) && group.fact("server").is_none_or(is_plain);
    let place = |fact: &str, names: &[&str], fits: &dyn Fn(&Json) -> bool| {
        has_entry.then(|| place(group, fact, names, fits)).flatten()
    };
    let target = place("target", &TARGETS, &|value| value.as_str().is_some());
    let recipient = place("recipient", &RECIPIENTS, &|value| value.as_str().is_some() || value.as_array().is_some());
    let amount = place("amount", &AMOUNTS, &|value| value.as_number().is_some());
    let mut guessed = Guessed { class, reads, target, recipient, amount, entry: None };
    if has_entry {
        let comment = format!("{}: {}; {source}.", proofmark_receipt::document::shown(group.tool), group.seen());
        guessed.entry = Some(Commented { comments: vec![comment], item: guessed.item(group) });
    }
    guessed
}

impl Guessed {
    fn item(&self, group: &Group<'_>) -> Object {
        let path = |place: &Option<Place>| place.as_ref().map(|place| place.join("."));
        object! {
            "tool": group.tool,
            "server"?: group.fact("server"),
            "class": self.class.as_str(),
            "reads"?: self.reads.then_some(true),
            "target"?: path(&self.target),
            "recipient"?: path(&self.recipient),
            "amount"?: path(&self.amount),
        }
    }
}

pub(super) fn by_name(tool: &str, said_to_change: bool) -> &'static str {
    let mut words = String::new();
    for c in tool.chars() {
        // `writeFile` is two words.
        if c.is_uppercase() && !words.ends_with(|last: char| last.is_uppercase()) {
            words.push(' ');
        }
        words.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let words = words.to_lowercase();
    let has = |list: &[&str]| words.split(' ').any(|word| list.contains(&word));
    match WORDS.iter().find(|(_, list)| has(list)) {
        // The server's own word on its tool can only make the class stricter.
        Some((READS, _)) if said_to_change => UNCLASSED,
        Some((class, _)) => class,
        None => UNCLASSED,
    }
}

/// The argument that is the target, recipient or amount: the one that the policy in force named, or one with a usual name.
fn place(group: &Group<'_>, fact: &str, names: &[&str], fits: &dyn Fn(&Json) -> bool) -> Option<Place> {
    // Of other requests the protocol says what they are about.
    let is_other = |action: &Object| action.get("method").is_some_and(|method| method.as_str() != Some("tools/call"));
    if fact == "target" && group.calls.iter().any(|call| is_other(&call.action)) {
        return None;
    }
    if group.calls.iter().any(|call| call.action.contains(fact)) {
        return places_of(group, "args", &|action| action.get(fact).cloned()).into_iter().min_by_key(Vec::len);
    }
    let args = || group.calls.iter().filter_map(|call| call.action.get("args")?.as_object());
    let usual = names.iter().find(|name| {
        let mut values = args().filter_map(|args| args.get(name)).peekable();
        values.peek().is_some() && values.all(fits)
    });
    usual.map(|name| vec![(*name).to_owned()])
}

/// The entry of the tool that called this one, if its calls show where it has the name and the arguments.
pub(super) fn dispatcher(group: &Group<'_>) -> Option<Commented> {
    let via = group.fact("via").filter(|via| is_plain(via) && group.fact("server").is_none_or(is_plain))?;
    let shortest = |places: Vec<Place>| places.into_iter().min_by_key(Vec::len).map(|place| place.join("."));
    // There stands what the server calls it.
    let on_server = |action: &Object| {
        let tool = action.get("tool").and_then(Json::as_str)?;
        Some(Json::from(name_on_server(group.fact("server"), tool)))
    };
    let tool = shortest(places_of(group, "outer_args", &on_server))?;
    let args = shortest(places_of(group, "outer_args", &|action| action.get("args").cloned()));
    let item = object! {
        "tool": via,
        "server"?: group.fact("server"),
        "class": UNCLASSED,
        "dispatches": object! { "tool": tool, "args"?: args },
    };
    let comment = format!("{}: it calls other tools, which are decided on.", proofmark_receipt::document::shown(via));
    Some(Commented { comments: vec![comment], item })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_tools_do() {
        for (tool, class) in [
            ("read_file", "generic"),
            ("listNotes", "generic"),
            ("writeFile", "record_mutation"),
            ("get_and_delete", "record_mutation"),
            ("send_email", "external_message_send"),
            ("run_query", "system_change"),
            ("READ", "generic"),
            ("frobnicate", "system_change"),
        ] {
            assert_eq!(by_name(tool, false), class, "{tool}");
        }
        assert_eq!(by_name("read_file", true), "system_change");
        assert_eq!(by_name("write_file", true), "record_mutation");
    }
}
