#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plays ranks of a job: imports PyTorch once and forks a process for each rank.

    workers.py JOB          JOB: a file of JSON, written by command.py

{"program": [...], "module": false, "code": null, "tells_rank": false,
 "ranks": [[0, {"RANK": "0", ...}], ...], "calls": {"1": [words, folder, variables]},
 "at_once": 2, "ended": folder, "status": file}
"""

import builtins
import ctypes
import gc
import json
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
import types

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from launch import idleness  # noqa: E402

# Seconds that other ranks get to say what they wait for, when one has failed.
GRACE = 3
SLEEP_S = 2  # and for so long nothing of the job computes any more
PR_SET_PDEATHSIG = 1  # linux/prctl.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


def main(path):
    _die_with_parent()
    _keep_memory()
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    # The import of torch makes the device; what most scripts import is there for all ranks.
    # Torch makes a folder, which a killed process would leave.
    tempfile.tempdir = os.path.dirname(job["ended"])
    for also in ("torch", "torch.distributed", "torch.distributed.fsdp", *_of_all(job)):
        try:
            __import__(also)
        except ImportError:
            pass
    tempfile.tempdir = None
    gc.freeze()  # what is here is not copied for each rank by looking at it
    statuses = _play(job)
    with open(job["status"], "w", encoding="utf-8") as file:
        json.dump(statuses, file)
    status = next((status for status in statuses.values() if status), 0)
    return status if status >= 0 else 128 - status  # of a signal, as shells have it


def _of_all(job):
    """What takes long to import, and only some scripts do: here once, if ranks would do it each by
    itself. (What the script's own file does not name they do.)
    """
    if len(job["ranks"]) == 1:
        return []
    text = job["code"]
    if text is None:
        try:
            with open(job["program"][0], encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:  # a module, a folder: who knows
            return ["torchvision"]
    return ["torchvision"] if "torchvision" in text else []


def _die_with_parent():
    """However it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _keep_memory():
    """Tensors of some MiB that come and go (masks) do not give their pages back each time, which
    costs more than to compute them. What is larger may never be touched, and is mapped as ever.
    """
    malloc_option = ctypes.CDLL(None).mallopt
    malloc_option(M_MMAP_THRESHOLD, 8 << 20)
    malloc_option(M_TRIM_THRESHOLD, 128 << 20)


def _play(job):
    """{rank: exit status}"""
    todo = list(job["ranks"])
    running, statuses = {}, {}
    sleeps = idleness.Idleness(idleness.patience())
    others = None  # once one has failed: whether the rest sleeps
    ended = set()  # ranks that are ended here, as another one has failed
    failed_at = None
    while todo or running:
        while todo and len(running) < job["at_once"] and failed_at is None:
            rank, environment = todo.pop(0)
            process = os.fork()
            if process == 0:
                _be(rank, environment, job)
            running[process] = rank
        if failed_at is not None:
            todo = []
            others = others or idleness.Idleness(min(SLEEP_S, idleness.patience()), 0)
        process, status = os.waitpid(-1, os.WNOHANG)
        if process:
            rank = running.pop(process)
            statuses[rank] = os.waitstatus_to_exitcode(status)
            open(os.path.join(job["ended"], f"rank-{rank}"), "w").close()
            if statuses[rank] and failed_at is None:
                failed_at = time.monotonic()
        elif failed_at is None:
            # Ranks that wait for another one say so themselves; here all sleep, or wait for what
            # is no rank.
            if sleeps.is_over():
                for other in running:
                    os.kill(other, idleness.SIGNAL)
                failed_at = time.monotonic()
            time.sleep(0.01)
        elif _is_time(failed_at, others):
            for other, rank in running.items():
                ended.add(rank)
                os.kill(other, signal.SIGKILL)
            failed_at = time.monotonic() + 3600
        else:
            time.sleep(0.02)
    # What is ended here did not fail by itself.
    return {rank: status for rank, status in statuses.items() if rank not in ended}


def _is_time(failed_at, others):
    """To end the ranks that are left. Those that still compute come to where they wait, or to their
    end, so that what is said of them does not depend on who is quicker.
    """
    asleep = others.is_over()
    after = time.monotonic() - failed_at
    return after > GRACE and (asleep or after > GRACE + idleness.patience())


def _be(rank, environment, job):
    """This process becomes the rank, and never returns."""
    status = 1
    try:
        _die_with_parent()
        os.environ.update({key: str(value) for key, value in environment.items()})
        if call := job["calls"].get(str(rank)):
            job = {**job, "program": call[0]}
            os.chdir(call[1])
            for key, value in call[2].items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value
        given = json.loads(os.environ["DLTRAIN_CAPTURE"])
        given["forks"] = False
        os.environ["DLTRAIN_CAPTURE"] = json.dumps(given)
        signal.signal(idleness.SIGNAL, idleness.fail)
        device = sys.modules["capture_device"]
        sys.modules["dltrain_capture_inside.start"].begin(device, given)
        status = _run(job, device)
    except BaseException:
        traceback.print_exc()
    finally:
        _leave(status)


def _leave(status):
    import atexit
    import threading

    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _run(job, device):
    """The script's exit status; what it does not catch is told as Python tells it."""
    program = job["program"]
    sys.argv = list(program)
    if job["tells_rank"]:
        sys.argv.insert(1, f"--local_rank={os.environ['LOCAL_RANK']}")
    try:
        if job["code"] is not None:
            _run_code(job["code"], "<string>" if program[0] == "-c" else "<stdin>")
        elif job["module"]:
            sys.path[0] = os.getcwd()
            runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.abspath(program[0])
            if os.path.isfile(program[0]):
                sys.path[0] = os.path.dirname(sys.path[0])
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        _tell(error, device)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_code(code, name):
    """As the file of a script, but that there is none; the folder is the one one stands in."""
    sys.path[0] = ""
    here = types.ModuleType("__main__")
    here.__builtins__ = builtins
    sys.modules["__main__"] = here
    exec(compile(code.encode("utf-8", "surrogateescape"), name, "exec"), here.__dict__)


def _words_of(error):
    """They may fail themselves."""
    try:
        return str(error)
    except Exception as other:
        return f"<its __str__ raises {type(other).__name__}>"


def _own(error):
    """The script's frames of an error, and of those it came of."""
    here = (__file__, runpy.__file__, "<frozen runpy>")
    inside = os.path.join(os.path.dirname(os.path.dirname(__file__)), "inside", "")
    seen = set()
    chain = [error]
    while chain:
        one = chain.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        chain += [one.__cause__, one.__context__]
        kept = []
        frames = one.__traceback__
        while frames is not None:
            name = frames.tb_frame.f_code.co_filename
            if name not in here and not name.startswith(inside):
                kept.append(frames)
            frames = frames.tb_next
        for frame, after in zip(kept, [*kept[1:], None]):
            frame.tb_next = after
        one.__traceback__ = kept[0] if kept else None
    return error.__traceback__


def _tell(error, device):
    """Without the frames of this file, of runpy and of what stands between a script and PyTorch."""
    frames = _own(error)
    where = ""
    frame = frames
    while frame is not None:
        if frame.tb_next and frame.tb_next.tb_frame.f_code is idleness.fail.__code__:
            frame.tb_next = None
        name = frame.tb_frame.f_code.co_filename
        told = device.told_file(name)
        if told:
            where = f"{told}:{frame.tb_lineno}"
        frame = frame.tb_next
    device.mark_at("failed", {"type": type(error).__name__, "text": _words_of(error)}, where)
    # At once: other ranks fail at the same time, and their lines are not to be among these.
    sys.stderr.write("".join(traceback.format_exception(type(error), error, frames)))


if __name__ == "__main__":
    _leave(main(sys.argv[1]))  # taking down all of PyTorch's modules takes a while
