# SPDX-License-Identifier: GPL-2.0-only
"""What users type: every bad input is one clear error and status 2; every option, preset and dry
run works.
"""

import glob
import json
import os
import re
import sys
import unittest.mock

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SLOWER, SystemTest, captured, main, share_of

PROGRAMS = ("dltrain", "collperf", "traffic")


class BadInput(SystemTest):
    """refuse(): status 2, one line on standard error that begins "PROGRAM: error:", nothing on
    standard output. The words: what was given, and what is allowed or nearest.
    """

    def test_names(self):
        self.refuse(
            "dltrain --model=bloom560",
            "--model=bloom560",
            "unknown model",
            "did you mean 'bloom-560m'",
            "gpt2",
        )
        self.refuse("dltrain --gpu=A1000", "--gpu=A1000", "A100")
        self.refuse("dltrain --server=dgx-a10", "--server=dgx-a10", "dgx-a100")
        self.refuse("dltrain --cc=dcqnc", "--cc=dcqnc", "did you mean 'dcqcn'")
        self.refuse(
            "dltrain --cc-preset=x", "--cc-preset=x", "hpcc19-vendor, sigcomm15, nvidia-nic"
        )
        self.refuse("dltrain --topology=fattree5", "--topology=fattree5", "fat-tree")
        self.refuse("dltrain --nic=EDR --fabric=roce", "--nic=EDR", "InfiniBand", "100GbE")
        self.refuse("dltrain --nic=ERD", "--nic=ERD", "did you mean 'EDR'")
        self.refuse("dltrain --fabric=ib --pfc-watchdog=1ms", "--pfc-watchdog=1ms", "--fabric=ib")
        self.refuse(
            "dltrain --fabric=ib --ib-switch=quantun",
            "--ib-switch=quantun",
            "did you mean 'quantum'",
        )
        self.refuse(
            "dltrain --placement=best",
            "--placement=best",
            "linear, packed, spread, random, rail, fragmented",
        )
        self.refuse("dltrain --dtype=int8", "--dtype=int8", "bf16")
        # FIELD.md, 6: no silent ring
        self.refuse("dltrain --algorithm=tree", "--algorithm=tree", "ring")
        self.refuse("collperf --op=allreduse", "--op=allreduse", "did you mean 'all_reduce'")
        self.refuse("collperf --op=alltoall --algorithm=ring", "--algorithm=ring", "direct")
        self.refuse("traffic --pattern=incats", "--pattern=incats", "did you mean 'incast'")

    def test_names_that_are_near_each_other(self):
        for name in ("GPT3-13B", "gpt3-13B", "gpt3_13b"):
            self.assertIn(
                "gpt3-13b, 12,853,386,240 parameters",
                self.run_program(f"dltrain --dry-run --model={name} --gpus=8 --ignore-memory").out,
            )
        self.refuse(
            "dltrain --model=gpt3-67b",
            "--model=gpt3-67b",
            "unknown model",
            "did you mean 'gpt3-6.7b'",
        )

    def test_values_that_would_mean_something_else(self):
        self.refuse("dltrain --algorithm=,", "--algorithm=,", "entry 1 of the list is empty")
        self.refuse("dltrain --slow-gpu=15:1,15:2", "--slow-gpu=15:2", "GPU 15 a second time")
        self.refuse("dltrain --window=1e-7", "--window=1e-7", "whole bytes")
        self.refuse("traffic --bytes=1.5", "--bytes=1.5", "whole bytes")
        for program in PROGRAMS:
            self.refuse(
                f"{program} --dry-run --PrintGroup=Nope", "--PrintGroup=Nope", "no group 'Nope'"
            )
            self.refuse(f"{program} --dry-run --PrintGroup", "--PrintGroup", "needs a value")
            self.refuse(
                f"{program} --dry-run --PrintTypeIds=x", "--PrintTypeIds=x", "takes no value"
            )
        self.assertIn("ns3::RdmaNic", self.run_program("dltrain --dry-run --PrintGroup=Rdma").out)

    def test_settings_of_the_environment(self):
        """ns-3 itself takes them without a word, whatever they say."""
        name = "ns3::RdmaSwitch::PipelineLatency"
        for variable, value, words in (
            ("NS_ATTRIBUTE_DEFAULT", name + "x=300ns", "PipelineLatency"),
            ("NS_ATTRIBUTE_DEFAULT", name + "=soon", "'soon' is not valid"),
            ("NS_ATTRIBUTE_DEFAULT", name + "=1us;" + name + "=2us", "twice"),
            ("NS_ATTRIBUTE_DEFAULT", name, "is no setting"),
            ("NS_GLOBAL_VALUE", "SchedulrType=ns3::HeapScheduler", "SchedulrType"),
        ):
            with self.subTest(value=value), unittest.mock.patch.dict(os.environ, {variable: value}):
                self.refuse("collperf --ranks=2 -b 4K --dry-run", words)
        line = "collperf --ranks=2 -b 4K --report=0 --timeline=0"
        plain = self.run_program(line).stats
        slow = "--ns3::RdmaSwitch::PipelineLatency=10us"
        with unittest.mock.patch.dict(os.environ, {"NS_ATTRIBUTE_DEFAULT": slow[2:]}):
            by_environment, by_line = (
                self.run_program(line).stats,
                self.run_program(line + f" --{name}=500ns").stats,
            )
        self.assertGreater(
            by_environment["collectives"][0]["time_us"], plain["collectives"][0]["time_us"] + 9
        )
        self.assertEqual(
            by_environment["configuration"],
            self.run_program(line + " " + slow).stats["configuration"],
        )
        self.assertEqual(by_line["collectives"], plain["collectives"])  # the command line wins

    def test_options(self):
        for program in PROGRAMS:
            self.refuse(f"{program} --sede=1", "--sede", "unknown option", "did you mean '--seed'")
            self.refuse(f"{program} stray", "stray", "unexpected argument")
            self.refuse(f"{program} --out=x --seed", "--seed", "needs a value")
            self.refuse(f"{program} --mtu=1500", "--mtu=1500", "256, 512, 1024, 2048, 4096")
            self.refuse(f"{program} --mtu=", "--mtu")
        self.refuse("dltrain --bytes=1MB", "--bytes", "unknown option")  # another program's

    def test_counts(self):
        self.refuse("dltrain --gpus=0", "--gpus=0", "1 to 1000000")
        self.refuse("dltrain --gpus=-8", "--gpus=-8")
        self.refuse("dltrain --gpus=12", "--gpus=12", "does not fill servers of 8", "8 or 16")
        # FIELD.md, 8
        self.refuse("dltrain --gpus=64 --servers=4", "--gpus=64", "4 servers have 32 GPUs")
        self.refuse("dltrain --servers=17 --k=4", "--k=4", "16 server ports", "k=6")
        self.refuse("dltrain --k=5", "--k=5", "even")
        self.refuse("dltrain --zero=4", "--zero=4", "0, 1, 2, 3")
        self.refuse("dltrain --steps=0", "--steps=0")
        self.refuse("dltrain --global-batch=100", "--global-batch=100", "multiples of 128")
        self.refuse("dltrain --oversubscription=0.5", "--oversubscription=0.5", "1 to 1000")
        self.refuse("dltrain --prefetch=1MB", "--prefetch=1MB", "--zero=3")
        self.refuse("dltrain --offload=all", "--offload=all", "with --zero=2", "--zero=3")
        self.refuse("dltrain --offload --zero=0", "--offload", "--zero=1, 2 or 3")
        self.refuse("dltrain --host-link=1Gbps", "--host-link=1Gbps", "--offload other than none")
        self.refuse("dltrain --offload --gpu=GB200 --server=dgx-h100", "--offload", "--host-link")
        self.refuse("dltrain --optimizer=lamb --zero=2", "--optimizer=lamb", "--zero=0")
        self.refuse("dltrain --optimizer=adamm", "--optimizer=adamm", "did you mean 'adam'")
        self.refuse("dltrain --jitter=2", "--jitter=2", "0 to 1")
        self.refuse("dltrain --loader=0", "--loader=0")
        self.refuse("dltrain --loader=100 --layers=6", "--loader=100", "without --layers")
        self.refuse("dltrain --moe-skew=1", "--moe-skew=1", "has no experts")
        self.refuse("dltrain --capacity-factor=1", "--capacity-factor=1", "has no experts")
        self.refuse("dltrain --strategy=downpour --offload", "--offload", "--strategy=downpour")
        self.refuse("collperf --ranks=12 --gpus-per-server=8", "--ranks=12", "8 or 16")
        self.refuse("collperf -b 2M -e 1M", "-e=1M", "2MiB")
        self.refuse(
            "traffic --pattern=incast --topology=single-switch --hosts=8 --fan-in=8",
            "--fan-in=8",
            "1 to 7",
        )
        self.refuse("traffic --topology=fat-tree --k=4 --offset=16", "--offset=16", "1 to 15")

    def test_units(self):
        self.refuse("dltrain --link-delay=1", "--link-delay=1", "500ns, 1us")
        self.refuse("dltrain --link-delay=1m", "--link-delay=1m", "500ns, 1us")
        self.refuse("dltrain --buckets=25XB", "--buckets=25XB", "25MiB")
        self.refuse("dltrain --fabric-rate=400", "--fabric-rate=400", "Gbps")
        self.refuse("collperf -b 1Q", "-b=1Q", "25MiB")
        self.refuse("traffic --bytes=1MB,5lb", "--bytes=5lb", "25MiB")

    def test_files(self):
        bad = self.write("bad.json", '{\n  "training": {"model": "gpt2",}\n}\n')
        self.refuse(f"dltrain --scenario={bad}", f"{bad}:2:", "malformed JSON")  # with its line
        key = self.write("key.json", {"training": {"modle": "gpt2"}})
        self.refuse(
            f"dltrain --scenario={key}",
            key,
            "/training/modle",
            "unknown key",
            "did you mean '/training/model'",
        )
        kind = self.write("kind.json", {"training": {"zero": "two"}})
        self.refuse(f"dltrain --scenario={kind}", kind, "/training/zero", "0, 1, 2, 3")
        other = self.write("other.json", {"program": "traffic"})
        self.refuse(f"dltrain --scenario={other}", other, "/program", "traffic")
        self.refuse("dltrain --scenario=nowhere.json", "nowhere.json", "No such file")
        self.refuse(
            f"dltrain --model={self.write('m.json', {'name': 'x', 'layers': []})}",
            "m.json",
            "layers",
        )
        self.refuse(
            "dltrain --model="
            + self.write("n.json", {"name": "x", "layers": 2, "hidden": 64, "vocab": 9}),
            "n.json",
            "heads",
        )
        self.refuse(f"dltrain --gpu={self.write('g.json', {'name': 'x'})}", "g.json")
        graph = {
            "defaults": {"rate": "1Gbps", "delay": "1us"},
            "nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}],
            "links": [{"from": "a", "to": "c"}],
        }
        self.refuse(
            f"dltrain --topology={self.write('t.json', graph)}", "t.json", "/links/0/to", '"c"'
        )
        alone = {
            "defaults": {"rate": "1Gbps", "delay": "1us"},
            "nodes": [
                {"name": n, "kind": k}
                for n, k in (("a", "host"), ("b", "host"), ("c", "host"), ("s", "switch"))
            ],
            "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"}],
        }
        self.refuse(f"dltrain --topology={self.write('alone.json', alone)}", "alone.json", "c")
        flows = self.write("flows.txt", "2\n0 1 3 100 1000 0\n0 9999 3 100 1000 0\n")
        self.refuse(f"traffic --flows={flows}", "flows.txt:3", "9999")

    def test_output_folder(self):
        self.refuse("dltrain --out=/proc/nowhere", "--out=/proc/nowhere", "cannot be written")
        occupied = self.write("occupied", "a file")
        self.refuse(f"dltrain --out={occupied}", occupied, "cannot be written")
        if os.geteuid() != 0:  # root may write anywhere
            os.mkdir(os.path.join(self.folder, "locked"), 0o500)
            self.refuse(f"dltrain --out={self.folder}/locked", "locked", "cannot be written")

    def test_ns3_attributes(self):
        self.refuse(
            "dltrain --ns3::RdmaSwitch::PipelineLatncy=1ns",
            "PipelineLatncy",
            "did you mean PipelineLatency",
        )
        self.refuse("dltrain --ns3::RdmaSwich::PipelineLatency=1ns", "RdmaSwich", "RdmaSwitch")
        self.refuse("dltrain --ns3::RdmaSwitch::PipelineLatency=soon", "PipelineLatency", "soon")
        self.refuse("dltrain --ns3::RdmaNic::Mtu=1000", "Mtu", "1000", "256, 512, 1024, 2048, 4096")
        self.refuse("dltrain --ns3::RdmaSwitch::Pfc", "Pfc", "value")
        self.refuse("dltrain --PrintAttributs=ns3::RdmaSwitch", "PrintAttributs", "PrintAttributes")
        self.refuse("dltrain --dry-run --ns3::RdmaSwitch::Nonsense=1", "Nonsense")
        scenario = self.write("attribute.json", {"ns3": {"ns3::RdmaSwitch::Nonsense": "1"}})
        self.refuse(f"dltrain --scenario={scenario}", "Nonsense")

    def test_captures(self):
        self.refuse("dltrain --pcap=server-99", "--pcap=server-99", "did you mean")
        self.refuse("dltrain --pcap=server-0-server-1", "server-0-server-1", "no link")
        self.refuse("dltrain --pcap=edge-0-0:9", "edge-0-0:9", ":3")

    def test_all_problems_of_one_command_are_told(self):
        run = self.run_program("dltrain --model=nonsuch --mtu=1", status=2)
        self.assertEqual(len(run.err.splitlines()), 2)
        self.assertTrue(
            all(line.startswith("dltrain: error: ") for line in run.err.splitlines()), run.err
        )

    def test_nothing_is_left_behind(self):
        self.refuse("dltrain --model=nonsuch")
        self.assertEqual(os.listdir(self.folder), [])


