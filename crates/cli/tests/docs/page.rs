//! The commands and files of a page of documentation.
//!
//! A block ```` ```console ```` holds commands, on lines that begin with `$ `, and what they print. A command that does not
//! exit with 0 says so in a comment: `# exit 1`. A line `…` of the output stands for any number of lines, and `…` within a
//! line for any text. A block ```` ```yaml file=policy.yaml ```` is a file that the text before it names. Commands that a
//! test cannot run are in a block ```` ```console not-run ````.

/// A part of a page, in its order.
#[derive(Debug)]
pub(crate) enum Part {
    File { name: String, content: String },
    Command(Command),
}

/// A command and what the page says about it.
#[derive(Debug)]
pub(crate) struct Command {
    /// The line of the page that it begins on.
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) output: Vec<String>,
    pub(crate) code: i32,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) parts: Vec<Part>,
    /// The commands of blocks that are not run.
    pub(crate) not_run: Vec<String>,
}

impl Page {
    pub(crate) fn read(text: &str) -> Page {
        let lines: Vec<&str> = text.lines().collect();
        let mut page = Page { parts: Vec::new(), not_run: Vec::new() };
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let info = line.trim_start_matches('`');
            let fence = &line[..line.len() - info.len()];
            if fence.len() < 3 {
                at += 1;
                continue;
            }
            let end = lines.iter().skip(at + 1).position(|line| *line == fence).expect("the block ends") + at + 1;
            let block = &lines[at + 1..end];
            match info {
                "console" => page.parts.extend(commands(block, at + 2).into_iter().map(Part::Command)),
                "console not-run" => {
                    page.not_run.extend(commands(block, at + 2).into_iter().map(|command| command.text))
                }
                "sh" | "bash" | "shell" => {
                    panic!("line {}: commands are in blocks `console`, so that a test runs them", at + 1)
                }
                _ => {
                    if let Some((_, name)) = info.split_once(" file=") {
                        let before = lines[at.saturating_sub(4)..at].join("\n");
                        assert!(
                            before.contains(&format!("`{name}`")),
                            "line {}: the text before it names `{name}`",
                            at + 1
                        );
                        let content = block.iter().map(|line| format!("{line}\n")).collect();
                        page.parts.push(Part::File { name: name.to_owned(), content });
                    }
                }
            }
            at = end + 1;
        }
        page
    }

    pub(crate) fn commands(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Command(_))).count()
    }
}

fn commands(block: &[&str], first_line: usize) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut rest = block.iter().enumerate();
    while let Some((at, line)) = rest.next() {
        let Some(begun) = line.strip_prefix("$ ") else {
            let command =
                commands.last_mut().unwrap_or_else(|| panic!("line {}: a command begins with `$ `", first_line + at));
            command.output.push((*line).to_owned());
            continue;
        };
        let mut text = begun.to_owned();
        while text.ends_with('\\') {
            text = format!("{text}\n{}", rest.next().expect("the command continues").1);
        }
        if let Some((_, word)) = text.split_once("<<'") {
            let end = word.split('\'').next().unwrap().to_owned();
            loop {
                let (_, line) = rest.next().expect("the text ends");
                text = format!("{text}\n{line}");
                if *line == end {
                    break;
                }
            }
        }
        let code = text.split_once("# exit ").map_or(0, |(_, code)| code.trim().parse().expect("an exit code"));
        commands.push(Command { line: first_line + at, text, output: Vec::new(), code });
    }
    commands
}

#[test]
fn commands_have_continuations_texts_outputs_and_exit_codes() {
    let page = Page::read(
        "Save it as `a.txt`:\n\n```text file=a.txt\none\n```\n\n```console\n$ cat a.txt \\\n    b.txt   # exit 1\none\n…\n$ cat <<'END'\n$ x\nEND\n```\n\n```console not-run\n$ never\n```\n",
    );
    let [Part::File { name, content }, Part::Command(first), Part::Command(second)] = &page.parts[..] else {
        panic!("{page:?}")
    };
    assert_eq!((name.as_str(), content.as_str()), ("a.txt", "one\n"));
    assert_eq!((first.line, first.code, first.output.join("|")), (8, 1, "one|…".to_owned()));
    assert_eq!(first.text, "cat a.txt \\\n    b.txt   # exit 1");
    assert_eq!((second.text.as_str(), second.code), ("cat <<'END'\n$ x\nEND", 0));
    assert_eq!((page.not_run, page.parts.len()), (vec!["never".to_owned()], 3));
}
