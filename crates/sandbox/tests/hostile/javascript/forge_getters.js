// expect: own
function f () {
  return { get a () { fs.writeSync(4, 'V'); return 1 }, toJSON () { return 'lie' }, [Symbol.toPrimitive]: () => 1 }
}
