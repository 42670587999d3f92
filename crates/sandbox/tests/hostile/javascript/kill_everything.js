// expect: own
// then: value 2
// timeout: 2000
function f (n) {
  if (n === 1) return 2
  for (const pid of [-1, 0, 1, process.ppid, Number('@PID@')]) {
    for (const signal of ['SIGSTOP', 'SIGKILL', 'SIGINT', 'SIGTERM']) { try { process.kill(pid, signal) } catch {} }
  }
  return 'alive'
}
