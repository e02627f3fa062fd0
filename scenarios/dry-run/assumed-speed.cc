/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every cost is measured by processor time (user and system), least of two runs, one thread, on the
 * machine of docs/measured.md, 2026-11-30, both cores partly busy. The yardstick
 * (tests/bench/yardstick.cc 8 4000000 1) had 24.2 million frame-hops/s then. The commands stand
 * beside the costs; `--threads=1` is left out. None is a case of docs/speed.md, "The forecast".
 */
#include "scenarios/dry-run/assumed-speed.h"

#include "scenarios/network/network-kinds.h"
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
    double nanoseconds; ///< a frame-hop of the event loop
};

// traffic --k=4 --bytes=200MB; --k=8 --bytes=50MB; --k=16 --bytes=6MB; --k=32 --bytes=1MB:
// permutations, a queue pair a host.
const std::vector<Measured> kWindows{{16, 52}, {128, 78}, {1024, 109}, {8192, 176}};
// The same with --engine=ns3, the third with --bytes=2MB.
const std::vector<Measured> kNs3{{16, 151}, {128, 155}, {1024, 292}};
// A pair of queue pairs makes as much state as a twelfth of a host: collperf --op=alltoall
// --topology=single-switch -b 64M --ranks=32 and 64 (992 and 4,032 pairs) take 91 and 117 ns,
// --ranks=64 --gpus-per-server=8 (3,584 pairs, 8 hosts) 67 ns.
constexpr double kHostsOfConnection = 1 / 12.0;
// Flows that come and go at random share links and buffers in ever new ways: traffic
// --pattern=poisson --load=0.5 --k=4 --duration=20ms takes 80 ns; collperf --ranks=16 -b 64M
// beside --background=pattern=poisson,load=0.3 81 ns, by itself 54. Incasts: 1.4 to 2 times.
constexpr double kMixed = 1.55;

// InfiniBand's frame-hop over RoCE's: the permutations with --fabric=ib --nic=EDR, 1.25 to 1.6;
// since then credits take fewer events, and the default job 1.27 times as many frame-hops a second
// (five pairs). Of k = 4 with ns-3's engine 1.3.
constexpr double kInfiniBand = 1.45 / 1.27;
constexpr double kInfiniBandNs3 = 1.3;

// Events of a frame: some for its two ends, and some a link. Permutations of 6 links have 1.45 a
// frame-hop, those of 2 links (--topology=single-switch) 2.0.
constexpr double kEventsOfFrame = 1.5;
constexpr double kEventsOfHop = 1.25;
// InfiniBand: 2.28 a frame-hop over 6 links, 2.32 over 2.
constexpr double kEventsOfHopInfiniBand = 2.25;

// traffic --bytes=1kB with --k=4, 8, 16, 24 (48 to 10,368 links): 65 to 73 us a link. The first
// without report and timeline: 30 ms.
constexpr double kSetUp = 0.03;
constexpr double kReport = 0.07;
constexpr double kSetUpOfLink = 66e-6;

// Another program on the machine takes the memory's speed away, so two threads gain 1.3 (main job)
// to 1.9 (permutations): docs/speed.md. That four gain as much over two is assumed.
constexpr double kGainOfThreads = 1.5;

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
    const auto above = std::find_if(table.begin(), table.end(), [hosts](const Measured& row) {
        return row.hosts >= hosts;
    });
    if (above == table.begin() || above == table.end())
    {
        return 1e-9 * (above == table.end() ? table.back() : table.front()).nanoseconds;
    }
    const Measured& below = *(above - 1);
    const double share = std::log(hosts / below.hosts) / std::log(above->hosts / below.hosts);
    return 1e-9 * (below.nanoseconds + share * (above->nanoseconds - below.nanoseconds));
}

