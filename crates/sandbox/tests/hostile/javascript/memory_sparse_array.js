// expect: memory_limit | timeout | raised RangeError
// timeout: 3000
function f () { return new Array(2 ** 32 - 1) }
