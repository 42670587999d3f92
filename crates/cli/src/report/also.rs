//! Reports that go to files, beside what is printed.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use super::{Group, junit, markdown, sarif};
use crate::out::synced;
use crate::paint::printable_json;

/// Files that get the report in another format.
#[derive(Args)]
pub(crate) struct AlsoOption {
    /// Also write the result to this file, as `junit`, `sarif` or `markdown`; a file that exists is overwritten; can be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Also::read)]
    pub(crate) also: Vec<Also>,
}

/// The formats that are one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DocumentFormat {
    Junit,
    Sarif,
    Markdown,
}

/// A file and its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Also {
    format: DocumentFormat,
    path: PathBuf,
}

impl Also {
    /// The file that `FORMAT=FILE` names.
    fn read(text: &str) -> Result<Also, String> {
        let (format, path) = text
            .split_once('=')
            .filter(|(_, path)| !path.is_empty())
            .ok_or_else(|| "a format and a file are needed, as in `sarif=report.sarif`".to_owned())?;
        let format = DocumentFormat::from_str(format, false)
            .map_err(|_| format!("`{format}` is not one of `junit`, `sarif` and `markdown`"))?;
        Ok(Also { format, path: path.into() })
    }
}

/// The files of a report that is being made.
#[derive(Default)]
pub(super) struct Files {
    files: Vec<(Also, File)>,
    groups: Vec<Group>,
}

impl Files {
    /// Creates the files, so that one that cannot be written is found before anything runs.
    pub(super) fn create(files: &[Also]) -> anyhow::Result<Files> {
        for (place, Also { path, .. }) in files.iter().enumerate() {
            let is_named_before = files.iter().take(place).any(|other| other.path == *path);
            ensure!(!is_named_before, "write two formats to `{}`: name a file for each `--also`", path.display());
        }
        let create = |also: &Also| {
            let file = File::create(&also.path).with_context(|| format!("write `{}`", also.path.display()))?;
            Ok((also.clone(), file))
        };
        Ok(Files { files: files.iter().map(create).collect::<anyhow::Result<_>>()?, groups: Vec::new() })
    }

    pub(super) fn group(&mut self, group: &Group) {
        if self.files.is_empty() {
            return;
        }
        let mut group = Group { json: Vec::new(), ..group.clone() };
        group.complete();
        self.groups.push(group);
    }

    /// Writes the files.
    pub(super) fn finish(self, title: &str) -> anyhow::Result<()> {
        let Files { files, groups } = self;
        files.into_iter().try_for_each(|(also, mut file)| {
            write(&mut file, also.format, title, &groups).with_context(|| format!("write `{}`", also.path.display()))
        })
    }
}

fn write(file: &mut File, format: DocumentFormat, title: &str, groups: &[Group]) -> anyhow::Result<()> {
    let mut text = Vec::new();
    match format {
        DocumentFormat::Junit => junit::report(title, groups).serialize(&mut text)?,
        DocumentFormat::Sarif => writeln!(text, "{}", printable_json(&sarif::log(groups).to_text()))?,
        DocumentFormat::Markdown => markdown::write(&mut text, title, groups)?,
    }
    file.write_all(&text)?;
    Ok(synced(file)?)
}
