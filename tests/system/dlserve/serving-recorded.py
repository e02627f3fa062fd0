# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 120
"""dlserve against requests that vLLM 0.19 has served, with their arrivals and lengths.

tests/golden/serving/vllm-requests.csv and vllm-runs.json are of casys-kaist/LLMServingSim@5daddb2,
bench/examples: 300 requests each, on one GPU, whose arrivals come faster than they are answered.
"""

import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

GOLDEN = f"{ROOT}/tests/golden/serving"
# Bounds of issue "serve": errors of the whole time and of the medians.
BOUNDS = {"makespan_s": 0.08, "tpot_ms": 0.10, "ttft_ms": 0.20}


class Recorded(SystemTest):
    def test_vllm(self):
        with open(f"{GOLDEN}/vllm-runs.json", encoding="utf-8") as file:
            runs = json.load(file)
        self.assertEqual(len(runs), 2)
        for recorded in runs:
            with self.subTest(gpu=recorded["gpu"]):
                kv = f"--kv-tokens={recorded['kv_tokens']}" if recorded["kv_tokens"] else ""
                run = self.run_program(
                    f"dlserve --model=llama3.1-8b --gpu={recorded['gpu']} --gpus=1"
                    f" --gpus-per-server=1 --requests={GOLDEN}/vllm-requests.csv"
                    f" --requests-where=gpu={recorded['gpu']}"
                    f" --max-batch={recorded['max_num_seqs']}"
                    f" --token-budget={recorded['max_num_batched_tokens']} {kv}"
                    " --no-report --no-timeline --no-progress"
                )
                serving = run.stats["serving"]
                self.assertEqual(serving["answered"], recorded["requests"])
                self.assertWithin(
                    serving["duration_s"], recorded["makespan_s"], BOUNDS["makespan_s"]
                )
                for what in ("tpot_ms", "ttft_ms"):
                    self.assertWithin(serving[what]["p50"], recorded[what]["p50"], BOUNDS[what])


if __name__ == "__main__":
    main()
