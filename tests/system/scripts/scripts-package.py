# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""The Python package cluster_simulator: what it asks of the programs, what it gives back, and what
it says is wrong.
"""

import gc
import importlib.util
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock
import warnings

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest, main, repeatable

for module in ("pandas", "matplotlib"):
    if importlib.util.find_spec(module) is None:
        print(f"python3-{module} is not installed")
        sys.exit(77)

SCRIPTS = os.path.join(ROOT, "scripts")
sys.path.insert(0, SCRIPTS)
os.environ["DLTRAIN_PROGRAMS"] = PROGRAMS
os.environ["MPLBACKEND"] = "Agg"

import cluster_simulator  # noqa: E402
from cluster_simulator import (
    GPUmodel,
    InvalidInput,
    NetworkConfig,
    ProgramNotFound,
    ServerConfig,  # noqa: E402
    SimulationFailed,
    Simulator,
    SimulatorWarning,
)

GPT2 = {"model": "gpt2", "warmup": 0}  # a third of a second


def small(**network):
    return Simulator(
        servers=[ServerConfig([GPUmodel.A100] * 8)] * 2,
        network_topo=NetworkConfig("fattree", **network),
    )


def names_in(text):
    """The names that --help=WHAT describes: the first word of its lines."""
    return [line.split()[0] for line in text.splitlines()[1:] if re.match(r"  \S", line)]


class Interface(SystemTest):
    def test_snippet_with_384_servers(self):
        """The lines that users of the interface know, word by word. 384 servers of 8 are 3,072
        GPUs; k = 12 is the smallest fat-tree for them (12^3 / 4 = 432).
        """
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            sim = Simulator(
                servers=[ServerConfig([GPUmodel.A100] * 8)] * 384,
                network_topo=NetworkConfig("fattree", **NetworkConfig.IB_EDR),
            )
        self.assertEqual(seen, [])
        plan = sim.train(model="bloom560m", zero=2, dry_run=True)
        for word in (
            "bloom-560m, 3072 GPUs",
            "384 x dgx-a100 with 8 x A100",
            "fat-tree k=12",
            "EDR InfiniBand",
            "ZeRO stage 2",
        ):
            self.assertIn(word, plan)

    def test_snippet_on_four_servers(self):
        """It runs what the command line runs: the same bytes. ZeRO-2 moves 2 psi (n-1)/n parameters
        of 2 B.
        """
        sim = Simulator(
            servers=[ServerConfig([GPUmodel.A100] * 8)] * 4,
            network_topo=NetworkConfig("fattree", **NetworkConfig.ETH_100G),
        )
        run = sim.train(model="bloom560m", zero=2, warmup=0)
        self.assertTrue(run.complete)
        psi, n = run.stats["parameters"], 32
        self.assertEqual(psi, 559214592)
        self.assertWithin(
            sum(run.stats["bytes_sent_per_gpu"].values()), 2 * 2 * psi * (n - 1) / n, 1e-6
        )
        self.assertEqual(run.flows()["bytes"].sum(), run.stats["message_bytes"])
        self.assertEqual(len(run.flows()), run.stats["messages"])
        self.assertAlmostEqual(run.flows()["fct_us"].max(), run.stats["fct_us"]["max"], places=3)
        self.assertEqual(set(run.calls()["rank"]), set(range(32)))
        self.assertTrue((run.links()["utilization"] <= 1.0001).all() and len(run.links()) > 100)
        self.assertEqual(list(run.events().columns), ["time_us", "what", "where", "details"])
        summary = run.summary()
        self.assertEqual(summary["fct_us_p99"], run.stats["fct_us"]["p99"])
        self.assertEqual(summary["links_0_utilization"], run.stats["links"][0]["utilization"])
        self.assertEqual(len(run.collectives()), len(run.stats["collectives"]))
        self.assertIn("Step time", run.output)
        plain = self.run_program("dltrain --model=bloom560m --zero=2 --warmup=0 --servers=4")
        ours, its = repeatable(run.stats), repeatable(plain.stats)
        for stats in (ours, its):
            stats["configuration"].pop("given")  # Python names what it has defaults for, too
        self.assertEqual(ours, its)
        with open(run.path("flows.csv"), "rb") as ours, open(plain.path("flows.csv"), "rb") as its:
            self.assertTrue(ours.read() == its.read())

    def test_zoo_is_the_programs(self):
        """Names here are the names there: a GPU or NIC that is new in the simulator has to be added
        to the package.
        """
        gpus = self.run_program(["dltrain", "--help=gpus"]).out
        self.assertEqual([model.value for model in GPUmodel], names_in(gpus))
        nics = names_in(self.run_program(["dltrain", "--help=nics"]).out)
        ours = [
            getattr(NetworkConfig, name)["nic"]
            for name in dir(NetworkConfig)
            if name.startswith(("ETH_", "IB_"))
        ]
        self.assertEqual(sorted(ours), sorted(nics))

    def test_families_are_what_the_program_says(self):
        """Of a program with another family, nothing here has to know it."""
        self.assertEqual(
            [
                NetworkConfig(name).family
                for name in ("fattree", "Leaf_Spine", "single-switch", "torus")
            ],
            ["fat-tree", "leaf-spine", "single-switch", "torus"],
        )
        families = names_in(self.run_program(["dltrain", "--help=topologies"]).out)
        self.assertGreater(len(families), 4)
        self.assertEqual([NetworkConfig(name).family for name in families], families)
        told = {"options": [{"name": "topology", "names": ["hyper-cube"]}]}
        program = self.write("dltrain", f"#!/bin/sh\necho '{json.dumps(told)}'\n")
        os.chmod(program, 0o755)
        with unittest.mock.patch.dict(os.environ, DLTRAIN_PROGRAMS=os.path.dirname(program)):
            self.assertEqual(NetworkConfig("hypercube").family, "hyper-cube")
            with self.assertRaisesRegex(InvalidInput, "allowed: hypercube, or"):
                NetworkConfig("fattree")

    def test_infiniband(self):
        """The presets are the program's: an InfiniBand NIC makes an InfiniBand fabric."""
        run = Simulator(
            servers=[ServerConfig([GPUmodel.A100] * 8)] * 4,
            network_topo=NetworkConfig("single-switch", **NetworkConfig.IB_HDR),
        ).train(**GPT2, micro_batch=2)
        self.assertEqual(run.stats["configuration"]["fabric"]["fabric"], "ib")
        self.assertEqual(run.stats["configuration"]["fabric"]["ib_switch"], "quantum")
        self.assertIn("credits", run.stats)

    def test_options_arrive(self):
        """Each kind of option, as the program says it ran."""
        run = small(hosts_per_leaf=None, link_delay="2us").train(
            **GPT2,
            micro_batch=2,
            pfc=False,
            ecn_pmax=0.5,
            algorithm={"all_gather": "ring", "reduce_scatter": "ring"},
            seq=256,
            **{"ns3::RdmaSwitch::PipelineLatency": "300ns"},
        )
        configuration = run.stats["configuration"]
        self.assertEqual(configuration["training"]["micro_batch"], 2)
        self.assertEqual(configuration["training"]["seq"], 256)
        self.assertIs(configuration["fabric"]["pfc"], False)
        self.assertEqual(configuration["fabric"]["ecn_pmax"], 0.5)
        self.assertEqual(configuration["network"]["link_delay"], "2us")
        self.assertEqual(configuration["ns3"], {"ns3::RdmaSwitch::PipelineLatency": "300ns"})
        self.assertEqual(
            configuration["collectives"]["algorithm"], ["all_gather=ring", "reduce_scatter=ring"]
        )

    def test_servers(self):
        """NICs, other GPUs than the server is sold with, and links between GPUs that have no
        name.
        """
        out = os.path.join(self.folder, "kept")
        server = ServerConfig(
            [GPUmodel.H100] * 4,
            nics=2,
            interconnect="nvswitch",
            per_gpu="1000Gbps",
            latency="1us",
            efficiency=0.9,
            bulk_latency="3us",
        )
        run = Simulator([server] * 2).train(**GPT2, out=out)
        cluster = run.stats["configuration"]["cluster"]
        self.assertEqual(
            (cluster["servers"], cluster["gpus_per_server"], cluster["nics_per_server"]), (2, 4, 2)
        )
        self.assertEqual(run.stats["configuration"]["training"]["gpu"], "H100")
        # it is there as long as the results are
        with open(cluster["server"], encoding="utf-8") as file:
            self.assertEqual(
                json.load(file)["servers"][0]["scale_up"],
                {
                    "kind": "nvswitch",
                    "per_gpu": "1000Gbps",
                    "latency": "1us",
                    "efficiency": 0.9,
                    "bulk_latency": "3us",
                },
            )
        for gpu in GPUmodel:
            plan = Simulator([ServerConfig([gpu] * 4)] * 2).train(
                model="bert-large", dtype="fp32", micro_batch=1, dry_run=True
            )
            self.assertRegex(plan, rf"2 x (dgx|hgx|pcie|mi|gh)\S+ with 4 x {gpu.value}\b")
        self.assertIn(
            "pcie 252 Gb/s",
            Simulator([ServerConfig(["A100"] * 8, server="pcie4-a100")]).train(dry_run=True),
        )

    def test_a_named_server_brings_its_nics(self):
        """As on the command line. Without server= the links between GPUs alone are those of what
        such GPUs are sold in.
        """

        def nics(server, **options):
            network = {key: options.pop(key) for key in ("fabric", "nic") if key in options}
            sim = Simulator([server] * 2, NetworkConfig("leafspine", **network))
            plans = [
                sim.train(model="gpt2", dry_run=True, **options),
                sim.collperf(dry_run=True, **options),
            ]
            found = [re.search(r"(\d+) NICs? of ([\d.]+ Gb/s)", plan).groups() for plan in plans]
            self.assertEqual(found[0], found[1])
            return found[0]

        h100 = [GPUmodel.H100] * 8
        self.assertEqual(nics(ServerConfig(h100)), ("1", "100 Gb/s"))
        self.assertEqual(nics(ServerConfig(h100), fabric="ib"), ("1", "100 Gb/s"))
        self.assertEqual(nics(ServerConfig(h100, nics=4), nic="HDR"), ("4", "200 Gb/s"))
        self.assertEqual(nics(ServerConfig(h100, server="dgx-h100")), ("8", "400 Gb/s"))
        self.assertEqual(
            nics(ServerConfig(h100, server="dgx-h100"), fabric="ib"), ("8", "400 Gb/s")
        )
        self.assertEqual(nics(ServerConfig(h100, nics=2, server="dgx-h100")), ("2", "400 Gb/s"))
        self.assertEqual(
            nics(ServerConfig(h100, server="dgx-h100"), nic="100GbE"), ("8", "100 Gb/s")
        )
        self.assertEqual(
            nics(ServerConfig(h100, nics=1, server="dgx-h100"), nic="100GbE"), ("1", "100 Gb/s")
        )
        self.assertEqual(
            nics(ServerConfig(h100, interconnect="nvswitch", per_gpu="1Tbps")), ("1", "100 Gb/s")
        )
        self.assertEqual(repr(ServerConfig(["A100"], nics=1)), repr(ServerConfig(["A100"])))
        self.assertIn("nics=1", repr(ServerConfig(["A100"], nics=1, server="dgx-a100")))
        graph = {
            "defaults": {"rate": "25Gbps", "delay": "1us"},
            "nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}],
            "links": [{"from": "a", "to": "b"}],
        }
        wire = Simulator(
            [ServerConfig(["A100"])] * 2, NetworkConfig(self.write("wire.json", graph))
        )
        self.assertIn("1 NIC of 25 Gb/s", wire.train(model="gpt2", dry_run=True))

    def test_other_programs(self):
        sim = small()
        bandwidth = sim.collperf(op="all_gather", minbytes="1MiB", maxbytes="4MiB")
        self.assertEqual(list(bandwidth.collectives()["bytes"]), [2**20, 2**21, 2**22])
        self.assertEqual(set(bandwidth.collectives()["ranks"]), {16})
        self.assertIn("#wrong", bandwidth.output)
        flows = Simulator(network_topo=NetworkConfig("singleswitch")).traffic(
            pattern="incast", hosts=5, fan_in=4, bytes=["1MB", "2MB"], progress=False
        )
        self.assertEqual(sorted(flows.flows()["bytes"]), [1000000, 1000000, 2000000, 2000000])
        self.assertEqual(
            small().traffic(pattern="permutation", bytes="1MB").stats["flows"]["all"], 2
        )  # a server is a host

    def test_families(self):
        for name, shown in (
            ("fattree", "fat-tree k=2"),
            ("Fat-Tree", "fat-tree k=2"),
            ("leafspine", "leaf-spine"),
            ("leaf_spine", "leaf-spine"),
            ("single-switch", "single-switch"),
        ):
            self.assertIn(
                shown,
                Simulator([ServerConfig(["A100"])] * 2, NetworkConfig(name)).train(dry_run=True),
            )
        graph = {
            "defaults": {"rate": "100Gbps", "delay": "1us"},
            "nodes": [
                {"name": "a", "kind": "host"},
                {"name": "b", "kind": "host"},
                {"name": "s", "kind": "switch"},
            ],
            "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"}],
        }
        network = NetworkConfig(self.write("racks.json", graph))
        self.assertEqual(
            Simulator(network_topo=network).traffic(bytes="1MB").stats["flows"]["all"], 2
        )


