/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_BOND_H
#define RDMA_BOND_H

#include "ns3/rdma-port.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

class RdmaNic;

/**
 * \ingroup rdma
 * Ports of one NIC that stand in for each other (a bond, link aggregation over two switches): one
 * RdmaNic each, with an endpoint and queue pairs of its own. It stands between them and their
 * ports:
 *
 *     NIC 0   NIC 1             NIC 0   NIC 1
 *       |       |                  '----. |        both NICs send by port 1, in turns, packet by
 *     port 0  port 1   port 0   -----   port 1     packet; what is for either comes by any port
 *                      is dead
 *
 * Of three ports and more a hash spreads the queue pairs of a dead one over those that are left:
 * each keeps its order by going one way. Its answers (ACKs, CNPs) go by the next one.
 *
 * Queue pairs stay where they are: their numbers, addresses, rates and windows do not change, and
 * what is lost with the link they send again. Of a port's control frames those that wait are lost
 * with it.
 *
 * NICs whose packets wait elsewhere cannot be bonded (Check): with limits (RdmaNicLimits), with
 * Scheduling scan, or beside ordinary packets.
 */
class RdmaBond
{
  public:
    /// \param nics of one node, at least two, attached; their ports' user is this from now on. They
    /// outlive this, and this their traffic
    explicit RdmaBond(std::vector<RdmaNic*> nics);
    ~RdmaBond();

    RdmaBond(const RdmaBond&) = delete;
    RdmaBond& operator=(const RdmaBond&) = delete;

    /// \return what is wrong with a NIC that is to be bonded, or nothing
    static std::string Check(const RdmaNic& nic);

    /// The host knows that the link at a port is dead, or works again: NICs send by other ports
    /// from now on. If all are dead each keeps its own. Between the nodes' events. \param port
    /// place among `nics` \param now ps
    void SetDead(std::size_t port, bool dead, int64_t now);

  private:
    /// What stands at a port.
    class End : public RdmaPortUser
    {
      public:
        End(RdmaBond& bond, RdmaNic* own, Ptr<RdmaPort> port);

        void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
        void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
        RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override;
        RdmaPortUser* GetDevice() override;

        RdmaBond& bond;
        RdmaNic* own;
        Ptr<RdmaPort> port;
        bool dead{false};
        std::vector<RdmaNic*> senders; //!< NICs that send by this port
        std::size_t turn{0};           //!< of senders
    };

    /// \return the NIC of an endpoint; `other` if it is none of these
    RdmaNic* Find(uint32_t endpoint, RdmaNic* other) const;

    std::vector<std::unique_ptr<End>> m_ends;
};

} // namespace ns3

#endif /* RDMA_BOND_H */
