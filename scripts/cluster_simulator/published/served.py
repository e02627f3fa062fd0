# SPDX-License-Identifier: GPL-2.0-only
"""From rows of published servings to options of dlserve: what a user would write who has the row
before him. A row is told by its columns. What it does not say is in the tables below, each with
where it is from.
"""

import collections
import re

from .. import lines
from . import recipes

# A measured serving. `words`: options of dlserve; `model`: a dict that is written to a file, or
# None; `copies`: instances that are alike, of which one is simulated; `metrics`: measured values
# by name, of those that are judged; `unjudged`: why none is; `last`: TTFT is the batch's last one.
Served = collections.namedtuple(
    "Served", "id source series engine gpu kind words model copies metrics unjudged last"
)

COLUMN = "tpot_mean_ms"  # that no other table has

# GPUs: server that it comes in, and its name where the server's own is another.
GPUS = {
    "A100-40GB": ("polaris", ""),
    "A100-80GB": ("dgx-a100", ""),
    "H100": ("dgx-h100", ""),
    "H200": ("dgx-h200", ""),
    "B200": ("dgx-b200", ""),
    "B300": ("dgx-b200", "B300"),
    "GB200": ("gb200-nvl72", ""),
    "GB300": ("gb300-nvl72", ""),
    "H800": ("hgx-h800", ""),
    "H20-3e 141GB": ("hgx-h20", "H20-3e"),
    "MI300X": ("mi300x-8", ""),
    "H100-PCIe": ("pcie5-h100", ""),
    "H100-NVL": ("pcie5-h100-nvl", ""),
    "H100-64GB": ("marenostrum5", ""),
    "GH200": ("gh200", ""),
    "GH200-144GB": ("gh200", "GH200-144GB"),
    "L40S": ("pcie4-l40s", ""),
    "RTX4090": ("pcie4-rtx-4090", ""),
    "RTXPRO6000": ("pcie5-rtx-pro-6000", ""),
    "A10": ("pcie4-a100", "A10"),
}

# Names of models, by what rows call them; the first that fits. Distilled models have the shapes of
# what they are distilled from (their config.json).
MODELS = (
    (r"distill-llama-8b|llama-?3(\.1)?-8b", "llama3-8b"),
    (r"distill-llama-70b|llama-?3(\.[13])?-70b|nemotron-70b", "llama3-70b"),
    (r"llama-?3\.1-405b", "llama3-405b"),
    (r"llama2-7b", "llama2-7b"),
    (r"llama2-70b", "llama2-70b"),
    (r"llama4-scout", "llama4-scout"),
    (r"llama4-maverick", "llama4-maverick"),
    (r"mixtral-8x7b", "mixtral-8x7b"),
    (r"mixtral-8x22b", "mixtral-8x22b"),
    (r"mistral-7b", "mistral-7b"),
    (r"gpt-oss-120b", "gpt-oss-120b"),
    (r"gpt-oss-20b", "gpt-oss-20b"),
    (r"distill-qwen-1.5b", "qwen2.5-1.5b"),
    (r"distill-qwen-7b|qwen-?2\.5-7b|qwen2-7b", "qwen2-7b"),
    (r"distill-qwen-14b", "qwen2.5-14b"),
    (r"distill-qwen-32b|qwq-32b", "qwen2.5-32b"),
    (r"qwen3\.5-397b", "qwen3.5-397b-a17b"),
    (r"qwen3-235b", "qwen3-235b-a22b"),
    (r"qwen3-30b-a3b", "qwen3-30b-a3b"),
    (r"qwen3-(8b|14b|32b)", None),  # as it is
    (r"deepseek-(r1|v3)", "deepseek-v3"),
    (r"kimi-k2", "kimi-k2"),
    (r"glm-5", "glm-5"),
    (r"minimax-m2", "minimax-m2"),
    (r"internlm-20b", "internlm-20b"),
)
EXPERTS = r"mixtral|gpt-oss|qwen3\.5|-a\d+b|deepseek-v3|kimi|glm-5|minimax|llama4"

# Shapes that the zoo lacks: config.json of Qwen/Qwen2.5-1.5B, -14B and -32B, internlm-20b.
QWEN = {"gated_mlp": True, "norm": "rms", "bias": False, "dropout": False, "sequence": 32768}
SHAPES = {
    "qwen2.5-1.5b": {"layers": 28, "hidden": 1536, "heads": 12, "kv_heads": 2, "ffn": 8960,
                     "vocab": 151936, "tied_embeddings": True},
    "qwen2.5-14b": {"layers": 48, "hidden": 5120, "heads": 40, "kv_heads": 8, "ffn": 13824,
                    "vocab": 152064, "tied_embeddings": False},
    "qwen2.5-32b": {"layers": 64, "hidden": 5120, "heads": 40, "kv_heads": 8, "ffn": 27648,
                    "vocab": 152064, "tied_embeddings": False},
    "internlm-20b": {"layers": 60, "hidden": 5120, "heads": 40, "ffn": 13824, "vocab": 103168,
                     "tied_embeddings": False},
}

