/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sources and destinations of flows: synthetic patterns over hosts 0..n-1 as pure functions.
 *
 *   permutation         i -> (i + offset) mod n, every host
 *   random-permutation  i -> p(i), p a seeded permutation without a fixed point
 *   incast     the `fanIn` hosts behind the target -> target
 *   all-to-all every host to every other one, in the order of a shift: i -> i+1, then i -> i+2, ...
 *
 * Sizes are taken from a list in turn, flow i the entry i mod length. Starts are 0, or seeded
 * uniform in [0, jitter).
 */
#ifndef SCENARIOS_TRAFFIC_PATTERNS_H
#define SCENARIOS_TRAFFIC_PATTERNS_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// Source and destination host.
using HostPair = std::pair<uint32_t, uint32_t>;

/// Precondition: n >= 2, offset mod n != 0.
std::vector<HostPair> Permutation(uint32_t n, uint32_t offset);
/// Precondition: n >= 2.
std::vector<HostPair> RandomPermutation(uint32_t n, uint64_t seed);
/// Precondition: 1 <= fanIn < n, target < n.
std::vector<HostPair> Incast(uint32_t n, uint32_t fanIn, uint32_t target);
/// Precondition: n >= 2.
std::vector<HostPair> AllToAll(uint32_t n);

/// `count` start times, uniform in [0, jitter) on whole picoseconds and ascending; all 0 without
/// jitter.
std::vector<rdma::TimePoint> StartTimes(size_t count, rdma::Duration jitter, uint64_t seed);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_PATTERNS_H
