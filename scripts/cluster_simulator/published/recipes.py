# SPDX-License-Identifier: GPL-2.0-only
"""How engines of published servings were started: preset by version, and the options that a
source's scripts set.
"""

import re

# Presets of dlserve (--framework), by engine and version; the first that fits. Versions that are
# not said are those of the row's date.
PRESETS = (
    (r"vLLM", r"0\.[0-5]\.|MLPerf 4\.1", "vllm-0.5"),
    (r"vLLM", r"0\.6\.", "vllm-0.6"),
    (r"vLLM", r"0\.[789]\.|0\.8 to 0\.9", "vllm-0.8"),
    (r"vLLM", r"0\.1[0-3]\.", "vllm-0.11"),
    (r"vLLM", r"", "vllm-0.14"),
    (r"SGLang", r"", "sglang"),
    (r"Triton|NIM", r"", "trtllm-triton"),
    (r"TensorRT", r"^0\.|MLPerf", "trtllm-engine"),
    (r"TensorRT", r"", "trtllm-1"),
    (r"TurboMind", r"", "vllm"),  # a loop of C++: little host time
)

BLACKWELL = r"B200|B300"


def preset(line):
    # Images of InferenceMAX's first months have vLLM 0.11.
    if line.raw("engine") == "vLLM" and line.raw("version") == "not said" \
            and line.raw("date").startswith("2025"):
        return "vllm-0.11"
    for engine, version, name in PRESETS:
        if re.search(engine, line.raw("engine")) and re.search(version, line.raw("version")):
            return name
    return "vllm"


def inference_max(line, model):
    """Options of SemiAnalysisAI/InferenceX benchmarks/*.sh (70b_fp8_h100_slurm.sh@2a205bb,
    70b_fp8_b200_docker.sh@bb4c7f9, 70b_fp4_b200_trt_slurm.sh@73ef922, dsr1_fp8_b200_trt.sh@0a919c5;
    single_node/: gptoss_fp4_h100.sh@34bc7c4, gptoss_fp4_b200_trt.sh@34bc7c4,
    dsr1_fp8_h200.sh@161e7f6, dsr1_fp8_h200_trt.sh@34bc7c4, dsr1_fp8_b200.sh@16ffb65,
    qwen3.5_fp8_h200.sh@2116fc4, glm5_fp8_h200.sh@0c82808, glm5_fp8_b200.sh@4eca3fe,
    kimik2.5_fp4_b200.sh@04107b3, minimaxm2.5_fp8_b200.sh@07e171a).
    """
    engine, gpu = line.raw("engine"), line.raw("gpu")
    blackwell = re.search(BLACKWELL, gpu) is not None
    users = int(float(line.raw("concurrency") or 1))
    prompt, output = (float(line.raw(name) or 0) for name in ("input_tokens", "output_tokens"))
    short = prompt == output == 1024
    cut = re.search(r"attention TP (\d+)", line.raw("layout"))
    tp = int(cut.group(1)) if cut else 1
    if engine == "vLLM":
        if model == "llama3-70b" or model.startswith("gpt-oss"):
            fp8 = model == "llama3-70b" or blackwell
            seats = 512 if blackwell else users
            return ["--token-budget=8192", f"--max-batch={seats}"] + kv8(fp8)
        return [f"--max-batch={users}"] if model.startswith("kimi") else []
    if engine == "SGLang":
        words = []
        if model == "deepseek-v3":
            narrow = "fp4" in line.raw("weight_dtype")
            words = [f"--token-budget={16384 if narrow else 32768}"] + kv8(blackwell)
        elif model.startswith("qwen3.5"):
            words = [f"--token-budget={32768 if blackwell else 16384}"] + kv8(not blackwell)
        elif model == "glm-5" and blackwell:
            return ["--token-budget=32768", *kv8(True)]
        if blackwell:
            words.append(f"--poll-interval={30 if users >= 16 else 10}")
        return words
    if model == "llama3-70b":
        waits = ["--batch-wait=20:0.9"] if short and tp < 8 else []
        return ["--token-budget=16384", *kv8(True), *waits]
    if model.startswith("gpt-oss"):
        return ["--token-budget=20000", "--kv-of=free:0.85"] + kv8(blackwell)
    if model == "deepseek-v3":
        tokens = max(8192, (users + int(prompt) + 127) // 64 * 64)
        waits = ["--batch-wait=40:0.8"] if blackwell and short and 64 <= users < 256 else []
        share = 0.8 if blackwell else 0.75
        return [f"--token-budget={tokens}", f"--kv-of=free:{share}", *kv8(True), *waits]
    return []


def attention_dp(line, model):
    """Engines of an instance that share out experts, each with attention for its own requests:
    where a page's or a script's options have it, which rows say as tensor parallel.
    """
    users = 0 if line.raw("concurrency") == "all" else line.count("concurrency", 0)
    gpus = line.count("gpus", 1)
    if "attention DP where the options file" in line.raw("scheduler"):
        # The page's options file, for the larger models.
        return gpus if line.raw("layout") == "tp8" and "DGX" in line.raw("server") else 0
    if "InferenceMAX" in line.raw("scheduler") and line.raw("engine") == "TensorRT-LLM" \
            and line.raw("gpu") == "H200" and model == "deepseek-v3" and gpus == 8:
        # dsr1_fp8_h200_trt.sh is given DP_ATTENTION by the sweep's table: above 64 users, 32 at 8k.
        most = 32 if line.count("input_tokens", 0) > 4096 else 64
        return gpus if users > most else 0
    return 0


def kv8(narrow):
    return ["--kv-dtype=fp8"] if narrow else []


def words(line, model, given):
    """Options of the engine: what `given` says already is left out."""
    made = [f"--framework={preset(line)}"]
    if "InferenceMAX" in line.raw("scheduler"):
        made += inference_max(line, model)
    elif line.raw("source").startswith("NVIDIA/TensorRT-LLM") and line.raw("kind").startswith(
        "offline"
    ):
        made.append("--kv-of=free:0.95")  # "KV share 0.90 to 0.95" of the page's commands
    if line.raw("engine").startswith("TensorRT") and line.raw("version").startswith("0.1x"):
        made.append("--allreduce=nccl")  # engines of mid 2024 have no all-reduce of their own
    if line.raw("max_batch") and not any(word.startswith("--max-batch") for word in made):
        made.append(f"--max-batch={line.count('max_batch')}")
    named = {word.partition("=")[0] for word in given}
    return [word for word in made if word.partition("=")[0] not in named]
