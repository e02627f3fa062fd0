# SPDX-License-Identifier: GPL-2.0-only
"""Serving beside other jobs on one network, and passes of plain networks between servers.

One switch for four hosts, a GPU each, all links 100 Gb/s: what crosses it to one host meets there.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import main

NETWORK = (
    "--topology=leaf-spine --leaves=2 --spines=1 --hosts-per-leaf=2 --gpus-per-server=1"
    " --nics-per-server=1 --nic=100GbE --fabric-rate=100Gbps --report=0 --timeline=0 "
)
SERVING = {
    "model": "gpt2-xl",
    "gpu": "A100",
    "split": "prefill:1x(tp=1),decode:1x(tp=1)",
    "requests": "constant:20",
    "count": 8,
    "prompt": "512",
    "output": "4",
}
# KV of a prompt between the leaves, and a copy on the same link.
SERVE = {"name": "serve", "hosts": [0, 2], "serving": SERVING}
COPY = {
    "name": "copy",
    "hosts": [1, 3],
    "flows": {"pattern": "incast", "fan_in": 1, "target": 1, "bytes": 6000000000},
}


class ServingBesideOthers(SameBytesTest):
    def line(self, jobs, options=""):
        file = self.write("jobs.json", {"jobs": jobs})
        return f"dltrain {NETWORK}{options} --jobs={file}"

    def run_jobs(self, jobs, options=""):
        run = self.run_program(self.line(jobs, options))
        self.assertTrue(run.stats["completed"])
        return run, {job["name"]: job for job in run.stats["jobs"]}

    def test_kv_that_shares_a_link_comes_later(self):
        run, of = self.run_jobs([SERVE, COPY], "--network=fluid")
        serve = of["serve"]
        self.assertEqual(serve["kind"], "serving")
        self.assertEqual(serve["model"], "gpt2-xl")
        answers = serve["serving"]
        self.assertEqual(answers["answered"], 8)
        # GPT-2 XL: 48 layers, keys and values of 1600 numbers of 2 bytes, 512 tokens.
        kv = 48 * 2 * 1600 * 2 * 512
        self.assertEqual(answers["kv_bytes"], 8 * kv)
        self.assertEqual(serve["bytes"], 8 * kv)
        # Alone at 100 Gb/s, together at half of that. The first token is the prefill pool's, which
        # waits for nothing. The last ones wait for KV, so requests take that much longer.
        later = kv * 8 / 100e9 * 1e3
        ttft, alone = answers["ttft_ms"]["p50"], serve["ttft_alone_ms"]["p50"]
        self.assertWithin(ttft, alone, 0.001)
        for name in ("p50", "mean"):
            self.assertWithin(
                answers["e2e_ms"][name] - serve["e2e_alone_ms"][name], later, 0.05, name
            )
        slower = answers["tpot_ms"]["p50"] - serve["tpot_alone_ms"]["p50"]
        self.assertWithin(slower, later / 3, 0.05)
        # What jobs are compared by.
        self.assertWithin(serve["time_us"], 1e3 * answers["e2e_ms"]["mean"], 1e-9)
        self.assertGreater(serve["slower_by_others"], 1.02)
        # Tables of its own, and the answer on the terminal.
        rows = run.rows("serve-requests.csv")
        self.assertEqual(len(rows), 8)
        for table in ("iterations", "load", "instances"):
            self.assertTrue(run.rows(f"serve-{table}.csv"))
        self.assertIn("TPOT p50", run.out)
        self.assertIn("serve: 8 of 8 requests answered", run.out)

    def test_alone_is_as_dlserve_has_it(self):
        _, of = self.run_jobs([{**SERVE, "hosts": [0, 1]}], "--alone=0")
        # (--output would be taken for the run's folder.)
        options = " ".join(
            f"--{'random-output-len' if key == 'output' else key}={value}"
            for key, value in SERVING.items()
        )
        run = self.run_program(f"dlserve {NETWORK}{options}")
        for name in ("ttft_ms", "tpot_ms", "e2e_ms", "kv_transfer_ms", "network_bytes"):
            self.assertEqual(of["serve"]["serving"][name], run.stats["serving"][name], name)

    def test_the_same_bytes_whoever_runs_it(self):
        short = {**SERVE, "serving": {**SERVING, "count": 3, "prompt": "128"}}
        ring = {
            "name": "ring",
            "hosts": [1, 3],
            "collective": {"op": "all_reduce", "bytes": "20MB", "iterations": 3},
        }
        line = self.line([short, ring])
        expected = self.written(f"{line} --engine=ns3", without=["events"])
        self.assertIn("serve-requests.csv", expected)
        for other in ("", " --threads=2" + ALWAYS):
            with self.subTest(other):
                self.check_same(self.written(line + other, without=["events"]), expected)


class PlainNetworks(SameBytesTest):
    def model(self, layers=4):
        return self.write(
            "mlp.json",
            {
                "name": "mlp",
                "input": 4000,
                "layers": [
                    {"name": f"dense{i}", "ops": [["linear", 4000], ["relu"]]}
                    for i in range(layers)
                ],
            },
        )

    def test_what_crosses_the_network(self):
        # Two all-reduces of 32 x 4000 bf16 numbers a pass. A rank of two sends half of it to be
        # added, and half of the sums: together twice the buffer. Of a pipeline's cut once.
        model = self.model()
        for cut, dense in (("--tp=2", 2 * 2 * 256000), ("--pp=2", 256000)):
            for sparse, share in (("", 1), ("--send-share=0.2", 0.2)):
                with self.subTest(cut=cut, sparse=sparse):
                    run = self.run_program(
                        f"dlserve {NETWORK}--model={model} --gpu=A100 {cut} --batch=32 --passes=10"
                        f" {sparse} --algorithm=ring --protocol=Simple"
                    )
                    serving = run.stats["serving"]
                    self.assertEqual(serving["answered"], 10)
                    self.assertEqual(serving["network_bytes"], 10 * dense * share)
                    # Twice: to the other rank and back.
                    ways = {"all_reduces": 2, "sends": 1}
                    sent = sum(n * serving["pass"][kind]["bytes"] for kind, n in ways.items())
                    self.assertEqual(sent, dense * share)
                    self.assertGreater(
                        serving["e2e_ms"]["mean"] * 1e3, serving["pass"]["kernels_us"]
                    )
                    self.assertIn("a pass, from its arrival to its result", run.out)
                    self.assertEqual("Sparse" in run.out, bool(sparse))

    def test_on_one_gpu_a_pass_is_its_kernels(self):
        run = self.run_program(
            f"dlserve --model={self.model()} --gpu=A100 --batch=32 --passes=5 --report=0"
        )
        serving = run.stats["serving"]
        self.assertWithin(serving["e2e_ms"]["mean"] * 1e3, serving["pass"]["kernels_us"], 1e-5)
        self.assertEqual(serving["network_bytes"], 0)


if __name__ == "__main__":
    main()
