// expect: output_limit
function f () { return 'x'.repeat(10_000_000) }