double
Gain(const SpeedNeeds& needs)
{
    const Processes& processes = needs.processes;
    if (!processes.Several())
    {
        // The analytic network and ns-3's engine have one thread (docs/speed.md).
        return needs.threads > 1 && needs.windows && needs.packets
                   ? std::pow(kGainOfThreads, std::log2(needs.threads))
                   : 1;
    }
    return processes.hostsApart        ? std::pow(kGainOfTwo, std::log2(processes.count))
           : DoProcessesPay(processes) ? kGainOfSwitches
                                       : 1;
}

/// Costs of packets of RDMA.
void
AssumeFrames(const SpeedNeeds& needs, AssumedSpeed* speed)
{
    const double ofFabric = !needs.infiniBand ? 1 : needs.windows ? kInfiniBand : kInfiniBandNs3;
    const double state = needs.hosts + kHostsOfConnection * needs.connections;
    const double seconds = ofFabric * (needs.mixed ? kMixed : 1) *
                           FrameHopSeconds(needs.windows ? kWindows : kNs3, state);
    (*speed)[WorkKind::kFrameHop] = {seconds,
                                     needs.infiniBand ? kEventsOfHopInfiniBand : kEventsOfHop};
    (*speed)[WorkKind::kFrame] = {0, needs.infiniBand ? 0 : kEventsOfFrame};
}

} // namespace

SpeedNeeds
SpeedNeedsOf(const RunOptions& run, const FabricSpec& fabric)
{
    SpeedNeeds needs;
    needs.infiniBand = fabric.infiniBand;
    needs.windows = run.engine == "windows";
    needs.packets = HasPackets(fabric);
    needs.attribution = run.attribution;
    needs.report = run.report;
    needs.timeline = run.timeline;
    needs.threads = run.threads;
    needs.processes = run.processes;
    return needs;
}

double
AssumedSpeed::Seconds(const Work& work, WorkOf sort) const
{
    double seconds = 0;
    for (std::size_t i = 0; i < kWorkKinds; ++i)
    {
        const auto kind = static_cast<WorkKind>(i);
        seconds += Of(kind) == sort ? work[kind] * (*this)[kind].seconds : 0;
    }
    return seconds / (sort == WorkOf::kOutputs ? 1 : gain);
}

double
AssumedSpeed::Seconds(const Work& work) const
{
    return setUpSeconds + Seconds(work, WorkOf::kPackets) + Seconds(work, WorkOf::kMessages) +
           Seconds(work, WorkOf::kOutputs);
}

double
AssumedSpeed::Events(const Work& work) const
{
    double events = 0;
    for (std::size_t i = 0; i < kWorkKinds; ++i)
    {
        const auto kind = static_cast<WorkKind>(i);
        events += work[kind] * (*this)[kind].events;
    }
    return events;
}

