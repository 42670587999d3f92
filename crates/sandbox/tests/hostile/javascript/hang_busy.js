// expect: timeout
// timeout: 400
function f () { for (;;) {} }
