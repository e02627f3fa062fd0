# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""The worked notebooks run top to bottom, and a notebook shows progress and can be interrupted.

`tests/system/scripts/scripts-notebook.py --update` (with DLTRAIN_PROGRAMS) executes the notebooks
and stores their outputs anew.
"""

import base64
import importlib.util
import json
import os
import re
import struct
import sys
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest

for module in ("pandas", "matplotlib", "nbclient", "ipykernel"):
    if importlib.util.find_spec(module) is None:
        print(f"python3-{module} is not installed")
        sys.exit(77)

import jupyter_client  # noqa: E402
import nbclient  # noqa: E402
import nbformat  # noqa: E402

FOLDER = os.path.join(ROOT, "scripts", "notebooks")
NOTEBOOK = os.path.join(FOLDER, "training-study.ipynb")
SERVING = os.path.join(FOLDER, "serving-study.ipynb")
os.environ.update(DLTRAIN_PROGRAMS=PROGRAMS, PYDEVD_DISABLE_FILE_VALIDATION="1")
os.environ.pop("MPLBACKEND", None)


def executed(notebook):
    # The kernel of this very Python: the one that is named python3 may be another's.
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": FOLDER}},
    )
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    return notebook


def outputs(notebook, kind):
    return [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == kind
    ]


def printed(notebook):
    return "".join(output.text for output in outputs(notebook, "stream") if output.name == "stdout")


def without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.pop("outputs", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


class ServingNotebook(SystemTest):
    def test_top_to_bottom(self):
        """What it prints is what is stored; both runs have answered all requests."""
        stored = nbformat.read(SERVING, as_version=4)
        nbformat.validate(stored)
        notebook = without_outputs(SERVING)
        notebook.cells.append(
            nbformat.v4.new_code_cell(
                'import json; print("DATA", json.dumps({name: run.stats["serving"] for name, run'
                " in runs.items()}))"
            )
        )
        executed(notebook)
        self.assertEqual(outputs(notebook, "error"), [])
        said, data = printed(notebook).split("DATA ")
        runs = json.loads(data)
        self.assertEqual(set(runs), {"one pool", "split"})
        for name, serving in runs.items():
            self.assertEqual(serving["answered"], serving["requests"])
            self.assertIn(f"{name}: {100 * serving['slo']['attainment']:.1f}% of requests", said)
        self.assertEqual(
            printed(stored),
            said,
            "outputs are out of date: tests/system/scripts/scripts-notebook.py --update",
        )


class WorkedNotebook(SystemTest):
    def test_top_to_bottom(self):
        stored = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(stored)
        notebook = without_outputs(NOTEBOOK)
        # Its data, for what follows: only numbers leave a notebook otherwise as text and pictures.
        notebook.cells.append(
            nbformat.v4.new_code_cell(
                'import json; print("DATA", json.dumps([[*key, run.stats] for key, run in'
                " runs.items()]))"
            )
        )
        executed(notebook)
        self.assertEqual(outputs(notebook, "error"), [])
        self.assertEqual(
            [output.text for output in outputs(notebook, "stream") if output.name == "stderr"], []
        )
        said, data = printed(notebook).split("DATA ")
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            page = " ".join(file.read().split())
        for sentence in said.splitlines():
            if sentence.startswith("On the "):
                self.assertIn(sentence, page, "what docs/python.md quotes is out of date")
        runs = {(zero, times): stats for zero, times, stats in json.loads(data)}
        self.assertEqual(set(runs), {(zero, times) for zero in (0, 2, 3) for times in (1, 4)})
        self.check_answer(said, runs)
        self.check_pictures(notebook)
        # What the stored notebook tells its readers is what comes out now.
        self.assertEqual(
            printed(stored),
            said,
            "outputs are out of date: tests/system/scripts/scripts-notebook.py --update",
        )
        # One of the six by the command line.
        plain = self.run_program(
            "dltrain --model=bloom560m --zero=2 --warmup=0 --oversubscription=4 --servers=16"
        )
        self.assertEqual(plain.stats["step_time_us"], runs[2, 4]["step_time_us"])

    def check_answer(self, said, runs):
        """The sentences against the runs. Stages 0, 2, 3 send 2, 2, 3 psi (n-1)/n parameters of 2 B
        a GPU.
        """
        for times, name in ((1, "full fat-tree"), (4, "4:1 oversubscribed fat-tree")):
            best = min((0, 2, 3), key=lambda zero: runs[zero, times]["step_time_us"])
            milliseconds = runs[best, times]["step_time_us"] / 1000
            self.assertIn(
                f"On the {name}, ZeRO-{best} is fastest with {milliseconds:.0f} ms a step", said
            )
        for (zero, _), stats in runs.items():
            sent = {0: 2, 2: 2, 3: 3}[zero] * 2 * stats["parameters"] * 127 / 128
            self.assertWithin(sum(stats["bytes_sent_per_gpu"].values()), sent, 0.01)

    def check_pictures(self, notebook):
        pictures = [
            base64.b64decode(output.data["image/png"])
            for output in outputs(notebook, "display_data")
            if "image/png" in output.data
        ]
        self.assertEqual(len(pictures), 5)
        for picture in pictures:
            self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", picture[16:24])
            self.assertTrue(width > 300 and height > 100, (width, height))


class Jupyter(SystemTest):
    def setUp(self):
        super().setUp()
        self.manager = jupyter_client.KernelManager(kernel_name="python3")
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel(cwd=FOLDER, env={**os.environ, "TMPDIR": self.folder})
        self.client = self.manager.client()
        self.client.start_channels()
        self.addCleanup(self.manager.shutdown_kernel, now=True)
        self.addCleanup(self.client.stop_channels)
        self.client.wait_for_ready(timeout=120)

    def execute(self, code, until=None):
        """Messages of a cell: all, or up to the first for which until(message) is true."""
        # After an error a kernel drops what comes within a moment, unless told that no error is
        # meant to stop anything.
        number = self.client.execute(code, stop_on_error=False)
        return self.messages(number, until), number

    def messages(self, number, until=None):
        found, begin = [], time.monotonic()
        while time.monotonic() - begin < 120:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != number:
                continue
            found.append(message)
            if until and until(message):
                return found
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return found
        self.fail("a cell does not end")

    def test_progress_bar_and_interrupt(self):
        """The bar is one display, updated. An interrupt ends the run with complete files; the
        notebook goes on.
        """
        self.execute(
            "import sys; sys.path.insert(0, '..')\nfrom cluster_simulator import *\nsim ="
            " Simulator()"
        )

        def bars(messages):
            return [
                m["content"]["data"]["text/html"]
                for m in messages
                if m["msg_type"] in ("display_data", "update_display_data")
                and "<progress" in m["content"]["data"].get("text/html", "")
            ]

        seen = []
        messages, number = self.execute(
            'sim.traffic(k=4, bytes=["1MB", "100GB"], ack_every=1)',
            lambda m: seen.append(m) or len(bars(seen)) >= 3,
        )
        self.assertEqual(len(bars(messages)), 3)
        self.assertEqual(sum(m["msg_type"] == "display_data" for m in messages), 1)
        self.assertRegex(
            bars(messages)[-1],
            r'<progress max="1000" value="\d+".*traffic: .* ms simulated, +[\d.]+% done',
        )
        self.manager.interrupt_kernel()
        rest = self.messages(number)
        error = next(m["content"] for m in rest if m["msg_type"] == "error")
        self.assertEqual(error["ename"], "KeyboardInterrupt")
        self.assertRegex(error["evalue"], "NOT COMPLETED .*interrupted by Ctrl-C")
        last = [
            m["content"]["data"]["text/plain"]
            for m in rest
            if m["msg_type"] == "update_display_data"
        ][-1]
        self.assertRegex(last, r"^traffic: interrupted after [\d.]+ s$")
        after, _ = self.execute(
            "print(sim.last.stats['interrupted'], len(sim.last.flows()) =="
            " sim.last.stats['messages'] > 0)\nsim.last"
        )
        self.assertEqual(
            [m["content"]["text"] for m in after if m["msg_type"] == "stream"],
            ["True True\n"],
            after,
        )
        shown = next(
            m["content"]["data"]["text/html"] for m in after if m["msg_type"] == "execute_result"
        )
        self.assertTrue(
            re.match(r"<pre>", shown) and "Incomplete: the run was interrupted" in shown, shown
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for worked in (NOTEBOOK, SERVING):
            renewed = executed(nbformat.read(worked, as_version=4))
            for renewed_cell in renewed.cells:
                renewed_cell.metadata.pop("execution", None)  # times of day
            nbformat.write(renewed, worked)
    else:
        unittest.main(verbosity=2)
