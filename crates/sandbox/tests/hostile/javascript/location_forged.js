// expect: raised Error
// then: timeout
// timeout: 2000
const f = n => {
  const error = new Error('forged\n    at f (submission.js:99999999999999999999:1)')
  if (n) Object.defineProperty(error, 'stack', { get () { for (;;); } })
  error.cause = error
  throw error
}
