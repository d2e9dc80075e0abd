"""Where NVIDIA's libraries lie among the packages of this Python."""

import glob
import os
import site
import sys

from . import _core

_told = False


def folders_of_packages():
    """The folders in which packages of this Python are installed."""
    folders = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    return [one for one in dict.fromkeys(folders) if one.endswith("-packages")]


def tell_where_libraries_are():
    """NVRTC may lie among the packages of this Python: with torch, CuPy, or the extras cu12 and cu13; or where NVIDIA's own
    ``cuda.pathfinder`` finds it, as in a conda environment.
    """
    global _told
    if not _told:
        folders = folders_of_packages()
        # The packages of NVIDIA are where pathfinder looks first, and it takes longer.
        known = any(glob.glob(os.path.join(glob.escape(one), "nvidia", "*", "lib", "libnvrtc.so.*")) for one in folders)
        _core.search_libraries_in(folders if known else [*folders, *_folder_by_pathfinder()])
        _told = True


def _folder_by_pathfinder():
    """The folder of NVRTC as ``cuda.pathfinder`` says, if that is installed and finds one. It loads it: what is loaded is used."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path = load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:
        # Not installed, of another version, or nothing found: the places that we know are looked at as ever.
        return []
    return [os.path.dirname(path)] if path else []
