//! One command: the program, its words, and the commands that it starts in turn.

use std::collections::BTreeSet;

use crate::find;
use crate::folder::Walk;
use crate::git;
use crate::path::{self, Folder, Folders, NamedPath};
use crate::program;
use crate::reader::{Found, Joint, RawCommand, Reader};
use crate::told::{self, Start};
use crate::values::{Arg, Values};
use crate::variables;
use crate::word::Word;
use crate::written;
use crate::{Cause, Command, MAX_COMMANDS, MAX_DEPTH, MAX_PATHS, MAX_TEXT_BYTES, MAX_TOLD_BYTES};

/// The most commands that one command starts in turn.
const MAX_STARTED: usize = 64;

/// The commands of a text, with those of the texts within it.
pub(crate) fn read(text: &str, folders: Option<&BTreeSet<Folder>>, depth: usize) -> Result<Vec<Command>, Cause> {
    if text.len() > MAX_TEXT_BYTES || depth > MAX_DEPTH {
        return Err(Cause::TooLarge);
    }
    // Terminals, hosts and shells drop or show these in their own ways.
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Cause::Syntax);
    }
    let found = Reader::new(text).read()?;
    let cwd = folders.filter(|folders| folders.len() == 1).and_then(|folders| folders.first());
    let values = Values::of(&found, cwd.filter(|_| !changes_folder(&found.commands)).map(|cwd| &*cwd.path));
    // A value that is not a number is an expression, which may run commands.
    if !found.evaluated.iter().all(|(name, index)| values.is_number_in(name, *index, 0)) {
        return Err(Cause::Evaluates);
    }
    let decides = |name: &str| variables::is_decisive(name) || variables::is_evaluated(name);
    if values.changes_decisive() || found.loops.iter().any(|one| decides(&one.name)) {
        return Err(Cause::Variable);
    }
    // A function could have the name of a command that has a variable to itself.
    let splits = |raw: &RawCommand| raw.assignments.iter().any(|(name, _)| name == "IFS");
    if found.has_functions && found.commands.iter().any(splits) {
        return Err(Cause::Variable);
    }
    let folders = folders.filter(|_| !changes_folder_elsewhere(&found));
    let mut walk = Walk::new(&found, folders.cloned());
    let mut commands = Commands { all: Vec::new(), depth, bytes: 0, paths: 0 };
    let mut prints_files = false;
    for (index, raw) in found.commands.iter().enumerate() {
        let folders = walk.at(raw);
        let words = raw.words.iter().map(|word| values.args(word, index));
        let mut args: Vec<Arg> = words.clone().flatten().collect();
        // Shells without braces take them for the name of a program. What a variable names runs with whatever it has then.
        let is_one = words.take(1).all(|first| first.len() == 1) && !raw.words.first().is_some_and(Word::has_variable);
        if let Some(first) = args.first_mut().filter(|_| !is_one) {
            first.readings = None;
        }
        match args.first().and_then(Arg::text) {
            Some("cd" | "chdir") => walk.change(raw, args.get(1..).unwrap_or_default()),
            Some("pushd" | "popd" | "dirs" | "source" | "." | "eval" | "trap" | "builtin" | "exec") => {
                walk.change(raw, &[Arg::unknown("")])
            }
            _ => {}
        }
        let mut assignments = Vec::new();
        for (name, word) in &raw.assignments {
            assignments.push((name.clone(), word.as_ref().and_then(|word| values.value(word, index))));
        }
        let mut redirected = BTreeSet::new();
        for redirect in &raw.redirects {
            for arg in values.args(&redirect.file, index) {
                path::add(&arg, &folders, redirect.writes, &mut redirected);
            }
        }
        let gets_files = prints_files && raw.before == Joint::Pipe && redirected.is_empty();
        prints_files = raw.after == Joint::Pipe && !found.has_functions && find::prints_files(&args);
        commands.add(&Ready { args, assignments, folders, redirected, gets_files })?;
    }
    Ok(commands.all)
}

fn changes_folder(commands: &[RawCommand]) -> bool {
    commands.iter().any(|command| {
        let program = command.words.first().map(crate::word::Word::plain);
        !matches!(program, Some(Some(name)) if !matches!(&*name, "cd" | "chdir" | "pushd" | "popd"))
    })
}

