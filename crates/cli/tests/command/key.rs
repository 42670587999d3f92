use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proofmark_receipt::{Json, SigningKey};

use crate::run::{Done, Place, RIGHT, request};

fn signer_id(done: &Done) -> String {
    let object = Json::parse(done.stdout.as_bytes()).unwrap();
    object.as_object().unwrap().get("signer_id").and_then(Json::as_str).unwrap().to_owned()
}

#[test]
fn a_new_key_is_private_and_never_overwritten() {
    let place = Place::new();
    let made = place.run(&["key", "new", "release", "--json"]);
    assert_eq!(made.code, 0, "{made:?}");
    let path = place.path("home/keys/release.pem");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&path).unwrap();
    let again = place.run(&["key", "new", "release"]);
    assert_eq!(again.code, 2);
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(signer_id(&place.run(&["key", "show", "release", "--json"])), signer_id(&made));
}

#[test]
fn a_key_is_shown_in_every_form() {
    let place = Place::new();
    place.run(&["key", "new"]);
    for (form, begins) in [
        ("signer-id", "MCowBQYDK2VwAyEA"),
        ("did-key", "did:key:z6Mk"),
        ("jwk", "{\"kty\":\"OKP\""),
        ("fingerprint", "sha256:"),
        ("pem", "-----BEGIN PUBLIC KEY-----"),
    ] {
        let done = place.run(&["key", "show", "--as", form]);
        assert!(done.code == 0 && done.stdout.starts_with(begins), "{form}: {done:?}");
    }
}

#[test]
fn a_passphrase_protects_a_key() {
    let place = Place::new();
    let secret = place.file("passphrase", "correct horse\n");
    assert_eq!(place.run(&["key", "new", "safe", "--passphrase-file", &secret]).code, 0);
    let stored = fs::read_to_string(place.path("home/keys/safe.pem")).unwrap();
    assert!(stored.contains("BEGIN ENCRYPTED PRIVATE KEY"));
    let head = ["receipt", "head", "--decisions", "--key", "safe"];
    place.run(&["decision", "list"]);
    let file = place.file("r.json", request(RIGHT));
    let verify = ["verify", &file, "--key", "safe"];
    let without = place.run(&verify);
    assert_eq!(without.code, 2, "{without:?}");
    let wrong = place.run_with(&verify, &[("PROOFMARK_PASSPHRASE", "battery staple")], b"");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(!wrong.stderr.contains("battery"), "{wrong:?}");
    let right = place.run_with(&verify, &[("PROOFMARK_PASSPHRASE", "correct horse")], b"");
    assert_eq!(right.code, 0, "{right:?}");
    assert_eq!(place.run(&head).code, 2);
}

/// Starts a command on a terminal of its own, waits for the prompt, and says whether the terminal shows what is typed then.
const AT_TERMINAL: &str = "
import os, pty, sys, termios
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
said = b''
def read():
    try:
        return os.read(terminal, 1000)
    except OSError:
        return b''
while b'passphrase of' not in said:
    more = read()
    if not more:
        sys.exit(said.decode())
    said += more
print('shown' if termios.tcgetattr(terminal)[3] & termios.ECHO else 'hidden')
os.write(terminal, sys.argv[1].encode() + b'\\n')
while more := read():
    said += more
