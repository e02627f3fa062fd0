# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""dlserve from outside: the same bytes over engines, threads and processes; KV bytes by their
formula; runs that end early, are interrupted or cannot keep up; and bad input.
"""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import full, main, share_of

SPLIT = "--split=prefill:2x(tp=2),decode:1x(tp=1,pp=2)"
QUICK = "--count=4 --rate=200 --prompt=64 --output=3 --report=0"

# What crosses the network: KV by layer between unlike cuts, with activations of a pipeline;
# all-reduces; all-to-all with sizes by the router's skew, beside all-reduces.
RUNS = {
    "split": f"dlserve --model=gpt2 --gpus-per-server=2 {SPLIT} --kv-transfer=by-layer {QUICK}",
    "tensor": f"dlserve --model=gpt2 --gpus-per-server=2 --tp=4 --packet-blocks=all {QUICK}",
    "experts": (
        "dlserve --model=mixtral-8x7b --gpu=H100 --gpus-per-server=4 --tp=2 --ep=8 --moe-skew=1"
        f" --packet-blocks=2 {QUICK}"
    ),
}


class Repeatable(SameBytesTest):
    def test_engines_threads_and_processes(self):
        for name, line in RUNS.items():
            expected = self.written(f"{line} --attribution=0", without=("events",))
            self.assertGreater(len(expected["iterations.csv"].splitlines()), 5, name)
            for more in ["--engine=ns3", f"--threads=2{ALWAYS}"]:
                with self.subTest(f"{name} {more}"):
                    written = self.written(f"{line} --attribution=0 {more}", without=("events",))
                    for file in ("requests.csv", "iterations.csv", "load.csv", "instances.csv"):
                        self.assertEqual(written[file], expected[file], file)
        if MPIRUN:
            for name in share_of(RUNS, 3):
                self.compare_ranks(RUNS[name], (2,))


class Network(SameBytesTest):
    def test_kv_bytes(self):
        """2 tensors x 12 blocks x 768 numbers x 2 bytes a token of the prompt, however cut."""
        token = 2 * 12 * 768 * 2
        pools = ["prefill:1x(tp=2),decode:2x(tp=1,pp=3)", "prefill:1x(tp=1),decode:1x(tp=4)"]
        for pool in pools:
            for transfer in ("whole", "by-layer"):
                with self.subTest(f"{pool} {transfer}"):
                    run = self.run_program(
                        f"dlserve --model=gpt2 --gpus-per-server=2 --split={pool} {QUICK}"
                        f" --kv-transfer={transfer}"
                    )
                    for row in run.rows("requests.csv"):
                        self.assertEqual(row["kv_bytes"], token * row["input_tokens"])
                        self.assertEqual(row["produced_tokens"], row["output_tokens"])

    def test_some_blocks_stand_for_all(self):
        """Exchanges of 4 blocks of 12: other collectives of the same sizes take as long."""
        line = f"dlserve --model=gpt2 --gpus-per-server=2 --tp=4 {QUICK}"
        few, every = (self.run_program(f"{line} --packet-blocks={n}") for n in ("auto", "all"))
        self.assertWithin(
            few.stats["serving"]["tpot_ms"]["mean"], every.stats["serving"]["tpot_ms"]["mean"], 0.05
        )
        sent = [run.stats["serving"]["network_bytes"] for run in (few, every)]
        self.assertLess(2 * sent[0], sent[1])

    def test_a_late_start_is_not_repeated(self):
        """Engines of a later stage begin at unlike times; that wait comes once an iteration."""
        line = (
            "dlserve --model=mixtral-8x7b --gpu=H100 --gpus-per-server=4 --tp=4 --pp=2 --ep=8"
            " --count=8 --rate=100 --prompt=64 --output=4 --report=0"
        )
        few, every = (
            self.run_program(f"{line} --packet-blocks={n}").stats["serving"]["e2e_ms"]["mean"]
            for n in ("4", "all")
        )
        self.assertWithin(few, every, 0.1)

    def test_a_cut_link_only_delays(self):
        """KV of a link that is cut for a while is sent again: every answer is whole."""
        line = (
            "dlserve --model=gpt2 --gpus-per-server=1 --split=prefill:1x(tp=1),decode:1x(tp=1)"
            f" {QUICK}"
        )
        fault = " --fault=what=link-down,at=1ms,on=server-0-edge-0-0,for=20ms"
        calm, cut = (self.run_program(line + more) for more in ("", fault))
        self.assertEqual(cut.stats["serving"]["answered"], 4)
        self.assertGreater(
            cut.stats["serving"]["e2e_ms"]["max"], calm.stats["serving"]["e2e_ms"]["max"]
        )


class Ends(SameBytesTest):
    def test_duration(self):
        for cut in ("--tp=1", "--tp=2 --gpus-per-server=1"):
            with self.subTest(cut):
                run = self.run_program(
                    f"dlserve --model=gpt2 {cut} --rate=100 --count=100 --prompt=64 --output=16"
                    " --duration=60ms --report=0"
                )
                serving = run.stats["serving"]
                self.assertTrue(serving["ended_early"])
                self.assertLess(serving["answered"], 100)
                rows = run.rows("requests.csv")  # of those that have come
                self.assertEqual(len(rows), serving["requests"])
                self.assertLessEqual(max(row["arrival_s"] for row in rows), 0.06)
                for row in run.rows("instances.csv"):
                    parts = [value for key, value in row.items() if key.endswith("_s")]
                    self.assertWithin(sum(parts), 0.06, 1e-4)  # written to a us

    def interrupt(self, line):
        words, out = self.command(line)
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        ) as process:
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        for name in ("requests.csv", "iterations.csv", "instances.csv", "load.csv", "stats.json"):
            self.assertTrue(os.path.getsize(os.path.join(out, name)) > 0, name)
        with open(os.path.join(out, "requests.csv"), encoding="utf-8") as file:
            return sum(1 for _ in file) - 1

    def test_interrupted(self):
        several = (
            "dlserve --model=gpt2 --tp=2 --gpus-per-server=1 --requests=burst:5000 --prompt=1000"
            " --output=20 --report=0 --packet-blocks=all"
        )
        self.assertEqual(self.interrupt(several), 5000)

    @full
    def test_interrupted_in_a_server(self):
        line = "dlserve --model=gpt2 --requests=burst:1000000 --output=100 --kv-tokens=9000"
        self.assertEqual(self.interrupt(f"{line} --report=0"), 1000000)

    def test_rates_that_are_done_are_kept(self):
        """Ctrl-C during the third rate: both before it are printed and written, others named."""
        line = "dlserve --model=gpt2 --count=20000 --prompt=64 --output=64 --report=0 --progress"
        words, out = self.command(f"{line} --sweep-rate=10..400:40")
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        ) as process:
            begun = 0
            while begun < 3:
                begun += process.stderr.readline().endswith(" requests/s\n")
            process.send_signal(signal.SIGINT)
            text, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            serving = json.load(file)["serving"]
        done = [point["rate_per_s"] for point in serving["rates"]]
        self.assertEqual(done[:2], [10, 20])
        # 10 to 400 in 40 steps of 10.
        missing = serving["rates_missing"]
        self.assertEqual([round(rate) for rate in done + missing], list(range(10, 410, 10)))
        self.assertTrue(serving["search_stopped"])
        self.assertIn("no run of ", text)
        with open(os.path.join(out, "serving_rates.csv"), encoding="utf-8") as file:
            self.assertEqual(sum(1 for _ in file), 1 + len(done))

    def test_it_cannot_keep_up(self):
        """400 a second come; a batch of 4 gives an answer of 100 tokens in more than 0.1 s."""
        run = self.run_program(
            "dlserve --model=gpt2 --rate=400 --count=400 --prompt=64 --output=100 --max-batch=4"
            " --report=0"
        )
        serving = run.stats["serving"]
        self.assertWithin(serving["arrives_per_s"], 400, 0.2)
        answers = serving["answers_per_s"]
        self.assertWithin(answers, serving["requests_per_s"], 0.1)  # what begins also ends
        text = " ".join(run.out.split())
        self.assertIn("requests/s arrive", text)
        self.assertRegex(text, r"the queue grows by \d+ a second")

    def test_find_rate(self):
        """At the rate that is found 90% meet the objective, and at a fifth more they do not."""
        line = "dlserve --model=gpt2 --count=300 --prompt=64 --output=20 --max-batch=2 --report=0"
        slo = " --slo=ttft:50ms"
        found = self.run_program(f"{line}{slo} --find-rate=90%").stats["serving"]
        best = found["best_rate_per_s"]
        self.assertEqual(found["wanted_attainment"], 0.9)
        for factor, meets in ((1, True), (1.2, False)):
            run = self.run_program(f"{line}{slo} --rate={factor * best}")
            attainment = run.stats["serving"]["slo"]["attainment"]
            self.assertEqual(attainment >= 0.9, meets, f"{factor} x {best}: {attainment}")


class BadInput(SameBytesTest):
    def test_one_error_each(self):
        self.write("columns.csv", "arrival,prompt\n0,5\n")
        self.write("numbers.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,7\n1,x,8\n")
        slo = "--slo=ttft:500ms"
        for line, *words in [
            ("--model=resnet50 --prompt=10", "--prompt=10", "resnet50"),
            ("--model=bert-large --output=10", "--output=10", "encoder"),
            ("--kv-tokens=100", "--kv-tokens=100", "1280"),
            (
                "--model=gpt2 --kv-tokens=1024 --prompt=1000 --output=25 --speculate=gpt2:4:0.5",
                "4 drafts",
                "1040",
            ),
            ("--no-chunked-prefill --prompt=3000", "-chunked-prefill", "3255"),
            ("--tp=5", "--tp=5", "32 heads"),
            ("--requests=columns.csv", "columns.csv:1", "output_tokens"),
            ("--requests=numbers.csv", "numbers.csv:3", "'x'"),
            ("--requests=nofile.csv", "nofile.csv"),
            ("--requests=poison:4", "poison", "did you mean 'poisson'"),
            ("--rate=0", "--rate=0"),
            ("--rate=-1", "--rate=-1"),
            ("--slo=ttft:500", "no unit", "ttft:500ms"),
            (f"{slo} --find-rate=150%", "--find-rate=150%"),
            ("--find-rate=90%", "needs --slo"),
            ("--split=prefill:1x(tp=1)", "no decode pool"),
            ("--split=prefill:1x(tp=1),decode:1x(tp=1) --scheduler=static", "--scheduler=static"),
            ("--speculate=gpt2:4:0.5 --scheduler=static", "--scheduler=static"),
            ("--speculate=gpt2:4:1.5", "1.5"),
            ("--send-share=1.5", "--send-share=1.5"),
            ("--prefix-cache=2", "--prefix-cache=2"),
            ("--kv-memory=0", "--kv-memory=0"),
            ("--model=mixtral-8x7b --tp=2 --ep=3", "--ep=3", "4"),
            ("--scheduler=vlm", "did you mean 'vllm'"),
        ]:
            with self.subTest(line):
                self.refuse(f"dlserve {line}", *words)


if __name__ == "__main__":
    main()
