// expect: memory_limit | raised RangeError
function f () { const keep = []; for (;;) keep.push(Buffer.alloc(8 << 20, 1)) }
