// memory: 256
const fs = require('fs')
function tried (attacks) {
  const through = []
  for (const [name, attack] of Object.entries(attacks)) {
    try { if (attack() !== false) through.push(name) } catch {}
  }
  return through.length === 0 ? 'held' : 'got through: ' + through.join(', ')
}
