# Bad input: one clear error that names it, status 2, and no result.
import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import check, done, folder, run

with open(folder("file"), "w") as file:
    file.write("not a folder\n")
with open(folder("bad.json"), "w") as file:
    file.write('{\n  "traffic": {\n    "pattern": "incast",,\n  }\n}\n')
with open(folder("ns3.json"), "w") as file:
    file.write('{"ns3": {"ns3::RdmaSwitch::Pfcc": "true"}}\n')
with open(folder("alpha.json"), "w") as file:
    file.write('{"ns3": {"ns3::RdmaSwitch::Alpha": "x"}}\n')
with open(folder("scheduler.json"), "w") as file:
    file.write('{"ns3": {"SchedulerType": "x"}}\n')
with open(folder("flow.txt"), "w") as file:
    file.write("2\n0 1 3 100 1000 0\n0 99 3 100 1000 0\n")
# 2^24 - 2 numbers for two ends of each pair of 2,000 NICs: 4,194 flows from one to another.
for name, flows in (("many.csv", 4195), ("fewer.csv", 4194)):
    with open(folder(name), "w") as file:
        file.write("start_ns,src,dst,bytes\n" + "0,0,1,1000\n" * flows)
with open(folder("none.csv"), "w") as file:
    file.write("start_ns,src,dst,bytes\n\n")
MANY = ["--topology=single-switch", "--hosts=2000", "--dry-run"]

