// expect: no_answer
function f () { console.log('PASS'); process.exit(0) }
