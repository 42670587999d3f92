// expect: memory_limit | raised RangeError | output_limit
function f () { let s = 'x'; for (;;) s += s }
