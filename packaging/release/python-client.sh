#!/bin/sh
# Writes the wheel of `proofmark-sdk` into FOLDER, with hatchling and pip of the Python that PYTHON names [default: python3].
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
begin_clients "$@"
# Of a copy, so that building leaves nothing in the sources.
tar -C "$root/clients/python" --exclude=__pycache__ -cf - pyproject.toml README.md LICENSE-APACHE LICENSE-MIT src | tar -C "$made" -xf -
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir "$folder" "$made" >&2
echo "$folder/proofmark_sdk-$version-py3-none-any.whl"
