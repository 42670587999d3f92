// expect: memory_limit
// A process that is not a child of the first of its namespace counts as well, and so do those it starts.
// memory: 128
function f () {
  require('child_process').spawn(process.execPath, ['-e', 'const k = []; for (;;) k.push(Buffer.alloc(1 << 20, 1))'], { detached: true, stdio: 'ignore' }).unref()
  for (;;);
}