print(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

#[test]
fn a_passphrase_is_not_shown_even_to_those_who_answer_the_prompt_at_once() {
    let place = Place::new();
    let secret = place.file("passphrase", "correct horse\n");
    assert_eq!(place.run(&["key", "new", "safe", "--passphrase-file", &secret]).code, 0);
    let file = place.file("request.json", request(RIGHT));
    let ask = |passphrase: &str| {
        let done = Command::new("python3")
            .args(["-c", AT_TERMINAL, passphrase, env!("CARGO_BIN_EXE_proofmark")])
            .args(["verify", &file, "--key", "safe"])
            .envs(place.home.variables())
            .env_remove("PROOFMARK_PASSPHRASE")
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let (code, said) = ask("correct horse");
    assert!(code == Some(0) && said.starts_with("hidden"), "{said}");
    assert!(said.contains("pass") && !said.contains("correct horse"), "{said}");
    // An empty line ends it.
    let (code, said) = ask("");
    assert!(code == Some(2) && said.contains("encrypted"), "{said}");
}

#[test]
fn the_public_half_of_an_encrypted_key_needs_no_passphrase() {
    let place = Place::new();
    let secret = place.file("passphrase", "correct horse\n");
    let made = place.run(&["key", "new", "safe", "--passphrase-file", &secret, "--json"]);
    let id = signer_id(&made);
    let half = place.path("home/keys/safe.pub");
    assert_eq!(signer_id(&place.run(&["key", "show", "safe", "--json"])), id);
    assert!(place.run(&["key", "list"]).stdout.contains(&id));
    // A key of an older version has none until it is used.
    fs::remove_file(&half).unwrap();
    let unknown = place.run(&["key", "show", "safe"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(place.run(&["key", "list"]).stdout.contains("encrypted"));
    let refused = place.run(&["receipt", "verify", "absent.json", "--trust", "safe"]);
    assert!(refused.code == 2 && refused.stderr.contains("key show safe"), "{refused:?}");
    assert_eq!(place.run(&["key", "show", "safe", "--passphrase-file", &secret]).code, 0);
    assert_eq!(signer_id(&place.run(&["key", "show", "safe", "--json"])), id);
    // Somebody else's half is not taken for the key's.
    let stranger = SigningKey::from_seed([9; 32]).signer();
    fs::write(&half, stranger.to_public_pem()).unwrap();
    let file = place.file("r.json", request(RIGHT));
    let done = place.run(&["verify", &file, "--key", "safe", "--passphrase-file", &secret]);
    assert!(done.code == 2 && done.stderr.contains("safe.pub"), "{done:?}");
    fs::set_permissions(&half, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(place.run(&["key", "show", "safe"]).code, 2);
}

#[test]
fn a_passphrase_that_is_not_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let output = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["key", "new"])
        .envs(place.home.variables())
        .env("PROOFMARK_PASSPHRASE", OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!place.path("home/keys/default.pem").exists());
}

#[test]
fn an_encrypted_key_of_openssh_is_imported_with_its_passphrase() {
    let place = Place::new();
    let path = place.path("id");
    let make = |rounds: &str| {
        let _ = fs::remove_file(&path);
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "horse", "-a", rounds, "-f"]).arg(&path).output()
    };
    if !make("1").is_ok_and(|output| output.status.success()) {
        proofmark_testing::skip("an_encrypted_key_of_openssh", "ssh-keygen is not installed");
        return;
    }
    let key = path.to_str().unwrap();
    let import = |passphrase: &str| {
        place.run_with(&["key", "import", key, "--json"], &[("PROOFMARK_PASSPHRASE", passphrase)], b"")
    };
    assert_eq!(place.run(&["key", "import", key]).code, 2);
    assert_eq!(import("hose").code, 2);
    let done = import("horse");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(fs::read_to_string(place.path("home/keys/default.pem")).unwrap().contains("ENCRYPTED"));
    // The public half that OpenSSH wrote is the same signer.
    let work = place.file("work.json", request(RIGHT));
    let issued = place.run_with(&["verify", &work, "--json"], &[("PROOFMARK_PASSPHRASE", "horse")], b"");
    let file = place.file("r.json", &issued.stdout);
    let public = format!("{key}.pub");
    let trusted = place.run(&["receipt", "verify", &file, "--trust", &public]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    let line = fs::read_to_string(&public).unwrap();
    let own = place.run(&["trust", "add", "own", line.trim(), "--for", "verification"]);
    assert!(own.code == 2 && own.stderr.contains("your own key `default`"), "{own:?}");
}

#[test]
fn keys_of_openssl_and_openssh_are_imported() {
    let place = Place::new();
    let openssl = place.path("openssl.pem");
    let openssh = place.path("id_ed25519");
    let by_openssl = Command::new("openssl").args(["genpkey", "-algorithm", "ed25519", "-out"]).arg(&openssl).output();
    let by_openssh = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&openssh).output();
    for (made, path, name) in [(by_openssl, &openssl, "openssl"), (by_openssh, &openssh, "openssh")] {
        if !made.is_ok_and(|output| output.status.success()) {
            proofmark_testing::skip(name, &format!("{name} is not installed"));
            continue;
        }
        let done = place.run(&["key", "import", path.to_str().unwrap(), "--name", name, "--json"]);
        assert_eq!(done.code, 0, "{name}: {done:?}");
        let receipt = place.receipt(&request(RIGHT), &["--key", name]);
        assert_eq!(receipt.signature().unwrap().signer_id, signer_id(&done));
    }
    // What we write, openssl reads.
    let ours = place.run(&["key", "new", "ours"]);
    let pem = place.path("home/keys/ours.pem");
    if let Ok(read) = Command::new("openssl").args(["pkey", "-noout", "-in"]).arg(&pem).output() {
        assert!(read.status.success(), "{ours:?} {read:?}");
    }
}

#[test]
fn a_key_others_can_read_does_not_sign() {
    let place = Place::new();
    place.run(&["key", "new"]);
    fs::set_permissions(place.path("home/keys/default.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let file = place.file("r.json", request(RIGHT));
    let done = place.run(&["verify", &file]);
    assert_eq!(done.code, 2);
    assert!(done.stdout.is_empty(), "{done:?}");
}

#[test]
fn bad_keys_and_names_are_refused_without_a_trace_of_their_content() {
    let place = Place::new();
    let seed = SigningKey::from_seed([9; 32]).to_pkcs8_pem();
    let damaged = place.file("damaged.pem", seed.replace("MC4", "MC5"));
    let done = place.run(&["key", "import", &damaged]);
    assert_eq!(done.code, 2);
    assert!(!done.stderr.contains("MC5"), "{done:?}");
    for name in ["../escape", ".hidden", "a/b", ""] {
        assert_eq!(place.run(&["key", "new", name]).code, 2, "{name}");
    }
    assert_eq!(place.run(&["key", "show", "absent"]).code, 2);
}

#[test]
fn keys_are_listed_by_name() {
    let place = Place::new();
    assert_eq!(place.run(&["key", "list"]).stdout, "");
    place.run(&["key", "new", "b"]);
    place.run(&["key", "new", "a"]);
    let names: Vec<String> = place
        .run(&["key", "list"])
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["a", "b"]);
}
