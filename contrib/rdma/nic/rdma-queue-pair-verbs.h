/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_PAIR_VERBS_H
#define RDMA_QUEUE_PAIR_VERBS_H

#include "rdma-completion-queue.h"
#include "rdma-datagrams.h"
#include "rdma-queue-pair.h"

#include <deque>
#include <memory>
#include <vector>

namespace ns3
{

/// \ingroup rdma
/// What a requester keeps for more than WRITEs.
struct RdmaRequester::Verbs
{
    explicit Verbs(RdmaRequester* requester)
        : timer(requester)
    {
    }

    /// PSNs of a READ: one for each packet of its response.
    struct Read
    {
        uint64_t first;
        uint64_t end;
    };

    Ptr<RdmaCompletionQueue> queue;
    bool signalAll{false};
    uint32_t maxRequests{0}; //!< 0: no limit
    uint8_t rnrRetryCount{7};
    uint8_t maxReads{16};

    std::deque<Read> reads; //!< posted and not complete
    uint64_t cumulative{0}; //!< the responder has all before (the responses of READs aside)
    bool readGap{false};    //!< told: what is missing has been asked for again
    uint64_t bytesRead{0};  //!< arrived in responses, in order
    int64_t holdUntil{0};   //!< the receiver is not ready before, ps; 0: no matter
    uint32_t rnrRetries{0}; //!< in a row
    uint64_t drainEnd{0};   //!< SEND_QUEUE_DRAINED: nothing is sent from here on
    RdmaTimer<RdmaRequester, &RdmaRequester::OnHoldOver> timer;
};

/// \ingroup rdma
/// What a responder keeps for more than WRITEs.
struct RdmaResponder::Verbs
{
    /// A READ, or what is left of it, to be answered.
    struct Response
    {
        uint64_t psn; //!< next
        uint64_t end;
        uint64_t bytes; //!< left
        uint32_t label; //!< RdmaFrame::GetLabel of its request
        bool first;     //!< nothing of it has been sent
        bool last;      //!< its end is the request's
    };

    Ptr<RdmaCompletionQueue> queue;
    /// SENDs and WRITEs with immediate need a receive request. False for queue pairs made without
    /// RdmaQueuePairInit until one is posted: as if there were always enough of them.
    bool needsReceives{false};
    uint32_t maxRequests{0}; //!< 0: no limit
    uint8_t minRnrTimer{12};

    std::vector<Response> responses; //!< by PSN
    uint64_t highestResponse{0};     //!< all before have been sent once
    bool responseNext{true};         //!< requests and responses take turns
    std::deque<RdmaReceiveRequest> receives;
    RdmaReceiveRequest current; //!< the one that the message under way fills
    bool hasCurrent{false};
    bool rnrSent{false}; //!< what comes out of order is not kept until the refused packet comes
};

/**
 * \ingroup rdma
 * What a queue pair keeps for more than WRITEs: made when first needed, so that the hundreds of
 * thousands of queue pairs of a training run, which only write, do not carry it.
 */
struct RdmaQueuePairVerbs
{
    explicit RdmaQueuePairVerbs(RdmaRequester* sending)
        : requester(sending)
    {
    }

    RdmaRequester::Verbs requester;
    RdmaResponder::Verbs responder;
    std::unique_ptr<RdmaDatagrams> datagrams; //!< null: a reliable connection
};

} // namespace ns3

#endif /* RDMA_QUEUE_PAIR_VERBS_H */
