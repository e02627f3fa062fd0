/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/average-red-law.h"
#include "rdma-marker.h"

#include "ns3/double.h"

#include <array>

namespace ns3
{

/**
 * \ingroup rdma
 * RED on an averaged queue, one law a priority, by the switch's EcnKmin, EcnKmax and EcnPmax:
 * core/average-red-law.h.
 */
class AverageRedMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::AverageRedMarker")
                .SetParent<RdmaMarker>()
                .SetGroupName("Rdma")
                .AddConstructor<AverageRedMarker>()
                .AddAttribute("Weight",
                              "Of the queue that a frame finds in the average (Floyd "
                              "& Jacobson 1993: 0.002)",
                              DoubleValue(rdma::AverageRedLaw::kWeight),
                              MakeDoubleAccessor(&AverageRedMarker::m_weight),
                              MakeDoubleChecker<double>(1e-6, 1));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kAverageRedMarker.name;
    }

    std::string Attach(const RdmaPort& port, const rdma::EcnParameters& curve) override
    {
        m_rate = rdma::BitRate(port.GetRate());
        m_laws.fill({curve, m_weight});
        return {};
    }

    bool OnEnqueue(const RdmaFrame& frame, uint64_t queueBytes, int64_t now) override
    {
        return m_laws[frame.priority].OnJoining(queueBytes, TimeOf(frame), now, [this] {
            return Draw();
        });
    }

    bool OnDequeue(const RdmaFrame& frame, uint64_t queueBytes, int64_t, int64_t now) override
    {
        m_laws[frame.priority].OnLeaving(queueBytes - GetFrameBytes(frame), now + TimeOf(frame));
        return false;
    }

  private:
    int64_t TimeOf(const RdmaFrame& frame) const
    {
        return rdma::SerializationTime(rdma::Bytes(frame.wireBytes), m_rate).ps;
    }

    double m_weight;
    rdma::BitRate m_rate{1};
    std::array<rdma::AverageRedLaw, RdmaPort::PRIORITIES> m_laws;
};

NS_OBJECT_ENSURE_REGISTERED(AverageRedMarker);

} // namespace ns3
