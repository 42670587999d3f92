//! `--record`: what a benchmark prints becomes its section of `bench/RESULTS.md`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/RESULTS.md");

/// Runs this program again without `--record`, shows what it prints, and keeps it where it succeeds.
pub(crate) fn run() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--record").collect();
    let mut bench = Command::new(std::env::current_exe()?)
        .args(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start the benchmark")?;
    let mut printed = String::new();
    for line in BufReader::new(bench.stdout.take().context("the benchmark has no standard output")?).lines() {
        let line = line?;
        println!("{line}");
        printed.push_str(line.trim_end());
        printed.push('\n');
    }
    let status = bench.wait()?;
    if !status.success() {
        bail!("the benchmark ended with {status}, so nothing was recorded");
    }
    let name = arguments.join(" ");
    let section = format!("## {name}\n\n`cargo xtask bench {name}`; {}\n\n{}\n", origin()?, printed.trim());
    let before = fs::read_to_string(FILE).context("failed to read bench/RESULTS.md")?;
    fs::write(FILE, with_section(&before, &name, &section)).context("failed to write bench/RESULTS.md")
}

/// The text with the section of this name replaced, or added at its end.
fn with_section(text: &str, name: &str, section: &str) -> String {
    let mut parts: Vec<&str> = text.split("\n## ").collect();
    let head = if parts.is_empty() { "" } else { parts.remove(0) };
    let mut sections: Vec<String> = parts.iter().map(|part| format!("## {}\n", part.trim_end())).collect();
    let is_it = |old: &String| old.lines().next() == Some(&format!("## {name}"));
    match sections.iter().position(is_it).and_then(|at| sections.get_mut(at)) {
        Some(old) => section.clone_into(old),
        None => sections.push(section.to_owned()),
    }
    format!("{}\n\n{}", head.trim_end(), sections.join("\n"))
}

/// The machine, the date and the commit.
fn origin() -> anyhow::Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let date = output("date", &["--utc", "+%F"])?;
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    let changed = output("git", &["status", "--porcelain", "--untracked-files=no", "--", ":!bench/RESULTS.md"])?;
    let changed = if changed.is_empty() { "" } else { " with changes" };
    let model = model.unwrap_or(std::env::consts::ARCH);
    Ok(format!("{cores} cores of {model}, Linux {}; {date}; commit {commit}{changed}", kernel.trim()))
}

fn output(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let root = Path::new(FILE).parent().and_then(Path::parent).context("failed to find the project")?;
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .output()
        .with_context(|| format!("failed to start `{program}`"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_replaces_the_one_of_its_name_only() {
        let first = with_section("# Results\n\nText.\n", "tier0", "## tier0\n\nold\n");
        let both = with_section(&first, "tier0 node", "## tier0 node\n\nother\n");
        let again = with_section(&both, "tier0", "## tier0\n\nnew\n");
        assert_eq!(again, "# Results\n\nText.\n\n## tier0\n\nnew\n\n## tier0 node\n\nother\n");
        assert_eq!(with_section(&again, "tier0", "## tier0\n\nnew\n"), again);
    }
}
