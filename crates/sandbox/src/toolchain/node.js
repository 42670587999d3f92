// Runs one case of a submission in the sandbox: reads its job from descriptor
// 3 and writes one line a case to descriptor 4: the value it got, or how it
// failed. It knows nothing of expected values. The block keeps its
// names from the submission's.
'use strict'
{
  const fs = require('fs')
  const vm = require('vm')
  const builtin = require

  const { isBuiltin, stripTypeScriptTypes } = require('module')

  const words = process.argv.splice(1)
  const isTypeScript = words.includes('typescript')

  const ADDON = '/proofmark.node'
  const TEXT_LIMIT = 2000
  const CAUSES = 3
  const CAUSE_LIMIT = 200
  const TYPES_LIMIT = 16
  const TYPE_LIMIT = 64
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

  const part = Buffer.alloc(1 << 16)

  function readAll (fd) {
    const parts = []
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

  // What an error says, with a line for each error that led to it.
  function said (error) {
    // Of a module that is not found, node lists its own files that asked for it.
    const own = one => one instanceof Error ? String(one.message).split('\nRequire stack:')[0] : String(one)
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

  // `prepare` returns what is to be called; only what that throws is an exception of the call.
  async function answer (prepare) {
    let called = false
    try {
      const run = await prepare()
      called = true
      const value = await run()
      called = false
      write('V' + encode(value, 0))
    } catch (error) {
      write('E' + failure(error, called).join(' '))
    }
  }

  function failure (error, called) {
    try {
      const kind = error instanceof Error ? error.name : typeof error
      return [hex(kind), hex(said(error)), lastLine(error), ...(called ? types(error).map(hex) : [])]
    } catch {
      return [hex('Error'), hex('an error that cannot be shown'), 0]
    }
  }

  // The names of what was thrown and of the classes it is derived from.
  function types (error) {
    const names = [error instanceof Error ? error.name : typeof error]
    let at = error
    for (let left = TYPES_LIMIT - 1; left > 0 && at !== null && typeof at === 'object'; left--) {
      names.push(at.constructor && at.constructor.name)
      at = Object.getPrototypeOf(at)
    }
    return names.filter(name => typeof name === 'string').map(name => name.slice(0, TYPE_LIMIT))
  }

  // What the submission defines: `find` looks up a name, `evaluate` compiles an expression that sees all of them.
  async function load (source) {
    const text = isTypeScript ? stripTypeScriptTypes(source) : source
    try {
      return runScript(new vm.Script(text, { filename: 'submission.js', importModuleDynamically: imported }))
    } catch (error) {
      const module = error instanceof SyntaxError ? asModule(text, error) : undefined
      if (module === undefined) throw error
      return runModule(text, module)
    }
  }

  function runScript (script) {
    const module = { exports: {} }
    Object.assign(globalThis, { module, exports: module.exports, require })
    script.runInThisContext()
    const find = name => vm.runInThisContext(`typeof ${name} === 'undefined' ? undefined : ${name}`) ??
      module.exports[name] ?? (typeof module.exports === 'function' ? module.exports : undefined)
    return { find, names: () => module.exports, evaluate }
  }

  // The text as an ES module, where it is one. What is wrong with a text that is neither is said of the one it looks like.
  function asModule (text, error) {
    try {
      return moduleOf(text)
    } catch (wrong) {
      if (/import|export|await/.test(error.message)) throw wrong
    }
  }

  const moduleOf = text => new vm.SourceTextModule(text, {
    identifier: 'submission.js',
    importModuleDynamically: imported,
    initializeImportMeta: meta => { meta.url = 'file:///submission.js' }
  })

  async function runModule (text, module) {
    // What node defines for scripts alone.
    for (const name of ['require', 'module', 'exports', '__filename', '__dirname']) delete globalThis[name]
    // A module shows what it exports and nothing else: this sees all its names. The text was compiled without it first, so
    // that it changes no message.
    const inside = moduleOf(`${text}\nexport const proofmarkInside = text => eval(text)`)
    await inside.link(linked)
    await inside.evaluate()
    const names = inside.namespace
    const look = names.proofmarkInside
    const standard = names.default
    const find = name => look(`typeof ${name} === 'undefined' ? undefined : ${name}`) ?? names[name] ??
      (typeof standard === 'function' ? standard : standard?.[name])
    const evaluateInside = text => {
      evaluate(text)
      return () => look(`(${text}\n)`)
    }
    return { find, names: () => typeof standard === 'object' ? standard : {}, evaluate: evaluateInside }
  }

  const builtins = new Map()

  // What an `import` of a submission gets: one of node's own modules.
  function linked (specifier) {
    if (!isBuiltin(specifier)) throw new Error(`cannot import '${specifier}': only node's own modules can be imported`)
    if (!builtins.has(specifier)) {
      const found = builtin(specifier)
      const names = Object.keys(found).filter(name => name !== 'default')
      builtins.set(specifier, new vm.SyntheticModule(['default', ...names], function () {
        this.setExport('default', found)
        for (const name of names) this.setExport(name, found[name])
      }, { identifier: specifier }))
    }
    return builtins.get(specifier)
  }

  async function imported (specifier) {
    const module = linked(specifier)
    if (module.status === 'unlinked') await module.link(linked)
    await module.evaluate()
    return module
  }

  async function call ([source, name, given]) {
    const scope = await load(source)
    const [first, method] = name.split('.')
    const found = scope.find(first)
    const parsed = JSON.parse(given)
    const { args, construct } = Array.isArray(parsed) ? { args: parsed } : parsed
    if (method !== undefined) return methodOf(found, name, construct, args)
    if (typeof found !== 'function') throw new ReferenceError(`the submission defines no function \`${name}\``)
    return isClass(found) ? () => Reflect.construct(found, args) : () => found(...args)
  }

  const isClass = value => /^class\b/.test(Function.prototype.toString.call(value))

  function methodOf (owner, name, construct, args) {
    const [first, method] = name.split('.')
    if (owner === undefined || owner === null) throw new ReferenceError(`the submission defines no \`${first}\``)
    const own = typeof owner[method] === 'function' && owner[method] !== Function.prototype[method]
    const needsObject = typeof owner === 'function' && !own && typeof owner.prototype?.[method] === 'function'
    const object = construct || needsObject ? Reflect.construct(owner, construct?.args ?? []) : owner
    if (typeof object[method] !== 'function') throw new TypeError(`\`${first}\` has no method \`${method}\``)
    return () => object[method](...args)
  }

  async function expression ([source, text]) {
    const scope = await load(source)
    Object.assign(globalThis, scope.names())
    return scope.evaluate(text)
  }

  function evaluate (text) {
    const script = new vm.Script(`(${text}\n)`, { filename: 'input.js' })
    return () => script.runInThisContext()
  }

  async function work (data) {
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
  }

  async function main () {
    await work(readAll(3))
    process.reallyExit(0)
  }

  // What a leaf would otherwise do for the first time, such as compile these functions. Descriptor 4 leads nowhere here.
  async function rehearse () {
    const source = `module.exports = x${isTypeScript ? ': number' : ''} => { if (x) throw new TypeError(x); return [x, { a: 1.5 }] }`
    for (let left = 3; left > 0; left--) {
      for (const given of ['[0]', '[1]']) await work(Buffer.from(`call ${source.length} 1 3\n${source}f${given}`))
      await work(Buffer.from(`expression ${source.length} 1\n${source}1`))
      await work(Buffer.from('pristine 4\n[""]'))
    }
    const file = fs.openSync(ADDON)
    readAll(file)
    fs.closeSync(file)
  }

  // Becomes a leaf for each case. What a leaf cannot do as any other node does, it leaves: a case without an answer is run
  // again by a fresh node.
  function fork () {
    const v8 = require('v8')
    const threads = require('worker_threads')
    const addon = { exports: {} }
    process.dlopen(addon, ADDON)
    const { serve, leave } = addon.exports
    // As in any other node.
    process.execArgv.splice(0, process.execArgv.indexOf('--no-warnings'))
    const names = ['module', 'exports', 'require']
    const before = names.map(name => Object.getOwnPropertyDescriptor(globalThis, name))
    let isReady = false
    rehearse().then(() => { isReady = true })
    // Nothing of the rehearsal may be left to go on in a leaf.
    process._tickCallback()
    if (!isReady) throw new Error('the rehearsal did not end')
    names.forEach((name, index) => Object.defineProperty(globalThis, name, before[index]))
    // Its end would wait for threads that a leaf does not have. So may the end of a thread.
    process.reallyExit = leave
    const fatal = process._fatalException
    process._fatalException = (...given) => Reflect.apply(fatal, process, given) || leave()
    threads.Worker = class Worker { constructor () { leave() } }
    const seed = serve()
    // Else the random numbers of all leaves would be the same. Most ask for none, and the flag is expensive.
    const { random } = Math
    const restore = value => Object.defineProperty(Math, 'random', { value, writable: true, enumerable: false, configurable: true })
    const seeded = () => {
      restore(random)
      v8.setFlagsFromString(`--random-seed=${seed >>> 1}`)
      random()
      v8.setFlagsFromString('--random-seed=0')
      return random
    }
    Object.defineProperty(Math, 'random', { get: seeded, set: restore, enumerable: false, configurable: true })
  }

  if (words.includes('zygote')) fork()
  main()
}
