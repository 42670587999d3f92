//! Hosts that are set up by `proofmark setup`: images in folders, and this host with other files mounted in place of its own.

use super::*;

use std::os::unix::fs::MetadataExt;

/// An image of a host, with the accounts of a small system.
struct Image {
    folder: TempDir,
}

const UNIT: &str = "etc/systemd/system/proofmark.service";
const KEY: &str = "var/lib/proofmark/.local/share/proofmark/keys/default.pem";
const RECORD: &str = "etc/proofmark/setup.json";

impl Image {
    /// `None` after a skip.
    fn new() -> Option<Self> {
        if fs::metadata("/proc/self").map(|own| own.uid()).unwrap() != ROOT {
            proofmark_testing::skip("root", "only root makes accounts");
            return None;
        }
        let image = Self { folder: TempDir::new().unwrap() };
        open(image.folder.path());
        image.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
        image.write("etc/group", "root:x:0:\ndocker:x:5:\n");
        image.write("etc/shadow", "root:*:1::::::\n");
        image.write("etc/gshadow", "root:*::\ndocker:!::\n");
        // It is never started here.
        image.write("usr/local/bin/proofmark", "the program\n");
        image.write("policy.yaml", POLICY);
        fs::create_dir(image.at("home")).unwrap();
        Some(image)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn setup(&self, options: &[&str]) -> Output {
        let mut command = Command::new(BINARY);
        command.arg("setup").args(options).arg("--root").arg(self.folder.path());
        command.env("PROOFMARK_HOME", self.at("own")).output().unwrap()
    }

    fn set_up(&self, more: &[&str]) -> Output {
        let policy = self.at("policy.yaml").display().to_string();
        self.setup(&[&["--policy", &policy, "--agent", "agent", "--create-agent"], more].concat())
    }

    /// Every path with its mode, its owner and what it has, apart from what useradd and userdel keep for themselves.
    fn state(&self) -> Vec<(String, u32, u32, Vec<u8>)> {
        let (mut found, mut open) = (Vec::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let (path, about) = (entry.path(), entry.path().symlink_metadata().unwrap());
                let shown = path.strip_prefix(self.folder.path()).unwrap().display().to_string();
                let is_own = ["etc/subuid", "etc/subgid", "etc/.pwd.lock", "var/mail", "var/spool"]
                    .iter()
                    .any(|own| shown.starts_with(own));
                if is_own || shown.ends_with('-') {
                    continue;
                }
                let content = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                found.push((shown, about.mode(), about.uid(), content));
                open.extend(about.is_dir().then_some(path));
            }
        }
        found.sort();
        found
    }

    fn user(&self, name: &str) -> Option<u32> {
        let accounts = self.read("etc/passwd");
        let line = accounts.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        line.split(':').nth(2)?.parse().ok()
    }
}

