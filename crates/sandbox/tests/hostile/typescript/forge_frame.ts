// expect: value "forged" | no_answer
function f (): never {
  for (let fd: number = 3; fd < 40; fd++) { try { fs.writeSync(fd, 'V"forged"\n') } catch {} }
  return process.exit(0)
}
