/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_COUNTERS_H
#define RDMA_PORT_COUNTERS_H

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Counters of one direction of a port; they only grow.
 */
struct RdmaPortCounters
{
    uint64_t rxFrames{0};
    uint64_t rxWireBytes{0};
    uint64_t txFrames{0};
    uint64_t txWireBytes{0};
    uint64_t txDataFrames{0};
    uint64_t maxQueueBytes{0};  //!< largest sum over the priorities of what waited
    uint64_t ecnMarks{0};       //!< by this port as egress
    uint64_t corrupted{0};      //!< received with a bad FCS and dropped
    uint64_t linkDownLost{0};   //!< sent to this port, and on the way when the link went down
    uint64_t linkDownQueued{0}; //!< that waited here in a host when the link went down
    uint64_t linkDownSent{0};   //!< sent by this port while nobody knew that the link was cut
    uint64_t silentDrops{0};    //!< received whole and dropped without a word (a fault)
    uint64_t ordinaryBytes{
        0};                   //!< bytes of ordinary packets (RdmaPackets) sent, IP headers included
    uint64_t ordinaryLost{0}; //!< ordinary packets among linkDownLost, linkDownQueued, linkDownSent
    uint64_t pausesSent{0};   //!< XOFF frames
    uint64_t resumesSent{0};  //!< XON frames
    uint64_t pausesReceived{0};
    uint64_t pausedPs{0}; //!< time during which at least one priority of the transmitter was
                          //!< paused or without credits (ended pauses)
    // Credits, of InfiniBand or Ethernet (RdmaCellCredits):
    uint64_t creditUpdatesSent{0}; //!< flow-control packets, or CF_Updates
    uint64_t creditUpdatesReceived{0};
    uint64_t creditStalls{0};     //!< times a VL's next packet found too few credits, or a priority
    uint64_t creditBlocksLost{0}; //!< 64 B each, of corrupted packets; flow-control packets
                                  //!< restored them
    // Link-level retry (RdmaLinkRetry):
    uint64_t linkReplays{0};    //!< times that a replay began: after a NACK, or by the timer
    uint64_t replayTimeouts{0}; //!< those by the timer
    uint64_t framesReplayed{0}; //!< frames sent again: of txFrames
    uint64_t retryDiscarded{0}; //!< received whole, out of order or again, and dropped: of rxFrames
    uint64_t retryCorrupted{0}; //!< received with bit errors, to be sent again: not of `corrupted`
    uint64_t retryAcksSent{0};
    uint64_t retryNacksSent{0};
    uint64_t retryWordsReceived{0}; //!< ACKs and NACKs: of rxFrames
};

} // namespace ns3

#endif /* RDMA_PORT_COUNTERS_H */
