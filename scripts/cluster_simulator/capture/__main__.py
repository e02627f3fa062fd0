# SPDX-License-Identifier: GPL-2.0-only
"""Captures a training script:

    ./ns3 capture --out=captured torchrun --nproc_per_node=8 train.py
    ./ns3 capture --out=captured --servers=16 launch.sh
    ./ns3 capture --check train.py
    ./ns3 capture --setup
    ./ns3 capture mpirun -n 4 ./all_reduce_perf -b 8 -e 128M      a program of C++
    g++ mine.cc $(./ns3 capture --cuda-flags)

Exit status: the script's own; 2: wrong words, or the optional part is not installed; 3: --check,
and there are mistakes.
"""

import argparse
import contextlib
import errno
import os
import re
import shlex
import signal
import sys
import tempfile

from .. import console
from ..arguments import Parser
from ..errors import InvalidInput, SimulatorError
from . import capturing, cuda, gpus, installing, out_folder
from .cuda import options as cuda_options
from .captured import CaptureFailed

MISTAKES = 3


def parser():
    words = Parser("capture", description=__doc__)
    add = words.add_argument
    add("--setup", action="store_true", help="install and build the optional part, and end")
    add("--check", action="store_true", help="only look for mistakes: status 3 if there are any")
    add("--out", metavar="DIR", help="folder for the capture")
    add("--gpu", default="A100", help="model of the GPUs (default A100)")
    add("--gpus-per-server", type=int, default=8, metavar="N", help="default 8")
    add("--servers", type=int, metavar="N", help="in place of what the launcher says")
    add("--memory", metavar="SIZE", help="of a GPU, if not the model's own: 16GiB, or bytes")
    add(
        "--capture-ranks",
        default="auto",
        metavar="RANKS",
        help="auto (up to 16 all, of more a sample), all, or numbers: 0,5,127",
    )
    add(
        "--capture-steps",
        type=int,
        metavar="N",
        help="end the script after so many training steps (default 3, or up to 5 until the last one"
        " is like the one before; 0: never)",
    )
    add(
        "--capture-step",
        metavar="MARK",
        help="what ends a step, if it is not to be found: optimizer, a line of the script that is"
        " reached (train.py:87), a function of it that returns (train_one_step), or one of a"
        " library (call:torch.cuda.synchronize)",
    )
    add("--capture-network", action="store_true", help="let the script use the network")
    add(
        "--capture-host",
        default="none",
        metavar="HOST",
        help="what the program does on the CPU between operators: none (default), measured on this"
        " machine, or microseconds before each operator",
    )
    add(
        "--capture-patience",
        "--patience",
        dest="patience",
        type=int,
        default=30,
        metavar="SECONDS",
        help="how long a rank waits for another one that does not compute (default 30)",
    )
    cuda_options.add(words)
    add("command", nargs=argparse.REMAINDER, help="script, or launcher with its words")
    return words


def ranks_of(text):
    if text in ("auto", "all"):
        return text
    try:
        ranks = [int(word) for word in text.split(",")]
    except ValueError:
        raise InvalidInput(
            f"--capture-ranks={text}: allowed: auto, all, or numbers such as 0,5,127"
        ) from None
    _check_once(f"--capture-ranks={text}", ranks)
    return sorted(ranks)


