// expect: value "held"
function f () {
  return tried({
    secret: () => JSON.stringify(process.env).includes('the-secret-of-' + 'the-host'),
    report: () => JSON.stringify(process.report.getReport()).includes('the-secret-of-' + 'the-host')
  })
}
