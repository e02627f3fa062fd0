// SPDX-License-Identifier: GPL-2.0-only
#include "contrib/rdma/core/queue-disc-names.h"
#include "pifo-queue-disc.h"

namespace ns3
{

/// Least attained service: the fewer packets a flow has sent, the sooner its next one goes. A
/// packet's number is how many its queue pair has sent before.
class LasQueueDisc : public PifoQueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::LasQueueDisc")
                                .SetParent<PifoQueueDisc>()
                                .SetGroupName("Rdma")
                                .AddConstructor<LasQueueDisc>();
        return tid;
    }

    std::string GetName() const override
    {
        return "las";
    }

    uint16_t GetNeeds() const override
    {
        return NOTHING; // not pifo's rank
    }

  protected:
    int64_t GetRank(const RdmaFrame& frame, int64_t) override
    {
        return IsData(frame.opcode) ? frame.psn : 0; // answers first
    }
};

NS_OBJECT_ENSURE_REGISTERED(LasQueueDisc);

namespace
{
const rdma::RegisteredQueueDisc g_las{"las", "flows that have sent least first"};
} // namespace

} // namespace ns3
