/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONNECTIONS_H
#define RDMA_CONNECTIONS_H

#include "contrib/rdma/core/connection-numbers.h"
#include "contrib/rdma/core/number-table.h"

#include "ns3/rdma-nic.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ns3
{

class RdmaFabric;

/// Is told when the other end of a connection has been made.
class RdmaConnectionUser
{
  public:
    virtual ~RdmaConnectionUser() = default;
    /// In an event of the passive host: its first packet has come, and the queue pair, with nobody
    /// as its user yet, will take it now. \param data as the request has it
    virtual void OnAccepted(RdmaQueuePair* qp, uint64_t data, int64_t now) = 0;
};

/// A connection to be opened.
struct RdmaConnectionRequest
{
    uint32_t from{0}; //!< endpoints; `from` opens it
    uint32_t to{0};
    /// 64 well-mixed bits that tell it from others: its UDP source ports, and so its paths, follow
    /// from them.
    uint64_t name{0};
    RdmaConnectionUser* user{nullptr};
    uint64_t data{0}; //!< the user's: it comes with OnAccepted
    uint8_t priority{3};
    uint8_t trafficClass{0}; //!< RdmaNic::AddClass, of both ends
    /// Most that `from` sends at, bit/s on the wire: its congestion control takes it for the line
    /// rate; 0: as NIC and path have it.
    uint64_t maxRateBps{0};
};

/**
 * \ingroup rdma
 * Connections whose ends are made by their own hosts, each in its own events, as a connection
 * manager does it but without its packets:
 *
 *     host of `from`                                  host of `to`
 *     Open(request) -> queue pair, ready
 *     qp->PostWrite(...)       --- first packet --->  no queue pair has the number: OnRequest
 *                                                     -> a queue pair, connected
 *                                                     -> user->OnAccepted(qp, data)
 *     Close(qp): all is acknowledged                  CloseSingle(qp): its only message is there
 *
 * What `to` has to know is in rdma::ConnectionNumbers and in the request, which `from` wrote before
 * its first packet left: so at least a link's delay before it is read. Nothing else is shared, but
 * what queue pairs are made of: one is made at a time, whichever thread's host makes it.
 * Whatever the order of hosts' events, the same connections have the same numbers and ports.
 *
 * Queue pairs of connections that are done rest, and the next connection of their NIC, priority and
 * class takes them, once they have rested for REUSE_AFTER_PS: reset, with another number, which is
 * a new queue pair; it starts at line rate, with a congestion control that remembers nothing. The
 * wait is for what may still be under way to the old connection, a CNP above all. A host then needs
 * as many as it has connections open at most, and those of the last REUSE_AFTER_PS. The passive end
 * cannot hear of Close: only of a connection that carries one WRITE or SEND it knows when that is
 * done, and its user says so. If the acknowledgement of that message was lost, and its sender
 * repeats it after REUSE_AFTER_PS, the passive end is made anew as one that has had it.
 *
 * Costs some 80 B for each open request, 16 to 32 B at the passive end for each single message that
 * ever was and for each pair of endpoints; and the queue pairs.
 */
class RdmaConnections : public RdmaNicListener
{
  public:
    /// Listens at all NICs of this rank. \param fabric outlives it
    explicit RdmaConnections(RdmaFabric& fabric);
    ~RdmaConnections() override;

    static constexpr int64_t REUSE_AFTER_PS = 2000000000;

    /// Before the first event. \param ps instead of REUSE_AFTER_PS: longer than anything can be
    /// under way to a connection that is done
    void SetRest(int64_t ps)
    {
        m_rest = ps;
    }

    /// In an event of `from`'s host, or before the first. \return its end, ready to send; null:
    /// there are no more numbers (rdma::ConnectionNumbers::MostSlots)
    RdmaQueuePair* Open(const RdmaConnectionRequest& request);
    /// The one that opened it is done: all that was posted is acknowledged.
    void Close(RdmaQueuePair* qp);

    /// In an event of the passive host: the only message of a connection is there.
    void CloseSingle(RdmaQueuePair* qp, int64_t now);

    /// Across ranks, before the first event: another rank's `from` will open this. In the order in
    /// which it does. \return the passive end, made now
    RdmaQueuePair* Expect(const RdmaConnectionRequest& request);

    /// Across ranks, between windows: another rank's `from` has opened this, and its end has that
    /// number. Before its first packet is here, which makes the passive end as within a rank.
    void Learn(const RdmaConnectionRequest& request, uint32_t number);

    /// Across ranks: who tells others what captures there have to know. Called by Open, in the
    /// event that opens; the number is that of the end that does.
    void SetOpenCallback(
        std::function<void(const RdmaConnectionRequest& request, uint32_t number)> callback);
    /// What another rank's callback was told.
    void LearnName(uint32_t from, uint32_t number, uint64_t name);
    /// \return UDP source port of what `from` sends to the queue pair `number` of `to`, of
    /// connections whose name was learnt; of others nothing
    std::optional<uint16_t> GetLearntSourcePort(uint32_t from, uint32_t to, uint32_t number) const;

    /// \return the passive end of what this opened; null: not made yet, at rest, or another rank's
    RdmaQueuePair* GetPassive(const RdmaQueuePair* active) const;

    const rdma::ConnectionNumbers& GetNumbers() const
    {
        return m_numbers;
    }

    /// \return queue pairs made; of those of Expect the ones that a packet would have made
    uint64_t GetQueuePairs() const;

    // RdmaNicListener
    RdmaQueuePair* OnRequest(RdmaNic* nic, uint32_t from, uint32_t number, int64_t now) override;

  private:
    struct Resting
    {
        RdmaQueuePair* queuePair;
        int64_t since; //!< ps
    };

    /// What an endpoint has: touched by its own host's events; of `requests`, others read what a
    /// packet of theirs tells them to.
    struct Host
    {
        rdma::NumberTable<uint32_t> nextSlot;                         //!< by peer + 1
        std::unordered_map<uint32_t, RdmaConnectionRequest> requests; //!< by the active number
        rdma::NumberTable<uint32_t> done; //!< by passive number: the PSN behind a single message
        /// By class and service level, the longest first; empty: none has rested so far.
        std::vector<std::deque<Resting>> resting;
        uint64_t queuePairs{0};
    };

    /// \return the slot of a new request; MostSlots(): there is none
    uint32_t TakeSlot(const RdmaConnectionRequest& request);
    /// One end: rested, or new.
    RdmaQueuePair* TakeEnd(uint32_t endpoint,
                           const RdmaConnectionRequest& request,
                           uint32_t number,
                           int64_t now);
    /// \param expected PSN; 0: where its peer begins
    RdmaQueuePair* Accept(const RdmaConnectionRequest& request,
                          uint32_t number,
                          uint32_t expected,
                          int64_t now);
    void Connect(RdmaQueuePair* qp,
                 const RdmaConnectionRequest& request,
                 bool active,
                 uint32_t peerNumber,
                 uint32_t expected);
    void Rest(RdmaQueuePair* qp, int64_t now);

    /// \return place in Host::resting
    static std::size_t RestOf(uint8_t trafficClass, uint8_t priority)
    {
        return std::size_t{trafficClass} * RdmaPort::PRIORITIES + priority;
    }

    RdmaFabric& m_fabric;
    int64_t m_rest{REUSE_AFTER_PS};
    rdma::ConnectionNumbers m_numbers;
    std::vector<Host> m_hosts; //!< by endpoint
    std::vector<const RdmaQueuePair*> m_expected;
    std::mutex m_making; //!< held while queue pairs and requests are made
    std::function<void(const RdmaConnectionRequest&, uint32_t)> m_onOpen;
    std::unordered_map<uint64_t, uint64_t> m_names; //!< learnt, by endpoint and active number
};

} // namespace ns3

#endif /* RDMA_CONNECTIONS_H */
