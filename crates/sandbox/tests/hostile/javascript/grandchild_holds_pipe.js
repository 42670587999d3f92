// expect: value "done"
function f () {
  require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: [0, 1, 2, 3, 4] }).unref()
  return 'done'
}
