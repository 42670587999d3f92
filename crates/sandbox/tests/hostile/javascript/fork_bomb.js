// expect: own
// timeout: 2000
const source = "const c = require('child_process'); for (let i = 0; i < 9; i++) c.spawn(process.execPath, ['-e', process.argv[1], process.argv[1]], { detached: true, stdio: 'ignore' }).on('error', () => {}).unref(); setInterval(() => {}, 1000)"
function f () {
  const c = require('child_process')
  for (let i = 0; i < 9; i++) c.spawn(process.execPath, ['-e', source, source], { detached: true, stdio: 'ignore' }).on('error', () => {})
  for (;;) {}
}