class Errors(SystemTest):
    def test_the_programs_words(self):
        """InvalidInput has what the program prints after "dltrain: error: "."""
        for options, line in (
            ({"zero": 7}, "--zero=7"),
            ({"modle": "gpt2"}, "--modle=gpt2"),
            ({"model": "gpt9"}, "--model=gpt9"),
        ):
            said = self.run_program(f"dltrain {line}", status=2).err
            with self.assertRaises(InvalidInput) as caught:
                small().train(**options)
            self.assertEqual(f"dltrain: error: {caught.exception}\n", said)
            self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(InvalidInput, "unknown option"):
            small().train(zeero=1, dry_run=True)

    def test_failed_run(self):
        """Every frame is lost: the queue pair gives up, status 3. The files say so too."""
        sim = small()
        with self.assertRaises(SimulationFailed) as caught:
            sim.traffic(
                pattern="incast", fan_in=1, bytes="1MB", bit_error_rate=0.001, timeout_exponent=4
            )
        self.assertEqual(caught.exception.exit_status, 3)
        self.assertRegex(
            str(caught.exception), r"(?s)^NOT COMPLETED.*1 failed queue pairs.*server-1 to server-0"
        )
        run = caught.exception.run
        self.assertIs(run, sim.last)
        self.assertFalse(run.complete)
        self.assertEqual(run.stats["failed_queue_pairs"], 1)
        self.assertIn("qp_error", set(run.events()["what"]))

    def test_a_program_that_dies(self):
        """Killed by the system, as for want of memory: no results, and no waiting."""
        out = os.path.join(self.folder, "earlier")
        small().train(**GPT2, out=out)  # results of an earlier run are not those of this one
        folder = os.path.join(self.folder, "programs")
        os.mkdir(folder)
        path = os.path.join(folder, "dltrain")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho last words >&2\nkill -KILL $$\n")
        os.chmod(path, 0o755)
        self.with_programs(folder)
        with self.assertRaisesRegex(
            SimulationFailed, "(?s)SIGKILL.*out of memory.*last words"
        ) as caught:
            small().train(out=out)
        self.assertIsNone(caught.exception.run)
        self.assertEqual(caught.exception.exit_status, -signal.SIGKILL)

    def test_programs_that_are_not_there(self):
        self.with_programs(self.folder)
        with self.assertRaisesRegex(
            ProgramNotFound, f"DLTRAIN_PROGRAMS={self.folder}: no program dltrain"
        ):
            small().train()
        clone = os.path.join(self.folder, "clone")
        os.makedirs(os.path.join(clone, "contrib", "dltrain"))
        open(os.path.join(clone, "ns3"), "w", encoding="utf-8").close()
        self.with_programs(None, DLTRAIN_ROOT=clone, NS3_DIR=None)
        with self.assertRaisesRegex(
            ProgramNotFound, f'not built; type:  cd {clone} && ./ns3 run "traffic --version"'
        ) as caught:
            # Found in this clone, or not: only the one that the environment names is meant here.
            (
                before,
                cluster_simulator.programs._clones,
            ) = cluster_simulator.programs._clones, lambda: iter([clone])
            try:
                small().traffic()
            finally:
                cluster_simulator.programs._clones = before
        self.assertIsInstance(caught.exception, cluster_simulator.SimulatorError)

    def with_programs(self, folder, **more):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name, value in {"DLTRAIN_PROGRAMS": folder, **more}.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def test_clusters_that_cannot_be(self):
        a, h = GPUmodel.A100, GPUmodel.H100
        for make, words in (
            (
                lambda: ServerConfig([a] * 4 + [h] * 4),
                "4 x A100, 4 x H100: all GPUs of a server must be alike",
            ),
            (lambda: ServerConfig([]), "at least one GPU"),
            (lambda: ServerConfig([a], per_gpu="1Tbps"), "give interconnect .* and per_gpu"),
            (
                lambda: ServerConfig([a], server="dgx-a100", interconnect="pcie", per_gpu="1Gbps"),
                "either that or",
            ),
            (
                lambda: Simulator([ServerConfig([a]), ServerConfig([h])]),
                "server 0 is .*A100.*server 1 is .*H100.*alike",
            ),
            (lambda: Simulator([]), "at least one server"),
            (
                lambda: NetworkConfig("fatree"),
                (
                    "'fatree' is neither .*; allowed: .*fattree, hyperx, leafspine.*did you"
                    " mean 'fattree'"
                ),
            ),
        ):
            with self.assertRaisesRegex(InvalidInput, words):
                make()
        for make in (
            lambda: ServerConfig(a),
            lambda: ServerConfig([8]),
            lambda: Simulator(ServerConfig([a])),
            lambda: Simulator([8]),
            lambda: Simulator(network_topo="fattree"),
        ):
            self.assertRaises(TypeError, make)
        with self.assertRaisesRegex(InvalidInput, "--nics-per-server=0"):
            Simulator([ServerConfig([a], nics=0)]).train()
        with self.assertRaisesRegex(InvalidInput, "no-such-gpu"):
            Simulator([ServerConfig(["no-such-gpu"])]).train()
        with self.assertRaisesRegex(InvalidInput, r"is not nvswitch|nvlink-mesh"):
            Simulator([ServerConfig([a], interconnect="wire", per_gpu="1Gbps")]).train()

    def test_warnings_of_the_program(self):
        """A 7B model with all its states does not fit 16 GiB; the program warns where it is to
        run all the same, and so does Python.
        """
        with self.assertWarnsRegex(SimulatorWarning, "GPU memory") as caught:
            Simulator([ServerConfig(["V100-16GB"])] * 2).train(
                model="bloom-7b1", dtype="fp16", zero=0, ignore_memory=True, dry_run=True
            )
        self.assertEqual(caught.filename, __file__)


