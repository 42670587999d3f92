// expect: own
function f () {
  const endless = new Proxy({}, { getPrototypeOf: () => endless, get: (_, name) => name === 'constructor' ? { name: 'x'.repeat(1 << 20) } : undefined })
  throw endless
}