# Coefficients of variation of ShareGPT's prompts and answers, as vLLM's sampler takes them
# (4 to 1,024 tokens), and of answers that stop by themselves: assumed.
SHAREGPT = (1.1, 1.0)
STOPS = 0.8
# Mean tokens of a prompt of MLPerf's samples of OpenOrca and of its mixture for Mixtral, which no
# row says: assumed.
SAMPLES = (("OpenOrca 24,576", 420), ("15,000 samples", 400))
# A burst of MLPerf is as good as its first requests: batches are full, and nothing changes.
MOST_REQUESTS = 30000


def number(line, column, default=None):
    """A number from 0 on; `default` where the column has none, as a table's "all" users."""
    text = line.raw(column)
    try:
        value = float(text)
    except ValueError:
        return default
    if not 0 <= value <= lines.MOST:
        line.refuse(column, f"a number from 0 to {lines.MOST:g}")
    return value


def whole(line, column, default=1):
    value = number(line, column)
    return default if value is None or value < 1 else int(value)


def lengths(line):
    """--prompt and --output."""
    said = line.raw("lengths")
    prompt = number(line, "input_tokens")
    output = number(line, "output_tokens")
    if prompt is None:
        prompt = next((tokens for text, tokens in SAMPLES if text in said), None)
    if prompt is None or output is None:
        return None
    drawn = "lognormal:{:g}:{:g}".format
    if "0.8 to 1.0" in said:
        return tuple(f"uniform:{round(0.8 * n)}-{round(n)}" for n in (prompt, output))
    if "outputs stop early" in said:
        return f"{prompt:.0f}", drawn(output, STOPS)
    if "samples:" in said or "samples," in said:
        return drawn(prompt, SHAREGPT[0]), drawn(output, SHAREGPT[1])
    fixed = output == 2 ** int(output).bit_length() / 2  # 256, 16: nobody's mean
    if "ShareGPT" in said and not (said.startswith("not said") and fixed):
        return drawn(prompt, SHAREGPT[0]), drawn(output, SHAREGPT[1])
    return f"{prompt:.0f}", f"{max(1, output):.0f}"


class Layout:
    """Degrees of an instance, and how many there are."""

    def __init__(self, line):
        self.split = ""
        self.copies = 1
        self.tp, self.pp, self.ep = (whole(line, name) for name in ("tp", "pp", "ep"))
        self.gpus = whole(line, "gpus")
        dp = whole(line, "dp")
        said = line.raw("layout")
        cut = re.search(r"attention TP (\d+) x DP (\d+); experts TP (\d+) x EP (\d+)", said)
        apart = re.search(r"(\d+) prefill x TP (\d+), (\d+) decode x TP (\d+)", said)
        servers = re.search(r"prefill TP (\d+).*decode TP (\d+)", said)
        self.odd = ""
        if cut:
            attention, engines, tensor, experts = (max(1, int(text)) for text in cut.groups())
            if attention == tensor * experts and tensor > 1 and experts > 1:
                # An instance in one server: TP and EP of the same GPUs, multiplied by the table.
                attention = tensor
            self.tp, self.ep = attention, 0
            if engines > 1:
                self.ep = attention * engines
            if self.tp * engines > 8 and "NVL72" not in line.raw("server"):
                self.odd = "more GPUs than its server has"
            self.gpus = self.tp * engines
        elif apart:
            self.split = "prefill:{}x(tp={}),decode:{}x(tp={})".format(*apart.groups())
        elif servers:
            self.split = "prefill:1x(tp={}),decode:1x(tp={})".format(*servers.groups())
        elif "attention data parallel" in said:
            self.tp, self.ep = 1, self.gpus
        elif dp > 1:
            self.copies, self.gpus, self.ep = dp, self.gpus // dp, 0
        else:
            self.ep = 0  # inside the tensor group: as good as cut by it

    def words(self):
        if self.split:
            return [f"--split={self.split}", "--network=fluid"]
        words = [f"--tp={self.tp}"] if self.tp > 1 else []
        words += [f"--pp={self.pp}"] if self.pp > 1 else []
        return words + ([f"--ep={self.ep}"] if self.ep > 1 else [])


def requests(line, layout):
    """When requests come, and how many."""
    kind = line.raw("kind")
    count = number(line, "requests")
    users = number(line, "concurrency")
    if kind == "server at a rate":
        return [f"--requests=poisson:{number(line, 'rate_rps'):g}", f"--count={count or 1000:.0f}"]
    if kind.startswith("closed loop"):
        users = int(users or 1)
        return [f"--requests=closed:{users}", f"--count={int(count or 10 * users)}"]
    if kind == "single request":
        return ["--requests=burst:1"]
    count = int(count or users or 1000) // layout.copies
    return [f"--requests=burst:{min(count, MOST_REQUESTS)}"]


def model_of(line):
    """Name in the zoo, and a shape where it has none; as it stands if no pattern fits."""
    said = line.text("model").lower()
    for pattern, name in MODELS:
        if re.search(pattern, said):
            found = name or re.search(pattern, said).group(0)
            shape = SHAPES.get(found)
            return found, {"name": found, **QWEN, **shape} if shape else None
    return said, None


