"""An environment of Harbor that needs no container engine: its commands run on this host, in a root with folders of their own."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

FOLDERS = ("app", "logs", "programs", "solution", "tests")
"""What this root has of its own. The rest is the host's."""

ENTER = f"""
mount -t tmpfs none "$0"
for entry in /*; do
  if [ -L "$entry" ]; then cp -P "$entry" "$0$entry"
  # A user namespace gets no folder of the host without what is mounted below it.
  elif [ -d "$entry" ]; then mkdir "$0$entry"; mount --rbind "$entry" "$0$entry"; fi
done
for folder in {" ".join(FOLDERS)}; do
  mkdir -p "$0/$folder"
  mount --bind "$0.$folder" "$0/$folder"
done
# Not `chroot`: there the sandbox of Proofmark gets no user namespaces.
mkdir "$0/host"
cd "$0"
pivot_root . host
umount -l /host
rmdir /host
cd /app
exec "$@"
"""
"""`$0` is an empty folder for the root, and `$0.app` is what the root has as `/app`."""

PATH = "/programs:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def made(root: Path) -> Path:
    """A root, with empty folders."""
    for folder in (root, *(Path(f"{root}.{name}") for name in FOLDERS)):
        folder.mkdir(parents=True)
    return root


def entered(root: Path) -> list[str]:
    """What a command starts with that runs in this root."""
    enter = ["--mount", "sh", "-ec", ENTER, str(root)]
    if os.geteuid() == 0:
        return ["unshare", *enter]
    # Another user may mount in a user namespace only. A second one gives back the own number, which the sandbox of Proofmark needs.
    again = [f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}"]
    return ["unshare", "--user", "--map-root-user", *enter, "unshare", "--user", *again]


class Host(BaseEnvironment):
    """Its image has the program `proofmark`, that of PROOFMARK_BINARY."""

    @staticmethod
    def type() -> str:
        return "host"

    def _validate_definition(self) -> None:
        pass

    @property
    def root(self) -> Path:
        # A separate environment of the verifier has the same trial, but another session.
        return Path(self.trial_paths.trial_dir, "hosts", self.session_id, "root").resolve()

    async def start(self, force_build: bool) -> None:
        made(self.root)
        Path(f"{self.root}.programs/proofmark").symlink_to(os.environ["PROOFMARK_BINARY"])
        await self.ensure_dirs(self._mount_targets())

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root.parent)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        pipe = asyncio.subprocess.PIPE
        started = [*entered(self.root), "bash", "-c", command if cwd is None else f"cd {shlex.quote(cwd)} && {command}"]
        variables = {"HOME": "/programs", "PATH": PATH, **(self._merge_env(env) or {})}
        process = await asyncio.create_subprocess_exec(*started, env=variables, stdout=pipe, stderr=pipe)
        stdout, stderr = await process.communicate()
        return ExecResult(stdout=stdout.decode(), stderr=stderr.decode(), return_code=await process.wait())

    async def _copy(self, source: str, target: str) -> None:
        """Copies in either direction: the root shows the folders of the host, too."""
        parent = shlex.quote(os.path.dirname(target))
        done = await self.exec(f"mkdir -p {parent} && cp -aT {shlex.quote(source)} {shlex.quote(target)}")
        if done.return_code != 0:
            raise RuntimeError(done.stderr)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._copy(os.path.abspath(source_path), target_path)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._copy(os.path.abspath(source_dir), target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self._copy(source_path, os.path.abspath(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._copy(source_dir, os.path.abspath(target_dir))
