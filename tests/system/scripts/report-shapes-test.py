#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""report.html of networks of every shape, in windows of every width: lines end in boxes, pods are
pods, labels can be read, tables fit.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _report import need_browser, report, start_browser, unfold
from _serving import write_serving_results
from _system_test import Run, SystemTest, main

# Ends of links that lie in no box of a node, by more than 1.5 px.
ENDS = """
const boxes = [...document.querySelectorAll("#network .node rect")].map((r) => r.getBoundingClientRect());
const inside = (p) => boxes.some((b) => p.x > b.left - 1.5 && p.x < b.right + 1.5 && p.y > b.top - 1.5 && p.y < b.bottom + 1.5);
const origin = document.getElementById("network").getBoundingClientRect();
return [...document.querySelectorAll("#network .link")].filter((path) => ![0, path.getTotalLength()].every((at) => {
  const p = path.getPointAtLength(at); return inside({ x: p.x + origin.left, y: p.y + origin.top }); })).map((path) => path.getAttribute("d"));
"""
# What leaves the frame of the network's picture, and boxes that cover one another.
FRAME = """
const frame = document.getElementById("network").getBoundingClientRect(), found = [];
const outside = (r) => r.left < frame.left - 0.5 || r.right > frame.right + 0.5 || r.top < frame.top - 0.5 || r.bottom > frame.bottom + 0.5;
for (const part of document.querySelectorAll("#network rect, #network .link, #network text, #network circle")) if (outside(part.getBoundingClientRect())) found.push(part.outerHTML);
const nodes = [...document.querySelectorAll("#network .node")].map((n) => [n.querySelector("title").textContent, n.querySelector("rect").getBoundingClientRect()]);
nodes.forEach(([a, p], i) => nodes.slice(0, i).forEach(([b, q]) => {
  if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 0.5 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 0.5) found.push([a, b]);
}));
return found;
"""
# [name of the pod, names of the nodes in its box]
PODS = """
const nodes = [...document.querySelectorAll("#network .node")].map((n) => [n.querySelector("title").textContent, n.querySelector("rect").getBoundingClientRect()]);
const names = [...document.querySelectorAll("#network .pod-name")].map((t) => [t.textContent, t.getBoundingClientRect()]);
return [...document.querySelectorAll("#network .pod")].map((pod) => { const b = pod.getBoundingClientRect();
  const has = (r) => r.left + r.width / 2 > b.left && r.left + r.width / 2 < b.right && r.top + r.height / 2 > b.top && r.top + r.height / 2 < b.bottom;
  return [names.filter(([, r]) => has(r)).map(([text]) => text).join(), nodes.filter(([, r]) => has(r)).map(([name]) => name)]; });
"""
# [names of pods, those that a link or a node lies upon]
NAMES = """
const names = [...document.querySelectorAll("#network .pod-name")].map((t) => [t.textContent, t.getBoundingClientRect()]), crossed = new Set();
const origin = document.getElementById("network").getBoundingClientRect();
const look = (x, y) => names.forEach(([text, r]) => { if (x > r.left && x < r.right && y > r.top + 2 && y < r.bottom - 2) crossed.add(text); });
for (const path of document.querySelectorAll("#network .link")) {
  const long = path.getTotalLength();
  for (let at = 0; at <= long; at += 3) { const p = path.getPointAtLength(at); look(p.x + origin.left, p.y + origin.top); }
}
for (const node of document.querySelectorAll("#network .node rect")) {
  const b = node.getBoundingClientRect();
  for (let x = b.left; x <= b.right; x += 2) look(x, (b.top + b.bottom) / 2);
}
return [names.map(([text]) => text), [...crossed]];
"""
LABELS = """return [...document.querySelectorAll("#network .node")].map((n) => [n.querySelector("title").textContent, n.querySelector("text") ? n.querySelector("text").textContent : ""]);"""
OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll(".chart svg")) {
  const boxes = [...svg.querySelectorAll("text")].filter((t) => t.textContent && getComputedStyle(t).display !== "none").map((t) => [t.textContent, t.getBoundingClientRect()]);
  for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
    const [a, p] = boxes[i], [b, q] = boxes[j];
    if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 2) found.push([a, b]);
  }
}
return found;
"""
# Cells in which text is squeezed: narrower than 44 px on more than three lines, or beyond what can
# be scrolled to.
CELLS = """
return [...document.querySelectorAll("main td")].filter((td) => { const r = td.getBoundingClientRect();
  if (!r.width || td.textContent.length < 4) return false;
  const text = document.createRange(); text.selectNodeContents(td);
  const { width: w, height: h } = text.getBoundingClientRect(), scroller = td.closest(".wide");
  return h > 60 && w < 44 || w > r.width + 2 || !scroller && r.right > innerWidth; }).map((td) => td.textContent.slice(0, 60));
