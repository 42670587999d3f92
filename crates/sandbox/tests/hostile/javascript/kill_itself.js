// expect: signal 9
// then: signal 15
function f (n) { process.kill(process.pid, n ? 'SIGTERM' : 'SIGKILL'); for (;;); }
