# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 60
"""--version of each program: its version, the commit of the clone, and ns-3's release."""

import os
import re
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest, main

LINE = re.compile(
    r"(\w+) (\d+\.\d+\.\d+), commit (unknown|[0-9a-f]{8})( with changes)?, ns-3 (\S+)\n"
)
NAMES = ("collperf", "dlgoodput", "dlplan", "dlserve", "dltrain", "traffic")


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


class Version(SystemTest):
    def said(self, name):
        done = subprocess.run(
            [os.path.join(PROGRAMS, name), "--version"], capture_output=True, text=True, timeout=30
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_each_program_names_commit_and_ns3(self):
        lines = {name: LINE.fullmatch(self.said(name)) for name in NAMES}
        for name, line in lines.items():
            self.assertTrue(line, self.said(name))
            self.assertEqual(line[1], name)
            self.assertRegex(line[5], r"^3\.\d+")
        # They are of one build.
        self.assertEqual(len({line.groups()[1:] for line in lines.values()}), 1)

    def test_the_commit_is_one_of_the_clone(self):
        commit = LINE.fullmatch(self.said("dltrain"))[3]
        if not git("rev-parse", "--git-dir") or git("rev-parse", "--show-prefix"):
            self.assertEqual(commit, "unknown")
        else:
            # (A build of an earlier commit may be what is tested.)
            self.assertTrue(git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"))

    def test_version_comes_before_errors(self):
        done = subprocess.run(
            [os.path.join(PROGRAMS, "traffic"), "--version", "--k=x"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Identity(SystemTest):
    """The small source that a build writes (scripts/setup/build-identity.cmake)."""

    def write_identity(self, top):
        path = os.path.join(self.folder, "identity.cc")
        subprocess.run(
            ["cmake", "-D", f"TOP={top}", "-D", f"FILE={path}", "-D", "NS3=3.37", "-P"]
            + [os.path.join(ROOT, "scripts", "setup", "build-identity.cmake")],
            check=True,
            capture_output=True,
        )
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('BUILD_NS3 = "3.37"', text)
        return re.search('BUILD_COMMIT = "(.*)"', text)[1]

    def commit(self, top):
        who = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
        subprocess.run(["git", "-C", top, "init", "-q"], check=True)
        subprocess.run(["git", "-C", top, "add", "-A"], check=True)
        subprocess.run(["git", "-C", top, *who, "commit", "-q", "-m", "x"], check=True)
        done = subprocess.run(
            ["git", "-C", top, "rev-parse", "--short=8", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def test_commit_changes_and_none(self):
        top = os.path.join(self.folder, "clone")
        os.makedirs(os.path.join(top, "scratch"))
        self.write("clone/scratch/x.cc", "int main() {}\n")
        self.write("clone/README.md", "x\n")
        self.assertEqual(self.write_identity(top), "unknown")  # an archive
        commit = self.commit(top)
        self.assertEqual(self.write_identity(top), commit)
        self.write("clone/README.md", "y\n")  # no program is made of it
        self.assertEqual(self.write_identity(top), commit)
        self.write("clone/scratch/x.cc", "int main() { return 1; }\n")
        self.assertEqual(self.write_identity(top), f"{commit} with changes")
        # An archive within a repository of somebody else's.
        self.assertEqual(self.write_identity(os.path.join(top, "scratch")), "unknown")


if __name__ == "__main__":
    main()