def precision(line, model):
    """--dtype, --quantization and --kv-dtype."""
    weights = line.raw("weight_dtype")
    if "mxfp4" in weights:
        words = ["--dtype=bf16", "--quantization=mxfp4"]
    elif weights == "int4":
        kind = "int4-experts" if model.startswith("kimi") else "int4"
        words = ["--dtype=bf16", f"--quantization={kind}"]
    else:
        words = [f"--dtype={weights.partition('-')[0]}"]
    kv = line.raw("kv_dtype")
    return words + (["--kv-dtype=fp8"] if kv == "fp8" else [])


# ---- what is judged

def published(line):
    """Measured values by metric: mean before median, TPOT before time between tokens."""
    found = {}
    for metric, columns in (
        ("tokens/s", ("out_tok_s",)),
        ("TTFT", ("ttft_mean_ms", "ttft_p50_ms")),
        ("TPOT", ("tpot_mean_ms", "tpot_p50_ms", "itl_mean_ms")),
    ):
        for column in columns:
            value = number(line, column)
            if value and value > 0:
                found[metric] = (column.split("_")[1], value)
                break
    return found


def judged(line, found):
    """Metrics that say something: those of the row that do not are taken out."""
    few = whole(line, "requests", 0) <= 1000
    rate = line.raw("kind") == "server at a rate"
    if "requests not said" in line.raw("assumed") or (rate and not line.raw("requests")):
        found.pop("TTFT", None)
    if rate and few and "ShareGPT" in line.raw("lengths"):
        found.pop("tokens/s", None)  # the longest answer decides
    if rate and number(line, "rate_rps", 0) <= 1 and found.get("TTFT", ("", 0))[1] > 5000:
        found.pop("TTFT")  # seconds at one request a second
    return found


def unjudged(line, layout, gpu, model, twins):
    """Why a row is not compared; empty: it is."""
    source, engine = line.raw("source"), line.raw("engine")
    tp = re.search(r"attention TP (\d+)", line.raw("layout"))
    if line.raw("confidence") == "low":
        return "low confidence"
    if "LoRA" in line.raw("layout"):
        return "LoRA is not modelled"
    if "MTP" in line.raw("stat"):
        return "speculation whose acceptance is not said"
    if model == "deepseek-v3" and tp and int(tp.group(1)) in (28, 36, 72):
        return "attention data parallel, said as tensor parallel"
    if not line.raw("weight_dtype"):
        return "data type of weights not said"
    if "EP 0" in line.raw("layout") or not line.raw("tp"):
        return "layout not said"
    if "argonne" in source and engine.startswith("TensorRT") and "mixtral" in model \
            and number(line, "concurrency", 0) >= 16:
        return "faster than its experts can be read"
    if "gpt-oss" in model and line.raw("weight_dtype") == "fp8":
        return "weights are MXFP4, said as fp8"
    if engine.startswith("DeepSpeed-MII"):
        return "one model of this engine"
    if "decode saturated" in line.raw("kind") or "production" in line.raw("kind"):
        return "decode side alone, or a day's mean"
    if layout.odd:
        return layout.odd
    if line.raw("model") == "DeepSeek-V3" and values(line) in twins:
        return "the same run as a row of DeepSeek-R1"
    if line.raw("kind") == "server at a rate" and not number(line, "rate_rps"):
        return "rate not said"
    if gpu not in GPUS:
        return f"GPU {gpu} is not known"
    return ""


def values(line):
    return tuple(line.raw(name) for name in ("gpu", "ttft_mean_ms", "tpot_mean_ms", "out_tok_s"))


def row_of(line, twins):
    gpu = line.text("gpu")
    name, shape = model_of(line)
    layout = Layout(line)
    moe = re.search(EXPERTS, name) is not None
    engines = recipes.attention_dp(line, name) if moe else 0
    if engines:
        layout.tp, layout.ep = 1, engines
    why = unjudged(line, layout, gpu, name, twins)
    tokens = lengths(line)
    why = why or ("" if tokens else "lengths not said")
    found = judged(line, published(line))
    words = []
    if not why:
        server, own = GPUS[gpu]
        words = [f"--server={server}", *([f"--gpu={own}"] if own else [])]
        words += layout.words() + precision(line, name) + requests(line, layout)
        words += [f"--prompt={tokens[0]}", f"--output={tokens[1]}"]
        words += recipes.words(line, name, words)
        words += [] if shape else [f"--model={name}"]
    return Served(
        line.text("row_id"),
        line.text("source").partition("@")[0],
        line.raw("series"),
        line.text("engine"),
        gpu,
        "MoE" if moe else "dense",
        words,
        shape,
        layout.copies,
        found,
        why,
        "same batch" in line.raw("stat"),
    )


def read(path):
    """The rows of a table."""
    read_lines = list(lines.read(path, "table of published servings", lambda names: lambda x: x))
    twins = {values(line) for line in read_lines if line.raw("model") == "DeepSeek-R1"}
    return [row_of(line, twins) for line in read_lines]