CASES = [
    (MANY + ["--flows=" + folder("many.csv")], "allowed: per-pair"),
    (["--flows=" + folder("none.csv")], "there are no flows"),
    (["--ns3::RdmaSwitch::LoadBalancer=adaptiv"], "did you mean adaptive"),
    (["--mtu=1000"], "4096"),
    (["--pattern=incats"], "incast"),
    (["--bytes=40MX"], "--bytes"),
    (["--k=3"], "--k"),
    (["--cc=dcqnc"], "dcqcn"),
    (["--offset=0"], "--offset"),
    (["--frobnicate=1"], "frobnicate"),
    (["--topology=single-switch", "--hosts=4", "--pattern=incast", "--fan-in=4"], "fan-in"),
    (["--topology=single-switch", "--hosts=16", "--flows=" + folder("flow.txt")], "99"),
    (["--flows=" + folder("nowhere.txt")], "nowhere.txt"),
    (["--scenario=" + folder("bad.json")], ":3"),
    (["--scenario=" + folder("ns3.json")], "Pfc"),
    (["--ns3::RdmaNic::Mtuu=1024"], "did you mean Mtu"),
    (["--ns3::RdmaNicc::Mtu=1024"], "did you mean ns3::RdmaNic"),
    (["--ns3::RdmaNic::Mtu=1000"], "4096"),
    (["--ns3::RdmaNic::Mtu=9999"], "9000"),
    (["--ns3::RdmaSwitch::PipelineLatency=soon"], "soon"),
    (["--ns3::DcqcnCongestionOps::Preset=best"], "hpcc19-vendor"),
    # What a congestion control refuses of its attributes taken together, and what would not fit a
    # frame.
    (["--ack-bytes=1020"], "--ack-bytes"),
    (["--cc=hpcc", "--cc-preset=hpcc-code"], "--window"),
    (["--fabric=ib", "--cc=hpcc", "--cc-preset=hpcc-code"], "--window"),
    (["--cc=hpcc", "--ns3::HpccCongestionOps::Preset=hpcc-code"], "--cc-preset=hpcc-code"),
    (["--cc=hpcc", "--cc-preset=hpcc-code", "--compat=hpcc", "--window=0"], "--window"),
    (["--cc=timely", "--ns3::TimelyCongestionOps::TLow=1s"], "TimelyCongestionOps::TLow"),
    (["--cc=timely", "--ns3::TimelyCongestionOps::THigh=10us"], "TimelyCongestionOps::TLow"),
    (
        ["--cc=timely", "--cc-preset=conext16", "--ns3::TimelyCongestionOps::TLow=0"],
        "TimelyCongestionOps::RttReference",
    ),
    (["--cc=timely", "--ns3::TimelyCongestionOps::TLow=1h"], "TimelyCongestionOps::TLow"),
    (["--ns3::DcqcnCongestionOps::IncreaseTimer=1ps"], "DcqcnCongestionOps::IncreaseTimer"),
    (["--ns3::DcqcnCongestionOps::ByteCounter=1"], "DcqcnCongestionOps::ByteCounter"),
    (
        ["--ns3::DcqcnCongestionOps::RateDecreaseInterval=9000000s"],
        "DcqcnCongestionOps::RateDecreaseInterval",
    ),
    (
        ["--cc=dctcp", "--ns3::DctcpCongestionOps::InitialWindow=18446744073709551615"],
        "DctcpCongestionOps::InitialWindow",
    ),
    (["--cc=dctcp", "--ns3::DctcpCongestionOps::G=0"], "DctcpCongestionOps::G"),
    (["--cc=swift", "--ns3::SwiftCongestionOps::MaxCwnd=0.0001"], "SwiftCongestionOps::MaxCwnd"),
    (["--cc=swift", "--ns3::SwiftCongestionOps::MaxCwnd=1e300"], "SwiftCongestionOps::MaxCwnd"),
    (["--cc=swift", "--ns3::SwiftCongestionOps::FsRange=-5s"], "SwiftCongestionOps::FsRange"),
    (["--cc=powertcp", "--ns3::PowertcpCongestionOps::Flows=0"], "PowertcpCongestionOps::Flows"),
    (
        ["--cc=ib-cc", "--ns3::IbCongestionOps::CctiMin=9", "--ns3::IbCongestionOps::CctiLimit=8"],
        "IbCongestionOps::CctiMin",
    ),
    (["--ns3::RdmaSwitch::EcnKmin=5000000"], "RdmaSwitch::EcnKmin"),
    (["--ns3::RdmaSwitch::EcnKmax=1000"], "RdmaSwitch::EcnKmin"),
    (["--cc=dctcp", "--ecn-kmin=500kB"], "--ecn-kmin"),
    (["--trace-qps=server-99"], "server-99"),
    (["--trace-qps=server-0->swerver-1"], "server-1"),
    # What ns-3 itself would answer with abort().
    (["--ns3::RdmaSwitch::EcnMarkOnEnqueue=maybe"], "'maybe' is not valid"),
    (["--ns3::RdmaSwitch::BufferPolicy=statc"], "allowed: dynamic, static, abm"),
    (["--ns3::RdmaNic::PcieBandwidth=1e9bps"], "'1e9bps' is not valid"),
    (
        ["--ns3::RdmaSwitch::Alpha=x"],
        "RdmaSwitch::Alpha: 'x' is not valid; allowed: a number, 0.0001 to 64 (",
    ),
    (["--ns3::RdmaSwitch::Alpha=0.5x"], "'0.5x' is not valid"),
    (["--ns3::RdmaSwitch::Alpha="], "'' is not valid"),
    (["--ns3::RdmaSwitch::Alpha=nan"], "'nan' is not valid"),
    (["--ns3::RdmaSwitch::Alpha=1e999"], "'1e999' is not valid"),
    (["--ns3::RdmaSwitch::Pfc=maybe"], "'maybe' is not valid; allowed: true, false ("),
    (["--ns3::RdmaSwitch::PipelineLatency=1y"], "'1y' is not valid"),
    (["--ns3::RdmaSwitch::PipelineLatency=1e5e"], "'1e5e' is not valid"),
    (["--ns3::RdmaNic::Mtu=abc"], "'abc' is not valid; allowed: a whole number, 16 to 9000 ("),
    (["--ns3::RdmaNic::ServiceLevels=16:1"], "0 to 15 before the colon"),
    (["--ns3::RdmaNic::Dscps=abc"], "0 to 63 behind it"),
    (["--ns3::RdmaNic::AckEvery=1.5"], "'1.5' is not valid"),
    (["--ns3::RdmaNic::AckEvery=-1"], "'-1' is not valid"),
    (["--ns3::RdmaNic::AckEvery=99999999999999999999999"], "is not valid"),
    (["--ns3::RdmaChannel::BitErrorRate=x"], "'x' is not valid"),
    (
        ["--ns3::SchedulerType=ns3::RdmaNic"],
        "ns3::RdmaNic' is not valid; allowed: ns3::ListScheduler, ns3::MapScheduler, ",
    ),
    (
        ["--ns3::SimulatorImplementationType=x"],
        "'x' is not valid; allowed: ns3::DefaultSimulatorImpl, ",
    ),
    (
        ["--ns3::SimulatorImplementationType=ns3::DefaultSimulatorImp"],
        "; did you mean ns3::DefaultSimulatorImpl?",
    ),
    (
        ["--ns3::SimulatorImplementationType=ns3::NullMessageSimulatorImpl"],
        "cannot run these networks; allowed: ns3::DefaultSimulatorImpl",
    ),
    (
        ["--ns3::SimulatorImplementationType=ns3::DistributedSimulatorImpl"],
        "cannot run these networks; allowed: ns3::DefaultSimulatorImpl",
    ),
    (["--ns3::RdmaNic::LossRecovery=go-back"], "; did you mean go-back-n?"),
    (["--ns3::RdmaNic::PcieBandwidth=x"], "allowed: a rate such as 100Gbps ("),
    (["--ns3::RdmaSwitch::PipelineLatency=x"], "allowed: a time such as 500ns, 0s to 1s ("),
    (
        ["--ns3::RdmaNic::RtoLow=0ns"],
        "'0ns' is not valid; allowed: a time such as 500ns, 1ns to 1000s (",
    ),
    (["--scenario=" + folder("alpha.json")], "RdmaSwitch::Alpha"),
    (["--scenario=" + folder("scheduler.json")], "SchedulerType"),
    (["--ns3::RngRun=5"], "--seed=5"),
    (["--ns3::RdmaNic::Mtu"], "needs a value"),
    (["--ns3::RdmaSwitch::BufferPer100G=100"], "buffer"),
    (["--PrintAttributes=ns3::Nothing"], "ns3::Nothing"),
    (["--PrintAttributes=RdmaNicc"], "did you mean ns3::RdmaNic?"),
    # A name that is near by its words, and one of another class.
    (["--ns3::DcqcnCongestionOps::MinRate=1Gbps"], "did you mean MinimumRate?"),
    (["--ns3::RdmaNic::Bandwidth=1Gbps"], "did you mean PcieBandwidth?"),
    (["--ns3::RdmaSwitch::PauseResponse=1us"], "did you mean --ns3::RdmaPort::PauseResponse=1us?"),
    # What the user did not type is not named: neither a C++ name nor an attribute that an option
    # sets.
    (
        ["--pfc-watchdog=1ps"],
        "--pfc-watchdog=1ps: is too short for a watchdog; allowed: 0 (none), or at least 100ns",
    ),
    (
        [
            "--fabric=ib",
            "--vl-buffer=32768",
            "--ns3::RdmaNic::PcieBandwidth=1Mbps",
            "--ns3::RdmaNic::PcieReceiveBuffer=5000",
        ],
        (
            "PcieReceiveBuffer: 5000 B, but an InfiniBand NIC holds what its bus has not taken in"
            " the buffers of its VLs; allowed: 0, and --vl-buffer, now 32768 B"
        ),
    ),
    # 65,535 x 65,535 links of leaves and spines, and one of each of 16 servers a leaf.
    (
        ["--topology=leaf-spine", "--hosts=64", "--leaves=65535", "--spines=65535"],
        "--spines=65535: with --leaves=65535: ",
    ),
    (
        ["--topology=leaf-spine", "--hosts=64", "--leaves=65000", "--spines=65000"],
        (
            "--leaves=65000: with --spines=65000: 65000 leaves and 65000 spines have 130064 nodes"
            " and 4225000064 links"
        ),
    ),
    (["--pcap=nobody"], "nobody"),
]
for arguments, expected in CASES:
    small = (
        []
        if any(a.startswith(("--topology", "--k", "--scenario", "--flows")) for a in arguments)
        else ["--k=4"]
    )
    result = run(*arguments, *small, status=2)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    check(1 <= len(lines) <= 2, "%s: not one error:\n%s" % (arguments, result.stderr))
    check(
        expected in result.stderr,
        "%s: the error does not say %s:\n%s" % (arguments, expected, result.stderr),
    )
    check(
        not os.path.exists(os.path.join(folder("out"), "stats.json")),
        "%s: results of bad input" % arguments,
    )
    if any("Congestion" in a or "Ecn" in a or a.startswith("--cc") for a in arguments):
        check(
            expected in run(*arguments, *small, "--dry-run", status=2).stderr,
            "%s: not in a dry run" % arguments,
        )

