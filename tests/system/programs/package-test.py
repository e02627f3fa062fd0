# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 3600 PROCESSORS 2 FULL
"""./ns3 package: a .deb, a wheel and a tarball. Each runs without the clone and without its build,
writes the same bytes as the clone's programs, and leaves nothing behind. (A Debian root without
compiler is for a person: docs/install.md.)
"""

import ast
import glob
import os
import re
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SLOWER, SystemTest, main

NAMES = ("collperf", "dlgoodput", "dlplan", "dlserve", "dltrain", "traffic")
LINE = "--model=gpt2 --warmup=0 --servers=4"
# A user's shell: nothing of it names the clone.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def files_below(folder):
    return {
        os.path.relpath(os.path.join(place, name), folder)
        for place, folders, files in os.walk(folder)
        for name in files + folders
    }


def is_of_pip(path):
    """What pip has compiled of itself."""
    return "__pycache__" in path and "/pip/" in path


def bytes_of(folder):
    """Of each table and log of a run."""
    found = {}
    for path in glob.glob(os.path.join(folder, "*.csv")) + [os.path.join(folder, "calls.log")]:
        with open(path, "rb") as file:
            found[os.path.basename(path)] = file.read()
    return found


class Packages(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.path.exists("/usr/include/ns3/core-config.h"):
            print("no installed ns-3: packages are made on it alone")
            sys.exit(77)
        cls.output = os.path.join(ROOT, ".ns3", "packages-tested")
        subprocess.run(["rm", "-rf", cls.output], check=True)
        done = subprocess.run(
            [os.path.join(ROOT, "ns3"), "package", f"--output={cls.output}"],
            capture_output=True,
            text=True,
            timeout=3000,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        cls.made = [line.split("  (")[0] for line in done.stdout.splitlines()]
        cls.deb, cls.wheel, cls.tar = cls.made

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["rm", "-rf", cls.output], check=True)
        super().tearDownClass()

    def shell(self, *words, status=0, environment=None):
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**ENVIRONMENT, "HOME": self.folder, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def check_programs(self, bin_folder, found_by="package"):
        """All answer, and a run is that of the clone."""
        began = time.monotonic()
        for name in NAMES:
            said = self.shell(os.path.join(bin_folder, name), "--version").stdout
            self.assertRegex(said, rf"^{name} \d+\.\d+\.\d+, commit .*, ns-3 3\.\d+")
        self.assertLess(time.monotonic() - began, 10 * SLOWER)
        out = os.path.join(self.folder, f"{found_by}-run")
        done = self.shell(
            os.path.join(bin_folder, "dltrain"), *LINE.split(), f"--out={out}", "--no-progress"
        )
        self.assertNotIn("error", done.stderr)
        self.assertTrue(os.path.getsize(os.path.join(out, "report.html")) > 100000)
        own = os.path.join(self.folder, "own-run")
        self.shell(os.path.join(PROGRAMS, "dltrain"), *LINE.split(), f"--out={own}", "--no-report")
        here, there = bytes_of(own), bytes_of(out)
        self.assertEqual(sorted(here), sorted(there))
        self.assertIn("steps.csv", here)
        for name, text in here.items():
            self.assertTrue(text == there[name], f"{name} differs")
        # Without --out: in the current folder.
        self.shell(os.path.join(bin_folder, "traffic"), "--k=4", "--bytes=10kB")
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "results/traffic-1/flows.csv")))
        preset = "--scenario=scenarios/presets/incast-64.json"
        self.shell(os.path.join(bin_folder, "traffic"), preset, "--dry-run")
        self.assertIn(
            f"Usage: {NAMES[0]} [", self.shell(os.path.join(bin_folder, NAMES[0]), "--help").stdout
        )

    def test_tarball_anywhere(self):
        place = os.path.join(self.folder, "an y where")
        os.mkdir(place)
        self.shell("tar", "-xzf", self.tar, "-C", place)
        (top,) = os.listdir(place)
        self.assertEqual(top, os.path.basename(self.tar).removesuffix(".tar.gz"))
        prefix = os.path.join(self.folder, "moved")
        os.rename(os.path.join(place, top), prefix)
        self.check_programs(os.path.join(prefix, "bin"))
        traffic = os.path.join(prefix, "bin", "traffic")
        small = ["--topology=single-switch", "--hosts=4", "--bytes=50kB", "--no-report"]
        self.shell(traffic, *small, "--protocol=tcp")
        said = self.shell(traffic, *small, "--mpi-ranks=2", status=2).stderr
        self.assertRegex(said, r"^traffic: error: .*part mpi is in no package.*\n$")
        sweep = os.path.join(prefix, "bin", "dltrain-sweep")
        self.shell(sweep, "traffic", "--out=swept", "--k=4", "--bytes=10kB,20kB")
        # Scripts find the program that only they call.
        self.shell(os.path.join(prefix, "bin", "dltrain-timeline"), "package-run")
        self.check_man_page(prefix)
        self.check_completion(prefix)
        self.check_libraries(prefix)

    def check_man_page(self, prefix):
        listed = self.shell(os.path.join(prefix, "bin", "dltrain"), "--help").stdout
        with open(os.path.join(prefix, "share/man/man1/dltrain.1"), encoding="utf-8") as file:
            page = file.read().replace("\\-", "-")
        options = re.findall(r"^  (?:-\w, )?(--[a-z][a-z0-9-]*)", listed, re.MULTILINE)
        self.assertGreater(len(options), 200)
        for option in options:
            self.assertRegex(page, rf"(?m)^\.B .*{option}\b")

    def complete(self, prefix, *words):
        script = (
            f"source '{prefix}/share/bash-completion/completions/dltrain'; "
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dltrain_complete_dltrain; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return self.shell("bash", "-c", script, "x", *words).stdout.split()

    def check_completion(self, prefix):
        self.assertEqual(self.complete(prefix, "dltrain", "--warmu"), ["--warmup="])
        self.assertIn("gpt2-xl", self.complete(prefix, "dltrain", "--model", "=", "gpt2"))
        self.assertEqual(self.complete(prefix, "dltrain", "--zero-impl", "=", "de"), ["deepspeed"])

    def check_libraries(self, prefix):
        """Only those of glibc come from the system."""
        said = self.shell("ldd", os.path.join(prefix, "bin", "dltrain")).stdout
        for name, path in re.findall(r"(\S+) => (\S+)", said):
            if not re.match(r"(libc|libm|libdl|librt|libpthread)\.so", name):
                self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(prefix)), name)

    def test_wheel_in_an_environment(self):
        environment = os.path.join(self.folder, "env")
        self.shell("/usr/bin/python3", "-m", "venv", environment)
        before = files_below(environment)
        pip = [os.path.join(environment, "bin", "python"), "-m", "pip", "--no-cache-dir"]
        self.shell(*pip, "install", "--no-index", self.wheel)
        self.check_programs(os.path.join(environment, "bin"))
        code = (
            "import cluster_simulator as c; from cluster_simulator import *; "
            "sim = c.Simulator([c.ServerConfig([c.GPUmodel.A100] * 8)] * 2); "
            "print([c.__file__, sim.train(model='gpt2', warmup=0).stats['gpus']])"
        )
        python = os.path.join(environment, "bin", "python")
        path, gpus = ast.literal_eval(self.shell(python, "-c", code).stdout)
        self.assertTrue(path.startswith(environment), path)
        self.assertEqual(gpus, 16)
        sweep = os.path.join(environment, "bin", "dltrain-sweep")
        self.shell(sweep, "traffic", "--out=swept", "--k=4", "--bytes=10kB,20kB")
        self.shell(os.path.join(environment, "bin", "dltrain-report"), "package-run")
        self.shell(*pip, "uninstall", "-y", "dltrain")
        # No file, and no folder of its own; pip leaves folders that others use, too.
        left = {one for one in files_below(environment) - before if not is_of_pip(one)}
        common = {"share", *(f"share/{name}" for name in ("doc", "man", "bash-completion"))}
        self.assertEqual(left - common, set())

    def test_debian_package(self):
        fields = self.shell("dpkg-deb", "--field", self.deb).stdout
        self.assertRegex(fields, r"(?m)^Package: dltrain$")
        depends = re.search(r"(?m)^Depends: (.*)$", fields)[1]
        for name in ("libns3", "libboost-program-options", "libc6", "python3", "libjs-d3"):
            self.assertIn(name, depends)
        root = os.path.join(self.folder, "root")
        self.shell("dpkg-deb", "--extract", self.deb, root)
        self.assertEqual(os.listdir(root), ["usr"])
        self.check_programs(os.path.join(root, "usr", "bin"))
        ours = os.listdir(os.path.join(root, "usr/lib/dltrain"))
        self.assertFalse([name for name in ours if re.match(r"libns3-core|libboost|libstdc", name)])

    def test_the_same_bytes_again(self):
        before = [self.digest(path) for path in self.made]
        self.shell(
            os.path.join(ROOT, "ns3"),
            "package",
            "wheel",
            "tar",
            f"--output={self.output}",
            environment={"PATH": os.environ["PATH"]},
        )
        after = [self.digest(path) for path in self.made]
        self.assertEqual(before[1:], after[1:])

    def digest(self, path):
        return self.shell("sha256sum", path).stdout


if __name__ == "__main__":
    main()
