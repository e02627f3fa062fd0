# SPDX-License-Identifier: GPL-2.0-only
"""Captures for dltrain --launch, which starts it (scenarios/launch/launch-capture.cc).

The one argument is a JSON object: "command" as one types it, "made": folders that were made for
this capture, and that go where it is ended, and what capture() takes by name.
Standard output gets a JSON object a line:

    {"done": 3, "of": 15, "what": "running the script"}     training steps of ranks
    {"note": "sampled ranks differ ..."}
    {"failed": "Traceback ...", "status": 1}    the script; what there is is in the folder
    {"error": "--gpu='X': allowed: ..."}        nothing was captured
    {"full": "/tmp is full (0 MiB left; ...)"}  the same, as a disk is full, or the like

SIGTERM ends it and all that the script has started.
"""

import json
import os
import re
import signal

from ..errors import SimulatorError
from . import command_line
from .captured import CaptureFailed, NotWritten
from .capturing import capture, told


def main(argument):
    given = json.loads(argument)
    made = given.pop("made", [])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)

    def tell(**line):
        os.write(1, (json.dumps(line) + "\n").encode())

    try:
        words = command_line.of_line(given.pop("command"))
        capture(
            words,
            say=lambda text: tell(note=text),
            progress=lambda done, total, what: tell(done=done, of=total, what=what),
            **given,
        )
    except NotWritten as error:
        tell(full=str(error).removeprefix("capture: "))
    except CaptureFailed as error:
        if error.captured is None:
            tell(error=str(error).removeprefix("capture: "))
        else:
            tell(failed=str(error), status=error.exit_status)
    except SimulatorError as error:
        text = str(error).removeprefix("capture: ")
        tell(error=re.sub("^step=", "--capture-step=", text))
    except OSError as error:
        tell(full=told(error, given["out"]))
    except KeyboardInterrupt:
        for folder in reversed(made):
            try:
                os.rmdir(folder)  # not if there is anything in it
            except OSError:
                break
        return 130
    return 0


def _interrupt(number, _):
    signal.signal(number, signal.SIG_IGN)  # once: what follows is cleaning up
    raise KeyboardInterrupt
