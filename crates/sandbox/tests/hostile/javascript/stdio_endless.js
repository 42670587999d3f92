// expect: output_limit
// mode: stdio
for (;;) fs.writeSync(1, Buffer.alloc(4096, 0xff))
