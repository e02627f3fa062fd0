/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/codel-law.h"
#include "rdma-marker.h"

#include "ns3/nstime.h"

#include <array>

namespace ns3
{

/**
 * \ingroup rdma
 * CoDel, one law a priority: core/codel-law.h.
 */
class CodelMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::CodelMarker")
                .SetParent<RdmaMarker>()
                .SetGroupName("Rdma")
                .AddConstructor<CodelMarker>()
                .AddAttribute("Target",
                              "Time in the queue that is too long if no frame has less throughout "
                              "an interval (assumed; RFC 8289: 5 ms)",
                              TimeValue(PicoSeconds(rdma::CodelLaw::kTargetPs)),
                              MakeTimeAccessor(&CodelMarker::m_target),
                              MakeTimeChecker(PicoSeconds(1), Seconds(1)))
                .AddAttribute("Interval",
                              "Until the first mark, and from it to the second; about a round trip "
                              "under load (assumed; RFC 8289: 100 ms)",
                              TimeValue(PicoSeconds(rdma::CodelLaw::kIntervalPs)),
                              MakeTimeAccessor(&CodelMarker::m_interval),
                              MakeTimeChecker(PicoSeconds(1), Seconds(1)));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kCodelMarker.name;
    }

    std::string Attach(const RdmaPort&, const rdma::EcnParameters&) override
    {
        m_laws.fill({m_target.GetPicoSeconds(), m_interval.GetPicoSeconds()});
        return {};
    }

    bool OnDequeue(const RdmaFrame& frame,
                   uint64_t queueBytes,
                   int64_t sojourn,
                   int64_t now) override
    {
        const uint32_t bytes = GetFrameBytes(frame);
        return m_laws[frame.priority].OnLeaving(bytes, queueBytes - bytes, sojourn, now);
    }

  private:
    Time m_target;
    Time m_interval;
    std::array<rdma::CodelLaw, RdmaPort::PRIORITIES> m_laws;
};

NS_OBJECT_ENSURE_REGISTERED(CodelMarker);

} // namespace ns3
