# Who may include whom: the arrows between folders point one way, and no files and no folders
# include each other in a circle. Before the tree is judged, small trees with faults are, so that
# this test is known to find them.
import collections
import os
import re
import sys
import tempfile

# The rooms of scenarios/, and which others each may include. A new arrow is written here on
# purpose, or does not land. The machinery of options knows no feature: all of them stand on it.
ROOMS = {
    "asked": "options",
    "collective": "asked formats formats/nccl job network options",
    "compared": "models training/spec",
    "dry-run": (
        "collective inference job launch network operator-search/options options placement "
        "training training/graphs training/options training/steps workload"
    ),
    "formats": "asked options training/steps",
    "formats/capture": "asked formats models options training/spec training/steps",
    "formats/chakra": "formats training/steps",
    "formats/goal": "asked formats options traffic training/steps",
    "formats/kineto": "asked formats options",
    "formats/nccl": "formats",
    "formats/recorded": "formats training/steps",
    "formats/requests": "asked formats inference options traffic",
    "formats/trace": (
        "asked formats formats/capture formats/chakra formats/goal formats/kineto "
        "formats/recorded options traffic training/steps"
    ),
    "goodput": "traffic",
    "goodput/options": "asked goodput job layout-search/options network options",
    "inference": "models traffic training training/spec",
    "inference/dry-run": (
        "dry-run inference inference/options inference/stages job options training"
    ),
    "inference/engine-presets": "inference models",
    "inference/options": (
        "asked collective formats formats/requests inference job models multiplex "
        "multiplex/options network options training training/options"
    ),
    "inference/routers": "inference",
    "inference/schedulers": "inference",
    "inference/stages": "collective inference job training",
    "job": (
        "asked formats/capture formats/trace inference models options training/spec "
        "training/steps"
    ),
    "installation": "",
    "launch": "asked installation job options",
    "layout-search": (
        "asked collective job layout-search/options network options startup training "
        "training/checks training/graphs training/options training/pipeline "
        "training/spec training/steps"
    ),
    "layout-search/options": "asked job network options training/pipeline",
    "memory": (
        "asked formats job network options training/graphs training/spec training/steps"
    ),
    "models": "options",
    "multiplex": "formats models options traffic training training/spec",
    "multiplex/options": "asked job multiplex network options",
    "multiplex/policies": "multiplex",
    "network": (
        "asked job launch models options placement traffic training training/spec "
        "training/steps workload"
    ),
    "operator-search": "models training training/pipeline training/spec training/steps",
    "operator-search/options": (
        "asked collective job operator-search options training/checks training/steps"
    ),
    "options": "installation",
    "placement": "job options traffic",
    "startup": (
        "asked dry-run inference/dry-run inference/options installation job launch network "
        "training/options"
    ),
    "traffic": "asked options",
    "traffic/options": "asked dry-run job launch network traffic",
    "training": "asked models options training/pipeline training/spec training/steps",
    "training/checks": "asked options training training/spec",
    "training/graphs": "training training/spec training/steps",
    "training/options": (
        "asked collective formats/capture formats/chakra formats/goal formats/trace job "
        "launch memory models network operator-search/options options placement traffic "
        "training training/checks training/graphs training/pipeline training/spec "
        "training/steps workload"
    ),
    "training/pipeline": "asked options",
    "training/spec": "asked models options traffic training/pipeline training/steps",
    "training/steps": "traffic",
    "workload": "training/graphs training/steps",
}
SCENARIOS = ["scenarios/" + room for room in ROOMS]

