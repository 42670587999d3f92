// expect: value 1
function f (n) { return n + 1 }
