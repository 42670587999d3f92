# expect: output_limit
# mode: stdio
loop { $stdout.syswrite("\xff\xfe no end of line " * 1000) }