def _check_once(told, ranks):
    twice = next((rank for rank in ranks if ranks.count(rank) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{told}: rank {twice} stands twice; allowed: each rank once")


def memory_of(text):
    """Bytes of "16GiB"; decimal units are a power of ten, as the programs have them."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[KMGT]i?B?|B)", text, re.IGNORECASE)
    unit = found[2].upper() if found else ""
    base = 1024 if "I" in unit else 1000
    size = int(float(found[1]) * base ** " KMGT".index(unit[:1].strip("B") or " ")) if found else 0
    if not gpus.LEAST_MEMORY <= size <= gpus.MOST_MEMORY:
        raise InvalidInput(f"--memory={text}: allowed: 2MiB to 1024TiB, such as 16GiB or 40GB")
    return size


# Of capture(), as they are called here.
OPTIONS = {
    "gpus_per_server": "--gpus-per-server",
    "servers": "--servers",
    "ranks": "--capture-ranks",
    "steps": "--capture-steps",
    "step": "--capture-step",
    "host": "--capture-host",
    "memory": "--memory",
    "patience": "--capture-patience",
}


class Stopped(KeyboardInterrupt):
    """By a signal, as Ctrl-C does: what there is half done goes."""


def _stop(number, _):
    signal.signal(number, signal.SIG_IGN)  # once: what follows is cleaning up
    raise Stopped(number)


def main(arguments):
    try:
        given = parser().parse_args(arguments)
    except InvalidInput as error:
        _say(error)
        return 2
    if given.command[:1] == ["--"]:  # argparse of Python 3.11 leaves it there
        del given.command[0]
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        return _main(given)
    except Stopped as stopped:
        return 128 + stopped.args[0]


def _main(given):
    try:
        if given.setup and given.command:
            raise InvalidInput("--setup takes no command; capture it behind that")
        if given.setup:
            print(f"the simulated GPUs are at {installing.set_up()}")
            return 0
        if given.cuda_flags:
            print(cuda.flags(_say_on))
            return 0
        is_program = cuda_options.wanted(given)
        if not is_program:
            cuda_options.refuse(given)
        if not (is_program or given.check or given.out):
            raise InvalidInput("--out=DIR is needed: the folder for the capture (or --check)")
        if given.out and os.path.exists(given.out) and not os.path.isdir(given.out):
            raise InvalidInput(f"--out={given.out}: is no folder")
        if is_program:
            return _run_program(given)
        if given.out:
            return _capture(given, given.out)
        with tempfile.TemporaryDirectory(prefix="capture-") as nowhere:
            return _capture(given, nowhere)
    except CaptureFailed as error:
        _say(error)
        return error.exit_status if 0 < error.exit_status < 256 else 1
    except SimulatorError as error:
        _say(error)
        return 2
    except OSError as error:
        _say(capturing.told(error, given.out))
        return 1 if error.errno in (errno.ENOSPC, errno.EDQUOT) else 2


def _say_on(text):
    print(f"capture: {text}", file=sys.stderr)


def _run_program(given):
    """A program of C or C++: its output is passed on, as it comes."""
    if given.out:
        os.makedirs(given.out, exist_ok=True)
    try:
        with contextlib.ExitStack() as held:
            if given.out:
                held.enter_context(out_folder.alone(given.out))
                out_folder.remove_old(given.out)
            return _run_alone(given)
    except CaptureFailed as error:
        _say(error)
        if given.check and error.mistakes:
            return MISTAKES
        return error.exit_status if 0 < error.exit_status < 256 else 1


def _run_alone(given):
    captured = cuda.run(
        given.command,
        given.out,
        gpu=given.gpu,
        gpus_per_server=given.gpus_per_server,
        servers=given.servers,
        memory=memory_of(given.memory),
        network=given.capture_network,
        patience=given.patience,
        cluster=shlex.split(given.cluster),
        keep=cuda_options.size(given.keep),
        clock=given.clock,
        kernel_times=given.kernel_times,
        say=_say_on,
    )
    if captured is not None:
        print("\n".join(captured.summary()), file=sys.stderr)
    return 0


def _say(error):
    text = str(error).removeprefix("capture: ")
    name, equals, rest = text.partition("=")
    if equals and name in OPTIONS:
        text = f"{OPTIONS[name]}={rest}"
    print(f"capture: error: {text}", file=sys.stderr)


def _capture(given, out):
    try:
        captured = capturing.capture(
            given.command,
            out,
            gpu=given.gpu,
            gpus_per_server=given.gpus_per_server,
            servers=given.servers,
            ranks=ranks_of(given.capture_ranks),
            steps=given.capture_steps,
            step=given.capture_step,
            memory=memory_of(given.memory),
            network=given.capture_network,
            patience=given.patience,
            host=given.capture_host,
            check=given.check,
            say=_say_on,
        )
    except CaptureFailed as error:
        if error.captured is not None:
            print("\n".join(error.captured.summary()))
            if given.check and error.captured.mistakes:
                _say(error)
                return MISTAKES
        raise
    print("\n".join(captured.summary()))
    return MISTAKES if given.check and captured.mistakes else 0


if __name__ == "__main__":
    console.run("capture", main)
