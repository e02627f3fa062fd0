/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_TRACES_H
#define RDMA_NIC_TRACES_H

#include "rdma-verbs.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/rdma-journey.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3
{

class RdmaPort;
class RdmaQueuePair;
struct RdmaFrame;
struct RdmaMessage;
struct RdmaWorkRequest;

/**
 * \ingroup rdma
 * Trace sources of a NIC, and the types of their sinks. RdmaNic says when they are called.
 */
class RdmaNicTraces : public Object
{
  public:
    typedef void (*PostTracedCallback)(RdmaQueuePair* qp, const RdmaWorkRequest& request);
    typedef void (*CompletionTracedCallback)(RdmaQueuePair* qp,
                                             const RdmaWorkRequest& request,
                                             RdmaStatus status,
                                             int64_t now);
    typedef void (*MessageTracedCallback)(RdmaQueuePair* qp,
                                          const RdmaMessage& message,
                                          int64_t now);
    typedef void (*JourneyTracedCallback)(RdmaQueuePair* qp,
                                          const RdmaMessage& message,
                                          const RdmaJourney& journey,
                                          int64_t now);
    /// (queue pair that has a packet, where it came along; of RdmaJourney::wayOnly or not, ps)
    typedef void (*WayTracedCallback)(RdmaQueuePair* qp, const RdmaJourney& journey, int64_t now);
    typedef void (*PsnTracedCallback)(RdmaQueuePair* qp, uint64_t psn, int64_t now);
    /// MessageDone: (queue pair that posted, bytes of payload, posted, acknowledged whole or, for a
    /// READ, here whole). Times as RdmaClock::At has them
    typedef void (*MessageDoneTracedCallback)(Ptr<const RdmaQueuePair> qp,
                                              uint64_t bytes,
                                              Time start,
                                              Time end);
    /// MessageArrived: (receiving queue pair, bytes of payload, last packet's arrival)
    typedef void (*MessageArrivedTracedCallback)(Ptr<const RdmaQueuePair> qp,
                                                 uint64_t bytes,
                                                 Time end);
    /// SendingRate: (queue pair, rate on the wire, from when)
    typedef void (*SendingRateTracedCallback)(Ptr<const RdmaQueuePair> qp, DataRate rate, Time at);
    /// Rate (bit/s) and Window (bytes).
    typedef void (*RateTracedCallback)(RdmaQueuePair* qp, uint64_t bps, int64_t now);
    /// (the NIC's port, frame, ps)
    typedef void (*ReceiveDropTracedCallback)(const RdmaPort* port,
                                              const RdmaFrame* frame,
                                              int64_t now);

  protected:
    // The trace sources with ns-3's types, for whoever has connected.
    void TraceDone(RdmaQueuePair* qp,
                   const RdmaWorkRequest& request,
                   RdmaStatus status,
                   int64_t now);
    void TraceArrived(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now);
    void TraceRate(RdmaQueuePair* qp, uint64_t bps, int64_t now);

    TracedCallback<RdmaQueuePair*, const RdmaWorkRequest&> m_postTrace;
    TracedCallback<RdmaQueuePair*, const RdmaWorkRequest&, RdmaStatus, int64_t> m_completionTrace;
    TracedCallback<RdmaQueuePair*, const RdmaMessage&, int64_t> m_messageTrace;
    TracedCallback<RdmaQueuePair*, const RdmaMessage&, const RdmaJourney&, int64_t> m_journeyTrace;
    TracedCallback<RdmaQueuePair*, const RdmaJourney&, int64_t> m_wayTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_goBackTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_timeoutTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_errorTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_cnpTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_rateTrace;
    TracedCallback<RdmaQueuePair*, uint64_t, int64_t> m_windowTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_receiveDropTrace;
    TracedCallback<Ptr<const RdmaQueuePair>, uint64_t, Time, Time> m_doneTrace;
    TracedCallback<Ptr<const RdmaQueuePair>, uint64_t, Time> m_arrivedTrace;
    TracedCallback<Ptr<const RdmaQueuePair>, DataRate, Time> m_sendingRateTrace;
};

} // namespace ns3

#endif /* RDMA_NIC_TRACES_H */
