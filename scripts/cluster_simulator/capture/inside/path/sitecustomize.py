# SPDX-License-Identifier: GPL-2.0-only
"""Python imports this file first, as its folder is on PYTHONPATH: once torch is imported,
../start.py prepares it. (A folder of its own, so that nothing else of ours can be imported.)
"""

import importlib.machinery
import importlib.util
import json
import os
import sys

PACKAGE = "dltrain_capture_inside"
KEPT_FILES = "dltrain_capture_kept_files"  # ../../kept_files.py
KEPT_ENVIRONMENT = "dltrain_capture_kept_environment"  # ../kept_environment.py


def _folder():
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _watch(name, *path):
    spec = importlib.util.spec_from_file_location(name, os.path.join(_folder(), *path))
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    sys.modules[name].watch()


def _start():
    folder = _folder()
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[PACKAGE])
    return importlib.import_module(f"{PACKAGE}.start")


def _as_by_name():
    """A Python that a shell's line names by its path (/opt/conda/bin/python, python3.10, a torchrun
    beside it) is what PATH would have found by its name: ../../launch/command.py.
    """
    if os.environ.pop("DLTRAIN_CAPTURE_PLAIN", None) or not hasattr(sys, "orig_argv"):
        return
    words = sys.orig_argv[1:]
    script = next((word for word in words if not word.startswith("-")), "")
    own = os.path.realpath(os.path.dirname(_folder()))
    at = os.path.dirname(os.path.realpath(script))
    tool = os.path.basename(script)
    in_rank = not json.loads(os.environ["DLTRAIN_CAPTURE"]).get("forks")
    if in_rank or (at + os.sep).startswith(own + os.sep):
        return
    name = "python3"
    if tool == "torchrun":
        name, words = tool, words[words.index(script) + 1 :]
    elif os.path.basename(at) in ("bin", "sbin"):
        return  # a tool of the system
    folder = json.loads(os.environ["DLTRAIN_CAPTURE_LAUNCH"])["folder"]
    program = os.path.join(os.path.dirname(folder), "programs", name)
    if os.access(program, os.X_OK):
        os.execv(program, [program, *words])


class _AfterTorch:
    """(Of no class of importlib.abc, which takes as long to import as all else that is here.)"""

    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _start().apply(module)

        spec.loader.exec_module = exec_module
        return spec


if os.environ.get("DLTRAIN_CAPTURE_LAUNCH") and os.environ.get("DLTRAIN_CAPTURE"):
    _as_by_name()
if os.environ.get("DLTRAIN_CAPTURE"):
    # All ranks write to one file: a line at a time, whatever PYTHONUNBUFFERED says, so that lines
    # of two are never mixed, and none is lost with a rank that is ended.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(line_buffering=True, write_through=False)
    sys.meta_path.insert(0, _AfterTorch())
    _watch(KEPT_FILES, os.pardir, "kept_files.py")
    _watch(KEPT_ENVIRONMENT, "kept_environment.py")