class Folders(SystemTest):
    def test_temporary_and_kept(self):
        before = set(os.listdir(tempfile.gettempdir()))
        run = small().train(**GPT2)
        folder = run.folder
        self.assertTrue(os.path.exists(run.path("stats.json")))
        del run
        gc.collect()
        self.assertFalse(os.path.exists(folder))
        with self.assertRaises(InvalidInput):
            small().train(zero=9)
        gc.collect()
        mine = [
            name
            for name in set(os.listdir(tempfile.gettempdir())) - before
            if name == os.path.basename(os.path.dirname(folder))
        ]
        self.assertEqual(mine, [])
        kept = os.path.join(self.folder, "kept")
        run = small().train(**GPT2, out=kept)
        self.assertEqual(run.folder, kept)
        del run
        gc.collect()
        # Of a folder all that the run itself has, but for what was printed.
        loaded = cluster_simulator.load(kept)
        self.assertEqual(loaded.stats["gpus"], 16)
        self.assertEqual(loaded.summary()["gpus"], 16)
        self.assertGreater(len(loaded.collectives()), 0)
        self.assertTrue(loaded.plot("step").axes)
        self.assertEqual((loaded.output, loaded.messages), ("", []))
        self.assertIn(kept, loaded._repr_html_())
        with self.assertRaisesRegex(cluster_simulator.ResultsError, "no such folder"):
            cluster_simulator.load(kept + "-not-there")


