# SPDX-License-Identifier: GPL-2.0-only
"""What the words of mpirun and mpiexec ask for, as Open MPI 4.1 (its manual page) and, where it has
other names, Hydra's mpiexec of MPICH and Intel MPI take them.
"""

import re

from .counts import WrongWords, count

TASKS = set("-np --np -n --n -c".split())
EACH = set("-npernode --npernode -N -ppn -perhost".split())
HOSTS = set("-H -host --host -hosts".split())
HOST_FILES = set("-hostfile --hostfile -machinefile --machinefile -f".split())
# Options with a value that says nothing here; with a "-" and with two, but those in ALONE.
VALUES = set(
    "max-vm-size hnp default-hostfile cpu-set npersocket rank-by bind-to cpu-list cpus-per-proc"
    " cpus-per-rank rankfile output-filename stdin xml-file xterm path prefix preload-files wd wdir"
    " am tune debugger timeout app cartofile max-restarts ompi-server personality report-events"
    " report-pid report-uri launch-agent iface launcher bootstrap".split()
)
ALONE = {"-rf", "-cf"}
TWO = {"-mca", "--mca", "-gmca", "--gmca"}  # a key and a value
SET = {"-genv", "-env"}  # a variable and its value
FLAGS = set(
    "q quiet v verbose display-map display-allocation output-proctable dvm novm bycore byslot"
    " nolocal nooversubscribe oversubscribe bynode bind-to-core bind-to-socket bind-to-none"
    " report-bindings merge-stderr-to-stdout tag-output timestamp-output xml noprefix s"
    " preload-binary set-cwd-to-session-dir debug get-stack-traces tv allow-run-as-root continuous"
    " disable-recovery do-not-launch do-not-resolve enable-recovery index-argv-by-rank"
    " leave-session-attached report-child-jobs-separately show-progress terminate"
    " use-hwthread-cpus use-regexp d debug-devel debug-daemons debug-daemons-file"
    " display-devel-allocation display-devel-map display-diffable-map display-topo"
    " report-state-on-timeout genvall l prepend-rank print-all-exitcodes".split()
)


def mpirun(words, gpus, servers=None, sets=None):
    """Words after "mpirun": (servers, tasks on each, the command). `sets`: where variables that it
    hands on are put (-x NAME=VALUE; -x NAME alone is of one that is there).
    """
    sets = {} if sets is None else sets
    tasks = each = None
    hosts = []
    rest = list(words)

    def value(option):
        if not rest:
            raise WrongWords(f"mpirun: {option} needs a value")
        return rest.pop(0)

    while rest and rest[0].startswith("-"):
        name = rest.pop(0)
        bare = name.lstrip("-")
        if name in TASKS:
            tasks = count(value(name), f"mpirun: {name}")
        elif name in EACH:
            each = count(value(name), f"mpirun: {name}")
        elif bare == "pernode":
            each = 1
        elif bare in ("map-by", "ppr"):
            found = re.match(r"(?:ppr:)?(\d+):node\b", value(name))
            each = count(found[1], f"mpirun: {name}") if found else each
        elif name in HOSTS:
            hosts += [one for one in value(name).split(",") if one]
        elif name in HOST_FILES:
            hosts += _of_file(value(name))
        elif name == "-x":
            variable, given, text = value(name).partition("=")
            sets.update({variable: text} if given else {})
        elif name in SET:
            variable = value(name)
            sets[variable] = value(name)
        elif name in TWO:
            value(name), value(name)
        elif bare in VALUES or name in ALONE:
            value(name)
        elif bare not in FLAGS:
            raise WrongWords(f"mpirun: {name}: is none of its options")
    if not rest:
        raise WrongWords("mpirun: no command is named")
    if ":" in rest:
        raise WrongWords("mpirun: several programs, with ':' between them; allowed: one")
    slots = {_slots(host) for host in hosts}
    if each is None and hosts and (tasks is None or len(slots) == 1 and slots != {1}):
        each = min(max(slots), gpus)
    if tasks is None:
        tasks = (each or gpus) * (servers or len(hosts) or 1)
    each = min(tasks, each or gpus)
    if tasks % each:
        raise WrongWords(
            f"mpirun: {tasks} processes do not fill servers of {each} evenly; allowed: multiples of"
            f" {each}, or other ones on each with -npernode"
        )
    return tasks // each, each, rest


def _of_file(path):
    """Lines "host slots=N". A file of the real cluster may not be here: nothing is known then."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.partition("#")[0].split() for line in file]
    except OSError:
        return []
    found = []
    for words in filter(None, lines):
        told = [re.fullmatch(r"slots=(\d+)", word) for word in words[1:]]
        number = next((one[1] for one in told if one), None)
        found.append(words[0] if number is None else f"{words[0]}:{number}")
    return found


def _slots(host):
    number = host.rpartition(":")[2]
    return int(number) if ":" in host and number.isdigit() and int(number) > 0 else 1
