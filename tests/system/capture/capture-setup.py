# SPDX-License-Identifier: GPL-2.0-only
"""What the set-up of captures says while it works, with an apt that installs nothing."""

import os
import stat
import sys
from unittest import mock

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.capture import installing  # noqa: E402

# As apt 2.6 writes to its Status-Fd; words without a status are its usual output.
APT = """#!/bin/sh
case "$*" in *Status-Fd=1*) ;; *) exit 9 ;; esac
echo "Reading package lists..."
echo "dlstatus:1:0:Retrieving file 1 of 2"
echo "dlstatus:1:4.99:Retrieving file 1 of 2"
echo "dlstatus:2:53.1250:Retrieving file 2 of 2"
echo "pmstatus:dpkg-exec:0.0000:Running dpkg"
echo "pmstatus:libtorch1.13:12.5000:Preparing libtorch1.13:amd64"
echo "pmstatus:python3-torch:100.0000:Installed python3-torch (amd64)"
echo "E: of no interest" >&2
exit %d
"""


class SetUp(SystemTest):
    def install(self, status):
        folder = os.path.join(self.folder, f"programs-{status}")
        os.mkdir(folder)
        for name, text in (
            ("apt-get", APT % status),
            ("dpkg-query", "#!/bin/sh\necho none\n"),
            ("sudo", '#!/bin/sh\nshift\nexec "$@"\n'),
        ):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, stat.S_IRWXU)
        said = []
        changed = {"PATH": folder + os.pathsep + os.environ["PATH"], "DLTRAIN_NO_INSTALL": ""}
        with mock.patch.dict(os.environ, changed):
            try:
                installing._install(said.append)
            except installing.NotInstalled as error:
                return said, str(error)
        return said, ""

    def test_progress(self):
        said, error = self.install(0)
        self.assertEqual(error, "")
        self.assertIn("installing with apt (600 MB, once): python3-torch", said[0])
        self.assertEqual(
            said[2:],
            [
                "downloading packages: 0%",
                "downloading packages: 50%",
                "unpacking and setting up packages: 0%",
                "unpacking and setting up packages: 10%",
                "unpacking and setting up packages: 100%",
            ],
        )

    def test_failure(self):
        """Tried again with new lists; then the command to type, and apt's own words."""
        said, error = self.install(100)
        self.assertEqual(sum("lists of packages" in one for one in said), 1)
        self.assertIn("type:  sudo apt-get install", error)
        self.assertIn("E: of no interest", error)

    def test_versions(self):
        """Those that the device is made for; another one is named, with them."""
        for package, version in (
            ("1.13.1+dfsg-4", "1.13.1"),
            ("2.6.0+dfsg-7+b1", "2.6.0"),
            ("", ""),
        ):
            with mock.patch.object(installing, "_torch_version", return_value=package):
                self.assertEqual(installing.torch_version(), version)
                if version:
                    installing._check_version()
        for package, told in (
            ("2.1.2-3", "is 2.1.2"),
            ("2.60.1-1", "is 2.60.1"),
            ("", "is not there"),
        ):
            with mock.patch.object(installing, "_torch_version", return_value=package):
                with self.assertRaises(installing.NotInstalled) as caught:
                    installing._check_version()
                self.assertIn(told, str(caught.exception))
                self.assertIn("1.13 of Debian 12 or 2.6 of Debian 13", str(caught.exception))


if __name__ == "__main__":
    main()
