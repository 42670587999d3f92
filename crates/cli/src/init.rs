//! `proofmark init`.

mod installs;
mod project;
mod write;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_receipt::{Json, Object, object};

use crate::exit::Exit;
use crate::init::project::Project;
use crate::init::write::File;
use crate::new_files::{NewFiles, Written};
use crate::out;
use crate::paint::printable;

/// Set up a project: what to verify, an action policy, and a CI recipe
///
/// Finds out what the project is: Python with pytest or unittest, Node with the runner that `npm test` names (its own, vitest, jest,
/// mocha, tap, tape, ava, uvu or tsx), Ruby with rspec or minitest, bats, or a script. Writes the files that fit, lists them, and
/// prints the next three commands. Files that exist are left alone. Nothing of the project is run.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark init
  proofmark init --dry-run
  proofmark init new-project --json

Exit codes: 0 every file is there; 2 a file could not be written.")]
pub(crate) struct Init {
    /// The folder of the project, which is created if it is missing
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A file and what became of it.
struct Line {
    file: File,
    written: Written,
}

impl Init {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let project = Project::find(&self.folder);
        let files = write::files(&project);
        let folder = NewFiles::below(&self.folder, self.dry_run)
            .with_context(|| format!("set up the project `{}`", self.folder.display()))?;
        let lines: Vec<Line> =
            files.into_iter().map(|file| Line { written: folder.write(file.path, &file.content), file }).collect();
        let next = write::next(&project, &self.folder);
        if self.json {
            let object = self.object(&project, &lines, &next);
            out::stdout().json(&Json::from(object).to_text())?;
        } else {
            self.print(&project, &lines, &next)?;
        }
        let failed = lines.iter().any(|line| matches!(line.written, Written::Failed(_)));
        Ok(if failed { Exit::NoAnswer } else { Exit::Yes })
    }

    fn print(&self, project: &Project, lines: &[Line], next: &[String]) -> io::Result<()> {
        let mut out = out::stdout();
        writeln!(out, "found {}", printable(&project.to_string()))?;
        for Line { file, written } in lines {
            let (word, note) = match written {
                Written::Created => ("created", file.about.to_owned()),
                Written::WouldCreate => ("would create", file.about.to_owned()),
                Written::Exists => ("left alone", "it exists".to_owned()),
                Written::Failed(reason) => ("failed", reason.clone()),
            };
            writeln!(out, "  {word:<12} {:<32} {}", file.path, printable(&note))?;
        }
        writeln!(out, "\nNext:")?;
        next.iter().try_for_each(|command| writeln!(out, "  {}", printable(command)))?;
        writeln!(out, "\n{}", write::CI)
    }

    fn object(&self, project: &Project, lines: &[Line], next: &[String]) -> Object {
        let files = lines.iter().map(|Line { file, written }| Json::from(written.object(file.path)));
        object! {
            "folder": self.folder.display().to_string(),
            "project": project.name(),
            "found": project.to_string(),
            "files": files.collect::<Vec<_>>(),
            "next": next.iter().map(|command| Json::from(command.as_str())).collect::<Vec<_>>(),
        }
    }
}

/// A path below the folder named on the command line, or `.` for the folder itself, as a word of a shell.
fn word(folder: &Path, path: &str) -> String {
    let joined = match (folder == Path::new("."), path) {
        (_, ".") => folder.to_owned(),
        (true, path) => PathBuf::from(path),
        (false, path) => folder.join(path),
    };
    let text = joined.display().to_string();
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-/+@%:,".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
