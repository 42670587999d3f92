// expect: no_answer
function f () { fs.writeSync(4, 'V"forged"\n'); return true }
