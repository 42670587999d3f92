// Runs one case of a submission in the sandbox: reads its job from descriptor
// 3 and writes one line a case to descriptor 4: the value it got, or how it
// failed. It knows nothing of expected values. The block keeps its
// names from the submission's.
'use strict'
{
  const fs = require('fs')
  const vm = require('vm')
  const builtin = require
  const util = require('util')

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
  const MAX_CALLS = 64
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

  // In plain data the two zeros are told apart.
  let isExact = false

  function number (value) {
    if (isExact && value === 0 && 1 / value < 0) return '{"f":"-0"}'
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

  // An expression is evaluated in a process without the submission (`clean`). There the names of the submission are calls, whose
  // results are given to it. Where one is not known yet, it says which calls there are, and the process of the submission
  // makes them (`calls`). Both write plain data: values that are whole without their identity.

  const pendings = new WeakSet()

  // Whether nothing of a value is lost where it is written; `seen` gets all objects in it.
  function isPlain (value, seen) {
    if (typeof value !== 'object') return typeof value === 'string' ? value.isWellFormed() : !['function', 'symbol'].includes(typeof value)
    if (value === null) return true
    if (seen.has(value) || util.types.isProxy(value) || !Object.isExtensible(value)) return false
    seen.add(value)
    const inside = item => isPlain(item, seen)
    const keys = Reflect.ownKeys(value)
    switch (Object.getPrototypeOf(value)) {
      case Map.prototype: return keys.length === 0 && [...value].every(([key, item]) => inside(key) && inside(item))
      case Set.prototype: return keys.length === 0 && [...value].every(inside)
      case Uint8Array.prototype: return keys.length === value.length
      case Array.prototype: return keys.length === value.length + 1 && value.every(inside)
      case Object.prototype: return keys.every(key => {
        const { enumerable, value: item, get, set } = Object.getOwnPropertyDescriptor(value, key)
        return typeof key === 'string' && enumerable && !get && !set && inside(item)
      })
      default: return false
    }
  }

  function written (value) {
    isExact = true
    try {
      return encode(value, 0)
    } finally {
      isExact = false
    }
  }

  const FLOATS = { nan: NaN, inf: Infinity, '-inf': -Infinity }

  function decode (value) {
    if (Array.isArray(value)) return value.map(decode)
    if (value === null || typeof value !== 'object') return value
    const [[tag, content]] = Object.entries(value)
    const pairs = () => content.map(([key, item]) => [decode(key), decode(item)])
    switch (tag) {
      case 'u': return undefined
      case 'n': return BigInt(content)
      case 'f': return FLOATS[content] ?? Number(content)
      case 'b': return new Uint8Array(Buffer.from(content, 'hex'))
      case 's': return new Set(content.map(decode))
      case 'm': return new Map(pairs())
      case 'd': {
        const object = {}
        // An assignment to `__proto__` would be none.
        for (const [key, value] of pairs()) Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
        return object
      }
      default: throw new TypeError('unknown tag')
    }
  }

  // The calls in one process, one after another, up to the first past those that are certain that has no result.
  async function calls ([source, certain, ...texts]) {
    const wanted = texts.map(text => decode(JSON.parse(text)))
    let scope
    try {
      scope = await load(source)
      Object.assign(globalThis, scope.names())
    } catch (error) {
      return 'LE' + failure(error, false).join(' ')
    }
    const frames = []
    for (const [name, given] of wanted) {
      frames.push(await oneCall(scope, name, given).catch(() => 'Sr'))
      if (frames.length > Number(certain) && !frames.at(-1).slice(0, 3).includes('V')) break
    }
    return frames.join('\t')
  }

  async function oneCall (scope, name, given) {
    const before = written(given)
    const [mine, theirs] = [new Set(), new Set()]
    isPlain(given, mine)
    let [frame, kind] = ['', '']
    try {
      let value = scope.evaluate(name)()(...given)
      if (typeof value?.then === 'function') {
        kind = 'A'
        value = await value
      }
      try {
        if (!isPlain(value, theirs)) return 'Sr'
        frame = 'V' + written(value)
      } catch {
        return 'Sr'
      }
    } catch (error) {
      frame = 'E' + failure(error, true).join(' ')
    }
    let isSame = false
    try {
      isSame = written(given) === before && ![...theirs].some(object => mine.has(object))
    } catch {}
    return (isSame ? '' : 'M') + kind + frame
  }

  class Leaves extends Error {}

  // The value of an expression, or the calls that it is made of.
  async function clean ([text, ...known]) {
    const made = []
    const loads = []
    const thrown = []
    let [certain, applied, isSync, why] = [0, 0, true, '']
    const leave = reason => {
      why ||= reason
      throw new Leaves()
    }
    // What decides would decide by the stand-in of a result that is not known.
    const decides = /&&|\|\||\?|===|!==|\b(?:if|for|while|do|switch|case|some|every|find\w*|filter|instanceof|typeof)\b/.test(text)
    const binds = /=>|\b(?:function|let|const|var|class)\b/.test(text)
    // In an object of traps every trap is this one, but for that of a call.
    const trapped = (touched, apply = touched) => new Proxy(function () {}, new Proxy({}, { get: (_, trap) => trap === 'apply' ? apply : touched }))
    const hasPending = value => pendings.has(value) || (Array.isArray(value) && value.some(hasPending))

    function resultOf (name, given) {
      if (!isSync || hasPending(given)) leave('f')
      if (!isPlain(given, new Set())) leave('a')
      made.push(written([name, given]))
      if (made.length > MAX_CALLS) leave('k')
      const index = made.length - 1
      if (certain === index && known[2 * index] === made[index]) {
        certain++
        return knownResult(known[2 * index + 1])
      }
      if (decides) throw new Leaves()
      const pending = trapped(() => { throw new Leaves() })
      pendings.add(pending)
      return pending
    }

    function knownResult (frame) {
      if (frame[0] === 'M') {
        if (binds) leave('m')
        frame = frame.slice(1)
      }
      const isAwaited = frame[0] === 'A'
      if (isAwaited) frame = frame.slice(1)
      if (frame[0] === 'S') leave('r')
      if (frame[0] === 'V') {
        let value
        try {
          value = decode(JSON.parse(frame.slice(1)))
        } catch {
          leave('b')
        }
        return isAwaited ? Promise.resolve(value) : value
      }
      if (frame[0] !== 'E') leave('b')
      const error = nativeError(frame)
      thrown.push({ error, frame })
      if (!isAwaited) throw error
      const rejected = Promise.reject(error)
      rejected.catch(() => {})
      return rejected
    }

    function submissionName (name) {
      const load = { isCalled: false, own: 0, before: applied }
      loads.push(load)
      return trapped(() => leave('n'), (_, self, given) => {
        load.isCalled = true
        // Other calls since it was looked up: they stand in its arguments.
        if (applied - load.own !== load.before) leave('f')
        applied++
        load.own++
        return resultOf(name, given)
      })
    }

    const isTheirs = name => typeof name === 'string' && (!(name in globalThis) ||
      (isBuiltin(name) && typeof globalThis[name] === 'object' && new RegExp(`(?:^|[^.\\w$])${name}\\s*\\(`).test(text)))
    const scope = new Proxy({}, {
      has: (_, name) => isTheirs(name),
      get: (_, name) => name === Symbol.unscopables ? undefined : submissionName(name),
      set: () => leave('n')
    })
    let run
    try {
      evaluate(text)
      run = new vm.Script(`(function (scope) { with (scope) { return (${text}\n) } })`, { filename: 'input.js' }).runInThisContext()
    } catch (error) {
      return 'E' + failure(error, false).join(' ')
    }
    const wanted = () => `C${certain}\t${made.join('\t')}`
    try {
      let value = run.call(globalThis, scope)
      isSync = false
      if (certain === made.length) value = await value
      if (why) return why === 'b' ? 'B' : 'S' + why
      if (certain < made.length) return wanted()
      if (made.length === 0) return 'S0'
      if (!loads.every(load => load.isCalled)) return 'Sn'
      return 'V' + encode(value, 0)
    } catch (error) {
      if (why) return why === 'b' ? 'B' : 'S' + why
      if (certain < made.length) return wanted()
      const found = thrown.find(one => one.error === error)
      if (found) return found.frame
      return made.length === 0 ? 'S0' : 'E' + failure(error, true).join(' ')
    }
  }

  // What the expression may catch, of the type that comes first of those that are not the submission's own.
  function nativeError (frame) {
    const [kind, text, , ...names] = frame.slice(1).split(' ').map(part => Buffer.from(part, 'hex').toString())
    const message = text.split('\ncaused by ')[0]
    const types = names.map(name => globalThis[name])
    const Type = types.find(type => typeof type === 'function' && (type === Error || type.prototype instanceof Error))
    if (!Type) return message
    const error = new Type(message)
    if (error.name !== kind) error.name = kind
    return error
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
    } else if (mode === 'clean' || mode === 'calls') {
      write(await ({ clean, calls })[mode](pieces))
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
      await work(Buffer.from('clean 5 8 3\n[f()]["f",[]]V[]'))
      await work(Buffer.from('clean 6\n[f(1)]'))
      await work(Buffer.from(`calls ${source.length} 1 22\n${source}0["module.exports",[0]]`))
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
