//! The boundary that allows calls as those that were seen.

use std::collections::BTreeSet;

use proofmark_receipt::document::{counted, shown};
use proofmark_receipt::{Json, Object, object};

use super::arguments::{at, largest};
use super::guess::{Guessed, is_plain};
use super::yaml::Commented;
use super::{APART, Group, reason};

/// The most names and texts that a rule lists.
const MAX_LISTED: usize = 16;
/// Arguments whose text is executed: with another text, the call is another one.
const EXECUTED: [&str; 8] = ["cmd", "code", "command", "expression", "query", "script", "source", "sql"];
/// The longest of them, in bytes.
const MAX_LISTED_BYTES: usize = 200;
/// The longest list of them, in bytes of the predicate.
const MAX_LIST_BYTES: usize = 8 << 10;

/// The boundary of a group, and what it leaves open.
///
/// A fact that each action has, as `everywhere` lists, can be matched; of one that others lack, it would be unknown whether it
/// matches.
pub(super) fn boundary(
    group: &Group<'_>,
    guessed: &Guessed,
    id: String,
    everywhere: &[&str],
) -> (Commented, Vec<String>) {
    let mut rules = Rules { group, require: Vec::new(), open: Vec::new(), covered: BTreeSet::new() };
    rules.names();
    rules.target(guessed);
    rules.paths();
    rules.recipient(guessed);
    rules.amount(guessed);
    rules.others();
    let Rules { require, open, .. } = rules;
    let (matcher, when) = matched(group, everywhere);
    let (deny, comment) = taint(group, guessed);
    let item = object! {
        "id": id,
        "match": matcher,
        "when"?: when,
        "require": require,
        "deny"?: deny.map(|deny| vec![deny]),
    };
    let mut comments = vec![format!("{}: {}.", shown(group.tool), group.seen())];
    comments.extend(comment);
    comments.extend(open.iter().map(|open| format!("Left open: {open}.")));
    (Commented { comments, item }, open)
}

/// What actions it applies to: `match`, and `when` for what no glob can say.
fn matched(group: &Group<'_>, everywhere: &[&str]) -> (Object, Option<String>) {
    let mut matcher = Object::new();
    let mut conditions = Vec::new();
    let mut add = |key: Option<&'static str>, fact: &str, value: &str| match key.filter(|_| is_plain(value)) {
        Some(key) => drop(matcher.insert(key, value)),
        None => {
            let has = if everywhere.contains(&fact) { String::new() } else { format!("has(action.{fact}) && ") };
            conditions.push(format!("{has}action.{fact} == {}", literal(value)));
        }
    };
    add(Some("tool"), "tool", group.tool);
    for name in APART {
        let Some(value) = group.fact(name) else { continue };
        let is_matched = ["surface", "method"].contains(&name) && everywhere.contains(&name);
        add(is_matched.then_some(name), name, value);
    }
    // The same tool, called in another way, may do something else.
    if group.fact("via").is_none() {
        conditions.push("!has(action.via)".to_owned());
    }
    (matcher, (!conditions.is_empty()).then(|| conditions.join(" && ")))
}

/// Refuses the call once the session has read signs of steering, if it never happened after that.
fn taint(group: &Group<'_>, guessed: &Guessed) -> (Option<Json>, Option<String>) {
    let after = group.calls.iter().filter(|call| call.tainted).count() as u64;
    match (guessed.class.as_str(), after) {
        ("generic", _) => (None, None),
        (_, 0) => {
            let deny = object! {
                "when": "size(taint) > 0",
                "reason": reason("tainted_context", "The session has read a text with signs of steering."),
                "otherwise": "human_review",
            };
            (Some(deny.into()), None)
        }
        (_, after) => {
            let calls = counted(after, "call");
            (None, Some(format!("{calls} came after the session had read signs of steering: look at these.")))
        }
    }
}

