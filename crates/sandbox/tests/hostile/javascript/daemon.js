// expect: value "started"
function f () {
  const c = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' })
  c.on('error', () => {})
  c.unref()
  return 'started'
}
