// expect: no_answer | timeout
// timeout: 2000
function f () { return new Promise(() => {}) }
