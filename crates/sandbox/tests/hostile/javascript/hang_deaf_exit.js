// expect: timeout
// timeout: 600
function f () {
  process.reallyExit = () => {}
  setInterval(() => {}, 1000)
  return 1
}
