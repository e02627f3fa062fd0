/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/estimate.h"

#include <algorithm>

namespace scenario
{

namespace
{

// Bytes, measured: peaks of the resident set of optimized builds (x86-64, GCC 12, glibc), of runs
// that differ in one of these (networks of 48 to 24,576 links, 16 to 160,000 connections, up to 4
// million messages).
constexpr double kProgram = 34e6;
constexpr double kMpi = 22e6; ///< more, in one of several processes
/// The share of memory, without the program, that each of several processes has for the whole
/// network: docs/ranks.md, k = 24 in one, two and four processes.
constexpr double kOfAll = 1.0 / 9;
constexpr double kIdleLink = 6000; ///< both ends
constexpr double kIdleIbLink = 13000;
constexpr double kBusyLink = 4500;         ///< more, once frames have crossed it
constexpr double kConnection = 2000;       ///< both ends, and one message
constexpr double kConnectionJourney = 650; ///< for the attribution of time
constexpr double kConnectionTelemetry = 550;
constexpr double kMessage = 64; ///< in flows.csv
constexpr double kMostMessagesKept =
    1e6; ///< rows of flows.csv; beyond that it is written again at the end
constexpr double kSampledMessage = 100;
constexpr double kPosted = 600; ///< for messages that wait for their turn at a NIC
constexpr double kPostedInside = 120;
constexpr double kRank = 1000;
constexpr double kLane = 200;
constexpr double kPathRecord = 256;
// traffic --protocol=tcp --hosts=40 --topology=leaf-spine --pattern=random-permutation with
// --bytes=100kB, 1500kB and 4MB: 41, 52, 68 MiB, of which 33 are RDMA's.
constexpr double kOrdinary = 8e6;
constexpr double kBuffered = 0.2; ///< of a byte under way

} // namespace

MemoryEstimate
EstimateMemory(const MemoryNeeds& needs)
{
    MemoryEstimate e;
    e.program = kProgram;
    e.network = needs.links * (needs.infiniBand ? kIdleIbLink : kIdleLink) + 2 * needs.routes +
                std::min(needs.links, needs.usedLinks) * kBusyLink;
    e.connections = needs.connections * needs.bytesPerConnection;
    e.messages = needs.messages <= kMostMessagesKept ? needs.messages * kMessage
                                                     : kMostMessagesKept * kSampledMessage;
    e.messages += needs.posted * kPosted + needs.postedInside * kPostedInside;
    e.program += needs.ordinary ? kOrdinary : 0;
    e.messages += needs.buffered * kBuffered;
    e.ranks = needs.ranks * kRank + needs.lanes * kLane + needs.paths * kPathRecord;
    return e;
}

MemoryEstimate
EstimateProcess(const MemoryEstimate& alone, const Processes& processes)
{
    MemoryEstimate e = alone;
    if (!processes.Several())
    {
        return e;
    }
    e.program += kMpi;
    const double share =
        processes.hostsApart ? kOfAll + (1 - kOfAll) / static_cast<double>(processes.count) : 1;
    for (double* part : {&e.network, &e.connections, &e.messages, &e.ranks})
    {
        *part *= share;
    }
    return e;
}

double
ConnectionBytes(const FabricSpec& fabric, bool attribution)
{
    const bool telemetry = fabric.cc == "hpcc" || fabric.cc == "powertcp";
    return kConnection + (attribution ? kConnectionJourney : 0) +
           (telemetry ? kConnectionTelemetry : 0);
}

} // namespace scenario
