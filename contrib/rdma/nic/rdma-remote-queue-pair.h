/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_REMOTE_QUEUE_PAIR_H
#define RDMA_REMOTE_QUEUE_PAIR_H

#include <cstdint>

namespace ns3
{

struct RdmaTransportScheme;

/**
 * \ingroup rdma
 * What a queue pair must know of the other end, which may be in another process. All of it follows
 * from the fabric and from the order in which queue pairs are made, so the processes need not talk.
 */
struct RdmaRemoteQueuePair
{
    uint32_t endpoint{0};
    uint32_t number{0};                           //!< RdmaQueuePair::GetNumber
    uint32_t initialPsn{0};                       //!< RdmaNic::InitialPsn of its NIC
    const RdmaTransportScheme* recovery{nullptr}; //!< LossRecovery of its NIC; null: go-back-N
    uint64_t bdpCap{0}; //!< BDP cap of its NIC; only with a recovery that has one
    // UDP source ports of packets from here, and of those from there; 0: they follow from the
    // numbers.
    uint16_t sourcePort{0};
    uint16_t peerSourcePort{0};
    uint64_t maxRateBps{
        0}; //!< most that this end sends at, on the wire; 0: as NIC and path have it
};

} // namespace ns3

#endif /* RDMA_REMOTE_QUEUE_PAIR_H */