result = run("--k=4", "--out=" + folder("file/below"), out=None, status=2)
check(
    "file/below" in result.stderr and "cannot be written" in result.stderr,
    "output folder:\n" + result.stderr,
)
# What is right is taken, whatever kind of value it is: every kind that an attribute of ours has.
for setting in (
    "RdmaSwitch::EcnMarkOnEnqueue=true",
    "RdmaSwitch::EcnMarkOnEnqueue=0",
    "RdmaSwitch::BufferPolicy=static",
    "RdmaSwitch::Alpha=0.5",
    "RdmaNic::Mtu=1024",
    "RdmaSwitch::PipelineLatency=0.3us",
    "RdmaNic::LossRecovery=selective-repeat",
    "RdmaNic::PcieBandwidth=90Gbps",
    "RdmaNic::PcieBandwidth=0",
):
    run("--k=4", "--bytes=10kB", "--ns3::" + setting, out="taken")
# A dry run refuses the same, and writes nothing.
run("--k=4", "--dry-run", "--ns3::RdmaNic::Mtuu=1", status=2, out="dry")
result = run("--k=4", "--dry-run", out="dry")
check(
    "frame-hops" in result.stdout and not os.path.exists(folder("dry")),
    "--dry-run:\n" + result.stdout,
)
# Names of classes are taken without ns3:: too.
check(
    "--ns3::RdmaNic::Mtu=" in run("--PrintAttributes=RdmaNic", out=None).stdout,
    "--PrintAttributes=RdmaNic",
)
# NS_LOG is checked before ns-3 sees it, also in a dry run.
for value, expected in (
    ("Nope=level_all", "there is no log component 'Nope'"),
    ("RdmaPortt", "did you mean 'RdmaPort'?"),
    ("RdmaPort=level_inf", "did you mean 'level_info'?"),
    ("RdmaPort=level_info:", "there is no log component ''"),
    ("***=all", "there is no log component '***'"),
):
    os.environ["NS_LOG"] = value
    for more in ([], ["--dry-run"]):
        result = run("--k=4", *more, status=2, out="logged")
        check(
            len(result.stderr.splitlines()) == 1
            and result.stdout == ""
            and expected in result.stderr,
            value + ":\n" + str(result),
        )
        check("traffic: error: environment: NS_LOG" in result.stderr, result.stderr)
        check(not os.path.exists(folder("logged")), value + ": a folder is left")
