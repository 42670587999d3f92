// expect: value "marked"
// then: value "clean"
// What a case writes into any descriptor or object is not there for the next.
function f (n) {
  // Node.js wakes its own event loop by adding 1 to a counter, so a mark has another value.
  const mark = Buffer.from('\0\0\0\0\x55\0\0\0')
  const found = []
  for (let fd = 5; fd < 64; fd++) {
    if (n === 1) {
      try { if (fs.fstatSync(fd).isFIFO() || !fs.fstatSync(fd).isCharacterDevice()) found.push(...readable(fd)) } catch {}
    } else {
      try { fs.writeSync(fd, mark) } catch {}
    }
  }
  const modules = ['fs', 'vm', 'module', 'worker_threads', 'v8'].map(require)
  for (const one of [globalThis, Object.prototype, process, Buffer, ...modules]) {
    if (Object.hasOwn(one, 'proofmarkMark')) found.push('an object')
    Object.defineProperty(one, 'proofmarkMark', { value: 1 })
  }
  return n === 1 ? (found.length === 0 ? 'clean' : 'got through: ' + found.join(', ')) : 'marked'
}
// One that has nothing to read would be waited for.
function readable (fd) {
  const { spawnSync } = require('child_process')
  return spawnSync(process.execPath, ['-e', 'const read = Buffer.alloc(8); if (require("fs").readSync(0, read) === 8 && read[4] === 0x55) process.exit(9)'], { stdio: [fd, 'ignore', 'ignore'], timeout: 300 }).status === 9 ? [fd] : []
}
