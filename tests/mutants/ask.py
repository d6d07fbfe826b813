"""`python -I -S ask.py SOCKET` asks for a run of the tests, and exits with what `tests.mutants.forks` answers."""

import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        answer = connection.recv(1)
    sys.exit(answer[0] if answer else 1)
