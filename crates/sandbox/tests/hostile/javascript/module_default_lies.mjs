// expect: own
export default new Proxy({}, { get: (_, name) => name === 'f' ? () => 'own' : () => { for (;;) {} }, ownKeys: () => { for (;;) {} } })
