# SPDX-License-Identifier: GPL-2.0-only
"""Models from config.json files as Hugging Face publishes them, and by name: parameter counts in
the plan and in stats.json, multi-token prediction, and what is refused.

model-configs/ has published files; long members that shape no language model are emptied.
"""

import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, share_of

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model-configs")

# Parameters of the language model, total and active: embeddings, head, norms, router and its bias,
# sinks, shared experts; without vision and multi-token prediction. Reckoned from shapes by hand;
# those of Qwen3 and Mixtral equal the published cards.
COUNTS = {
    "Qwen3-8B": (8_190_735_360, 8_190_735_360),
    "Qwen3-30B-A3B": (30_532_122_624, 3_353_032_704),
    "Qwen3-235B-A22B": (235_093_634_560, 22_190_763_520),
    "Qwen3-Coder-480B-A35B-Instruct": (480_154_875_392, 35_474_765_312),
    "gpt-oss-20b": (20_914_757_184, 4_187_440_704),
    "gpt-oss-120b": (116_829_156_672, 5_711_982_912),
    "Llama-4-Scout-17B-16E-Instruct": (107_769_861_120, 17_172_894_720),
    "Llama-4-Maverick-17B-128E-Instruct": (400_711_848_960, 17_184_691_200),
    "DeepSeek-V3": (671_026_419_200, 37_552_297_472),
    "DeepSeek-V3.2": (671_877_944_064, 38_403_822_336),
    "Kimi-K2-Instruct": (1_026_408_232_448, 32_861_500_928),
    "GLM-5": (743_911_218_432, 41_784_728_832),
    "Mixtral-8x7B-v0.1": (46_702_792_704, 12_879_925_248),
}
NAMES = {
    "qwen3-8b": "Qwen3-8B",
    "gpt-oss-20b": "gpt-oss-20b",
    "llama4-scout": "Llama-4-Scout-17B-16E-Instruct",
    "llama4-maverick": "Llama-4-Maverick-17B-128E-Instruct",
    "deepseek-v3.2": "DeepSeek-V3.2",
    "kimi-k2": "Kimi-K2-Instruct",
    "glm-5": "GLM-5",
}
# One GPU, which all of these exceed.
PLAN = "--servers=1 --gpus-per-server=1 --nics-per-server=1 --micro-batch=1 --seq=1024"
PLAN += " --ignore-memory --dry-run"
RUN = PLAN.replace("--dry-run", "--network=analytic --warmup=0")


def config(name):
    return os.path.join(CONFIGS, f"{name}.json")


def model_line(run):
    return re.search(r"^  model +(.*)$", run.out, re.MULTILINE)[1]


