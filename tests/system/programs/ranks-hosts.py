# SPDX-License-Identifier: GPL-2.0-only
# --mpi-hosts: a run over two hosts has the bytes of one process; a lost host is named. Hosts are
# network namespaces with names and addresses of their own, and a script stands for ssh.
# ctest: TIMEOUT 300 PROCESSORS 2
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _system_test import share_of
from _traffic import PROGRAM, SLOWER, check, done, folder, write

NAMES = {"dl-a": "10.77.0.1", "dl-b": "10.77.0.2"}
AGENT = """#!/bin/sh
# AGENT HOST COMMAND, as ssh
pid=$(cat '%s'/$1.pid) || exit 255
shift
exec nsenter -t "$pid" -n -u -i -m sh -c "cd /; $*"
"""
HOST = """hostname %(name)s && mount --bind '%(hosts)s' /etc/hosts && ip link set lo up &&
echo $$ > '%(pid)s' && exec sleep 600"""
LONG = ["--k=4", "--bytes=1MB,100GB", "--out=long", "--mpi-hosts=dl-a:2,dl-b:2"]


def can():
    wanted = ("unshare", "nsenter", "ip", "hostname", "mount")
    if not MPIRUN or os.geteuid() != 0 or not all(map(shutil.which, wanted)):
        return False
    words = ["unshare", "--net", "--uts", "--ipc", "--mount", "ip", "link", "set", "lo", "up"]
    return subprocess.run(words, capture_output=True).returncode == 0


if not can():
    print("skipped: no mpirun, or no namespaces (root, unshare, iproute2)")
    sys.exit(77)