"""
# [titles of units, "sharp-" and the switch nearest to each, those that are not at the corner of
# one, or have not the end of one line each]
UNITS = """
const units = [...document.querySelectorAll("#network .unit")], nodes = [...document.querySelectorAll("#network .node")], wrong = [];
const origin = document.getElementById("network").getBoundingClientRect();
const ends = [...document.querySelectorAll("#network .link")].map((path) => { const p = path.getPointAtLength(path.getTotalLength()); return [p.x + origin.left, p.y + origin.top]; });
const titles = units.map((u) => u.querySelector("title").textContent), beside = units.map((u) => {
  const c = u.querySelector("circle").getBoundingClientRect(), x = (c.left + c.right) / 2, y = (c.top + c.bottom) / 2;
  if (!ends.some(([ex, ey]) => Math.hypot(ex - x, ey - y) < 5)) wrong.push("no line: " + u.textContent);
  const far = nodes.map((n) => { const r = n.querySelector("rect").getBoundingClientRect(); return [Math.hypot(Math.max(r.left - x, x - r.right, 0), Math.max(r.top - y, y - r.bottom, 0)), n]; });
  const [distance, nearest] = far.reduce((a, b) => (b[0] < a[0] ? b : a));
  if (distance > 16) wrong.push("far from all: " + u.textContent);
  return "sharp-" + nearest.querySelector("title").textContent;
});
return [titles, beside, wrong];
"""
DL = "dltrain --model=gpt2 --warmup=0 --timeline=0 --gpus-per-server=8 "


class OfClass:
    """The browser ends with the last test."""

    @staticmethod
    def addCleanup(function, *arguments, **keywords):
        ShapesTest.addClassCleanup(function, *arguments, **keywords)


class ShapesTest(SystemTest):
    browser = None

    def show(self, run, width=1280, dark=False, folded=False):
        """The page in one browser for all, at this width."""
        if not self.browser:
            ShapesTest.browser = start_browser(OfClass, 1280)
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
        )
        self.browser.get(
            "file://" + os.path.join(run if isinstance(run, str) else run.folder, "report.html")
        )
        self.assertEqual(
            self.browser.execute_script("return document.documentElement.dataset.ready"), "yes"
        )
        if not folded:
            unfold(self.browser)
        self.assertEqual(self.browser.get_log("browser"), [])
        return self.browser

    def run_js(self, script):
        return self.browser.execute_script(script)

    # ---- the network

    def test_lines_end_in_boxes(self):
        for line in (
            DL + "--gpus=64 --servers=8 --nics-per-server=8",
            DL + "--gpus=64 --servers=8 --nics-per-server=8 --topology=leaf-spine",
            DL + "--gpus=24 --servers=3 --nics-per-server=3 --topology=single-switch",
            DL + "--gpus=16 --servers=2 --nics-per-server=2 --fabric=ib --nic=HDR",
            "traffic --topology=fat-tree --k=8 --hosts=128 --pattern=permutation --bytes=20kB",
            "traffic --topology=torus --torus=4x4x2 --pattern=permutation --bytes=20kB --fabric=ib",
            "traffic --topology=torus --torus=5x3 --pattern=permutation --bytes=20kB --fabric=ib",
            "traffic --topology=single-switch --hosts=40 --pattern=incast --fan-in=8 --bytes=20kB",
        ):
            run = self.run_program(line)
            for width in (500, 1400):
                with self.subTest(run=line, width=width):
                    self.show(run, width)
                    self.assertEqual(self.run_js(ENDS), [])
                    self.assertEqual(self.run_js(OVERLAPS), [])
                    self.assertEqual(self.run_js(FRAME), [])
                    self.assertEqual(
                        self.run_js("return document.documentElement.scrollWidth - innerWidth > 0"),
                        False,
                    )

    def test_nothing_leaves_the_frame(self):
        """A leaf that is not full, with as many uplinks as the others, and other odd numbers."""
        flows = "traffic --pattern=permutation --bytes=4kB --timeline=0 "
        for line in (
            *(
                f"--topology=leaf-spine --hosts-per-leaf=16 --hosts={n}"
                for n in (3, 17, 18, 33, 65)
            ),
            "--topology=leaf-spine --hosts-per-leaf=16 --hosts=113 --spines=8",
            "--topology=leaf-spine --hosts-per-leaf=32 --hosts=1000 --spines=8",
            "--topology=leaf-spine --hosts-per-leaf=4 --hosts=9 --planes=2",
            "--topology=fat-tree --k=4 --hosts=5",
            "--topology=dragonfly --hosts=13",
            "--topology=torus --torus=3x3x2 --hosts=7 --fabric=ib",
        ):
            run = self.run_program(flows + line)
            self.assertEqual(report(run.folder).returncode, 0)
            for width in (390, 640, 1280):
                with self.subTest(run=line, width=width):
                    self.show(run, width)
                    self.assertEqual(self.run_js(FRAME), [])
                    self.assertEqual(self.run_js(ENDS), [])

    def test_heading_says_what_was_simulated(self):
        """Servers with ranks of all that there are, and what each has, named or not."""
        two = DL.replace("--gpus-per-server=8", "--gpus-per-server=2 --report=0")
        reduce = {"op": "all_reduce", "bytes": "1MB"}
        jobs = self.write(
            "two.json",
            {
                "jobs": [
                    {"name": "a", "servers": 4, "collective": reduce},
                    {"name": "b", "servers": 3, "collective": reduce},
                ]
            },
        )
        for line, words in (
            (
                two + "--gpus=32 --servers=18 --topology=leaf-spine --hosts-per-leaf=16",
                "16 of 18 servers with ranks, 2 GPUs each (linked as in dgx-a100)",
            ),
            (two + "--gpus=6 --servers=3 --topology=leaf-spine", "\u00b7 3 servers, 2 GPUs each"),
            (DL + "--report=0 --gpus=8 --servers=1", "\u00b7 1 server, 8 GPUs (linked as in"),
            (
                "collperf -b 1M --ranks=4 --gpus-per-server=1 --report=0 --topology=leaf-spine",
                "\u00b7 4 servers, 1 GPU each \u00b7",
            ),
            (
                f"dltrain --jobs={jobs} --topology=fat-tree --k=4 --gpus-per-server=1 --report=0",
                "2 jobs \u00b7 7 of 16 servers with jobs, 1 GPU each",
            ),
            (
                "traffic --topology=single-switch --hosts=9 --pattern=incast --fan-in=8"
                " --bytes=20kB --report=0",
                "traffic \u00b7 9 hosts \u00b7",
            ),
        ):
            with self.subTest(run=line):
                run = self.run_program(line)
                self.assertEqual(report(run.folder).returncode, 0)
                self.show(run)
                self.assertIn(
                    words, self.run_js("return document.getElementById('subtitle').textContent")
                )

    def test_pods_are_by_switches(self):
        """k = 6 with 8 NICs a server: 24 NICs, 9 a pod, so that servers 1 and 2 are in two pods
        each, which makes them no one pod.
        """
        run = self.run_program(
            DL + "--gpus=24 --servers=3 --nics-per-server=8 --topology=fat-tree --k=6"
        )
        self.show(run)
        pods = self.run_js(PODS)
        self.assertEqual([name for name, _ in pods], [f"pod {i}" for i in range(6)])
        # three edge and three aggregation switches each, and no server: they are in several
        for i, (_, nodes) in enumerate(pods):
            self.assertEqual(
                sorted(nodes),
                sorted(f"{tier}-{i}-{j}" for tier in ("edge", "agg") for j in range(3)),
            )
        run = self.run_program(
            "traffic --topology=fat-tree --k=6 --hosts=32 --pattern=permutation --bytes=20kB"
        )
        self.show(run)
        pods = self.run_js(PODS)
        self.assertEqual([name for name, _ in pods], [f"pod {i}" for i in range(6)])
        hosts = [[node for node in nodes if node.startswith("server-")] for _, nodes in pods]
        # (k/2)^2 = 9 a pod, in order
        self.assertEqual([len(names) for names in hosts], [9, 9, 9, 5, 0, 0])

    def test_groups_whose_highest_switches_are_theirs(self):
        """A group of a dragonfly+ is a box: leaves, spines and servers, nine of twelve places."""
        run = self.run_program(
            "traffic --topology=dragonfly-plus --groups=3 --group-leaves=2 --group-spines=2"
            " --hosts-per-leaf=2 --global-links=2 --hosts=9 --pattern=permutation --bytes=20kB"
        )
        self.show(run)
        groups = self.run_js(PODS)
        self.assertEqual([name for name, _ in groups], [f"group {i}" for i in range(3)])
        for i, (_, nodes) in enumerate(groups):
            hosts = [f"server-{host}" for host in range(4 * i, min(4 * i + 4, 9))]
            switches = [f"{tier}-{i}-{j}" for tier in ("leaf", "spine") for j in range(2)]
            self.assertEqual(sorted(nodes), sorted(hosts + switches))
        self.assertEqual(self.run_js(ENDS), [])
        self.assertEqual(self.run_js(NAMES)[1], [])

    def test_units_stand_beside_their_switch(self):
        """Switches that add up: their parts are no hosts. 16 servers with k = 4 have 8 edge, 4
        aggregation switches and a core that join two or more; 9 in a torus of 3 x 3, 3 at least.
        """
        for line, units, folded in (
            ("--ranks=16 --topology=fat-tree --k=4", 13, False),
            ("--ranks=9 --topology=torus --torus=3x3", 3, False),
            ("--ranks=256 --topology=leaf-spine --hosts-per-leaf=16", 17, True),
        ):
            run = self.run_program(f"collperf {line} --algorithm=sharp -b 64K --timeline=0")
            for width in (500, 1400):
                with self.subTest(run=line, width=width):
                    self.show(run, width)
                    names, beside, wrong = self.run_js(UNITS)
                    self.assertEqual(wrong, [])
                    self.assertEqual(len(set(names)), len(names))
                    self.assertEqual([name.split(": ")[0] for name in names], beside)
                    if "torus" in line:
                        self.assertGreaterEqual(len(names), units)
                    else:
                        self.assertEqual(len(names), units)
                    self.assertEqual(self.run_js(OVERLAPS), [])
                    hosts = self.run_js(LABELS)
                    self.assertFalse([title for title, _ in hosts if "sharp" in title])
                    boxed = [title for title, _ in hosts if " hosts: " in title]
                    self.assertEqual(bool(boxed), folded)
                    listed = self.run_js(
                        "return [...document.querySelectorAll('#topology table button')].length"
                    )
                    self.assertEqual(listed, 8)

    def test_names_of_pods_are_where_no_link_is(self):
        for line, pods in (
            (DL + "--gpus=48 --servers=6 --nics-per-server=8 --topology=fat-tree --k=6", 6),
            (DL + "--gpus=16 --servers=2 --nics-per-server=8 --topology=fat-tree --k=4", 4),
            ("traffic --topology=fat-tree --k=6 --hosts=54 --pattern=permutation --bytes=20kB", 6),
            ("traffic --topology=fat-tree --k=8 --hosts=128 --pattern=permutation --bytes=20kB", 8),
        ):
            run = self.run_program(line)
            for width in (500, 900, 1280, 2000):
                with self.subTest(run=line, width=width):
                    self.show(run, width)
                    names, crossed = self.run_js(NAMES)
                    self.assertEqual(
                        [name.replace("pod ", "") for name in names], [str(i) for i in range(pods)]
                    )
                    self.assertEqual(crossed, [])
                    self.assertEqual(self.run_js(OVERLAPS), [])

    def test_labels(self):
        run = self.run_program(
            "traffic --topology=fat-tree --k=8 --hosts=128 --pattern=permutation --bytes=20kB"
        )
        for width in (1280, 500, 2000):
            self.show(run, width)
            labels = dict(self.run_js(LABELS))
            hosts = [labels[f"server-{i}"] for i in range(128)]
            named = [i for i, text in enumerate(hosts) if text]
            self.assertGreater(len(named), 6)
            self.assertEqual(len({b - a for a, b in zip(named, named[1:])}), 1, "not every n-th")
            self.assertEqual({hosts[i] for i in named}, {str(i) for i in named})
            # Switches of all tiers are named alike: all in full, or all by their numbers.
            switches = [
                text for name, text in labels.items() if text and not name.startswith("server-")
            ]
            self.assertEqual(len({text[0].isdigit() for text in switches} or {0}), 1, switches)
        run = self.run_program(
            "traffic --topology=fat-tree --k=4 --hosts=16 --pattern=permutation --bytes=20kB"
        )
        self.show(run, 1400)
        self.assertTrue(all(name == text for name, text in self.run_js(LABELS)))

    # ---- charts

    def test_units_of_sizes(self):
        """Of a sweep in powers of two MiB, on the axis and in the tile, as scripts/plot has them;
        of another one MB.
        """
        ticks = """return [...document.querySelector("#collectives svg").querySelectorAll(".axis text")].map((t) => t.textContent.replace("\u00a0", " ")).filter((t) => / /.test(t));"""
        for sizes, shown in (
            ("-b 1M -e 4M", ["1 MiB", "2 MiB", "4 MiB"]),
            ("-b 1MB -e 4MB", ["1 MB", "2 MB", "4 MB"]),
        ):
            with self.subTest(sizes=sizes):
                self.show(self.run_program("collperf --ranks=4 " + sizes))
                self.assertEqual(self.run_js(ticks), shown)
                tile = self.run_js(
                    """return document.querySelector("#summary .tiles small").textContent.replace("\u00a0", " ");"""
                )
                self.assertEqual(tile, "all_reduce of " + shown[-1])

    def test_quantiles_stand_beside_the_curves(self):
        run = self.run_program(DL + "--gpus=32 --servers=4 --placement=random")
        for width, dark in ((1280, False), (500, True)):
            self.show(run, width, dark)
            for n in range(2):
                found = self.run_js(
                    """const svg = document.querySelectorAll("#completion .chart svg")[arguments[0]] || null;
                  const curves = [...svg.querySelectorAll(".curve")], right = Math.max(...curves.map((c) => c.getBoundingClientRect().right));
                  return { curves: curves.map((c) => getComputedStyle(c).stroke), rings: [...svg.querySelectorAll("circle.quantile")].map((c) => getComputedStyle(c).stroke),
                    beside: [...svg.querySelectorAll("text.quantile")].map((t) => t.getBoundingClientRect().left - right) };""".replace(
                        "arguments[0]", str(n)
                    )
                )
                self.assertGreaterEqual(len(found["rings"]), 3)
                self.assertFalse(set(found["rings"]) & set(found["curves"]), found)
                self.assertTrue(all(distance > 0 for distance in found["beside"]), found)

    def test_a_row_a_port_on_one_grid_of_time(self):
        run = self.run_program(
            "traffic --topology=leaf-spine --hosts=16 --leaves=4 --hosts-per-leaf=4 --spines=2"
            " --pattern=all-to-all --bytes=100kB --cc=dcqcn"
        )
        self.show(run)
        rows = self.run_js(
            """return [...document.querySelectorAll("#ports-chart .port")].map((p) => { const q = p.querySelector(".queue").getBoundingClientRect();
          return [p.querySelector("text").textContent, q.top, q.bottom]; });"""
        )
        self.assertEqual(len(rows), 8)
        for (_, _, bottom), (_, top, _) in zip(rows, rows[1:]):
            self.assertLess(bottom, top)  # no two cover one another
        # Marks are of the same intervals as queues: what links.csv says of a port, interval by
        # interval.
        marks = self.run_js(
            "const source = JSON.parse(document.getElementById('data').textContent).ports; return"
            " [source.marks_by_interval, source.ports.map((p) => [p.name, p.marks,"
            " p.marks_over_time, p.queue_bytes.length])];"
        )
        self.assertTrue(marks[0])
        by_port = {}
        for row in run.rows("links.csv"):
            by_port[row["link"]] = by_port.get(row["link"], 0) + row["ecn_marks"]
        self.assertEqual(sum(by_port.values()), run.stats["ecn_marks"])
        self.assertGreater(run.stats["ecn_marks"], 0)
        for name, total, over_time, bins in marks[1]:
            self.assertEqual(total, by_port[name])
            self.assertEqual((sum(over_time), len(over_time) in (0, bins)), (total, True))

    def test_sizes_on_a_logarithmic_scale(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=9 --pattern=poisson --load=0.4 --duration=2ms"
        )
        self.show(run)
        scale = lambda: self.run_js("return document.querySelector('#sizes svg').dataset.scale")
        heights = lambda: self.run_js(
            "return [...document.querySelectorAll('#sizes svg g > rect')].map((r) =>"
            " Number(r.getAttribute('height')))"
        )
        button = lambda text: self.run_js(
            "[...document.querySelectorAll('#sizes button')].find((b) => b.textContent ==="
            f" '{text}').click()"
        )
        button("Bytes")
        button("Linear")
        linear = heights()
        self.assertEqual(scale(), "linear")
        button("Logarithmic")
        self.assertEqual(scale(), "logarithmic")
        self.assertGreater(min(heights()) / max(heights()), 2 * min(linear) / max(linear))

    def test_traffic_from_a_load(self):
        run = self.run_program(
            "traffic --topology=leaf-spine --hosts=16 --leaves=2 --hosts-per-leaf=8 --spines=2"
            " --pattern=poisson --load=0.5 --duration=1ms --warm-up=300us --incast-load=0.1"
            " --incast-fan-in=8 --incast-bytes=50kB --rate-interval=50us"
        )
        stats = run.stats
        self.assertLess(stats["messages"], stats["flows"]["all"])
        self.show(run)
        tiles = self.run_js(
            "return Object.fromEntries([...document.querySelectorAll('.tiles > div')].map((d) =>"
            " [d.children[0].textContent, d.children[1].firstChild.textContent]))"
        )
        flows = stats["flows"]
        self.assertEqual(
            tiles["Flows, warm-up and cool-down included"],
            f"{flows['arrived']:,} of {flows['all']:,}",
        )
        self.assertEqual(
            tiles["Measured flows"], f"{flows['measured_arrived']:,} of {flows['measured']:,}"
        )
        self.assertEqual(flows["measured_arrived"], stats["messages"])
        self.assertNotIn("Messages", tiles)
        text = self.run_js("return document.querySelector('#kinds').innerText")
        for word in ("all", "incast", "poisson", "Jain", "Throughput of flows over time"):
            self.assertIn(word, text)
        self.assertEqual(
            self.run_js("return document.querySelectorAll('#bysize .chart svg').length"), 2
        )
        self.assertEqual(
            self.run_js(
                "return document.querySelectorAll('#bysize .chart:first-of-type .curve').length"
                " >= 2"
            ),
            True,
        )

    def test_collperf_has_the_lines_of_the_hardware(self):
        """A server's NICs and a GPU's NVLink: 2,400 Gb/s of an A100 at 0.8, 3,600 of an H100 at
        0.824; not PCIe.
        """
        for line, lines, words in (
            ("--server=dgx-h100 --servers=1 --ranks=8", 1, ["2966.4 Gb/s, NVLink of a GPU"]),
            (
                "--ranks=16 --servers=2 --gpus-per-server=8",
                1,
                ["100 Gb/s, the NICs of a server", "\u2191 1920 Gb/s, NVLink of a GPU"],
            ),
            (
                "--server=dgx-h100 --servers=2 --ranks=16",
                2,
                ["3200 Gb/s, the NICs of a server", "2966.4 Gb/s, NVLink of a GPU"],
            ),
            ("--ranks=4 --gpus-per-server=1", 1, ["100 Gb/s, the NICs of a server"]),
            (f"--server={self.pcie()} --servers=1 --ranks=4 --gpus-per-server=4", 0, []),
        ):
            with self.subTest(line):
                run = self.run_program(f"collperf {line} -b 1M -e 64M -f 8 -n 1 -w 0")
                self.show(run)
                self.assertEqual(
                    self.run_js(
                        "return document.querySelectorAll('#collectives line.hardware').length"
                    ),
                    lines,
                )
                found = self.run_js(
                    "return [...document.querySelectorAll('#collectives text.hardware')].map((text)"
                    " => text.textContent)"
                )
                self.assertEqual([one.replace("\u00a0", " ") for one in found], words)

    def test_collperf_shows_every_choice(self):
        run = self.run_program(
            "collperf --ranks=6 -b 16K -e 16M -f 32 --algorithm=ring --compare=tree,auto"
            " --timeline=0"
        )
        self.show(run)
        rows = [
            [cell.replace("\u00a0", " ") for cell in row]
            for row in self.run_js(
                "return [...document.querySelectorAll('#collectives details tbody tr')].map((row)"
                " => [...row.cells].map((cell) => cell.textContent))"
            )
        ]
        # Sizes of 16 KiB, 512 KiB and 16 MiB by three choices.
        told = [("ring", one) for one in run.stats["collectives"]]
        told += [(one["choice"], one) for one in run.stats["compared"]]
        self.assertEqual(len(told), 9)
        self.assertEqual(
            [row[:5] for row in rows],
            [
                [name, one["op"], one["algorithm"], one["protocol"], f"{one['bytes']:,} B"]
                for name, one in told
            ],
        )
        names, curves = self.run_js(
            "return [[...document.querySelectorAll('#collectives .legend')].map((l) =>"
            " l.textContent), [...document.querySelectorAll('#collectives .curve')].length]"
        )
        self.assertEqual(curves, 2 * 3)  # of bandwidth and of time
        for name in ("ring", "tree", "auto"):
            self.assertIn(name, names[0])

    def test_collperf_of_one_size(self):
        run = self.run_program(
            "collperf --ranks=6 -b 1M --algorithm=tree --compare=ring --library=none --timeline=0"
        )
        self.show(run)
        tiles, heads, curves = self.run_js(
            "return [[...document.querySelectorAll('#summary .tiles > div')]"
            ".map((t) => t.textContent),"
            " [...document.querySelectorAll('#collectives details th')].map((h) => h.textContent),"
            " [...document.querySelectorAll('#collectives svg')].length]"
        )
        self.assertEqual(curves, 0)  # over one size there is no curve: the table says all
        self.assertEqual(
            heads, ["choice", "operation", "algorithm", "bytes", "time", "algbw", "busbw"]
        )
        own, other = run.stats["collectives"][0], run.stats["compared"][0]
        self.assertLess(own["busbw_GBps"], other["busbw_GBps"])
        largest = [tile for tile in tiles if tile.startswith("Largest bus bandwidth")]
        self.assertEqual(len(largest), 1)
        self.assertIn("as chosen", largest[0])
        self.assertIn("compared, ring has", largest[0])

    def test_more_curves_than_colours(self):
        # Eight colours are chosen by hand; ten choices have ten all the same.
        run = self.run_program(
            "collperf --ranks=6 -b 16K -e 16M -f 32 --algorithm=ring --timeline=0 --compare=tree,"
            "auto,double-binary-tree,recursive-doubling,halving-doubling,every-to-every,torus,"
            "parameter-server,hierarchical"
        )
        self.show(run)
        strokes = self.run_js(
            "return [...document.querySelectorAll('#collectives .curve')].map((curve) =>"
            " getComputedStyle(curve).stroke)"
        )
        self.assertEqual(len(strokes), 20)
        self.assertEqual(len(set(strokes[:10])), 10)
        self.assertEqual(strokes[:10], strokes[10:])

    def test_the_network_of_a_training_run_is_folded(self):
        """Step, MFU, memory and timeline stand first; a link into the box opens it, and its
        pictures are drawn. Of flows and of several jobs the network is what a run is about.
        """
        run = self.run_program(DL + "--gpus=16 --servers=2")
        self.show(run, folded=True)
        ids = self.run_js("return [...document.querySelectorAll('main > *')].map((e) => e.id)")
        order = ["summary", "memory", "timeline", "critical", "collectives", "network-details"]
        self.assertEqual([name for name in ids if name in order], order)
        first = self.run_js(
            "return [...document.querySelectorAll('#summary dt')].map((e) => e.textContent)"
        )
        self.assertEqual(
            first[:3], ["Step time", "Model FLOPs utilization (MFU)", "How sure"]
        )
        self.assertNotIn("ECN marks", first)
        height = "return document.querySelector('#topology').getBoundingClientRect().height"
        # A closed box has a height all the same where the browser has skipped its layout.
        closed = "return !document.querySelector('#network-details').open"
        self.assertTrue(self.run_js(closed))
        self.run_js("document.querySelector(\"#sections a[href='#topology']\").click()")
        unfold(self.browser)
        self.assertGreater(self.run_js(height), 100)
        self.assertGreater(
            self.run_js(
                "return document.querySelector('#topology svg').getBoundingClientRect().height"
            ),
            100,
        )
        run = self.run_program(
            "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=2 --bytes=100kB"
        )
        self.show(run, folded=True)
        self.assertEqual(self.run_js("return document.querySelectorAll('main > .fold').length"), 0)

    def test_the_network_is_open_where_it_limits(self):
        """By the run's own data: more than half of the critical path lies between servers, or
        dlserve names the network as what limits a pool.
        """
        opened = (
            "return document.querySelector('#network-details').open + ' '"
            " + document.querySelector('#network-details > summary').textContent"
        )
        between = {
            "backlog nic_turns nic_paused throttled window repeating serialization propagation"
            " queued paused host collectives_undivided": True,
            "compute straggling offload inside_servers software": False,
        }
        # Three servers of one GPU at 10 Gb/s wait for gradients; GPUs of one server seldom do.
        for options, limits in (
            ("--servers=3 --gpus-per-server=1 --topology=leaf-spine --nic=10GbE", True),
            ("--servers=2 --gpus-per-server=4 --tp=4 --micro-batch=4 --nic=400GbE", False),
            ("--servers=2 --gpus-per-server=2 --network=analytic --nic=10GbE", True),
        ):
            with self.subTest(options=options):
                run = self.run_program("dltrain --model=gpt2 --steps=1 --warmup=0 " + options)
                share = run.stats["critical_path"]["share"]
                of = {
                    kind: sum(share.get(part, 0) for part in parts.split())
                    for parts, kind in between.items()
                }
                self.assertAlmostEqual(sum(of.values()), 1, places=6)
                self.assertEqual(of[True] > 0.5, limits)
                self.assertEqual(report(run.folder).returncode, 0)
                self.show(run, folded=True)
                self.assertEqual(self.run_js(opened).split()[0], str(limits).lower())
                self.assertEqual("limits this run" in self.run_js(opened), limits)
        for limit, limits in (("the network", True), ("KV blocks", False)):
            folder = write_serving_results(os.path.join(self.folder, "serving" + limit[:2]))
            path = os.path.join(folder, "stats.json")
            with open(path, encoding="utf-8") as file:
                stats = json.load(file)
            stats["serving"]["pools"][0]["limited_by"] = limit
            stats["messages"] = 12
            with open(path, "w", encoding="utf-8") as file:
                json.dump(stats, file)
            self.assertEqual(report(folder).returncode, 0)
            self.show(folder, folded=True)
            self.assertEqual(self.run_js(opened).split()[0], str(limits).lower(), limit)

    def test_options_that_were_given_come_first(self):
        """They are seen before a box is opened; of many, all stand in the box. Every number and
        all other options are closed until a link to their section opens them.
        """
        rows = (
            "return [...document.querySelectorAll('#configuration > .wide tbody tr')].map((r) =>"
            " r.cells[1].textContent + '=' + r.cells[2].textContent)"
        )
        boxed = (
            "return [...document.querySelectorAll('#configuration .fold tbody tr')].map((r) =>"
            " r.cells[1].textContent)"
        )
        height = "return document.querySelector(arguments[0]).getBoundingClientRect().height"
        few = (
            "--servers=3 --gpus-per-server=1 --topology=single-switch --model=gpt2 --steps=1"
            " --recovery=restart --ns3::RdmaSwitch::PipelineLatency=300ns"
        )
        several = (
            " --seq=128 --micro-batch=1 --warmup=0 --zero=1 --mtu=1024 --nic=25GbE --cc=timely"
            " --link-delay=2us"
        )
        run = self.run_program("dltrain " + few)
        self.assertEqual(report(run.folder).returncode, 0)
        self.show(run, folded=True)
        self.assertEqual(
            sorted(self.run_js(rows)),
            [
                "gpus_per_server=1",
                "model=gpt2",
                "ns3::RdmaSwitch::PipelineLatency=300ns",
                "policy=restart",  # --recovery, whose place is /recovery/policy
                "servers=3",
                "steps=1",
                "topology=single-switch",
            ],
        )
        for section, table in (("configuration", ".fold table"), ("numbers", "table")):
            table = f"#{section} {table}"
            self.assertFalse(self.run_js(f"return document.querySelector('#{section} .fold').open"))
            self.run_js(f"document.querySelector(\"#sections a[href='#{section}']\").click()")
            self.assertTrue(self.run_js(f"return document.querySelector('#{section} .fold').open"))
            self.assertGreater(self.browser.execute_script(height, table), 200)
        run = self.run_program("dltrain " + few + several)
        self.assertEqual(report(run.folder).returncode, 0)
        self.show(run, folded=True)
        self.assertEqual(self.run_js(rows), [])
        names = self.run_js(boxed)
        self.assertIn("mtu", names[:15])
        self.assertNotIn("mtu", names[15:])
        self.assertIn("pfc", names[15:])
        run = self.run_program(
            "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=2 --bytes=100kB"
        )
        self.assertEqual(report(run.folder).returncode, 0)
        self.show(run, folded=True)
        self.assertEqual(len(self.run_js(rows)), 5)

    def test_where_a_script_failed(self):
        """The frames of the traceback with their source, as stderr.txt has them."""
        mistake = {"kind": "died", "ranks": [0], "lines": ["train.py:12"], "text": "rank 0 failed"}
        stats = {"program": "dltrain", "completed": False, "mistakes": [mistake]}
        folder = os.path.join(self.folder, "failed")
        os.makedirs(folder)
        self.write("failed/stats.json", stats)
        self.write(
            "failed/stderr.txt",
            "noise\nTraceback (most recent call last):\n"
            '  File "/home/me/train.py", line 12, in main\n    loss = model(x)\n'
            "           ^^^^^\nRuntimeError: shapes <b>differ</b>\n",
        )
        self.assertEqual(report(folder).returncode, 0)
        self.show(folder)
        text = self.run_js("return document.querySelector('#mistakes').textContent")
        for words in (
            "/home/me/train.py:12, in main",
            "loss = model(x)",
            "RuntimeError: shapes <b>differ</b>",
        ):
            self.assertIn(words, text)
        self.check_script_to_blame("The script has a mistake: nothing was simulated.")

    def check_script_to_blame(self, *told):
        """The banner says that the script is wrong, not that the run failed."""
        banner = "return [...document.querySelector('#failed').children].map((e) => e.textContent)"
        self.assertEqual(self.run_js(banner), list(told))

    def test_mistakes_are_the_answer(self):
        """Each is told once, in its section; a failure that has no traceback is told above."""
        row = {"ranks": [0, 1], "lines": ["a.py:3"], "text": "rank 0 does barrier; rank 1 nothing"}
        message = "not simulated: the script has a mistake (missing)"
        for kinds, trace, told in (
            (["missing"], None, ["The script has a mistake: nothing was simulated."]),
            (["order", "died"], None, ["The script has 2 mistakes: nothing was simulated."]),
            (["died"], None, ["The script has a mistake: nothing was simulated.", message]),
            (
                ["unused-parameters"],
                {"format": "capture", "ranks": 2},
                ["This run failed. What follows is of the part that ran.", message],
            ),
        ):
            folder = os.path.join(self.folder, f"mistakes-{len(kinds)}-{kinds[0]}")
            os.makedirs(folder)
            stats = {
                "program": "dltrain",
                "completed": False,
                "message": message,
                "mistakes": [{**row, "kind": kind} for kind in kinds],
            }
            stats.update({"trace": trace} if trace else {})
            self.write(os.path.join(folder, "stats.json"), stats)
            self.assertEqual(report(folder).returncode, 0)
            self.show(folder)
            self.check_script_to_blame(*told)
            page = self.run_js("return document.querySelector('main').innerText")
            self.assertEqual(page.count(row["text"]), len(kinds))

    def test_circuits_are_no_fault(self):
        """They have a line of their own; a bond's box has its rates."""
        circuits = {"what": "circuits", "where": "o", "at_us": 0, "begun": True, "times": 33}
        circuits.update({"frames_lost": 1, "frames_without_way": 2})
        cut = {"what": "link-down", "where": "a:0", "at_us": 5, "begun": True, "times": 1}
        cut.update({"nic_gbps": 200, "nic_left_gbps": 100, "frames_lost": 7})
        for name, faults, told in (
            ("both", [cut, circuits], "A fault"),
            ("circuits", [circuits], None),
        ):
            folder = os.path.join(self.folder, name)
            os.makedirs(folder)
            stats = {"program": "traffic", "completed": True, "faults": faults}
            self.write(os.path.join(folder, "stats.json"), stats)
            self.assertEqual(report(folder).returncode, 0)
            self.show(folder)
            self.assertEqual(
                self.run_js("return document.querySelector('.circuits').textContent"),
                "Circuits of o: 33 changes; 1 frame lost; 2 found no way left",
            )
            box = self.run_js("return (document.querySelector('#faults') || {}).innerText")
            if not told:
                self.assertIsNone(box)
                continue
            self.assertEqual(box.splitlines()[0].strip(), told)
            words = box.replace("\N{NO-BREAK SPACE}", " ")
            self.assertIn("bonded NIC at 100 Gb/s of 200 Gb/s meanwhile; 7 frames lost", words)

    def test_idle_is_a_bubble_in_pipelines_only(self):
        for options, word in (("", "idle"), (" --pp=2 --accumulation=2", "idle (bubble, waiting)")):
            run = self.run_program(DL + "--gpus=16 --servers=2" + options)
            self.show(run)
            said = self.run_js(
                "return [...document.querySelectorAll('#timeline .legend li')].map((l) =>"
                " l.textContent)"
            )
            self.assertIn(word, [text.strip() for text in said])

    def test_all_parts_of_a_step_have_a_card(self):
        parts = {
            "Computing": "compute_time_us",
            "Exposed communication": "exposed_communication_time_us",
            "Bubble": "bubble_time_us",
            "Waiting": "waiting_time_us",
            "Offloading": "offload_time_us",
            "Loading data": "data_loading_time_us",
        }
        for options in (
            "",
            " --pp=2 --accumulation=2",
            " --zero=2 --offload=optimizer --loader=20",
        ):
            run = self.run_program(DL + "--gpus=16 --servers=2" + options)
            self.show(run)
            shown = dict(
                self.run_js(
                    "return [...document.querySelectorAll('dl > div')].map((d) =>"
                    " [d.querySelector('dt').textContent, d.querySelector('dd').textContent])"
                )
            )
            step = run.stats["step_time_us"]
            shares = {name: run.stats.get(key, 0) / step for name, key in parts.items()}
            self.assertWithin(sum(shares.values()), 1, 1e-6)
            for name, share in shares.items():
                if share > 0.0005 or name in shown:
                    self.assertIn(f"{100 * share:.1f}%", shown[name], name)

    def pcie(self):
        server = {
            "name": "bridge",
            "gpu": "A100",
            "gpus": 4,
            "nics": 1,
            "nic_rate": "100Gbps",
            "source": "assumed",
            "scale_up": {
                "kind": "pcie",
                "per_gpu": "200Gbps",
                "host_bridge": "200Gbps",
                "latency": "1us",
            },
        }
        return self.write("bridge.json", {"servers": [server]})

    # ---- widths, and what was not measured

    def test_windows_of_every_width(self):
        runs = [
            self.run_program(line)
            for line in (
                DL + "--gpus=16 --servers=2",
                (
                    "collperf --op=all_reduce --ranks=8 --servers=2 --gpus-per-server=4 -b 1K -e 1M"
                    " -f 4"
                ),
                (
                    "traffic --topology=leaf-spine --hosts=16 --leaves=2 --hosts-per-leaf=8"
                    " --spines=2 --pattern=poisson --load=0.5 --duration=500us --incast-load=0.1"
                    " --incast-fan-in=8 --incast-bytes=50kB --rate-interval=50us"
                ),
            )
        ]
        for run in runs:
            for width in (400, 500, 660, 900, 1400, 2000):
                with self.subTest(run=run.command, width=width):
                    self.show(run, width, dark=width in (500, 1400))
                    self.assertFalse(
                        self.run_js("return document.documentElement.scrollWidth - innerWidth > 0")
                    )
                    self.assertEqual(self.run_js(OVERLAPS), [])
                    self.assertEqual(self.run_js(CELLS), [])

    def test_a_ring_of_rings_in_a_deadlock(self):
        """Four rings of four switches, whose first ones are a ring, too: the links that go round
        are bows, those of the column as well, of which one closes the circle; and that there is one
        comes first of all.
        """
        switches = [f"s{ring}-{at}" for ring in range(4) for at in range(4)]
        links = [{"from": f"h{name[1:]}", "to": name} for name in switches]
        for a in range(4):
            links.append({"from": f"s{a}-0", "to": f"s{(a + 1) % 4}-0"})
            links += [{"from": f"s{a}-{at}", "to": f"s{a}-{(at + 1) % 4}"} for at in range(4)]
        graph = {
            "nodes": [{"name": f"h{name[1:]}", "kind": "host"} for name in switches]
            + [{"name": name, "kind": "switch"} for name in switches],
            "links": links,
            "defaults": {"rate": "200Gbps", "delay": "500ns"},
        }
        run = self.run_program(
            f"traffic --topology={self.write('rings.json', graph)} --pattern=permutation"
            " --bytes=10MB --timeline=0",
            status=3,
        )
        self.assertIn("PFC deadlock, each of these links waits", run.stats["message"])
        self.show(run)
        told = self.run_js("return document.querySelector('#failed pre').textContent")
        self.assertTrue(told.startswith("PFC deadlock, each of these"), told[:200])
        self.assertEqual(sorted(told.split()), sorted(run.stats["message"].split()))
        bows = self.run_js(
            "return [...document.querySelectorAll('#network .link')].filter((path) =>"
            " path.getAttribute('d').includes('C')).length"
        )
        self.assertEqual(bows, 2 * 5)  # both directions

    def test_interrupted_in_its_warm_up(self):
        """Nothing measured is no number anywhere: not in stats.json, not in the terminal, not in
        the page.
        """
        run = self.interrupted("dltrain --placement=random --timeline=0")
        stats = run.stats
        for key in (
            "measured_from_us messages message_bytes fct_us drops ecn_marks data_packets"
            " retransmitted_packets links step_time_us"
        ).split():
            self.assertIsNone(stats[key], key)
        self.assertGreater(stats["frame_hops"], 0)
        self.assertIn("Measured         nothing: the run ended before its measured time\n", run.out)
        for word in ("Messages", "Busiest links", "Losses", "packets retransmitted"):
            self.assertNotIn(word, run.out)
        self.assertTrue(
            all(
                line.endswith("measured 0")
                for line in run.text("network_events.log").splitlines()
                if line.startswith("# total")
            )
        )
        self.show(run)
        self.assertEqual(self.run_js("return document.querySelectorAll('.tiles').length"), 0)
        page = self.run_js(
            "return document.querySelector('main').innerText.split('Configuration as run')[0]"
        )
        self.assertIn("before its measured time", page)
        self.assertNotIn("0.00%", page)
        self.assertNotIn("Messages", page)
        self.assertEqual(self.run_js("return document.querySelectorAll('#time-slider').length"), 0)
        run = self.interrupted(
            "traffic --topology=fat-tree --k=8 --hosts=128 --pattern=poisson --load=0.8"
            " --duration=40ms --warm-up=30ms --queue-interval=10us --rate-interval=100us"
            " --timeline=0"
        )
        for key in ("messages", "slowdown_by_size", "port_classes", "fairness"):
            self.assertIsNone(run.stats[key], key)
        self.assertIn("Measured         nothing", run.out)
        self.assertNotIn("Ports  ", run.out)

    def interrupted(self, line):
        words, out = self.command(line)
        running = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        topology = os.path.join(out, "topology.json")
        while running.poll() is None and not os.path.isfile(topology):
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        told, errors = running.communicate(timeout=60)
        run = Run(words, running.returncode, told, errors, out)
        self.assertEqual(run.status, 130, str(run))
        return run

    def test_pages_of_damaged_results_are_drawn(self):
        """Values of stats.json by chance: the page is complete and the console empty."""
        run = self.run_program(DL + "--gpus=16 --servers=2")
        whole, seeded = json.dumps(run.stats), random.Random(5)
        folder = os.path.join(self.folder, "damaged")
        shutil.copytree(run.folder, folder)
        for _ in range(12):
            stats = json.loads(whole)
            for _ in range(12):
                at = stats
                while isinstance(at, (dict, list)) and at:
                    key = seeded.choice(list(at) if isinstance(at, dict) else range(len(at)))
                    if key == "schema_version":
                        break
                    if not isinstance(at[key], (dict, list)) or seeded.random() < 0.3:
                        at[key] = seeded.choice(
                            (None, True, -1, 1e300, "</script>", [], {}, [[1]], {"a": {}})
                        )
                        break
                    at = at[key]
            with open(os.path.join(folder, "stats.json"), "w", encoding="utf-8") as file:
                json.dump(stats, file)
            self.assertEqual(report(folder).returncode, 0)
            self.show(folder)
            self.assertGreater(
                self.run_js("return document.querySelectorAll('main section').length"), 5
            )


if __name__ == "__main__":
    need_browser()
    main()
