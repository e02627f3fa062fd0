# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of report.html share: scripts/report, a made-up results folder of any size, a
browser.
"""

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from _system_test import ROOT

SCRIPT = os.path.join(ROOT, "scripts", "report")


def report(*arguments, environment=None):
    return subprocess.run(
        [SCRIPT, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )


def page_data(path, name="data"):
    """The data inside a page, as its scripts read them; or its "meanings"."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(
        text.split(f'<script type="application/json" id="{name}">', 1)[1].split("</script>", 1)[0]
    )


def write_big_results(folder, gpus=3072, calls=100, intervals=80):
    """A results folder as a run of a fat-tree with k = 12 writes it, numbers made up but
    consistent: every GPU computes for 4 ms and communicates for 2 ms of each of `calls` / 2 rounds,
    1 ms of it hidden.
    """
    os.makedirs(folder, exist_ok=True)
    servers, half = gpus // 8, 6
    path = lambda name: open(os.path.join(folder, name), "w", encoding="utf-8")
    nodes = [(f"server-{i}", "host", 0) for i in range(servers)]
    edges = -(-servers // half)
    pods = -(-edges // half)
    edge = lambda i: servers + i
    nodes += [(f"edge-{i // half}-{i % half}", "switch", 1) for i in range(pods * half)]
    agg = lambda pod, i: servers + pods * half + pod * half + i
    nodes += [(f"agg-{p}-{i}", "switch", 2) for p in range(pods) for i in range(half)]
    core = lambda i: servers + 2 * pods * half + i
    nodes += [(f"core-{i}", "switch", 3) for i in range(half * half)]
    links = [(i, edge(i // half)) for i in range(servers)]
    links += [
        (edge(p * half + e), agg(p, a))
        for p in range(pods)
        for e in range(half)
        for a in range(half)
    ]
    links += [
        (agg(p, a), core(a * half + c))
        for p in range(pods)
        for a in range(half)
        for c in range(half)
    ]
    with path("topology.json") as file:
        json.dump(
            {
                "schema_version": 1,
                "name": "fat-tree k=12",
                "nodes": [dict(zip(("name", "kind", "tier"), node)) for node in nodes],
                "links": [
                    {
                        "link": f"{nodes[a][0]}->{nodes[b][0]}",
                        "a": a,
                        "b": b,
                        "rate_gbps": 100,
                        "delay_us": 1,
                    }
                    for a, b in links
                ],
                "hosts_of_servers": list(range(servers)),
            },
            file,
        )
    seeded = random.Random(1)
    with path("links.csv") as file:
        file.write("time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share\n")
        for at in range(1, intervals + 1):
            for number, (a, b) in enumerate(links):
                for x, y in ((a, b), (b, a)):
                    used = (number * 7 + at * 3) % 100 / 100
                    x, y = nodes[x][0], nodes[y][0]
                    file.write(
                        f"{at * 3200},{x}->{y},{x},{y},100,{used:g},{number * at % 5000},0\n"
                    )
    rounds = calls // 2
    with path("calls.log") as file:
        file.write(
            "# calls of the measured steps\n#"
            " start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
        )
        for i in range(rounds):
            for rank in range(gpus):  # each a little later than the one before: no two are alike
                begin = i * 5000 + rank * 0.001 * (i + 1)
                file.write(
                    f"{begin:.6f}\t{begin + 4000:.6f}\t1\t{rank}\tcompute\tcompute\tforward block"
                    f" {i}\t0\t-\n"
                )
                file.write(
                    f"{begin + 3000:.6f}\t{begin + 5000:.6f}\t1\t{rank}\tgradients"
                    "\tcollective\treduce-scatter"
                    f" bucket {i}\t26214400\tdp\n"
                )
    with path("flows.csv") as file:
        file.write("flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n")
        for i in range(200000):
            fct = 20 * seeded.paretovariate(2)
            file.write(
                f"{i},server-{i % servers},server-{(i + 1) % servers}"
                f",{4096 * seeded.randint(1, 4000)},0,{fct:.6f},{fct:.6f},20,reduce-scatter"
                f" bucket {i % 43}\n"
            )
    with path("network_events.log") as file:
        file.write(
            "# time_us what where details\n0 ecn edge-0-0->agg-0-0 5 marks in 1 ms, queue up to"
            " 4000 B\n# total ecn 5, measured 5\n# end 256000\n"
        )
    with path("stats.json") as file:
        json.dump(
            {
                "schema_version": 1,
                "program": "dltrain",
                "completed": True,
                "interrupted": False,
                "configuration": {
                    "cluster": {"gpus": gpus, "gpus_per_server": 8, "servers": servers},
                    "program": "dltrain",
                },
                "gpus": gpus,
                "servers": servers,
                "model": "made-up",
                "zero": 2,
                "steps_measured": 1,
                "warmup_steps": 0,
                "step_time_us": 5000.0 * rounds,
                "compute_time_us": 4000.0 * rounds,
                "communication_time_us": 2000.0 * rounds,
                "exposed_communication_time_us": 1000.0 * rounds,
                "samples_per_s": 1.0,
                "tflops_per_gpu": 1.0,
                "mfu": 0.1,
                "peak_tflops_per_gpu": 10.0,
                "gpu_memory_bytes_estimate": 10**10,
                "collectives": [],
                "simulated_time_us": 3200.0 * intervals,
                "measured_from_us": 0,
                "messages": 900000,
                "message_bytes": 10**12,
                "fct_us": dict.fromkeys(("p50", "p90", "p99", "p999", "max", "mean"), 30.0),
                "fct_slowdown": dict.fromkeys(("p50", "p90", "p99", "p999", "max", "mean"), 1.5),
                "links_csv": {"rows": 2 * len(links) * intervals, "interval_us": 3200},
            },
            file,
        )


def need_browser():
    """Leaves with status 77 (skipped) where there is none. Before the tests: they take an exit for
    an error.
    """
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    missing += [] if importlib.util.find_spec("selenium") else ["python3-selenium"]
    if missing:
        print("skipped: not installed: " + ", ".join(missing))
        sys.exit(77)


def unfold(browser):
    """Opens what the page keeps closed at first; its pictures are drawn then."""
    browser.execute_async_script(
        "const done = arguments[0];"
        "document.querySelectorAll('details.fold').forEach((box) => { box.open = true; });"
        "setTimeout(done, 50);"
    )


def start_browser(test, width=1280, dark=False):
    """Headless Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    folder = tempfile.mkdtemp(prefix="dltrain-browser-")
    test.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    options = Options()
    options.binary_location = chromium
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "disable-dev-shm-usage",
        f"user-data-dir={folder}",
        f"window-size={width},900",
    ):
        options.add_argument("--" + argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(service=Service(driver), options=options)
    test.addCleanup(browser.quit)
    browser.set_page_load_timeout(60)
    set_scheme(browser, dark)
    return browser


def set_scheme(browser, dark):
    """What the system asks for: colours; and no smooth scrolling, which a click would have to wait
    for.
    """
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {
            "features": [
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ]
        },
    )


def requested(browser):
    """Addresses of all requests since the last call."""
    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found