for value in ("RdmaPort=level_error|prefix_time:RdmaQueuePair=error", "*=error", ""):
    os.environ["NS_LOG"] = value
    run("--k=4", "--bytes=1kB", out="logged")
del os.environ["NS_LOG"]
# Words of --trace-qps and --pcap-flow that are names of hosts too.
with open(folder("words.json"), "w") as file:
    hosts = ("all", "pfc", "credits")
    json.dump(
        {
            "defaults": {"rate": "100Gbps", "delay": "1us"},
            "nodes": [{"name": name, "kind": "host"} for name in hosts]
            + [{"name": "s", "kind": "switch"}],
            "links": [{"from": name, "to": "s"} for name in hosts],
        },
        file,
    )
words = ["--topology=" + folder("words.json"), "--bytes=1kB", "--no-report"]
result = run(*words, "--trace-qps=all", status=2, out="words")
check(
    "--trace-qps=all: means every queue pair, and this network has a node of that name"
    in result.stderr,
    result.stderr,
)
for pattern in ("*->*", "all->*", "pfc"):
    run(*words, "--trace-qps=" + pattern, out="words")
for flow in ("pfc", "pfc->all", "credits->pfc", "pfc,all->credits"):
    run(*words, "--pcap=all:0", "--pcap-flow=" + flow, out="words")
run(*words, "--pcap=all:0", "--pcap-flow=credits", status=2, out="words")
run(*MANY, "--flows=" + folder("fewer.csv"), out="many")
done()
