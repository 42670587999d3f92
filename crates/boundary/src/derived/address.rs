//! The addresses that an action names, as facts.

use std::collections::BTreeSet;

use proofmark_receipt::{Json, Object, object};
use proofmark_shell::Command;

/// The most addresses of an action. With more, its hosts are not known.
const MAX_ADDRESSES: usize = 1_000;
/// The longest address, in bytes. Of a longer one, the host is not certain.
const MAX_ADDRESS_BYTES: usize = 4_096;
/// How deep arguments are searched.
const MAX_DEPTH: usize = 64;
/// Schemes that programs read with fewer slashes, too.
const SPECIAL: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];

/// Schemes whose host is where a connection goes.
const CONNECTS: [&str; 24] = [
    "http",
    "https",
    "ws",
    "wss",
    "ftp",
    "ftps",
    "sftp",
    "ssh",
    "git",
    "rsync",
    "ldap",
    "ldaps",
    "smtp",
    "smtps",
    "imap",
    "imaps",
    "redis",
    "rediss",
    "postgres",
    "postgresql",
    "mysql",
    "mongodb",
    "amqp",
    "amqps",
];

/// An address in a text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    url: String,
    scheme: String,
    host: String,
    port: String,
    /// Whether programs agree on the host.
    certain: bool,
}

/// `urls`, where all were found, and `hosts`, where all of them are certain as well.
pub(super) fn addresses(action: &Object, commands: Option<&[Command]>) -> (Option<Vec<Json>>, Option<Vec<Json>>) {
    let mut found = BTreeSet::new();
    let mut is_complete = true;
    for name in ["args", "outer_args", "target"] {
        let Some(value) = action.get(name) else { continue };
        // The target follows from the arguments, and may be in a form of its own.
        is_complete &= search(value, 0, &mut found);
    }
    for word in commands.into_iter().flatten().flat_map(|command| &command.args) {
        is_complete &= addresses_in(word, &mut found);
    }
    let is_exact = commands.into_iter().flatten().all(|command| command.opaque.is_empty() && command.exact);
    let is_known = is_complete && is_exact && found.iter().all(|address| address.certain);
    let hosts: BTreeSet<&str> = found.iter().map(|address| address.host.as_str()).collect();
    let hosts = is_known.then(|| hosts.into_iter().map(Json::from).collect());
    let to_json = |address: &Address| {
        Json::from(object! {
            "url": address.url.as_str(),
            "scheme": address.scheme.as_str(),
            "host": address.host.as_str(),
            "port": address.port.as_str(),
            "certain": address.certain,
        })
    };
    (is_complete.then(|| found.iter().map(to_json).collect()), hosts)
}

/// Searches all texts of a value. Says whether all were searched.
fn search(value: &Json, depth: usize, found: &mut BTreeSet<Address>) -> bool {
    match value {
        _ if depth > MAX_DEPTH => false,
        Json::String(text) => addresses_in(text, found),
        Json::Array(items) => items.iter().all(|item| search(item, depth + 1, found)),
        Json::Object(object) => {
            object.iter().all(|(name, item)| addresses_in(name, found) && search(item, depth + 1, found))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
    }
}

fn addresses_in(text: &str, found: &mut BTreeSet<Address>) -> bool {
    for (at, _) in text.match_indices(':') {
        let before = text.get(..at).unwrap_or_default();
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let begin =
            before.char_indices().rev().take_while(|(_, c)| is_scheme(*c)).last().map_or(at, |(begin, _)| begin);
        let scheme = before.get(begin..).unwrap_or_default().to_ascii_lowercase();
        let after = first_bytes(text.get(at + 1..).unwrap_or_default());
        let is_special = SPECIAL.iter().any(|special| scheme.ends_with(special));
        let slashes = after.chars().take_while(|c| matches!(c, '/' | '\\')).count();
        // What programs drop may stand between.
        let is_split = is_special && after.starts_with(['\t', '\n', '\r']);
        let is_address = !scheme.is_empty() && (after.starts_with("//") || (is_special && (slashes > 0 || is_split)));
        // A whole text that begins so is read as an address, without any slash.
        let is_whole = is_special && begin == 0 && !after.is_empty() && !after.starts_with(' ');
        if is_address || is_whole {
            if found.len() >= MAX_ADDRESSES {
                return false;
            }
            found.insert(address(&scheme, after, slashes));
        }
    }
    // Programs that take the whole text for an address drop blanks around it, and line breaks within it. Without a scheme, a browser takes
    // that of the page.
    let whole: String = first_bytes(text)
        .trim_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    let begins_with_host = whole.chars().take(2).filter(|c| matches!(c, '/' | '\\')).count() == 2;
    let has_scheme = whole
        .split_once(':')
        .is_some_and(|(scheme, after)| SPECIAL.contains(&&*scheme.to_ascii_lowercase()) && !after.starts_with(' '));
    if begins_with_host || (has_scheme && whole != text) {
        if found.len() >= MAX_ADDRESSES {
            return false;
        }
        let after = whole.split_once(':').filter(|_| has_scheme).map_or(&*whole, |(_, after)| after);
        let slashes = after.chars().take_while(|c| matches!(c, '/' | '\\')).count();
        found.insert(Address { certain: false, ..address("", after, slashes) });
    }
    true
}

/// The beginning of a text, as far as an address may go.
fn first_bytes(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_ADDRESS_BYTES)).unwrap_or(text)
}

fn address(scheme: &str, after: &str, slashes: usize) -> Address {
    let rest = after.get(slashes..).unwrap_or_default();
    let ends = |c: char| matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`' | ' ' | '\\') || c.is_control();
    let authority = rest.split(ends).next().unwrap_or_default();
    let sign = rest.get(authority.len()..).and_then(|after| after.chars().next());
    let named = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match named.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (named, ""),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_v6 = host.starts_with('[') && host.ends_with(']');
    let last = host.rsplit('.').next().unwrap_or_default();
    // A number is an address in some other form, unless it is four of them.
    let is_number = last.starts_with(|c: char| c.is_ascii_digit());
    let is_v4 = is_address(&host);
    let is_plain = is_v6 || (host.chars().all(is_name) && (!is_number || is_v4));
    let certain = after.len() < MAX_ADDRESS_BYTES
        && slashes == 2
        && after.starts_with("//")
        && !host.is_empty()
        && is_plain
        && !authority.contains('@')
        && port.chars().all(|c| c.is_ascii_digit())
        && ends_host(sign, rest.get(authority.len()..).unwrap_or_default())
        && CONNECTS.contains(&scheme);
    let url = rest.split(|c: char| matches!(c, '"' | '\'' | '<' | '>' | '`' | ' ') || c.is_control()).next();
    Address {
        url: format!("{scheme}://{}", url.unwrap_or_default()),
        scheme: scheme.to_owned(),
        host,
        port: port.to_owned(),
        certain,
    }
}

/// Whether it is an IPv4 address in the form that all programs read alike.
fn is_address(host: &str) -> bool {
    let is_byte = |part: &str| {
        let is_plain = part == "0" || !part.starts_with('0');
        is_plain && part.chars().all(|c| c.is_ascii_digit()) && part.parse::<u8>().is_ok()
    };
    host.split('.').count() == 4 && host.split('.').all(is_byte)
}

/// Whether all programs end a host at this sign. Behind a sign that an address should not have, some go on up to an `@`.
fn ends_host(sign: Option<char>, rest: &str) -> bool {
    match sign {
        None | Some('/' | '?' | '#') => true,
        Some(' ' | '"' | '\'' | '<' | '>' | '`') => !rest.contains('@'),
        Some(_) => false,
    }
}
