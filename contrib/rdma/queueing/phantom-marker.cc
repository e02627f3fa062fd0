/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/phantom-queue.h"
#include "rdma-marker.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Frames are marked by a phantom queue of the port, all its priorities together:
 * core/phantom-queue.h.
 */
class PhantomMarker : public RdmaMarker
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::PhantomMarker")
                .SetParent<RdmaMarker>()
                .SetGroupName("Rdma")
                .AddConstructor<PhantomMarker>()
                .AddAttribute("Share",
                              "Of the port's rate, at which the phantom queue drains (assumed)",
                              DoubleValue(rdma::PhantomQueue::kShare),
                              MakeDoubleAccessor(&PhantomMarker::m_share),
                              MakeDoubleChecker<double>(0.01, 1))
                .AddAttribute("Threshold",
                              "Phantom queue from which frames are marked, per 100 Gb/s (bytes); "
                              "assumed",
                              UintegerValue(100000),
                              MakeUintegerAccessor(&PhantomMarker::m_threshold),
                              MakeUintegerChecker<uint64_t>(0, 1000000000000));
        return tid;
    }

    std::string GetName() const override
    {
        return rdma::kPhantomMarker.name;
    }

    std::string Attach(const RdmaPort& port, const rdma::EcnParameters&) override
    {
        const rdma::BitRate rate(port.GetRate());
        m_queue = rdma::PhantomQueue(rate, m_share);
        m_bytes = static_cast<double>(
            rdma::ScaleToRate(rdma::Bytes(m_threshold), rdma::Gbps(100), rate).value);
        return {};
    }

    bool OnDequeue(const RdmaFrame& frame, uint64_t, int64_t, int64_t now) override
    {
        const bool marks = m_queue.Bytes(now) >= m_bytes;
        m_queue.Add(frame.wireBytes, now);
        return marks;
    }

  private:
    double m_share;
    uint64_t m_threshold;
    double m_bytes{0}; //!< threshold of this port
    rdma::PhantomQueue m_queue;
};

NS_OBJECT_ENSURE_REGISTERED(PhantomMarker);

} // namespace ns3
