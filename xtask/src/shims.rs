//! Version managers put a script in the place of `python3`, which looks for the interpreter each time that it is started and takes
//! ten times as long as the interpreter itself. Tests start thousands of them.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::machine::PROGRAMS;

const PYTHON: &str = "python3";

/// The folders of this `PATH`: where one has only such a script, the folder of the interpreter that it finds.
pub(crate) fn path_without_shims(path: &OsString) -> anyhow::Result<OsString> {
    let folders = std::env::split_paths(path).map(|folder| folder_behind(&folder).unwrap_or(folder));
    Ok(std::env::join_paths(folders)?)
}

fn folder_behind(folder: &Path) -> Option<PathBuf> {
    // A manager of several languages would take the others along.
    let has_others = PROGRAMS.iter().any(|(program, _)| *program != PYTHON && folder.join(program).exists());
    let script = folder.join(PYTHON);
    if has_others || !is_script(&script) {
        return None;
    }
    let output = Command::new(script).args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let interpreter = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    interpreter.parent().filter(|behind| behind.join(PYTHON).exists()).map(Path::to_owned)
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

    use super::path_without_shims;

    fn program(file: &Path, text: &str) {
        write(file, text).unwrap();
        set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_folder_with_a_script_for_the_interpreter_becomes_that_of_the_interpreter() {
        let place = tempfile::tempdir().unwrap();
        let [shims, mixed, real, plain] = ["shims", "mixed", "real", "plain"].map(|name| place.path().join(name));
        [&shims, &mixed, &real, &plain].into_iter().for_each(|folder| create_dir(folder).unwrap());
        symlink("/bin/true", real.join("python3")).unwrap();
        let found = format!("#!/bin/sh\necho {}/python3\n", real.display());
        program(&shims.join("python3"), &found);
        program(&mixed.join("python3"), &found);
        program(&mixed.join("node"), "#!/bin/sh\n");
        let path = std::env::join_paths([&shims, &mixed, &plain]).unwrap();
        let changed = path_without_shims(&path).unwrap();
        assert_eq!(std::env::split_paths(&changed).collect::<Vec<_>>(), [real, mixed, plain]);
    }
}
