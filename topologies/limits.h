/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a network may be, wherever it comes from: an option, a JSON graph, a file of HPCC's format,
 * a server's JSON. One place, so that files obey the same limits as options.
 */
#ifndef TOPOLOGIES_LIMITS_H
#define TOPOLOGIES_LIMITS_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <string>

namespace topo
{

/// A frame of 4 KiB takes half a minute.
constexpr rdma::BitRate kSlowestLink{1000};
/// A frame of 4 KiB takes 33 ps: faster ones take no time that the simulator can tell.
constexpr rdma::BitRate kFastestLink{1000000000000000};
/// To the Moon, 1.3 s, and back, several times.
constexpr rdma::Duration kLongestDelay = rdma::Milliseconds(10000);
/// No frame of 1,000 B comes through.
constexpr double kMostBitErrors = 0.001;
/// The limits of a server.
constexpr uint32_t kMostGpus = 1024;
constexpr uint32_t kMostNics = 128;
/// The limit of a library: NCCL's MAXCHANNELS (src/include/device.h).
constexpr uint32_t kMostChannels = 64;

/// The slowest GPU port and host bridge. Below this a byte takes more picoseconds than the scale-up
/// law's fixed-point number holds.
constexpr rdma::BitRate kSlowestScaleUp = rdma::Mbps(1);

/// The limits in the user's syntax.
inline std::string
RateLimitsText(rdma::BitRate slowest = kSlowestLink)
{
    return std::string(slowest == kSlowestLink ? "1kbps" : "1Mbps") + " to 1000Tbps";
}

constexpr const char* kLongestDelayText = "10s";
constexpr const char* kMostBitErrorsText = "0.001";

} // namespace topo

#endif // TOPOLOGIES_LIMITS_H
