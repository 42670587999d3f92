//! Requirements with hashes.
//!
//! pip reads options from such a file, too: another index, files of the host, builds. So it gets what is read here, and not the file.

use super::LockError;

/// The most requirements.
const MAX_REQUIREMENTS: usize = 10_000;
/// How much of a line an error shows, in characters.
const MAX_SHOWN: usize = 100;
/// What stands before a digest.
const HASH: &str = "--hash=";
/// The algorithms, with how many hex digits they have.
const ALGORITHMS: [(&str, usize); 3] = [("sha256:", 64), ("sha384:", 96), ("sha512:", 128)];

/// The requirements of a file, one a line.
pub(super) fn read(text: &str, file: &str) -> Result<String, LockError> {
    let mut lines = text.lines().enumerate();
    let mut read = String::new();
    let mut count = 0;
    while let Some((index, first)) = lines.next() {
        let mut whole = without_comment(first).to_owned();
        while let Some(start) = whole.strip_suffix('\\') {
            let next = lines.next().map_or("", |(_, next)| without_comment(next));
            whole = format!("{start} {next}");
        }
        let whole = whole.trim();
        if whole.is_empty() {
            continue;
        }
        let refused = |why| LockError::Requirement {
            file: file.to_owned(),
            line: index + 1,
            why,
            text: whole.chars().take(MAX_SHOWN).collect(),
        };
        count += 1;
        if count > MAX_REQUIREMENTS {
            return Err(refused("there are more requirements than are read"));
        }
        check(whole).map_err(refused)?;
        read.push_str(whole);
        read.push('\n');
    }
    Ok(read)
}

/// The line without what pip takes for a comment, and without spaces at its end.
fn without_comment(line: &str) -> &str {
    let is_start = |at: usize| line.get(..at).is_none_or(|before| before.is_empty() || before.ends_with([' ', '\t']));
    let end = line.match_indices('#').map(|(at, _)| at).find(|at| is_start(*at));
    line.get(..end.unwrap_or(line.len())).unwrap_or(line).trim_end()
}

fn check(line: &str) -> Result<(), &'static str> {
    if line.starts_with('-') {
        return Err("options are not read here");
    }
    let Some((requirement, hashes)) = line.find(" --").and_then(|at| line.split_at_checked(at)) else {
        return Err("it has no `--hash`");
    };
    let is_hash = |word: &str| {
        let digits = |(name, length): &(&str, usize)| {
            let digits = word.strip_prefix(HASH)?.strip_prefix(name)?;
            (digits.len() == *length && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(())
        };
        ALGORITHMS.iter().find_map(digits).is_some()
    };
    if !hashes.split_whitespace().all(is_hash) {
        return Err("of the options, only `--hash` is read");
    }
    let (package, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
    // A variable of the environment would become part of what is asked for.
    let is_marker = |c: char| c.is_ascii_alphanumeric() || " _.'\"<>=!~()+-,*".contains(c);
    if !marker.chars().all(is_marker) {
        return Err("its marker cannot be read");
    }
    let (name, version) = package.split_once("==").ok_or("it is not pinned with `==`")?;
    let (name, extras) = name.trim().split_once('[').unwrap_or((name.trim(), "]"));
    let extras = extras.strip_suffix(']').ok_or("its name cannot be read")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !name.chars().all(is_name)
        || !extras.chars().all(|c| is_name(c) || c == ',' || c == ' ')
    {
        return Err("its name cannot be read");
    }
    let version = version.trim();
    if version.is_empty() || !version.chars().all(|c| c.is_ascii_alphanumeric() || ".+!_-".contains(c)) {
        return Err("its version cannot be read");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;

    const HASH: &str = "--hash=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn pinned_packages_with_hashes_are_read() {
        let text = format!(
            "# by a tool\n\na==1.0 \\\n    {HASH} \\\n    {HASH}\n    # via b\nb[x,y]==2!1.0+local ; python_version < '3.9' and sys_platform == \"win32\" {HASH}  # why\n"
        );
        let lines: Vec<String> = read(&text, "r.txt").unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("a==1.0 ") && lines[0].matches("--hash=").count() == 2, "{lines:?}");
        assert!(lines[1].ends_with(HASH), "{lines:?}");
    }

    #[test]
    fn what_could_run_read_or_redirect_is_refused() {
        for line in [
            "--index-url https://evil.example/simple".to_owned(),
            "-r other.txt".to_owned(),
            "-e .".to_owned(),
            "--no-binary :all:".to_owned(),
            "a==1.0".to_owned(),
            format!("a>=1.0 {HASH}"),
            format!("a {HASH}"),
            format!("a==1.* {HASH}"),
            format!("a==${{SECRET}} {HASH}"),
            format!("a @ https://evil.example/a.whl {HASH}"),
            format!("./a.whl {HASH}"),
            format!("a==1.0 --global-option=x {HASH}"),
            format!("a==1.0 {HASH} --config-settings=x"),
            format!("a==1.0 --index-url=https://evil.example \\\n {HASH}"),
            "a==1.0 --hash=md5:0123456789abcdef0123456789abcdef".to_owned(),
            format!("a==1.0 ; python_version > '$HOME' {HASH}"),
            format!("file:///etc/passwd#egg=a==1.0 {HASH}"),
        ] {
            let error = read(&format!("b==1 {HASH}\n{line}\n"), "r.txt").unwrap_err().to_string();
            assert!(error.starts_with("read r.txt, line 2: "), "{line}: {error}");
        }
    }
}
