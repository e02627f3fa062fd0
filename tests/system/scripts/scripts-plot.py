# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""scripts/plot: pictures of every kind of run; what they show are the numbers of stats.json;
nothing overlaps.
"""

import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.path.append(sys.path[0] + "/../shared")
from _serving import write_serving_results
from _system_test import ROOT, SystemTest, full, long_test, main, share_of

SCRIPT = os.path.join(ROOT, "scripts", "plot")
ALL = ["step", "timeline", "completion", "sizes", "by-size", "topology", "links", "ports", "busbw"]
TRAINING_ONLY = ["step", "timeline"]
TRAFFIC_ONLY = ["slowdown", "queues", "rates"]
CHOSEN = ["queue-pairs", "watch"]
WEEKS = ["goodput", "plans"]  # dlgoodput's and dlplan's
SERVING = ["serving-latency", "serving-load", "serving-time", "serving-rates"]  # dlserve's
MIXES = ["share-curve", "policies", "rates-in-time", "shares"]  # dlserve's


def small(test, options=""):
    """The default cluster (16 servers of 8 GPUs, k = 4), 16 MB of parameters a step: a second."""
    layers = [{"name": f"layer {i}", "parameters": 2 << 20, "flops": 1.0e9} for i in range(4)]
    model = test.write("small.json", {"name": "small", "sequence": 256, "layers": layers})
    return f"dltrain --model={model} --buckets=8MiB {options}"


class Base(SystemTest):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.path.join(ROOT, "scripts"))
        sys.dont_write_bytecode = True
        from cluster_simulator import measures, plots, results, sizes
        from cluster_simulator.plots import style, timeline

        cls.measures, cls.plots, cls.results, cls.style, cls.timeline = (
            measures,
            plots,
            results,
            style,
            timeline,
        )
        cls.sizes = sizes

    def plot(self, *words, status=0, quiet=True):
        done = subprocess.run(
            [SCRIPT, *words], cwd=self.folder, capture_output=True, text=True, timeout=200
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if quiet:
            self.assertEqual(done.stderr, "")
        return done

    def names_left_out(self, done):
        """Of pictures; one line lists them."""
        lines = [line for line in done.stdout.splitlines() if line.startswith("Left out")]
        self.assertEqual(len(lines), 1, done.stdout)
        names, why = lines[0].removeprefix("Left out").split(" (")
        self.assertEqual(why, "--only=NAME says why)")
        return names.strip().split(", ")

    def why_left_out(self, folder, name):
        done = self.plot(folder, f"--only={name}", "--format=png", status=1, quiet=False)
        return next(line for line in done.stderr.splitlines() if line.startswith(name))

    def load(self, run):
        return self.results.load(run if isinstance(run, str) else run.folder)

    def title(self, axis):
        """Of a panel, or of the legend over it."""
        legend = axis.get_legend()
        return (legend.get_title().get_text() if legend else "") + axis.get_title("left").strip()

    def states(self, colours):
        """The numbers of the states that have these colours: no other colour is in a timeline."""
        known = [
            tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for _, colour in self.style.STATES
        ]
        return [known.index(tuple(int(round(255 * part)) for part in colour)) for colour in colours]

    def folder_of(self, name, **files):
        """A result folder of stats.json and CSV files: lists of rows, the first is the header."""
        os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        for file, content in {"stats": {}, **files}.items():
            if isinstance(content, dict):
                content = {"completed": True, **content}
                self.write(f"{name}/{file}.json", content)
            else:
                rows = "".join(",".join(str(field) for field in row) + "\n" for row in content)
                self.write(f"{name}/{file}.csv", rows)
        return self.load(os.path.join(self.folder, name))

    def check_layout(self, figure):
        """No two texts of a figure lie upon one another, and none is cut off: of all texts that are
        in fact drawn.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.text import Text

        drawn = []

        def record(one, renderer):
            if one.get_text().strip():
                drawn.append((one.get_text(), one.get_window_extent(renderer)))
            return original(one, renderer)

        original = Text.draw
        with unittest.mock.patch.object(Text, "draw", record):
            FigureCanvasAgg(figure).draw()
        whole = figure.bbox
        self.assertGreater(len(drawn), 4)
        for i, (words, box) in enumerate(drawn):
            self.assertTrue(
                box.x0 >= whole.x0 - 1
                and box.x1 <= whole.x1 + 1
                and box.y0 >= whole.y0 - 1
                and box.y1 <= whole.y1 + 1,
                f"cut off: {words!r} {box.extents} of {whole.extents}",
            )
            for others, other in drawn[:i]:
                wide = min(box.x1, other.x1) - max(box.x0, other.x0)
                high = min(box.y1, other.y1) - max(box.y0, other.y0)
                # Boxes hold a font's whole height, letters do not: two pixels of 110 an inch.
                self.assertFalse(
                    wide > 1 and high > 2,
                    f"{words!r} lies upon {others!r} by {wide:.1f} x {high:.1f}",
                )


class Mixes(Base):
    def test_many_models(self):
        """Runs of dlserve: curves, policies, a sweep of rates."""
        models = [
            {"model": name, "rate": 100, "slo": slo}
            for name, slo in (("alexnet", "15ms"), ("resnet-50", "40ms"), ("vgg-19", "60ms"))
        ]
        mix = self.write("mix.json", {"models": models})
        rates = (500, 400, 200)
        more = [{**model, "rate": rate} for model, rate in zip(models, rates)]
        more.append({"model": "ssd", "rate": 60, "slo": "60ms"})
        large = self.write("large.json", {"models": more})
        curve, one, many, sweep, every, two = (
            self.load(self.run_program(f"dlserve {words}"))
            for words in (
                "--share-curve --batch=1,16",
                f"--multiplex={mix} --duration=1s",
                f"--multiplex={mix} --duration=1s --policy=all",
                f"--multiplex={mix} --duration=1s --policy=mps,dstack --sweep-rate=50..400",
                f"--multiplex={mix} --duration=1s --policy=all --sweep-rate=50..100",
                f"--multiplex={large} --duration=1s --policy=igniter",
            )
        )
        for name, runs in (
            ("share-curve", [curve]),
            ("policies", [one]),
            ("policies", [many]),
            ("policies", [many, one]),
            ("policies", [sweep]),
            ("rates-in-time", [sweep]),
            ("rates-in-time", [every, sweep]),
            ("shares", [one]),
            ("shares", [many]),
        ):
            for width in (3.3, 6.3):
                with self.subTest(name=name, width=width):
                    self.check_layout(self.plots.draw(name, runs, width=width))
        # All eight policies differ in colour and in marker.
        policies = list(dict.fromkeys(one["policy"] for one in every.stats["multiplex"]))
        lines = self.plots.draw("rates-in-time", [every]).axes[0].lines
        self.assertEqual((len(policies), len(lines)), (8, 8))
        self.assertEqual(len({line.get_color() for line in lines}), 8)
        self.assertEqual(len({line.get_marker() for line in lines}), 8)
        # Of the rates 50, 100, 200, 400% bars are at 100%, and that is said; of one rate it is not.
        for run, words in ((sweep, "at 100% of the mix's rates"), (many, "")):
            labels = {axis.get_xlabel() for axis in self.plots.draw("policies", [run]).axes}
            self.assertEqual(labels, {words})
        # A panel for each GPU that ran a batch.
        table = two.executions()
        self.assertEqual(sorted(table["gpu"].unique()), [0, 1])
        figure = self.plots.draw("shares", [two])
        self.check_layout(figure)
        said = [axis.get_ylabel() for axis in figure.axes]
        self.assertEqual(said, ["igniter\nGPU 0 (%)", "igniter\nGPU 1 (%)"])
        # Twice eight policies and a GPU more: 12 panels, and the others are told.
        figure = self.plots.draw("shares", [many, many, two], labels=["a", "b", "c"])
        self.check_layout(figure)
        self.assertEqual(len(figure.axes), 12)
        told = figure._supxlabel.get_text().replace("\n", " ")
        self.assertEqual(told.count(" of b: "), 4)
        self.assertIn("GPUs 0, 1 of c: igniter", told)
        panel = self.plots.draw("share-curve", [curve]).axes[0]
        table = curve.curve()
        mine = table[(table["model"] == "alexnet") & (table["batch"] == 1)]
        mine = mine[mine["gpu_percent"] >= 5]
        self.assertEqual(list(panel.lines[0].get_ydata()), list(mine["latency_ms"]))
        for name, run in (("rates-in-time", one), ("share-curve", one), ("shares", curve)):
            with self.assertRaises(self.style.NothingToShow):
                self.plots.draw(name, [run])


class Weeks(Base):
    def test_plans(self):
        """Searches of dlplan: one, several, with layouts that were run."""
        job = "dlplan --model=gpt2 --gpu=V100 --gpus-per-server=4 --seq=512 --global-batch=16"
        runs = [
            self.load(self.run_program(f"{job} --search=tp,pp,micro-batch --no-report {more}"))
            for more in ("--servers=2 --verify=2", "--servers=1")
        ]
        for some in ([run] for run in runs):
            for width in (3.3, 6.3):
                with self.subTest(width=width):
                    self.check_layout(self.plots.draw("plans", some, width=width))
        self.check_layout(self.plots.draw("plans", runs))
        table = runs[0].estimates()
        steps, memory = table["estimate_us"], table["memory_bytes"]
        edge = self.plots.plans.frontier(table)
        # By the definition: no other layout is at least as good in both.
        wanted = [
            (m, s)
            for m, s in zip(memory, steps)
            if not any((a <= m and b <= s and (a, b) != (m, s)) for a, b in zip(memory, steps))
        ]
        self.assertEqual(sorted(set(wanted)), [(r.memory_bytes, r.estimate_us) for r in edge])
        self.assertEqual((runs[0].plans()["verified_us"] > 0).sum(), 2)
        with self.assertRaises(self.style.NothingToShow):
            self.plots.draw("plans", [self.load(self.run_program(small(self)))])

    def test_goodput(self):
        """Runs of dlgoodput: one, several, without failures."""
        job = (
            "dlgoodput --model=gpt2 --server=dgx-a100 --micro-batch=1 --step-time=1s"
            " --checkpoint-time=10s --read-time=10s"
        )
        runs = [
            self.load(self.run_program(f"{job} {more}"))
            for more in (
                "--gpus=16,64,256 --spares=2",
                "--gpus=1024 --checkpoint-async --checkpoint-time=60s",
                "--mtbf=never",
            )
        ]
        for some in ([run] for run in runs):
            for width in (3.3, 6.3):
                with self.subTest(width=width):
                    self.check_layout(self.plots.draw("goodput", some, width=width))
        self.check_layout(self.plots.draw("goodput", runs[:2]))
        figure = self.plots.draw("goodput", runs[:1])
        table = runs[0].intervals()
        curve = figure.axes[0].lines[0]
        mine = table[table["gpus"] == 16]
        self.assertEqual(list(curve.get_ydata()), list(100 * mine["goodput"]))
        self.assertGreater(len(runs[0].interruptions()), 0)
        with self.assertRaises(self.style.NothingToShow):
            self.plots.draw("goodput", [self.load(self.run_program(small(self)))])


