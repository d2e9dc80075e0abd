"""`python -m sparsight run PROGRAM ARGUMENTS...`: a program whose cuSPARSE products sparsight makes faster where it can."""

import argparse
import os
import pathlib
import shutil
import sys

LIBRARY = "libsparsight_cusparse.so"
PLACE = "SPARSIGHT_CUSPARSE_LIBRARY"


def library():
    """The library that stands in front of cuSPARSE: the one that is named, of this package, or beside the program `sparsight`."""
    if named := os.environ.get(PLACE):
        places = [pathlib.Path(named)]
    else:
        places = [pathlib.Path(__file__).with_name(LIBRARY)]
        if program := shutil.which("sparsight"):
            folder = pathlib.Path(program).resolve().parent
            places += [folder / LIBRARY, folder.parent / "lib" / LIBRARY]
    for place in places:
        if place.is_file():
            return str(place.resolve())
    looked = ", ".join(map(str, places))
    sys.exit(f"error: {LIBRARY} was not found (looked for: {looked})\nhint: {PLACE}=FILE names it")


def main():
    parser = argparse.ArgumentParser(prog="python -m sparsight", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a program, with its cuSPARSE products by sparsight where that is faster")
    run.add_argument("--report", action="store_true", help="tell on stderr at the end what was seen and saved")
    run.add_argument("--report-file", metavar="FILE", help="write that report as JSON to a file")
    run.add_argument("--verify", action="store_true", help="compute each product by both and compare them: slow")
    run.add_argument("program", help="the program: a name of PATH, or a path")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    preload = library()
    if given.verify and given.report:
        parser.error("--report cannot be used with --verify")
    if " " in preload or ":" in preload:
        sys.exit(f"error: LD_PRELOAD cannot name {preload}: a path with a space or a colon\nhint: copy it, and name the copy by {PLACE}=FILE")
    if before := os.environ.get("LD_PRELOAD"):
        preload += f":{before}"
    environment = {**os.environ, "LD_PRELOAD": preload}
    # Without a flag the environment says what is done.
    if given.verify or given.report or given.report_file:
        environment["SPARSIGHT_CUSPARSE"] = "verify" if given.verify else "report"
    if given.report_file:
        environment["SPARSIGHT_CUSPARSE_REPORT"] = os.path.abspath(given.report_file)
    try:
        os.execvpe(given.program, [given.program, *given.arguments], environment)
    except OSError as error:
        sys.exit(f"error: cannot run {given.program}: {error.strerror}")


if __name__ == "__main__":
    main()
