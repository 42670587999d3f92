// expect: raised RangeError
function f () { let v = []; for (let i = 0; i < 100000; i++) v = [v]; return v }