#[test]
fn an_image_is_set_up_once_and_taken_back() {
    let Some(image) = Image::new() else { return };
    let before = image.state();
    let shown = image.set_up(&["--dry-run"]);
    assert!(shown.status.success(), "{}", said(&shown));
    for word in [
        "useradd",
        "ExecStart=/usr/local/bin/proofmark serve",
        "NoNewPrivileges=yes",
        "agent.separation in",
        "key new default",
    ] {
        assert!(said(&shown).contains(word), "{word} in {}", said(&shown));
    }
    assert_eq!(image.state(), before, "a dry run changes nothing");
    let done = image.set_up(&[]);
    assert!(done.status.success() && said(&done).contains("nothing was started"), "{}", said(&done));
    let judge = image.user("proofmark").unwrap();
    for (path, mode, owner) in [
        ("var/lib/proofmark", 0o40700, judge),
        (KEY, 0o100_600, judge),
        ("run/proofmark", 0o40755, judge),
        ("etc/proofmark/policy.yaml", 0o100_644, 0),
        (UNIT, 0o100_644, 0),
        (RECORD, 0o100_644, 0),
    ] {
        let about = fs::metadata(image.at(path)).unwrap();
        assert_eq!((about.mode(), about.uid()), (mode, owner), "{path}");
    }
    assert!(image.read("etc/passwd").contains("/usr/sbin/nologin") && image.user("agent").is_some());
    assert_eq!(image.read("etc/proofmark/policy.yaml"), POLICY);
    let made = image.state();
    let again = image.set_up(&["--json"]);
    assert!(again.status.success() && !said(&again).contains("\"made\""), "{}", said(&again));
    assert_eq!(image.state(), made, "a second run changes nothing");
    let tried = image.setup(&["--undo", "--dry-run"]);
    assert!(said(&tried).contains("would remove file") && !said(&tried).contains("removed"), "{}", said(&tried));
    assert!(said(&image.setup(&["--undo", "--dry-run", "--json"])).contains(r#""state":"would_remove""#));
    assert_eq!(image.state(), made, "it only says what would be done");
    // The key and the store stay, with the account that they belong to.
    let undone = image.setup(&["--undo"]);
    assert!(undone.status.success() && said(&undone).contains("--purge"), "{}", said(&undone));
    assert!(image.at(KEY).exists() && image.user("proofmark") == Some(judge) && !image.at(UNIT).exists());
    // What is left can be set up again.
    assert!(image.set_up(&[]).status.success());
    assert_eq!(image.state(), made);
    let purged = image.setup(&["--undo", "--purge"]);
    assert!(purged.status.success(), "{}", said(&purged));
    let left: Vec<String> = image.state().into_iter().map(|(path, ..)| path).collect();
    let was: Vec<String> = before.iter().map(|(path, ..)| path.clone()).collect();
    assert_eq!(left, was);
    assert_eq!((image.user("proofmark"), image.user("agent")), (None, None));
    assert!(said(&image.setup(&["--undo"])).contains("nothing was set up"));
}

#[test]
fn what_fails_half_way_is_taken_back() {
    let Some(image) = Image::new() else { return };
    // The folder of the unit cannot be made.
    image.write("etc/systemd", "something else");
    let before = image.state();
    let failed = image.set_up(&[]);
    assert!(failed.status.code() == Some(2), "{}", said(&failed));
    let after: Vec<_> =
        image.state().into_iter().filter(|(path, ..)| !before.iter().any(|(was, ..)| was == path)).collect();
    assert!(after.is_empty() && image.user("proofmark").is_none(), "{after:?} {}", said(&failed));
}

#[test]
fn what_was_changed_or_made_by_others_stays() {
    let Some(image) = Image::new() else { return };
    assert!(image.set_up(&[]).status.success());
    let policy = format!("{POLICY}\n# reviewed\n");
    fs::write(image.at("etc/proofmark/policy.yaml"), &policy).unwrap();
    image.write(&format!("{UNIT}.d/own.conf"), "[Service]\n");
    let again = image.set_up(&[]);
    assert!(again.status.success() && said(&again).contains("was changed since"), "{}", said(&again));
    assert_eq!(image.read("etc/proofmark/policy.yaml"), policy);
    let undone = image.setup(&["--undo", "--purge"]);
    assert!(said(&undone).contains("kept file /etc/proofmark/policy.yaml: it was changed since"), "{}", said(&undone));
    assert_eq!(image.read("etc/proofmark/policy.yaml"), policy);
    assert!(image.at(&format!("{UNIT}.d/own.conf")).exists());
    // A unit that nobody has recorded is somebody's.
    let Some(other) = Image::new() else { return };
    other.write(UNIT, "[Service]\n");
    let before = other.state();
    let refused = other.set_up(&[]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("was not made by"), "{}", said(&refused));
    assert_eq!(other.state(), before);
    // A record that others could write names what root would remove.
    fs::set_permissions(image.at(RECORD), Permissions::from_mode(0o666)).unwrap();
    assert!(said(&image.setup(&["--undo"])).contains("could have written it"));
}

#[test]
fn no_account_is_both_judge_and_agent() {
    let Some(image) = Image::new() else { return };
    let policy = image.at("policy.yaml").display().to_string();
    let setup = |more: &[&str]| image.setup(&[&["--policy", &policy], more].concat());
    for agent in ["root", "proofmark", "a b", "-x"] {
        let refused = setup(&[&format!("--agent={agent}"), "--create-agent"]);
        assert!(refused.status.code() == Some(2), "{agent}: {}", said(&refused));
    }
    let refused = setup(&["--agent", "agent"]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("--create-agent"), "{}", said(&refused));
    assert!(image.user("proofmark").is_none());
    // A link of an image may lead to this host.
    let outside = TempDir::new().unwrap();
    fs::create_dir_all(image.at("var")).unwrap();
    std::os::unix::fs::symlink(outside.path(), image.at("var/lib")).unwrap();
    let refused = setup(&[]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("is a link"), "{}", said(&refused));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// Mounts other files over those of this host that a set-up changes, for one process and what it starts. `sudo` is a program of the
/// test: it runs what it is given as the account, and has no password.
const MOUNTED: &str = r#"
mkdir "$T/etc" "$T/bin"
cp -a /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/login.defs /etc/nsswitch.conf "$T/etc/" 2>/dev/null || true
for name in ld.so.cache ld.so.conf ld.so.conf.d ssl pam.d alternatives; do cp -a "/etc/$name" "$T/etc/" 2>/dev/null || true; done
mount --bind "$T/etc" /etc
for folder in /var/lib /run /home; do mount -t tmpfs -o mode=0755 tmpfs $folder; done
mount --bind "$T/bin" /usr/local/bin
cat > /usr/local/bin/sudo <<'END'
#!/bin/sh
user=root
while :; do case "$1" in
  -u) user=$2; shift 2;;
  -H) shift;;
  -n) test -e /run/no-password; exit;;
  *) break;;
