//! `proofmark man`, which writes the man pages of packages.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};

use crate::exit::Exit;
use crate::out;
use crate::paint::printable;

/// Write the man pages of every command
#[derive(Args)]
#[command(
    after_help = "Example:\n  proofmark man man\n\nExit codes: 0 every page is written; 2 one could not be written."
)]
pub(crate) struct Man {
    /// The folder to write them to, which is created if it is missing. Pages in it are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let shown = self.folder.display().to_string();
        fs::create_dir_all(&self.folder).with_context(|| format!("write the man pages to `{shown}`"))?;
        let mut command = crate::Arguments::command().disable_help_subcommand(true);
        command.build();
        let count = write_pages(&command, &self.folder)?;
        writeln!(out::stdout(), "wrote {count} man pages to `{}`", printable(&shown))?;
        Ok(Exit::Yes)
    }
}

/// Writes the page of a command and those of its subcommands, and returns how many these are.
fn write_pages(command: &Command, folder: &Path) -> anyhow::Result<usize> {
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let count = inner.map(|inner| write_pages(inner, folder)).sum::<anyhow::Result<usize>>()?;
    let page = Page::new(command.clone());
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    write_page(&page, command, &mut text)
        .and_then(|()| fs::write(&path, &text))
        .with_context(|| format!("write the man page `{}`", path.display()))?;
    Ok(count + 1)
}

fn write_page(page: &Page, command: &Command, to: &mut Vec<u8>) -> io::Result<()> {
    // The crate leaves out an empty date, and what follows it would be read as one. Names of options are not hyphenated.
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).replace('-', "\\-");
    writeln!(to, ".TH {name} 1 \"\" \"proofmark {}\" Proofmark\n.nh", env!("CARGO_PKG_VERSION"))?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        page.render_subcommands_section(to)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for (heading, lines) in sections(&after) {
        write_section(&heading, &lines, to)?;
    }
    Ok(())
}

/// The parts of the text after a help: `Examples:` and its lines, or `Exit codes: 0 …` in one line.
fn sections(after: &str) -> Vec<(String, Vec<&str>)> {
    let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
    for line in after.lines() {
        let heading = line.split_once(':').filter(|(heading, _)| is_heading(heading));
        match (heading, sections.last_mut()) {
            (Some((heading, rest)), _) => {
                let first = Some(rest.trim()).filter(|rest| !rest.is_empty());
                sections.push((heading.to_uppercase(), first.into_iter().collect()));
            }
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => sections.push(("NOTES".to_owned(), vec![line])),
        }
    }
    sections
}

/// Whether a part begins with this: a word or two at the beginning of a line.
fn is_heading(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.split(' ').count() <= 2
        && text.chars().all(|one| one.is_ascii_alphabetic() || one == ' ')
}

/// Writes a part: prose is filled, and where a line is indented, as examples are, all lines stay as they are.
fn write_section(heading: &str, lines: &[&str], to: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::default();
    roff.control("SH", [heading]);
    let filled = lines.iter().all(|line| !line.starts_with(' '));
    if !filled {
        roff.control("nf", []);
    }
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    for line in lines.iter().take(last) {
        match line.is_empty() {
            true => roff.control("PP", []),
            false => roff.text([roman(*line)]),
        };
    }
    if !filled {
        roff.control("fi", []);
    }
    roff.to_writer(to)
}
