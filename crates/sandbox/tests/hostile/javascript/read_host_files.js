// expect: value "held"
function f () {
  const open = path => [path, () => { fs.readFileSync(path) }]
  return tried(Object.fromEntries(['/etc/passwd', '/etc/shadow', '/proc/self/environ', '/proc/@PID@/environ', '@FOLDER@/secret', '/root/.profile', '/dev/tty'].map(open)))
}
