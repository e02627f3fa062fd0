/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_BULK_SEND_APPLICATION_H
#define RDMA_BULK_SEND_APPLICATION_H

#include "ns3/application.h"
#include "ns3/rdma-nic-user.h"
#include "ns3/rdma-nic.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Sends as much as its queue pair takes, from its start to its stop: what BulkSendApplication is of
 * TCP. RDMA WRITEs of MessageBytes, of which some are posted ahead, so that the NIC never waits for
 * the application.
 *
 *     Ptr<RdmaBulkSendApplication> app = CreateObject<RdmaBulkSendApplication>();
 *     app->SetAttribute("MaxBytes", UintegerValue(100000000));
 *     app->Connect(RdmaHelper::GetNic(nics.Get(0)), RdmaHelper::GetNic(nics.Get(1)));
 *     hosts.Get(0)->AddApplication(app);
 *     app->SetStartTime(MicroSeconds(10));
 *     app->SetStopTime(MilliSeconds(2));
 *
 * What was posted before the stop is still sent.
 */
class RdmaBulkSendApplication : public Application, public RdmaNicUser
{
  public:
    static TypeId GetTypeId();
    RdmaBulkSendApplication();
    ~RdmaBulkSendApplication() override;

    /// Makes its queue pairs at both NICs. Once, after the fabric is finished and before the
    /// simulation runs. Attributes are set before.
    void Connect(Ptr<RdmaNic> from, Ptr<RdmaNic> to);

    /// \return the sender's; null before Connect
    RdmaQueuePair* GetQueuePair() const
    {
        return m_queuePair;
    }

    /// \return bytes posted so far
    uint64_t GetPosted() const
    {
        return m_posted;
    }

    /// \return bytes acknowledged so far
    uint64_t GetAcknowledged() const
    {
        return m_acknowledged;
    }

    // RdmaNicUser
    void OnCompletion(RdmaQueuePair* qp,
                      const RdmaWorkRequest& request,
                      RdmaStatus status,
                      int64_t now) override;
    void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) override;

  protected:
    void DoDispose() override;

  private:
    void StartApplication() override;
    void StopApplication() override;
    /// Posts one more message, or what is left of MaxBytes.
    void Post();

    uint64_t m_messageBytes;
    uint64_t m_maxBytes;
    uint32_t m_ahead;
    uint8_t m_priority;

    Ptr<RdmaNic> m_from;
    RdmaQueuePair* m_queuePair{nullptr};
    uint64_t m_posted{0};
    uint64_t m_acknowledged{0};
    bool m_runs{false};

    TracedCallback<uint64_t> m_acknowledgedTrace;
};

} // namespace ns3

#endif /* RDMA_BULK_SEND_APPLICATION_H */
