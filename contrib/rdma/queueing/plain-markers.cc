/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/plain-markers.h"

#include "rdma-marker.h"

#include "ns3/nstime.h"
#include "ns3/uinteger.h"

namespace ns3
{

/**
 * \ingroup rdma
 * A frame is marked if its queue is as long as a threshold when the frame leaves, itself included:
 * core/plain-markers.h.
 */
class StepMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::StepMarker")
                .SetParent<RdmaMarker>()
                .SetGroupName("Rdma")
                .AddConstructor<StepMarker>()
                .AddAttribute("Threshold",
                              "Queue from which all frames are marked, per 100 Gb/s (bytes); 0: "
                              "RdmaSwitch::EcnKmin",
                              UintegerValue(0),
                              MakeUintegerAccessor(&StepMarker::m_threshold),
                              MakeUintegerChecker<uint64_t>(0, 1000000000000));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kStepMarker.name;
    }

    std::string Attach(const RdmaPort& port, const rdma::EcnParameters& curve) override
    {
        m_bytes = m_threshold ? rdma::ScaleToRate(rdma::Bytes(m_threshold),
                                                  rdma::Gbps(100),
                                                  rdma::BitRate(port.GetRate()))
                                    .value
                              : curve.kmin.value;
        return {};
    }

    uint64_t GetLeast() const override
    {
        return m_bytes;
    }

    bool OnDequeue(const RdmaFrame&, uint64_t queueBytes, int64_t, int64_t) override
    {
        return queueBytes >= m_bytes;
    }

  private:
    uint64_t m_threshold;
    uint64_t m_bytes{0}; //!< of this port
};

NS_OBJECT_ENSURE_REGISTERED(StepMarker);

/**
 * \ingroup rdma
 * A frame is marked if it was queued for as long as a threshold: core/plain-markers.h.
 */
class TcnMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::TcnMarker")
                .SetParent<RdmaMarker>()
                .SetGroupName("Rdma")
                .AddConstructor<TcnMarker>()
                .AddAttribute("Threshold",
                              "Time in the queue from which all frames are marked; "
                              "0: what RdmaSwitch::EcnKmin takes at the port's rate",
                              TimeValue(Time(0)),
                              MakeTimeAccessor(&TcnMarker::m_threshold),
                              MakeTimeChecker(Time(0), Seconds(1)));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kTcnMarker.name;
    }

    std::string Attach(const RdmaPort& port, const rdma::EcnParameters& curve) override
    {
        m_ps = m_threshold.IsZero()
                   ? rdma::SerializationTime(curve.kmin, rdma::BitRate(port.GetRate())).ps
                   : m_threshold.GetPicoSeconds();
        return {};
    }

    bool OnDequeue(const RdmaFrame&, uint64_t, int64_t sojourn, int64_t) override
    {
        return sojourn >= m_ps;
    }

  private:
    Time m_threshold;
    int64_t m_ps{0}; //!< of this port
};

NS_OBJECT_ENSURE_REGISTERED(TcnMarker);

} // namespace ns3
