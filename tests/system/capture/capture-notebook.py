# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""The notebook of a script of one's own runs top to bottom, and tells what is so.

`tests/system/capture/capture-notebook.py --update` (with DLTRAIN_PROGRAMS) executes it and stores
its outputs anew.
"""

import importlib.util
import os
import re
import shutil
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import PROGRAMS, ROOT, main

for module in ("pandas", "matplotlib", "nbclient", "ipykernel"):
    if importlib.util.find_spec(module) is None:
        print(f"python3-{module} is not installed")
        sys.exit(77)

import nbclient  # noqa: E402
import nbformat  # noqa: E402

FOLDER = os.path.join(ROOT, "scripts", "notebooks")
NOTEBOOK = os.path.join(FOLDER, "own-script.ipynb")
PARAMETERS = 11689512  # of ResNet-18, as torchvision has it
os.environ.update(
    DLTRAIN_PROGRAMS=PROGRAMS, DLTRAIN_ROOT=ROOT, PYDEVD_DISABLE_FILE_VALIDATION="1"
)
os.environ.pop("MPLBACKEND", None)


def executed(folder):
    """The notebook, run in a folder with its script."""
    shutil.copy(os.path.join(FOLDER, "train.py"), folder)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    first = notebook.cells[1].source
    notebook.cells[1].source = first.replace('"..")', repr(os.path.dirname(FOLDER)) + ")")
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": folder}},
    )
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable  # of this very Python
    client.execute()
    notebook.cells[1].source = first
    return notebook


def printed(notebook):
    return "".join(
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stdout"
    )


class OwnScript(CaptureTest):
    def test_top_to_bottom(self):
        stored = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(stored)
        said = printed(executed(self.folder))
        self.assertIn("8 ranks, 8 captured", said)
        buckets = re.search(r"each bucket: \[(.*)\]", said)[1].split(", ")
        self.assertEqual(sum(map(int, buckets)), 4 * PARAMETERS)
        times = [float(text) for text in re.findall(r"([\d.]+) ms, of them", said)]
        self.assertEqual(len(times), 3)
        self.assertLess(times[0], times[1])  # a thin network is slower
        # Rank 0's own all-reduce meets the next one of rank 1's DDP.
        self.assertRegex(said, r"mismatch \[0, 1\] \['train.py:\d+', 'train.py:\d+'\]")
        self.assertEqual(
            printed(stored),
            said,
            "outputs are out of date: tests/system/capture/capture-notebook.py --update",
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        import tempfile

        with tempfile.TemporaryDirectory() as scratch:
            renewed = executed(scratch)
        for renewed_cell in renewed.cells:
            renewed_cell.metadata.pop("execution", None)  # times of day
        nbformat.write(renewed, NOTEBOOK)
    else:
        main()
