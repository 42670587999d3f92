// expect: value "held"
import net from 'node:net'
import fs from 'node:fs'
import { execFileSync } from 'node:child_process'
const attacks = {
  'a file of the host': () => fs.readFileSync('@FOLDER@/secret'),
  'a change of the host': () => fs.writeFileSync('@FOLDER@/secret', 'x'),
  'a program of the host': () => execFileSync('/bin/sh', ['-c', 'true'])
}
const imports = ['@FOLDER@/secret', 'file:///etc/passwd', '/submission', './submission.js', 'data:text/javascript,export default 1', 'http://127.0.0.1:@PORT@/']
export async function f () {
  const through = []
  for (const [name, attack] of Object.entries(attacks)) { try { attack(); through.push(name) } catch {} }
  for (const name of imports) { try { await import(name); through.push(name) } catch {} }
  const connected = await new Promise(resolve => {
    const socket = net.connect(@PORT@, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false))
  })
  if (connected) through.push('a connection')
  return through.length === 0 ? 'held' : through.join(', ')
}
