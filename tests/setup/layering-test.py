# Who may include whom: the arrows between folders point one way, and no files and no folders
# include each other in a circle. Before the tree is judged, small trees with faults are, so that
# this test is known to find them.
import collections
import os
import re
import sys
import tempfile

# folder: (folders of ours that it may include besides itself, what it may include from elsewhere)
PURE = ["contrib/rdma/core"]
ARROWS = {
    "contrib/rdma/core": ([], ["boost/"]),
    "topologies": (PURE, ["boost/", "nlohmann/"]),
    "collectives": ([*PURE, "topologies"], ["boost/", "nlohmann/"]),
    "scenarios": (
        [*PURE, "topologies", "collectives"],
        ["boost/", "nlohmann/", "google/protobuf/"],
    ),
    "reports": ([*PURE, "topologies", "collectives", "scenarios"], ["boost/", "nlohmann/"]),
    # Useful alone: no more than ns-3 and Boost, nothing above it. Its engine knows no port.
    "contrib/rdma/engine": (PURE, ["boost/", "ns3/"]),
    "contrib/rdma": ([*PURE, "contrib/rdma/engine"], ["boost/", "ns3/"]),
    "contrib/ordinary": ([*PURE, "contrib/rdma/engine", "contrib/rdma"], ["boost/", "ns3/"]),
    "contrib/dltrain": (
        [
            *PURE,
            "topologies",
            "collectives",
            "scenarios",
            "reports",
            "contrib/rdma/engine",
            "contrib/rdma",
        ],
        ["boost/", "nlohmann/", "ns3/"],
    ),
}
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
            ["folders in a circle: scenarios/options -> scenarios/traffic -> scenarios/options"],
        ),
        # Arrows.
        (
            {
                "topologies/ring.h": '#include "scenarios/options/d.h"\n',
                "scenarios/options/d.h": "",
                "scenarios/options/a.h": "",
            },
            ["topologies/ring.h: topologies/ must not include scenarios/: scenarios/options/d.h"],
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
