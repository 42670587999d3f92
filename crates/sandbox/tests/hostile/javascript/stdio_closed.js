// expect: text 
// mode: stdio
fs.closeSync(1)