/// A fact of the action that says what it is about.
#[derive(Clone, Copy)]
enum Fact {
    Text(&'static str),
    Texts(&'static str),
}

/// Why a rule stops a call.
#[derive(Clone, Copy)]
struct Reason {
    code: &'static str,
    message: &'static str,
}

struct Rules<'a, 'g> {
    group: &'a Group<'g>,
    require: Vec<Json>,
    open: Vec<String>,
    /// Arguments about which there is a rule, or a word on what is left open.
    covered: BTreeSet<String>,
}

impl Rules<'_, '_> {
    fn fact(&mut self, fact: String, why: Reason) {
        self.require.push(object! { "fact": fact, "reason": reason(why.code, why.message) }.into());
    }

    fn args(&self) -> impl Iterator<Item = &Object> {
        self.group.calls.iter().filter_map(|call| call.action.get("args")?.as_object())
    }

    /// No argument has a name that was not seen.
    fn names(&mut self) {
        let names: BTreeSet<&str> = self.args().flat_map(|args| args.iter().map(|(name, _)| name)).collect();
        let shape = Reason { code: "other_argument", message: "The call has an argument that the session never gave." };
        match only_names(&names) {
            Some(fact) => self.fact(fact, shape),
            None => self.open.push("arguments of any name".to_owned()),
        }
        if self.args().count() < self.group.calls.len() {
            // Where the arguments are not an object there is nothing to compare.
            self.require.clear();
            self.open.push("any arguments".to_owned());
        }
        if self.require.is_empty() {
            let without = Reason { code: "no_arguments", message: "The call has no arguments." };
            self.fact("has(action.args)".to_owned(), without);
        }
    }

    /// The targets that were seen, or the folder that all of them are in.
    fn target(&mut self, guessed: &Guessed) {
        let of_call = |call: &Object| match &guessed.target {
            Some(place) => call.get("args").and_then(|args| at(args, place)).map(text_of),
            // A target that the protocol or the host names is in the action alone.
            None if self.group.fact("method") != Some("tools/call") => call.get("target").map(text_of),
            None => None,
        };
        let targets: Vec<Option<String>> = self.group.calls.iter().map(|call| of_call(&call.action)).collect();
        self.covered.extend(guessed.target.iter().filter_map(|place| place.first().cloned()));
        let seen = targets.iter().flatten().map(String::as_str).collect();
        self.within(&seen, Fact::Text("target"), targets.iter().any(Option::is_none));
    }

    /// The paths that a host names, in the same way.
    fn paths(&mut self) {
        let of_call = |call: &Object| -> Option<Vec<String>> {
            call.get("paths")?.as_array()?.iter().map(|path| path.as_str().map(str::to_owned)).collect()
        };
        let paths: Vec<Option<Vec<String>>> = self.group.calls.iter().map(|call| of_call(&call.action)).collect();
        let seen = paths.iter().flatten().flatten().map(String::as_str).collect();
        self.within(&seen, Fact::Texts("paths"), paths.iter().any(Option::is_none));
    }

    /// Holds a fact to the texts that were seen, or to the folder that all of them are in.
    fn within(&mut self, seen: &BTreeSet<&str>, fact: Fact, is_optional: bool) {
        const REASON: Reason = Reason { code: "other_target", message: "The session never had this target." };
        if seen.is_empty() {
            return;
        }
        let (name, text) = match fact {
            Fact::Text(name) => (name, format!("action.{name}")),
            Fact::Texts(name) => (name, "each".to_owned()),
        };
        let or = if is_optional { format!("!has(action.{name}) || ") } else { String::new() };
        let whole = |test: String| match fact {
            Fact::Text(_) => format!("{or}{test}"),
            Fact::Texts(_) => format!("{or}action.{name}.all(each, {test})"),
        };
        if let Some(list) = listed(seen.iter().copied(), MAX_LISTED) {
            return self.fact(whole(format!("{text} in [{list}]")), REASON);
        }
        let folder = common_folder(seen).filter(|folder| folder.len() <= MAX_LISTED_BYTES);
        match folder.filter(|_| !seen.iter().any(|target| may_go_up(target))) {
            Some(folder) => {
                let begins = literal(folder);
                let stays = format!("!lower({text}).matches('[.][.]|%2e')");
                self.fact(whole(format!("({text}.startsWith({begins}) && {stays})")), REASON);
                let (number, folder) = (seen.len(), shown(folder));
                self.open.push(format!("any target below `{folder}` (the session had {number} different ones)"));
            }
            None => self.open.push(format!("any target (the session had {} different ones)", seen.len())),
        }
    }

    /// The recipients that were seen.
    fn recipient(&mut self, guessed: &Guessed) {
        const REASON: Reason =
            Reason { code: "other_recipient", message: "The session never sent anything to this recipient." };
        let Some(place) = &guessed.recipient else { return };
        self.covered.extend(place.first().cloned());
        let found: Vec<Option<&Json>> =
            self.group.calls.iter().map(|call| at(call.action.get("args")?, place)).collect();
        if found.iter().all(Option::is_none) {
            return;
        }
        let or = if found.iter().any(Option::is_none) { "!has(action.recipient) || " } else { "" };
        let texts: Option<BTreeSet<&str>> = found.iter().flatten().map(|value| value.as_str()).collect();
        let lists: Option<BTreeSet<&str>> = found
            .iter()
            .flatten()
            .map(|value| value.as_array()?.iter().map(Json::as_str).collect::<Option<Vec<_>>>())
            .collect::<Option<Vec<_>>>()
            .map(|lists| lists.into_iter().flatten().collect());
        let list = |names: BTreeSet<&str>| listed(names.into_iter(), MAX_LISTED * 2);
        match (texts.and_then(list), lists.and_then(list)) {
            (Some(list), _) => self.fact(format!("{or}action.recipient in [{list}]"), REASON),
            (None, Some(list)) => {
                self.fact(format!("{or}action.recipient.all(one, one in [{list}])"), REASON);
            }
            (None, None) => self.open.push("any recipient".to_owned()),
        }
    }

    /// No more than the most that was seen.
    fn amount(&mut self, guessed: &Guessed) {
        let Some(place) = &guessed.amount else { return };
        self.covered.extend(place.first().cloned());
        let found: Vec<Option<&Json>> =
            self.group.calls.iter().map(|call| at(call.action.get("args")?, place)).collect();
        if found.iter().all(Option::is_none) {
            return;
        }
        // A negative amount may turn a payment round.
        let is_negative = |amount: &Json| amount.as_number().is_some_and(|amount| amount.as_str().starts_with('-'));
        let least =
            if found.iter().flatten().any(|amount| is_negative(amount)) { "" } else { "action.amount >= 0 && " };
        let or = match (found.iter().any(Option::is_none), place.as_slice()) {
            (false, _) => Some(String::new()),
            // An amount that is not a number is not a fact, so its absence alone would not do.
            (true, [name]) => Some(format!("!({} in action.args) || ", literal(name))),
            (true, _) => None,
        };
        match (or, largest(found.into_iter().flatten())) {
            (Some(or), Some(most)) => self.fact(
                format!("{or}{least}action.amount <= {}", most.to_text()),
                Reason { code: "larger_amount", message: "The session never had such an amount." },
            ),
            _ => self.open.push("any amount".to_owned()),
        }
    }

    /// Rules for arguments that are executed, and for booleans that were the same in every call. All other arguments are noted as
    /// left open.
    fn others(&mut self) {
        let names: BTreeSet<String> =
            self.args().flat_map(|args| args.iter().map(|(name, _)| name.to_owned())).collect();
        let covered = std::mem::take(&mut self.covered);
        let mut open = Vec::new();
        let mut fixed = 0;
        for name in names.into_iter().filter(|name| !covered.contains(name)) {
            let values: Vec<Option<&Json>> = self.args().map(|args| args.get(&name)).collect();
            let rule = if fixed < MAX_LISTED { fixed_value(&name, &values) } else { None };
            match rule {
                Some(rule) => {
                    fixed += 1;
                    let other = "The session never had this value of an argument.";
                    self.fact(rule, Reason { code: "other_value", message: other });
                }
                None if EXECUTED.contains(&name.as_str()) => {
                    self.open.push(format!("any value of `{name}`, which is executed"));
                }
                None => open.push(format!("`{}`", shown(&name))),
            }
        }
        if !open.is_empty() {
            let more = open.len().saturating_sub(MAX_LISTED);
            open.truncate(MAX_LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.open.push(format!("any value of {}{more}", open.join(", ")));
        }
    }
}

/// The predicate that no argument has another name; none if they are too many.
pub(super) fn only_names(names: &BTreeSet<&str>) -> Option<String> {
    let list = listed(names.iter().copied(), MAX_LISTED * 2)?;
    Some(if names.is_empty() {
        "size(action.args) == 0".to_owned()
    } else {
        format!("action.args.all(name, name in [{list}])")
    })
}

/// The rule that holds an argument to its values: the texts of one that is executed, or the boolean that it always was.
fn fixed_value(name: &str, values: &[Option<&Json>]) -> Option<String> {
    let there = || values.iter().flatten();
    let test = if EXECUTED.contains(&name) {
        let texts: BTreeSet<&str> = there().map(|value| value.as_str()).collect::<Option<_>>()?;
        format!("in [{}]", listed(texts.into_iter(), MAX_LISTED)?)
    } else {
        let bools: BTreeSet<bool> = there().map(|value| value.as_bool()).collect::<Option<_>>()?;
        let only = bools.first().filter(|_| bools.len() == 1)?;
        format!("== {only}")
    };
    let name = Some(literal(name)).filter(|name| name.len() <= MAX_LISTED_BYTES)?;
    let or = if values.contains(&None) { format!("!({name} in action.args) || ") } else { String::new() };
    Some(format!("{or}action.args[{name}] {test}"))
}

fn text_of(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_text(), str::to_owned)
}

/// Whether a path may lead out of the folder that it begins with, also as an address that is decoded.
fn may_go_up(target: &str) -> bool {
    target.contains("..") || target.to_lowercase().contains("%2e")
}

/// The folder that all targets are in, with the `/` at its end; none if it is the whole of a file system or of the web.
fn common_folder<'a>(targets: &BTreeSet<&'a str>) -> Option<&'a str> {
    let (first, last) = (targets.first()?, targets.last()?);
    // All others are between the first and the last, so they begin as both do.
    let same = first.char_indices().zip(last.chars()).take_while(|((_, one), other)| one == other);
    let end = same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
    let folder = first.get(..=first.get(..end)?.rfind('/')?)?;
    let is_named = !folder.ends_with("://") && !folder.trim_matches(['/', '.', ':']).is_empty();
    is_named.then_some(folder)
}

