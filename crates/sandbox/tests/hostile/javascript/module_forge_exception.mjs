// expect: raised ValueError | no_answer
import fs from 'fs'
const hex = text => Buffer.from(text).toString('hex')
try { fs.writeSync(4, `E${hex('ValueError')} ${hex('')} 0 ${hex('ValueError')}\n`) } catch {}
process.reallyExit(0)
export function f () {}
