// expect: own
// timeout: 1500
function f () {
  Object.prototype.then = function (done) { done('lie') }
  Object.defineProperty(Object.prototype, 'constructor', { get () { throw new Error('no') } })
  return {}
}
