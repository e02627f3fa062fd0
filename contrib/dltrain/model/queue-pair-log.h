/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUEUE_PAIR_LOG_H
#define QUEUE_PAIR_LOG_H

#include "results/queue-pair-table.h"

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/// Listens to chosen queue pairs, for queue_pairs.csv (results::QueuePairTable). NICs whose queue
/// pairs nobody chose are not listened to.
class QueuePairLog
{
  public:
    /// \param names of endpoints, and patterns, as the table has them
    /// \param flowOf number in flows.csv of the oldest message of a queue pair that has not
    /// arrived; or QueuePairTable::NO_FLOW
    QueuePairLog(ns3::RdmaFabric& fabric,
                 const std::vector<std::string>& names,
                 const std::vector<std::string>& patterns,
                 std::function<uint64_t(const ns3::RdmaQueuePair&)> flowOf);

    /// Data will be sent by this queue pair: the first row of it, if it is one of those chosen.
    void Begin(ns3::RdmaQueuePair* sender, int64_t now);

    const results::QueuePairTable& GetTable() const
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

        bool IsTo(const ns3::RdmaQueuePair& sender) const
        {
            return peer == sender.GetPeerEndpoint() && peerNumber == sender.GetPeerNumber();
        }
    };

    void OnChange(ns3::RdmaQueuePair* qp, uint64_t, int64_t now);
    void Add(const ns3::RdmaQueuePair& qp, uint32_t index, int64_t now);

    results::QueuePairTable m_table;
    std::function<uint64_t(const ns3::RdmaQueuePair&)> m_flowOf;
    std::vector<bool> m_listens;                                             //!< by endpoint
    std::unordered_map<const ns3::RdmaQueuePair*, Connection> m_connections; //!< chosen ones
};

} // namespace dltrain

#endif /* QUEUE_PAIR_LOG_H */
