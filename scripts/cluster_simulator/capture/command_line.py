# SPDX-License-Identifier: GPL-2.0-only
"""What a user wants to have captured, as words to run: a script, a launcher's words, or a line as
one types it into a shell.
"""

import os
import re
import shlex
import shutil

from ..errors import InvalidInput
from ..shown import shown

# What a script may start its processes with, and what then answers: launch/command.py.
LAUNCHERS = ("torchrun", "python", "python3", "srun", "mpirun", "mpiexec")
# Launchers that belong to packages which are not here, and what does the same.
OTHERS = {
    "accelerate": "torchrun --nproc_per_node=N (accelerate launch --num_processes=N)",
    "deepspeed": "torchrun --nproc_per_node=N (deepspeed --num_gpus=N)",
    "horovodrun": "mpirun -np N (horovodrun -np N), with torch.distributed in the script",
    "composer": "torchrun --nproc_per_node=N (composer -n N)",
    "colossalai": "torchrun --nproc_per_node=N (colossalai run --nproc_per_node N)",
}
SHELLS = ("bash", "sh", "dash", "ksh", "zsh")
# Names that scripts of bash have, where no first line tells.
ENDINGS = (".sh", ".bash", ".slurm", ".sbatch", ".sub", ".job")
VARIABLE = re.compile(r"[A-Za-z_]\w*=")
# What a shell does something with, where it is not quoted: it then runs the line.
OPERATORS = re.compile(r"[|&;<>()`$*?\n]|(?:^|\s)[~#]|\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
# In double quotes.
EXPANDED = re.compile(r"[`$]")
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)


def of_line(text):
    """Words of a line: its own, or bash with the line, where there is something for a shell. (What
    stands before a pipe may fail: that is a failure.)
    """
    text = text.strip()
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r}: {error}") from None
    if _needs_a_shell(text):
        return ["bash", "-o", "pipefail", "-c", text]
    # What the shell would set for it.
    return ["env", *words] if words and VARIABLE.match(words[0]) else words


def _needs_a_shell(text):
    quoted = "".join(one for one in QUOTED.findall(text) if one.startswith('"'))
    return bool(OPERATORS.search(QUOTED.sub("_", text)) or EXPANDED.search(quoted))


def of_command(command):
    """Words of a list of words, or of the name of a script: a Python script by python3, another one
    by bash. A text that is no file is a line.
    """
    if isinstance(command, str) and not os.path.exists(command) and len(command.split()) > 1:
        command = of_line(command)
    words = [command] if isinstance(command, (str, os.PathLike)) else list(command)
    words = [os.fspath(word) for word in words]
    if not words or not words[0]:
        raise InvalidInput("capture: there is no command: a script (train.py, launch.sh) or words")
    first = words[0]
    if os.path.isfile(first) and os.path.basename(first) not in LAUNCHERS:
        return _interpreter(first) + words
    if first in OTHERS:
        raise InvalidInput(f"capture: {not_here(first)}")
    if os.path.basename(first) not in LAUNCHERS and not shutil.which(first):
        raise InvalidInput(
            f"capture: {shown(first)}: no such script, and no program; allowed: a script of Python"
            f" or bash, a line for a shell, or {', '.join(LAUNCHERS)} with their words"
        )
    return words


def not_here(name):
    return f"{name} is not there where scripts are captured; allowed: {OTHERS[name]}"


def _interpreter(path):
    """What runs a file, as a list of words: [] is the file itself."""
    if path.endswith(".py"):
        return ["python3"]
    with open(path, "rb") as file:
        head = file.read(256)
    can_run = os.access(path, os.X_OK)
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n")[0].decode(errors="replace").split()
        named = [os.path.basename(word) for word in words if not word.startswith("-")]
        name = named[1] if named[:1] == ["env"] and len(named) > 1 else (named or [""])[0]
        if name.startswith("python"):
            return ["python3"]
        if name in SHELLS:
            return ["bash"]
        if can_run:
            return []
    elif can_run and head.startswith(b"\x7fELF"):
        return []
    elif path.endswith(ENDINGS) or (can_run and b"\0" not in head):
        return ["bash"]
    raise InvalidInput(
        f"capture: {shown(path)}: is no script of Python or bash: its name ends with none of .py,"
        f" {', '.join(ENDINGS)}, it does not begin with #!, and it is not executable; (bash"
        f" {shlex.quote(path)} runs it all the same)"
    )
