#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The same networks by the zoo's models and by ordinary scripts that are captured: steps of both,
of transformers with Megatron-LM's kernels and with PyTorch's, and which kernels only the script
has.

    tests/bench/zoo.py               # prints the table
    tests/bench/zoo.py --update      # writes it into docs/capture.md

Two GPUs of a server, DDP; the scripts are tests/system/capture/capture-scripts/zoo_model.py.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "scripts"), os.path.join(ROOT, "tests", "system", "shared")]

from _zoo_kernels import only_in_script  # noqa: E402
from cluster_simulator import marked  # noqa: E402
from cluster_simulator.capture import capture, set_up  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "measured.md")
TABLE = "zoo-and-capture"
HEAD = ("network", "GPU", "zoo", "eager", "script", "", "without its own kernels", "these")
SCRIPT = os.path.join(ROOT, "tests", "system", "capture", "capture-scripts", "zoo_model.py")
GPUS = ("A100", "H100")


def networks():
    """(name, words of the script, words of dltrain)"""
    for model, name in (("vgg16", "VGG-16"), ("resnet50", "ResNet-50")):
        zoo = model.replace("vgg", "vgg-")
        for batch in (32, 96):
            yield (
                f"{name}, {batch} pictures",
                [f"--model={model}", "--optimizer=sgd", f"--batch-size={batch}"],
                [f"--model={zoo}", "--optimizer=momentum", f"--micro-batch={batch}"],
            )
    for model, zoo, name in (("gpt2", "gpt2", "GPT-2"), ("bert", "bert-base", "BERT")):
        for fused in (True, False):
            sizes = ((4, 512), (8, 1024)) if model == "gpt2" else ((8, 512), (32, 512))
            for batch, length in sizes:
                # What autocast does with half precision is what the zoo has of BERT.
                half = model == "bert" and not fused
                yield (
                    f"{name}, {'fused' if fused else 'plain'} attention, {batch} x {length} tokens",
                    [f"--model={model}", f"--batch-size={batch}", f"--length={length}"]
                    + ["--fused"] * fused
                    + ["--dtype=float16"] * half,
                    [f"--model={zoo}", f"--micro-batch={batch}", f"--seq={length}"]
                    + ["--fused-attention"] * fused
                    # As the script's optimizer has it, whose model is of 16 bits.
                    + ["--master-weights=0"]
                    + ["--dtype=fp16" if half else "--dtype=bf16"],
                )


def run(program, words, out):
    """Microseconds of a step."""
    words = [
        *words,
        *("--servers=1", "--gpus-per-server=2", "--report=0", "--attribution=0", f"--out={out}"),
    ]
    done = subprocess.run([program, *words], stdout=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{program} {' '.join(words)}: status {done.returncode}")
    with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
        return json.load(file)["step_time_us"]


def ms(microseconds):
    return f"{microseconds / 1e3:.1f} ms"


def over(one, other):
    return f"{100 * (one / other - 1):+.1f}%"


def rows(program, folder):
    for name, script, zoo in networks():
        taken = os.path.join(folder, name.replace(" ", "-").replace(",", ""))
        words = ["torchrun", "--nproc_per_node=2", SCRIPT, *script]
        made = capture(words, taken, gpus_per_server=2)
        if made.mistakes:
            raise SystemExit(f"{' '.join(words)}: {made.mistakes}")
        for gpu in GPUS:
            words = [*zoo, "--zero=0", f"--gpu={gpu}"]
            if not any(word.startswith("--dtype") for word in words):
                words.append("--dtype=bf16")
            own = run(program, words, os.path.join(folder, "zoo"))
            eager = own
            told_eager = ""
            if any(word.startswith("--seq") for word in words):
                eager = run(program, [*words, "--kernels=eager"], os.path.join(folder, "zoo"))
                told_eager = ms(eager)
            out = os.path.join(folder, "script")
            step = run(program, [f"--trace={taken}", f"--gpu={gpu}"], out)
            only = only_in_script(taken, out)
            told = ", ".join(
                f"{what} {ms(us)}"
                for what, us in sorted(only.items(), key=lambda one: -one[1])
                if us >= 50
            )
            rest = over(step - sum(only.values()), eager)
            yield name, gpu, ms(own), told_eager, ms(step), over(step, eager), rest, told


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the table into the page")
    parser.add_argument("--programs", default=os.path.join(ROOT, ".ns3", "programs"), metavar="DIR")
    args = parser.parse_args()
    set_up()
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(os.path.join(args.programs, "dltrain"), folder):
            print(" | ".join(row), flush=True)
            table.append(row)
    if args.update:
        with open(PAGE, encoding="utf-8") as file:
            text = marked.replace(file.read(), TABLE, HEAD, table)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