LONG = """
import os, sys
sys.path.insert(0, {scripts!r})
from cluster_simulator import *
sim = Simulator(network_topo=NetworkConfig("fattree", k=4))
try:
    sim.traffic(bytes=["1MB", "100GB"], ack_every=1, out={out!r})
except KeyboardInterrupt as stop:
    assert stop.run is sim.last
    stats = stop.run.stats
    whole = len(stop.run.flows()) == stats["messages"]
    print("caught", stats["interrupted"], 0 < stats["share_done"] < 0.5, whole, stop.run.complete)
    raise
"""


class CtrlC(SystemTest):
    def test_interrupt_and_progress(self):
        """In a terminal: one line of progress that moves; Ctrl-C reaches Python and, as in a
        terminal, would reach the program too. The run ends with complete files, and
        KeyboardInterrupt goes on.
        """
        out = os.path.join(self.folder, "run")
        ours, its = pty.openpty()
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", LONG.format(scripts=SCRIPTS, out=out)],
            stdout=subprocess.PIPE,
            stderr=its,
            text=True,
            start_new_session=True,
            env={**os.environ, "TMPDIR": self.folder},
        )
        os.close(its)
        shown, begin = "", time.monotonic()
        while shown.count("% done") < 3 and time.monotonic() - begin < 60:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65536).decode()
        self.assertRegex(shown, r"\r\x1b\[Ktraffic \[ {20}\] .* ms simulated, +[\d.]+% done")
        self.assertNotIn("\n", shown.split("traffic [", 1)[1])
        os.killpg(process.pid, signal.SIGINT)
        said = b""
        try:
            while data := os.read(ours, 65536):
                said += data
        except OSError:
            pass
        output = process.communicate(timeout=60)[0]
        os.close(ours)
        self.assertEqual(output, "caught True True True False\n", said.decode())
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn(b"KeyboardInterrupt: NOT COMPLETED", said)
        with open(os.path.join(out, "network_events.log"), encoding="utf-8") as file:
            self.assertTrue(file.read().rstrip().split("\n")[-1].startswith("# end "))

    def test_no_run_outlives_its_python(self):
        """A notebook's kernel that is killed takes its simulation with it."""
        out = os.path.join(self.folder, "run")
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", LONG.format(scripts=SCRIPTS, out=out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": self.folder},
        )
        self.wait_for(lambda: os.path.exists(os.path.join(out, "flows.csv")))
        process.kill()
        process.wait()
        self.wait_for(lambda: os.path.exists(os.path.join(out, "stats.json")))
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file)["interrupted"])

    def wait_for(self, condition):
        begin = time.monotonic()
        while not condition():
            self.assertLess(time.monotonic() - begin, 60)
            time.sleep(0.05)


