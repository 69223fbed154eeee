"""Somebody else's hook: `recorder.py FOLDER` keeps what the agent gave it, a file an event."""

import os
import sys
import time


def main(folder: str) -> None:
    name = f"{time.time_ns():020d}-{os.getpid()}"
    with open(f"{folder}/.{name}", "wb") as file:
        while part := os.read(0, 65536):
            file.write(part)
    os.replace(f"{folder}/.{name}", f"{folder}/{name}.json")


if __name__ == "__main__":
    main(sys.argv[1])