esac; done
home=$(getent passwd "$user" | cut -d: -f6)
exec setpriv --reuid="$user" --regid="$user" --init-groups env HOME="$home" USER="$user" "$@"
END
chmod 0755 /usr/local/bin/sudo
cd "$T/mine"
"#;

/// What a script says in a host of its own. `None` after a skip.
fn on_a_host(place: &Place, policy: &str, script: &str) -> Option<(bool, String)> {
    let can = Command::new("unshare").args(["--mount", "--propagation", "private", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        proofmark_testing::skip("namespaces", "this process may not have mounts of its own");
        return None;
    }
    fs::create_dir(place.at("mine")).unwrap();
    // As somebody has downloaded it.
    fs::hard_link(place.at("proofmark"), place.at("mine/proofmark")).unwrap();
    fs::write(place.at("mine/policy.yaml"), policy).unwrap();
    let file = place.at("script.sh");
    fs::write(&file, format!("set -eu\n{MOUNTED}\n{script}\n")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh"]).arg(&file);
    command.env_clear().env("T", place.folder.path()).env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.stdin(Stdio::null()).output().unwrap();
    Some((output.status.success(), said(&output)))
}

/// The commands of the section of the page about a laptop.
fn commands_of_the_page() -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/apart.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("A laptop")).unwrap().to_owned();
    section.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

/// A server that was started by hand, as the set-up says, until it answers.
const STARTED: &str = r#"
start=$(sudo proofmark setup --policy policy.yaml --agent agent --json | sed -n 's/.*"start":"\([^"]*\)".*/\1/p')
test -n "$start"
$start 2> server.log & server=$!
trap 'kill $server 2>/dev/null || true; wait' EXIT
until grep -q 'deciding for guards and hooks' server.log; do kill -0 $server; done
"#;

/// Commands need a person's approval.
const APPROVED: &str = "
version: 1
boundaries:
  - id: commands
    match: {action_class: system_change}
    require:
      - fact: agent.separation == 'account' && agent.account == 'agent'
      - approval: {role: owner}
";

#[test]
fn the_page_is_followed_once_on_a_host_of_its_own() {
    let Some(place) = Place::new() else { return };
    let commands = commands_of_the_page();
    let command = |begin: &str| {
        let found: Vec<&String> = commands.iter().filter(|command| command.starts_with(begin)).collect();
        assert_eq!(found.len(), 1, "{begin} in {commands:?}");
        found[0].clone()
    };
    let install = command("sudo install ");
    let set_up = command("sudo proofmark setup --policy");
    let serve = command("sudo -H -u proofmark /usr/local/bin/proofmark serve");
    let check = command("sudo proofmark setup --check");
    let key = command("sudo -H -u proofmark proofmark key new");
    let show = command("sudo -H -u proofmark proofmark key show");
    let add = command("sudo proofmark reviewer add");
    let approve = command("sudo -H -u proofmark proofmark decision approve").replace("97473953", "$id") + " --yes";
    let undo = command("sudo proofmark setup --undo");
    let script = format!(
        r#"
{install}
{set_up}
{STARTED}
test "$start" = '{serve}'
{key}
{show}
{add}
ask() {{
  printf '{{"session_id":"s1","transcript_path":"","cwd":"/home/agent","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"t%s"}}' $1 > event
  chmod 0644 event
  sudo -H -u agent proofmark hook claude --server unix:/run/proofmark/socket < event > answer
}}
last() {{ sudo -H -u proofmark proofmark decision list --json -n 1 | sed -n 's/.*"decision_id":"\([^"]*\)".*/\1/p'; }}
ask 1
grep -q '"deny"' answer
id=$(last)
sudo -H -u proofmark proofmark decision show $id --json | grep -o '"separation":"[a-z]*"'
{approve}
# The server looks at its files from time to time.
n=2
until ask $n && ! grep -q '"deny"' answer; do n=$((n + 1)); test $n -lt 1000; done
{check}
kill $server; wait $server || true
{undo}
test -e /var/lib/proofmark/.local/share/proofmark/proofmark.db
if test -e /etc/systemd/system/proofmark.service; then exit 1; fi
"#
    );
    let Some((is_done, said)) = on_a_host(&place, APPROVED, &script) else { return };
    assert!(is_done && said.contains(r#""separation":"account""#), "{said}");
}

#[test]
fn what_the_agent_reaches_is_told() {
    let Some(place) = Place::new() else { return };
    // Each way in, and how it is closed again.
    let ways = [
        ("chmod 0666 /etc/proofmark/policy.yaml", "can change the policy", "chmod 0644 /etc/proofmark/policy.yaml"),
        ("chmod 0777 /etc/proofmark", "can change the settings", "chmod 0755 /etc/proofmark"),
        (
            "chmod 0755 /var/lib/proofmark $D && chmod 0755 $D/.. $D/../.. $D/keys && chmod 0644 $D/keys/default.pem",
            "can read the key or the store",
            "chmod 0700 /var/lib/proofmark",
        ),
        ("chmod 0666 $U", "can change the unit", "chmod 0644 $U"),
        ("mkdir -m 0777 $U.d", "can change additions to the unit", "rmdir $U.d"),
        ("chmod 0777 /usr/local/bin", "can change the program", "chmod 0755 /usr/local/bin"),
        ("chown agent /run/proofmark", "can change the folder of the socket", "chown proofmark /run/proofmark"),
        ("groupadd -f docker && gpasswd -a agent docker", "as good as root: docker", "gpasswd -d agent docker"),
        ("touch /run/no-password", "as root without a password", "rm /run/no-password"),
        (
            "groupadd ops && gpasswd -a agent ops && chgrp ops /etc/proofmark/policy.yaml && chmod 0664 /etc/proofmark/policy.yaml",
            "can change the policy",
            "chmod 0644 /etc/proofmark/policy.yaml",
        ),
        (
            "mkdir $U.d && echo secret > $T/mine/keys.json && chmod 0644 $T/mine/keys.json && printf '[Service]\\nExecStart=\\nExecStart=/usr/local/bin/proofmark serve --api-keys %s\\n' $T/mine/keys.json > $U.d/own.conf",
            "can read the file of --api-keys",
            "rm -r $U.d",
        ),
        (
            "sudo -H -u agent sh -c 'mkdir ~/.claude && echo {} > ~/.claude/settings.json'",
            "has no hooks of proofmark",
            "sudo -H -u agent proofmark hook install claude --server unix:/run/proofmark/socket",
        ),
        (
            "sudo -H -u agent sh -c 'echo {\\\"mcpServers\\\":{\\\"a\\\":{\\\"command\\\":\\\"b\\\"}}} > ~/.claude.json'",
            "are not guarded: a",
            "sudo -H -u agent proofmark guard wrap /home/agent/.claude.json --server unix:/run/proofmark/socket",
        ),
        // A pipe does not keep the check waiting.
        (
            "sudo -H -u agent sh -c 'mkdir -p ~/.cursor && mkfifo ~/.cursor/mcp.json'",
            "mcp.json`: it is not a file",
            "rm /home/agent/.cursor/mcp.json",
        ),
    ];
    let tried: String = ways
        .iter()
        .enumerate()
        .map(|(at, (open, told, close))| {
            format!("{open}\ncheck > told 2>&1 && {{ cat told; echo 'not told: {at}'; exit 1; }}\ngrep -q '{told}' told || {{ cat told; echo 'not named: {at}'; exit 1; }}\n{close} > closed 2>&1 || {{ cat closed; exit 1; }}\n")
        })
        .collect();
    let script = format!(
        r#"
install -m 0755 proofmark /usr/local/bin/proofmark
proofmark setup --policy policy.yaml --agent agent --create-agent
{STARTED}
D=/var/lib/proofmark/.local/share/proofmark U=/etc/systemd/system/proofmark.service
check() {{ proofmark setup --check --agent agent "$@"; }}
check
{tried}
check
# The agent itself may ask, and an account that sees less does not know.
sudo -H -u agent proofmark setup --check --agent agent
useradd other
if sudo -u other proofmark setup --check --agent agent --json > told; then exit 1; fi
grep -q '"how":"modes"' told && grep -q '"unknown"' told
"#
    );
    let Some((is_done, said)) = on_a_host(&place, POLICY, &script) else { return };
    assert!(is_done, "{said}");
}
