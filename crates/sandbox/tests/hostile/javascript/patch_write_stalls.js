// expect: timeout
// timeout: 500
function f () { fs.writeSync = () => 0; return 1 }
