"""Checks the files of a release, in the folder that has them."""

import base64
import csv
import hashlib
import io
import re
import tarfile
import unittest
import zipfile
from pathlib import Path

SUMS = Path("SHA256SUMS")
# The names of each processor in the names of archives.
PROCESSORS = {"x86_64": "x86_64", "aarch64": "aarch64", "amd64": "x86_64", "arm64": "aarch64", "x64": "x86_64"}


def files(pattern):
    return sorted(Path().glob(pattern))


def program_of_archive(path):
    with tarfile.open(path) as archive:
        return archive.extractfile(f"{path.name[: -len('.tar.gz')]}/proofmark").read()


def program_of_wheel(path):
    with zipfile.ZipFile(path) as wheel:
        return next(wheel.read(name) for name in wheel.namelist() if name.endswith(".data/scripts/proofmark"))


def program_of_npm(path):
    with tarfile.open(path) as archive:
        return archive.extractfile("package/bin/proofmark").read()


def members_of_deb(path):
    """The files of an `ar` archive."""
    data = path.read_bytes()
    assert data[:8] == b"!<arch>\n"
    found, at = {}, 8
    while at < len(data):
        name, size = data[at : at + 16].decode().strip(" /"), int(data[at + 48 : at + 58])
        found[name] = data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    return found


def program_of_deb(path):
    members = members_of_deb(path)
    data = next(content for name, content in members.items() if name.startswith("data.tar"))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return archive.extractfile("./usr/bin/proofmark").read()


class Release(unittest.TestCase):
    def test_the_sums_are_those_of_every_file(self):
        lines = SUMS.read_text().splitlines()
        said = dict(reversed(line.split("  ", 1)) for line in lines)
        there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files("*") if path != SUMS and path.suffix != ".py"}
        self.assertEqual(said, there)
        self.assertEqual(len(lines), len(said))

    def test_all_packages_have_one_version(self):
        # Cargo, Python and Debian write 1.2.0-rc.1, 1.2.0rc1 and 1.2.0~rc.1.
        form = re.compile(r"(\d+\.\d+\.\d+)(?:[-~]?(a|b|rc)[a-z]*\.?(\d+))?")
        found = {path.name: form.search(path.name).groups() for path in files("*proofmark*")}
        self.assertEqual(len(set(found.values())), 1, found)

    def test_all_packages_of_a_processor_have_one_program(self):
        programs = {}
        packed = {
            "proofmark-*.tar.gz": program_of_archive,
            "proofmark_bin-*.whl": program_of_wheel,
            "proofmark-cli-*.tgz": program_of_npm,
            "*.deb": program_of_deb,
        }
        for pattern, program in packed.items():
            for path in files(pattern):
                name = next(name for name in PROCESSORS if re.search(rf"[_-]{name}\b", path.name))
                programs.setdefault(PROCESSORS[name], {})[path.name] = hashlib.sha256(program(path)).hexdigest()
        self.assertTrue(programs)
        for processor, found in programs.items():
            self.assertEqual(len(found), len(packed), found)
            self.assertEqual(len(set(found.values())), 1, f"{processor}: {found}")

    def test_wheels_record_what_they_have(self):
        for path in files("*.whl"):
            with zipfile.ZipFile(path) as wheel:
                record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
                rows = {name: digest for name, digest, _ in csv.reader(io.StringIO(wheel.read(record).decode()))}
                self.assertEqual(set(rows), set(wheel.namelist()))
                for name in set(rows) - {record}:
                    digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual(rows[name], f"sha256={digest}", name)

    def test_archives_have_pages_completions_and_licences(self):
        for path in files("proofmark-*.tar.gz"):
            folder = path.name[: -len(".tar.gz")]
            with tarfile.open(path) as archive:
                names = set(archive.getnames())
            for name in ("man/man1/proofmark.1", "man/man1/proofmark-verify.1", "completions/proofmark.bash", "LICENSE-MIT", "LICENSE-APACHE"):
                self.assertIn(f"{folder}/{name}", names)


if __name__ == "__main__":
    unittest.main()
