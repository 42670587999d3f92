// expect: own
// then: value 2
// timeout: 2000
// The first process of the namespace shares its memory with the warm interpreter; no signal may reach it.
function f (n) {
  if (n === 1) return 2
  for (let signal = 1; signal < 32; signal++) { try { process.kill(1, signal) } catch {} }
  return 'alive'
}
