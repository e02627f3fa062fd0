/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/assumed-speed.h"

#include "scenarios/network/processes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scenario
{

namespace
{

struct Measured
{
    double hosts;
    double speed; ///< million frame-hops/s of one core
};

// docs/measured.md, "Speed", of November 2026: permutation-k4, -k8, -k16 and -k32, and the same
// with ns-3's engine (-ns3).
const std::vector<Measured> kWindows{{16, 13.6}, {128, 10.4}, {1024, 5.90}, {8192, 2.78}};
const std::vector<Measured> kNs3{{16, 6.65}, {128, 5.13}, {1024, 1.41}};

// The same table: main-job-ib over main-job-roce, and with ns-3's engine.
constexpr double kInfiniBand = 9.54 / 13.5;
constexpr double kInfiniBandNs3 = 5.33 / 6.59;

// Whole time of runs with next to no traffic on that machine, less their event loop: fat-trees of
// k = 4 to 48 and a leaf-spine of 2,048 hosts, 29 to 65 us a link.
constexpr double kSetUp = 0.03;
constexpr double kSetUpOfLink = 60e-6;

// docs/ranks.md: of two processes, each with hosts of its own (k = 8; k = 16: 1.9), and one with
// all hosts (16 of them; less do not gain, more processes do not gain more). That four gain as much
// over two as two over one is assumed.
constexpr double kGainOfTwo = 1.8;
constexpr double kGainOfSwitches = 1.1;

/// Seconds a frame-hop, which between two rows grows with the logarithm of the hosts; outside of
/// them it is that of the nearest.
double
FrameHopSeconds(const std::vector<Measured>& table, double hosts)
{
    const auto seconds = [](const Measured& row) { return 1e-6 / row.speed; };
    const auto above = std::find_if(table.begin(), table.end(), [hosts](const Measured& row) {
        return row.hosts >= hosts;
    });
    if (above == table.begin() || above == table.end())
    {
        return seconds(above == table.end() ? table.back() : table.front());
    }
    const Measured& below = *(above - 1);
    const double share = std::log(hosts / below.hosts) / std::log(above->hosts / below.hosts);
    return seconds(below) + share * (seconds(*above) - seconds(below));
}

double
Gain(const Processes& processes)
{
    if (!processes.Several())
    {
        return 1;
    }
    return processes.hostsApart        ? std::pow(kGainOfTwo, std::log2(processes.count))
           : DoProcessesPay(processes) ? kGainOfSwitches
                                       : 1;
}

} // namespace

AssumedSpeed
AssumeSpeed(const SpeedNeeds& needs)
{
    AssumedSpeed speed;
    speed.setUpSeconds = kSetUp + needs.links * kSetUpOfLink;
    const double share = !needs.infiniBand ? 1 : needs.windows ? kInfiniBand : kInfiniBandNs3;
    speed.frameHopsPerSecond =
        share / FrameHopSeconds(needs.windows ? kWindows : kNs3, needs.hosts);
    speed.gain = Gain(needs.processes);
    return speed;
}

AssumedMessages
AssumeMessages(const std::string& network)
{
    // User time of collperf in November 2026 on two shared cores: ring all-reduce of 1,024 servers
    // of one GPU (2.1 million messages between servers; 3.7 and 5.8 s) and of 64 servers of eight
    // (523,264 between, 3.7 million inside; 4.3 and 5.2 s); all-to-all of 64 servers (4,032
    // channels; 0.08 and 0.11 s).
    AssumedMessages messages;
    messages.between = network == "fluid" ? 2.8e-6 : 1.8e-6;
    messages.inside = 0.9e-6;
    messages.channel = 12e-6;
    return messages;
}

} // namespace scenario
