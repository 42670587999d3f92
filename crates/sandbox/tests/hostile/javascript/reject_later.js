// expect: own
function f () { Promise.reject(new Error('later')); process.on('exit', () => { for (;;) {} }); return new Promise(resolve => setTimeout(resolve, 50)) }
