// expect: no_answer | value "held"
// then: value 2
// A leaf that calls what forks leaves has no supervisor to talk to, and no right to make namespaces.
function f (n) {
  if (n === 1) return 2
  const loaded = { exports: {} }
  try { process.dlopen(loaded, '/proofmark.node') } catch { return 'held' }
  loaded.exports.serve()
  return 'got through'
}
