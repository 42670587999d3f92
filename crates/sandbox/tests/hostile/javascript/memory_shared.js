// expect: memory_limit | raised RangeError
function f () { const keep = []; for (;;) { const b = new Uint8Array(new SharedArrayBuffer(8 << 20)); b.fill(1); keep.push(b) } }
