// expect: value "forged" | no_answer
function f () {
  for (let fd = 3; fd < 40; fd++) { try { fs.writeSync(fd, 'V"forged"\n') } catch {} }
  process.exit(0)
}