/// Texts as the elements of a list; none if they are too many or too long.
fn listed<'a>(texts: impl ExactSizeIterator<Item = &'a str>, most: usize) -> Option<String> {
    if texts.len() > most {
        return None;
    }
    let texts: Vec<&str> = texts.collect();
    let short = texts.iter().all(|text| text.len() <= MAX_LISTED_BYTES);
    let list = short.then(|| texts.iter().map(|text| literal(text)).collect::<Vec<_>>().join(", "));
    list.filter(|list| list.len() <= MAX_LIST_BYTES)
}

/// A text as predicates write it.
fn literal(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => literal.extend(['\\', c]),
            c if c == ' ' || c.is_alphanumeric() || c.is_ascii_graphic() => literal.push(c),
            c => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_common_to_all_targets() {
        for (targets, folder) in [
            (&["src/a.rs", "src/b/c.rs", "src/d.rs"][..], Some("src/")),
            (&["/home/a/x", "/home/a/y"], Some("/home/a/")),
            (&["/etc/x", "/home/y"], None),
            (&["./a", "./b"], None),
            (&["https://a.example/x", "https://b.example/x"], None),
            (&["https://a.example/x", "https://a.example/y"], Some("https://a.example/")),
            (&["é/a", "é/b"], Some("é/")),
            (&["a", "b"], None),
        ] {
            assert_eq!(common_folder(&targets.iter().copied().collect()), folder, "{targets:?}");
        }
    }
}
