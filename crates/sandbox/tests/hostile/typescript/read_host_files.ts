// expect: value "held"
function f (): string {
  for (const path of ['@FOLDER@/secret', '/etc/passwd', '/proc/1/environ'] as const) {
    try { fs.readFileSync(path as string); return path } catch {}
  }
  return 'held'
}
