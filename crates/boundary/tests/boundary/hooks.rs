//! The example policies for hooks: what is forbidden stays forbidden in every spelling, and everyday work is left alone.

use proofmark_boundary::{ActionPolicy, Decision, Outcome, Request};
use proofmark_receipt::{Json, object};

use crate::support::*;

const AGENT: &str = include_str!("../../../../examples/hooks/agent.yaml");
const ALLOWLIST: &str = include_str!("../../../../examples/hooks/allowlist.yaml");
/// What a coding agent does all day: a tool and what it is about. A line that begins with `| ` belongs to the command before.
const EVERYDAY: &str = include_str!("hooks/everyday.txt");
/// What the documentation of hooks says is refused, or asks a person.
const FORBIDDEN: &str = include_str!("hooks/forbidden.txt");
/// Texts that come to more than they seem to. Other spellings of them may be harmless.
const ATTACKS: &str = include_str!("hooks/attacks.txt");

fn calls(text: &str) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match (line.strip_prefix("| "), calls.last_mut()) {
            (Some(more), Some((_, command))) => *command += &format!("\n{more}"),
            _ => {
                let (tool, about) = line.split_once(": ").unwrap();
                calls.push((tool.to_owned(), about.to_owned()));
            }
        }
    }
    calls
}

fn decided_on(policy: &ActionPolicy, tool: &str, about: &str) -> Decision {
    let path = if about.starts_with('/') { about.to_owned() } else { format!("/repo/{about}") };
    let (class, action) = match tool {
        "shell" => ("system_change", object! { "args": object! { "command": about }, "cwd": "/repo" }),
        "write_file" | "edit_file" => {
            ("record_mutation", object! { "args": object! {}, "paths": vec![Json::from(path.as_str())] })
        }
        _ => ("generic", object! { "args": object! {}, "paths": vec![Json::from(path.as_str())] }),
    };
    let mut whole =
        object! { "surface": "host", "source": "hook", "tool": tool, "class": class, "boundary": "action_execute" };
    for (name, value) in action.iter() {
        whole.insert(name, value.clone());
    }
    let facts = object! { "action": whole, "agent": object! { "project": "/repo" }, "taint": Vec::<Json>::new() };
    super::support::decided(policy, &Request::from_facts(facts).unwrap(), Vec::new())
}

fn reasons(decision: &Decision) -> String {
    let codes: Vec<&str> = decision.reasons().map(|reason| &*reason.code).collect();
    format!("{} {}", decision.outcome().as_str(), codes.join(" "))
}

#[test]
fn everyday_work_is_left_alone() {
    let policy = policy(AGENT);
    let calls = calls(EVERYDAY);
    let held: Vec<String> = calls
        .iter()
        .map(|(tool, about)| (tool, about, decided_on(&policy, tool, about)))
        .filter(|(_, _, decision)| decision.outcome() != Outcome::Allow)
        .map(|(tool, about, decision)| format!("{tool}: {about}: {}", reasons(&decision)))
        .collect();
    assert!(calls.len() >= 200, "{}", calls.len());
    assert!(held.len() * 20 <= calls.len(), "{} of {} are held:\n{}", held.len(), calls.len(), held.join("\n"));
}

#[test]
fn what_is_forbidden_is_not_allowed() {
    for text in [AGENT, ALLOWLIST] {
        let policy = policy(text);
        let allowed: Vec<String> = [FORBIDDEN, ATTACKS]
            .into_iter()
            .flat_map(calls)
            .filter(|(tool, about)| decided_on(&policy, tool, about).outcome() == Outcome::Allow)
            .map(|(tool, about)| format!("{tool}: {about}"))
            .collect();
        assert!(allowed.is_empty(), "allowed:\n{}", allowed.join("\n"));
    }
}