# folder: (folders of ours that it may include besides itself, what it may include from elsewhere)
PURE = ["contrib/rdma/core"]
ARROWS = {
    "contrib/rdma/core": ([], ["boost/"]),
    "topologies": (PURE, ["boost/", "nlohmann/"]),
    "collectives": ([*PURE, "topologies"], ["boost/", "nlohmann/"]),
    "reports": ([*PURE, "topologies", "collectives", *SCENARIOS], ["boost/", "nlohmann/"]),
    # Useful alone: no more than ns-3 and Boost, nothing above it. Its engine knows no port.
    "contrib/rdma/engine": (PURE, ["boost/", "ns3/"]),
    "contrib/rdma": ([*PURE, "contrib/rdma/engine"], ["boost/", "ns3/"]),
    "contrib/ordinary": ([*PURE, "contrib/rdma/engine", "contrib/rdma"], ["boost/", "ns3/"]),
    "contrib/dltrain": (
        [
            *PURE,
            "topologies",
            "collectives",
            *SCENARIOS,
            "reports",
            "contrib/rdma/engine",
            "contrib/rdma",
        ],
        ["boost/", "nlohmann/", "ns3/"],
    ),
}
for room, others in ROOMS.items():
    below = [] if room == "options" else ["collectives"]
    ARROWS["scenarios/" + room] = (
        [*PURE, "topologies", *below, *("scenarios/" + other for other in others.split())],
        ["boost/", "nlohmann/", "google/protobuf/"],
    )
# Compiled by whoever simulates with ns-3's module mpi; the module rdma does without.
ARROWS["contrib/rdma/mpi"] = ARROWS["contrib/ordinary"]
# Loaded when a run asks for it: nobody else includes TCP, UDP or MPI.
ARROWS["contrib/dltrain/parts"] = (
    [*ARROWS["contrib/dltrain"][0], "contrib/dltrain", "contrib/ordinary", "contrib/rdma/mpi"],
    ["boost/", "nlohmann/", "ns3/", "mpi.h"],
)
ARROWS["scratch"] = (list(ARROWS), ["boost/", "nlohmann/", "ns3/"])
ARROWS["tests"] = (
    list(ARROWS),
    ["boost/", "nlohmann/", "ns3/", "gtest/", "gmock/", "benchmark/", "mpi.h"],
)

# Headers of ns-3's modules mpi and internet (3.37): who includes one has to link the module.
OPTIONAL = re.compile(
    r"ns3/(mpi-|parallel-communication-|distributed-simulator-|null-message-|granted-time-|"
    r"remote-channel-|internet-|tcp-|udp-|arp-|icmpv|global-rout|loopback-|ndisc-|rip|"
    r"ip-l4-protocol|ipv[46]-(?!address\.h))"
)
WITH_OPTIONAL = {
    "contrib/rdma/mpi",
    "contrib/ordinary",
    "contrib/dltrain/parts",
    "scratch",
    "tests",
}

# Headers of the language and of the system: with no folder, or in one of these.
SYSTEM = re.compile(r"[a-z0-9_.]+|(sys|netinet|arpa|linux)/[a-z0-9_.]+")
NOT_SYSTEM = {"mpi.h"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.MULTILINE)


# Values, errors and decisions of an option are asked for by its member (scenarios/asked). The
# machinery itself knows rows by their names.
NAMED = re.compile(
    r"(?:\bvalues(?:\.|->)\w+|\bm?_?v(?:\.|->)(?:Fail|FailFile|Decide\w*|Settle))"
    r'\(\s*"([a-z0-9-]+)"'
)
NAMES_OPTIONS = ("scenarios/", "reports/", "contrib/dltrain/", "scratch/")


def home(path):
    """The folder of ARROWS that a file is in, the deepest."""
    return max((folder for folder in ARROWS if path.startswith(folder + "/")), key=len)


def sources(root):
    for top in ARROWS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith((".h", ".cc")):
                    yield path


