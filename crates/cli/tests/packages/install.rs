//! `install.sh`, against a server of files.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_testing::has_program;
use tempfile::TempDir;

use crate::made::{Packages, VERSION, ends_with, run, script};

/// A release behind an address, and a user's home.
struct Download {
    release: TempDir,
    home: TempDir,
    address: String,
}

impl Download {
    fn new() -> Option<Self> {
        let packages = Packages::new()?;
        if !has_program("curl", "curl") {
            return None;
        }
        let (release, home) = (packages.copy(), TempDir::new().unwrap());
        let address = serve(release.path().to_owned());
        Some(Self { release, home, address })
    }

    fn archive(&self) -> PathBuf {
        let name = format!("proofmark-{VERSION}-{}-unknown-linux-gnu.tar.gz", std::env::consts::ARCH);
        self.release.path().join(name)
    }

    fn sums(&self) -> PathBuf {
        self.release.path().join("SHA256SUMS")
    }

    fn installed(&self) -> PathBuf {
        self.home.path().join(".local/bin/proofmark")
    }

    fn install(&self) -> Command {
        let mut install = script("install.sh");
        install.env("HOME", self.home.path()).env("PROOFMARK_BASE_URL", &self.address);
        install.env_remove("PROOFMARK_BIN_DIR").env_remove("PROOFMARK_HOME");
        install
    }

    /// The installation is refused with these words, and keeps the existing program.
    fn is_refused(&self, says: &str) {
        let before = fs::read(self.installed()).unwrap();
        let said = ends_with(&mut self.install(), 2);
        assert!(said.contains("error: failed to ") && said.contains(says), "{says}: {said}");
        assert_eq!(fs::read(self.installed()).unwrap(), before);
        let names = fs::read_dir(self.installed().parent().unwrap()).unwrap().count();
        assert_eq!(names, 1, "no part of a file is left");
    }
}

/// Answers requests for the files of a folder, for as long as the test runs.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(answer(stream, &folder))));
    address
}

fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // The head ends with an empty line.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, content) = match fs::read(folder.join(name)) {
        Ok(content) => ("200 OK", content),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len())?;
    stream.write_all(&content)
}

#[test]
fn a_release_is_installed_for_this_user() {
    let Some(download) = Download::new() else { return };
    let done = run(&mut download.install());
    assert!(done.contains(&format!("installed proofmark {VERSION} in ")) && done.contains("isolation"), "{done}");
    assert!(done.contains("add it to your path"), "{done}");
    assert_eq!(run(Command::new(download.installed()).arg("--version")).trim(), format!("proofmark {VERSION}"));
    // Once more, over the program that is there, and into another folder.
    let elsewhere = download.home.path().join("a folder");
    run(&mut download.install());
    run(download.install().env("PROOFMARK_BIN_DIR", &elsewhere));
    assert!(elsewhere.join("proofmark").exists());
}

#[test]
fn what_is_damaged_or_forged_is_refused_and_the_old_program_stays() {
    let Some(download) = Download::new() else { return };
    fs::create_dir_all(download.installed().parent().unwrap()).unwrap();
    fs::write(download.installed(), "the old one").unwrap();
    let (archive, sums) = (fs::read(download.archive()).unwrap(), fs::read_to_string(download.sums()).unwrap());
    let mut changed = archive.clone();
    *changed.last_mut().unwrap() ^= 1;
    for damaged in [&changed, &archive.get(..archive.len() / 2).unwrap().to_vec(), &Vec::new()] {
        fs::write(download.archive(), damaged).unwrap();
        download.is_refused("it is not the file that SHA256SUMS names; nothing was installed");
    }
    fs::remove_file(download.archive()).unwrap();
    download.is_refused("fetch `http://127.0.0.1:");
    fs::write(download.archive(), &archive).unwrap();
    // Sums that name no archive, several, or one elsewhere.
    let line = sums.lines().find(|line| line.ends_with(".tar.gz")).unwrap();
    let name = line.split("  ").nth(1).unwrap();
    for other in [
        String::new(),
        format!("{line}\n{line}\n"),
        sums.replace(std::env::consts::ARCH, "riscv64"),
        line.replace(name, &format!("../{name}")),
        line.replace(name, &format!("proofmark-/../{name}")),
        "<html>sign in</html>\n".to_owned(),
    ] {
        fs::write(download.sums(), &other).unwrap();
        download.is_refused("find one archive for ");
    }
    fs::remove_file(download.sums()).unwrap();
    download.is_refused("/SHA256SUMS`");
    // An archive with the right sum and another program in it, which does not start.
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join(name.strip_suffix(".tar.gz").unwrap());
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("proofmark"), "#!/absent\n").unwrap();
    run(Command::new("tar")
        .arg("-C")
        .arg(folder.path())
        .arg("-czf")
        .arg(download.archive())
        .arg(inside.file_name().unwrap()));
    run(script("release/sums.sh").arg(download.release.path()));
    download.is_refused("it does not run on this machine");
}

#[test]
fn an_address_has_to_be_named_and_safe() {
    let Some(download) = Download::new() else { return };
    let refused = |address: &str| ends_with(download.install().env("PROOFMARK_BASE_URL", address), 2);
    assert!(refused("").contains("PROOFMARK_BASE_URL"));
    for address in
        ["http://example.org/x", "ftp://example.org", "file:///tmp", "--help", "http://127.0.0.1.example.org:80"]
    {
        assert!(refused(address).contains("begins with https://"), "{address}");
    }
    assert!(refused("http://127.0.0.1:80@example.org").contains("without a user"));
    assert!(!download.installed().exists());
}

#[test]
fn a_folder_in_place_of_the_program_is_refused_before_anything_is_fetched() {
    let Some(download) = Download::new() else { return };
    fs::create_dir_all(download.installed()).unwrap();
    // Nothing answers at this address.
    let said = ends_with(download.install().env("PROOFMARK_BASE_URL", "https://127.0.0.1:1"), 2);
    assert!(said.contains("error: failed to ") && said.contains("/proofmark` is a folder"), "{said}");
    assert_eq!(fs::read_dir(download.installed()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(download.installed().parent().unwrap()).unwrap().count(), 1);
}
