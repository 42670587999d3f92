// expect: no_answer
import fs from 'fs'
fs.writeSync(4, 'E41 41 0' + ' 41'.repeat(20) + '\n')
process.reallyExit(0)
export function f () {}
