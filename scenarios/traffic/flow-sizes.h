/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Distributions of flow sizes, as a cumulative one given by points: so many percent of the flows
 * have at most so many bytes, in between linearly. That is the form of HPCC's traffic generator
 * (folder traffic_gen):
 *
 *   0 0
 *   10000 15
 *   20000 20
 *   30000000 100
 *
 * A line is "bytes percent"; or, as CSV, "bytes,percent", with a first line that names the columns
 * (size_bytes or bytes, cum_percent or percent; other columns are not looked at). Blank lines and
 * what follows a '#' are not read. Percents begin at 0 or above: what the first point has is the
 * share of flows of just its size. Two points of one size are a step; two of one percent, a gap.
 *
 * All is in integers (a share is a multiple of 10^-11), so that the same seed gives the same sizes
 * on every machine.
 */
#ifndef SCENARIOS_TRAFFIC_FLOW_SIZES_H
#define SCENARIOS_TRAFFIC_FLOW_SIZES_H

#include "scenarios/traffic/random.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// Too large for 64 bits: sums of bytes times shares.
__extension__ using Wide = unsigned __int128;

class FlowSizes
{
  public:
    /// The share that is all flows.
    static constexpr uint64_t kAll = 100000000000ULL;
    /// Largest size, bytes.
    static constexpr uint64_t kLargest = 1000000000000ULL;

    struct Point
    {
        uint64_t bytes = 0;
        uint64_t share = 0; ///< share of flows with at most `bytes`, out of kAll
    };

    /// Reads a distribution. \return false: *error has the problem, with origin and line
    static bool Parse(const std::string& text,
                      const std::string& origin,
                      FlowSizes* sizes,
                      std::string* error);

    const std::vector<Point>& Points() const
    {
        return m_points;
    }

    /// A size, at least 1 B: the inverse of the distribution, cut to whole bytes.
    uint64_t Draw(Random* random) const
    {
        return AtShare(random->Below(kAll));
    }

    /// The size that `share` of kAll are below; share < kAll.
    uint64_t AtShare(uint64_t share) const;
    /// Share of kAll of sizes, before they are cut to whole bytes, of at most `bytes`.
    uint64_t ShareUpTo(uint64_t bytes) const;

    /// Mean size times 1024, before sizes are cut to whole bytes (that takes half a byte): the sum
    /// of the segments' middles times their shares, as HPCC's generator has it.
    uint64_t MeanBytes1024() const;
    /// Mean number of packets of at most `mtu` bytes, times 1024.
    uint64_t MeanPackets1024(uint32_t mtu) const;

    double MeanBytes() const
    {
        return static_cast<double>(MeanBytes1024()) / 1024;
    }

    /// \return names columns of the text that are not used; empty: none
    const std::string& GetNote() const
    {
        return m_note;
    }

  private:
    std::vector<Point> m_points;
    std::string m_note;
};

/// A published distribution.
struct NamedFlowSizes
{
    const char* name;
    const char* description;
    const char* text; ///< for FlowSizes::Parse
};

const std::vector<NamedFlowSizes>& PublishedFlowSizes();

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_FLOW_SIZES_H
