/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_JOURNEY_PARTS_H
#define DLTRAIN_JOURNEY_PARTS_H

#include "reports/attribution/message-parts.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-journey.h"

#include <cstdint>

namespace dltrain
{

/// Divides the time of messages by what their journeys noted.
class JourneyParts
{
  public:
    explicit JourneyParts(const ns3::RdmaFabric& fabric);

    /// \param end when its last byte was at the receiver, ps \param divided becomes the parts of
    /// its completion time
    void Divide(const ns3::RdmaJourney& journey, int64_t end, reports::MessageParts& divided) const;

  private:
    bool m_limits{false}; //!< some NIC has limits
};

} // namespace dltrain

#endif // DLTRAIN_JOURNEY_PARTS_H
