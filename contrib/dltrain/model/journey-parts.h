/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_JOURNEY_PARTS_H
#define DLTRAIN_JOURNEY_PARTS_H

#include "results/message-parts.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-journey.h"

#include <cstdint>
#include <unordered_map>

namespace dltrain
{

/// Divides the time of messages by what their journeys noted.
class JourneyParts
{
  public:
    /// End of the fabric of each of its ports.
    using PortIndex = std::unordered_map<const ns3::RdmaPort*, uint32_t>;

    /// \param portIndex kept by reference
    JourneyParts(const ns3::RdmaFabric& fabric, const PortIndex& portIndex);

    /// \param end when its last byte was at the receiver, ps. \return the parts of its completion
    /// time, valid until the next call
    const results::MessageParts& Divide(const ns3::RdmaJourney& journey, int64_t end);

  private:
    bool m_limits{false}; //!< some NIC has limits
    const PortIndex& m_portIndex;
    results::MessageParts m_divided;
};

} // namespace dltrain

#endif // DLTRAIN_JOURNEY_PARTS_H
