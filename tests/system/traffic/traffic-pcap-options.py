# --pcap-...: what each does to the files, and one clear error, naming option, value and what is
# allowed, for what is wrong.
import glob
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _traffic import TWO_LEAVES, check, done, folder, run, stats

SMALL = [*TWO_LEAVES, "--bytes=1MB"]


def files(out, pattern="*.pcap*"):
    return {
        os.path.basename(name): os.path.getsize(name)
        for name in glob.glob(folder(out) + "/" + pattern)
    }


# Selectors that overlap: each port once, and the file as from one selector.
run(*SMALL, "--pcap=server-1", out="once")
run(*SMALL, "--pcap=server-1,leaf-0,server-1:0,server-1-leaf-0", out="often")
with open(folder("once/server-1-0.pcap"), "rb") as one, open(
    folder("often/server-1-0.pcap"), "rb"
) as other:
    check(one.read() == other.read(), "a port that is selected twice has another capture")
check(len(files("often")) == 4, "a host's port, and a leaf's three: %s" % files("often"))

# Format.
result = run(*SMALL, "--pcap=all", "--pcap-format=pcapng", out="ng")
check(list(files("ng")) == ["capture.pcapng"], "pcapng: %s" % files("ng"))
check("*.pcapng" in result.stdout, "the summary does not name the capture")

# Size: no file is larger, the run says once that captures stopped and is itself the same.
result = run(*SMALL, "--pcap=all", "--pcap-size=50kB", out="size")
sizes = files("size")
check(
    len(sizes) == 12
    and all(45000 < size <= 50000 for name, size in sizes.items() if name.startswith("server")),
    "size: %s" % sizes,
)
check(all(size <= 50000 for size in sizes.values()), "size: %s" % sizes)
check(result.stderr.count(" is full after ") == 1, "the note of a full file:\n" + result.stderr)
run(*SMALL, out="plain")
for out in ("size", "ng"):
    for key in ("events", "frame_hops", "data_packets", "fct_us"):
        check(stats(out)[key] == stats("plain")[key], "a capture changes the run: " + key)
check(not files("plain"), "captures that nobody asked for")
result = run(*SMALL, "--pcap=server-1", "--pcap-size=1GB", out="large")
check("full" not in result.stderr, "a file that is not full:\n" + result.stderr)

# Ring.
run(*SMALL, "--pcap=server-1", "--pcap-size=50kB", "--pcap-files=3", out="ring")
sizes = files("ring")
check(sorted(sizes) == ["server-1-0.%d.pcap" % k for k in range(3)], "ring: %s" % sizes)
check(all(0 < size <= 50000 for size in sizes.values()), "ring: %s" % sizes)
# Again into the same folder, with less to capture: nothing of the earlier run is left.
run(*SMALL, "--pcap=server-1", "--pcap-size=10MB", "--pcap-files=3", out="ring")
check(sorted(files("ring")) == ["server-1-0.0.pcap"], "ring: %s" % files("ring"))

# Snap length.
run(*SMALL, "--pcap=server-1", "--pcap-snaplen=64", out="snap")
check(
    0 < files("snap")["server-1-0.pcap"] < files("once")["server-1-0.pcap"] / 20,
    "snap length: %s" % files("snap"),
)

# In a scenario file, and in stats.json's configuration, which reads back.
with open(folder("job.json"), "w") as file:
    file.write(
        '{"run": {"pcap": ["server-1"], "pcap_format": "pcapng", "pcap_snaplen": 64, "pcap_size":'
        ' "50kB", "pcap_files": 3, "pcap_flow": ["server-3->server-1", "pfc"]}}'
    )
run(*SMALL, "--scenario=" + folder("job.json"), out="job")
configuration = stats("job")["configuration"]["run"]
for key, value in (
    ("pcap_format", "pcapng"),
    ("pcap_files", 3),
    ("pcap_flow", ["server-3->server-1", "pfc"]),
):
    check(configuration[key] == value, "configuration: %s: %s" % (key, configuration))
check(any(files("job")), "no capture from a scenario file")

ALL = ["--pcap=all"]
SWITCH = ["--topology=single-switch", "--hosts=4"]
CASES = [
    (ALL + ["--pcap-format=png"], "--pcap-format=png", ["pcap, pcapng"]),
    (ALL + ["--pcap-snaplen=13"], "--pcap-snaplen=13", ["14 to 256KiB"]),
    (ALL + ["--pcap-snaplen=many"], "--pcap-snaplen=many", ["allowed"]),
    (ALL + ["--pcap-size=9kB"], "--pcap-size=9kB", ["10kB to"]),
    (ALL + ["--pcap-size=1MB", "--pcap-files=1"], "--pcap-files=1", ["2 to 1000"]),
    (ALL + ["--pcap-files=3"], "--pcap-files=3", ["--pcap-size"]),
    (ALL + ["--pcap-flow="], "--pcap-flow", ["needs a value", "allowed"]),
    (ALL + ["--pcap-flow=server-1"], "--pcap-flow=server-1", ["SRC->DST"]),
    (
        ALL + ["--pcap-flow=server-1->sever-0"],
        "--pcap-flow=server-1->sever-0",
        ["'sever-0'", "allowed", "did you mean 'server-0'"],
    ),
    (
        ALL + ["--pcap-flow=server-1->server-0,switch-0->server-0"],
        "--pcap-flow=switch-0->server-0",
        ["'switch-0' is a switch", "allowed"],
    ),
    (
        ALL + ["--pcap-flow=server-1:1->server-0"],
        "--pcap-flow=server-1:1->server-0",
        ["server-1:0"],
    ),
    (ALL + ["--pcap-flow=server-1->server-1:0"], "--pcap-flow=server-1->server-1:0", ["itself"]),
    (["--pcap=switch-0:01"], "--pcap=switch-0:01", ["no such port", "switch-0:0 to :3"]),
    (["--pcap=server-0:00"], "--pcap=server-0:00", ["no such port", "server-0:0"]),
    (["--pcap=server-0,all"], "--pcap=all", ["beside"]),
    (["--pcap-snaplen=64"], "--pcap-snaplen=64", ["needs --pcap"]),
    (["--pcap-format=pcap"], "--pcap-format=pcap", ["needs --pcap"]),
    (["--pcap-flow=server-1->server-0"], "--pcap-flow=server-1->server-0", ["needs --pcap"]),
]
for arguments, where, words in CASES:
    result = run(*SWITCH, *arguments, status=2, out="bad")
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    check(len(lines) == 1, "%s: not one line:\n%s" % (arguments, result.stderr))
    for word in [where, *words]:
        check(word in lines[0], "%s: the error does not say %s:\n%s" % (arguments, word, lines[0]))
    check(not os.path.exists(folder("bad")), "%s: results of bad input" % arguments)
    check(
        run(*SWITCH, *arguments, "--dry-run", status=2, out="bad").stderr == result.stderr,
        "%s: a dry run says otherwise" % arguments,
    )

# What only the run can know is an error of the same kind: a limit below the header of a file with
# hundreds of interfaces.
result = run(
    "--topology=fat-tree",
    "--k=8",
    "--bytes=4kB",
    *ALL,
    "--pcap-format=pcapng",
    "--pcap-size=10kB",
    status=2,
    out="bad"
)
check(
    "size limit" in result.stderr and len(result.stderr.strip().splitlines()) == 1,
    "header:\n" + result.stderr,
)
done()