class Hosts:
    """Two of them, on a cable."""

    def __enter__(self):
        write("hosts", "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in NAMES.items()))
        write("agent", AGENT % folder().rstrip("/"))
        os.chmod(folder("agent"), 0o755)
        self.processes = {}
        for name in NAMES:
            script = HOST % {
                "name": name,
                "hosts": folder("hosts"),
                "pid": folder(name + ".pid"),
            }
            words = ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", script]
            self.processes[name] = subprocess.Popen(words)
        begin = time.time()
        while not all(self.pid(name) for name in NAMES):
            check(time.time() < begin + 20 * SLOWER, "hosts do not start")
            time.sleep(0.05)
        for words in (
            "ip link add dlva type veth peer name dlvb",
            f"ip link set dlva netns {self.pid('dl-a')}",
            f"ip link set dlvb netns {self.pid('dl-b')}",
        ):
            subprocess.run(words.split(), check=True)
        for name, link in (("dl-a", "dlva"), ("dl-b", "dlvb")):
            for words in (f"ip addr add {NAMES[name]}/24 dev {link}", f"ip link set {link} up"):
                self.inside(name, *words.split())
        return self

    def __exit__(self, *unused):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def pid(self, name):
        path = folder(name + ".pid")
        return int(open(path).read() or 0) if os.path.exists(path) else 0

    def inside(self, name, *words):
        subprocess.run(["nsenter", "-t", str(self.pid(name)), "-n", *words], check=True)

    def of(self, name):
        """Processes of a host, but for the one that holds it."""
        network = os.readlink(f"/proc/{self.pid(name)}/ns/net")
        found = {}
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/ns/net") == network:
                    found[int(process)] = os.readlink(f"/proc/{process}/exe")
            except OSError:
                pass
        found.pop(self.pid(name), None)
        return found

    def start(self, *words):
        return subprocess.Popen(
            ["nsenter", "-t", str(self.pid("dl-a")), "-n", "-u", "-i", "-m"]
            + ["sh", "-c", 'cd "$0" && exec "$@"', folder(), PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **{n: v for n, v in os.environ.items() if not n.startswith("OMPI_")},
                "OMPI_MCA_plm_rsh_agent": folder("agent"),
            },
        )

    def run(self, *words, status=0):
        process = self.start(*words)
        output, errors = process.communicate(timeout=120 * SLOWER)
        check(
            process.returncode == status,
            f"{words}: status {process.returncode}, not {status}\n{output}{errors}",
        )
        return output, errors


def read(out, name):
    with open(folder(out) + "/" + name, "rb") as file:
        return file.read()


def same(a, b):
    for name in ("flows.csv", "links.csv", "network_events.log", "topology.json"):
        check(read(a, name) == read(b, name), f"{name}: {b} differs from {a}")


def long_run(hosts):
    """One that is in the middle of it, with ranks on both hosts."""
    shutil.rmtree(folder("long"), ignore_errors=True)
    process = hosts.start(*LONG)
    begin = time.time()
    while not os.path.exists(folder("long/links.csv")):
        check(time.time() < begin + 30 * SLOWER, "the run does not begin")
        time.sleep(0.05)
    time.sleep(0.5 * SLOWER)
    return process


def ends(hosts, process, status):
    begin = time.monotonic()
    output, errors = process.communicate(timeout=60 * SLOWER)
    took = time.monotonic() - begin
    check(process.returncode == status, f"status {process.returncode}\n{output}{errors}")
    for name in NAMES:
        begin = time.time()
        while any(path == PROGRAM_FILE for path in hosts.of(name).values()):
            check(time.time() < begin + 20 * SLOWER, f"ranks are left on {name}")
            time.sleep(0.1)
    return output, errors, took


def one_error(errors, *words):
    lines = [line for line in errors.splitlines() if "% done, " not in line]
    check(len(lines) == 1 and lines[0].startswith("traffic: error: "), "not one error: " + errors)
    for word in words:
        check(word in lines[0], f"{word} is not in {lines[0]}")


PROGRAM_FILE = os.path.realpath(PROGRAM)
with Hosts() as hosts:
    # The same bytes: ranks evenly, unevenly, and all of them elsewhere.
    traffic = ["--k=8", "--pattern=permutation", "--bytes=100kB", "--no-report", "--no-progress"]
    hosts.run(*traffic, "--attribution=0", "--out=one")
    for out, words, text in share_of(
        (
            ("two", ["--mpi-hosts=dl-a,dl-b"], "2, on dl-a (1) and dl-b (1): each has"),
            (
                "five",
                ["--mpi-hosts=dl-b,dl-a", "--mpi-ranks=5"],
                "5, on dl-b (3) and dl-a (2): each has",
            ),
            ("away", ["--mpi-hosts=dl-b:2"], "2, on dl-b (2): each has"),
        ),
        one_in=2,
    ):
        output, errors = hosts.run(*traffic, *words, f"--out={out}")
        check(errors == "", errors)
        check(text in output, output)
        same("one", out)

    # What is wrong is said before anything starts.
    for words, said in (
        ("--mpi-hosts=dl-a,nowhere", "host nowhere cannot be reached"),
        ("--mpi-hosts=dl-a,dl-a", "twice"),
        ("--mpi-hosts=dl-b", "--mpi-ranks=2"),
        ("--mpi-hosts=dl-a:2,dl-b", "all, or none"),
        ("--mpi-hosts=dl-a:2,dl-b:2 --mpi-ranks=3", "4 ranks"),
        ("--mpi-hosts=dl-a,-oX", "names no host"),
    ):
        one_error(hosts.run("--k=4", *words.split(), status=2)[1], words.split()[0], said)
    # A host that does not see the folder of the run.
    os.mkdir(folder("mine"))
    hosts_folder = subprocess.run(
        ["nsenter", "-t", str(hosts.pid("dl-b")), "-m", "mount", "-t", "tmpfs", "none"]
        + [folder("mine")],
        check=False,
    )
    if hosts_folder.returncode == 0:
        os.mkdir(folder("mine/here"))
        script = f"cd {folder('mine/here')} && exec {PROGRAM} --k=4 --mpi-hosts=dl-a,dl-b"
        said = subprocess.run(
            ["nsenter", "-t", str(hosts.pid("dl-a")), "-n", "-u", "-i", "-m", "sh", "-c", script],
            env={**os.environ, "OMPI_MCA_plm_rsh_agent": folder("agent")},
            capture_output=True,
            text=True,
        )
        check(said.returncode == 2, said.stdout + said.stderr)
        one_error(said.stderr, "host dl-b has no folder " + folder("mine/here"))

    # All processes of a host end at once; its daemon alone; its cable is cut.
    def kill_all():
        for process in hosts.of("dl-b"):
            os.kill(process, signal.SIGKILL)

    def kill_daemon():
        for process, path in hosts.of("dl-b").items():
            if os.path.basename(path) == "orted":
                os.kill(process, signal.SIGKILL)

    def cut():
        hosts.inside("dl-b", "ip", "link", "set", "dlvb", "down")

    for lose in share_of((kill_all, cut, kill_daemon), one_in=2):
        process = long_run(hosts)
        lose()
        begin = time.monotonic()
        output, errors = process.communicate(timeout=60 * SLOWER)
        took = time.monotonic() - begin
        check(process.returncode == 1, f"{lose.__name__}: {output}{errors}")
        errors = "".join(one for one in errors.splitlines(True) if one != "Killed\n")
        one_error(errors, "host dl-b was lost, with ranks 2 and 3 of 4", "the run ended after")
        check(took < 10 * SLOWER, f"{lose.__name__}: named after {took:.1f} s")
        if lose is cut:
            hosts.inside("dl-b", "ip", "link", "set", "dlvb", "up")

    # A rank alone is named with its host.
    process = long_run(hosts)
    ranks = [one for one, path in hosts.of("dl-b").items() if path == PROGRAM_FILE]
    os.kill(ranks[0], signal.SIGKILL)
    output, errors, took = ends(hosts, process, 1)
    check(re.search(r"rank [23] of 4 on dl-b was killed by signal 9", errors), errors)

    # Ctrl-C, also where no rank is here.
    for where in share_of(("dl-a:2,dl-b:2", "dl-b:2"), one_in=2):
        LONG[-1] = "--mpi-hosts=" + where
        process = long_run(hosts)
        process.send_signal(signal.SIGINT)
        output, errors, took = ends(hosts, process, 130)
        check("interrupted by Ctrl-C" in output + errors, output + errors)
        check(os.path.exists(folder("long/stats.json")), "no stats.json")
done()
