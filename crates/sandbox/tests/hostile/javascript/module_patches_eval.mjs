// expect: own
globalThis.eval = () => () => 'lie'
Function.prototype.call = () => 'lie'
Reflect.construct = () => 'lie'
JSON.parse = () => []
export const f = () => 'own'
