/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/registered-part.h"
#include "rdma-marker.h"

#include "ns3/nstime.h"

namespace ns3
{

const rdma::RegisteredMarker g_rampMarker{
    rdma::MarkerName{{"ramp", "by chance, the likelier the longer a frame was queued"}}};

/// \ingroup rdma
/// A frame that was queued for Whole is marked, one that was queued for half of it every second
/// time.
class RampMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RampMarker")
                                .SetParent<RdmaMarker>()
                                .SetGroupName("Rdma")
                                .AddConstructor<RampMarker>()
                                .AddAttribute("Whole",
                                              "Time in the queue from which all frames are marked",
                                              TimeValue(MicroSeconds(100)),
                                              MakeTimeAccessor(&RampMarker::m_whole),
                                              MakeTimeChecker(NanoSeconds(1), Seconds(1)));
        return tid;
    }

    std::string GetName() const override
    {
        return g_rampMarker.name;
    }

    std::string Attach(const RdmaPort&, const rdma::EcnParameters&) override
    {
        m_perPs = 1 / static_cast<double>(m_whole.GetPicoSeconds());
        return {};
    }

    bool OnDequeue(const RdmaFrame&, uint64_t, int64_t sojourn, int64_t) override
    {
        return sojourn > 0 && Draw() < m_perPs * static_cast<double>(sojourn);
    }

  private:
    Time m_whole;
    double m_perPs{0};
};

NS_OBJECT_ENSURE_REGISTERED(RampMarker);

} // namespace ns3