class Help(SystemTest):
    """Every option is taken with its default, or where that depends on others, with its example;
    and --help has it.
    """

    # Options that belong to others, which are given along.
    PROFILED = (
        f"--profile={os.path.join(ROOT, 'tests/golden/pipedream-vgg16.csv')} --micro-batch=32"
        " --server=pipedream-b --servers=4 --dtype=fp32"
    )
    TOGETHER = {
        "recompute-keep": "--recompute=full --recompute-keep=qkv_proj",
        "shard": "--auto-parallel=semi --shard=block.norm=((2,1,1))",
        "shard-cost": "--auto-parallel=dynamic-programming --shard-cost=mindspore",
        "device-matrix": "--auto-parallel=dynamic-programming --device-matrix=16,8",
        "explain-sharding": "--auto-parallel=semi --explain-sharding",
        "etp": "--model=mixtral-8x7b --servers=4 --zero=1 --etp=1 --ignore-memory",
        "pipeline-layout": (
            "--model=gpt2 --servers=1 --gpus-per-server=4 --pp=4 --pipeline-layout=3-3-3-3"
        ),
        "overlap-next-forward": "--zero=0 --overlap-next-forward",
        "collective-times": "--network=analytic --collective-times=formula",
        "slurm-options": "--on=slurm --slurm-options=partition=short",
        "mpi-hosts": "--mpi-hosts=node1:2,node2:2",
        "link-frames": "--fabric=ib --link-frames=flits",
        "scale-up-frame": "--server=dgx-h100 --scale-up=packets --scale-up-frame=256B",
        "scale-up-buffer": "--server=dgx-h100 --scale-up=packets --scale-up-buffer=64KiB",
        "fast-error": "--fidelity=fast --fast-error=0.02",
        "fast-checks": "--fidelity=fast --fast-checks=6",
        "flow-class": "--class=bulk:cc=hpcc --flow-class=bulk",
        "dltrain dimensions": "--algorithm=torus --dimensions=16x8",
        "dltrain splits": "--algorithm=by-dimension --splits=16",
        "dltrain dimension-order": "--algorithm=by-dimension --dimension-order=round-robin",
        "dltrain phase-order": "--algorithm=by-dimension --phase-order=shortest",
        "dltrain dimension-algorithms": (
            "--dims=ring:4+ring:4 --algorithm=by-dimension --dimension-algorithms=ring,direct"
        ),
        "collperf splits": "--algorithm=by-dimension --splits=16",
        "collperf dimension-order": "--algorithm=by-dimension --dimension-order=round-robin",
        "collperf phase-order": "--algorithm=by-dimension --phase-order=shortest",
        "collperf dimension-algorithms": (
            "--dims=ring:4+ring:4 --algorithm=by-dimension --dimension-algorithms=ring,direct"
        ),
        "endpoint-delay": "--dims=ring:4+ring:4 --network=dims --endpoint-delay=50ns",
        "local-memory-rate": "--dims=ring:4+ring:4 --network=dims --local-memory-rate=1TBps",
        "active-chunks": "--dims=ring:4+ring:4 --network=dims --active-chunks=2",
        "collective-optimization": (
            "--dims=ring:4+ring:4 --network=dims --collective-optimization=baseline"
        ),
        "dims": "--dims=ring:4+switch:4@200Gbps,1us",
        "npus-count": (
            "--topology=Ring_Switch --npus-count=4,4 --bandwidth=100,50 --latency=500,1000"
        ),
        "bandwidth": "--topology=Ring --npus-count=4 --bandwidth=100 --latency=500",
        "latency": "--topology=Switch --npus-count=8 --bandwidth=100 --latency=500",
        "dltrain levels": "--zero=0 --algorithm=all_reduce=hierarchical --levels=ring,ring",
        "dltrain parameter-servers": (
            "--zero=0 --algorithm=all_reduce=parameter-server --parameter-servers=2"
        ),
        "collperf dimensions": "--algorithm=torus --dimensions=4x4",
        "collperf levels": "-g 4 --servers=4 --algorithm=hierarchical --levels=ring,ring",
        "collperf parameter-servers": "--algorithm=parameter-server --parameter-servers=2",
        "collperf radix": "--op=reduce --algorithm=k-nomial --radix=2",
        "dltrain aggregation-delay": (
            "--zero=0 --algorithm=all_reduce=collnet-direct --aggregation-delay=50ns"
        ),
        "collperf aggregation-delay": "--servers=2 --algorithm=sharp --aggregation-delay=50ns",
        "dltrain aggregation-memory": (
            "--zero=0 --algorithm=all_reduce=collnet-direct --aggregation-memory=64KiB"
        ),
        "collperf aggregation-memory": "--servers=2 --algorithm=sharp --aggregation-memory=64KiB",
        "dltrain aggregation-groups": (
            "--zero=0 --algorithm=all_reduce=collnet-direct --aggregation-groups=3"
        ),
        "collperf aggregation-groups": "--servers=2 --algorithm=sharp --aggregation-groups=3",
        "dltrain occupied": "--servers=24 --gpus=128 --placement=fragmented --occupied=0.25",
        "collperf occupied": "--servers=24 --ranks=16 --placement=fragmented --occupied=0.25",
        "tuner-cache": "--tuner=measured --tuner-cache=tuned",
        "watch-interval": "--watch=all --watch-interval=100ns",
        "tier-rate": "--topology=leaf-spine --tier-rate=spine:200Gbps",
        "watchdog": "--recovery=restart --watchdog=30s",
        "monitor-interval": "--recovery=restart --monitor-interval=5s",
        "abort-time": "--recovery=restart --abort-time=30s",
        "restart-time": "--recovery=restart --restart-time=2s",
        "max-restarts": "--recovery=restart --max-restarts=2",
        "checkpoint-rate": "--recovery=restart --checkpoint-every=2 --checkpoint-rate=80Gbps",
        "checkpoint-async": "--checkpoint-every=2 --checkpoint-async",
        "checkpoint-copy-rate": (
            "--checkpoint-every=2 --checkpoint-async --checkpoint-copy-rate=200Gbps"
        ),
        "checkpoint-servers": (
            "--checkpoint-every=2 --checkpoint-servers=2 --servers=18 --gpus=128"
        ),
        "spares": "--recovery=restart --spares=1 --servers=17 --gpus=128",
        "collperf spares": "--recovery=restart --spares=1 --servers=17 --ranks=16",
        "prefetch": "--zero=3 --prefetch=100MB",
        "first-bucket": "--zero=0 --first-bucket=4MiB",
        "zero-quantized-weights": "--zero=3 --zero-quantized-weights",
        "zero-hpz-partition-size": "--zero=3 --zero-hpz-partition-size=8",
        "zero-quantized-gradients": "--zero=3 --zero-quantized-gradients",
        "persistence-threshold": (
            "--zero=3 --zero-impl=deepspeed --persistence-threshold=1000000"
        ),
        "zero-tensor-lists": "--zero=3 --zero-impl=deepspeed --zero-tensor-lists",
        "cycle-time": "--zero=0 --zero-impl=horovod --cycle-time=5ms",
        "gradient-compression": "--zero=0 --gradient-compression=topk:0.01",
        "profile-model": f"{PROFILED} --profile-batch=128 --profile-model=vgg16",
        "profile-batch": f"{PROFILED} --profile-batch=128",
        "profile-floor": f"{PROFILED} --profile-batch=128 --profile-floor",
        "replicas": "--model=vgg16 --server=pipedream-b --servers=4 --dtype=fp16 --replicas=2-1-1",
        "partition-fill": "--model=gpt2 --pp=4 --partition=parameters --partition-fill=front",
        "vertical-sync": (
            "--model=vgg16 --server=pipedream-b --servers=4 --dtype=fp16 --pp=4"
            " --pipeline-schedule=pipedream --vertical-sync"
        ),
        "host-link": "--offload --host-link=200Gbps",
        "host-memory-rate": "--offload --host-memory-rate=1600Gbps",
        "capacity-factor": "--model=mixtral-8x7b --seq=2048 --ep=8 --capacity-factor=1.25",
        "fetch-every": "--strategy=downpour --fetch-every=4",
        "push-every": "--strategy=downpour --push-every=4",
        "backup-workers": "--strategy=backup-workers --backup-workers=2",
        "lbfgs-history": "--strategy=sandblaster --lbfgs-history=5",
        "leaves": "--topology=leaf-spine --leaves=4 --hosts-per-leaf=8",
        "bond": "--topology=leaf-spine --servers=8 --hosts-per-leaf=4 --bond=2",
        "traffic bond": "--topology=leaf-spine --hosts=8 --hosts-per-leaf=4 --bond=2",
        "spines": "--topology=leaf-spine --spines=4",
        "alone": f"--jobs={os.path.join(ROOT, 'scenarios/jobs/two-rings-and-a-copy.json')} --alone",
        "hosts-per-leaf": "--topology=leaf-spine --hosts-per-leaf=4",
        "torus": "--topology=torus --torus=4x4x2",
        "wafer-io": "--wafer=5x4@750GBps,20ns --wafer-io=18@128GBps",
        "wafers": "--wafer=fred-baseline --wafers=2",
        "dead": "--wafer=5x4@750GBps,20ns --dead=3,11",
        "dead-links": "--wafer=5x4@750GBps,20ns --dead-links=4-9",
        "rails": "--topology=rail-optimized --rails=2",
        "hosts-per-rail": "--topology=rail-optimized --hosts-per-rail=4",
        "switch-ports": "--topology=rail-optimized --switch-ports=16",
        "planes": "--topology=dual-plane --planes=2",
        "core-oversubscription": "--topology=fat-tree --k=8 --core-oversubscription=2",
        "groups": "--topology=dragonfly --groups=5",
        "group-switches": "--topology=dragonfly --group-switches=4",
        "global-links": "--topology=dragonfly --global-links=2",
        "group-leaves": "--topology=dragonfly-plus --group-leaves=3",
        "group-spines": "--topology=dragonfly-plus --group-spines=3",
        "hyperx": "--topology=hyperx --hyperx=4x3",
        "children": "--topology=xgft --children=4x4x3",
        "parents": "--topology=xgft --children=4x4x3 --parents=2x1",
        "peer-nic": "--nics-per-server=2 --peer-nic=own",
        "hosts-per-switch": "--topology=torus --hosts-per-switch=8",
        "wrap": "--topology=torus --no-wrap",
        "ib-dump": "--nic=EDR --ib-dump=1",
        "root": "--op=broadcast --root=1",
        "block-sizes": "--op=alltoallv --block-sizes=equal",
        "stepbytes": "-e 64MiB --stepbytes=16MiB",
        "maxbytes": "-b 1MiB -e 64MiB",
        "fan-in": "--pattern=incast --fan-in=4",
        "target": "--pattern=incast --target=3",
        "oversubscription": "--topology=fat-tree --k=4 --oversubscription=4",
        "k": "--topology=fat-tree --k=4",
        "fabric-rate": "--topology=fat-tree --fabric-rate=400Gbps",
        "fault-detection": "--fault=link-down,at=1ms,on=all --fault-detection=1ms",
        "convergence": "--fault=link-down,at=1ms,on=all --convergence=100ms",
        "pcap-format": "--pcap=all --pcap-format=pcapng",
        "pcap-snaplen": "--pcap=all --pcap-snaplen=96",
        "pcap-size": "--pcap=all --pcap-size=10MB",
        "pcap-files": "--pcap=all --pcap-size=10MB --pcap-files=4",
        "pcap-flow": "--pcap=all --pcap-flow=server-0->server-1",
        "ib-switch": "--nic=EDR --ib-switch=quantum",
        "ib-routing": "--nic=EDR --ib-routing=minhop",
        "lmc": "--nic=EDR --lmc=2",
        "vls": "--nic=EDR --vls=4",
        "vl-buffer": "--nic=EDR --vl-buffer=64KiB",
        "vl-high": "--nic=EDR --vl-high=0:64",
        "vl-low": "--nic=EDR --vl-low=0:64",
        "vl-high-limit": "--nic=EDR --vl-high=0:64 --vl-high-limit=16",
        "fecn-threshold": "--nic=EDR --fecn-threshold=8",
        "adaptive-routing": "--nic=EDR --adaptive-routing",
        "static-rate": "--nic=EDR --static-rate",
        "credit-block": "--nic=EDR --credit-block=128B",
        "ib-fec": "--nic=EDR --ib-fec=RS-544",
        "payload": "--no-extension-headers --payload=1000",
        "load": "--pattern=poisson --load=0.3 --duration=100us",
        "load-of": "--pattern=poisson --load-of=wire --duration=100us",
        "sizes": "--sizes=fb-hadoop",
        "duration": "--pattern=poisson --duration=100us",
        "warm-up": "--pattern=poisson --warm-up=50us --duration=100us",
        "cool-down": "--pattern=poisson --duration=100us --cool-down=50us",
        "on-time": "--pattern=on-off --on-time=50us --duration=1ms",
        "off-time": "--pattern=on-off --off-time=50us --duration=1ms",
        "on-off-times": "--pattern=on-off --on-off-times=pareto --duration=1ms",
        "incast-load": "--pattern=poisson --incast-load=0.02 --duration=1ms",
        "incast-fan-in": "--pattern=poisson --incast-load=0.02 --incast-fan-in=8 --duration=1ms",
        "incast-bytes": "--pattern=poisson --incast-load=0.02 --incast-bytes=100kB --duration=1ms",
        "incast-arrivals": (
            "--pattern=poisson --incast-load=0.02 --incast-arrivals=poisson --duration=1ms"
        ),
        "queue-pairs": "--queue-pairs=per-pair",
        "size-bins": "--size-bins=10kB,1MB",
        "queue-interval": "--queue-interval=2us",
        "rate-interval": "--rate-interval=50us",
        "tcp-control": "--protocol=tcp --tcp-control=dctcp",
        "packet-mtu": "--protocol=tcp --packet-mtu=9000",
        "rate": "--protocol=udp --rate=30Gbps",
    }
    STOPS = {"help": "--help", "version": "--version", "list": "--list=nics", "dry-run": ""}

    def test_every_option_is_taken(self):
        profile = self.write(
            "profile.json", {"layers": {"*": {"forward_us": 10, "backward_us": 20}}}
        )
        flows = self.write("flows.txt", "1\n0 1 3 100 1000 0\n")
        scenario = self.write("scenario.json", {"run": {"seed": 2}})
        collective = {"op": "all_reduce", "bytes": 4096}
        jobs = self.write("jobs.json", {"jobs": [{"servers": 2, "collective": collective}]})
        trace = self.write("trace.goal", "num_ranks 1\nrank 0 {\ncalc 1000\n}\n")
        table = "# size count type redop root time\n1024 256 float sum -1 9.5\n"
        reference = self.write("nccl.txt", table)
        shards = self.write("shards.json", {"block.norm": [[2, 1, 1]]})
        files = {
            "profile": profile,
            "flows": flows,
            "scenario": scenario,
            "jobs": jobs,
            "trace": trace,
            "ib-lfts": None,
            "reference": reference,
            "shard-file": f"{shards} --auto-parallel=semi",
        }
        tiers = [{"name": "host", "rate": "1Tbps"}, {"name": "far", "attached": "network"}]
        memory = "--memory=" + self.write("memory.json", json.dumps({"tiers": tiers}))
        remote = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 1, "remote-mem-bw": 1}
        placed = {
            "memory": "--place=optimizer:host",
            "place": "--place=optimizer:host",
            "prefetch-layers": "--prefetch-layers=2 --place=parameters:host",
            "memory-servers": "--memory-servers=2 --place=parameters:far",
            "memory-rate": "--memory-rate=host=25GBps --place=optimizer:host",
            "memory-sweep": "--memory-sweep=host:25GBps..100GBps --place=optimizer:host",
        }
        files["remote-memory"] = (
            self.write("remote.json", json.dumps(remote)) + f" --trace={trace}"
        )
        small = {
            "dltrain": (
                "--model=gpt2 --gpus=2 --servers=2 --gpus-per-server=1 --micro-batch=1 --seq=64"
                " --warmup=0"
            ),
            "collperf": "--ranks=2 -b 1K -e 1K",
            "traffic": "--topology=single-switch --hosts=2 --bytes=1kB",
        }
        for number, program in enumerate(PROGRAMS):
            tables = self.run_program(
                f"{program} {small[program]} --nic=EDR --ib-dump --report=0 --timeline=0"
            ).path("opensm-lfts.dump")
            text = self.run_program(f"{program} --help").out
            options = json.loads(self.run_program(f"{program} --list=options").out)["options"]
            self.assertGreater(len(options), 30)
            for option in options:
                self.assertRegex(text, rf"(?m)^  (-\w, )?--{option['name']}\b")
            # Of each program others: most options are of all three.
            for option in share_of(options, one_in=6, first=number):
                name = option["name"]
                with self.subTest(f"{program} --{name}"):
                    if name in self.STOPS:
                        given = self.STOPS[name]
                    elif name in files:
                        given = f"--{name}={files[name] or tables}" + (
                            f" --nic=EDR {small[program]}"
                            if name == "ib-lfts"
                            else " -b 1024"
                            if name == "reference"
                            else ""
                        )
                    elif name == "launch" or name.startswith("capture-"):
                        # Scripts run in capture-launch.py; without one the others mean nothing.
                        given = f"--{name}={option.get('example', 1)}"
                        said = "--launch" if name == "launch" else "needs --launch"
                        words = ["dltrain", "--dry-run", given]
                        self.assertIn(said, self.run_program(words, status=2).err)
                        continue
                    elif name in ("trace-ranks", "replicate"):
                        # Profiles of PyTorch run in dltrain-formats.py.
                        words = f"dltrain --dry-run --{name}={option['example']}"
                        self.refuse(words, f"--{name}", "needs --trace")
                        continue
                    elif f"{program} {name}" == "dltrain radix":
                        # No collective of a training step is one that k-nomial does.
                        self.refuse("dltrain --dry-run --radix=2", "has no meaning for", "k-nomial")
                        continue
                    elif name in placed:
                        given = f"{memory} {placed[name]}"
                    elif f"{program} {name}" in self.TOGETHER:
                        given = self.TOGETHER[f"{program} {name}"]
                    elif name in self.TOGETHER:
                        given = self.TOGETHER[name]
                    else:
                        value = (
                            option.get("default")
                            or option.get("example")
                            or (option["names"][-1] if "names" in option else "here")
                        )
                        if option["kind"] == "flag" and value == "here":
                            value = 1
                        given = f"--{name}={value}"
                    run = self.run_program(f"{program} --dry-run {given}")
                    self.assertNotEqual(run.out, "")

    def test_lists(self):
        for program in PROGRAMS:
            text = self.run_program(f"{program} --help").out
            names = re.findall(r"^  ([a-z-]+): ", text[text.index("\nNames") :], re.MULTILINE)
            self.assertGreater(len(names), 3)
            for name in names:
                described = self.run_program(f"{program} --list={name}").out
                self.assertGreater(len(described.splitlines()), 1, described)  # a title, and names
                helped = self.run_program(f"{program} --help={name}").out
                if name == "recipes":  # with what each sets
                    for line in described.splitlines()[1:]:
                        if line[:3].strip():
                            self.assertIn(f"\n{line.split()[0]}: ", helped)
                elif name == "models":  # by family
                    for line in described.splitlines()[1:]:
                        self.assertIn(f"\n  {line.split()[0]}", helped)
                elif name == "algorithms":  # with times, options and sources
                    for line in described.splitlines()[1:]:
                        if line[:3].strip():
                            self.assertIn(f"\n  {line.split()[0]}\n", helped)
                else:
                    self.assertEqual(helped, described)

    def test_spellings(self):
        plan = self.run_program("dltrain --dry-run --out=x").out
        for same in (
            "--model=bloom-560m",
            "--model bloom560m",
            "--model=BLOOM_560M",
            "--micro_batch=4",
            "--pfc",
            "--pfc 1",
            "--no-recompute",
            "--zero=2 --warmup=1",
        ):
            self.assertEqual(self.run_program(f"dltrain --dry-run --out=x {same}").out, plan, same)
        self.assertNotEqual(self.run_program("dltrain --dry-run --out=x --no-pfc").out, plan)


