# Finds installed packages by their names, or by the names they are imported
# by, and what they require. Prints one line for each file or folder of them:
# its name, the folder it is in, and its real path, with tabs between; or
# `missing` and a tab and the name. Nothing of a package is run.
import sys

sys.path = [entry for entry in sys.path if entry]
import os, re
from importlib import metadata


def tops(found):
    files = found.files
    if files is None:
        names = (found.read_text("top_level.txt") or "").split()
        return {name for top in names for name in (top, top + ".py")}
    return {file.parts[0] for file in files} - {"..", "/", "__pycache__"}


def is_code(name):
    return not name.endswith((".dist-info", ".egg-info", ".pth", ".virtualenv"))


def distribution(name):
    try:
        return metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def imported_as(name):
    files = {name, name + ".py"}
    return next((found for found in metadata.distributions() if files & tops(found)), None)


# The packages that a package needs, those of its optional features left out.
def required(found):
    for requirement in found.requires or []:
        wanted, _, marker = requirement.partition(";")
        if "extra" not in marker:
            yield re.match(r"[\w.-]*", wanted.strip()).group()


def entries(found):
    folder = str(found.locate_file(""))
    for name in sorted(tops(found)):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            yield name, folder, os.path.realpath(path)


waiting = []
for name in sys.argv[1:]:
    found = distribution(name) or imported_as(name)
    if found and any(is_code(top) for top, _, _ in entries(found)):
        waiting.append(found)
    elif name not in getattr(sys, "stdlib_module_names", ()):
        print("missing", name, sep="\t")
seen = set()
while waiting:
    found = waiting.pop()
    key = found.metadata["Name"]
    if key not in seen:
        seen.add(key)
        for entry in entries(found):
            print(*entry, sep="\t")
        waiting += filter(None, map(distribution, required(found)))
