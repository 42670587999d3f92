# mode: stdio
