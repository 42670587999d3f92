//! Programs that run what a file of the project says under a name.

use crate::Cause;
use crate::told::Told;
use crate::tools::subcommand;
use crate::values::Arg;
use crate::variables::is_decisive;
use crate::word::is_name;

pub(crate) fn make(args: &[Arg]) -> Told {
    const FLAGS: [&str; 14] = [
        "-k",
        "-s",
        "-B",
        "-n",
        "-i",
        "-w",
        "-q",
        "-t",
        "-j",
        "--silent",
        "--quiet",
        "--keep-going",
        "--dry-run",
        "--no-print-directory",
    ];
    let mut told = Told::opaque(Cause::Recipe);
    let (mut folder, mut file, mut at) = (String::new(), Arg::known("Makefile"), 0);
    let mut targets = Vec::new();
    while let Some(arg) = args.get(at) {
        at += 1;
        let Some(text) = arg.text() else {
            told.opaque.insert(Cause::Arguments);
            continue;
        };
        let is_plain = |value: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || "_./,+-@%".contains(c));
        let jobs = |text: &str| text.strip_prefix("-j").is_some_and(|jobs| jobs.chars().all(|c| c.is_ascii_digit()));
        match text {
            "-f" | "--file" | "--makefile" => {
                // Of several, one is told.
                if args.iter().filter(|arg| matches!(arg.text(), Some("-f" | "--file" | "--makefile"))).count() > 1 {
                    told.opaque.insert(Cause::ProgramText);
                }
                file = args.get(at).cloned().unwrap_or(file);
                at += 1;
            }
            "-C" | "--directory" => {
                match args.get(at).and_then(Arg::text) {
                    Some(name) if !name.starts_with('/') => folder = format!("{folder}{name}/"),
                    Some(name) => folder = format!("{name}/"),
                    None => drop(told.opaque.insert(Cause::Option)),
                }
                at += 1;
            }
            _ if FLAGS.contains(&text) || jobs(text) => {}
            // Others may name another file, or have a text that is run.
            _ if text.starts_with('-') => {
                told.opaque.insert(Cause::ProgramText);
            }
            _ => match text.split_once('=') {
                Some((name, value)) => {
                    if !is_of_project(name) || !is_plain(value) {
                        told.opaque.insert(Cause::ProgramText);
                    }
                }
                // Rules of its own make files without a word in the Makefile, as `x` of `x.sh`.
                None => targets.push(text),
            },
        }
    }
    told.made = targets.iter().map(|target| Arg::known(below(&folder, target))).collect();
    told.script = match file.text() {
        Some(name) => Some(Arg::known(below(&folder, name))),
        None => Some(file),
    };
    told
}

fn below(folder: &str, name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("{folder}{name}") }
}

/// Whether a variable has no meaning for `make` itself. Its rules use the names of tools, of their options, and of folders.
fn is_of_project(name: &str) -> bool {
    const PLAIN: [&str; 6] = ["V", "VERBOSE", "DEBUG", "RELEASE", "PREFIX", "DESTDIR"];
    let is_lower = is_name(name) && !name.contains(|c: char| c.is_ascii_uppercase());
    (is_lower || PLAIN.contains(&name)) && !is_decisive(name)
}

/// Programs that run what a file of the project says, under a name.
pub(crate) fn recipes(program: &str, args: &[Arg]) -> Told {
    let mut told = subcommand(program, args);
    let file = match program {
        "just" => "justfile",
        "task" => "Taskfile.yml",
        "rake" => "Rakefile",
        "ninja" => "build.ninja",
        _ => "package.json",
    };
    let is_package = file == "package.json";
    let runs = |name: &str| matches!(name, "run" | "run-script" | "test" | "t" | "start" | "stop" | "restart");
    // Packages have scripts, too.
    let installs = |name: &str| {
        matches!(name, "install" | "i" | "ci" | "add" | "rebuild" | "update" | "link" | "publish" | "pack" | "version")
    };
    match told.subcommand.as_deref() {
        Some("exec" | "x" | "dlx" | "explore" | "create" | "init") if is_package => {
            told.opaque.insert(Cause::Option);
        }
        Some(name) if program == "npm" && !runs(name) && !installs(name) => {}
        Some("ls" | "list" | "why" | "outdated" | "audit" | "bin" | "root" | "store") if is_package => {}
        _ => {
            told.opaque.insert(Cause::Recipe);
            told.script = Some(Arg::known(file));
        }
    }
    const RUNS: [&str; 13] = [
        "--script-shell",
        "--node-options",
        "--eval",
        "--shell",
        "-f",
        "--justfile",
        "--prefix",
        "-c",
        "-e",
        "-E",
        "-p",
        "--execute",
        "--command",
    ];
    // The beginning of a long option is often taken for it.
    let is_run_option = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        RUNS.iter()
            .any(|option| name == *option || (name.len() > 2 && name.starts_with("--") && option.starts_with(name)))
            || name.starts_with("--execute")
            || (program == "rake" && (name.starts_with("--ra") || name.starts_with("--re") || name.starts_with("--li")))
            // A letter may stand within a group of letters.
            || (program == "rake" && text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'E', 'p', 'f', 'r', 'R', 'I']))
    };
    if args
        .iter()
        .map_while(|arg| if arg.text() == Some("--") { None } else { Some(arg.text()) })
        .flatten()
        .any(is_run_option)
    {
        told.opaque.insert(Cause::Option);
    }
    told
}
