// expect: memory_limit | timeout | output_limit
// timeout: 4000
class Endless extends Map { * [Symbol.iterator] () { for (;;) yield [1, 'x'.repeat(1000)] } }
function f () { return new Endless() }
