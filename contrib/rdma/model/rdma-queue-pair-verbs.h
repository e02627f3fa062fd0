/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_PAIR_VERBS_H
#define RDMA_QUEUE_PAIR_VERBS_H

#include "rdma-completion-queue.h"
#include "rdma-queue-pair.h"

#include <deque>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What a queue pair keeps for more than WRITEs: made when first needed, so that the hundreds of
 * thousands of queue pairs of a training run, which only write, do not carry it.
 */
struct RdmaQueuePairVerbs
{
    explicit RdmaQueuePairVerbs(RdmaQueuePair* qp)
        : timer(qp)
    {
    }

    Ptr<RdmaCompletionQueue> sendQueue;
    Ptr<RdmaCompletionQueue> receiveQueue;
    RdmaTransport transport{RdmaTransport::RC};
    bool signalAll{false};
    /// SENDs and WRITEs with immediate need a receive request. False for queue pairs made without
    /// RdmaQueuePairInit until one is posted: as if there were always enough of them.
    bool needsReceives{false};
    uint32_t maxSendRequests{0};
    uint32_t maxReceiveRequests{0};
    uint8_t minRnrTimer{12};
    uint8_t rnrRetryCount{7};
    uint8_t maxReads{16};

    // Requester

    /// PSNs of a READ: one for each packet of its response.
    struct Read
    {
        uint64_t first;
        uint64_t end;
    };

    std::deque<Read> reads; //!< posted and not complete
    uint64_t cumulative{0}; //!< the responder has all before (the responses of READs aside)
    bool readGap{false};    //!< told: what is missing has been asked for again
    uint64_t bytesRead{0};  //!< arrived in responses, in order
    int64_t holdUntil{0};   //!< the receiver is not ready before, ps; 0: no matter
    uint32_t rnrRetries{0}; //!< in a row
    uint64_t drainEnd{0};   //!< SEND_QUEUE_DRAINED: nothing is sent from here on

    // Responder

    /// A READ, or what is left of it, to be answered.
    struct Response
    {
        uint64_t psn; //!< next
        uint64_t end;
        uint64_t bytes; //!< left
        bool first;     //!< nothing of it has been sent
        bool last;      //!< its end is the request's
    };

    std::vector<Response> responses; //!< by PSN
    uint64_t highestResponse{0};     //!< all before have been sent once
    bool responseNext{true};         //!< requests and responses take turns
    std::deque<RdmaReceiveRequest> receives;
    RdmaReceiveRequest current; //!< the one that the message under way fills
    bool hasCurrent{false};
    bool rnrSent{false}; //!< selective repeat: what comes out of order is not kept until then

    // UD

    struct Datagram
    {
        RdmaSendRequest request;
        uint32_t flowHash;
        int64_t posted;    //!< ps
        int64_t gone;      //!< its last bit leaves, ps
        RdmaStatus status; //!< other than SUCCESS: is not sent, and completes behind those before
    };

    std::deque<Datagram> datagrams; //!< to be sent
    std::deque<Datagram> sent;      //!< their last bits are still to leave

    RdmaTimer<RdmaQueuePair, &RdmaQueuePair::OnVerbsTimer> timer;
};

} // namespace ns3

#endif /* RDMA_QUEUE_PAIR_VERBS_H */
