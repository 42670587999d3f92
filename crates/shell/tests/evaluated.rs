//! Texts that some shell runs as a command though they stand in quotes.

use proofmark_shell::read;

fn causes(text: &str) -> Vec<&'static str> {
    let mut causes: Vec<_> = read(text, Some("/repo"))
        .iter()
        .flat_map(|command| command.opaque.iter().map(|cause| cause.as_str()).collect::<Vec<_>>())
        .collect();
    causes.sort_unstable();
    causes.dedup();
    causes
}

#[test]
fn words_that_a_shell_evaluates_are_not_clean() {
    for text in [
        // bash expands these a second time.
        "echo hi >&'$(ls)'",
        "cat <&'$(ls)'",
        "echo hi >&'`ls`'",
        "x='$(ls)'; echo >&\"$x\"",
        "echo hi >&*",
        // One word that comes to an option and its value.
        "test $(echo '-v a[$(ls)]')",
        "test $(echo '-v a[$(ls)]') -a x",
        "[ $(echo '-v a[$(ls)]') ]",
        "[ `cat n` ]",
        "printf $(echo '-v a[$(ls)]') x",
        "set -- -v 'a[$(ls)]'; test \"$@\"",
        "set -- -v 'a[$(ls)]'; test $*",
        "X='-v a[$(ls)]'; [ $X ]",
        "test *",
        "test \"$1\" 'a[$(ls)]'",
        "test x -a \"$1\" 'a[$(ls)]'",
        "printf \"$1\" x",
        "printf \"$1\"",
        "printf '-va[$(ls)]'",
        "printf -v \"$1\" x",
        // Values that are evaluated when they are set.
        "OPTIND='a[$(ls)]'",
        "RANDOM='a[$(ls)]'",
        "SRANDOM=$x",
        "HISTCMD='a[$(ls)]' ls",
        "COLUMNS='path[$(ls)]' ls",
        "env COLUMNS='path[$(ls)]' zsh x",
        "export SECONDS='path[$(ls)]'",
        "declare OPTIND+='a[$(ls)]'",
        "TRY_BLOCK_ERROR='path[$(ls)]'",
        // Numbers of zsh.
        "printf %d 'path[$(ls)]'",
        "printf %5.2f 'path[$(ls)]'",
        "printf '%*s' 'path[$(ls)]' x",
        "printf \"$x\" 'path[$(ls)]'",
        "[ -t 'path[$(ls)]' ]",
        "[[ -t 'path[$(ls)]' ]]",
        "[ 'path[$(ls)]' -eq 1 ]",
        "y='path[$(ls)]'; [ y -eq 1 ]",
        "[ \"$(cat n)\" -gt 1 ]",
        "echo $path['path[$(ls)]']",
        "echo \"$path[path[\\$(ls)]]\"",
        "y='path[$(ls)]'; echo $path[y]",
        "echo $@[1]",
        "echo \"$1[1]\"",
        "exit 'path[$(ls)]'",
        "return 'path[$(ls)]'",
        "shift y",
        "break \"$x\"",
        "read -t 'p[$(ls)]' x",
        "read -t y x",
        "read -ut y x",
        "read -A 'p[$(ls)]'",
    ] {
        assert!(causes(text).contains(&"evaluates"), "{text}: {:?}", causes(text));
    }
    for text in [
        "for OPTIND in 'a[$(ls)]'; do ls; done",
        "read OPTIND <<< 'a[$(ls)]'",
        "printf -v RANDOM %s 'a[$(ls)]'",
        "echo ${OPTIND:=x}",
        "functions=(ls 'cat x'); ls",
        "commands=(ls /bin/echo); ls x",
        "options=(globdots on); cat *nv",
        "dirstack=(/etc); cd ~1",
        "nameddirs=(a /etc); cat ~a/x",
        "aliases=x",
        "dis_functions=x",
    ] {
        assert!(causes(text).contains(&"variable"), "{text}: {:?}", causes(text));
    }
}

#[test]
fn words_that_no_shell_evaluates_are_clean() {
    for text in [
        "ls 2>&1",
        "ls >&2 2>&-",
        "ls >& out.log",
        "[ \"$a\" = \"$b\" ]",
        "if [ \"$x\" == y ]; then ls; fi",
        "[ -n \"$x\" -a -f \"$y\" ]",
        "[ ! -f \"$x\" ]",
        "[ \"$x\" ]",
        "[ $? -eq 0 ]",
        "[ $# -gt 1 ]",
        "test \"$(ls)\" != ''",
        "test -v HOME",
        "test -t 1",
        "i=0; i=$((i+1)); echo $i",
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done",
        "i=0; while [ \"$i\" -lt 3 ]; do i=$((i + 1)); done",
        "rc=$?; exit $rc",
        "exit 1",
        "return $?",
        "shift 2",
        "printf '%s\\n' \"$@\"",
        "printf \"hello $x\\n\"",
        "printf '%-20s|%3d%%\\n' 4 5",
        "printf -v x %s \"$y\"",
        "IFS= read -r x < f",
        "read -p 'Go? ' x",
        "read -t 5 x",
        "read -ra x",
        "OPTIND=1",
        "SECONDS=0",
        "COLUMNS=80 ls",
        "local OPTIND",
        "status=$?",
        "echo ${#x}",
    ] {
        let causes = causes(text);
        assert!(causes.is_empty(), "{text}: {causes:?}");
    }
}
