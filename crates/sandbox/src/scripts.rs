//! The programs that installed packages of Python have, as an environment's `bin` has them: the entry points `console_scripts`
//! (Python Packaging User Guide, "Entry points specification"). What the host's `bin` has names the host's interpreter, so each is
//! written anew, for the interpreter of the cell.

use std::collections::BTreeMap;
use std::path::Path;

/// The most programs of an environment.
const MAX_SCRIPTS: usize = 1_000;
/// The section of `entry_points.txt` that names them.
const SECTION: &str = "[console_scripts]";

/// Adds the programs of an `entry_points.txt`, each with its name and its text. An entry is left out if its name cannot be a file name or
/// begins with `python`, or if its value is not `module:function`.
pub(crate) fn add(entry_points: &str, interpreter: &Path, scripts: &mut BTreeMap<String, Vec<u8>>) {
    let mut is_within = false;
    for line in entry_points.lines().map(str::trim) {
        if line.starts_with('[') {
            is_within = line == SECTION;
            continue;
        }
        let entry = line.split_once('=').map(|(name, object)| (name.trim(), object));
        let Some((name, object)) = entry.filter(|(name, _)| is_within && is_name(name)) else { continue };
        // Extras in brackets are for installers.
        let object = object.split('[').next().unwrap_or_default().trim();
        let Some((module, function)) = object
            .split_once(':')
            .map(|(module, rest)| (module.trim(), rest.trim()))
            .filter(|(module, rest)| is_path(module) && is_path(rest))
        else {
            continue;
        };
        if scripts.len() < MAX_SCRIPTS && !scripts.contains_key(name) {
            let imported = function.split('.').next().unwrap_or(function);
            let text = format!(
                "#!{}\nimport sys\nfrom {module} import {imported}\nif __name__ == '__main__':\n    sys.exit({function}())\n",
                interpreter.display()
            );
            scripts.insert(name.to_owned(), text.into_bytes());
        }
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty()
        && name.len() <= 255
        && !name.starts_with(['.', '-'])
        && !name.starts_with("python")
        && name.bytes().all(allowed)
}

/// Whether it is a dotted path of Python names.
fn is_path(path: &str) -> bool {
    path.split('.').all(|name| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|char| char == '_' || char.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::add;

    #[test]
    fn programs_are_those_of_one_section_with_plain_names() {
        let mut scripts = BTreeMap::new();
        let text = "[gui_scripts]\nshown = a:b\n[console_scripts]\nslug = slug.cli:main\nof-class = a.b : C.run [extra]\n\
                    ../up = a:b\npython3 = a:b\n.hidden = a:b\nbare = a\nodd = a:b()\nnewline = os;exit:f\n[x]\nlast = a:b\n";
        add(text, Path::new("/packages/python/bin/python3"), &mut scripts);
        assert_eq!(scripts.keys().collect::<Vec<_>>(), ["of-class", "slug"]);
        let text = String::from_utf8(scripts.remove("of-class").unwrap()).unwrap();
        assert_eq!(
            text,
            "#!/packages/python/bin/python3\nimport sys\nfrom a.b import C\nif __name__ == '__main__':\n    sys.exit(C.run())\n"
        );
    }
}