class Answers(Base):
    """Of dlserve's files."""

    def folder_with(self, name, **options):
        return self.load(write_serving_results(os.path.join(self.folder, name), **options))

    def test_layout(self):
        one = self.folder_with("one", rates=True)
        split = self.folder_with("split", split=True, rates=True)
        for name in SERVING:
            for runs in ([one], [split], [one, split]):
                for width in (3.3, 6.3):
                    with self.subTest(name=name, runs=len(runs), width=width):
                        self.check_layout(self.plots.draw(name, runs, width=width))

    def test_curves_are_the_numbers_of_the_files(self):
        run = self.folder_with("one", rates=True)
        measured = run.requests().query("warmup == 0")
        curve = self.plots.draw("serving-latency", [run]).axes[0].lines[0]
        self.assertAlmostEqual(max(curve.get_xdata()), 1e3 * measured["ttft_ms"].max(), 3)
        self.assertEqual(max(curve.get_ydata()), 100)
        waiting = self.plots.draw("serving-load", [run]).axes[0].lines
        self.assertEqual(len(waiting), 2)  # instances
        self.assertEqual(
            max(max(line.get_ydata()) for line in waiting), run.load()["waiting"].max()
        )
        bars = self.plots.draw("serving-time", [run]).axes[0].patches
        self.assertAlmostEqual(sum(bar.get_width() for bar in bars), 100)
        rates = self.plots.draw("serving-rates", [run]).axes[0].lines[0]
        self.assertEqual(list(rates.get_xdata()), [1, 2, 4, 8, 16])

    def test_axes_show_small_values(self):
        """KV ends near its largest value, and says where; latencies have ticks of 1, 2, 5."""
        run = self.folder_with("one", rates=True)
        axis = self.plots.draw("serving-load", [run]).axes[2]
        most = max(max(line.get_ydata()) for line in axis.lines)
        top = axis.get_ylim()[1]
        self.assertTrue(most <= top)
        self.assertEqual(f"axis to {top:g}%" in axis.get_ylabel(), top < 100)
        # By hand: the next of 1, 2, 5, ... that leaves 3%.
        kv_top = self.plots.serving.kv_top
        tops = [kv_top(of) for of in (0, 0.004, 0.3, 0.49, 2.4, 4.9, 35, 99)]
        self.assertEqual(tops, [1, 0.01, 0.5, 1, 5, 10, 40, 105])
        widths = [line.get_linewidth() for line in axis.lines]
        self.assertEqual(len(set(widths)), len(widths))

    def test_ticks_of_logarithmic_axes(self):
        import matplotlib.figure

        for low, high, wanted in (
            (4.9e6, 11e6, [6e6, 8e6, 10e6]),  # us: steps of 2 s; 5 and 10 would be two
            (15e3, 42e3, [20e3, 30e3, 40e3]),
            (3.5, 5.5, None),
            (30, 540, [50, 100, 200, 500]),
            (1, 1000, [1, 10, 100, 1000]),
        ):
            with self.subTest(low=low):
                axis = matplotlib.figure.Figure().subplots()
                axis.set_xscale("log")
                axis.set_xlim(low, high)
                self.style.time_ticks(axis, "x", most=4, thirds=False)
                ticks = sorted(axis.get_xticks())
                self.assertTrue(3 <= len(ticks) <= 4, ticks)
                if wanted:
                    self.assertEqual([round(tick, 6) for tick in ticks], wanted)

        # Two of 1, 2, 5 are in between: the next one below is added; of one, one on each side.
        ends = self.plots.serving.with_round_ends
        self.assertEqual(ends([6.4, 20.0]), [6.4, 20.0, 5.0])
        self.assertEqual(ends([15.0, 42.0]), [15.0, 42.0, 10.0, 50.0])
        for enough in ([4.0, 4.9], [30.0, 500.0]):
            self.assertEqual(ends(enough), enough)

    def test_legends_have_even_lines(self):
        """Eight names of which seven fit into a line are two lines of four."""
        columns = self.style.columns_of
        self.assertEqual(columns([10] * 8, 79), 4)
        self.assertEqual(columns([10] * 8, 80), 8)
        self.assertEqual(columns([30, 10, 10], 50), 3)  # not three times the widest
        self.assertEqual(columns([10], 5), 1)

    def test_several_runs_are_sums_of_their_instances(self):
        runs = [self.folder_with("one"), self.folder_with("split", split=True)]
        running = self.plots.draw("serving-load", runs).axes[1].lines
        self.assertEqual(len(running), 2)
        # At any time the sum is that of each instance's last row.
        load = runs[1].load()
        for at in (5.0, 20.0, 40.0):
            want = sum(
                of[of["time_s"] <= at]["running"].iloc[-1] for _, of in load.groupby("instance")
            )
            times, values = running[1].get_data()
            factor = max(times) / load["time_s"].max()
            self.assertEqual([y for x, y in zip(times, values) if x <= at * factor][-1], want)

    def test_nothing_to_show(self):
        none = self.folder_with("none", answered=False)
        with self.assertRaisesRegex(self.style.NothingToShow, "no request was answered"):
            self.plots.draw("serving-latency", [none])
        with self.assertRaisesRegex(self.style.NothingToShow, "no rates were tried"):
            self.plots.draw("serving-rates", [none])
        self.check_layout(
            self.plots.draw("serving-latency", [self.folder_with("one"), none])
        )


