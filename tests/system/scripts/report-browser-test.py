#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""report.html in a real browser: no error, no request, not too much in it; zoom, slider, tooltips,
keys, colours; hostile names are text.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _report import (
    need_browser,
    report,
    requested,
    set_scheme,
    start_browser,
    unfold,
    write_big_results,
)
from _serving import write_serving_results
from _system_test import SystemTest, long_test, main, share_of

# How quickly a page opens depends on the machine; what it has to read and to draw does not.
MOST_BYTES = 20e6  # 0.8 MB for the default run
MOST_ELEMENTS = 20000
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</title></script>"

# Texts of the charts that cover one another by more than 2 px each way.
OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll(".chart svg")) {
  const boxes = [...svg.querySelectorAll("text")].filter((t) => t.textContent && getComputedStyle(t).display !== "none")
    .map((t) => [t.textContent, t.getBoundingClientRect()]);
  for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
    const [a, p] = boxes[i], [b, q] = boxes[j];
    if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 2) found.push([a, b]);
  }
}
return found;
"""
KEY = (
    "arguments[0].dispatchEvent(new KeyboardEvent('keydown', {key: arguments[1], bubbles: true,"
    " cancelable: true}));"
)


class BrowserTest(SystemTest):
    def open(self, path, width=1280, dark=False):
        """The page in a new browser; no error, no request, no more than a browser draws at once,
        and nothing wider than the window.
        """
        self.assertLess(os.path.getsize(path), MOST_BYTES)
        browser = start_browser(self, width, dark)
        requested(browser)
        browser.get("file://" + path)
        self.assertEqual(
            browser.execute_script("return document.documentElement.dataset.ready"), "yes"
        )
        unfold(browser)
        self.assertEqual(browser.get_log("browser"), [])
        # (chrome: the browser's own pages, such as the empty one it begins with; a file cannot.)
        self.assertEqual(
            {url for url in requested(browser) if not url.startswith(("data:", "chrome:"))},
            {"file://" + path},
        )
        self.assertLess(
            browser.execute_script("return document.getElementsByTagName('*').length"),
            MOST_ELEMENTS,
        )
        self.assertLessEqual(
            browser.execute_script("return document.documentElement.scrollWidth - innerWidth"), 0
        )
        self.assertEqual(browser.execute_script(OVERLAPS), [])
        return browser

    def find(self, browser, selector):
        return browser.find_element("css selector", selector)

    def tooltip(self, browser):
        self.assertFalse(
            browser.execute_script("return document.getElementById('tooltip').hidden"), "no tooltip"
        )
        rows = browser.execute_script(
            "return [...document.querySelectorAll('#tooltip tr')].map((r) => [...r.cells].map((c)"
            " => c.textContent))"
        )
        return browser.execute_script(
            "return document.querySelector('#tooltip strong').textContent"
        ), [[text.replace("\u00a0", " ") for text in row] for row in rows]

    def press(self, browser, selector, key):
        node = self.find(browser, selector)
        browser.execute_script("arguments[0].focus({preventScroll: true});" + KEY, node, key)

    def box(self, browser, selector):
        return browser.execute_script(
            (
                "const r = arguments[0].getBoundingClientRect(); return [r.left, r.top, r.width,"
                " r.height]"
            ),
            self.find(browser, selector),
        )

    def drag(self, browser, start, end, y):
        from selenium.webdriver import ActionChains

        chain = ActionChains(browser)
        pointer = chain.w3c_actions.pointer_action
        pointer.move_to_location(round(start), round(y))
        pointer.pointer_down()
        pointer.move_to_location(round((start + end) / 2), round(y))
        pointer.move_to_location(round(end), round(y))
        pointer.pointer_up()
        chain.perform()

    # ---- answers to requests

    def test_serving(self):
        """Sections of dlserve, in a wide and a narrow window; of no answer, too."""
        shapes = {
            "one": {"rates": True},
            "split": {"split": True},
            "none": {"answered": False},
        }
        for name, options in shapes.items():
            folder = write_serving_results(os.path.join(self.folder, name), **options)
            self.assertEqual(report(folder).returncode, 0)
            for width in (1280, 420):
                with self.subTest(name=name, width=width):
                    browser = self.open(os.path.join(folder, "report.html"), width)
                    sections = browser.execute_script(
                        "return [...document.querySelectorAll('section')].map((s) => s.id)"
                    )
                    wanted = ["summary", "objectives"]
                    wanted += ["latency"] if name != "none" else []
                    wanted += ["load", "parts"] + (["rates"] if name == "one" else [])
                    wanted += ["slowest"] if name != "none" else []
                    self.assertEqual(sections, [*wanted, "configuration", "numbers"])
                    self.assertFalse(browser.find_elements("css selector", ".banner"))
                    self.check_latencies(browser)
                    if name != "none":
                        rows = browser.find_elements("css selector", "#slowest tbody tr")
                        self.assertEqual(len(rows), 20)
        self.press(browser, "#load-chart", "ArrowRight")
        self.assertEqual(len(self.tooltip(browser)[1]), 2)

    def check_latencies(self, browser):
        """Each axis says that it is logarithmic and has three ticks or more; objectives have their
        value.
        """
        charts = browser.execute_script(
            "return [...document.querySelectorAll('#latency .chart svg')].map((s) =>"
            " [s.querySelectorAll('.axis .tick').length, s.textContent,"
            " [...s.querySelectorAll('.objective')].map((t) => t.textContent)])"
        )
        for ticks, words, _ in charts:
            self.assertGreaterEqual(ticks, 3)
            self.assertIn(", logarithmic", words)
        named = [name.replace("\u00a0", " ") for *_, names in charts for name in names]
        if charts:
            self.assertEqual(named, ["SLO 250 ms", "SLO 40 ms"])  # of write_serving_results

    # ---- the default run

    def test_words_and_bars(self):
        """The critical path tells its parts in words; bars of different kinds never cover one
        another.
        """
        run = self.run_program(
            "dltrain --model=gpt2 --servers=3 --topology=leaf-spine --nics-per-server=8"
        )
        path = run.stats["critical_path"]
        keys = {hop["why"] for hop in path["hops"] if hop["why"]}.union(
            *(call.get("parts_us") or {} for call in path["path"])
        )
        self.assertIn("throttled", keys)
        # by this tree's script, wherever the program's is
        self.assertEqual(report(run.folder).returncode, 0)
        browser = self.open(run.path("report.html"))
        read = (
            "document.querySelectorAll('#critical details').forEach((d) => { d.open = true;"
            " d.dispatchEvent(new Event('toggle')); });"
        )
        read += (
            "return [...document.querySelectorAll('#critical td')].map((c) =>"
            " c.textContent.replace(/\\u00a0/g, ' '))"
        )
        cells = browser.execute_script(read)
        self.assertTrue(any("throttled by congestion control" in cell for cell in cells))
        found = [
            cell
            for cell in cells
            for part in cell.split("; ")
            if part.split(", ")[0] in keys | {key.replace("_", " ") for key in keys}
        ]
        self.assertEqual(found, [])
        labels = browser.execute_script(
            "return [...document.querySelectorAll('#sizes .axis')].map((a) =>"
            " [...a.querySelectorAll('text')].map((t) => t.textContent))"
        )
        for axis in labels:
            self.assertEqual(len(axis), len(set(axis)), axis)
        browser.quit()
        run = self.run_program(
            "traffic --topology=leaf-spine --hosts=64 --hosts-per-leaf=16 --pattern=poisson"
            " --load=0.3 --incast-load=0.05 --incast-fan-in=20 --incast-bytes=60kB --duration=300us"
            " --rate-interval=10ms"
        )
        self.assertEqual(report(run.folder).returncode, 0)
        for width in share_of((1280, 700), one_in=2, first=1):
            browser = self.open(run.path("report.html"), width)
            covered = browser.execute_script(
                """
              const bars = [...document.querySelectorAll("#sizes svg rect")].map((r) => [r.style.fill, r.getBoundingClientRect(), getComputedStyle(r).fillOpacity]);
              return bars.flatMap(([a, p, clear], i) => (clear !== "1" ? [[a, clear]] : []).concat(bars.slice(0, i).filter(([b, q]) =>
                a !== b && Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1).map(([b]) => [a, b])));"""
            )
            self.assertEqual(covered, [])
            # Values have three digits as in the terminal (9.00), ticks do not; and ticks keep
            # apart.
            text = self.find(browser, "#completion").text.replace("\u00a0", " ")
            self.assertIn(
                "max " + f"{run.stats['fct_slowdown']['max']:#.3g}".rstrip(".") + "\u00d7", text
            )
            ticks = browser.execute_script(
                """return [...document.querySelectorAll("#completion .axis")].map((a) => [...a.querySelectorAll(".tick text")]
              .map((t) => { const r = t.getBoundingClientRect(); return [r.left, r.right, t.textContent]; }))"""
            )
            for axis in ticks:
                self.assertTrue(all(b[0] - a[1] > 8 for a, b in zip(axis, axis[1:])), axis)
                self.assertFalse([t for *_, t in axis if ".0" in t], axis)
            browser.quit()

    def test_one_clock(self):
        """With recovery the run's beginning is zero everywhere: of GPUs, ports, links, failures."""
        run = self.run_program(
            "dltrain --model=gpt2 --micro-batch=1 --seq=128 --servers=3 --gpus-per-server=1"
            " --topology=leaf-spine --steps=2 --recovery=restart --spares=1 --monitor-interval=1ms"
            " --abort-time=1ms --restart-time=20ms --fault=gpu-stop,at=45ms,on=gpu-1 --report=0"
        )
        self.assertEqual(report(run.folder).returncode, 0)
        browser = self.open(run.path("report.html"))
        shown = browser.execute_script(
            "const r = document.getElementById('timeline-range').dataset; return [r.from, r.to]"
        )
        calls = [
            line.split("\t") for line in run.text("calls.log").splitlines() if line[0] != "#"
        ]
        first = min(float(call[0]) for call in calls) * 1e3  # ns
        last = max(float(call[1]) for call in calls) * 1e3
        self.assertGreater(first, 0)  # the warm-up's are not there
        self.assertAlmostEqual(float(shown[0]), first, delta=2)
        self.assertAlmostEqual(float(shown[1]), last, delta=2)
        (failure,) = run.stats["recovery"]["failures"]
        self.assertLess(failure["resumed_us"] * 1e3, last)
        text = browser.execute_script("return document.getElementById('main').textContent")
        self.assertEqual(text.count("time since the run began"), 2) # of GPUs, and of ports
        for other in ("since measuring began", "time since start"):
            self.assertEqual(text.count(other), 0, other)
        # The ports' axis begins where measuring did.
        ticks = browser.execute_script(
            "return [...document.querySelectorAll('#ports-chart .axis')].pop()"
            ".textContent.replace(/\u00a0/g, ' ')"
        )
        self.assertNotIn("0 \u00b5s", ticks.split("ms")[0])
        browser.quit()

    def test_default_run(self):
        run = self.run_program("dltrain --report=0")
        self.assertEqual(report(run.folder).returncode, 0)
        stats = run.stats
        browser = self.open(run.path("report.html"))
        text = self.find(browser, "#summary").text
        self.assertIn(f"{stats['step_time_us'] / 1000:.0f} ms", text.replace("\u00a0", " "))
        self.assertIn(
            f"{100 * stats['exposed_communication_time_us'] / stats['step_time_us']:.1f}%", text
        )
        for section in (
            "summary",
            "timeline",
            "critical",
            "topology",
            "sizes",
            "completion",
            "why",
            "ports",
            "memory",
            "collectives",
            "configuration",
            "numbers",
        ):
            self.assertTrue(self.find(browser, f"#{section} h2").text, section)
            self.assertGreater(
                len(self.find(browser, f"#sections a[href='#{section}']").text), 4, section
            )
        lines = [item.text for item in browser.find_elements("css selector", "#why ol li")]
        self.assertEqual(lines, stats["attribution"]["slowest"])
        parts = self.find(browser, "#why table").text
        for part in ("backlog", "serialization"):
            self.assertIn(f"{100 * stats['attribution']['share'][part]:.1f}%", parts)
        self.check_timeline(browser, run)
        self.check_slider(browser, run, stats)
        self.check_curves(browser, stats)
        self.check_colours(browser)
        self.check_critical_path(browser, stats["critical_path"])
        self.assertEqual(browser.get_log("browser"), [])
        self.open(run.path("report.html"), 1920, True)

    def check_critical_path(self, browser, path):
        from selenium.webdriver.support.ui import WebDriverWait

        text = self.find(browser, "#critical table").text
        for part, share in path["share"].items():
            if share >= 0.0005:
                self.assertIn(f"{100 * share:.1f}%", text, part)
        self.assertIn(path["hops"][0]["link"], self.find(browser, "#critical").text)
        for number, rows in enumerate((path["path"], path["longest_messages"])):
            box = browser.find_elements("css selector", "#critical details")[number]
            box.find_element("css selector", "summary").click()
            WebDriverWait(browser, 10).until(
                lambda _: box.find_elements("css selector", "tbody tr")
            )
            told = browser.execute_script(
                (
                    "return [...arguments[0].querySelectorAll('tbody tr')].map((row) =>"
                    " row.cells[0].textContent)"
                ),
                box,
            )
            self.assertEqual(told, [row["call"] for row in rows])
            box.find_element("css selector", "summary").click()

    def check_timeline(self, browser, run):
        span = lambda: [
            float(self.find(browser, "#timeline-range").get_attribute("data-" + end))
            for end in ("from", "to")
        ]
        whole = span()
        # One clock: 0 is where measuring began, a little after the GPUs that were early.
        calls = [
            line.split("\t")
            for line in run.text("calls.log").splitlines()
            if not line.startswith("#")
        ]
        zero = run.stats["measured_from_us"]
        self.assertGreater(zero, 0)
        self.assertAlmostEqual(
            whole[0], 1e3 * (min(float(call[0]) for call in calls) - zero), delta=2
        )
        text = browser.execute_script("return document.getElementById('main').textContent")
        self.assertEqual(text.count("time since measuring began"), 2)  # of GPUs, and of ports
        self.find(browser, "[aria-label='Zoom in']").click()
        first = span()
        self.assertAlmostEqual(first[1] - first[0], (whole[1] - whole[0]) / 2, delta=2)
        self.assertAlmostEqual(sum(first), sum(whole), delta=2)  # about the middle
        self.press(browser, "#timeline-canvas", "+")
        second = span()
        self.assertAlmostEqual(second[1] - second[0], (whole[1] - whole[0]) / 4, delta=2)
        self.press(browser, "#timeline-canvas", "0")
        self.assertEqual(span(), whole)
        # With the pointer: a quarter to a half of the strip is that part of the time; the rows
        # moved by a tenth to the left show a tenth of it more; a click opens a row.
        browser.execute_script("document.getElementById('timeline').scrollIntoView()")
        left, top, width, _ = self.box(browser, ".brush .background")
        self.drag(browser, left + width / 4, left + width / 2, top + 20)
        length, pixel = whole[1] - whole[0], (whole[1] - whole[0]) / width
        self.assertAlmostEqual(span()[0], whole[0] + length / 4, delta=2 * pixel)
        self.assertAlmostEqual(span()[1], whole[0] + length / 2, delta=2 * pixel)
        before, (left, top, width, _) = span(), self.box(browser, "#timeline-canvas")
        plot = width - 118  # names of rows
        self.drag(browser, left + 118 + plot / 2, left + 118 + plot / 2 - plot / 10, top + 10)
        self.assertAlmostEqual(span()[0] - before[0], length / 40, delta=2 * pixel)
        self.drag(browser, left + 300, left + 300, top + 10)
        self.assertEqual(self.find(browser, "#timeline-level").get_attribute("value"), "0")
        self.find(browser, "#timeline-back").click()
        self.press(browser, "#timeline-canvas", "0")
        # By GPU: the row of GPU 0, in the middle of the time, names the calls that calls.log has
        # there.
        browser.execute_script(
            "const s = document.getElementById('timeline-level'); s.value = 0; s.dispatchEvent(new"
            " Event('change'));"
        )
        self.press(browser, "#timeline-canvas", "ArrowUp")
        title, rows = self.tooltip(browser)
        self.assertEqual(title, "GPU 0")
        at = zero + sum(whole) / 2 / 1000
        here = {
            (call[4], call[6])
            for call in calls
            if call[3] == "0" and float(call[0]) <= at < float(call[1])
        }
        self.assertTrue(here)
        self.assertLessEqual(
            {(stream, name) for stream, name in here},
            {(row[0], row[1].rsplit(", ", 1)[0]) for row in rows},
            rows,
        )
        # The pointer says the same as the keys do.
        canvas = self.find(browser, "#timeline-canvas")
        browser.execute_script(
            """const b = arguments[0].getBoundingClientRect();
            arguments[0].dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + 118 + (b.width - 118) / 2, clientY: b.top + 5, bubbles: true}));""",
            canvas,
        )
        self.assertEqual(self.tooltip(browser)[0], "GPU 0")

    def check_slider(self, browser, run, stats):
        """The busiest link's tooltip: of the whole time as in stats.json, of an interval as in
        links.csv.
        """
        self.press(browser, "#network", "ArrowRight")
        name, rows = self.tooltip(browser)
        named = {link["link"]: link for link in stats["links"]}
        shown = dict(map(tuple, rows))
        self.assertEqual(shown["utilization"], f"{100 * stats['links'][0]['utilization']:.2f}%")
        if name in named:
            self.assertEqual(shown["utilization"], f"{100 * named[name]['utilization']:.2f}%")
        before = browser.execute_script(
            "return [...document.querySelectorAll('#network .link')].map((l) => l.style.stroke +"
            " l.style.strokeWidth)"
        )
        slider = self.find(browser, "#time-slider")
        bins = int(slider.get_attribute("max"))
        at = bins - 2  # in the all-gather after the optimizer, where much moves
        browser.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));",
            slider,
            at,
        )
        self.assertIn(f"interval {at} of {bins}", self.find(browser, "#time-shown").text)
        after = browser.execute_script(
            "return [...document.querySelectorAll('#network .link')].map((l) => l.style.stroke +"
            " l.style.strokeWidth)"
        )
        self.assertNotEqual(before, after)
        browser.execute_script("document.activeElement.blur()")
        self.press(browser, "#network", "ArrowRight")
        name, rows = self.tooltip(browser)
        shown = dict(map(tuple, rows))["utilization in this interval"]
        # links.csv has intervals of `fine`; `per` of them are one of the slider's, counted from
        # where measuring began.
        fine, start, end = (
            stats["links_csv"]["interval_us"],
            stats["measured_from_us"],
            stats["simulated_time_us"],
        )
        intervals = -(-end // fine) - start // fine
        per = next(per for per in range(1, 10000) if -(-intervals // per) == bins)
        low = max(start, (start // fine + (at - 1) * per) * fine)
        high = min(end, (start // fine + at * per) * fine)
        busy = 0
        with open(run.path("links.csv"), newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                time_us = float(row["time_us"])
                if row["link"] == name and low < time_us <= high:
                    begin = max(start, (-(-time_us // fine) - 1) * fine)
                    busy += float(row["utilization"]) * (time_us - begin)
        self.assertGreater(busy, 0)
        self.assertAlmostEqual(float(shown.rstrip("%")), 100 * busy / (high - low), delta=0.011)

    def check_curves(self, browser, stats):
        text = self.find(browser, "#completion").text.replace("\u00a0", " ")
        digits = lambda value: f"{value:#.3g}".rstrip(".")  # zeros too, as in the terminal
        self.assertIn("p99.9 " + digits(stats["fct_slowdown"]["p999"]) + "\u00d7", text)
        self.assertIn("max " + digits(stats["fct_slowdown"]["max"]) + "\u00d7", text)
        svg = "#completion .chart svg"
        browser.execute_script(
            "arguments[0].scrollIntoView({behavior: 'instant'})", self.find(browser, svg)
        )
        time.sleep(0.3)
        self.press(browser, svg, "ArrowRight")
        title, rows = self.tooltip(browser)
        self.assertRegex(title, "^at most ")
        share = float(dict(map(tuple, rows))["all"].split("%")[0])
        self.assertGreaterEqual(share, 49)  # the first place is the median

    def check_colours(self, browser):
        background = lambda: browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )
        light = background()
        self.find(browser, "#theme").click()
        self.assertNotEqual(background(), light)
        self.find(browser, "#theme").click()
        self.assertEqual(background(), light)
        set_scheme(browser, dark=True)
        self.assertEqual(background(), light)  # the button's choice stays

    # ---- others

    @long_test
    @long_test
    def test_3072_gpus(self):
        folder = os.path.join(self.folder, "big")
        write_big_results(folder)
        self.assertEqual(report(folder).returncode, 0)
        browser = self.open(os.path.join(folder, "report.html"))
        # hosts are folded
        self.assertLessEqual(len(browser.find_elements("css selector", "#network .node")), 300)
        labels = browser.execute_script(
            "return [...document.getElementById('timeline-level').options].map((o) =>"
            " o.textContent)"
        )
        self.assertIn("64 servers (512 GPUs)", labels)
        # opens a row: eight servers become servers
        self.press(browser, "#timeline-canvas", "Enter")
        self.press(browser, "#timeline-canvas", "ArrowDown")
        self.assertEqual(self.tooltip(browser)[0], "server 1")
        self.assertEqual(browser.get_log("browser"), [])

    @long_test
    def test_staleness_has_a_bar_for_each(self):
        strategies = (("downpour", "--slow-gpu=1:3"), ("backup-workers", "--dtype=fp16"))
        for strategy, more in share_of(strategies, one_in=2):
            run = self.run_program(
                "dltrain --model=gpt2 --servers=3 --gpus-per-server=2 --steps=2 --network=analytic"
                f" --strategy={strategy} {more}"
            )
            browser = self.open(run.path("report.html"))
            self.assertIn(strategy, self.find(browser, "h1").text)
            bars = browser.execute_script(
                "return [...document.querySelectorAll('#staleness rect')].map(r => r.height"
                ".baseVal.value)"
            )
            told = run.stats.get("staleness")
            self.assertEqual(len(bars), len(told["histogram"]) if told else 0)
            if bars:  # as high as they are many
                many = [number for _, number in told["histogram"]]
                for height, number in zip(bars, many):
                    self.assertAlmostEqual(height / max(bars), number / max(many), delta=0.02)

    def test_failed_run(self):
        """A queue pair that retries in vain: bit errors on every link, so many that hardly a frame
        arrives.
        """
        run = self.run_program(
            (
                "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=2 --bytes=1MB"
                " --bit-error-rate=0.001 --timeout-exponent=1"
            ),
            status=3,
        )
        browser = self.open(run.path("report.html"))
        banner = self.find(browser, "#failed")
        self.assertIn("This run failed", banner.text)
        for line in run.stats["message"].splitlines():
            self.assertIn(line.strip(), banner.text)
        self.assertLess(banner.location["y"], self.find(browser, "#summary").location["y"])

    def test_interrupted_in_its_warm_up(self):
        words, out = self.command("dltrain --placement=random")
        running = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        events = os.path.join(out, "network_events.log")
        while running.poll() is None and not (
            os.path.isfile(events) and os.path.getsize(events) > 1000
        ):
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), 130)
        browser = self.open(os.path.join(out, "report.html"))
        self.assertIn("interrupted by Ctrl-C", self.find(browser, "#failed").text)
        self.assertIn("measured time", self.find(browser, "#failed").text)

    def test_traffic_shows_flows_first_and_collperf_bandwidth(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=33 --pattern=incast --fan-in=32 --bytes=1MB"
            " --cc=none"
        )
        browser = self.open(run.path("report.html"))
        order = browser.execute_script(
            "return [...document.querySelectorAll('main section')].map((s) => s.id)"
        )
        self.assertEqual(order[:2], ["summary", "completion"])
        self.assertNotIn("timeline", order)
        self.press(browser, "#ports-chart", "ArrowRight")
        self.assertIn("switch-0->server-0", [row[0] for row in self.tooltip(browser)[1]])
        # Without a warm-up measuring begins with the run.
        self.assertEqual(run.stats["measured_from_us"], 0)
        self.assertIn("time since the run began", self.find(browser, "#ports").text)
        run = self.run_program("collperf -b 1M -e 16M -f 4 --ranks=16")
        browser = self.open(run.path("report.html"))
        order = browser.execute_script(
            "return [...document.querySelectorAll('main section')].map((s) => s.id)"
        )
        self.assertEqual(order[:2], ["summary", "collectives"])

    def test_hostile_names_are_text(self):
        run = self.run_program(
            [
                "dltrain",
                "--gpus=16",
                "--servers=2",
                "--model="
                + self.write(
                    "m.json",
                    {
                        "name": HOSTILE,
                        "layers": [
                            {"name": HOSTILE, "parameters": 10000000, "flops": 1e9},
                            {
                                "name": "</script><script>alert(3)</script>",
                                "parameters": 5,
                                "flops": 1,
                            },
                        ],
                    },
                ),
            ]
        )
        names = (
            ("flows.csv", "reduce-scatter"),
            ("calls.log", "reduce-scatter"),
            ("links.csv", "server-0"),
            ("topology.json", "server-0"),
        )
        for name, word in names:  # no option lets them in there, but a page must not rely on that
            text = run.text(name).replace(
                word, "</script><b>x</b>" + ("" if name == "topology.json" else word)
            )
            with open(run.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        self.assertEqual(report(run.folder).returncode, 0)
        browser = self.open(run.path("report.html"))
        self.assertTrue(
            self.find(browser, "h1").text.startswith(HOSTILE), self.find(browser, "h1").text
        )
        self.assertTrue(browser.title.startswith(HOSTILE))
        self.assertEqual(
            len(browser.find_elements("css selector", "main script, main img, main b, h1 *")), 0
        )
        # two of data, D3, ours
        self.assertEqual(browser.execute_script("return document.scripts.length"), 4)
        self.assertIn(json.dumps(HOSTILE)[1:20], self.find(browser, "#all-numbers").text)

    def test_scripts_from_elsewhere_do_not_run(self):
        """The page's own policy: even if a name became an element, it could neither run nor load
        anything.
        """
        run = self.run_program("dltrain --gpus=16 --servers=2 --model=gpt2")
        browser = self.open(run.path("report.html"))
        requested(browser)
        browser.execute_script(
            """window.ran = false;
            const s = document.createElement('script'); s.textContent = 'window.ran = true'; document.body.append(s);
            const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);"""
        )
        time.sleep(0.3)
        self.assertFalse(browser.execute_script("return window.ran"))
        refused = " ".join(entry["message"] for entry in browser.get_log("browser"))
        self.assertIn("Content Security Policy", refused)


if __name__ == "__main__":
    need_browser()
    main()
