// expect: value "held"
// Nothing is open that a leaf shares with the warm interpreter: no socket, and nothing that keeps a mark for the next case.
function f () {
  const found = []
  for (let fd = 5; fd < 128; fd++) {
    try {
      const at = fs.fstatSync(fd)
      if (at.isSocket()) found.push(fd + ' is a socket')
      if (at.isFile()) found.push(fd + ' is a file')
    } catch {}
  }
  return found.length === 0 ? 'held' : 'got through: ' + found.join(', ')
}
