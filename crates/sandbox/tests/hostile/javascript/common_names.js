// expect: value [1,"ok",{"d":[["a",1]]}]
// Names a harness may use itself are free for submissions.
const vm = 1; const hex = 1; const plain = 1; const bytes = 1; const DEPTH_LIMIT = 1
function encode () { return '"lie"' }
function object () { return '"lie"' }
function number () { return '"lie"' }
function answer () {}
function write () {}
function load () {}
function call () {}
function evaluate () {}
function main () {}
function f () { return [vm, 'ok', { a: hex }] }
