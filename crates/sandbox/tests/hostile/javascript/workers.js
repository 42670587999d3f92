// expect: own
// timeout: 2000
function f () {
  const { Worker } = require('worker_threads')
  for (let i = 0; i < 64; i++) new Worker('for (;;) {}', { eval: true }).on('error', () => {})
  for (;;) {}
}