/// Other spellings of a command that do the same, or nearly the same, in some shell.
fn spellings(command: &str) -> Vec<String> {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let (begin, last) = command.rsplit_once(' ').unwrap_or(("", command));
    let first: String = program.chars().take(1).collect();
    let others: String = program.chars().skip(1).collect();
    let quoted = command.replace('\'', r"'\''");
    let octal: String = program.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let variable = |value: &str| value.replace('\'', r"'\''");
    let mut all = vec![
        format!("{first}\\{others} {rest}"),
        format!("'{program}' {rest}"),
        format!("\"{first}\"{others} {rest}"),
        format!("{first}''{others} {rest}"),
        format!("{first}\\\n{others} {rest}"),
        format!("/usr/bin/{program} {rest}"),
        format!("/bin/../bin/{program} {rest}"),
        format!("X={program}; $X {rest}"),
        format!("x={first}; ${{x}}{others} {rest}"),
        format!("$(echo {program}) {rest}"),
        format!("`echo {program}` {rest}"),
        format!("$'{octal}' {rest}"),
        format!("{{{program},}} {rest}"),
        format!("${{X:-{program}}} {rest}"),
        format!("$@{command}"),
        format!("eval '{quoted}'"),
        format!("sh -c '{quoted}'"),
        format!("bash -lc '{quoted}'"),
        format!("bash <<'E'\n{command}\nE"),
        format!("bash <<< '{quoted}'"),
        format!("echo '{quoted}' | sh"),
        format!("printf '%s' '{quoted}' | bash -s"),
        format!("env {command}"),
        format!("env -i A=1 {command}"),
        format!("env -S '{quoted}'"),
        format!("command {command}"),
        format!("exec {command}"),
        format!("builtin {command}"),
        format!("nice -n 5 {command}"),
        format!("timeout 5 {command}"),
        format!("time {command}"),
        format!("stdbuf -o0 {command}"),
        format!("nohup {command} &"),
        format!("setsid {command}"),
        format!("busybox {command}"),
        format!("xargs {command} < /dev/null"),
        format!("echo | xargs -I X {command}"),
        format!("find . -maxdepth 0 -exec {command} \\;"),
        format!("ls; {command}"),
        format!("ls && {command}"),
        format!("ls || {command}"),
        format!("ls | {command}"),
        format!("ls & {command}"),
        format!("ls\n{command}"),
        format!("ls # \n{command}"),
        format!("({command})"),
        format!("{{ {command}; }}"),
        format!("! {command}"),
        format!("echo $({command})"),
        format!("echo \"$({command})\""),
        format!("echo `{}`", command.replace('\\', r"\\").replace('`', r"\`")),
        format!("cat <({command})"),
        format!("cat <<E\n$({command})\nE"),
        format!("if true; then {command}; fi"),
        format!("if {command}; then ls; fi"),
        format!("for i in 1; do {command}; done"),
        format!("while {command}; do ls; done"),
        format!("case a in a) {command};; esac"),
        format!("f() {{ {command}; }}; f"),
        format!("f() {{ \"$@\"; }}; f {command}"),
        format!("x=$({command})"),
        format!("x=1 {command}"),
        format!("trap '{quoted}' EXIT"),
        format!("alias z='{quoted}'; z"),
        format!("coproc {command}"),
        format!("[[ $({command}) ]]"),
        format!("ls > /dev/null; {command} > /tmp/out 2>&1"),
        format!("{command} # comment"),
        format!("\t {command} \t"),
        format!("{program}\t{rest}"),
        format!("{program} \\\n {rest}"),
        format!("ls $(true\n{command})"),
        format!("((1)) || {command}"),
        format!("bash -c \"$(printf '%s' '{quoted}')\""),
        format!("python3 -c 'import os; os.system(\"id\")' ; {command}"),
        format!("git -c alias.z='!{quoted}' z"),
        format!("make -f /dev/stdin <<'E'\nall:\n\t{command}\nE"),
        format!("awk 'BEGIN{{system(\"{}\")}}'", command.replace('\'', "").replace('"', "\\\"")),
    ];
    // A quoted `~` is the name of a file.
    if !begin.is_empty()
        && last != "~"
        && !last.starts_with('-')
        && !last.contains(['\'', '"', '\\', ';', '*', '?', ':'])
    {
        let home = last.strip_prefix("~/");
        all.extend([
            format!("{begin} '{}'", if home.is_some() { "x" } else { last }).replace(" 'x'", &format!(" {last}")),
            format!("x='{}'; {begin} $x", variable(last)).replace("'~/", "~/'"),
            format!("for x in {last}; do {begin} $x; done"),
            format!("for x in {last}; do {begin} \"$x\"; done"),
        ]);
        if let Some(home) = home {
            all.extend([
                format!("{begin} $HOME/{home}"),
                format!("{begin} \"${{HOME}}/{home}\""),
                format!("{begin} ~u/{home}"),
                format!("cd ~ && {begin} {home}"),
                format!("cd; {begin} ./{home}"),
                format!("cd $HOME; {begin} x/../{home}"),
                format!("pushd ~; {begin} {home}"),
                format!("{begin} /home/*/{home}"),
                format!("{begin} ~/./{home}"),
                format!("{begin} ~//{home}"),
                format!("{begin} ~/{}", home.replacen('.', "[.]", 1)),
                format!("{begin} ~/.?{}", home.get(2..).unwrap_or_default()),
                format!("{begin} ~/{{{home},x}}"),
            ]);
        } else {
            all.extend([
                format!("{begin} ./{last}").replace(" .//", " /"),
                format!("{begin} x/../{last}").replace("x/..//", "/"),
            ]);
        }
    }
    all
}

/// Whether a spelling does nothing that is forbidden: commands of a shell itself have no file, an assignment that is quoted or follows
/// a program is a name, and a name may lose its meaning behind a folder.
fn is_harmless(base: &str, spelling: &str) -> bool {
    let has = |texts: &[&str]| texts.iter().any(|text| spelling.contains(text));
    let is_builtin = ["export", "alias", "eval", "source"].iter().any(|name| base.starts_with(name));
    let is_assignment = base.starts_with("PATH=") || base.starts_with("GIT_SSH");
    let names = [
        "P\\ATH",
        "'PATH",
        "\"P\"",
        "X=PATH",
        "x=P;",
        "command PATH",
        "nice -n 5 P",
        "timeout 5 P",
        "-o0 P",
        "-exec P",
    ];
    (base.starts_with("ps ") && has(&["./"]))
        || (is_builtin && has(&["/usr/bin/", "/bin/../"]))
        || (is_assignment && has(&names))
        || (!base.contains('/') && has(&["x/../", "./~"]))
}

#[test]
fn no_spelling_of_what_is_forbidden_is_allowed() {
    for text in [AGENT, ALLOWLIST] {
        let policy = policy(text);
        let (mut count, mut allowed) = (0, Vec::new());
        for (_, command) in calls(FORBIDDEN).into_iter().filter(|(tool, _)| tool == "shell") {
            for spelling in spellings(&command) {
                if is_harmless(&command, &spelling) {
                    continue;
                }
                count += 1;
                if decided_on(&policy, "shell", &spelling).outcome() == Outcome::Allow {
                    allowed.push(spelling);
                }
            }
        }
        assert!(count >= 500, "{count}");
        assert!(allowed.is_empty(), "{} of {count} are allowed:\n{}", allowed.len(), allowed.join("\n"));
    }
}
