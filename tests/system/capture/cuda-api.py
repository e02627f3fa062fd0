# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 RESOURCE_LOCK capture FULL
"""What simulated CUDA and NCCL promise programs of C++, and what the capture of one tells."""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _cuda import CudaTest
from _system_test import ROOT, main

if shutil.which("g++") is None:
    print("g++ is not installed")
    sys.exit(77)

from cluster_simulator.capture.cuda import building, rates  # noqa: E402

# Where NVIDIA's own headers and static library are, if they are.
TOOLKIT = "/usr/local/cuda"


class Api(CudaTest):
    programs = ("api",)

    def part(self, name, *words, status=0, env=None, gpus=2):
        times = self.write("times.csv", "kernel,us\nKernel*,100\n*,1\n")
        more = (f"--gpus-per-server={gpus}", "--patience=5", f"--kernel-times={times}")
        return self.run_capture(*more, *words, self.built["api"], name, status=status, env=env)

    def test_streams(self):
        self.part("streams")

    def test_graphs(self):
        said = self.part("graphs").stderr
        self.assertEqual(said.count("branches of a graph are done one behind another"), 1)

    def test_memory(self):
        self.part("memory")

    def test_reductions(self):
        self.part("reductions")

    def test_communicators(self):
        self.part("communicators")

    def test_threads(self):
        self.part("threads")

    def test_absurd_arguments(self):
        """Each is the error that the call's documentation names, and the program goes on."""
        program = self.compile("absurd")
        for part in ("devices", "memory", "streams", "driver", "communicators", "nonblocking"):
            with self.subTest(part):
                self.run_capture("--gpus-per-server=2", "--patience=5", program, part)

    def test_clocks(self):
        self.part("clocks")

    def test_driver(self):
        self.part("driver")

    def test_visible_devices(self):
        """The driver's part wants two GPUs."""
        self.part("driver", gpus=4, env={"CUDA_VISIBLE_DEVICES": "3,1"})
        out = self.part("driver", env={"CUDA_VISIBLE_DEVICES": "1"}, status=1).stdout
        self.assertIn("count == 2", out)

    def test_other_clocks(self):
        """By this machine's clock, and with the program's own work measured, a million additions
        take some time.
        """
        for clock in ("off", "measured"):
            out = self.part("clocks", f"--clock={clock}", status=1).stdout
            self.assertIn("Us(begin, Clock::now()) == 0", out)

    def test_steps(self):
        """Three are marked, the last is taken: a kernel of 4 blocks that takes what was given."""
        out = os.path.join(self.folder, "steps")
        self.part("steps", f"--out={out}")
        with open(os.path.join(out, "meta.json"), encoding="utf-8") as file:
            meta = json.load(file)
        self.assertEqual(meta["steps"]["count"], 3)
        self.assertEqual(meta["steps"]["take"], [2])
        self.assertEqual(meta["world"], 1)
        with open(os.path.join(out, "rank-0.jsonl"), encoding="utf-8") as file:
            tasks = [json.loads(line) for line in file][1:]
        kernels = [task for task in tasks if task["kind"] == "kernel"]
        self.assertEqual([task["step"] for task in kernels], [-1, 0, 1, 2])
        self.assertEqual([task["grid"] for task in kernels], [[n, 1, 1] for n in (5, 2, 3, 4)])
        self.assertEqual({task["name"] for task in kernels}, {"Kernel(float*, int)"})
        self.assertEqual({task["us"] for task in kernels}, {100})
        self.assertRegex(kernels[0]["line"], r"api\.cc:\d+$")
        syncs = [task for task in tasks if task["kind"] == "sync"]
        self.assertEqual([task["after"] for task in syncs], [[one["id"]] for one in kernels[1:]])

    # ---- what does not run

    def refuse(self, *words):
        done = self.run_capture(*words, status=2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_a_static_runtime(self):
        """By its local symbols; in a stripped program by the section of kernels and the names of
        its errors.
        """
        for name, text in (
            ("symbols", "static int libcudart_static_0a1b() {return 1;}"),
            ("stripped", '__attribute__((section(".nvFatBinSegment"))) int f = 1;'),
        ):
            source = self.write(
                f"{name}.c",
                f'{text}\nint puts(const char*);int main() {{ return puts("cudaErrorCudartUnloading'
                f'"){"+ libcudart_static_0a1b()" if name == "symbols" else ""}; }}\n',
            )
            program = os.path.join(self.folder, name)
            subprocess.run(["gcc", "-O0", source, "-o", program], check=True)
            if name == "stripped":
                subprocess.run(["strip", program], check=True)
            said = self.refuse("mpirun", "-n", 2, program)
            self.assertIn("CUDA's static runtime", said)
            self.assertIn("-cudart shared", said)

    def test_the_real_static_runtime(self):
        library = f"{TOOLKIT}/lib/libcudart_static.a"
        if not os.path.isfile(library):
            self.skipTest(f"there is no {library}")
        program = os.path.join(self.folder, "static")
        source = self.write(
            "static.cc",
            "#include <cuda_runtime_api.h>\nint main() { return cudaDeviceSynchronize(); }\n",
        )
        words = ["g++", source, f"-I{building.HEADERS}", library, "-o", program]
        subprocess.run([*words, "-ldl", "-lpthread", "-lrt"], check=True)
        self.assertIn("CUDA's static runtime", self.refuse(program))
        subprocess.run(["strip", program], check=True)

    def link_to(self, soname):
        """A program that calls a function of a library of that name, which is real elsewhere."""
        stub = self.write("stub.c", "int cudaGraphKernelNodeGetParams() { return 0; }\n")
        library = os.path.join(self.folder, "libstub.so")
        name = f"-Wl,-soname,{soname}"
        subprocess.run(["gcc", "-shared", "-fPIC", name, stub, "-o", library], check=True)
        call = self.write(
            "call.c",
            "int cudaGraphKernelNodeGetParams();\n"
            "int main() { return cudaGraphKernelNodeGetParams(); }\n",
        )
        program = os.path.join(self.folder, "call")
        subprocess.run(["gcc", call, library, "-o", program], check=True)
        return program

    def test_what_is_not_simulated(self):
        said = self.refuse(self.link_to("libcudart.so.12"))
        self.assertIn("calls what is not simulated: cudaGraphKernelNodeGetParams", said)
        said = self.refuse(self.link_to("libcudart.so.9.0"))
        self.assertIn("needs libcudart.so.9.0; simulated: libcudart.so.11.0, ", said)

    def test_wrong_words(self):
        api = self.built["api"]
        for words, said in (
            (["--clock=none", api], "--clock='none': allowed: simulated, measured, off"),
            (["--keep=12X", api], "--keep='12X'"),
            (["--cluster=--servers=3", api], "--servers=3: follows from the program"),
            (["--cluster=--topology=ring", api], "--topology"),
            (["--kernel-times=nowhere.csv", api], "--kernel-times=nowhere.csv"),
            (["--gpus-per-server=0", api], "--gpus-per-server=0"),
            (["--cuda", "/bin/true"], "no program that calls CUDA or NCCL"),
            (["--cuda", "./nowhere"], "no such program"),
        ):
            with self.subTest(words):
                self.assertIn(said, self.refuse(*words))
        times = self.write("bad.csv", "kernel,us\nA,1\nB,x\n")
        self.assertIn("line 3", self.refuse(f"--kernel-times={times}", api))

    def test_blanks_in_paths(self):
        """In the folders of builds and of the capture, and in the program's and a file's name."""
        place = os.path.join(self.folder, "a folder, with: blanks")
        builds = os.path.join(place, "builds")
        program = os.path.join(place, "my program")
        shutil.copytree(building.libraries(), builds, symlinks=True)
        shutil.copy(self.built["api"], program)
        times = os.path.join(place, "my times.csv")
        with open(times, "w", encoding="utf-8") as file:
            file.write("kernel,us\nKernel*,100\n*,1\n")
        code = (
            "import sys\n"
            "from cluster_simulator.capture import cuda\n"
            "from cluster_simulator.capture.cuda import building\n"
            "building.libraries = lambda say=None: sys.argv[1]\n"
            "print(cuda.flags())\n"
            "cuda.run([sys.argv[2], 'streams'], sys.argv[3], gpus_per_server=2,"
            " kernel_times=sys.argv[4])\n"
        )
        out = os.path.join(place, "out")
        os.makedirs(out)
        done = subprocess.run(
            [sys.executable, "-c", code, builds, program, out, times],
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts")},
            capture_output=True,
            text=True,
            timeout=100,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # As a shell divides them.
        flags = done.stdout.splitlines()[0].split()
        self.assertEqual(len([word for word in flags if not word.startswith("-")]), 0, flags)
        library = next(word[2:] for word in flags if word.startswith("-L"))
        self.assertTrue(os.path.isfile(os.path.join(library, building.CORE)), library)
        self.assertTrue(os.listdir(out))

    def test_without_a_capture(self):
        """A program that was linked to the simulated GPUs says what it needs."""
        variables = {**os.environ, "LD_LIBRARY_PATH": building.libraries()}
        variables.pop("DLTRAIN_CUDA", None)
        done = subprocess.run(
            [self.built["api"], "driver"], env=variables, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("./ns3 capture PROGRAM", done.stderr)

    # ---- numbers that others have, too

    def test_rates_of_gpus(self):
        """A row takes from its base what it leaves out: H200 has H100's PCIe and launches. A name
        that the zoo has not has no rates.
        """
        h100, h200 = rates.of("H100"), rates.of("H200")
        self.assertEqual(h200, (4800e9, *h100[1:]))
        self.assertEqual(rates.of("a GPU of mine"), (0, 0, 0))

    def test_headers_are_those_of_the_real_library(self):
        """Constants and sizes, where NVIDIA's headers are."""
        real = f"{TOOLKIT}/include"
        if not os.path.isfile(f"{real}/nccl.h"):
            self.skipTest(f"there is no {real}/nccl.h")
        names = set()
        for header in ("cuda_runtime_api.h", "nccl.h"):
            with open(os.path.join(building.HEADERS, header), encoding="utf-8") as file:
                text = file.read()
            names |= set(re.findall(r"^ *((?:cuda|nccl)\w+) = ", text, re.MULTILINE))
            names |= set(re.findall(r"^#define (cuda[A-Z]\w+) 0x", text, re.MULTILINE))
            names |= set(re.findall(r"^#define (NCCL_\w+) -?[0-9]", text, re.MULTILINE))
        self.assertGreater(len(names), 140)
        types = "ncclConfig_t ncclUniqueId ncclSimInfo_t cudaPointerAttributes cudaLaunchConfig_t"
        lines = [f'  printf("{name} %ld\\n", (long)({name}));' for name in sorted(names)]
        for name in types.split():
            lines.append(f'  printf("{name} %ld\\n", (long)sizeof({name}));')
        source = self.write(
            "constants.cc",
            "#include <cstdio>\n#include <cuda_runtime_api.h>\n#include <nccl.h>\nint main() {\n"
            + "\n".join(lines)
            + "\n}\n",
        )
        said = []
        for include in (real, building.HEADERS):
            program = os.path.join(self.folder, "constants")
            subprocess.run(["g++", "-w", f"-I{include}", source, "-o", program], check=True)
            said.append(subprocess.run([program], capture_output=True, text=True).stdout)
        differ = set(said[1].splitlines()) - set(said[0].splitlines())
        # Version 13 has eight words more at the end of it.
        differ = {line for line in differ if not line.startswith("cudaPointerAttributes ")}
        self.assertEqual(differ, set())


if __name__ == "__main__":
    main()
