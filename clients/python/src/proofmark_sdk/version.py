"""The version of this package."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("proofmark-sdk")
except PackageNotFoundError:
    # Not installed: the sources are on the path.
    VERSION = "0+source"