/// Whether the folder may change in a way that is not followed: in a loop or a function, or by a command within another.
fn changes_folder_elsewhere(found: &Found) -> bool {
    let changes = |word: &Word| matches!(word.unquoted().as_deref(), Some("cd" | "chdir" | "pushd" | "popd"));
    found.commands.iter().any(|command| {
        let (first, rest) = command.words.split_first().map_or((false, false), |(first, rest)| {
            let runs =
                matches!(first.unquoted().as_deref(), Some("command" | "builtin" | "noglob" | "nocorrect" | "exec"));
            (changes(first), runs && rest.iter().any(changes))
        });
        rest || (first && (command.is_in_loop || found.has_functions))
    })
}

/// A command whose words are known as far as they can be.
#[derive(Clone)]
pub(crate) struct Ready {
    pub(crate) args: Vec<Arg>,
    pub(crate) assignments: Vec<(String, Option<String>)>,
    pub(crate) folders: Folders,
    pub(crate) redirected: BTreeSet<NamedPath>,
    /// Whether its input has the names of files and nothing else.
    pub(crate) gets_files: bool,
}

struct Commands {
    all: Vec<Command>,
    depth: usize,
    bytes: usize,
    paths: usize,
}

impl Commands {
    /// Counts what is told of a command, which can be many times its text.
    fn add_told(&mut self, command: &Command) -> Result<(), Cause> {
        let bytes = command.paths.iter().map(|path| path.path.len()).chain(command.args.iter().map(String::len));
        self.bytes = self.bytes.saturating_add(bytes.sum());
        self.paths = self.paths.saturating_add(command.paths.len());
        if self.bytes > MAX_TOLD_BYTES || self.paths > MAX_PATHS { Err(Cause::TooLarge) } else { Ok(()) }
    }

