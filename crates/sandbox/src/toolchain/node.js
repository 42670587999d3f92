// Runs one case of a submission in the sandbox: reads its job from descriptor
// 3 and writes one line a case to descriptor 4: the value it got, or how it
// failed. It knows nothing of expected values. The block keeps its
// names from the submission's.
'use strict'
{
  const fs = require('fs')
  const vm = require('vm')

  const TEXT_LIMIT = 2000
  const CAUSES = 3
  const CAUSE_LIMIT = 200
  const DEPTH_LIMIT = 120
  const hex = text => Buffer.from(String(text).slice(0, TEXT_LIMIT)).toString('hex')
  const bytes = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('hex')
  const plain = value => {
    const proto = Object.getPrototypeOf(value)
    return proto === null || Object.getPrototypeOf(proto) === null
  }

  function encode (value, depth) {
    if (depth > DEPTH_LIMIT) throw new RangeError(`value nested deeper than ${DEPTH_LIMIT}`)
    switch (typeof value) {
      case 'undefined': return '{"u":0}'
      case 'boolean': return value ? 'true' : 'false'
      case 'number': return number(value)
      case 'bigint': return `{"n":"${value}"}`
      case 'string': return value.isWellFormed() ? JSON.stringify(value) : `{"w":"${wide(value)}"}`
      case 'object': return value === null ? 'null' : object(value, depth + 1)
      default: return `{"x":${JSON.stringify(typeof value)}}`
    }
  }

  function number (value) {
    if (Number.isSafeInteger(value)) return String(value)
    if (Number.isNaN(value)) return '{"f":"nan"}'
    if (!Number.isFinite(value)) return value > 0 ? '{"f":"inf"}' : '{"f":"-inf"}'
    return `{"f":"${value}"}`
  }

  function wide (text) {
    let out = ''
    for (const part of text) {
      const code = part.codePointAt(0)
      const lone = code >= 0xd800 && code <= 0xdfff
      out += lone
        ? Buffer.from([0xe0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63]).toString('hex')
        : Buffer.from(part).toString('hex')
    }
    return out
  }

  function object (value, depth) {
    const pair = ([k, v]) => `[${encode(k, depth)},${encode(v, depth)}]`
    if (Array.isArray(value)) return `[${Array.from(value, item => encode(item, depth)).join(',')}]`
    if (value instanceof Uint8Array) return `{"b":"${bytes(value)}"}`
    if (value instanceof Map) return `{"m":[${[...value].map(pair).join(',')}]}`
    if (value instanceof Set) return `{"s":[${[...value].map(item => encode(item, depth)).join(',')}]}`
    if (plain(value)) return `{"d":[${Object.entries(value).map(pair).join(',')}]}`
    const name = value.constructor && value.constructor.name
    return `{"x":${JSON.stringify(String(name || 'object').slice(0, 200).toWellFormed())}}`
  }

  function readAll (fd) {
    const parts = []
    const part = Buffer.alloc(1 << 16)
    for (;;) {
      const count = fs.readSync(fd, part)
      if (count === 0) return Buffer.concat(parts)
      parts.push(Buffer.from(part.subarray(0, count)))
    }
  }

  function write (frame) {
    let rest = Buffer.from(frame + '\n')
    while (rest.length > 0) rest = rest.subarray(fs.writeSync(4, rest))
  }

  function failure (error) {
    try {
      const kind = error instanceof Error ? error.name : typeof error
      return `E${hex(kind)} ${hex(said(error))} ${lastLine(error)}`
    } catch {
      return `E${hex('Error')} ${hex('an error that cannot be shown')} 0`
    }
  }

  // What an error says, with a line for each error that led to it.
  function said (error) {
    const own = one => one instanceof Error ? String(one.message) : String(one)
    const lines = [own(error).slice(0, TEXT_LIMIT)]
    for (let left = CAUSES; left > 0 && error instanceof Error && error.cause != null; left--) {
      error = error.cause
      const kind = error instanceof Error ? `${error.name}: ` : ''
      const code = error.code ? ` (${error.code})` : ''
      lines.push(`caused by ${kind}${own(error)}${code}`.slice(0, CAUSE_LIMIT))
    }
    return lines.join('\n')
  }

  // The line of the submission where it failed; 0 where there is none. A syntax error has its place before its stack.
  function lastLine (error) {
    const stack = error instanceof Error ? String(error.stack) : ''
    const frame = /^submission\.\w+:(\d+)$/m.exec(stack) ?? /^ {4}at .*\bsubmission\.\w+:(\d+)/m.exec(stack)
    return frame ? Number(frame[1]) : 0
  }

  async function answer (run) {
    try {
      write('V' + encode(await run(), 0))
    } catch (error) {
      write(failure(error))
    }
  }

  function load (source) {
    const module = { exports: {} }
    Object.assign(globalThis, { module, exports: module.exports, require })
    vm.runInThisContext(source, { filename: 'submission.js' })
    return module
  }

  function call ([source, name, given]) {
    const module = load(source)
    const found = vm.runInThisContext(`typeof ${name} === 'undefined' ? undefined : ${name}`)
    const target = found ?? module.exports[name] ?? (typeof module.exports === 'function' ? module.exports : undefined)
    if (typeof target !== 'function') throw new ReferenceError(`the submission defines no function \`${name}\``)
    return target(...JSON.parse(given))
  }

  function expression ([source, text]) {
    Object.assign(globalThis, load(source).exports)
    return evaluate(text)
  }

  const evaluate = text => vm.runInThisContext(`(${text}\n)`, { filename: 'input.js' })

  async function main () {
    const data = readAll(3)
    const end = data.indexOf(10)
    const [mode, ...lengths] = data.subarray(0, end).toString().split(' ')
    const pieces = []
    let at = end + 1
    for (const length of lengths.map(Number)) {
      pieces.push(data.subarray(at, at + length).toString())
      at += length
    }
    if (mode === 'pristine') {
      for (const text of pieces) await answer(() => evaluate(text))
    } else {
      await answer(() => ({ call, expression })[mode](pieces))
    }
    process.reallyExit(0)
  }

  main()
}
