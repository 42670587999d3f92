//! What is read of texts.

use proofmark_shell::{Command, read};

/// The commands of a text, a line each: the program and its arguments, `?` where they are not exact, and why it is opaque.
fn told(text: &str) -> String {
    let commands = read(text, Some("/repo"));
    commands.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(command: &Command) -> String {
    let mut line = command.program.clone().unwrap_or_else(|| "?".to_owned());
    for (name, value) in &command.assignments {
        line = format!("{name}={} {line}", value.as_deref().unwrap_or("?"));
    }
    for arg in &command.args {
        line += &format!(" {arg}");
    }
    if !command.exact {
        line += " ?";
    }
    for cause in &command.opaque {
        line += &format!(" !{}", cause.as_str());
    }
    line
}

#[track_caller]
fn reads(text: &str, expected: &[&str]) {
    assert_eq!(told(text), expected.join("\n"), "{text}");
}

#[test]
fn words_lose_their_quotes() {
    reads("c\\at 'a b'\"c\"d", &["cat a bcd"]);
    reads("/usr/bin/cat x", &["cat x"]);
    reads("./cat x", &["/repo/cat x"]);
    reads("echo \"a\\nb \\$x\" '$y'", &["echo a\\nb $x $y"]);
    reads("e''cho ''", &["echo "]);
    reads("ls \\\n  -l", &["ls -l"]);
}

#[test]
fn every_command_of_a_text_is_found() {
    reads("cd a && make; ls | wc -l & pwd", &["cd a", "make !recipe", "ls", "wc -l", "pwd"]);
    reads("if test -f x; then cat x; else ls; fi", &["test -f x", "cat x", "ls"]);
    reads("for f in a b; do cat \"$f\"; done > out", &["cat \"$f\" ?", ""]);
    reads("case $x in a|b) ls;; *) pwd;; esac", &["ls", "pwd"]);
    reads("f() { ls; }; f", &["ls", "f"]);
    reads("(cd x; ls) && { pwd; }", &["cd x", "ls", "pwd"]);
    reads("echo \"$(date) `whoami`\" <(ls)", &["date", "whoami", "ls", "echo \"$(date) `whoami`\" /dev/fd/63 ?"]);
    reads("[[ -f x && -d y ]] && ls", &["ls"]);
    reads("cat <<'A' > f\n$(date)\nA\nls", &["cat", "ls"]);
    reads("cat <<A\n$(date)\nA", &["cat", "date"]);
    reads("! ls # rm -rf /\ntime pwd", &["ls", "pwd"]);
    reads("x=$(ls) y=2; z+=1 ls -l", &["ls", "y=2 x=? ", "z=? ls -l"]);
}

#[test]
fn programs_that_start_others_are_told_with_them() {
    reads(
        "sudo -u x env A=1 timeout 5 nice -n 3 ls -l",
        &["sudo -u x", "env A=1", "A=1 timeout 5", "A=1 nice -n 3", "A=1 ls -l"],
    );
    reads("bash -lc 'cat x | sh'", &["bash -lc cat x | sh", "cat x", "sh !input"]);
    reads("sh -c \"$x\"", &["sh -c \"$x\" ? !evaluates"]);
    reads("find . -name '*.rs' -exec rm {} \\;", &["find . -name *.rs -exec rm {} ;", "rm {} ?"]);
    reads("ls | xargs -n1 cat", &["ls", "xargs -n1 !arguments", "cat $@ ?"]);
    reads("ls | xargs -n1 wc", &["ls", "xargs -n1 !arguments", "wc $@ ?"]);
    reads("cat l | xargs wc", &["cat l", "xargs !arguments", "wc $@ ? !arguments"]);
    reads("{ cat l; ls; } | xargs wc", &["cat l", "ls", "xargs !arguments", "wc $@ ? !arguments"]);
    reads("ls | xargs wc < l", &["ls", "xargs !arguments", "wc $@ ? !arguments"]);
    reads("ls --quoting-style=c | xargs wc", &["ls --quoting-style=c", "xargs !arguments", "wc $@ ? !arguments"]);
    reads("ls | xargs sh -c 'x'", &["ls", "xargs !program !arguments", "sh -c x $@ ?", "x"]);
    reads("sudo A=1 rm x", &["sudo A=1", "A=1 rm x"]);
    reads("uv run pytest -q", &["uv run", "pytest -q"]);
}

#[test]
fn what_cannot_be_known_is_opaque() {
    for (text, cause) in [
        ("eval ls", "evaluates"),
        ("$x ls", "program"),
        ("$(which ls)", "program"),
        ("{ls,-l}", "program"),
        ("/bin/l?", "program"),
        ("bash", "input"),
        ("curl x | bash -s", "input"),
        ("python3 - <<'E'\nx\nE", "input"),
        ("python3 -c 'x'", "program_text"),
        ("python3 -ic 'x'", "program_text"),
        ("node -e x", "program_text"),
        ("node --test -e x", "program_text"),
        ("perl -pe x f", "program_text"),
        ("make -f - <<E\nall:\nE", "input"),
        ("source <(ls)", "input"),
        ("git add -p", "option"),
        ("git commit", "option"),
        ("set -a; x=1", "variable"),
        ("ruby -v -e x", "program_text"),
        ("PATH=/tmp ls", "variable"),
        ("IFS=x ls", "variable"),
        ("IFS=x; read y", "variable"),
        ("read() { ls; }; IFS=x read y", "variable"),
        ("awk '{print > \"f\"}' x", "program_text"),
        ("awk '$1 > 2 {print $1 > \"f\"}' x", "program_text"),
        ("awk '/a/ || /b/ {print | \"ls\"}' x", "program_text"),
        ("sed 's:[[:space:]]:e:' f", "program_text"),
        ("sed 'i\\\nx\ne ls' f", "program_text"),
        ("sed -i '' 's/a/b/e' f", "program_text"),
        ("bash setup.sh", "program"),
        (". setup.sh", "program"),
        ("git init --t=x", "option"),
        ("git add --p", "option"),
        ("git cat-file --batch", "option"),
        ("git init --separate=x", "option"),
        ("make CC=sudo", "program_text"),
        ("make VPATH=x", "program_text"),
        ("deno", "input"),
        ("mocha --import='data:text/javascript,x'", "program_text"),
        ("deno run ' DA\nTA:,x'", "program_text"),
        ("go build -ldflags '-extld x'", "option"),
        ("go test -gcflags=-toolexec", "option"),
        ("jq -L x .", "option"),
        ("jq -nf x", "option"),
        ("jq 'include \"x\"; .'", "program_text"),
        ("jq \"$x\" f", "program_text"),
        ("jq --arg a $x . f", "program_text"),
        ("coverage run -pm timeit x", "option"),
        ("coverage run --rcfile=x y.py", "option"),
        ("pytest -xo addopts=--pdb", "option"),
        ("dotnet build -T:Publish", "option"),
        ("gradle test -Dx=y", "option"),
        ("wc \"$x\"", "arguments"),
        ("du $x", "arguments"),
        ("find -files0-from - -delete", "option"),
        ("ar -M", "option"),
        ("export A=$x", "variable"),
        ("p0 >&-v", "syntax"),
        ("GIT_SSH_COMMAND=x git status", "variable"),
        ("export LD_PRELOAD=x", "variable"),
        ("git -c alias.x='!ls' x", "option"),
        ("git log --ext-dif", "option"),
        ("git rebase -x ls", "option"),
        ("tar xf a --to-comm=ls", "option"),
        ("rg --pre ls x", "option"),
        ("alias ls=rm", "alias"),
        ("shopt -s dotglob", "alias"),
        ("make CC='$(shell ls)'", "program_text"),
        ("sed 's/a/b/e' f", "program_text"),
        ("sed -n 'w x' f", "program_text"),
        ("awk 'BEGIN{system(\"ls\")}'", "program_text"),
        ("ls; ((ls|sh))", "syntax"),
        ("echo $((ls) | (sh))", "syntax"),
        ("echo 'a", "syntax"),
        ("cat <<A\nx", "syntax"),
        ("x='a[$(ls)]'; echo $((x))", "evaluates"),
        ("[[ -f x || curl y ]]", "syntax"),
        ("false && x=echo; $x curl", "program"),
        ("x=echo; \\unset x; $x curl", "program"),
        ("echo \"$\\\n(ls)\"", "syntax"),
        ("python3 2\\\n>f -c x", "syntax"),
        ("(\\\n(ls))", "syntax"),
        ("bash {x}>f -c ls", "syntax"),
        ("test -v 'a[$(ls)]'", "evaluates"),
        ("printf -v 'a[$(ls)]' x", "evaluates"),
        ("read 'a[$(ls)]'", "evaluates"),
        ("declare -a 'z=($(ls))'", "evaluates"),
        ("x=$(cat n); echo $((x))", "evaluates"),
        ("echo ${z:y}", "evaluates"),
        ("[[ a || \"curl\" b ]]", "syntax"),
        ("[[ a\nls ]]", "syntax"),
        ("[[ a > f ]]", "syntax"),
        ("{ echo a } always { ls }", "syntax"),
        ("x='*(e:ls:)'; cat $~x", "syntax"),
        ("NULLCMD=sh\n<<< ls", "variable"),
        ("echo x >! f", "syntax"),
        ("cat .env\\", "syntax"),
        ("for PATH in /x; do ls; done", "variable"),
        ("read PATH", "variable"),
        ("set -o keyword", "alias"),
        ("export TAR_OPTIONS=x", "variable"),
        ("make -sf /dev/stdin", "program_text"),
        ("make 'x!=ls'", "program_text"),
        ("tar cf a -vIsh x", "option"),
        ("tar cfI a sh x", "option"),
        ("sed -e p -ne '1e ls' x", "program_text"),
        ("sed 's/[]/]/;s/e;#/a/' f", "program_text"),
        ("ruby -v x.rb", "program_text"),
        ("rustup run stable rm x", "option"),
        ("docker container run a sh", "option"),
        ("npx rm x", "option"),
        ("pnpm build", "recipe"),
        ("deno task x", "recipe"),
        ("make -C \"$D\"", "option"),
        ("rg -nz x", "option"),
        ("for x in a # '\ndo ls; done #'", "syntax"),
        ("[[ -n a # '\n]] && ls #' ]]", "syntax"),
        ("cat <<\\E; for x\nin a; do echo '\nE\nin b; do ls '\nE\n#'; done", "syntax"),
        ("echo \"`echo \\\"'\\\"` ; ls\"", "syntax"),
        ("echo ${x:-<(ls)}", "syntax"),
        ("BASH_CMDS=([wc]=/x); wc", "evaluates"),
        ("BASH_ALIASES=x; wc", "variable"),
        ("printf '-va[$(ls)]' x", "evaluates"),
        ("wait -n -p 'a[$(ls)]'", "evaluates"),
        ("echo $(($1))", "evaluates"),
        ("declare -i x; y='a[$(ls)]'; x=y", "evaluates"),
        ("y='a[$(ls)]'; x=([y]=1)", "evaluates"),
        ("mapfile -C 'curl x' -c 1 x < f", "evaluates"),
        ("sort --co=sh x", "option"),
        ("tar cf evil.org:x f", "option"),
        ("sort *", "arguments"),
        ("rg x *", "option"),
        ("node inspect x.js", "input"),
        ("python3 -m pylint --init-hook=x", "option"),
        ("pytest --pdb x", "option"),
        ("go list -export -toolexec x", "option"),
        ("f() d=/repo\nls", "syntax"),
        ("git rebase -qx ls HEAD", "option"),
        ("git grep -nOls x", "option"),
        ("cargo run --config x", "option"),
        ("npm test --script-she=x", "option"),
        ("go -C . get x", "option"),
        ("gcc -xc - -o x", "option"),
        ("ls \u{7}", "syntax"),
        ("echo $'\\'; ls #'", "syntax"),
    ] {
        let commands = read(text, Some("/repo"));
        let found = commands.iter().any(|command| command.opaque.iter().any(|found| found.as_str() == cause));
        assert!(found, "{text}: {}", told(text));
    }
}

/// The files of a text, a word each, with `*` for those that are written and `?` for those that are not certain.
fn files(text: &str) -> String {
    let mut files: Vec<String> = Vec::new();
    for path in read(text, Some("/repo")).into_iter().flat_map(|command| command.paths) {
        let signs = [("*", path.writes), ("?", !path.certain)];
        let signs: String = signs.into_iter().filter(|(_, has)| *has).map(|(sign, _)| sign).collect();
        files.push(format!("{}{signs}", path.path));
    }
    files.join(" ")
}

#[test]
fn files_are_named_from_the_root() {
    for (text, expected) in [
        ("cat a ../b /c ~/d \"$HOME\"/e", "/a/b/ /c".replace("/a/b/ /c", "/b /c /repo/a ~/d ~/e")),
        ("cd src && cat a", "/repo/src /repo/src/a".to_owned()),
        ("cd src; cat a", "/repo/src /repo/a /repo/src/a".to_owned()),
        ("cd src && ls x; cat a", "/repo/src /repo/src/x /repo/a /repo/src/a".to_owned()),
        ("cd $x && cat a", "$x? a?".to_owned()),
        ("cat a > b 2>> c < d", "/repo/a /repo/b* /repo/c* /repo/d".to_owned()),
        ("cat {a,b}.c", "/repo/a.c /repo/b.c".to_owned()),
        ("cat ~/.ssh/id_*", "~/.ssh/id_*".to_owned()),
        ("cat ~/.s*/id", "~/.s*/id?".to_owned()),
        ("cat a/../b", "/repo/b?".to_owned()),
        ("cat ~root/x", "~root/x?".to_owned()),
        ("cat -- --file=x -oyes", "/repo/--file=x /repo/-oyes /repo/x".to_owned()),
        ("d=.ssh; cat ~/$d/x", "~/.ssh/x".to_owned()),
        ("false && d=x; cat ~/$d/x", "~/$d/x?".to_owned()),
        ("for f in .e*; do cat \"$f\"; done", "/repo/.e*?".to_owned()),
        ("x='/etc/shado?'; cat $x", "/etc/shado??".to_owned()),
        ("cat id_rs? a/b[12]/c src/*.rs", "/repo/a/b[12]/c? /repo/id_rs?? /repo/src/*.rs".to_owned()),
        ("cd src && cat ../a", "/repo/src /repo/a?".to_owned()),
        ("cd src && cd .. && cat a", "/repo/src /repo? /repo/a".to_owned()),
        ("cd -P src/.. && cat a", "/repo? a?".to_owned()),
        ("cd -P src; cat a", "/repo/src /repo/a /repo/src/a".to_owned()),
        ("ln -s ../../etc l", ".*? /etc* /repo/l*".to_owned()),
        ("ln -s a/b l", "/repo/a/b* /repo/l*".to_owned()),
        ("ar x a.a", ".*? /repo/a.a* /repo/x*".to_owned()),
        ("make -C .git/hooks pre-commit", "/repo/.git/hooks /repo/.git/hooks/pre-commit* /repo/pre-commit".to_owned()),
        ("git log -- '*.rs' '.e*' ':!x'", ".e*? /repo/*.rs /repo/log :!x?".to_owned()),
        ("git grep -n '[a-z]*' src", "/repo/grep /repo/src".to_owned()),
        ("git commit -m $x", "$x? /repo/commit".to_owned()),
        ("bash ./x/../y.sh", "/repo/y.sh?".to_owned()),
        ("grep -v -- -zzz ~/x", "~/x".to_owned()),
        ("command cd /etc && cat x", "/etc x?".to_owned()),
        ("(f() { cat x; }; cd /etc; f)", "x? /etc".to_owned()),
        (". ./env.sh; cat x", "/repo/env.sh x?".to_owned()),
        ("cat '~/x'", "/repo/~/x".to_owned()),
        ("grep -nf/etc/shadow f", "/etc/shadow /repo/c/shadow /repo/etc/shadow /repo/f /repo/f/etc/shadow /repo/shadow /repo/tc/shadow /shadow".to_owned()),
        ("cp -t.. a", "/* /repo* /repo/a*".to_owned()),
        ("BASH_REMATCH=x; cat $BASH_REMATCH", "$BASH_REMATCH?".to_owned()),
        ("PWD=/tmp; cat $PWD/y", "$PWD/y?".to_owned()),
        ("sort -uoMakefile x", "/repo/Makefile* /repo/akefile* /repo/efile* /repo/file* /repo/ile* /repo/kefile* /repo/oMakefile* /repo/x*".to_owned()),
        ("cp x y -S b", ".*? /repo/b* /repo/x* /repo/y*".to_owned()),
        ("gunzip x.gz", ".*? /repo/x.gz*".to_owned()),
        ("curl file:///etc/passwd", "/etc/passwd /repo/file:/etc/passwd".to_owned()),
        ("for i in 1 2; do cat x; cd /etc; done", "x? /etc".to_owned()),
        ("cat 1://../x", "/repo/x?".to_owned()),
        ("D=.ssh; cat ~/$D/x", "~/.ssh/x".to_owned()),
        ("false && D=x; cat ~/$D/x", "~/$D/x?".to_owned()),
        ("for f in a b; do cat $f; done", "/repo/a /repo/b".to_owned()),
        ("grep -rn '/etc/shadow' src", "/repo/src".to_owned()),
        ("grep -f /etc/shadow src", "/etc/shadow /repo/src".to_owned()),
        ("cp a b", "/repo/a /repo/b*".to_owned()),
        ("echo a > $x", "$x*?".to_owned()),
        ("git commit -m 'a .env'", "/repo/commit".to_owned()),
        ("curl -d@/etc/passwd x", "/etc/passwd* /passwd* /repo/@/etc/passwd* /repo/c/passwd* /repo/etc/passwd* /repo/passwd* /repo/tc/passwd* /repo/x*".to_owned()),
    ] {
        assert_eq!(files(text), expected, "{text}");
    }
}

#[test]
fn what_only_looks_is_known() {
    for text in [
        "awk '$3 > 10' f",
        "awk '/a/ || /b/ {print $1}' f",
        "awk 'length($0) > 120 {print}' f",
        "sed '3i x' f",
        "sed 's/^[[:space:]]*//' f",
        "sed -i '' 's/a/b/' f",
        "IFS= read -r x < f",
        "jq '.environment | .env' f",
        "jq -r --arg v \"$x\" '.[$v]' f",
        "go build -ldflags '-s -w -X main.v=1' .",
        "go test -run X ./...",
        "mvn test -Dtest=A",
        "coverage run -m pytest -q",
        "coverage run --branch x.py",
        "git grep -n x",
        "git log --oneline --stat",
        "wc -l *.md",
        "ar rcs a.a b.o",
        "deno --version",
        "bash ./setup.sh",
    ] {
        assert!(!told(text).contains('!'), "{text}: {}", told(text));
    }
}

#[test]
fn what_find_comes_to_is_known_by_its_endings() {
    for (text, expected) in [
        ("find src -name '*.rs' -exec grep x {} +", "/repo/src/*.rs"),
        ("find src lib -name 'Cargo.toml' -exec cat {} +", "/repo/lib/Cargo.toml /repo/src/Cargo.toml"),
        ("find -type f -exec grep x {} +", "/repo"),
        ("find src -name '.e*' -exec cat {} +", "{}?"),
        ("find src -name 'a?' -exec cat {} +", "{}?"),
        ("find src -path ./.env -exec cat {} +", "{}?"),
        ("find -L src -exec cat {} +", "{}?"),
        ("find ~ -name a -execdir cat b \\;", "b?"),
        ("find src -name '*.o' -delete", "/repo/src/*.o*"),
        ("find src -name CLAUDE.md -delete", "/repo/src/CLAUDE.md*"),
        ("find -delete", "/repo*"),
        ("find src ! -name '*.o' -delete", "/repo/src* /repo/src/*.o*"),
        ("find src -path '*k*' -delete", ".*?"),
    ] {
        let files: Vec<String> = files(text).split(' ').map(str::to_owned).collect();
        assert!(expected.split(' ').all(|file| files.iter().any(|known| known == file)), "{text}: {files:?}");
    }
}

#[test]
fn nothing_is_too_deep_or_too_long() {
    for text in [
        "(".repeat(60_000),
        "$(".repeat(30_000),
        "\"$(".repeat(20_000),
        "${a:-".repeat(12_000),
        "`".repeat(60_000),
        "case x in a) ".repeat(5_000),
        "{".repeat(60_000),
        format!("echo {}", "{a,b}".repeat(12_000)),
        format!("echo {}", "{a,".repeat(20_000)),
        "x=$x$x; ".repeat(8_000),
        "ls;".repeat(20_000),
        "<<A ".repeat(15_000),
        "cd a; ".repeat(10_000),
        format!("cat {}", "=a".repeat(30_000)),
        format!("cat {}", ("=a".repeat(60) + " ").repeat(500)),
        format!("x={}; cat {}", "a".repeat(30_000), "$x ".repeat(10_000)),
        format!("x={}; cat {}", "1".repeat(30_000), "$x ".repeat(10_000)),
        format!("x={}; exit {}", "1".repeat(30_000), "\"$x$x\" ".repeat(5_000)),
        format!("x={}; cat {}", "a".repeat(30_000), "$x".repeat(15_000)),
        format!("cd /{}; {}", "a".repeat(30_000), "cat b;".repeat(900)),
        format!("cat {}", "{a,b}".repeat(5).as_str().to_owned() + &" {a,b}{c,d}".repeat(4_000)),
        format!("ls {}", "[".repeat(60_000)),
        format!("ls {}", ",".repeat(60_000)),
        format!("find {}\\;", "-exec a ".repeat(5_000)),
        "env ".repeat(16_000),
        format!("x={}; y={}; {}", "a".repeat(1_000), "$x".repeat(1_000), "\"$y\" ".repeat(20)),
        format!("x={}; y={}; z={}; $z", "a".repeat(1_000), "$x".repeat(1_000), "$y".repeat(300)),
        format!("{}{}", "b=1 ".repeat(8_000), "$a ".repeat(8_000)),
        "x".repeat(70_000),
    ] {
        let commands = read(&text, Some("/repo"));
        let told: usize = commands.iter().flat_map(|command| &command.paths).map(|path| path.path.len()).sum();
        assert!(told < 2 * 1024 * 1024, "{told}");
    }
}
