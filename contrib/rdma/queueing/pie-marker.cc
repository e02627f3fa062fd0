/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/pie-law.h"
#include "rdma-marker.h"

#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/uinteger.h"

#include <array>

namespace ns3
{

/**
 * \ingroup rdma
 * PIE, one law a priority: core/pie-law.h.
 */
class PieMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        const rdma::PieParameters usual;
        static TypeId tid =
            TypeId("ns3::PieMarker")
                .SetParent<RdmaMarker>()
                .SetGroupName("Rdma")
                .AddConstructor<PieMarker>()
                .AddAttribute("Target",
                              "Time in the queue that it holds (assumed; RFC 8033: 15 ms)",
                              TimeValue(PicoSeconds(usual.target)),
                              MakeTimeAccessor(&PieMarker::m_target),
                              MakeTimeChecker(NanoSeconds(1), Seconds(1)))
                .AddAttribute("Update",
                              "Between two steps of the probability (assumed; RFC 8033: 15 ms)",
                              TimeValue(PicoSeconds(usual.update)),
                              MakeTimeAccessor(&PieMarker::m_update),
                              MakeTimeChecker(NanoSeconds(1), Seconds(1)))
                .AddAttribute("MaxBurst",
                              "A burst of this length after calm is not marked; RFC 8033: ten "
                              "targets",
                              TimeValue(PicoSeconds(usual.maxBurst)),
                              MakeTimeAccessor(&PieMarker::m_maxBurst),
                              MakeTimeChecker(Time(0), Seconds(10)))
                .AddAttribute("Alpha",
                              "Step by the delay's distance from Target (1/s, for a Target of 15 "
                              "ms, in proportion for others); RFC 8033",
                              DoubleValue(usual.alpha),
                              MakeDoubleAccessor(&PieMarker::m_alpha),
                              MakeDoubleChecker<double>(0, 1000))
                .AddAttribute("Beta",
                              "Step by the delay's growth (1/s, as Alpha); RFC 8033",
                              DoubleValue(usual.beta),
                              MakeDoubleAccessor(&PieMarker::m_beta),
                              MakeDoubleChecker<double>(0, 1000))
                .AddAttribute("MeanPacket",
                              "No marks while at most two of these wait (bytes); RFC 8033",
                              UintegerValue(usual.meanPacket),
                              MakeUintegerAccessor(&PieMarker::m_meanPacket),
                              MakeUintegerChecker<uint32_t>(0, 65535));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kPieMarker.name;
    }

    std::string Attach(const RdmaPort&, const rdma::EcnParameters&) override
    {
        m_laws.fill(rdma::PieLaw({m_target.GetPicoSeconds(),
                                  m_update.GetPicoSeconds(),
                                  m_maxBurst.GetPicoSeconds(),
                                  m_alpha,
                                  m_beta,
                                  m_meanPacket}));
        return {};
    }

    bool OnEnqueue(const RdmaFrame& frame, uint64_t queueBytes, int64_t now) override
    {
        return m_laws[frame.priority].OnJoining(queueBytes, now, [this] { return Draw(); });
    }

    bool OnDequeue(const RdmaFrame& frame,
                   uint64_t queueBytes,
                   int64_t sojourn,
                   int64_t now) override
    {
        m_laws[frame.priority].OnLeaving(queueBytes - GetFrameBytes(frame), sojourn, now);
        return false;
    }

  private:
    Time m_target;
    Time m_update;
    Time m_maxBurst;
    double m_alpha;
    double m_beta;
    uint32_t m_meanPacket;
    std::array<rdma::PieLaw, RdmaPort::PRIORITIES> m_laws;
};

NS_OBJECT_ENSURE_REGISTERED(PieMarker);

} // namespace ns3
