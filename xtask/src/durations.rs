//! How long tests took.

use std::path::PathBuf;

use anyhow::anyhow;

/// So many are printed.
const SLOWEST: usize = 20;

/// How long a test took.
struct Duration {
    seconds: f64,
    test: String,
}

/// Prints the slowest tests of these runs: of each the file in which nextest wrote how long its tests took, and what is added to their
/// names. A run without a file did not happen.
pub(crate) fn print_slowest(runs: &[(PathBuf, &str)]) {
    let mut all = Vec::new();
    for (file, suffix) in runs {
        let Ok(junit) = std::fs::read_to_string(file) else { continue };
        match durations(&junit, suffix) {
            Ok(durations) => all.extend(durations),
            Err(error) => eprintln!("xtask: failed to read `{}`: {error}", file.display()),
        }
    }
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let sum: f64 = all.iter().map(|one| one.seconds).sum();
    eprintln!("xtask: {} tests took {sum:.0} s if they are added up; the slowest:", all.len());
    all.iter().take(SLOWEST).for_each(|one| eprintln!("{:8.1} s  {}", one.seconds, one.test));
}

fn durations(junit: &str, suffix: &str) -> anyhow::Result<Vec<Duration>> {
    let document = roxmltree::Document::parse(junit)?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let read = |case: roxmltree::Node<'_, '_>| {
        let attribute = |name| case.attribute(name).ok_or_else(|| anyhow!("a test case has no `{name}`"));
        let test = format!("{} {}{suffix}", attribute("classname")?, attribute("name")?);
        Ok(Duration { seconds: attribute("time")?.parse()?, test })
    };
    cases.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::durations;

    #[test]
    fn each_case_has_its_seconds() {
        let junit = r#"<testsuites tests="1"><testsuite name="a::it"><testcase name="b::c" classname="a::it" time="1.250"/></testsuite></testsuites>"#;
        let read = durations(junit, " (on PostgreSQL)").unwrap();
        assert_eq!(read.iter().map(|one| one.test.as_str()).collect::<Vec<_>>(), ["a::it b::c (on PostgreSQL)"]);
        assert!((read[0].seconds - 1.25).abs() < 0.001);
        assert!(durations("<testcase/>", "").is_err());
    }
}
