// expect: raised
function f () { throw new Proxy({}, { get () { throw new Error('again') }, getPrototypeOf () { throw new Error('again') } }) }