class Pictures(SystemTest):
    def test_they_show_the_numbers(self):
        run = small().train(**GPT2)
        step = run.plot_step()
        self.assertAlmostEqual(
            sum(bar.get_width() for bar in step.patches), run.stats["step_time_us"] / 1000
        )
        self.assertIn("(ms)", step.get_xlabel())
        completion = run.plot_completion_times()
        x, y = completion.lines[0].get_data()
        self.assertEqual((x[-1], y[-1]), (run.flows()["fct_us"].max(), 100))  # %
        links = run.plot_links(count=2)
        strips = links.collections[0].get_array().reshape(2, -1)
        rows = run.links()[run.links()["link"] == links.get_yticklabels()[0].get_text()]
        # Means over stretches of equal length (but the last), so their mean is that over all
        # intervals of the run, with zero for those without a row. The run begins at 0 (no warm-up).
        intervals = run.stats["simulated_time_us"] / run.stats["links_csv"]["interval_us"]
        self.assertTrue(60 < strips.shape[1] <= 150, strips.shape)
        self.assertWithin(strips[0].mean(), 100 * rows["utilization"].sum() / intervals, 0.02)
        # Nothing is sent before the first gradients are there: those intervals have no rows, and
        # are zero.
        self.assertEqual(strips[0][0], 0)
        self.assertGreater(rows["time_us"].min(), 10000)
        begin, end = links.get_xlim()
        self.assertEqual(begin, 0)
        self.assertWithin(end, run.stats["simulated_time_us"] / 1000, 0.02)
        bandwidth = small().collperf(minbytes="1MiB", maxbytes="2MiB")
        axes = bandwidth.plot_bandwidth()
        self.assertEqual(
            list(axes.lines[0].get_ydata()), list(bandwidth.collectives()["busbw_GBps"])
        )
        for axes in (step, completion, links, axes):
            axes.figure.savefig(os.path.join(self.folder, "picture.png"))

    def test_they_look_like_those_of_the_command_line(self):
        """One style for all: colours, sizes of words, spines; also in axes that were made without
        it.
        """
        import matplotlib.pyplot as plt
        from cluster_simulator import plots
        from cluster_simulator.plots import style

        run = small().train(**GPT2)
        whole = plots.draw("step", [run])
        bars = {tuple(bar.get_facecolor()) for bar in whole.axes[0].patches}
        with plt.rc_context({"font.size": 20, "axes.spines.top": True}):
            given = plt.subplots(figsize=(5, 2))[1]
        for axes in (run.plot_step(), run.plot_step(ax=given)):
            self.assertLessEqual({tuple(bar.get_facecolor()) for bar in axes.patches}, bars)
            for other in whole.axes:
                self.assertEqual(axes.xaxis.label.get_size(), other.xaxis.label.get_size())
                self.assertEqual(
                    axes.get_xticklabels()[0].get_size(), other.get_xticklabels()[0].get_size()
                )
            self.assertFalse(axes.spines["top"].get_visible() or axes.spines["right"].get_visible())
        self.assertEqual(run.plot_step().figure.get_figwidth(), style.WIDTH)
        # The pictures themselves: the same bytes, which a notebook shows as they are.
        page = run.plot("completion")
        self.assertEqual(
            page._repr_png_(), plots.draw("completion", [run], ["dltrain"])._repr_png_()
        )
        self.assertTrue(page._repr_png_().startswith(b"\x89PNG"))
        with self.assertRaisesRegex(ValueError, "'nope'; allowed: step, timeline"):
            run.plot("nope")
        with self.assertRaisesRegex(ValueError, "'complection'; .*; did you mean 'completion'\\?$"):
            run.plot("complection")

    def test_incomplete_runs_say_so(self):
        with self.assertRaises(SimulationFailed) as caught:
            small().traffic(
                pattern="incast", fan_in=1, bytes="1MB", bit_error_rate=0.001, timeout_exponent=4
            )
        run = caught.exception.run
        for axes in (
            run.plot_completion_times(),
            run.plot_links(),
            run.plot_bandwidth(),
            run.plot_step(),
        ):
            self.assertIn("incomplete run", axes.get_title("left"))
        self.assertIn("Incomplete: ", run._repr_html_())


