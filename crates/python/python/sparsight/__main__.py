"""The program ``sparsight``, which is part of this package: ``python -m sparsight``, and the script of that name."""

import signal
import sys

from ._core import run_program, search_libraries_in
from ._libraries import folders_of_packages


def main():
    # As in a program without Python: Ctrl-C ends it, or what the program itself has installed answers. What was ignored stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    # Of the packages alone: to ask cuda.pathfinder takes longer than most commands.
    search_libraries_in(folders_of_packages())
    run_program(["sparsight", *sys.argv[1:]])


if __name__ == "__main__":
    main()
