// expect: signal 6
function f () { process.abort() }
