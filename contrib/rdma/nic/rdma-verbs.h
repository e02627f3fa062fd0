/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_VERBS_H
#define RDMA_VERBS_H

#include <cstdint>
#include <string>

namespace ns3
{

class RdmaCompletionQueue;

/// \ingroup rdma
/// What a work request asks for.
enum class RdmaOperation : uint8_t
{
    SEND,
    WRITE,
    READ,
    RECEIVE, //!< only in completions of receive requests
};

/// \return "SEND", "WRITE", ...
const char* GetOperationName(RdmaOperation operation);

/// \ingroup rdma
/// How a work request ended (InfiniBand Architecture 1, 10.10.3 and 11.6.2: completion return
/// status).
enum class RdmaStatus : uint8_t
{
    SUCCESS,
    LOCAL_LENGTH_ERROR,     //!< a message longer than the receive request; a datagram longer than
                            //!< the MTU
    FLUSHED,                //!< posted behind what failed, or to a queue pair in an error state
    REMOTE_INVALID_REQUEST, //!< the responder refused it: longer than its receive request
    RETRY_EXCEEDED,         //!< the request that was not acknowledged
    RNR_RETRY_EXCEEDED,     //!< the receiver was not ready too often
};

/// \return "success", "transport retry counter exceeded", ...
const char* GetStatusName(RdmaStatus status);

/// \ingroup rdma
/// Whether a request could be posted.
enum class RdmaPostResult : uint8_t
{
    POSTED,
    QUEUE_FULL,    //!< as many are outstanding as the queue pair was made for
    WRONG_STATE,   //!< the queue pair is not yet ready to send (or, receive requests: is in RESET)
    NOT_SUPPORTED, //!< this kind of queue pair does not have the operation
    TOO_LONG,      //!< a SEND longer than 2^31 B
};

/// \ingroup rdma
/// What is posted to a send queue.
struct RdmaSendRequest
{
    RdmaSendRequest() = default;

    RdmaSendRequest(RdmaOperation what, uint64_t length, uint64_t number)
        : id(number),
          operation(what),
          bytes(length)
    {
    }

    uint64_t id{0}; //!< the poster's own
    RdmaOperation operation{RdmaOperation::WRITE};
    uint64_t bytes{0}; //!< SEND: at most 2^31 on a reliable connection, the MTU as a datagram
    bool hasImmediate{false}; //!< not of a READ
    uint32_t immediate{0};
    bool signaled{true};      //!< false: success makes no completion queue entry
    uint32_t peerEndpoint{0}; //!< UD: to whom
    uint32_t peerNumber{0};   //!< UD: its queue pair
};

/// \ingroup rdma
/// What is posted to a receive queue: room for one SEND, or the notice of one WRITE with immediate.
struct RdmaReceiveRequest
{
    uint64_t id{0};
    uint64_t bytes{0}; //!< room
};

/// \ingroup rdma
/// An entry of a completion queue.
struct RdmaWorkCompletion
{
    RdmaWorkCompletion() = default;

    RdmaWorkCompletion(RdmaOperation what, uint64_t number, int64_t now)
        : id(number),
          operation(what),
          time(now)
    {
    }

    uint64_t id{0}; //!< id of the work request
    RdmaStatus status{RdmaStatus::SUCCESS};
    RdmaOperation operation{RdmaOperation::SEND};
    bool hasImmediate{false};
    uint32_t immediate{0};
    uint64_t bytes{0};         //!< size of the message; 0 if it failed
    uint32_t queuePair{0};     //!< local number
    uint32_t peerEndpoint{0};  //!< who sent it (receive), or to whom
    uint32_t peerQueuePair{0}; //!< and its number
    int64_t time{0};           //!< ps
};

/// \ingroup rdma
/// Kinds of queue pairs.
enum class RdmaService : uint8_t
{
    RC, //!< reliable connection
    UD, //!< unreliable datagram: SENDs of at most the MTU, each to an address of its own
};

/// \ingroup rdma
/// What a queue pair is made with.
struct RdmaQueuePairInit
{
    RdmaService service{RdmaService::RC};
    RdmaCompletionQueue* sendQueue{nullptr};    //!< null: nobody polls for it
    RdmaCompletionQueue* receiveQueue{nullptr}; //!< null: nobody polls for it
    bool signalAll{false};          //!< every request is signaled (sq_sig_all of the verbs API)
    uint32_t maxSendRequests{0};    //!< 0: no limit
    uint32_t maxReceiveRequests{0}; //!< 0: no limit
    uint8_t serviceLevel{3};        //!< 0 to 15; the NIC maps it to priority and DSCP
};

/// \ingroup rdma
/// What Modify() is told, as ibv_modify_qp is. Only what the new state needs is looked at.
struct RdmaQueuePairAttributes
{
    // to READY_TO_RECEIVE, RC only
    uint32_t peerEndpoint{0};
    uint32_t peerNumber{0};
    uint32_t receivePsn{0};  //!< 24 bits: the first one expected
    uint8_t minRnrTimer{12}; //!< code, 0 to 31 (rdma::RnrDelay); default 640 us: assumed
    /// RdmaNic::LossRecovery of the other end (not in the InfiniBand Architecture); if the NIC has
    /// another, the connection recovers by go-back-N
    std::string lossRecovery{"go-back-n"};
    uint64_t peerBdpCap{
        0}; //!< cap of the other end, if its recovery has one: packets, 1 to 2^23 - 1
    // to READY_TO_SEND
    uint32_t sendPsn{0};         //!< 24 bits
    uint8_t timeoutExponent{14}; //!< local ACK time-out 4.096 us x 2^n; 0: none
    uint8_t retryCount{7};       //!< 0 to 7
    uint8_t rnrRetryCount{7};    //!< 0 to 7; 7: for ever
    uint8_t maxReads{16};        //!< READs outstanding: initiator depth here, responder resources
                                 //!< there
};

} // namespace ns3

#endif /* RDMA_VERBS_H */
