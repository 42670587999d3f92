#!/usr/bin/env python3
"""Packs a `proofmark` that has been built into the wheel `proofmark-bin`. Needs Python 3.11 and nothing else.

    wheel.py PROGRAM FOLDER        writes the wheel and prints its path

The tag names the oldest glibc that the program can run with, which is read from the program.
"""

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import elf

FOLDER = Path(__file__).resolve().parent
PACKAGE = FOLDER.parent / "clients/python-bin"
# The libraries that a Rust program may be linked with, and that every Linux has by PEP 600.
LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread)\.so\.\d+|libgcc_s\.so\.1|ld-linux-(x86-64|aarch64)\.so\.\d")
# pip has no older name for 64-bit ARM, and an older glibc needs none.
OLDEST = (2, 17)
# The earliest time that a ZIP archive can have. With the same files, the wheel has the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)
MODE = 0o644
# The level of compression, 0 to 9. Tests use a low one, which is faster.
LEVEL = int(os.environ.get("PACK_LEVEL", "9"))
PROGRAM_MODE = 0o755


class Refused(Exception):
    """Why a wheel cannot be made. The message completes "failed to"."""


def main(program, folder):
    version = workspace_version()
    check_version(program, version)
    needed = elf.needs(program)
    foreign = [name for name in needed.libraries if not LIBRARIES.fullmatch(name)]
    if foreign:
        raise Refused(f"pack `{program}`: it needs {', '.join(foreign)}, which not every Linux has")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{python_version(version)}"
    tags = platforms(needed)
    files = contents(project, name, version, program, tags)
    path = Path(folder) / f"{name}-py3-none-{'.'.join(tags)}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, files, f"{name}.dist-info/RECORD")
    return path


def workspace_version():
    return subprocess.run([FOLDER / "version.sh"], check=True, capture_output=True, text=True).stdout.strip()


def check_version(program, version):
    """A program of another version would be published under this one."""
    try:
        said = subprocess.run([os.path.abspath(program), "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"start `{program}`: {error}") from error
    if said.stdout.strip() != f"proofmark {version}":
        raise Refused(f"pack `{program}`: it says that it is `{said.stdout.strip()}`, and the workspace is {version}")


def python_version(version):
    """A version of Cargo in the form of PEP 440: `1.2.0-rc.1` is `1.2.0rc1`."""
    parts = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if not parts:
        raise Refused(f"write the version `{version}` as Python has it: use 1.2.3, or 1.2.3-rc.1")
    short = {"alpha": "a", "beta": "b", "rc": "rc", None: ""}[parts[2]]
    return f"{parts[1]}{short}{parts[3] or ''}"


def platforms(needed):
    major, minor = max(needed.glibc, OLDEST)
    names = [f"manylinux_{major}_{minor}_{needed.machine}"]
    # Installers from before PEP 600 know this one.
    return names + [f"manylinux2014_{needed.machine}"] * ((major, minor) == OLDEST)


def contents(project, name, version, program, tags):
    """Each path of the wheel with its mode and its bytes."""
    information = f"{name}.dist-info"
    source = PACKAGE / "python"
    files = {path.relative_to(source).as_posix(): (MODE, path.read_bytes()) for path in sorted(source.glob("proofmark_bin/*.*"))}
    files[f"{name}.data/scripts/proofmark"] = (PROGRAM_MODE, Path(program).read_bytes())
    for license in project["license-files"]:
        files[f"{information}/licenses/{license}"] = (MODE, (PACKAGE / license).read_bytes())
    files[f"{information}/METADATA"] = (MODE, metadata(project, version).encode())
    wheel = ["Wheel-Version: 1.0", "Generator: proofmark", "Root-Is-Purelib: false", *(f"Tag: py3-none-{tag}" for tag in tags)]
    files[f"{information}/WHEEL"] = (MODE, "".join(f"{line}\n" for line in wheel).encode())
    return files


def metadata(project, version):
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {python_version(version)}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {license}" for license in project["license-files"]),
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown; charset=UTF-8",
    ]
    return "\n".join(lines) + "\n\n" + (PACKAGE / project["readme"]).read_text()


def write(path, files, record):
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, (_, content) in files.items()]
    files[record] = (MODE, "".join([*lines, f"{record},,\n"]).encode())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name, (mode, content) in files.items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, LEVEL)
    path.write_bytes(buffer.getvalue())


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py PROGRAM FOLDER")
    try:
        print(main(*sys.argv[1:]))
    except elf.NotSuchAProgram as error:
        print(f"error: failed to pack `{sys.argv[1]}`: {error}", file=sys.stderr)
        sys.exit(2)
    except (OSError, Refused) as error:
        print(f"error: failed to {error if isinstance(error, Refused) else f'make the wheel: {error}'}", file=sys.stderr)
        sys.exit(2)
