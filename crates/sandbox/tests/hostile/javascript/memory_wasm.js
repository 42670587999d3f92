// expect: memory_limit | raised RangeError
function f () {
  const keep = []
  for (;;) { const m = new WebAssembly.Memory({ initial: 512 }); new Uint8Array(m.buffer).fill(1); keep.push(m) }
}
