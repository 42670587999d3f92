# Moves bytes between its own streams and those of a server, and records them: `relay.py RECORD COMMAND…` writes RECORD.server
# (what was said to the server) and RECORD.client. It passes on pieces whose borders are anywhere in a line.
import os
import random
import subprocess
import sys
import threading

record, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
borders = random.Random(7)


def move(source, to, file):
    with open(file, "wb", buffering=0) as kept:
        while data := os.read(source, 1 << 16):
            kept.write(data)
            while data:
                piece = data[: borders.randint(1, 1 << 15)]
                data = data[os.write(to, piece) :]


def to_server():
    try:
        move(0, server.stdin.fileno(), record + ".server")
        server.stdin.close()
        server.wait(0.5)
    except (OSError, subprocess.TimeoutExpired):
        # Not every server ends when its standard input does.
        server.terminate()


threading.Thread(target=to_server, daemon=True).start()
try:
    move(server.stdout.fileno(), 1, record + ".client")
except OSError:
    server.terminate()
server.wait()
