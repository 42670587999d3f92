//! Version managers put a script in the place of `python3`, which looks for the interpreter each time that it is started and takes
//! ten times as long as the interpreter itself. Tests start thousands of them.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::machine::PROGRAMS;

const PYTHON: &str = "python3";

/// An interpreter: the folder that it is in, and its version as `3.11`.
struct Interpreter {
    folder: PathBuf,
    version: String,
}

/// The folders of this `PATH` without those that have only such a script: an interpreter of the same version in a folder behind it takes
/// its place, or else the one that it finds.
///
/// Those of version managers often have hundreds of packages, and tests look at each file of them each time that they verify a folder.
pub(crate) fn path_without_shims(path: &OsString) -> anyhow::Result<OsString> {
    let folders: Vec<_> = std::env::split_paths(path).collect();
    Ok(std::env::join_paths(without_shims(&folders, interpreter_of))?)
}

fn without_shims(folders: &[PathBuf], interpreter_of: impl Fn(&Path) -> Option<Interpreter>) -> Vec<PathBuf> {
    let folder_of = |(at, folder): (usize, &PathBuf)| {
        let Some(found) = is_of_shims(folder).then(|| interpreter_of(folder)).flatten() else {
            return Some(folder.clone());
        };
        let mut behind = folders.iter().skip(at + 1).filter(|folder| folder.join(PYTHON).exists());
        let next = behind.find(|folder| !is_script(&folder.join(PYTHON))).and_then(|folder| interpreter_of(folder));
        let has_same = next.is_some_and(|next| next.version == found.version);
        (!has_same).then_some(found.folder)
    };
    folders.iter().enumerate().filter_map(folder_of).collect()
}

fn is_of_shims(folder: &Path) -> bool {
    // A manager of several languages would take the others along.
    let has_others = PROGRAMS.iter().any(|(program, _)| *program != PYTHON && folder.join(program).exists());
    !has_others && is_script(&folder.join(PYTHON))
}

/// What the program in this folder says of the interpreter that it is or finds.
fn interpreter_of(folder: &Path) -> Option<Interpreter> {
    let question = "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2], sep='\\n')";
    let output = Command::new(folder.join(PYTHON)).args(["-c", question]).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    let (executable, version) = answer.trim().split_once('\n')?;
    let folder = Path::new(executable).parent().filter(|folder| folder.join(PYTHON).exists())?;
    Some(Interpreter { folder: folder.to_owned(), version: version.to_owned() })
}

fn is_script(file: &Path) -> bool {
    let mut start = [0; 2];
    File::open(file).is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == *b"#!"
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{Interpreter, interpreter_of, path_without_shims, without_shims};

    fn program(file: &Path, text: &str) {
        write(file, text).unwrap();
        set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_folder_with_a_script_for_the_interpreter_becomes_that_of_an_interpreter() {
        let place = tempfile::tempdir().unwrap();
        let [shims, mixed, real, plain] = ["shims", "mixed", "real", "plain"].map(|name| place.path().join(name));
        [&shims, &mixed, &real, &plain].into_iter().for_each(|folder| create_dir(folder).unwrap());
        symlink("/bin/true", real.join("python3")).unwrap();
        let found = format!("#!/bin/sh\necho {}/python3; echo 3.11\n", real.display());
        program(&shims.join("python3"), &found);
        program(&mixed.join("python3"), &found);
        program(&mixed.join("node"), "#!/bin/sh\n");
        let folders = [shims, mixed.clone(), plain.clone()];
        let changed = path_without_shims(&std::env::join_paths(&folders).unwrap()).unwrap();
        assert_eq!(std::env::split_paths(&changed).collect::<Vec<_>>(), [real.clone(), mixed.clone(), plain.clone()]);
        // One behind the script, of the same version or of another.
        symlink("/bin/true", plain.join("python3")).unwrap();
        for (version, expected) in
            [("3.11", vec![mixed.clone(), plain.clone()]), ("3.9", vec![real, mixed, plain.clone()])]
        {
            let known = |folder: &Path| {
                let own = || Interpreter { folder: plain.clone(), version: version.to_owned() };
                if folder == plain { Some(own()) } else { interpreter_of(folder) }
            };
            assert_eq!(without_shims(&folders, known), expected, "{version}");
        }
    }
}