class Pictures(Base):
    def test_default_cluster(self):
        run = self.run_program(small(self, "--placement=random --steps=2"))
        done = self.plot(run.folder)
        names = sorted(f"{name}.{form}" for name in ALL for form in ("png", "svg", "pdf"))
        folder = run.path("plots")
        self.assertEqual(sorted(os.listdir(folder)), names)
        # All in one line; in the order of PICTURES.
        wanted = TRAFFIC_ONLY + CHOSEN + WEEKS[:1] + SERVING + MIXES + WEEKS[1:]
        self.assertEqual(self.names_left_out(done), wanted)
        first = {}
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                first[name] = file.read()
            if name.endswith("png"):
                self.assertEqual(first[name][:8], b"\x89PNG\r\n\x1a\n")
                # 6.3 in at 300 dpi
                self.assertEqual(struct.unpack(">I", first[name][16:20])[0], 6.3 * 300)
            elif name.endswith("svg"):
                self.assertTrue(xml.etree.ElementTree.fromstring(first[name]).tag.endswith("svg"))
                self.assertNotIn(b"<dc:date>", first[name])
            else:
                self.assertEqual(first[name][:5], b"%PDF-")
                self.assertNotIn(b"CreationDate", first[name])
            self.assertLess(len(first[name]), 1500000, name)
        # The same run, the same bytes; one picture of one format and another width, elsewhere.
        shutil.rmtree(folder)
        again = share_of(("step", "timeline", "completion", "topology", "ports"), one_in=5)
        self.plot(run.folder, "--only=" + ",".join(again))
        self.assertEqual(len(os.listdir(folder)), len(again) * 3)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                self.assertEqual(file.read(), first[name], name)
        self.plot(
            run.folder, "--only=sizes,step", "--format=png", "--width=84mm", "--out=elsewhere"
        )
        self.assertEqual(
            sorted(os.listdir(os.path.join(self.folder, "elsewhere"))), ["sizes.png", "step.png"]
        )
        with open(os.path.join(self.folder, "elsewhere", "step.png"), "rb") as file:
            self.assertEqual(struct.unpack(">I", file.read(20)[16:])[0], int(84 / 25.4 * 300))
        self._numbers(run)
        wide = ["step", "timeline", "topology", "links", "ports"]
        pages = [(3.3, name) for name in ALL] + [(6.3, name) for name in wide]
        for width, name in share_of(pages, one_in=3):
            with self.subTest(name, width=width):
                self.check_layout(self.plots.draw(name, [self.load(run)], width=width))

    def _numbers(self, run):
        """What is drawn is what stats.json says."""
        stats, measures, loaded = run.stats, self.measures, self.load(run)
        parts, total, ended = measures.step_parts(loaded)
        self.assertTrue(ended)
        self.assertEqual(total, stats["step_time_us"])
        computing, hidden, exposed, waiting = parts
        self.assertAlmostEqual(computing + hidden, stats["compute_time_us"], delta=1e-6 * total)
        self.assertAlmostEqual(hidden + exposed, stats["communication_time_us"], delta=1e-6 * total)
        self.assertAlmostEqual(
            exposed + waiting,
            total - stats["compute_time_us"],
            delta=1e-6 * total,
        )
        self.assertGreater(hidden, 0)
        # Bars of the calls: computing, by kind, adds up to computing; a collective's exposed part
        # is at most all of it.
        calls = measures.call_times(loaded)
        self.assertAlmostEqual(
            sum(time for _, time, _, collective in calls if not collective),
            stats["compute_time_us"],
            delta=1e-6 * total,
        )
        in_them = {one: time + alone for one, time, alone, collective in calls if collective}
        for operation in in_them:
            mean = (
                sum(
                    one["rank_time_us"]
                    for one in stats["collectives"]
                    if one["op"].replace("_", "-") == operation
                )
                / 2
            )
            # One after the other on their stream; what of two is under way at once counts once in
            # the bar.
            self.assertLessEqual(in_them[operation], mean * (1 + 1e-6))
            self.assertGreater(in_them[operation], 0.5 * mean)

        flows, weight = loaded.flows(), measures.weights(loaded)
        self.assertEqual(set(weight), {1.0})
        for key, values in (
            ("fct_us", flows["fct_us"].to_numpy()),
            ("fct_slowdown", measures.slowdown(flows)),
        ):
            drawn = measures.quantile(values, [0.5, 0.9, 0.99, 0.999, 1.0])
            for value, name in zip(drawn, ("p50", "p90", "p99", "p999", "max")):
                self.assertAlmostEqual(value, stats[key][name], delta=1e-6 * stats[key][name])
            self.assertEqual(measures.marks(loaded, key, values, weight)["p99"], stats[key]["p99"])
        links = measures.Links(loaded)
        for link in stats["links"]:
            place = list(links.names).index(link["link"])
            self.assertAlmostEqual(links.mean[place], link["utilization"], delta=2e-3)
        # Coarser bins keep the mean over time.
        edges, image = links.over_time(links.table["utilization"].to_numpy(), 7)
        self.assertEqual(image.shape, (len(links.names), len(edges) - 1))
        busiest = int(links.mean.argmax())
        self.assertAlmostEqual(image[busiest].mean(), links.mean[busiest], delta=0.05)
        self.assertEqual(measures.ecn_marks(loaded)["marks"].sum(), stats["ecn_marks"])
        graph = measures.Graph(loaded)
        # k = 4: servers, edge, aggregation, core
        self.assertEqual([len(tier) for tier in graph.tiers], [16, 8, 8, 4])
        for node, height in (("server-11", 0), ("edge-1-0", 1), ("agg-3-1", 2), ("core-2", 3)):
            self.assertIn(node, graph.tiers[height])

    @full
    def test_studies_of_congestion_control(self):
        line = (
            "traffic --pattern=poisson --topology=single-switch --hosts=6 --sizes=fb-hadoop"
            " --duration=300us --cc="
        )
        runs = [self.run_program(line + name) for name in ("dcqcn", "none")]
        flows = self.write(
            "flows.csv", "start_us,src,dst,bytes\n0,1,0,4000000\n100,2,0,2000000\n200,3,0,1000000\n"
        )
        runs.append(
            self.run_program(
                f"traffic --topology=single-switch --hosts=4 --flows={flows} --queue-interval=1us"
                " --rate-interval=20us"
            )
        )
        self.plot(runs[2].folder, "--format=png", "--only=slowdown,queues,rates")
        self.assertEqual(len(os.listdir(runs[2].path("plots"))), 3)
        for some in (runs[:1], runs[2:], runs):
            for name in TRAFFIC_ONLY:
                for width in (3.3, 6.3):
                    with self.subTest(name, runs=len(some), width=width):
                        self.check_layout(
                            self.plots.draw(name, [self.load(run) for run in some], width=width)
                        )
        # Lines are the files' numbers: the groups of slowdown.csv.
        figure = self.plots.draw("slowdown", [self.load(runs[0])])
        groups = [
            row
            for row in runs[0].rows("slowdown.csv")
            if row["kind"] == "group" and row["tag"] == "all"
        ]
        for axis, name, least in zip(figure.axes, ("p50", "p95", "p99"), (1, 20, 100)):
            # (A quantile of fewer flows is the slowest of them; without any there is no line.)
            drawn = [list(line.get_ydata()) for line in axis.lines if len(line.get_ydata())][:1]
            enough = [row[name] for row in groups if row["flows"] >= least]
            self.assertEqual(drawn, [enough] if enough else [])
        # A part of the run: its rows, and no others.
        fairness = [
            row
            for row in runs[2].rows("fairness.csv")
            if 200 < row["time_us"] <= 500 and row["flows"] > 0
        ]
        self.assertGreater(len(runs[2].rows("fairness.csv")), len(fairness))
        for name in ("queues", "rates"):
            figure = self.plots.draw(name, [self.load(runs[2])], times=(200, 500))
            self.check_layout(figure)
            self.assertEqual(figure.axes[-1].get_xlim(), (200, 500))
        self.assertEqual(
            list(figure.axes[-1].lines[0].get_ydata()), [row["jain"] for row in fairness]
        )
        self.plot(runs[2].folder, "--format=png", "--only=rates", "--from=0.2ms", "--until=500us")
        done = self.plot(runs[2].folder, "--only=queues,rates", "--from=5s", status=1, quiet=False)
        self.assertIn("at the times asked for", done.stderr)

    @full
    def test_other_programs_and_several_runs(self):
        incast = self.run_program(
            "traffic --pattern=incast --topology=single-switch --hosts=17 --fan-in=16 --bytes=400kB"
            " --pfc=0 --buffer=50kB"
        )
        done = self.plot(incast.folder, "--format=png")
        named = self.names_left_out(done)
        for name in TRAINING_ONLY + ["busbw"]:
            self.assertIn(name, named)
            self.assertRegex(self.why_left_out(incast.folder, name), rf"^{name} +left out: no ")
        # Over one size there would be a dot.
        for name, what in (("by-size", "messages"), ("slowdown", "flows")):
            self.assertIn(name, named)
            why = self.why_left_out(incast.folder, name)
            self.assertRegex(why, f"^{name} +left out: all {what} have 400 kB; ")
        self.assertEqual(len(os.listdir(incast.path("plots"))), len(ALL) - 4)
        collperf = self.run_program("collperf --ranks=16 -b 4K -e 1M")
        done = self.plot(collperf.folder, "--format=png")
        self.assertIn("busbw.png", done.stdout)
        hostile = os.path.join(self.folder, "_$x^{2}$ <script>")
        training = self.run_program(small(self), out=hostile)
        runs = [incast.folder, collperf.folder, training.folder]
        done = self.plot(*runs, "--out=compared", "--format=svg")
        # All but slowdown, which the incast alone has.
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "compared"))), len(ALL))
        for name in os.listdir(os.path.join(self.folder, "compared")):
            root = xml.etree.ElementTree.parse(
                os.path.join(self.folder, "compared", name)
            ).getroot()
            self.assertFalse([one for one in root.iter() if one.tag.endswith("}script")])
        self.plot(*runs, "--format=png", "--only=sizes", "--labels=a,b,c")
        self.assertEqual(os.listdir(incast.path("plots/compared")), ["sizes.png"])
        loaded = [self.load(folder) for folder in runs]
        self.assertEqual(self.plots.default_labels(loaded), ["run-1", "run-2", "_$x^{2}$ <script>"])
        for name in ALL:
            with self.subTest(name):
                self.check_layout(self.plots.draw(name, loaded, width=3.3))
        words = [
            one.get_text()
            for one in self.plots.draw("links", loaded).axes[0].get_legend().get_texts()
        ]
        self.assertEqual(words, ["run-1", "run-2", r" _\$x^{2}\$ <script>"])

    @full
    def test_3072_gpus(self):
        """384 servers of 8 GPUs: rows of the timeline are groups, and nothing overlaps."""
        folder = os.path.join(self.folder, "large")
        os.mkdir(folder)
        lines = ["# calls", "# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup"]
        for rank in range(3072):
            lines.append(
                f"0\t{100 + rank / 100}\t1\t{rank}\tcompute\tcompute\tforward layer 0\t0\t-"
            )
            lines.append(
                f"50\t400\t1\t{rank}\tgradients\tcollective\tall-reduce bucket 0\t1000000\tdp"
            )
        self.write("large/calls.log", "\n".join(lines) + "\n")
        links = ["time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share"]
        flows = ["flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag"]
        for server in range(384):
            edge = f"edge-{server // 96}-{server // 12 % 8}"
            for a, b in (
                (f"server-{server}", edge),
                (edge, f"agg-{server // 96}-{server % 8}"),
                (f"agg-{server // 96}-{server % 8}", f"core-{server % 16}"),
            ):
                links += [
                    f"{time},{a}->{b},{a},{b},100,0.{server % 9 + 1},{server},0"
                    for time in (100, 200, 400)
                ]
            flows.append(
                f"{server},server-{server},server-{(server + 1) % 384},1000000,50,{150 + server}"
                f",{100 + server},90,all-reduce"
                " bucket 0"
            )
        self.write("large/links.csv", "\n".join(dict.fromkeys(links)) + "\n")
        self.write("large/flows.csv", "\n".join(flows) + "\n")
        self.write(
            "large/stats.json",
            {
                "program": "dltrain",
                "completed": True,
                "gpus": 3072,
                "model": "m" * 60,
                "zero": 0,
                "step_time_us": 400,
                "step_times_us": [400],
                "simulated_time_us": 400,
                "configuration": {"cluster": {"gpus_per_server": 8}},
            },
        )
        run = self.load(folder)
        import numpy

        image, group, numbers = self.timeline.state_image(run, numpy.linspace(0, 400, 5))
        # 3,072 / 128 rows = 24 GPUs, which are three servers; a row has eight levels.
        self.assertEqual((image.shape, group, len(numbers)), ((128 * 8, 4, 3), 24, 3072))
        # First quarter of GPU 0..23: half computing only, half with communication hidden above;
        # last quarter: exposed.
        self.assertEqual(self.states(image[:8, 0]), [1] * 4 + [0] * 4)
        self.assertEqual(self.states(image[:8, 3]), [2] * 8)
        for name in ALL[:-1]:
            if name == "by-size":  # all messages have one size
                continue
            with self.subTest(name):
                self.check_layout(
                    self.plots.draw(name, [run], width=3.3 if name in ("step", "links") else 6.3)
                )

    @full
    def test_interrupted_killed_and_empty(self):
        run = self.run_program(small(self))
        stats = run.stats
        stats.update(completed=False, interrupted=True, share_done=0.25)
        for key in (
            "step_time_us",
            "step_times_us",
            "compute_time_us",
            "exposed_communication_time_us",
        ):
            stats.pop(key)
        self.write(run.path("stats.json"), stats)
        for name, length in (("flows.csv", 100001), ("links.csv", 50001), ("calls.log", 20001)):
            os.truncate(run.path(name), length)
        done = self.plot(run.folder, "--format=png", quiet=False)
        self.assertEqual(
            done.stderr,
            (
                f"plot: warning: {run.folder}: incomplete: the run was interrupted after 25% of the"
                " work\n"
            ),
        )
        # Until then all messages of the ring had one size.
        self.assertIn("by-size", self.names_left_out(done))
        why = self.why_left_out(run.folder, "by-size")
        self.assertRegex(why, "^by-size +left out: all messages have ")
        self.assertEqual(len(os.listdir(run.path("plots"))), len(ALL) - 1)
        axis = self.plots.draw("step", [self.load(run)]).axes[0]
        self.assertTrue(any(one.get_text().endswith("so far") for one in axis.texts))
        os.unlink(run.path("stats.json"))
        shutil.rmtree(run.path("plots"))
        done = self.plot(run.folder, "--format=png", quiet=False)
        self.assertIn("stats.json is missing", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        # collectives stand in stats.json
        self.assertEqual(len(os.listdir(run.path("plots"))), len(ALL) - 2)
        for name in ("flows.csv", "links.csv", "calls.log"):
            os.truncate(run.path(name), 40)  # not even the head
        done = self.plot(run.folder, status=1, quiet=False)
        self.assertIn("nothing to draw", done.stderr)


LINKS = ("time_us", "link", "from", "to", "rate_gbps", "utilization", "queue_bytes", "pause_share")


def links(table, intervals=4):
    """Rows of links.csv, of intervals of 100 us, from {(from, to): utilization}."""
    return [LINKS] + [
        (100 * (i + 1), f"{a}->{b}", a, b, 100, use, 0, 0)
        for i in range(intervals)
        for (a, b), use in table.items()
    ]


class Honest(Base):
    """A picture shows what is there, on the scale that it says."""

    def test_colours_of_topology_are_the_same_in_every_picture(self):
        idle = self.folder_of(
            "idle", links=links({("server-0", "sw-0"): 0.03, ("sw-0", "server-1"): 0.03})
        )
        busy = self.folder_of(
            "busy", links=links({("server-0", "sw-0"): 0.97, ("sw-0", "server-1"): 0.97})
        )
        colours = []
        for runs in ([idle], [busy], [idle, busy]):
            figure = self.plots.draw("topology", runs)
            (bar,) = (axis for axis in figure.axes if "utilization" in axis.get_xlabel())
            self.assertEqual(bar.get_xlim(), (0, 100))
            self.assertIn("(%)", bar.get_xlabel())
            colours.append(
                [tuple(axis.collections[0].get_colors()[0]) for axis in figure.axes[: len(runs)]]
            )
        self.assertEqual(colours[2], colours[0] + colours[1])
        self.assertNotEqual(colours[0], colours[1])

    def test_topology_of_a_torus_shows_links_between_equals(self):
        """Switches of one tier stand in a row: a straight link would lie upon all between its
        ends.
        """
        table = {}
        for i in range(4):
            table[f"server-{i}", f"sw-{i}"] = 0.5
            table[f"sw-{i}", f"sw-{(i + 1) % 4}"] = 0.5
        figure = self.plots.draw("topology", [self.folder_of("torus", links=links(table))])
        lines = figure.axes[0].collections[0].get_segments()
        tops = sorted(round(float(line[:, 1].max()), 6) for line in lines)
        self.assertEqual(tops[:4], [1.0] * 4)  # servers to their switches
        # Arcs of 12% of a tier and nine tenths of the distance, a quarter of the width; once around
        # three quarters.
        for top, far in zip(tops[4:], (0.25, 0.25, 0.25, 0.75)):
            self.assertAlmostEqual(top, 1 + 0.12 + 0.9 * far)
        self.assertLess(max(tops), figure.axes[0].get_ylim()[1])

    @long_test
    def test_topology_of_a_grid_is_a_grid(self):
        """A cell a switch, one apart: columns are the last coordinate, rows the one before it, and
        planes of a third one stand 0.6 cells further; hosts hang under their switch.
        """
        for network, switches, columns, rows in (
            ("hyperx --hyperx=3x4 --hosts-per-switch=2", 12, [0, 1, 2, 3], [-2, -1, 0]),
            ("torus --torus=5x2 --hosts-per-switch=1", 10, [0, 1], [-4, -3, -2, -1, 0]),
            ("torus --torus=3x2x2 --hosts-per-switch=1", 12, [0, 1, 2.6, 3.6, 5.2, 6.2], [-1, 0]),
        ):
            run = self.run_program(
                f"traffic --topology={network} --pattern=permutation --offset=1 --bytes=10kB"
                " --report=0 --timeline=0"
            )
            figure = self.plots.draw("topology", [self.load(run)])
            of_switches, of_hosts = figure.axes[0].lines[:2]
            at = set(zip(of_switches.get_xdata(), of_switches.get_ydata()))
            self.assertEqual(len(at), switches)
            self.assertEqual(sorted({round(x, 6) for x, _ in at}), columns)
            self.assertEqual(sorted({round(y, 6) for _, y in at}), rows)
            for host in zip(of_hosts.get_xdata(), of_hosts.get_ydata()):
                near = [(x, y) for x, y in at if 0 < host[0] - x < 0.5 and 0 < y - host[1] < 0.5]
                self.assertEqual(len(near), 1)
            segments = figure.axes[0].collections[0].get_segments()
            self.assertEqual(len(segments), run.stats["topology"]["links"])
            # No line between switches lies on a third one.
            for line in segments:
                inner = [tuple(point) for point in line[1:-1]]
                self.assertFalse(
                    any(abs(x - px) + abs(y - py) < 0.02 for x, y in at for px, py in inner)
                )
            self.check_layout(figure)

    def test_links_show_both_directions(self):
        # the same: one over the other, only the last one drawn could be seen
        up, down = [0.9, 0.5], [0.9, 0.5]
        table = {(f"server-{i}", "edge-0"): use for i, use in enumerate(up)}
        table.update({("edge-0", f"server-{i}"): use for i, use in enumerate(down)})
        run = self.folder_of("pair", links=links(table))
        for runs in ([run], [run, run]):
            for width in (3.3, 6.3):
                figure = self.plots.draw("links", runs, width=width)
                first, second = figure.axes[:2]
                self.assertIn("away from the servers", self.title(first))
                self.assertIn("towards the servers", self.title(second))
                for axis in (first, second):
                    self.assertEqual(
                        [round(float(y), 6) for y in axis.lines[0].get_ydata()], [90, 50]
                    )
                self.check_layout(figure)
        # And both are in the map over time, named.
        names = [
            one.get_text() for one in self.plots.draw("links", [run]).axes[2].get_yticklabels()
        ]
        self.assertEqual(sorted(names), ["edge→server", "server→edge"])

    def test_links_of_compared_runs_are_one_link(self):
        a = self.folder_of("a", links=links({("x", "y"): 0.9, ("y", "z"): 0.8}))
        b = self.folder_of("b", links=links({("x", "y"): 0.1, ("y", "z"): 0.7}))
        axis = self.plots.draw("links", [a, b]).axes[-1]
        self.assertIn("x->y", axis.get_title("left"))
        self.assertEqual(
            [round(float(one.get_data().values[0]), 6) for one in axis.patches], [90, 10]
        )
        c = self.folder_of("c", links=links({("u", "v"): 0.5}))
        # No link is in all: of each the busiest, by its name.
        figure = self.plots.draw("links", [a, c])
        self.check_layout(figure)
        self.assertIn("of each", self.title(figure.axes[-1]))
        words = [one.get_text() for one in figure.axes[-1].get_legend().get_texts()]
        self.assertEqual(words, ["a: x->y", "c: u->v"])

    @long_test
    def test_what_is_not_simulated_is_no_zero(self):
        """Without packets there are no links over time and no queues: nobody measured that they
        carried nothing.
        """
        from cluster_simulator import load
        from matplotlib.figure import Figure

        runs = []
        for network, words in (
            ("packet", None),
            ("analytic", "links are not simulated with --network=analytic"),
            # links are shared, and stats.json has the busiest
            ("fluid", "what links carry over time is not recorded with --network=fluid"),
        ):
            run = self.run_program(
                "traffic --topology=single-switch --hosts=4 --bytes=10kB --report=0 --timeline=0"
                f" --network={network}"
            )
            runs.append(self.load(run))
            if words is None:
                continue
            for name in ("links", "ports", "topology"):
                with self.assertRaises(self.plots.NothingToShow) as caught:
                    self.plots.draw(name, runs[-1:])
                self.assertEqual(str(caught.exception), words)
            # Options that such a run refuses are no help.
            for name, option in (
                ("queues", "--queue-interval"),
                ("rates", "--rate-interval"),
                ("queue-pairs", "--trace-qps"),
            ):
                with self.assertRaises(self.plots.NothingToShow) as caught:
                    self.plots.draw(name, runs[-1:])
                self.assertTrue(str(caught.exception).endswith(f" with --network={network}"))
                with self.assertRaisesRegex(self.plots.NothingToShow, option):
                    self.plots.draw(name, runs[:1])
            # Of a notebook, too.
            axis = load(run.folder).plot_links(ax=Figure().subplots())
            self.assertEqual([" ".join(one.get_text().split()) for one in axis.texts], [words])
        for name in ("links", "ports", "topology"):
            figure = self.plots.draw(name, runs, labels=["a", "b", "c"])
            self.check_layout(figure)
            self.assertEqual(
                self.left_out(figure),
                "Left out: b: links are not simulated with --network=analytic; c: what links carry"
                " over time is not recorded with --network=fluid",
            )
        # A notebook's step of what has none is no bar of 0 ms.
        axis = load(runs[0].folder).plot_step(ax=Figure().subplots())
        self.assertEqual((len(axis.patches), axis.get_title("left")), (0, "traffic"))
        self.assertIn("no training step", axis.texts[0].get_text())

    def sized(self, name, **messages):
        """A run of messages of 1000 B by their tags, "_" for a blank: {tag: how many}."""
        head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(",")
        rows = [
            (0, "a", "b", 1000, 0, 1, 1, 1, f"{tag.replace('_', ' ')} micro-batch {i}")
            for tag, count in messages.items()
            for i in range(count)
        ]
        return self.folder_of(name, stats={"messages": len(rows)}, flows=[head, *rows])

    @long_test
    def test_sizes_of_compared_runs_have_all_messages(self):
        """Each message is in a bar, and a row says which operations it stands for."""
        chunks = {
            f"send_{what}_chunk_{i}": 1 + i for what in ("activations", "gradients") for i in (0, 1)
        }
        three = {f"send_{what}_chunk_2": 3 for what in ("activations", "gradients")}
        every = {f"kind{letter}": 9 - i for i, letter in enumerate("abcdefgh")}
        for name, messages, rows in (
            # Four operations and one: a row each, as they are five, the most bytes first.
            (
                "five",
                {"all-reduce": 9, **chunks},
                {
                    "all-reduce": 9,
                    "send activations chunk 1": 2,
                    "send gradients chunk 1": 2,
                    "send activations chunk 0": 1,
                    "send gradients chunk 0": 1,
                },
            ),
            # More than six with those of a third chunk: 1 + 2 + 3 messages of each.
            (
                "chunks",
                {"all-reduce": 9, **chunks, **three},
                {
                    "all-reduce": 9,
                    "send activations, all chunks": 6,
                    "send gradients, all chunks": 6,
                },
            ),
            # Eight without chunks: 9, 8, 7, 6, 5, and 4 + 3 + 2 together.
            (
                "eight",
                every,
                {**{f"kind{c}": 9 - i for i, c in enumerate("abcde")}, "other (3 operations)": 9},
            ),
        ):
            run = self.sized(name, **messages)
            for width in (3.3, 6.3) if name == "five" else (6.3,):
                with self.subTest(name, width=width):
                    figure = self.plots.draw("sizes", [run, run], ["x", "y"], width=width)
                    self.check_layout(figure)
                    drawn = {}
                    for axis in figure.axes[::2]:
                        words = " ".join(axis.get_ylabel().split()).removesuffix(": messages")
                        bars = [bar.get_height() for bar in axis.patches]
                        self.assertEqual(len(bars) % 2, 0)
                        half = len(bars) // 2  # the first run's, then the second's
                        self.assertEqual(bars[:half], bars[half:])
                        drawn[words] = sum(bars[:half])
                    self.assertEqual(list(drawn.items()), list(rows.items()))
            # Of one run the same names, each with a look of its own, what is put together last.
            axis = self.plots.draw("sizes", [run]).axes[0]
            words = [one.get_text() for one in axis.get_legend().get_texts()]
            self.assertEqual(sorted(words), sorted(rows))
            self.assertIn("other" in words[-1], (False, name == "eight"))
            self.looks_of(axis)
        # What has no size has no place on that axis, and is not forgotten.
        head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(",")
        rows = [(0, "a", "b", size, 0, 1, 1, 1, "x") for size in (0, 0, 1000)]
        run = self.folder_of("empty", flows=[head, *rows])
        for runs, count in (([run], 2), ([run, run], 4)):
            figure = self.plots.draw("sizes", runs, ["x", "y"][: len(runs)])
            self.check_layout(figure)
            self.assertEqual(self.left_out(figure), f"Left out: {count} messages of 0 B")

    def looks_of(self, axis):
        """{(colour, hatch): word} of a legend, no two of which look alike."""
        legend = axis.get_legend()
        words = [one.get_text() for one in legend.get_texts()]
        looks = [
            (tuple(patch.get_facecolor()), patch.get_hatch() or "")
            for patch in legend.get_patches()
        ]
        self.assertEqual(len(set(looks)), len(words), looks)
        return dict(zip(looks, words))

    def test_operations_of_a_timeline_look_different(self):
        """A bar of each operation, in the look that the legend has for it alone."""
        head = "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        # All that a pipeline with recomputation has: well-known ones and sends and receives.
        names = ["forward", "recompute", "backward", "weights", "optimizer", "all-gather"]
        names += ["reduce-scatter", "all-reduce"]
        two = names + [
            f"{way} {what} chunk {i}"
            for way in ("send", "receive")
            for what in ("activations", "gradients")
            for i in (0, 1)
        ]
        three = two + ["send gradients chunk 2"]  # the seventeenth
        # Of names of a script's own there may be more than can be told apart.
        own = [f"mine{chr(97 + i)}" for i in range(26)]
        for name, calls, expected in (
            ("two", two, two),
            (
                "three",
                three,
                names
                + [
                    f"{way} {what}, all chunks"
                    for way in ("send", "receive")
                    for what in ("activations", "gradients")
                ],
            ),
            # A call takes as long as its place from the end: the last eleven are the shortest.
            ("own", own, own[:15] + ["other (11 operations)"]),
        ):
            run = self.folder_of(name, stats={"program": "dltrain", "step_time_us": 1000})
            rows = [
                f"{100 * i}\t{100 * i + 60 - i}\t1\t0\tcompute\tcompute\t{call}"
                f"{' micro-batch 3' if ' ' in call else ''}\t0\t-\n"
                for i, call in enumerate(calls)
            ]
            self.write(f"{name}/calls.log", head + "".join(rows))
            run = self.load(run.folder)
            figure = self.plots.draw("timeline", [run], width=3.3)
            self.check_layout(figure)
            looks = self.looks_of(figure.axes[0])
            self.assertEqual(set(looks.values()), set(expected))
            drawn = {}
            for bars in figure.axes[0].collections:
                look = (tuple(bars.get_facecolors()[0]), bars.get_hatch() or "")
                drawn[looks[look]] = drawn.get(looks[look], 0) + len(bars.get_paths())
            self.assertEqual((set(drawn), sum(drawn.values())), (set(expected), len(calls)))
        # Two chunks of one operation have its colour; chunk 1 is hatched alike in all of them.
        looks = self.style.call_looks(two)
        colours = {name: colour for name, (colour, _) in looks.items()}
        self.assertEqual(colours["send gradients chunk 0"], colours["send gradients chunk 1"])
        self.assertEqual(len(set(colours.values())), len(names) + 4)
        alone = self.style.call_looks(["send gradients chunk 1"])
        self.assertEqual(alone["send gradients chunk 1"], looks["send gradients chunk 1"])

    def test_streams_that_are_not_drawn_are_told(self):
        head = "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        run = self.folder_of("streams", stats={"program": "dltrain", "step_time_us": 100})
        for count, told in ((12, ""), (15, "Left out: 3 more streams, 12 are drawn")):
            rows = [f"0\t100\t1\t0\ts{i}\tcompute\tforward a\t0\t-\n" for i in range(count)]
            self.write("streams/calls.log", head + "".join(rows))
            figure = self.plots.draw("timeline", [self.load(run.folder)])
            self.assertEqual(self.left_out(figure), told)
        self.check_layout(figure)

    @long_test
    def test_what_there_is_no_room_for_is_told(self):
        """Bars of calls, ports and queues of one run: as many as are drawn, and how many more."""
        head = "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        step = {"program": "dltrain", "step_time_us": 100, "step_times_us": [100]}
        for count, told in ((12, ""), (14, "Left out: 2 more operations, 12 are drawn")):
            run = self.folder_of(f"calls{count}", stats=step)
            rows = [
                f"{i}\t{i + 1}\t1\t0\tcompute\tcompute\tmine{chr(97 + i)}\t0\t-\n"
                for i in range(count)
            ]
            self.write(f"calls{count}/calls.log", head + "".join(rows))
            figure = self.plots.draw("step", [self.load(run.folder)])
            self.assertEqual(len(figure.axes[1].get_yticklabels()), 12)
            self.assertEqual(self.left_out(figure), told)
        self.check_layout(figure)
        # One port has nothing: nobody misses it.
        for count, told in (
            (5, ""),
            (7, "Left out: 2 of 7 ports with queues, marks or pauses"),
        ):
            rows = [
                (100, f"s->h{i}", "s", f"h{i}", 100, 0.5, 0 if i == count else 9 - i, 0)
                for i in range(count + 1)
            ]
            figure = self.plots.draw("ports", [self.folder_of(f"p{count}", links=[LINKS, *rows])])
            self.assertEqual(len(figure.axes[0].get_legend().get_texts()), 5)
            self.assertEqual(self.left_out(figure), told)
        self.check_layout(figure)
        for count, told in ((8, ""), (9, "Left out: 1 of 9 ports in queues.csv")):
            run = self.queues(f"q{count}", **{f"s0_h{i}": 9 + i for i in range(count)})
            figure = self.plots.draw("queues", [run])
            self.assertEqual(len(figure.axes[0].lines), 8)
            self.assertEqual(self.left_out(figure), told)
        self.check_layout(figure)

    def test_curves_of_many_runs_look_different(self):
        """The eighth run has the colour of the first: its curves have other dashes or marks."""
        sizes = (1 << 10, 1 << 20)
        rows = [
            {"op": op, "algorithm": "ring", "bytes": size, "busbw_GBps": 9.0}
            for op in ("all_gather", "all_reduce", "broadcast")
            for size in sizes
        ]
        run = self.folder_of("three", stats={"collectives": rows})
        for runs in (8, 2):
            labels = [str(i) for i in range(runs)]
            axis = self.plots.draw("busbw", [run] * runs, labels).axes[0]
            looks = {
                (
                    one.get_color(),
                    str(one._unscaled_dash_pattern),
                    one.get_marker(),
                    one.get_fillstyle(),
                )
                for one in axis.lines
                if len(one.get_ydata()) == len(sizes)
            }
            self.assertEqual(len(looks), 3 * runs)
        # So have its losses.
        run = self.folder_of("lossy", links=links({("a", "b"): 0.5}))
        lines = [f"{100 * i}.0 {what} a->b" for i, what in ((1, "drop"), (2, "timeout"))]
        self.write("lossy/network_events.log", "\n".join(lines) + "\n# end\n")
        run = self.load(run.folder)
        figure = self.plots.draw("ports", [run] * 8, [str(i) for i in range(8)])
        looks = {
            (one.get_color(), str(one._unscaled_dash_pattern), one.get_linewidth())
            for one in figure.axes[3].lines
        }
        self.assertEqual((len(figure.axes[3].lines), len(looks)), (16, 16))

    @long_test
    def test_each_run_that_is_missing_has_its_own_reason(self):
        """Nobody is forgotten where one run has no table and another none of the time asked for."""
        none = self.folder_of("none")
        early = self.queues("early", s0_h0=9)  # 10 to 50 us
        head = ("time_us", "link", "mean_bytes", "max_bytes")
        late = self.folder_of("late", queues=[head, (100, "s0->h0", 5, 5)])
        told = (
            "none: no queues over time (queues.csv is missing or empty; --queue-interval); early:"
            " no queue at the times asked for (--from, --until)"
        )
        figure = self.plots.draw("queues", [none, early, late], times=(60, 200))
        self.assertEqual(self.left_out(figure), f"Left out: {told}")
        with self.assertRaises(self.plots.NothingToShow) as caught:
            self.plots.draw("queues", [none, early], times=(60, 200))
        self.assertEqual(str(caught.exception), told)

    def test_axes_say_what_they_count_from(self):
        """Of a run without a warm-up nobody has to ask when measuring began."""
        head = "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share".split(",")
        rows = [(time, "a->b", "a", "b", 100, 0.5, 9, 0) for time in (200, 300)]
        for begin, words in ((0, "the simulation"), (100, "measuring")):
            stats = {"simulated_time_us": 300, "measured_from_us": begin}
            run = self.folder_of(f"from{begin}", stats=stats, links=[head, *rows])
            for name in ("ports", "links"):
                labels = [axis.get_xlabel() for axis in self.plots.draw(name, [run]).axes]
                told = [label for label in labels if label.startswith("time since")]
                self.assertEqual(told, [f"time since {words} began (µs)"], name)

    def test_ports_show_marks_in_the_intervals_of_queues(self):
        """links.csv has marks by the interval; of older results network_events.log has them by the
        millisecond.
        """
        head = "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share,ecn_marks".split(
            ","
        )
        of = {100: (500, 0, 3), 200: (0, 0.5, 0), 700: (100, 0.25, 8), 1000: (9, 0, 1)}
        rows = [(time, "a->b", "a", "b", 100, 0.5, *values) for time, values in of.items()]
        run = self.folder_of("marks", stats={"simulated_time_us": 1000}, links=[head, *rows])
        run_of_two = self.folder_of(
            "marks2", stats={"simulated_time_us": 1000}, links=[head, *rows]
        )
        for runs in ([run], [run, run_of_two]):
            axes = self.plots.draw("ports", runs).axes
            for axis in axes[:3]:
                edges = [
                    round(1000 * x) if x < 2 else round(x) for x in axis.patches[0].get_data().edges
                ]
                self.assertEqual(edges, [100 * i for i in range(11)], axis.get_ylabel())
            marks = [round(float(y), 6) for y in axes[1].patches[0].get_data().values]
            # 3 marks in 100 us are 30 a millisecond.
            self.assertEqual(marks, [30, 0, 0, 0, 0, 0, 80, 0, 0, 10])
            paused = [round(float(y), 6) for y in axes[2].patches[0].get_data().values]
            self.assertEqual(paused, [0, 50, 0, 0, 0, 0, 25, 0, 0, 0])
        old = self.folder_of(
            "old", stats={"simulated_time_us": 1000}, links=[row[:-1] for row in (head, *rows)]
        )
        self.write("old/network_events.log", "0 ecn a->b 12 marks\n# end\n")
        axis = self.plots.draw("ports", [self.load(old)]).axes[1]
        self.assertEqual(axis.patches[0].get_data().values.tolist(), [12])
        # Many intervals: bins of as many whole ones each, the last with what is left; no mark
        # counts twice or never.
        rows = [(10 * (i + 1), "a->b", "a", "b", 100, 0.5, 0, 1, 7) for i in range(1000)]
        many = self.folder_of("many-marks", stats={"simulated_time_us": 10000}, links=[head, *rows])
        axes = self.plots.draw("ports", [many]).axes
        for axis, value in ((axes[1], 700), (axes[2], 100)):
            self.assertEqual(
                {round(float(y), 6) for y in axis.patches[0].get_data().values}, {value}
            )
        links = self.measures.Links(many)
        self.assertEqual(links.edges(300)[[0, 1, -2, -1]].tolist(), [0, 40, 9960, 10000])
        # A measured time that begins within an interval.
        links.begin = 25.0
        self.assertEqual(links.edges(300)[[0, 1, -1]].tolist(), [0, 35, 9975])

    @long_test
    def test_single_samples_are_seen(self):
        """A line over time through one point is nothing: it has a mark; a queue pair's line of a
        moment too.
        """
        head = "time_us,flows,jain,gbps".split(",")
        one = self.folder_of("one-sample", fairness=[head, (100, 8, 0.9, 95)])
        two = self.folder_of("two-samples", fairness=[head, (100, 8, 0.9, 95), (200, 8, 0.8, 95)])
        from cluster_simulator.plots.comparison import draw_comparison

        slow = [
            "tag,kind,from_bytes,to_bytes,flows,mean,p50,p95,p99,p999,max".split(","),
            ("all", "group", 9, 9, 200, *[2] * 6),
        ]
        compared = self.folder_of("one-compared", fairness=[head, (100, 8, 0.9, 95)], slowdown=slow)
        for jain, marked in (
            (self.plots.draw("rates", [one]).axes[-1], True),
            (self.plots.draw("rates", [two]).axes[-1], False),
            (draw_comparison(self.plots.items_of([compared], ["x"]), 6.3).axes[3], True),
        ):
            self.assertIn("Jain", jain.get_ylabel())
            line = jain.lines[0]
            self.assertEqual(line.get_marker() not in (None, "None", ""), marked)
            self.assertEqual(line.get_markevery(), [0] if marked else [])
        queues = ["time_us,link,mean_bytes,max_bytes".split(","), (10, "a->b", 500, 500)]
        axis = self.plots.draw("queues", [self.folder_of("one-queue", queues=queues)]).axes[0]
        self.assertEqual(axis.lines[0].get_markevery(), [0])

    def queues(self, name, **ports):
        rows = [("time_us", "link", "mean_bytes", "max_bytes")]
        rows += [
            (10 * (i + 1), port.replace("_", "->"), size, size)
            for port, size in ports.items()
            for i in range(5)
        ]
        return self.folder_of(name, stats={"queues_csv": {"interval_us": 10}}, queues=rows)

    def test_queues_of_compared_runs_are_the_same_ports(self):
        a = self.queues("a", s0_h0=9000, s0_h1=500, s1_h3=4000)
        b = self.queues("b", s0_h1=8000, s0_h0=700, s1_h4=6000)
        for width in (3.3, 6.3):
            figure = self.plots.draw("queues", [a, b], width=width)
            self.check_layout(figure)
            titles = [self.title(axis) for axis in figure.axes]
            # In both, by their bytes together; then the longest that only one has, and it says so.
            self.assertEqual(
                [title.split(";")[0].strip() for title in titles], ["s0->h0", "s0->h1", "s1->h4"]
            )
            self.assertNotIn("not among", titles[0] + titles[1])
            self.assertIn("not among the longest of: a", titles[2])
            drawn = [
                sorted(
                    float(line.get_ydata().max()) for line in axis.lines if len(line.get_ydata())
                )
                for axis in figure.axes
            ]
            self.assertEqual(drawn, [[0.7, 9.0], [0.5, 8.0], [6.0]])  # kB
        # One run: its own ports, in one panel.
        self.assertEqual(len(self.plots.draw("queues", [a]).axes), 1)

    def left_out(self, figure):
        label = figure._supxlabel
        return label.get_text().replace("\n", " ") if label else ""

    @long_test
    def test_queues_show_each_run_or_tell(self):
        """The longest queue of all is at a port that no other run has, and the runs that have the
        most in common are others.
        """
        same = [self.queues(f"same-{i}", s0_h0=50 + i, s0_h1=40, s0_h2=30) for i in range(3)]
        other = self.queues("other", t9_h9=90000, t8_h8=5)
        for width in (3.3, 6.3):
            figure = self.plots.draw("queues", [*same, other], width=width)
            self.check_layout(figure)
            titles = [self.title(axis).split(";")[0] for axis in figure.axes]
            self.assertEqual(titles, ["s0->h0", "s0->h1", "s0->h2", "t9->h9"])
            self.assertEqual(max(figure.axes[3].lines[0].get_ydata()), 90)  # kB
            self.assertEqual(self.left_out(figure), "Left out: 1 of 5 ports in queues.csv")
        # A run that has the longest queue of all, and is seen at another port, too.
        most = self.queues("most", s0_h0=1, u0_h0=95000)
        figure = self.plots.draw("queues", [*same, other, most])
        titles = [self.title(axis).split(";")[0] for axis in figure.axes]
        self.assertEqual(titles, ["s0->h0", "s0->h1", "s0->h2", "u0->h0", "t9->h9"])
        # More runs than there is room for: those with the longest are drawn, the others told.
        many = [self.queues(f"run-{i}", **{f"x{i}_h0": 1000 + i}) for i in range(9)]
        figure = self.plots.draw("queues", many, width=3.3)
        self.check_layout(figure)
        drawn = {self.title(axis).split(";")[0] for axis in figure.axes}
        self.assertEqual(len(drawn), 6)
        self.assertIn("x8->h0", drawn)
        told = self.left_out(figure)
        for i in range(9):
            words = f"the queues of run-{i}, which has none at these ports"
            self.assertEqual(words in told, f"x{i}->h0" not in drawn)
        self.assertTrue(told.endswith("3 of 9 ports in queues.csv"), told)

    @long_test
    def test_words_are_not_cut_in_a_column(self):
        """84 mm: what does not fit into a line goes into the next."""
        stats = {
            "program": "dltrain",
            "model": "bloom-560m",
            "gpus": 128,
            "step_time_us": 1000,
            "compute_time_us": 600,
            "exposed_communication_time_us": 400,
            "configuration": {
                "network": {"topology": "rail-optimized"},
                "cluster": {"nics_per_server": 8},
                "fabric": {"nic": "200GbE"},
            },
        }
        name = "a-study-of-rails-and-of-two-tiers-of-them"
        run = self.folder_of(name, stats=stats, links=links({("a-1", "b-2"): 0.5}))
        heights = {}
        for picture in ("step", "links", "ports"):
            for width in (84 / 25.4, 6.3):
                figure = self.plots.draw(picture, [run], width=width)
                self.check_layout(figure)
                words = figure._suptitle.get_text()
                self.assertEqual(words.replace("\n", " "), f"{name}:  {self.style.describe(run)}")
                heights[width] = words.count("\n")
            self.assertLess(heights[6.3], heights[84 / 25.4])
        long = [self.queues(f"a-run-with-a-name-of-some-length-{i}", s0_h0=9 - i) for i in range(4)]
        long.append(self.queues("one-that-has-another-port-than-all-others", s0_h1=8))
        figure = self.plots.draw("queues", long, width=84 / 25.4)
        self.check_layout(figure)
        words = self.title(figure.axes[1]).replace("\n", " ")
        self.assertIn("not among the longest of: a-run-with-a-n", words)
        self.assertEqual(words.count("length-"), 4)

    @long_test
    def test_steps_that_took_no_time(self):
        """Calls that begin and end at once: there is nothing to draw, and that is what it says."""
        head = "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        none = {"step_time_us": 0, "step_times_us": [0], "compute_time_us": 0}
        stats = {"program": "dltrain", "measured_from_us": 50, **none}
        for place, stopped in ((50, {}), (20, {"completed": False, "interrupted": True})):
            self.folder_of("none", stats={**stats, "share_done": 0.1, **stopped})
            calls = f"{place}\t{place}\t1\t0\tcompute\tcompute\tforward a\t0\t-\n"
            self.write("none/calls.log", head + calls)
            done = self.plot("none", "--only=step,timeline", status=1, quiet=False)
            said = [line for line in done.stderr.splitlines() if "warning" not in line]
            self.assertEqual(
                said,
                [
                    "step        left out: no training step that took time was measured (only"
                    " dltrain has steps)",
                    "timeline    left out: no call that took time was measured (only dltrain"
                    " writes calls.log)",
                    "plot: error: there is nothing to draw in none",
                ],
            )
        # Beside one that did, it is told.
        self.folder_of("some", stats={"program": "dltrain", "step_time_us": 100})
        self.write("some/calls.log", head + "0\t100\t1\t0\tcompute\tcompute\tf a\t0\t-\n")
        runs = [self.load(os.path.join(self.folder, name)) for name in ("none", "some")]
        for picture in ("step", "timeline"):
            figure = self.plots.draw(picture, runs, width=3.3)
            self.assertIn("Left out: none (incomplete): no ", self.left_out(figure))
            self.assertIn("some", figure._suptitle.get_text())

    def test_runs_of_several_jobs_say_where_their_steps_are(self):
        jobs = [{"name": "a", "step_time_us": 5, "collectives": [{"op": "all_reduce"}]}]
        self.folder_of("jobs", stats={"program": "dltrain", "jobs": jobs})
        done = self.plot("jobs", "--only=step,timeline,busbw", status=1, quiet=False)
        where = "; what each job did is in stats.json and report.html"
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertTrue(all(line.endswith(where) for line in lines[:3]), done.stderr)

    def test_watched_ports(self):
        """Six ports at most: those with the longest queues, the most paused one and the one with
        the most marks. Rates of more than a hundred intervals are means over several."""
        # Eight ports, 250 intervals. Port 6, of the shortest queues but one, is paused; port 0 has
        # the marks. Three and four frames in turn are 75 and 100 Gb/s.
        head = "time_us,port,queue_bytes,rate_gbps,pause_share,ecn_marks".split(",")
        rows = [
            (t, f"p{i}", 1000 - i, 75 + 25 * (t % 2), 0.5 * (i == 6), int(i == 0))
            for t in range(1, 251)
            for i in range(8)
        ]
        run = self.folder_of("many", watch=[head, *rows], stats={"watch_csv": {"interval_us": 1}})
        figure = self.plots.draw("watch", [run])
        self.check_layout(figure)
        queue, rate, paused, marks = figure.axes
        names = [one.get_text() for one in queue.get_legend().get_texts()]
        self.assertEqual(names, ["p0", "p1", "p2", "p3", "p4", "p6"])
        # 250 intervals in at most 100 means: of three, the last one of one.
        self.assertEqual(rate.get_ylabel(), "rate (Gb/s)\nmean of 3 \N{MICRO SIGN}s")
        line = rate.lines[0]
        self.assertEqual(line.get_xdata()[:3].tolist(), [0, 3, 6])
        self.assertAlmostEqual(line.get_ydata()[1], (100 + 75 + 100) / 3)
        self.assertAlmostEqual(line.get_ydata()[2], (75 + 100 + 75) / 3)
        self.assertEqual((line.get_xdata()[-1], line.get_ydata()[-1]), (250, 75))
        self.assertEqual({y for one in paused.lines for y in one.get_ydata()}, {0, 50})
        self.assertEqual(max(marks.lines[0].get_ydata()), 1)
        # Few intervals are drawn as they are, and what has no row is zero.
        few = self.folder_of("few", watch=[head, (2, "a", 9, 100, 0, 0), (9, "a", 9, 50, 0, 0)])
        rate = self.plots.draw("watch", [few]).axes[1]
        self.assertEqual(rate.get_ylabel(), "rate (Gb/s)")
        self.assertEqual(rate.lines[0].get_xdata().tolist(), [1, 2, 8, 9])
        self.assertEqual(rate.lines[0].get_ydata().tolist(), [0, 100, 0, 50])

    def queue_pairs(self, name, pairs):
        """queue_pairs.csv as --trace-qps writes it: {(src, dst, number): [(time, rate, window or
        "")]}
        """
        rows = [
            (time, *pair, "" if time > 20 else 3, rate, window)
            for pair, of in pairs.items()
            for time, rate, window in of
        ]
        head = "time_us,src,dst,qp,flow,rate_gbps,window_bytes".split(",")
        return self.folder_of(name, queue_pairs=[head, *sorted(rows)])

    def test_queue_pairs(self):
        run = self.queue_pairs(
            "one",
            {
                ("a", "b", 2): [(0, 100, ""), (10, 50, ""), (30, 60.5, "")],
                ("c", "b", 4): [(5, 100, 8000), (25, 20, 4000)],
            },
        )
        for width in (3.3, 6.3):
            figure = self.plots.draw("queue-pairs", [run], width=width)
            self.check_layout(figure)
            rate, window = figure.axes
            # A value holds until the next one; no flow (from 20 us on) and no window are empty
            # fields, and no line.
            self.assertEqual(rate.lines[0].get_xdata().tolist(), [0, 10, 30, 30])
            self.assertEqual([y for y in rate.lines[0].get_ydata() if y == y], [100, 50])
            self.assertEqual(rate.lines[0].get_drawstyle(), "steps-post")
            self.assertEqual([y == y for y in window.lines[1].get_ydata()], [True, False, False])
            self.assertEqual(self.title(rate), "no line: no flow under way")
            self.assertEqual(
                (rate.get_ylabel(), window.get_ylabel()), ("rate (Gb/s)", "window (kB)")
            )
            words = [one.get_text() for one in rate.get_legend().get_texts()]
            self.assertEqual(words, ["a->b, queue pair 2", "c->b, queue pair 4"])
        self.assertEqual(
            self.plots.draw("queue-pairs", [run], times=(5, 20)).axes[0].get_xlim(), (5, 20)
        )
        # No window at all is said, and no panel is empty for it; of many eight are drawn, in the
        # order of their names, and how many there are.
        many = self.queue_pairs(
            "many",
            {("a", "b", 2 * i): [(t, 100 - t, "") for t in range(20 - i)] for i in range(12)},
        )
        figure = self.plots.draw("queue-pairs", [many])
        self.check_layout(figure)
        self.assertEqual([len(axis.lines) for axis in figure.axes], [8])
        self.assertIn("8 of 12 queue pairs", self.title(figure.axes[0]))
        self.assertIn("no window", self.title(figure.axes[0]))
        self.assertEqual(
            [one.get_text() for one in figure.axes[0].get_legend().get_texts()],
            [f"a->b, queue pair {2 * number}" for number in range(8)],
        )
        # Several runs: the same ends, or it is said which run has them not.
        for width in (3.3, 6.3):
            figure = self.plots.draw("queue-pairs", [run, many], width=width)
            self.check_layout(figure)
            self.assertEqual([len(axis.lines) for axis in figure.axes], [2, 2, 1, 1])
            self.assertEqual(self.title(figure.axes[0]), "a->b; no line: no flow under way")
            self.assertIn("not watched in: many", self.title(figure.axes[2]))
        # Extremes stay when there are more points than a line can show.
        import numpy

        from cluster_simulator.plots.queue_pairs import thinned

        values = numpy.full(100000, 5.0)
        values[777], values[77777] = 1, 9
        times, kept = thinned(numpy.arange(100000.0), values)
        self.assertLess(len(times), 6001)
        self.assertEqual((kept[times == 777].tolist(), kept[times == 77777].tolist()), ([1], [9]))

    @long_test
    def test_idle_queue_pairs_have_no_line(self):
        """A queue pair whose rate does not change as its last message arrives has no row of that:
        flows.csv tells.
        """

        def table(*rows):
            return ["time_us,src,dst,qp,flow,rate_gbps,window_bytes".split(","), *rows]

        def flows(*rows):
            head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(",")
            return [
                head,
                *((n, "a", "b", 9, begin, end, end - begin, 1, "x") for n, begin, end in rows),
            ]

        def lines(name, messages, changes, *of):
            run = self.folder_of(
                name, stats={"messages": messages}, queue_pairs=table(*changes), flows=flows(*of)
            )
            figure = self.plots.draw("queue-pairs", [run])
            self.check_layout(figure)
            return [
                list(zip(line.get_xdata().tolist(), line.get_ydata().tolist()))
                for line in figure.axes[0].lines
            ]

        def drawn(line):
            return [(x, y) for x, y in line if y == y]

        one = (0, "a", "b", 2, 1, 100, "")
        # Message 1 is over at 10, message 4 begins at 30 and is over at 40; 100 Gb/s all the time,
        # and one row.
        line = lines("gap", 2, [one, (50, "a", "b", 2, "", 90, "")], (1, 0, 10), (4, 30, 40))[0]
        self.assertEqual(
            [(x, y == y) for x, y in line[:4]], [(0, True), (10, False), (30, True), (40, False)]
        )
        self.assertEqual(drawn(line), [(0, 100), (30, 100)])
        # The one comes before the other is over: no gap. A message that is known to be of another
        # queue pair fills none.
        self.assertEqual(
            [x for x, _ in drawn(lines("chain", 2, [one], (1, 0, 10), (4, 5, 40))[0])], [0, 5, 10]
        )
        other = (5, "a", "b", 3, 4, 80, "")
        self.assertEqual(
            [x for x, _ in drawn(lines("other", 2, [one, other], (1, 0, 10), (4, 5, 40))[0])], [0]
        )
        # With messages missing in flows.csv the line still ends with its own; of what is not there
        # nothing is concluded (message 7), and the title says so. Rows of READs never have a flow.
        part = [one, (50, "a", "b", 2, 7, 90, "")]
        self.assertEqual([x for x, _ in drawn(lines("part", 3, part, (1, 0, 10))[0])], [0, 50, 50])
        title = self.title(
            self.plots.draw("queue-pairs", [self.load(os.path.join(self.folder, "part"))]).axes[0]
        )
        self.assertEqual(title, "no line: no flow of flows.csv under way; no window")
        # The axis reaches the run's end; what is too short to be seen there has a mark.
        for name, messages in (("whole", 2), ("measured", 3)):
            stats = {"messages": messages, "simulated_time_us": 10000}
            changes = [one, (1010, "a", "b", 3, 4, 80, "")]
            of = flows((1, 0, 579), (4, 1010, 1024))
            run = self.folder_of(name + "-end", stats=stats, queue_pairs=table(*changes), flows=of)
            for runs in ([run], [run, run]):
                axis = self.plots.draw("queue-pairs", runs, labels=["x", "y"][: len(runs)]).axes[0]
                self.assertAlmostEqual(axis.get_xlim()[1], 10)
            axis = self.plots.draw("queue-pairs", [run]).axes[0]
            ends = [
                max(x for x, y in zip(line.get_xdata(), line.get_ydata()) if y != y)
                for line in axis.lines
            ]
            self.assertEqual(ends, [10, 10])
            after = [
                min(x for x, y in zip(line.get_xdata(), line.get_ydata()) if y != y)
                for line in axis.lines
            ]
            self.assertEqual(after, [0.579, 1.024])
            self.assertEqual([line.get_markevery() for line in axis.lines], [[], [0]])
        read = [(0, "a", "b", 2, "", 100, ""), (50, "a", "b", 2, "", 90, "")]
        self.assertEqual(
            drawn(lines("read", 1, read, (1, 0, 10))[0]), [(0, 100), (50, 90), (50, 90)]
        )

    def test_timeline_does_not_bleach_short_calls(self):
        """A call of 2 us in 10,000 us of waiting: its own colour, no mean of it and of what waits;
        no white edges.
        """
        head = ["# calls", "# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup"]
        rows = [
            "0\t1\t1\t0\tcompute\tcompute\tforward a\t0\t-",
            "5000\t5002\t1\t0\tcompute\tcompute\tbackward a\t0\t-",
        ]
        rows += ["9990\t10000\t1\t0\tgradients\tcollective\tall-reduce b\t100\tdp"]
        run = self.folder_of(
            "short", stats={"program": "dltrain", "step_time_us": 10000, "step_times_us": [10000]}
        )
        self.write("short/calls.log", "\n".join(head + rows) + "\n")
        import numpy

        image, _, _ = self.timeline.state_image(run, numpy.linspace(0, 10000, 1501))
        shown = {state for column in range(1500) for state in self.states(image[:, column])}
        self.assertEqual(shown, {0, 2, 3})
        self.assertIn(0, self.states(image[:, 750]))  # 5000 of 10000
        figure = self.plots.draw("timeline", [run])
        for bars in figure.axes[0].collections:
            for box, edge in zip(bars.get_paths(), bars.get_edgecolors()):
                wide = box.get_extents().width
                if wide < 10000 * 0.006:
                    self.assertNotEqual(tuple(edge[:3]), (1, 1, 1))

    def test_what_has_left_does_not_wait(self):
        head = "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        stays = "0\t400\t1\t0\tcompute\tcompute\tforward a\t0\t-\n"
        failure = {"ranks_left": [1], "gpus_failed": [1], "failed_us": 200, "known_us": 250}
        run = self.folder_of(
            "leaves", stats={"program": "dltrain", "recovery": {"failures": [failure]}}
        )
        self.write(
            "leaves/calls.log",
            head + stays + "0\t100\t1\t1\tcompute\tcompute\tforward a\t0\t-\n",
        )
        import numpy

        image, _, _ = self.timeline.state_image(run, numpy.linspace(0, 400, 5))
        rank = image[len(image) // 2 :]
        self.assertEqual(set(self.states(rank[:, 0])), {0})
        self.assertEqual(set(self.states(rank[:, 1])), {3})
        self.assertTrue((rank[:, 2:] == 1).all())  # blank
        figure = self.plots.draw("timeline", [run])
        legends = [axis.get_legend() for axis in figure.axes if axis.get_legend()]
        words = [one.get_text() for legend in legends for one in legend.get_texts()]
        self.assertIn("has left the job", " ".join(words))

    def test_levels_of_a_timeline(self):
        import numpy

        shares = numpy.array(
            [
                [1.0, 0.001, 0.5, 0.0, 0.4],
                [0.0, 0.001, 0.25, 0.0, 0.3],
                [0.0, 0.998, 0.25, 0.0, 0.3],
            ]
        )
        # Nothing that happened is left out; what is whole has no waiting in it.
        self.assertEqual(
            self.timeline.levels_of(shares, 8).T.tolist(),
            [[8, 0, 0, 0], [1, 1, 6, 0], [4, 2, 2, 0], [0, 0, 0, 8], [4, 2, 2, 0]],
        )

    def test_slowdown_is_over_size(self):
        head = "tag,kind,from_bytes,to_bytes,flows,mean,p50,p95,p99,p999,max".split(",")
        rows = [
            ("all", "group", low, high, 100, 2, s, s + 1, s + 2, 9, 9)
            for low, high, s in ((100, 400, 2), (10000, 10000, 3))
        ]
        run = self.folder_of("some", slowdown=[head, *rows])
        figure = self.plots.draw("slowdown", [run])
        for axis, add in zip(figure.axes, (0, 1, 2)):
            self.assertEqual(axis.get_xscale(), "log")
            self.assertEqual(axis.get_xlabel(), "flow size")
            self.assertTrue(any("B" in one.get_text() for one in axis.get_xticklabels()))
            # The middle of 100 and 400 on that axis is 200.
            self.assertEqual(axis.lines[0].get_xdata().tolist(), [200, 10000])
            self.assertEqual(axis.lines[0].get_ydata().tolist(), [2 + add, 3 + add])
            self.assertEqual(
                [list(part[:, 0]) for part in axis.collections[0].get_segments()],
                [[100, 400], [10000, 10000]],
            )
        self.check_layout(figure)
        # p95 wants 20 flows in a group, p99 100: of fewer they are the slowest one, and not drawn;
        # the axis says so.
        counts = {100: 100, 1000: 99, 10000: 20, 100000: 19}
        rows = [("all", "group", size, size, count, *[2] * 6) for size, count in counts.items()]
        for runs in (1, 2):
            figure = self.plots.draw(
                "slowdown",
                [self.folder_of(f"counts{i}", slowdown=[head, *rows]) for i in range(runs)],
            )
            self.check_layout(figure)
            for axis, least in zip(figure.axes, (1, 20, 100)):
                kept = [size for size, count in counts.items() if count >= least]
                self.assertEqual(axis.lines[0].get_xdata().tolist(), kept)
                self.assertEqual(len(axis.collections[0].get_segments()), len(kept))
                words = "flow size" + (f"\n(groups of {least} or more)" if least > 1 else "")
                self.assertEqual(axis.get_xlabel(), words)
        figure = self.plots.draw(
            "slowdown", [self.folder_of("few", slowdown=[head, *rows[2:]])], width=3.3
        )
        self.check_layout(figure)
        # A panel that would be empty is left out, and the picture says why.
        self.assertEqual([axis.get_ylabel() for axis in figure.axes], [
            "slowdown, median", "slowdown, 95th percentile",
        ])
        self.assertEqual(
            " ".join(figure._supxlabel.get_text().split()),
            "Left out: p99: a group has at most 20 flows, 100 are wanted (fewer of traffic's"
            " --size-groups)",
        )
        # Classes alone, or other tags', are no groups.
        other = self.folder_of(
            "other", slowdown=[head, ("all", "class", 0, 9, 1, 1, 1, 1, 1, 1, 1)]
        )
        with self.assertRaises(self.plots.NothingToShow):
            self.plots.draw("slowdown", [other])

    def test_slowdown_draws_kinds_apart(self):
        """An incast of one size is no point of the load's line: in one run by colour, in several by
        filled marks.
        """
        head = "tag,kind,from_bytes,to_bytes,flows,mean,p50,p95,p99,p999,max".split(",")
        rows = [
            (tag, "group", size, size, flows, s, s, s, s, s, s)
            for tag, size, flows, s in (
                ("all", 100, 200, 2),
                ("all", 200, 300, 7),
                ("all", 300, 200, 3),
                ("incast", 200, 100, 9),
                ("poisson", 100, 200, 2),
                ("poisson", 200, 200, 5),
                ("poisson", 300, 200, 3),
            )
        ]
        run = self.folder_of("kinds", slowdown=[head, *rows])
        for runs in ([run], [run, run]):
            figure = self.plots.draw("slowdown", runs, labels=[str(i) for i in range(len(runs))])
            self.check_layout(figure)
            for axis in figure.axes:
                self.assertEqual(
                    [line.get_ydata().tolist() for line in axis.lines], [[2, 5, 3], [9]] * len(runs)
                )
            words = [one.get_text() for one in figure.axes[0].get_legend().get_texts()]
            self.assertEqual(words, (["0", "1"] if len(runs) > 1 else []) + ["poisson", "incast"])
            looks = {
                (str(one.get_color()), one.get_marker(), one.get_fillstyle())
                for one in figure.axes[0].lines
            }
            self.assertEqual(len(looks), 2 * len(runs))
        # More kinds than looks: it is said.
        rows = [(f"k{i}", "group", 100, 100, 20 - i, 2, 2, 2, 2, 2, 2) for i in range(9)]
        figure = self.plots.draw(
            "slowdown", [self.folder_of("nine", slowdown=[head, ("all", *rows[0][1:]), *rows])]
        )
        self.check_layout(figure)
        words = [one.get_text() for one in figure.axes[0].get_legend().get_texts()]
        self.assertEqual((len(words), words[-1]), (6, "k5 (3 kinds of fewer flows are left out)"))

    def test_completion_has_a_linear_and_a_logarithmic_axis(self):
        head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(",")
        rows = [(i, "a", "b", 1000, 0, i + 1, i + 1, 1, "x") for i in range(1000)]
        figure = self.plots.draw(
            "completion", [self.folder_of("c", stats={"messages": 1000}, flows=[head, *rows])]
        )
        self.check_layout(figure)
        for axis in figure.axes[:2]:  # 0 to 100%: half of the messages are at half of the height
            line = axis.lines[0]
            self.assertEqual(
                [one.get_text() for one in axis.get_yticklabels()], ["0", "25", "50", "75", "100"]
            )
            self.assertAlmostEqual(dict(zip(line.get_xdata(), line.get_ydata()))[500], 50)
        for axis in figure.axes[2:]:
            line = axis.lines[0]
            at = dict(zip(line.get_xdata(), line.get_ydata()))
            self.assertAlmostEqual(at[900], 1)
            self.assertAlmostEqual(at[990], 2)
            self.assertEqual(
                [one.get_text() for one in axis.get_yticklabels()], ["0", "50", "90", "99", "99.9"]
            )
        for axis in figure.axes:
            self.assertIn("(%)", axis.get_ylabel())

    def test_by_size_has_no_quantiles_of_a_few(self):
        head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(",")
        for name, counts, expected in (
            ("few", {10: 99, 20: 100}, [False, True]),
            ("many", {10: 1000}, [True]),
        ):
            rows = [
                (0, "a", "b", size, 0, 1, 1, 1, "x")
                for size, count in counts.items()
                for _ in range(count)
            ]
            run = self.folder_of(name, flows=[head, *rows])
            table = self.measures.by_size(run, "fct_us", sorted(counts))
            self.assertEqual([p99 == p99 for p99 in table["p99"]], expected)
            self.assertEqual(
                [p999 == p999 for p999 in table["p999"]],
                [count >= 1000 for count in counts.values()],
            )

    def test_units_of_sizes(self):
        """Powers of two in MiB, round decimal numbers in MB; a mixture in MB."""
        for name, sizes, units in (
            ("binary", (64 << 20, 128 << 20, 256 << 20), {"64 MiB", "128 MiB", "256 MiB"}),
            ("small", (8, 128, 2048, 32768), {"16 B", "256 B", "4 KiB"}),
            (
                "decimal",
                (10**7, 2 * 10**7, 4 * 10**7),
                {"10 MB", "15 MB", "20 MB", "30 MB", "40 MB"},
            ),
            ("mixed", (1 << 20, 10**7), {"1 MB", "3 MB", "10 MB"}),
        ):
            rows = [
                {"op": "all_reduce", "algorithm": "ring", "bytes": size, "busbw_GBps": 9.0}
                for size in sizes
            ]
            figure = self.plots.draw("busbw", [self.folder_of(name, stats={"collectives": rows})])
            self.check_layout(figure)
            axis = figure.axes[0]
            low, high = axis.get_xlim()
            shown = {
                t.get_text() for t in axis.get_xticklabels() if low <= t.get_position()[0] <= high
            }
            self.assertTrue(shown and shown <= units, (name, shown))

    def test_busbw_has_the_lines_of_the_hardware(self):
        """A server's NICs (of links.csv) and a GPU's NVLink (of stats.json); far above the curves
        only in words.
        """
        links_of = lambda gbps: [
            "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share".split(","),
            *(
                (100, f"{a}->{b}", a, b, gbps, 0.5, 0, 0)
                for a, b in (("server-0", "s"), ("s", "server-0"))
            ),
        ]
        flows = [
            "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(","),
            (0, "server-0", "server-0", 9, 0, 1, 1, 1, "x"),
        ]
        nvlink = {"kind": "nvswitch", "gpu_gbps": 1920.0}
        for name, inside, gbps, busbw, lines, told in (
            ("one server", nvlink, None, 200, [240], []),
            (
                "several, NVLink is far",
                nvlink,
                100,
                12,
                [12.5],
                ["\N{UPWARDS ARROW} 1,920 Gb/s, NVLink of a GPU"],
            ),
            ("several, both", nvlink, 1600, 190, [200, 240], []),
            (
                "several, nearly equal",
                {"kind": "nvlink-mesh", "gpu_gbps": 1640.0},
                1600,
                190,
                [200, 205],
                [],
            ),
            ("PCIe", {"kind": "pcie", "gpu_gbps": 252.0}, 100, 12, [12.5], []),
            ("one GPU a server", None, 100, 12, [12.5], []),
            ("neither", None, None, 12, [], []),
        ):
            for width in (3.3, 6.3):
                with self.subTest(name, width=width):
                    stats = {
                        "collectives": [
                            {
                                "op": "all_reduce",
                                "algorithm": "ring",
                                "bytes": b << 20,
                                "busbw_GBps": busbw * b / 64,
                            }
                            for b in (1, 64)
                        ]
                    }
                    files = {"links": links_of(gbps), "flows": flows} if gbps else {}
                    run = self.folder_of(
                        name, stats={**stats, **({"scale_up": inside} if inside else {})}, **files
                    )
                    figure = self.plots.draw("busbw", [run], width=width)
                    self.check_layout(figure)
                    axis = figure.axes[0]
                    flat = [
                        line.get_ydata()[0]
                        for line in axis.lines
                        if len(set(line.get_ydata())) == 1
                    ]
                    self.assertEqual(sorted(flat), lines)
                    words = [one.get_text() for one in axis.texts]
                    self.assertEqual(len(words), len(lines) + len(told))
                    self.assertLessEqual(set(told), set(words))
                    for rate in lines:
                        self.assertTrue(
                            any(one.startswith(f"{8 * rate:,.6g} Gb/s, ") for one in words), words
                        )
        # Runs with different links have no common line.
        runs = [
            self.folder_of(
                str(gbps), stats={**stats, "scale_up": {"kind": "nvswitch", "gpu_gbps": gbps}}
            )
            for gbps in (1920.0, 2966.4)
        ]
        figure = self.plots.draw("busbw", runs)
        self.assertEqual([one.get_text() for one in figure.axes[0].texts], [])

    def test_by_size_joins_no_sizes_that_are_nearly_equal(self):
        head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag".split(",")
        for name, sizes, said in (
            ("near", (67448, 67449, 136533, 136534), True),
            ("far", (67449, 136534), False),
        ):
            rows = [(i, "a", "b", size, 0, 1 + i, 1 + i, 1, "x") for i, size in enumerate(sizes)]
            figure = self.plots.draw("by-size", [self.folder_of(name, flows=[head, *rows])])
            self.check_layout(figure)
            for axis in figure.axes:
                self.assertEqual([round(x / 1000) for x in axis.lines[0].get_xdata()], [67, 137])
                self.assertEqual("nearer than 5%" in axis.get_xlabel(), said)
        # 4% from one to the next, without an end: at most 1.05^4 = 1.2155 in one (five steps of 4%
        # are 1.2167).
        sizes = [1000 * 1.04**i for i in range(12)]
        self.assertEqual(
            [sizes.index(first) for first in self.sizes.merged(sizes)], [0] * 5 + [5] * 5 + [10] * 2
        )

    def test_size_groups_are_whole_sizes(self):
        """As tests/unit/scenarios/size-groups-test.cc, whose closed forms these are."""
        import numpy

        def counts(sizes, groups):
            found = self.measures.size_groups(numpy.array(sizes), numpy.ones(len(sizes)), groups)
            self.assertTrue((numpy.diff(found) >= 0).all())
            return numpy.bincount(found).tolist()

        self.assertEqual(counts([4096] * 1000, 20), [1000])
        self.assertEqual(counts([10] * 990 + [20] * 10, 20), [990, 10])
        self.assertEqual(counts([1] * 2 + [2] * 90 + list(range(3, 11)), 10), [2, 90, 8])
        for n in (1, 7, 20, 1003):
            for g in (1, 3, 20):
                expected = [(i + 1) * n // g - i * n // g for i in range(g)]
                self.assertEqual(counts(range(n), g), [count for count in expected if count])

    def test_runs_differ_without_colour(self):
        """In grey, and for those who do not see colours, neighbours differ by their dashes and
        their marks.
        """
        run = self.folder_of("r", links=links({("x", "y"): 0.9}))
        items = self.plots.items_of([run] * 28, [str(i) for i in range(28)])
        self.assertEqual(len({(one.colour, str(one.dashes)) for one in items}), 28)
        for a, b in zip(items, items[1:]):
            self.assertNotEqual(a.dashes, b.dashes)
            self.assertNotEqual(a.marker, b.marker)
        # Of the states of a GPU the grey values are as good as evenly spaced, so that none is taken
        # for its neighbour: on an even scale from the darkest to the lightest each is nearest to
        # its own place. The scale has the middle grey inside.
        greys = sorted(
            sum(
                share * int(colour[i : i + 2], 16)
                for share, i in ((0.299, 1), (0.587, 3), (0.114, 5))
            )
            for _, colour in self.style.STATES
        )
        step = (greys[-1] - greys[0]) / (len(greys) - 1)
        self.assertEqual(
            [round((grey - greys[0]) / step) for grey in greys], list(range(len(greys)))
        )
        self.assertTrue(greys[0] < 255 / 2 < greys[-1], greys)


class Errors(Base):
    def refuse(self, *words, says):
        done = self.plot(*words, status=2, quiet=False)
        lines = done.stderr.splitlines()
        self.assertEqual((len(lines), done.stdout), (1, ""), done.stderr)
        self.assertTrue(lines[0].startswith("plot: error: "), lines[0])
        for word in says:
            self.assertIn(word, lines[0])

    def test_bad_input(self):
        os.makedirs(os.path.join(self.folder, "runs", "first"))
        self.write("runs/first/stats.json", {"completed": True})
        first = "runs/first"
        meant = "did you mean 'runs/first'?"
        bad = [
            (["nowhere"], ["nowhere", "no such folder"]),
            (["runs/frist"], ["runs/frist", meant]),
            (["runs"], ["runs", "no results", "first"]),
            (["runs/first/stats.json"], ["is a file", meant]),
            (
                [first, "--only=step,tomeline"],
                ["--only", "'tomeline'", *ALL, "did you mean 'timeline'?"],
            ),
            ([first, "--only="], ["--only", "empty"]),
            ([first, "--format=jpg"], ["--format=jpg", "png, svg, pdf"]),
            ([first, "--from=2ms", "--until=2000us"], ["--until=2000us", "later than --from=2ms"]),
            ([first, "--labels=a,b"], ["--labels=a,b", "1"]),
            ([first, "--label=a"], ["--label", "did you mean '--labels'?"]),
            ([], ["DIR"]),
        ]
        for width in ("2.9in", "0", "wide", "-5", "21in", "10000mm", "6.3 miles"):
            bad.append(([first, f"--width={width}"], [f"--width={width}", "3in to 20in"]))
        for value in ("10", "ms", "-1ms", "1 h"):
            bad.append(([first, f"--from={value}"], [f"--from={value}", "10ms"]))
        for words, says in share_of(bad, one_in=7, first=1):
            self.refuse(*words, says=says)
        done = self.plot("runs/first", status=1, quiet=False)
        self.assertIn("nothing to draw", done.stderr)
        self.assertEqual(os.listdir(os.path.join(self.folder, "runs", "first")), ["stats.json"])
        text = self.plot("--help").stdout
        for option in (
            "--out",
            "--format",
            "--only",
            "--width",
            "--labels",
            "--from",
            "--until",
            *ALL,
        ):
            self.assertIn(option, text)

    def test_cannot_be_written(self):
        run = self.run_program("traffic --topology=single-switch --hosts=4 --bytes=1MB")
        self.write("file", "")
        done = self.plot(run.folder, "--out=file/plots", status=1, quiet=False)
        self.assertIn("cannot be written", done.stderr)


class Arithmetic(Base):
    def test_layout_check_sees_faults(self):
        from matplotlib.figure import Figure

        def figure(*places):
            result = Figure(figsize=(3, 3))
            for x, y in places:
                result.text(x, y, "words")
            return result

        apart = [(0.1, 0.1 * y) for y in range(1, 7)]
        self.check_layout(figure(*apart))
        for fault in ((0.15, 0.32), (0.95, 0.5), (0.1, -0.02)):
            with self.assertRaises(AssertionError):
                self.check_layout(figure(*apart, fault))

    def test_quantile(self):
        q = self.measures.quantile
        # Nearest rank: of 1..10 p50 is the 5th, p90 the 9th, p99 the 10th.
        self.assertEqual(
            list(q(list(range(10, 0, -1)), [0.1, 0.5, 0.9, 0.99, 1])), [1, 5, 9, 10, 10]
        )
        # Weights are how many messages a row stands for: 1 x 9, 100 x 1.
        self.assertEqual(list(q([100, 1], [0.5, 0.9, 0.91], [1, 9])), [1, 1, 100])

    def test_sample(self):
        """Of 110,000 messages 30,000 rows: the 10,000 slowest stand for themselves, the others for
        5 each.
        """
        folder = os.path.join(self.folder, "sampled")
        os.mkdir(folder)
        rows = [f"{i},a,b,1000,0,{i + 1},{i + 1},1,x" for i in range(30000)]
        self.write(
            "sampled/flows.csv",
            "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n" + "\n".join(rows) + "\n",
        )
        self.write(
            "sampled/stats.json",
            {"completed": True, "messages": 110000, "flows_csv": {"rows": 30000, "sampled": True}},
        )
        weight = self.measures.weights(self.load(folder))
        self.assertEqual(
            (sum(weight), set(weight[:20000]), set(weight[20000:])), (110000, {5.0}, {1.0})
        )

    def test_time_in_bins(self):
        # Two intervals, 1..4 and 3..8, in bins of 2: 1 | 1 + 1 | 2 | 2 | 0
        times = self.measures.time_in_bins([1, 3], [4, 8], [0, 2, 4, 6, 8, 10])
        self.assertEqual([round(float(time), 9) for time in times], [1, 3, 2, 2, 0])

    def test_states(self):
        import pandas

        calls = pandas.DataFrame(
            [
                (0, 10, 0, "compute"),
                (10, 20, 0, "compute"),
                (5, 15, 0, "collective"),
                (18, 30, 0, "collective"),
                (0, 4, 1, "compute"),
            ],
            columns=["start_us", "end_us", "rank", "kind"],
        )
        # Rank 0: computing 0..20, of it 5..15 and 18..20 also communicating; 20..30 exposed. Rank
        # 1: computing 0..4. Means of the two:
        self.assertEqual(self.measures.state_times(calls), [(8 + 4) / 2, 12 / 2, 10 / 2])

    def test_states_of_the_host(self):
        """For data, copies and the host's optimizer a GPU waits."""
        import pandas

        calls = pandas.DataFrame(
            [
                (0, 50, 0, "host"),
                (10, 20, 0, "compute"),
                (15, 30, 0, "send"),
                (0, 40, 1, "host"),
            ],
            columns=["start_us", "end_us", "rank", "kind"],
        )
        self.assertEqual(self.measures.state_times(calls), [5 / 2, 5 / 2, 10 / 2])

    def test_nics(self):
        """Messages end at NICs, links at nodes."""
        folder = os.path.join(self.folder, "nics")
        os.mkdir(folder)
        head = "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n"
        self.write("nics/flows.csv", head + "0,a:1,b:0,1000,0,5,5,4,x\n")
        head = "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share\n"
        self.write(
            "nics/links.csv", head + "100,a->c#1,a,c,100,0.5,0,0\n100,c->b,c,b,100,0.25,0,0\n"
        )
        run = self.load(folder)
        self.assertEqual(self.measures.host_nodes(run), {"a", "b"})
        graph = self.measures.Graph(run)
        self.assertEqual(graph.tiers, [["a", "b"], ["c"]])

        # topology.json adds what is idle; a damaged one is as none.
        def link(a, b):
            return {
                "link": f"{'abcde'[a]}->{'abcdef'[b]}",
                "a": a,
                "b": b,
                "rate_gbps": 100,
                "delay_us": 1,
            }

        nodes = [{"name": name, "kind": "host" if name in "abd" else "switch"} for name in "abcd"]
        self.write("nics/topology.json", {"nodes": nodes, "links": [link(0, 2), link(2, 3)]})
        idle = self.measures.Graph(self.load(folder))
        self.assertEqual(idle.tiers, [["a", "b", "d"], ["c"]])
        self.assertEqual(
            [link for link in idle.links if link not in graph.links], [("c", "d", 0.0, 0.0)]
        )
        # A part of a switch is none of its hosts, nor their NICs those of servers.
        units = [{**node, **({"unit": True} if node["name"] == "b" else {})} for node in nodes]
        self.write("nics/topology.json", {"nodes": units, "links": [link(0, 2), link(1, 2)]})
        run = self.load(folder)
        self.assertEqual(self.measures.host_nodes(run), {"a"})
        beside = self.measures.Graph(run)
        self.assertEqual(beside.tiers, [["a", "d"], ["c"]])
        self.assertEqual(beside.units, {"c": 0.25})
        self.assertEqual([(a, b) for a, b, _, _ in beside.links], [("a", "c")])
        self.assertEqual(graph.units, {})
        # With tiers, they count: e is far from every host, and an edge switch all the same.
        nodes = [{**node, "tier": int(node["name"] == "c")} for node in nodes]
        nodes.append({"name": "e", "kind": "switch", "tier": 1})
        self.write("nics/topology.json", {"nodes": nodes, "links": [link(0, 2)]})
        self.assertEqual(
            self.measures.Graph(self.load(folder)).tiers, [["a", "b", "d"], ["c", "e"]]
        )
        self.write("nics/topology.json", {"nodes": nodes, "links": [link(0, 5)]})
        self.assertEqual(self.measures.Graph(self.load(folder)).links, graph.links)
        # Half of 100 us at 12.5 GB/s.
        (carried,) = [carried for a, b, carried, _ in graph.links if (a, b) == ("a", "c")]
        self.assertAlmostEqual(carried, 0.5 * 100e-6 * 12.5e9)

    def test_streams_without_a_drawn_call_have_no_lane(self):
        """A captured script has a stream for each group of ranks; those of other GPUs, and with
        calls of no time, would be empty lanes.
        """
        folder = self.folder_of("lanes", stats={"program": "dltrain"}).folder
        head = (
            "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        )
        rows = (
            "0\t10\t1\t0\tnccl tp 1\tcollective\tall_reduce\t8\ttp",
            "5\t5\t1\t1\thost\thost\tcopy\t0\t-",
            "0\t20\t1\t1\tcompute\tcompute\taten::addmm train.py:31\t0\t-",
            "5\t15\t1\t1\tnccl world\tcollective\tall_reduce\t8\tworld",
        )
        self.write("lanes/calls.log", head + "".join(row + "\n" for row in rows))
        figure = self.plots.draw("timeline", [self.load(folder)])
        lanes = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        self.assertEqual(lanes, ["compute", "nccl world"])
        legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        self.assertIn("aten::addmm", legend)

    def test_names(self):
        for name, expected in (
            ("reduce-scatter bucket 7", "reduce-scatter"),
            ("all_gather", "all-gather"),
            ("alltoall", "all-to-all"),
            ("reduce bucket 3", "reduce"),
            ("gather", "gather"),
            ("sendrecv", "sendrecv"),
            ("forward block 3", "forward"),
            ("recompute block 3 micro-batch 1", "recompute"),
            ("weights block 3 attention micro-batch 2", "weights"),
            ("incast", "incast"),
            ("flow 12", "flow"),
            ("12", "other"),
            ("big/all-gather forward head", "big/all-gather"),  # of several jobs
            ("big/ring/all_reduce 3", "big/ring/all-reduce"),
            ("all-gather of a/12", "all-gather"),
            ("reduce/all_reduce", "reduce/all-reduce"),
            ("all-gather-x/reduce-scatter bucket 1", "all-gather-x/reduce-scatter"),
            ("web/search 3", "web/search"),
            ("send gradients micro-batch 3", "send gradients"),
            ("send gradients chunk 1 micro-batch 12", "send gradients chunk 1"),
            ("aten::addmm train.py:31", "aten::addmm"),  # of a captured script
            ("aten::log2 lib/model.py:7", "aten::log2"),
        ):
            self.assertEqual(self.measures.operation(name), expected)
        self.assertEqual(self.measures.tier("edge-0-1->agg-0-0#2"), "edge→agg")
        self.assertEqual(self.style.human_time(1234567), "1.23 s")
        self.assertEqual(self.style.human_bytes(999999), "1 MB")

    def test_steps_that_count(self):
        """Of a step done twice the attempt that counts; means over GPUs that are still there."""
        run = self.folder_of(
            "again",
            stats={
                "program": "dltrain",
                "step_time_us": 100.0,
                "step_times_us": [100.0, 100.0],
                "step_begins_us": [0.0, 500.0],
                "recovery": {
                    "failures": [
                        {"action": "restart", "known_us": 150.0, "resumed_us": 500.0},
                        {
                            "action": "rebuild",
                            "failed_us": 520.0,
                            "known_us": 530.0,
                            "resumed_us": 540.0,
                            "ranks_left": [1],
                            "gpus_failed": ["server-1:gpu-0"],
                        },
                    ]
                },
            },
        )
        rows = [
            (0, 40, 1, 0, "compute", "forward a"),
            (40, 100, 1, 0, "collective", "all-reduce b"),
            (0, 60, 1, 1, "compute", "forward a"),
            (60, 100, 1, 1, "collective", "all-reduce b"),
            (100, 150, 2, 0, "compute", "forward a (aborted)"),  # thrown away
            (100, 150, 2, 1, "compute", "forward a (aborted)"),
            (500, 530, 2, 0, "compute", "forward a"),
            (530, 600, 2, 0, "collective", "all-reduce b"),
            (500, 520, 2, 1, "compute", "forward a"),  # rank 1 leaves in it
        ]
        self.write(
            "again/calls.log",
            "# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
            + "".join(
                f"{begin}\t{end}\t{step}\t{rank}\tcompute\t{kind}\t{call}\t0\t-\n"
                for begin, end, step, rank, kind, call in rows
            ),
        )
        run = self.load(run.folder)
        # Step 1: (40 + 60) / 2 computing. Step 2: rank 0's 30 alone. The mean of both: 40.
        for step, computing in ((1, 50), (2, 30), (None, 40)):
            parts, total, ended = self.measures.step_parts(run, step)
            self.assertEqual(parts, [computing, 0, 100 - computing, 0])
            self.assertEqual((total, ended), (100, True))
        self.assertEqual(
            self.measures.call_times(run), [("forward", 40, 0, False), ("all-reduce", 0, 60, True)]
        )

    def test_busbw_has_a_curve_for_each_choice(self):
        """Three sizes by the table and by two choices of --compare: three curves."""
        row = lambda size, rate, **more: {
            "op": "all_reduce",
            "algorithm": "ring",
            "bytes": size,
            "time_us": 1.0,
            "algbw_GBps": rate,
            "busbw_GBps": rate,
            **more,
        }
        sizes = (1024, 2048, 4096)
        run = self.folder_of(
            "compared",
            stats={
                "program": "collperf",
                "collectives": [row(size, 1.0) for size in sizes],
                "compared": [
                    row(size, rate, choice=choice)
                    for choice, rate in (("tree", 2.0), ("auto", 3.0))
                    for size in sizes
                ],
            },
        )
        item = self.style.Item(run, "a", "#000000", "-", "o")
        from cluster_simulator.plots import collectives

        axis = collectives.draw_busbw([item], 6.3).axes[0]
        names = [entry.get_text() for entry in axis.get_legend().get_texts()]
        self.assertEqual(
            names, ["all_reduce (table)", "all_reduce (tree)", "all_reduce (auto)"]
        )
        curves = [list(line.get_ydata()) for line in axis.lines if len(line.get_ydata()) == 3]
        self.assertEqual(curves, [[rate] * 3 for rate in (1.0, 2.0, 3.0)])

    def test_words_of_jobs_and_recovery(self):
        """Several jobs have no GPUs in common; time that a recovery takes is no waiting."""
        job = {"name": "a"}
        for stats, words in (
            ({"jobs": [job, job], "gpus": 22, "servers": 11}, "2 jobs, 11 servers"),
            ({"jobs": [job], "gpus": 2, "servers": 1}, "1 job, 1 server"),
            ({"gpus": 22}, "22 GPUs"),
        ):
            run = unittest.mock.Mock(stats=stats, program="dltrain")
            self.assertEqual(self.style.describe(run), words)
        plain = unittest.mock.Mock(stats={})
        recovering = unittest.mock.Mock(stats={"recovery": {"a": 1}})
        self.assertEqual(self.style.state_names([plain])[-1], "waiting")
        self.assertIn("held up by", self.style.state_names([plain, recovering])[-1])


if __name__ == "__main__":
    if not all(importlib.util.find_spec(name) for name in ("pandas", "matplotlib")):
        sys.exit(77)  # python3-pandas and python3-matplotlib cannot be installed here
    main()
