/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUEUE_PAIR_LOG_H
#define QUEUE_PAIR_LOG_H

#include "reports/tables/queue-pair-table.h"

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/// Listens to chosen queue pairs, for queue_pairs.csv (reports::QueuePairTable). It does not listen
/// to NICs without chosen queue pairs.
class QueuePairLog
{
  public:
    /// \return number in flows.csv of the oldest message of a queue pair (endpoint, number) that
    /// has not arrived; or QueuePairTable::NO_FLOW
    using FlowOf = std::function<uint64_t(uint32_t endpoint, uint32_t number)>;

    /// A queue pair as its own event saw it.
    struct Sight
    {
        const ns3::RdmaQueuePair* queuePair; //!< for its identity alone
        uint32_t src;                        //!< endpoints
        uint32_t dst;
        uint32_t number;
        uint32_t peerNumber;
        uint64_t rateBps;
        uint64_t windowBytes;
        int64_t time; //!< ps

        static Sight Of(const ns3::RdmaQueuePair& queuePair, int64_t now);
    };

    /// \param names of endpoints, and patterns, as the table has them
    QueuePairLog(ns3::RdmaFabric& fabric,
                 const std::vector<std::string>& names,
                 const std::vector<std::string>& patterns,
                 FlowOf flowOf);

    /// This queue pair will send data: adds its first row, if it was chosen. Called through
    /// NodeWindows::Note.
    void Begin(const Sight& sender);

    const reports::QueuePairTable& GetTable() const
    {
        return m_table;
    }

  private:
    /// A queue pair while it is connected to this peer.
    struct Connection
    {
        uint32_t peer; //!< endpoint
        uint32_t peerNumber;
        uint32_t index; //!< in the table

        bool IsTo(const Sight& sender) const
        {
            return peer == sender.dst && peerNumber == sender.peerNumber;
        }
    };

    void OnChange(ns3::RdmaQueuePair* qp, uint64_t, int64_t now);
    void TellChange(const Sight& changed);
    void Add(const Sight& queuePair, uint32_t index);

    reports::QueuePairTable m_table;
    FlowOf m_flowOf;
    std::vector<bool> m_listens;                                             //!< by endpoint
    std::unordered_map<const ns3::RdmaQueuePair*, Connection> m_connections; //!< chosen ones
};

} // namespace dltrain

#endif /* QUEUE_PAIR_LOG_H */
