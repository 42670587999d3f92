// expect: signal 6 | signal 11 | memory_limit | no_answer
function f () { process.abort() }
