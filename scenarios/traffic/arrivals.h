/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Open-loop traffic: flows that begin whether or not earlier ones are done, at an average load.
 *
 *   Poisson   every host begins flows after exponential gaps, each to one of the other hosts,
 *             uniformly, of a size drawn from a distribution: HPCC's traffic generator
 *             (alibaba-edu/High-Precision-Congestion-Control, traffic_gen/traffic_gen.py)
 *   on-off    the same, but a host begins flows only while it is on; on times and off times follow
 *             each other at random. The gaps are shorter by on / (on + off), so that the average
 *             load is the one asked for: an interrupted Poisson process (Kuczura, BSTJ 1973)
 *   incast    mixed in with either: every now and then fanIn hosts, chosen at random, send so many
 *             bytes each to one, all at once (HPCC, SIGCOMM 2019, 5.3: 60 to 1, 500 KB each, 2% of
 *             the capacity)
 *
 * Load: the average of bytes a flow x 8 / gap is `load` x the rate of the host's links. Which bytes
 * is the caller's: bytesPerFlow.
 *
 * Every host draws from a stream of its own, in integers: the same seed gives the same flows on
 * every machine.
 */
#ifndef SCENARIOS_TRAFFIC_ARRIVALS_H
#define SCENARIOS_TRAFFIC_ARRIVALS_H

#include "contrib/rdma/core/units.h"
#include "scenarios/traffic/flow-sizes.h"

#include <cstdint>
#include <vector>

namespace scenario
{

/// How on and off times are distributed.
enum class PeriodKind : uint8_t
{
    kExponential,
    kConstant,
    kPareto, ///< shape 2
};

struct ArrivalOptions
{
    std::vector<uint64_t>
        hostRates; ///< bits per second, all links of a host together; at least two hosts
    uint64_t seed = 1;
    rdma::Duration until; ///< flows begin before
    const FlowSizes* sizes = nullptr;
    uint64_t load = 0;             ///< load in units of 10^-9
    uint64_t bytesPerFlow1024 = 0; ///< mean bytes of a flow that make up the load, times 1024

    rdma::Duration meanOn; ///< 0: always on
    rdma::Duration meanOff;
    PeriodKind periods = PeriodKind::kExponential;

    /// Incast load in units of 10^-9, of the rates of all hosts together; 0: none.
    uint64_t incastLoad = 0;
    uint32_t incastFanIn = 0;            ///< less than hosts
    uint64_t incastBytes = 0;            ///< bytes that each host sends
    uint64_t incastBytesPerFlow1024 = 0; ///< bytes of each that make up the load, times 1024
    bool incastPeriodic = true;          ///< else Poisson
};

struct Arrival
{
    rdma::TimePoint start;
    uint64_t bytes = 0;
    uint32_t src = 0; ///< host
    uint32_t dst = 0;
    bool incast = false;
};

/// How many times hosts go on until o.until; 0 if they always are.
double ExpectedPeriods(const ArrivalOptions& o);

/// How many flows MakeArrivals makes, on average.
double ExpectedArrivals(const ArrivalOptions& options);

/// By start, then by source.
std::vector<Arrival> MakeArrivals(const ArrivalOptions& options);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_ARRIVALS_H
