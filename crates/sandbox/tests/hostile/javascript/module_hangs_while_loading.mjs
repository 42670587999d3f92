// expect: timeout
// timeout: 1000
setInterval(() => {}, 10)
await new Promise(() => {})
export const f = () => 1
