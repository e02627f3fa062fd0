/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_EARLY_JOURNEYS_H
#define RDMA_EARLY_JOURNEYS_H

#include "rdma-journey.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Journeys of last packets that have overtaken others of their message, kept until the message is
 * complete. Of a queue pair's responder; nothing where nobody notes journeys.
 */
class RdmaEarlyJourneys
{
  public:
    /// The packet came before another one of its message. \param journey not null; instead of what
    /// is kept of this PSN
    void Keep(uint64_t psn, std::unique_ptr<RdmaJourney> journey, int64_t now);
    /// Its message is complete. What is kept of earlier PSNs is forgotten.
    /// \param repeats what completes it was sent again \return null: nothing was kept
    std::unique_ptr<RdmaJourney> Take(uint64_t psn, bool repeats, int64_t now);

  private:
    struct Early
    {
        uint64_t psn;
        int64_t came;
        std::unique_ptr<RdmaJourney> journey;
    };

    std::vector<Early> m_kept; //!< few: messages whose last packet is there, and another is not
};

} // namespace ns3

#endif /* RDMA_EARLY_JOURNEYS_H */
