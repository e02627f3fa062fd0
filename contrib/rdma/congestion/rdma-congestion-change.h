/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONGESTION_CHANGE_H
#define RDMA_CONGESTION_CHANGE_H

#include "rdma-congestion-ops.h"

#include <cstdint>
#include <ostream>

namespace ns3
{

/**
 * \ingroup rdma
 * What a law has decided, for NS_LOG_LOGIC: make it before the law decides and write it afterwards.
 * Without NS_LOG a compiler leaves it out.
 */
class RdmaCongestionChange
{
  public:
    /// \param state outlives this
    explicit RdmaCongestionChange(const RdmaCongestionState& state)
        : m_state(state),
          m_rateBps(state.rateBps),
          m_windowBytes(state.windowBytes)
    {
    }

    friend std::ostream& operator<<(std::ostream& os, const RdmaCongestionChange& change)
    {
        const RdmaCongestionState& now = change.m_state;
        os << "rate ";
        if (now.rateBps == change.m_rateBps)
        {
            os << "stays " << now.rateBps << " bit/s";
        }
        else
        {
            os << "from " << change.m_rateBps << " to " << now.rateBps << " bit/s";
        }
        if (now.windowBytes != change.m_windowBytes)
        {
            os << ", window from " << change.m_windowBytes << " to " << now.windowBytes << " B";
        }
        return os;
    }

  private:
    const RdmaCongestionState& m_state;
    uint64_t m_rateBps;
    uint64_t m_windowBytes;
};

} // namespace ns3

#endif /* RDMA_CONGESTION_CHANGE_H */