    /// Adds a command, and those that it starts.
    fn add(&mut self, ready: &Ready) -> Result<(), Cause> {
        let (mut left, mut started) = (vec![ready.clone()], 0);
        while let Some(ready) = left.pop() {
            started += 1;
            if started > MAX_STARTED {
                return Err(Cause::TooLarge);
            }
            if self.all.len() >= MAX_COMMANDS {
                return Err(Cause::TooLarge);
            }
            let (command, starts) = one(&ready);
            self.add_told(&command)?;
            self.all.push(command);
            for start in starts {
                match start {
                    Start::Command { args, assignments } => {
                        let assignments = [ready.assignments.clone(), assignments].concat();
                        let redirected = ready.redirected.clone();
                        let gets_files = false;
                        left.push(Ready { args, assignments, folders: ready.folders.clone(), redirected, gets_files });
                    }
                    Start::Elsewhere { args } => {
                        let (assignments, redirected) = (ready.assignments.clone(), ready.redirected.clone());
                        left.push(Ready { args, assignments, folders: None, redirected, gets_files: false });
                    }
                    Start::Text(text) => {
                        let inner = read(&text, ready.folders.as_ref(), self.depth + 1)?;
                        if self.all.len() + inner.len() > MAX_COMMANDS {
                            return Err(Cause::TooLarge);
                        }
                        for command in &inner {
                            self.add_told(command)?;
                        }
                        self.all.extend(inner);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A command as it is told, and what it starts.
fn one(ready: &Ready) -> (Command, Vec<Start>) {
    let mut command = Command {
        assignments: ready.assignments.clone(),
        paths: ready.redirected.iter().cloned().collect(),
        exact: true,
        ..Command::default()
    };
    let reads = ready.args.first().and_then(Arg::text) == Some("read");
    for (name, value) in &ready.assignments {
        // For `read` alone, it says where a line is split.
        if variables::is_decisive(name) && !(reads && name == "IFS") {
            command.opaque.insert(Cause::Variable);
        }
        if variables::evaluates_value(name, value.as_deref()) {
            command.opaque.insert(Cause::Evaluates);
        }
    }
    let Some((first, rest)) = ready.args.split_first() else {
        command.program = Some(String::new());
        return (command, Vec::new());
    };
    let Some(program) = first.text().filter(|text| !text.is_empty()) else {
        command.opaque.insert(Cause::Program);
        command.exact = false;
        command.args = rest.iter().map(|arg| arg.written.clone()).collect();
        return (command, Vec::new());
    };
    let program = name_of(program, &ready.folders);
    // A path may lead to any program; what its name says of its words holds as well.
    let name = program.rsplit('/').next().unwrap_or(&program);
    let said = program::explain_fed(name, rest, ready.gets_files);
    // What belongs to a command that this one starts is told there.
    let own = rest.get(..said.own.unwrap_or(rest.len())).unwrap_or(rest);
    command.exact = own.iter().all(|arg| arg.text().is_some() && !arg.varies);
    command.args = own.iter().map(|arg| arg.written.clone()).collect();
    if matches!(name, "export" | "declare" | "typeset" | "local" | "readonly") {
        command.assignments.extend(own.iter().filter_map(declared));
    }
    command.subcommand = said.subcommand;
    command.opaque.extend(said.opaque);
    let mut paths: BTreeSet<NamedPath> = ready.redirected.clone();
    let written = written::written(name, own);
    let end = own.iter().position(|arg| arg.text() == Some("--")).unwrap_or(own.len());
    for (at, arg) in own.iter().enumerate() {
        // More words could be names of files, too.
        let is_text = said.texts.contains(&at) && (!arg.splits || matches!(name, "echo" | "printf"));
        if !is_text {
            if names_program(arg) {
                command.opaque.insert(Cause::ProgramText);
            }
            // Behind `--`, it is the name of a file, whatever it begins with.
            let name = arg.text().filter(|text| at > end && text.starts_with('-'));
            let name = name.map(|text| Arg::known(format!("./{text}")));
            let pathspec = (program == "git").then(|| git::pathspec(arg));
            path::add(name.as_ref().or(pathspec.as_ref()).unwrap_or(arg), &ready.folders, written.has(at), &mut paths);
        }
    }
    if written::writes_unnamed(name, own) {
        paths.insert(NamedPath { path: ".".to_owned(), certain: false, pattern: false, writes: true });
    }
    for made in &said.made {
        path::add(made, &ready.folders, true, &mut paths);
    }
    if name == "cd" && own.is_empty() {
        paths.insert(NamedPath { path: "~".to_owned(), certain: true, pattern: false, writes: false });
    }
    let script = said.script.or_else(|| program.contains('/').then(|| Arg::known(program.clone())));
    if let Some(script) = script {
        let reads_input = script.text().is_none_or(|text| text == "-" || told::is_device(text));
        if reads_input {
            command.opaque.insert(Cause::Input);
        }
        let mut scripts: BTreeSet<NamedPath> = BTreeSet::new();
        path::add(&script, &ready.folders, false, &mut scripts);
        // Of several that it may be, the others are files that it uses, as is one that is not certain.
        paths.extend(
            scripts
                .iter()
                .enumerate()
                .filter(|(at, script)| *at > 0 || !script.certain)
                .map(|(_, script)| script.clone()),
        );
        command.script = scripts.into_iter().next().map(|script| script.path);
    }
    command.paths = paths.into_iter().collect();
    // Without a command, it prints all variables.
    let only_prints = program == "env" && said.starts.is_empty() && command.opaque.is_empty();
    command.program = Some(if only_prints { "printenv".to_owned() } else { program });
    (command, said.starts)
}

/// The name that a program is known by: its file name in a folder of the system, and otherwise its path.
fn name_of(program: &str, folders: &Folders) -> String {
    const SYSTEM: [&str; 6] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    if !program.contains('/') {
        return program.to_owned();
    }
    let path = match folders.as_ref().map(|folders| (folders.len(), folders.first())) {
        // Behind a link, it is another program.
        _ if path::goes_back(program) => program.to_owned(),
        _ if program.starts_with(['/', '~']) => path::normalized(program),
        Some((1, Some(folder))) if !(folder.is_changed && path::goes_up(program)) => {
            path::normalized(&format!("{}/{program}", folder.path))
        }
        _ => program.to_owned(),
    };
    let name = SYSTEM.iter().find_map(|folder| path.strip_prefix(folder)).filter(|name| !name.contains('/'));
    name.map_or(path.clone(), str::to_owned)
}

/// Whether a word has an address whose text is a program, for programs that load one from an address.
fn names_program(arg: &Arg) -> bool {
    let text = arg.text().unwrap_or(&arg.written);
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let begins = |at: usize| !plain.get(..at).unwrap_or_default().ends_with(char::is_alphanumeric);
    plain.match_indices("data:").any(|(at, _)| begins(at))
}

/// The variable that a word of `export` and its like names, with its value where that is known.
fn declared(arg: &Arg) -> Option<(String, Option<String>)> {
    let text = arg.text().unwrap_or(&arg.written);
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let value = value.filter(|_| arg.text().is_some()).map(str::to_owned);
    (!text.starts_with('-')).then(|| (name.to_owned(), value))
}
