// expect: value "held"
async function f () {
  const net = require('net')
  const dgram = require('dgram')
  const connect = options => new Promise(resolve => {
    try {
      const s = net.connect(options, () => resolve(true))
      s.on('error', () => resolve(false))
      setTimeout(() => resolve(false), 500)
    } catch { resolve(false) }
  })
  const send = () => new Promise(resolve => {
    try {
      const s = dgram.createSocket('udp4')
      s.on('error', () => resolve(false))
      s.send('x', Number('@UDP@'), '127.0.0.1', error => resolve(!error))
      setTimeout(() => resolve(false), 500)
    } catch { resolve(false) }
  })
  const found = {
    tcp: await connect({ host: '127.0.0.1', port: Number('@PORT@') }),
    tcp6: await connect({ host: '::1', port: Number('@PORT@') }),
    unix: await connect({ path: '@FOLDER@/stream' }),
    hidden: await connect({ path: '\0@HIDDEN@' }),
    udp: await send()
  }
  return tried(Object.fromEntries(Object.entries(found).map(([k, v]) => [k, () => v])))
}
