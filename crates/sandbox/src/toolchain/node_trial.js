// What every leaf of a trial does: a fork that breaks node should break one of these.
const fails = () => { throw new Error('later') }
const failsLater = () => new Promise(() => setTimeout(fails, 1))
const waitsForEver = () => new Promise(() => {})
const collected = () => {
  let kept = []
  for (let i = 0; i < 200000; i++) kept.push({ i })
  return kept.length
}
const compiled = () => {
  let sum = 0
  for (let i = 0; i < 300000; i++) sum += i % 7
  return sum
}
const works = async () => [
  await new Promise(resolve => setTimeout(resolve, 1, 'timer')),
  await new Promise(resolve => setImmediate(resolve, 'immediate')),
  await require('fs').promises.readFile('/dev/null').then(() => 'file'),
  await new Promise((resolve, reject) => require('zlib').deflate('x', error => error ? reject(error) : resolve('deflated'))),
  await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => 'module'),
  await import('node:os').then(() => 'import'),
  collected(),
  compiled()
]