class Models(SystemTest):
    def test_counts_of_published_files(self):
        for name, (total, active) in COUNTS.items():
            with self.subTest(name):
                line = model_line(self.run_program(f"dltrain --model={config(name)} {PLAN}"))
                self.assertIn(f", {total:,} parameters", line)
                if active < total:
                    self.assertIn(f"({active:,} active)", line)
                else:
                    self.assertNotIn("active", line)

    def test_counts_of_the_zoo(self):
        for name, same in NAMES.items():
            with self.subTest(name):
                line = model_line(self.run_program(f"dltrain --model={name} {PLAN}"))
                self.assertIn(f"{name}, {COUNTS[same][0]:,} parameters", line)

    def test_counts_are_whole_numbers_in_stats(self):
        for name in ("Qwen3-30B-A3B", "DeepSeek-V3"):
            with self.subTest(name):
                stats = self.run_program(f"dltrain --model={config(name)} {RUN}").stats
                self.assertEqual(
                    (stats["parameters"], stats["active_parameters"], stats["mtp"]),
                    (*COUNTS[name], 0),
                )

    def test_other_types_are_named_with_those_that_are_known(self):
        for name, kind in (
            ("DeepSeek-V4-Flash", "deepseek_v4"),
            ("Kimi-K3", "kimi_k3"),
            ("gemma-4-26B-A4B", "gemma4"),
        ):
            self.refuse(
                f"dltrain --model={config(name)} {PLAN}",
                f'/model_type: "{kind}"',
                "allowed: ",
                "llama4, ",
                "deepseek_v32, ",
                "nemotron_h, ",
            )

    def test_multi_token_prediction(self):
        # A module of DeepSeek-V3 (arXiv 2412.19437, section 2.2), by hand: a block with experts,
        # 2 x 7168 to 7168, three norms; embedding and head are the model's.
        h, heads, q, kv = 7168, 128, 1536, 512
        attention = (
            h * q + q + q * heads * 192 + h * (kv + 64) + kv + kv * heads * 256 + heads * 128 * h
        )
        experts = h * 256 + 256 + 257 * 3 * h * 2048
        module = 2 * h * h + 3 * h + attention + 2 * h + experts
        for words, count in (("--mtp=1", 1), ("--mtp-num-layers=2", 2)):
            line = model_line(self.run_program(f"dltrain --model=deepseek-v3 {PLAN} {words}"))
            total = COUNTS["DeepSeek-V3"][0] + count * module
            self.assertIn(f"deepseek-v3, {total:,} parameters", line)
            self.assertRegex(line, rf"{count} modules? for multi-token prediction")
        stats = self.run_program(f"dltrain --model=deepseek-v3 {RUN} --mtp=1").stats
        self.assertEqual(stats["mtp"], 1)
        self.assertEqual(stats["parameters"], COUNTS["DeepSeek-V3"][0] + module)
        # In a pipeline the module stands on the last stage, which has a copy of the embedding.
        plan = self.run_program(
            "dltrain --model=deepseek-v3 --mtp=1 --servers=16 --gpus-per-server=8 --tp=8 --pp=16"
            " --zero=1 --dry-run --micro-batch=1 --accumulation=16 --sequence-parallel"
            " --ignore-memory"
        )
        self.assertIn("multi-token prediction", model_line(plan))
        self.refuse(f"dltrain --model=qwen3-30b-a3b --mtp=1 {PLAN}", "--mtp", "allowed: 0")
        self.refuse(f"dltrain --model=bert-large --mtp=1 {PLAN}", "--mtp", "allowed: 0")

    def test_a_window_saves_time_where_attention_is_fused(self):
        # Attention of a block over 32,768 tokens with a window of 1,024 costs less than without.
        files = {}
        for window in (1024, None):
            files[window] = self.write(
                f"mistral-{window}.json",
                {
                    "model_type": "mistral",
                    "hidden_size": 4096,
                    "intermediate_size": 14336,
                    "num_hidden_layers": 2,
                    "num_attention_heads": 32,
                    "num_key_value_heads": 8,
                    "vocab_size": 32000,
                    "sliding_window": window,
                },
            )
        run = RUN.replace("--seq=1024", "--seq=32768")
        times = {
            (window, fused): self.run_program(
                f"dltrain --model={file} {run} --fused-attention={fused}"
            ).stats["compute_time_us"]
            for window, file in files.items()
            for fused in (0, 1)
        }
        self.assertLess(times[1024, 1], 0.9 * times[None, 1])
        self.assertEqual(times[1024, 0], times[None, 0])  # all scores are made, and masked

    def test_linear_attention_and_mamba(self):
        for name in share_of(["qwen3-next-80b-a3b", "nemotron-h-8b", "nemotron-3-nano"], one_in=2):
            with self.subTest(name):
                short, long = (
                    self.run_program(
                        f"dltrain --model={name} {RUN.replace('1024', str(tokens))}"
                        " --fused-attention"
                    ).stats["compute_time_us"]
                    for tokens in (2048, 4096)
                )
                self.assertGreater(long, short)
                self.assertLess(long, 2.3 * short)
        self.refuse(
            "dltrain --model=nemotron-h-8b --servers=2 --cp=2 --dry-run", "--cp", "Mamba", "allowed"
        )
        self.refuse(
            "dltrain --model=qwen3-next --servers=4 --tp=32 --dry-run", "--tp", "allowed: 1, 2"
        )

    def test_a_config_beside_a_name(self):
        body = {
            "model_type": "qwen3",
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 2,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "vocab_size": 1000,
        }
        file = self.write("mine.json", {"name": "mine", "sequence": 4096, "config": body})
        # 2 x 1000 x 1024 + 1024, and in a block 1024 x (2 x 16 + 2 x 8) x 128 + 2 x 128 of
        # attention, 3 x 1024 x 3072 of the MLP and two norms.
        count = 2049024 + 2 * (1024 * 48 * 128 + 256 + 3 * 1024 * 3072 + 2048)
        line = model_line(self.run_program(f"dltrain --model={file} {PLAN}"))
        self.assertIn(f"mine, {count:,} parameters", line)
        wrong = self.write("wrong.json", {"name": "x", "config": {**body, "hidden_size": 0}})
        self.refuse(f"dltrain --model={wrong} {PLAN}", "/config/hidden_size")
        other = self.write("other.json", {"name": "x", "config": body, "layers": 3})
        self.refuse(f"dltrain --model={other} {PLAN}", "/layers")

    def test_the_list_is_grouped_by_family(self):
        text = self.run_program("dltrain --help=models").out
        families = re.findall(r"^(\S.*)$", text, re.MULTILINE)[1:]
        self.assertEqual(len(families), len(set(families)), families)
        for family in ("Llama", "Qwen", "DeepSeek", "Kimi", "GLM", "gpt-oss", "Gemma", "Phi"):
            self.assertIn(family, families)
        qwen = text.split("\nQwen\n")[1].split("\n\n")[0]
        self.assertIn("qwen3-235b-a22b", qwen)
        self.assertIn("22.2 B active", qwen)


if __name__ == "__main__":
    main()
