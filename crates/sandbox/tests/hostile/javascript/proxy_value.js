// expect: own
// timeout: 1500
function f () {
  return new Proxy([], { get: (t, k) => k === 'length' ? 2 ** 53 - 1 : k === Symbol.iterator ? undefined : 1 })
}
