/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_COUNTERS_H
#define RDMA_NIC_COUNTERS_H

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Counters of a NIC; they only grow.
 */
struct RdmaNicCounters
{
    // What most packets count stands together:
    uint64_t dataPackets{0}; //!< sent, retransmissions included
    uint64_t dataBytes{0};   //!< payload sent, retransmissions included
    uint64_t acksSent{0};
    uint64_t messagesReceived{0};
    uint64_t ecnMarkedReceived{0};
    uint64_t cnpsSent{0};
    uint64_t cnpsReceived{0};
    uint64_t retransmittedPackets{0};
    uint64_t naksSent{0};
    uint64_t timeouts{0};
    uint64_t timeoutPs{0}; //!< time that senders have waited in them
    uint64_t failedQps{0};
    uint64_t outOfOrderReceived{0}; //!< data packets behind one that had not come
    uint64_t outOfOrderDropped{0};  //!< out-of-order packets that were not kept
    uint64_t largestReorder{0};     //!< PSNs that one of them was ahead; not a sum
    uint64_t largestHeldBytes{0};   //!< payload that a queue pair kept at a time; not a sum
    uint64_t pathChanges{0};        //!< with a path selector: packets with another entropy than the
                                    //!< one before
    uint64_t duplicatesReceived{0};
    uint64_t readRequests{0}; //!< sent, repeated ones included
    uint64_t rnrNaksSent{0};  //!< among naksSent
    uint64_t rnrNaksReceived{0};
    uint64_t datagramsDropped{0}; //!< UD: no receive request, or too short a one
    uint64_t notReadyDropped{0};  //!< to a queue pair in no state to receive
    // With switches that trim only:
    uint64_t pullsSent{0};
    uint64_t trimmedReceived{0};  //!< packets that have come without their payload
    uint64_t returnedReceived{0}; //!< own packets that a switch has sent back
    uint64_t requestsToSend{0};   //!< sent
    // With limits (RdmaNicLimits) only:
    uint64_t qpCacheMisses{0};
    uint64_t receiveBufferDrops{0}; //!< data packets
    uint64_t nicPauses{0};          //!< times the NIC paused its peer, refreshes not counted
};

} // namespace ns3

#endif /* RDMA_NIC_COUNTERS_H */
