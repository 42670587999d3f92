// expect: own
// then: value "clean"
function f (n) {
  if (n === 1) return JSON.stringify([1]) === '[1]' && [1].map(x => x + 1)[0] === 2 ? 'clean' : 'patched'
  JSON.stringify = () => '"lie"'
  Array.from = Array.prototype.map = () => ['lie']
  Array.isArray = () => true
  Object.getPrototypeOf = () => null
  Number.isSafeInteger = () => true
  Buffer.from = () => ({ length: 0, subarray: () => [] })
  fs.writeSync = () => 0
  return { a: 1 }
}
