// expect: value "held" | raised | timeout
// timeout: 1500
// A debugger must not open a port or stop the process from outside.
function f () {
  const inspector = require('inspector')
  try { inspector.open(0, '127.0.0.1', false) } catch { return 'held' }
  return inspector.url() === undefined ? 'held' : 'got through: ' + inspector.url()
}
