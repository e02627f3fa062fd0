/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PATH_SELECTOR_H
#define RDMA_PATH_SELECTOR_H

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/units.h"

#include "ns3/object.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * How the sender of a queue pair chooses ways: it changes bits of the UDP source port of its
 * requests (the entropy), which switches hash (RdmaRoute::WithEntropy). Chosen by name: attribute
 * RdmaNic::PathSelector, of both ends, as the receiver has to tell back what entropy a packet had
 * and whether it was marked. Every packet asks for an ACK then, and one that comes out of order is
 * answered too (RdmaOutOfOrderRecovery).
 *
 * READ responses, datagrams, ACKs and CNPs keep the way of their flow. InfiniBand's switches look
 * at LIDs, so there is nothing to choose by.
 *
 * One object a queue pair that sends, made by Fork() from the NIC's. A class is found by its
 * TypeId: derive it, give it a name, register it, and it is known.
 */
class RdmaPathSelector : public Object
{
  public:
    /// What an ACK or NAK says.
    struct Ack
    {
        uint16_t entropy; //!< entropy of the packet that it answers
        bool marked;      //!< that packet
        uint64_t acked;   //!< the first PSN that has not arrived in order
        uint64_t next;    //!< the first PSN that has not been sent
    };

    static TypeId GetTypeId();
    ~RdmaPathSelector() override;

    /// \return what it is called in the attribute PathSelector
    virtual std::string GetName() const = 0;

    /// \return another one with the same attributes, for a queue pair
    virtual Ptr<RdmaPathSelector> Fork() const = 0;

    /// The next packet is sent. \param idle nothing is in flight \return its entropy
    virtual uint16_t Choose(bool idle, rdma::TimePoint now) = 0;
    /// An ACK or NAK has come that tells the entropy of the packet that it answers.
    virtual void OnAck(const Ack& ack, rdma::TimePoint now) = 0;
    /// A time-out of the queue pair is over.
    virtual void OnTimeout(rdma::TimePoint now) = 0;

    /// Once, before the first packet. \param seed of this queue pair's numbers by chance
    void Begin(uint64_t seed)
    {
        m_seed = seed;
    }

    /// \return (name, name of the TypeId) of all there are, sorted
    static const std::vector<std::pair<std::string, std::string>>& GetNames();

    /// \param name short, or of the TypeId. \return null if there is none
    static Ptr<RdmaPathSelector> Make(const std::string& name);

  protected:
    /// \return 64 bits by chance: a number of its own each time, the same in each run
    uint64_t Random()
    {
        return rdma::Mix64(m_seed + ++m_drawn * 0x9e3779b97f4a7c15ULL);
    }

  private:
    uint64_t m_seed{0};
    uint64_t m_drawn{0};
};

} // namespace ns3

#endif /* RDMA_PATH_SELECTOR_H */
