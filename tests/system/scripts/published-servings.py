# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""scripts/published with a table of servings: rows as options of dlserve, and what is compared."""

import json
import os
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest, main

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.published import served, serving  # noqa: E402

SCRIPT = os.path.join(ROOT, "scripts", "published")
TABLE = os.path.join(ROOT, "tests", "golden", "measured", "measured_serving.csv")


def head():
    with open(TABLE, encoding="utf-8") as file:
        return file.readline()


BASE = {
    "row_id": "mine",
    "kind": "closed loop with concurrency",
    "gpu": "H100",
    "gpus": 2,
    "server": "DGX H100",
    "tp": 2,
    "pp": 1,
    "dp": 1,
    "model": "llama3-8b",
    "weight_dtype": "bf16",
    "input_tokens": 1000,
    "output_tokens": 100,
    "lengths": "fixed",
    "concurrency": 4,
    "requests": 40,
    "engine": "vLLM",
    "version": "0.8.5",
    "scheduler": "continuous batching",
    "ttft_mean_ms": 50,
    "tpot_mean_ms": 10,
    "source": "me/mine@1 file.csv",
    "confidence": "high",
}


class ServingsTest(SystemTest):
    def table(self, *rows):
        columns = head().strip().split(",")
        text = head()
        for values in rows:
            self.assertEqual(set(values) - set(columns), set())
            text += ",".join(f'"{values.get(column, "")}"' for column in columns) + "\n"
        return self.write("table.csv", text)

    def row(self, **values):
        (row,) = served.read(self.table({**BASE, **values}))
        return row

    def test_a_row_is_a_command(self):
        row = self.row()
        self.assertEqual(row.unjudged, "")
        for word in (
            "--server=dgx-h100",
            "--tp=2",
            "--requests=closed:4",
            "--count=40",
            "--prompt=1000",
            "--output=100",
            "--framework=vllm-0.8",
            "--model=llama3-8b",
        ):
            self.assertIn(word, row.words)
        self.assertEqual(row.metrics, {"TTFT": ("mean", 50.0), "TPOT": ("mean", 10.0)})

    def test_lengths(self):
        for said, prompt, output in (
            ("uniform 0.8 to 1.0 of nominal", "uniform:800-1000", "uniform:80-100"),
            ("ShareGPT, means given", "lognormal:1000:1.1", "lognormal:100:1"),
            ("inputs fixed; outputs stop early: mean given", "1000", "lognormal:100:0.8"),
        ):
            words = self.row(lengths=said).words
            self.assertIn(f"--prompt={prompt}", words)
            self.assertIn(f"--output={output}", words)

    def test_engines_by_version(self):
        for engine, version, preset in (
            ("vLLM", "0.5.3.post1", "vllm-0.5"),
            ("vLLM", "0.6.x (2024-11)", "vllm-0.6"),
            ("vLLM", "0.12.0", "vllm-0.11"),
            ("vLLM", "0.19.0", "vllm-0.14"),
            ("SGLang", "0.5.9", "sglang"),
            ("TensorRT-LLM", "0.17", "trtllm-engine"),
            ("TensorRT-LLM", "1.0", "trtllm-1"),
            ("TensorRT-LLM Triton backend", "0.14.0", "trtllm-triton"),
        ):
            words = self.row(engine=engine, version=version).words
            self.assertIn(f"--framework={preset}", words)

    def test_layouts(self):
        apart = "disaggregated: 1 prefill x TP 2, 3 decode x TP 2, NIXL in one server"
        self.assertIn(
            "--split=prefill:1x(tp=2),decode:3x(tp=2)", self.row(layout=apart, gpus=8).words
        )
        copies = self.row(layout="4 instances of TP 2", dp=4, gpus=8)
        self.assertEqual(copies.copies, 4)
        self.assertIn("--tp=2", copies.words)
        experts = self.row(
            model="mixtral-8x7b", layout="attention data parallel 8, experts over 8", gpus=8
        )
        self.assertIn("--ep=8", experts.words)
        self.assertEqual(experts.kind, "MoE")

    def test_what_is_not_judged(self):
        for values, why in (
            ({"confidence": "low"}, "low confidence"),
            ({"stat": "medians; MTP speculation"}, "acceptance"),
            ({"layout": "8 LoRA adapters"}, "LoRA"),
            ({"model": "gpt-oss-120b", "weight_dtype": "fp8"}, "MXFP4"),
            ({"gpu": "Z9"}, "Z9"),
        ):
            self.assertIn(why, self.row(**values).unjudged)
        unsaid = self.row(assumed="number of requests not said")
        self.assertNotIn("TTFT", unsaid.metrics)
        self.assertIn("TPOT", unsaid.metrics)

    def test_runs_and_compares(self):
        path = self.table({**BASE, "out_tok_s": 400}, {**BASE, "row_id": "b", "confidence": "low"})
        out, told = f"{self.folder}/out", f"{self.folder}/rows.json"
        done = subprocess.run(
            [sys.executable, SCRIPT, path, f"--out={out}", f"--json={told}", "--jobs=1",
             f"--programs={PROGRAMS}"],
            capture_output=True, text=True, check=True,
        )
        self.assertIn("| all rows |", done.stdout)
        self.assertIn("1 rows: not judged: low confidence", done.stderr)
        with open(told, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual({one["metric"] for one in found["compared"]}, set(serving.METRICS))
        for one in found["compared"]:
            self.assertGreater(one["simulated"], 0)
            self.assertEqual(one["row_id"], "mine")
        self.assertEqual(found["not_judged"], [{"row_id": "b", "why": "low confidence"}])


if __name__ == "__main__":
    main()
