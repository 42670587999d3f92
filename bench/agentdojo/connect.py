"""The server that a guard starts: hands its standard input and output to the process that serves, and waits for it."""

import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
socket.send_fds(connection, [b"."], [0, 1])
connection.recv(1)
