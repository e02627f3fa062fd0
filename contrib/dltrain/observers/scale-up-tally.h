/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SCALE_UP_TALLY_H
#define DLTRAIN_SCALE_UP_TALLY_H

#include "topologies/scale-up/scale-up-packets.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/// What the links inside servers have carried in frames. Called between the nodes' events.
class ScaleUpTally
{
  public:
    /// \param server of this rank
    void Add(const topo::ScaleUpPackets* server);
    /// It goes; what it has counted stays.
    void Remove(const topo::ScaleUpPackets* server);

    /// \return whether there are any frames to count
    bool HasFrames() const
    {
        return m_seen;
    }

    /// \return the sum over all servers; of `deepest` the largest
    topo::ScaleUpPackets::Counters GetCounters() const;

  private:
    static void Sum(const topo::ScaleUpPackets& server, topo::ScaleUpPackets::Counters* into);

    bool m_seen = false;
    topo::ScaleUpPackets::Counters m_gone;
    std::vector<const topo::ScaleUpPackets*> m_servers;
};

} // namespace dltrain

#endif // DLTRAIN_SCALE_UP_TALLY_H
