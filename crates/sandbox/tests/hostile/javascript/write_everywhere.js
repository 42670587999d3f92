// expect: value "held"
function f () {
  const write = path => [path, () => { fs.writeFileSync(path + '/hostile-file', 'x') }]
  return tried(Object.fromEntries(['', '/tmp', '/dev/shm', '/var/tmp', '.', '/usr', '@FOLDER@'].map(write)))
}
