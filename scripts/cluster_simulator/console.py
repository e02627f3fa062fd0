# SPDX-License-Identifier: GPL-2.0-only
"""What every script has around its main, as the programs do (contrib/dltrain/programs/frame.h).

    if __name__ == "__main__":
        console.run("plot", main)

- Standard output that cannot be written (a full disk, a closed descriptor) is one error and status
  1, whatever the script printed there. A status that is not 0 stays. A closed pipe (head) is no
  error: the status is SIGPIPE's, 141.
- What names of files hold never acts on the terminal: control characters, and bytes that are no
  UTF-8, are shown as \\xNN.
- Ctrl-C ends with 130, SIGTERM with 143, SIGHUP with 129, without a traceback.
"""

import os
import signal
import sys

from .shown import complaint, printable_lines

# What a script itself may send: a line of progress that is written over.
OVER = "\r\033[K"


class Stream:
    """A stream that only shows, and remembers that it could not be written."""

    def __init__(self, stream):
        self.stream = stream
        self.error = None if stream is not None else "Bad file descriptor"
        self.unread = False

    def write(self, text):
        over = OVER if text.startswith(OVER) else ""
        if self.error is None:
            try:
                self.stream.write(over + printable_lines(text[len(over) :]))
            except (OSError, ValueError) as error:
                self._lost(error)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        if self.error is None:
            try:
                self.stream.flush()
            except (OSError, ValueError) as error:
                self._lost(error)

    def isatty(self):
        return self.stream is not None and self.stream.isatty()

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def _lost(self, error):
        self.error = getattr(error, "strerror", None) or str(error)
        self.unread = isinstance(error, BrokenPipeError)
        # What still waits in its buffer has nowhere to go: else the interpreter complains when it
        # ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)


def _end(number, _):
    """As Ctrl-C does: what was begun is cleaned up. Once."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def run(program, main):
    """Ends the process with the status of main(arguments)."""
    for descriptor in (0, 1, 2):
        # A closed one would be the number of the next file, which would get what is printed.
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if descriptor == 0 else os.O_RDONLY)
    sys.stdout, sys.stderr = Stream(sys.stdout), Stream(sys.stderr)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)
    try:
        # argparse of Python 3.11 makes an empty list of the value "--".
        empty = next(
            (word for word in sys.argv[1:] if word.startswith("--") and word.endswith("=--")), None
        )
        if empty is None:
            status = main(sys.argv[1:])
        else:
            print(f"{program}: error: {complaint(empty)}: -- is no value", file=sys.stderr)
            status = 2
    except KeyboardInterrupt:
        status = 130
    except SystemExit as end:
        status = end.code
        if status is not None and not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    sys.stdout.flush()
    if sys.stdout.unread:
        status = status or 128 + signal.SIGPIPE
    elif sys.stdout.error is not None:
        print(
            f"{program}: error: standard output: cannot be written: {sys.stdout.error}",
            file=sys.stderr,
        )
        status = status or 1
    sys.stderr.flush()
    sys.exit(status)
