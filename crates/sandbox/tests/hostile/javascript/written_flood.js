// expect: value "calm"
// memory: 128
const f = () => {
  for (let i = 0; i < 200; i++) {
    console.log('x'.repeat(100000))
    console.error('\u001b[31m'.repeat(20000))
  }
  return 'calm'
}
