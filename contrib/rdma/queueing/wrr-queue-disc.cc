/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Weighted round robin by frames.
 */
#include "contrib/rdma/core/queue-disc-names.h"
#include "rdma-priority-queue-disc.h"

#include "ns3/rdma-priority-turns.h"

#include <algorithm>

namespace ns3
{

/**
 * \ingroup rdma
 * Strict priorities first; the others send frames in proportion to the port's weights (--ets),
 * whatever their sizes: SONiC's scheduler type WRR. Bytes then follow weight times frame size. The
 * least of the eight weights is one frame a round, a larger one its multiple, fractions carried on.
 */
class WrrQueueDisc : public RdmaPriorityQueueDisc
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "wrr";
    }

  protected:
    uint8_t Pick(uint8_t eligible, int64_t) override
    {
        const uint8_t priority = m_turns.Pick(eligible, GetPort());
        uint32_t frame = GetPort().GetWeight(0);
        for (uint8_t p = 1; p < RdmaPort::PRIORITIES; ++p)
        {
            frame = std::min(frame, GetPort().GetWeight(p));
        }
        m_turns.Charge(priority, frame, GetPort());
        return priority;
    }

  private:
    RdmaPriorityTurns m_turns;
};

NS_OBJECT_ENSURE_REGISTERED(WrrQueueDisc);

TypeId
WrrQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("ns3::WrrQueueDisc")
                            .SetParent<RdmaPriorityQueueDisc>()
                            .SetGroupName("Rdma")
                            .AddConstructor<WrrQueueDisc>();
    return tid;
}

namespace
{

const rdma::RegisteredQueueDisc g_wrr{
    "wrr",
    "strict priorities first, the others in turns by frames: weights of --ets count frames"};

} // namespace

} // namespace ns3