class Installation(SystemTest):
    def test_pip_without_network(self):
        if importlib.util.find_spec("pip") is None:
            self.skipTest("python3-pip is not installed")
        target = os.path.join(self.folder, "installed")
        done = subprocess.run(
            [
                "/usr/bin/python3",
                "-m",
                "pip",
                "install",
                "--no-index",
                "--no-deps",
                "--target",
                target,
                SCRIPTS,
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        code = (
            "import cluster_simulator as c; print(c.__file__); "
            "sim = c.Simulator([c.ServerConfig([c.GPUmodel.A100] * 8)] * 2); "
            "print(sim.train(model='gpt2', warmup=0).stats['gpus'])"
        )
        ran = subprocess.run(
            ["/usr/bin/python3", "-c", code],
            env={**os.environ, "PYTHONPATH": target},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(
            ran.stdout.splitlines(),
            [os.path.join(target, "cluster_simulator", "__init__.py"), "16"],
            ran.stderr,
        )
        here = sorted(
            name
            for name in os.listdir(os.path.join(SCRIPTS, "cluster_simulator"))
            if name != "__pycache__"
        )
        there = sorted(
            name
            for name in os.listdir(os.path.join(target, "cluster_simulator"))
            if name != "__pycache__"
        )
        self.assertEqual(there, here)


if __name__ == "__main__":
    main()
