"""Starts the program that is installed with this package, under the package's own name.

`uvx sectile-mcp` looks for a command of that name, and the package `sectile` is another project.
"""

import importlib.metadata
import os
import subprocess
import sys


def main():
    files = importlib.metadata.files("sectile-mcp") or []
    programs = [str(file.locate()) for file in files if file.name in ("sectile", "sectile.exe")]
    if not programs:
        sys.exit("sectile-mcp: the program is missing. Install the package again.")
    command = [programs[0], *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)