class Tree:
    def __init__(self, root):
        self.findings = []
        self.includes = {}  # file: files of ours that it includes
        modules = {}  # name after "ns3/": file
        texts = {}
        for path in sorted(set(sources(root))):
            name = os.path.basename(path)
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
            if (
                path.startswith("contrib/")
                and name.endswith(".h")
                and home(path) != "contrib/rdma/core"
            ):
                if name in modules:
                    self.findings.append(f"{path}: ns-3 puts it in one folder with {modules[name]}")
                modules[name] = path
        for path, text in texts.items():
            self.includes[path] = set()
            for quote, name in INCLUDE.findall(text):
                near = os.path.normpath(os.path.join(os.path.dirname(path), name))
                ours = next((one for one in (near, name) if one in texts), None)
                if not ours and name.startswith("ns3/"):
                    ours = modules.get(name[len("ns3/") :])
                if ours:
                    self.includes[path].add(ours)
                    self.judge(path, ours)
                else:
                    self.judge_foreign(path, quote, name)
        for what, graph in (("files", self.includes), ("folders", self.folders())):
            self.findings += [
                f"{what} in a circle: {' -> '.join(circle)}" for circle in circles(graph)
            ]
        for path, text in texts.items():
            if path.startswith(NAMES_OPTIONS) and home(path) != "scenarios/options":
                self.findings += [
                    f"{path}: names --{name} by its text; allowed: its member"
                    for name in NAMED.findall(text)
                ]
            # A header reached over several paths (a link, a copy) must be recognised: that is what
            # guards are for.
            if path.startswith("contrib/rdma/") and re.search("^#pragma once", text, re.MULTILINE):
                self.findings.append(f"{path}: include guards, not #pragma once")

    def judge(self, path, ours):
        here, there = home(path), home(ours)
        if there != here and there not in ARROWS[here][0]:
            self.findings.append(f"{path}: {here}/ must not include {there}/: {ours}")

    def judge_foreign(self, path, quote, name):
        allowed = name.startswith(tuple(ARROWS[home(path)][1]))
        if allowed and (home(path) in WITH_OPTIONAL or not OPTIONAL.match(name)):
            return
        if allowed or quote == '"' or not SYSTEM.fullmatch(name) or name in NOT_SYSTEM:
            self.findings.append(f"{path}: {home(path)}/ must not include {name}")

    def folders(self):
        graph = collections.defaultdict(set)
        for path, included in self.includes.items():
            here = os.path.dirname(path)
            graph[here] |= {os.path.dirname(other) for other in included} - {here}
        return graph


def circles(graph):
    """A circle of each set of nodes that all reach each other, by its first name, the shortest one
    through it.
    """
    found = []
    done = set()
    for start in sorted(graph):
        before = {start: None}
        queue = collections.deque([start])
        while queue and start not in done:
            node = queue.popleft()
            if start in graph.get(node, ()):
                circle = []
                while node is not None:
                    circle.append(node)
                    node = before[node]
                found.append([*reversed(circle), start])
                done |= set(circle)
                break
            for other in sorted(graph.get(node, ())):
                if other not in before:
                    before[other] = node
                    queue.append(other)
    return found


