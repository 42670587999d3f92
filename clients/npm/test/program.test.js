/** The command `proofmark` of the package: the same streams, signals and exit codes as the program that it runs. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { BINARY, folder, until } from "./support.js";

const PACKAGE = dirname(fileURLToPath(import.meta.resolve("proofmark/package.json")));
const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));

/** An installation with a package of this platform, whose program is a script, or else the real one. */
function installed(script) {
  const modules = join(folder(), "node_modules"), platform = join(modules, `@proofmark/cli-linux-${process.arch}`);
  for (const part of ["bin", "src", "package.json"]) cpSync(join(PACKAGE, part), join(modules, "proofmark", part), { recursive: true });
  mkdirSync(join(platform, "bin"), { recursive: true });
  writeFileSync(join(platform, "package.json"), JSON.stringify({ version }));
  const program = join(platform, "bin/proofmark");
  if (script === undefined) symlinkSync(BINARY, program);
  else writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { platform, command: join(modules, "proofmark/bin/proofmark.js") };
}

/** Runs the command to its end. */
function ran({ command }, words = [], input = "") {
  const { status, signal, stdout, stderr } = spawnSync(command, words, { input, env: { ...process.env, PROOFMARK_HOME: folder() } });
  return { status, signal, stdout: stdout.toString(), stderr: stderr.toString() };
}

test("the streams and the exit code are those of the program", () => {
  const real = installed();
  assert.match(ran(real, ["--version"]).stdout, new RegExp(`^proofmark ${version}\n$`));
  const request = expected => JSON.stringify({
    task: { task_id: "t" }, output: { content: "a" }, verification: { kind: "constraint_check", checks: [{ name: "c", constraint: `length == ${expected}` }] },
  });
  for (const [input, status, verdict] of [[request(1), 0, "pass"], [request(2), 1, "fail"], ["{}", 2, undefined]]) {
    const done = ran(real, ["verify", "-", "--json", "--no-store"], input);
    assert.deepEqual([done.status, JSON.parse(done.stdout).verdict], [status, verdict], done.stderr);
  }
  const echo = installed('printf "%s|" "$@"; cat; echo said >&2; exit 130');
  assert.deepEqual(ran(echo, ["a b", "", "--c"], "read"), { status: 130, signal: null, stdout: "a b||--c|read", stderr: "said\n" });
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  test(`${signal} is passed on`, async () => {
    const number = { SIGINT: "INT", SIGTERM: "TERM", SIGHUP: "HUP" }[signal];
    const { command } = installed(`trap 'echo got; exit 7' ${number}; echo ready; for i in $(seq 600); do sleep 0.05; done`);
    // A separate group, which is not in the foreground of a terminal.
    const child = spawn(command, { stdio: ["ignore", "pipe", "inherit"], detached: true });
    let said = "";
    child.stdout.on("data", chunk => { said += chunk; });
    const ended = new Promise(resolve => child.once("close", (...how) => resolve(how)));
    await until(() => said.includes("ready"));
    child.kill(signal);
    assert.deepEqual(await ended, [7, null]);
    assert.equal(said, "ready\ngot\n");
  });
}

test("the command ends by the signal that ended the program", () => {
  for (const signal of ["SIGTERM", "SIGKILL", "SIGINT"]) {
    const done = ran(installed(`kill -${signal.slice(3)} $$; sleep 5`));
    assert.deepEqual([done.status, done.signal], [null, signal]);
  }
});

test("a program that is missing, or another one, is named", () => {
  const other = installed("exit 0");
  writeFileSync(join(other.platform, "package.json"), JSON.stringify({ version: "0.0.1" }));
  const name = `@proofmark/cli-linux-${process.arch}`;
  let done = ran(other);
  assert.equal(done.status, 2);
  assert.equal(done.stderr, `error: \`${name}\` is 0.0.1, and \`proofmark\` is ${version}: install both in one version\n`);
  rmSync(other.platform, { recursive: true });
  done = ran(other);
  assert.equal(done.status, 2);
  assert.equal(done.stderr, `error: the package \`${name}\` ${version} is not installed: install without \`--omit=optional\` or \`--no-optional\`\n`);
  const broken = installed("exit 0");
  rmSync(join(broken.platform, "bin/proofmark"));
  done = ran(broken);
  assert.equal(done.status, 2);
  assert.match(done.stderr, /^error: failed to run `.*`: spawn .* ENOENT\n$/);
});

/** Runs a command in a new terminal, presses Ctrl-C when it is ready, and prints what it said. */
const TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said, pressed = b"", False
while True:
    try:
        more = os.read(terminal, 1000)
    except OSError:
        break
    if not more:
        break
    said += more
    if b"ready" in said and not pressed:
        pressed = True
        os.write(terminal, b"\\x03")
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

test("Ctrl-C in a terminal reaches the program once", () => {
  // The second one would end the program at once, before it says how far it got.
  const { command } = installed("n=0; trap 'n=$((n+1))' INT; echo ready; for i in $(seq 600); do [ $n = 0 ] || break; sleep 0.05; done; sleep 0.3; echo \"interrupts $n\"; exit 130");
  const done = spawnSync("python3", ["-c", TERMINAL, command]);
  assert.equal(done.status, 130, String(done.stderr));
  assert.match(String(done.stdout), /interrupts 1\r\n$/);
});
