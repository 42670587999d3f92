#!/usr/bin/env python3
"""Reads what a program needs: its processor, its libraries and the oldest glibc.

    elf.py PROGRAM        prints `x86_64 2.34`
"""

import mmap
import re
import struct
import sys
from dataclasses import dataclass

# The largest program that is read, in bytes.
MAX_PROGRAM = 1 << 30
# The most entries of a table that are read.
MAX_ENTRIES = 4096

# e_machine (elf(5)), and the name of the processor as packages have it.
MACHINES = {62: "x86_64", 183: "aarch64"}
DYNAMIC = 6
VERNEED = 0x6FFFFFFE
NEEDED = 1


class NotSuchAProgram(ValueError):
    """The file is not a program for 64-bit Linux that is linked with glibc."""


@dataclass(frozen=True)
class Needs:
    machine: str
    libraries: "tuple[str, ...]"
    glibc: "tuple[int, int]"


def needs(path):
    """Returns the `Needs` of the program at this path."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        if size < 64:
            raise NotSuchAProgram("it is not a 64-bit ELF file")
        if size > MAX_PROGRAM:
            raise NotSuchAProgram(f"it has {size} bytes")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _read(data)
            except (struct.error, IndexError, UnicodeDecodeError) as error:
                raise NotSuchAProgram("its tables are damaged") from error


def _read(data):
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotSuchAProgram("it is not a 64-bit ELF file")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in MACHINES:
        raise NotSuchAProgram(f"it is for another processor than {' or '.join(MACHINES.values())}")
    sections = _sections(data)
    libraries = tuple(
        _text(data, sections, link, value)
        for kind, link, offset, size in sections
        if kind == DYNAMIC
        for tag, value in struct.iter_unpack("<QQ", data[offset : offset + size // 16 * 16])
        if tag == NEEDED
    )
    versions = [version for section in sections if section[0] == VERNEED for version in _versions(data, sections, section)]
    numbers = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version) for version in versions]
    found = [(int(number[1]), int(number[2])) for number in numbers if number]
    if not found:
        raise NotSuchAProgram("it is not linked with glibc")
    return Needs(MACHINES[machine], libraries, max(found))


def _sections(data):
    """Each section as its kind, the section that it refers to, where it begins and its length."""
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    if count > MAX_ENTRIES:
        raise NotSuchAProgram(f"it has {count} sections")
    found = []
    for number in range(count):
        kind, offset, length, link = struct.unpack_from("<4xI16xQQI", data, start + number * size)
        found.append((kind, link, offset, length))
    return found


def _text(data, sections, section, offset):
    start = sections[section][2] + offset
    end = data.find(b"\0", start, start + 4096)
    if end < 0:
        raise NotSuchAProgram("a name in it has no end")
    return data[start:end].decode()


def _versions(data, sections, section):
    """The versions of symbols that are needed (`Elf64_Verneed` and `Elf64_Vernaux`)."""
    _, link, at, _ = section
    for _ in range(MAX_ENTRIES):
        _, count, _, inner, following = struct.unpack_from("<HHIII", data, at)
        entry = at + inner
        for _ in range(count):
            _, _, _, name, after = struct.unpack_from("<IHHII", data, entry)
            yield _text(data, sections, link, name)
            entry += after
        if following == 0:
            return
        at += following
    raise NotSuchAProgram("it needs too many libraries")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: elf.py PROGRAM")
    try:
        found = needs(sys.argv[1])
    except (OSError, NotSuchAProgram) as error:
        print(f"error: failed to read the program `{sys.argv[1]}`: {error}", file=sys.stderr)
        sys.exit(2)
    print(found.machine, ".".join(map(str, found.glibc)))
