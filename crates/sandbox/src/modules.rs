//! Guesses what a job imports, so that an interpreter loads little before it forks: every case pays for what is loaded.
//!
//! A wrong guess costs time and changes no answer, because what was not loaded is loaded when it is imported.

use proofmark_checks::{Job, Program};

/// What is in a text that may import something.
const IMPORT: &str = "import";

/// What needs more than it imports: a coroutine is run by `asyncio`.
const COROUTINE: &str = "async";

/// The first of `sets` (modules, divided by spaces) that has all that the job imports, or the last.
pub(crate) fn likely(sets: &'static [&'static str], job: &Job) -> &'static str {
    let source = match &job.program {
        Program::Call { source, .. } | Program::Expression { source } => source.as_str(),
        Program::Pristine | Program::Stdio { .. } | Program::Command(_) => "",
    };
    let imported = imports(source).filter(|_| job.cases.iter().all(|case| !needs_more(&case.input)));
    let all = sets.last().copied().unwrap_or_default();
    let Some(imported) = imported else { return all };
    let mut sets = sets.iter().copied();
    sets.find(|set| imported.iter().all(|name| set.split_whitespace().any(|module| module == *name))).unwrap_or(all)
}

fn needs_more(text: &str) -> bool {
    text.contains(IMPORT) || text.contains(COROUTINE)
}

/// The modules that plain statements import; `None` where anything else may import one.
fn imports(source: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    if !needs_more(source) {
        return Some(names);
    }
    for line in source.lines().map(str::trim_start).filter(|line| !line.starts_with('#') && needs_more(line)) {
        if let Some((module, names_of_it)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            names.push(module_name(module).filter(|_| !needs_more(names_of_it))?);
        } else {
            for module in line.strip_prefix("import ")?.split(',') {
                names.push(module_name(module.split_once(" as ").map_or(module, |(module, _)| module))?);
            }
        }
    }
    Some(names)
}

/// A plain name, also with dots.
fn module_name(text: &str) -> Option<&str> {
    let name = text.trim();
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
    (plain && !name.is_empty() && !name.contains(IMPORT)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::imports;

    #[test]
    fn plain_statements_name_their_modules() {
        let source = "import re, os.path as p\n# import nothing\ndef f():\n    from collections.abc import Iterable\n";
        assert_eq!(imports(source), Some(vec!["re", "os.path", "collections.abc"]));
        assert_eq!(imports("def f(x):\n    return x\n"), Some(Vec::new()));
    }

    #[test]
    fn anything_else_may_import_everything() {
        for source in [
            "__import__('re')",
            "import re; import os",
            "if x: import re",
            "import (re)",
            "import importlib",
            "from re import compile; import os",
            "import re \\\n  , os",
            "async def f(): pass",
            "import ",
        ] {
            assert_eq!(imports(source), None, "{source}");
        }
    }
}
