# SPDX-License-Identifier: GPL-2.0-only
"""Makes the wheel of cluster_simulator for pip (PEP 517 and 660), with the standard library only.

With setuptools as the backend, pip fetches setuptools over the network even where it is installed.
"""

import base64
import hashlib
import os
import re
import zipfile

PACKAGE = "cluster_simulator"
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _project():
    """Name, version and dependencies of pyproject.toml; older Pythons have no parser for it."""
    with open(os.path.join(FOLDER, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()

    def value(key):
        return re.search(rf"^{key} = (.*)$", text, re.MULTILINE)[1]

    return {
        "version": value("version").strip('"'),
        "summary": value("description").strip('"'),
        "python": value("requires-python").strip('"'),
        "needs": re.findall(r'"([^"]+)"', value("dependencies")),
    }


def _sources():
    """(path, name in the wheel) of every file of the package."""
    for folder, folders, files in os.walk(os.path.join(FOLDER, PACKAGE)):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if not name.endswith(".pyc"):
                path = os.path.join(folder, name)
                yield path, os.path.relpath(path, FOLDER)


def _write(wheel_directory, contents):
    """The wheel of the Python package alone: {name: bytes}."""
    project = _project()
    needs = "".join(f"Requires-Dist: {need}\n" for need in project["needs"])
    metadata = (
        f"Metadata-Version: 2.1\nName: cluster-simulator\nVersion: {project['version']}\n"
        f"Summary: {project['summary']}\nLicense: GPL-2.0-only\n"
        f"Requires-Python: {project['python']}\n{needs}"
    )
    files = {name: (data, False) for name, data in contents.items()}
    return write_wheel(
        wheel_directory, (PACKAGE, project["version"]), "py3-none-any", files, metadata
    )


def write_wheel(wheel_directory, name_and_version, tag, contents, metadata):
    """A wheel of {name: (bytes, is it executable?)}; the same input makes the same bytes. A wheel
    of a platform has programs.
    """
    name_and_version = "-".join(name_and_version)
    info = f"{name_and_version}.dist-info"
    pure = "true" if tag.endswith("-any") else "false"
    wheel = f"Wheel-Version: 1.0\nGenerator: dltrain\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    contents = {
        **contents,
        f"{info}/METADATA": (metadata.encode(), False),
        f"{info}/WHEEL": (wheel.encode(), False),
    }
    record = "".join(
        f"{name},sha256={_digest(data)},{len(data)}\n" for name, (data, _) in contents.items()
    )
    contents[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), False)
    file = f"{name_and_version}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, file), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, executable) in contents.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return file


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    contents = {}
    for path, name in _sources():
        with open(path, "rb") as file:
            contents[name] = file.read()
    return _write(wheel_directory, contents)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {f"{PACKAGE}.pth": (FOLDER + "\n").encode()})