def check_the_check():
    sound = {
        "contrib/rdma/core/units.h": "#include <cstdint>\n",
        "contrib/rdma/engine/windows.h": '#include "ns3/object.h"\n',
        "contrib/rdma/link/rdma-port.h": '#include "ns3/windows.h"\n',
        "contrib/rdma/link/rdma-port.cc": (
            '#include "rdma-port.h"\n#include "contrib/rdma/core/units.h"\n'
        ),
        "topologies/ring.h": "#include <nlohmann/json.hpp>\n#include <sys/stat.h>\n",
        "scenarios/options/a.h": '#include "topologies/ring.h"\n',
        "scenarios/traffic/b.h": '#include "scenarios/options/a.h"\n',
        "contrib/dltrain/runners/bridge.h": '#include "ns3/rdma-port.h"\n',
        "contrib/dltrain/parts/mpi/link.cc": (
            '#include "contrib/dltrain/runners/bridge.h"\n#include <mpi.h>\n'
        ),
    }
    core, ns3 = "contrib/rdma/core/units.h", '#include "ns3/object.h"\n'
    cases = [
        ({}, []),
        # Circles of files, by each way to name a file.
        (
            {"topologies/ring.h": '#include "ring.h"\n'},
            ["files in a circle: topologies/ring.h -> topologies/ring.h"],
        ),
        (
            {
                "topologies/ring.h": '#include "tree.h"\n',
                "topologies/tree.h": '#include "topologies/ring.h"\n',
            },
            ["files in a circle: topologies/ring.h -> topologies/tree.h -> topologies/ring.h"],
        ),
        (
            {
                "contrib/rdma/link/rdma-port.h": '#include "rdma-link.h"\n',
                "contrib/rdma/link/rdma-link.h": '#include "rdma-frame.h"\n',
                "contrib/rdma/link/rdma-frame.h": '#  include "ns3/rdma-port.h"\n',
            },
            [
                "files in a circle: contrib/rdma/link/rdma-frame.h ->"
                " contrib/rdma/link/rdma-port.h -> contrib/rdma/link/rdma-link.h ->"
                " contrib/rdma/link/rdma-frame.h"
            ],
        ),
        # Of folders, with no circle of files; a source file counts as well.
        (
            {"scenarios/options/c.cc": '#include "scenarios/traffic/b.h"\n'},
            [
                (
                    "scenarios/options/c.cc: scenarios/options/ must not include"
                    " scenarios/traffic/: scenarios/traffic/b.h"
                ),
                "folders in a circle: scenarios/options -> scenarios/traffic -> scenarios/options",
            ],
        ),
        # Arrows.
        (
            {
                "topologies/ring.h": '#include "scenarios/options/d.h"\n',
                "scenarios/options/d.h": "",
                "scenarios/options/a.h": "",
            },
            [
                "topologies/ring.h: topologies/ must not include scenarios/options/:"
                " scenarios/options/d.h"
            ],
        ),
        # A room that is not in the list of another; an option that is named by its text.
        (
            {"scenarios/models/m.h": '#include "scenarios/traffic/b.h"\n'},
            [
                (
                    "scenarios/models/m.h: scenarios/models/ must not include scenarios/traffic/:"
                    " scenarios/traffic/b.h"
                )
            ],
        ),
        (
            {"scenarios/traffic/c.cc": 'return v->values.Given(\n    "zero");\n'},
            ["scenarios/traffic/c.cc: names --zero by its text; allowed: its member"],
        ),
        (
            {"reports/log.cc": 'v.Fail("seed", "is wrong");\n'},
            ["reports/log.cc: names --seed by its text; allowed: its member"],
        ),
        ({core: ns3}, [f"{core}: contrib/rdma/core/ must not include ns3/object.h"]),
        (
            {"topologies/ring.h": ns3},
            ["topologies/ring.h: topologies/ must not include ns3/object.h"],
        ),
        (
            {"topologies/ring.h": '#include "ns3/rdma-port.h"\n'},
            [
                "topologies/ring.h: topologies/ must not include contrib/rdma/:"
                " contrib/rdma/link/rdma-port.h"
            ],
        ),
        (
            {"contrib/rdma/engine/windows.cc": '#include "ns3/rdma-port.h"\n'},
            [
                (
                    "contrib/rdma/engine/windows.cc: contrib/rdma/engine/ must not include"
                    " contrib/rdma/: contrib/rdma/link/rdma-port.h"
                ),
                (
                    "folders in a circle: contrib/rdma/engine -> contrib/rdma/link ->"
                    " contrib/rdma/engine"
                ),
            ],
        ),
        (
            {"contrib/rdma/link/rdma-port.h": "#include <nlohmann/json.hpp>\n"},
            ["contrib/rdma/link/rdma-port.h: contrib/rdma/ must not include nlohmann/json.hpp"],
        ),
        (
            {
                "contrib/rdma/link/rdma-port.h": '#include "ns3/dltrain-module.h"\n',
                "contrib/dltrain/runners/dltrain-module.h": "",
            },
            [
                (
                    "contrib/rdma/link/rdma-port.h: contrib/rdma/ must not include"
                    " contrib/dltrain/: contrib/dltrain/runners/dltrain-module.h"
                ),
                (
                    "folders in a circle: contrib/dltrain/runners -> contrib/rdma/link ->"
                    " contrib/dltrain/runners"
                ),
            ],
        ),
        (
            {"reports/log.h": "#include <mpi.h>\n"},
            ["reports/log.h: reports/ must not include mpi.h"],
        ),
        # What is loaded when a run asks for it.
        (
            {
                "contrib/dltrain/runners/bridge.h": '#include "contrib/dltrain/parts/tcp/tcp.h"\n',
                "contrib/dltrain/parts/tcp/tcp.h": "",
            },
            [
                "contrib/dltrain/runners/bridge.h: contrib/dltrain/ must not include"
                " contrib/dltrain/parts/: contrib/dltrain/parts/tcp/tcp.h"
            ],
        ),
        (
            {
                "contrib/dltrain/runners/bridge.cc": '#include "ns3/stack.h"\n#include <mpi.h>\n',
                "contrib/ordinary/helper/stack.h": '#include "ns3/tcp-header.h"\n',
            },
            [
                "contrib/dltrain/runners/bridge.cc: contrib/dltrain/ must not include"
                " contrib/ordinary/: contrib/ordinary/helper/stack.h",
                "contrib/dltrain/runners/bridge.cc: contrib/dltrain/ must not include mpi.h",
            ],
        ),
        (
            {
                "contrib/dltrain/runners/bridge.cc": (
                    '#include "ns3/tcp-header.h"\n#include "ns3/ipv4-address.h"\n'
                ),
                "contrib/rdma/link/rdma-port.cc": '#include "ns3/mpi-interface.h"\n',
                "contrib/rdma/mpi/rdma-mpi.cc": '#include "ns3/mpi-interface.h"\n',
            },
            [
                "contrib/dltrain/runners/bridge.cc: contrib/dltrain/ must not include"
                " ns3/tcp-header.h",
                "contrib/rdma/link/rdma-port.cc: contrib/rdma/ must not include"
                " ns3/mpi-interface.h",
            ],
        ),
        (
            {
                "contrib/rdma/link/rdma-port.cc": '#include "../mpi/rdma-mpi.h"\n',
                "contrib/rdma/mpi/rdma-mpi.h": "",
            },
            [
                "contrib/rdma/link/rdma-port.cc: contrib/rdma/ must not include"
                " contrib/rdma/mpi/: contrib/rdma/mpi/rdma-mpi.h"
            ],
        ),
        (
            {"reports/log.h": '#include "missing.h"\n'},
            ["reports/log.h: reports/ must not include missing.h"],
        ),
        ({core: "#pragma once\n"}, [f"{core}: include guards, not #pragma once"]),
        (
            {"contrib/dltrain/runners/rdma-port.h": ""},
            [
                "contrib/rdma/link/rdma-port.h: ns-3 puts it in one folder with"
                " contrib/dltrain/runners/rdma-port.h"
            ],
        ),
    ]
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**sound, **files}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            findings = Tree(root).findings
        if findings != expected:
            sys.exit(f"FAILED: planted {files}\n  expected {expected}\n  found    {findings}")


check_the_check()
tree = Tree(os.environ.get("DLTRAIN_ROOT") or os.path.join(os.path.dirname(__file__), "..", ".."))
if len(tree.includes) < 300:
    sys.exit(f"FAILED: only {len(tree.includes)} files found")
for finding in tree.findings:
    print("FAILED: " + finding)
print(f"{len(tree.findings)} failed, {len(tree.includes)} files")
sys.exit(1 if tree.findings else 0)