AssumedSpeed
AssumeSpeed(const SpeedNeeds& needs)
{
    AssumedSpeed speed;
    speed.setUpSeconds = kSetUp + (needs.report ? kReport : 0) + needs.links * kSetUpOfLink;
    speed.gain = Gain(needs);
    AssumeFrames(needs, &speed);
    // --protocol=tcp: traffic --topology=single-switch --hosts=16 --bytes=4MB, --k=4 --bytes=5MB
    // and --k=8 --bytes=400kB take 7.0, 8.4 and 8.6 us a packet, 7.7 with --bytes=1MB; ns-3's stack
    // is most of it, Debian's with its logs (docs/tcp.md). A connection: --hosts=48
    // --pattern=all-to-all --bytes=1kB. A flow on one from before: as RDMA's (assumed).
    speed[WorkKind::kTcpFrame] = {7e-6, 2};
    speed[WorkKind::kTcpHop] = {0.25e-6, 0.95};
    speed[WorkKind::kTcpConnection] = {130e-6, 10};
    speed[WorkKind::kTcpFlow] = {4.5e-6, 0};
    // --protocol=udp: the same lines with --bytes=4MB, 4MB, 1MB: 4.0, 4.6, 5.7 us a packet.
    speed[WorkKind::kUdpFrame] = {4e-6, 0.5};
    speed[WorkKind::kUdpHop] = {0.15e-6, 1.3};
    speed[WorkKind::kUdpFlow] = {30e-6, 2};
    // Without report, timeline and attribution, less the frame-hops: collperf --ranks=16
    // --gpus-per-server=1 --algorithm=ring -b 64K -n 200.
    // Attribution: --ranks=3072 -b 2M, 38.6 instead of 22.7 s for 18.9 million (docs/speed.md).
    const double attribution = needs.attribution ? 0.8e-6 : 0;
    speed[WorkKind::kMessage] = {0.5e-6 + attribution, 0};
    // traffic --topology=single-switch --hosts=32 --pattern=poisson --sizes=google-rpc --load=0.4
    // --duration=2ms --queue-interval=0 --rate-interval=0: 4.5 us a flow that opens a pair of queue
    // pairs, or has one from before; collperf --ranks=16 -b 64M --background=pattern=poisson,
    // load=0.3,sizes=google-rpc, where nearly all have one: 3.9 us. With --pattern=all-to-all
    // --bytes=1kB each opens one: 200 hosts of a fat-tree 6.4 us, 120 and 240 of one switch 13 us.
    speed[WorkKind::kFlow] = {4.5e-6 + attribution, 0};
    speed[WorkKind::kQueuePair] = {2.5e-6, 0};
    // collperf --ranks=256 and 512 -b 64M --network=analytic, and fluid: 1.1 to 1.8 us, 1.3 to 1.8;
    // 7.0 and 4.2 events a message. dltrain --model=gpt2 --gpus=128: 12 and 9.2; --model=
    // deepseek-v2-lite --servers=4 --ep=32: 5.6 and 4.2. --op=alltoall --topology=fat-tree
    // --network=fluid, 64, 128 and 1,024 ranks: 3.6, 3.4 and 7.1 us a message beside 62, 126 and
    // 1,022 others of its NIC. --network=analytic, 200 ranks: 3.4 us, a channel each.
    speed[WorkKind::kAnalyticMessage] = {0.9e-6, 8};
    speed[WorkKind::kFluidMessage] = {1.0e-6, 5.5};
    speed[WorkKind::kFluidSharer] = {0.004e-6, 0};
    speed[WorkKind::kChannel] = {2.5e-6, 0};
    // collperf --ranks=512 --gpus-per-server=8 -b 1M -n 10 --algorithm=ring, and with
    // --in-server=one-by-one: 0.08 us more for each message inside.
    speed[WorkKind::kInside] = {0.12e-6, 0.25};
    speed[WorkKind::kPassedOn] = {0.04e-6, 0};
    // collperf --ranks=8 --gpus-per-server=8 -b 1M -n 1000: as collectives whose ranks post alike
    // are worked out once, their messages come to nothing.
    speed[WorkKind::kAtOnce] = {0, 0};
    // dltrain --model=gpt3-2.7b --gpus=8 --tp=8 --accumulation=16 and 64; --gpus=1
    // --accumulation=256: 0.33, 0.33 and 0.38 us, 1.0 to 1.1 events.
    speed[WorkKind::kTask] = {0.35e-6, 1.1};
    // The lines of messages and tasks above with report or timeline, and that of kPassedOn: 1.7 us
    // of 650,000 messages, 3 of 100,000.
    speed[WorkKind::kRecorded] = {0.3e-6 + (needs.report ? 1.8e-6 : 0) +
                                      (needs.timeline ? 0.5e-6 : 0),
                                  0};
    speed[WorkKind::kCall] = {0.4e-6 + (needs.report ? 3.3e-6 : 0) + (needs.timeline ? 0.6e-6 : 0),
                              0};
    // traffic --k=4 --bytes=800MB, --k=8 --bytes=50MB, --k=16 --bytes=6MB, with report and without.
    speed[WorkKind::kLinkRow] = {needs.report ? 1.3e-6 : 0.2e-6, 0};
    // traffic --pattern=poisson --load=0.5 --k=4 --duration=20ms with --queue-interval=0 and
    // without: 80 ports, 26,196 looks.
    speed[WorkKind::kQueueLook] = {16e-9, 0};
    return speed;
}

} // namespace scenario
