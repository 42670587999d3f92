// expect: value "held"
function f () {
  const load = path => [path, () => { process.dlopen({ exports: {} }, path) }]
  return tried(Object.fromEntries(['/tmp/hostile.node', '@FOLDER@/secret'].map(load)))
}
