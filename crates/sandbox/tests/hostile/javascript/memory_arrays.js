// expect: memory_limit
function f () { const keep = []; for (;;) keep.push(new Array(10000).fill(keep.length)) }
