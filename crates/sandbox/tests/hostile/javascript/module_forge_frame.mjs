// expect: value "forged" | no_answer
import fs from 'fs'
for (let fd = 3; fd < 40; fd++) { try { fs.writeSync(fd, 'V"forged"\n') } catch {} }
process.reallyExit(0)
export function f () {}
