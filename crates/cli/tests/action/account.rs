//! The account that runs Proofmark, and where the binary comes from.

use std::fs;
use std::process::Command;

use crate::results::passed;
use crate::runner::{Job, SERVER};
use crate::{BINARY, project_file};

/// As sudo on a hosted runner: it does not ask for a password, drops variables that are not named, and sets its own path.
const SUDO: &str = r#"#!/bin/bash
keep=()
while [ $# -gt 0 ]; do
  case $1 in
    --non-interactive) ;;
    --preserve-env=*) IFS=, read -ra keep <<< "${1#*=}" ;;
    --) shift; break ;;
    *) break ;;
  esac
  shift
done
passed=()
for name in "${keep[@]}"; do
  [ -z "${!name+set}" ] || passed+=("$name=${!name}")
done
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin IS_ROOT=true "${passed[@]}" "$@"
"#;

/// The binary on a host where only root can isolate.
fn restricted(calls: &str) -> String {
    format!(
        "#!/bin/bash\necho \"${{IS_ROOT:-false}} $1 ${{KEY:-none}}\" >> '{calls}'\n\
         [ \"$1\" != doctor ] || exec echo \"{{\\\"levels\\\": [{{\\\"level\\\": \\\"A\\\", \\\"holds\\\": ${{IS_ROOT:-false}}}}]}}\"\n\
         exec '{BINARY}' \"$@\"\n"
    )
}

#[test]
fn where_only_root_can_isolate_the_binary_runs_with_sudo() {
    for has_sudo in [true, false] {
        let mut job = Job::new();
        let calls = job.path("../calls").to_str().unwrap().to_owned();
        job.program("proofmark", &restricted(&calls));
        job.program("sudo", if has_sudo { SUDO } else { "#!/bin/sh\nexit 1\n" });
        let binary = job.path("../bin/proofmark");
        let ended = passed(&job, &[("binary", binary.to_str().unwrap())]);
        assert_eq!((ended.code, ended.output("verdict")), (0, "pass"), "{}", ended.log);
        assert_eq!(ended.log.contains("runs with sudo"), has_sudo, "{}", ended.log);
        let calls = fs::read_to_string(calls).unwrap();
        assert!(calls.contains(&format!("{has_sudo} verify none\n")), "{calls}");
        assert!(ended.summary.contains("proofmark verify: pass"), "{}", ended.summary);
    }
}

#[test]
fn the_binary_is_installed_by_the_script_of_the_releases() {
    let mut job = Job::new();
    let copy = job.path("../checkout");
    fs::create_dir(&copy).unwrap();
    assert!(Command::new("cp").arg("-r").arg(project_file("action")).arg(&copy).status().unwrap().success());
    job.action = copy.join("action");
    let ended = job.run(&[("binary", ""), ("lint", "a.yaml")]);
    assert_eq!(ended.code, 2, "without the script: {}", ended.log);
    let script = format!(
        "echo \"$PROOFMARK_BASE_URL\" > said\n[ \"${{PROOFMARK_BASE_URL%v9.9.9}}\" = \"$PROOFMARK_BASE_URL\" ] || exit 2\n\
         mkdir \"$PROOFMARK_BIN_DIR\"\ncp '{BINARY}' \"$PROOFMARK_BIN_DIR/proofmark\"\n"
    );
    fs::create_dir(copy.join("packaging")).unwrap();
    fs::write(copy.join("packaging/install.sh"), script).unwrap();
    let ended = passed(&job, &[("binary", "")]);
    assert_eq!((ended.code, ended.output("verdict")), (0, "pass"), "{}", ended.log);
    let said = fs::read_to_string(job.path("said")).unwrap();
    let release = concat!("/owner/proofmark/releases/download/v", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(said, format!("{SERVER}{release}"));
    let ended = passed(&job, &[("binary", ""), ("version", "1.2.3-rc.1")]);
    assert_eq!(ended.code, 0, "{}", ended.log);
    assert!(fs::read_to_string(job.path("said")).unwrap().ends_with("/v1.2.3-rc.1\n"));
    let ended = passed(&job, &[("binary", ""), ("version", "9.9.9")]);
    assert_eq!(ended.code, 2, "{}", ended.log);
    assert!(ended.sent("error").iter().any(|sent| sent.contains("failed to install")), "{:?}", ended.commands);
}