class DryRun(SystemTest):
    def test_simulates_nothing_and_writes_nothing(self):
        for program in PROGRAMS:
            run = self.run_program(f"{program} --dry-run", timeout=10)
            self.assertFalse(os.path.exists(run.folder))
            self.assertEqual(os.listdir(self.folder), [])
            for word in (
                "Plan",
                "Estimate",
                "packets",
                "frame-hops",
                "simulated time",
                "wall time",
            ):
                self.assertIn(word, run.out)

    def test_estimates_are_what_runs(self):
        # Packets and messages are exact where nothing is lost; the time is a lower bound.
        for line in (
            "dltrain --model=gpt2 --seq=1024 --servers=4 --warmup=0",
            "collperf --ranks=8 -b 1M -e 4M",
            "traffic --topology=single-switch --hosts=8 --bytes=1MB",
        ):
            plan = self.run_program(line + " --dry-run").out
            stats = self.run_program(line).stats
            packets = re.search(r"packets\s+([\d.]+)( million)? data", plan)
            count = float(packets.group(1)) * (1e6 if packets.group(2) else 1)
            self.assertWithin(count, stats["data_packets"], 0.005, line)
            hops = re.search(r"frame-hops\s+([\d.]+)( million)?", plan)
            # CNPs are not foreseen
            self.assertWithin(
                float(hops.group(1)) * (1e6 if hops.group(2) else 1),
                stats["frame_hops"],
                0.03,
                line,
            )
            least = re.search(r"at least ([\d.]+) (ms|us|s)\n", plan)
            least_us = float(least.group(1)) * {"us": 1, "ms": 1e3, "s": 1e6}[least.group(2)]
            self.assertLess(least_us, stats["simulated_time_us"] * 1.001, line)
            self.assertGreater(least_us, stats["simulated_time_us"] * 0.5, line)

    def test_presets(self):
        presets = sorted(
            glob.glob(os.path.join(ROOT, "scenarios", "presets", "**", "*.json"), recursive=True)
        )
        self.assertGreater(len(presets), 10)
        for preset in share_of(presets, one_in=2):
            with open(preset, encoding="utf-8") as file:
                program = re.search(r'"program":\s*"(\w+)"', file.read()).group(1)
            run = self.run_program(f"{program} --dry-run --scenario={preset}")
            self.assertIn("Estimate", run.out)
            self.assertNotIn("warning", run.err, preset)
        # default.json is what happens without any option.
        default = self.run_program(
            f"dltrain --dry-run --scenario={ROOT}/scenarios/presets/default.json --out=x"
        ).out
        self.assertEqual(default, self.run_program("dltrain --dry-run --out=x").out)
        # 3,072 GPUs: 384 servers on a fat-tree with room for 432.
        text = self.run_program(
            f"dltrain --dry-run --scenario={ROOT}/scenarios/presets/bloom560m-3072.json"
        ).out
        for words in ("3072 GPUs", "384 x dgx-a100", "fat-tree k=12", "384 hosts"):
            self.assertIn(words, text)


class Chosen(SystemTest):
    def test_result_folders_are_numbered(self):
        line = "collperf --ranks=2 -b 4K"
        for number in (1, 2):
            words, _ = self.command(line)
            words = [word for word in words if not word.startswith("--out")]
            done = captured(words, cwd=self.folder, timeout=30 * SLOWER, check=True)
            self.assertIn(f"results/collperf-{number}/", done.stderr + done.stdout)
            self.assertTrue(
                os.path.exists(os.path.join(self.folder, f"results/collperf-{number}/stats.json"))
            )

    def test_a_note_for_what_was_chosen(self):
        self.assertIn("k=6", self.run_program("dltrain --dry-run --servers=40").err)

    def test_one_rule_for_what_does_not_fit_the_gpu(self):
        for more in ("", " --dry-run"):
            self.refuse(f"dltrain --model=gpt3-175b{more}", "GPU memory", "--ignore-memory")
        run = self.run_program("dltrain --dry-run --model=gpt3-175b --ignore-memory")
        told = [line for line in run.err.splitlines() if "warning" in line]
        self.assertEqual(len(told), 1)
        self.assertIn("GPU memory", told[0])


if __name__ == "__main__":
    main()
