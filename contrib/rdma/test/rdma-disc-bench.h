/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A port with a queue discipline, driven by hand.
 */
#ifndef RDMA_DISC_BENCH_H
#define RDMA_DISC_BENCH_H

#include "rdma-test-fabric.h"

#include "ns3/rdma-queue-disc.h"

#include <array>
#include <string>
#include <vector>

namespace ns3
{
namespace rdmatest
{

/// A port of 100 Gb/s with a discipline, on a cable of 1 us; what is sent is noted.
class DiscBench : public RdmaPortUser
{
  public:
    struct Frame
    {
        uint8_t priority;
        uint32_t wire;
        uint32_t flow;
        uint32_t number;
        uint32_t rank;
    };

    struct Sent : Frame
    {
        int64_t at;
    };

    explicit DiscBench(const std::string& disc, uint8_t strict = 0)
    {
        RdmaClock::Update();
        for (auto& port : m_ports)
        {
            port = CreateObject<RdmaPort>();
            port->SetRate(100 * GBPS);
            port->SetStrictMask(strict);
            CreateObject<Node>()->AddDevice(port);
            port->SetUser(this, 0);
        }
        m_ports[0]->SetAttribute("QueueDisc", StringValue(disc));
        CreateObject<RdmaChannel>()->Attach(m_ports[0], m_ports[1]);
        const std::string error = m_ports[0]->StartQueueDisc(1);
        NS_ABORT_MSG_UNLESS(error.empty(), error);
        WatchFrames(m_ports[0], "PhyTx", [this](const RdmaPort*, const RdmaFrame* f, int64_t now) {
            sent.push_back(
                {{f->priority, f->wireBytes, f->src, f->psn, RdmaQueueDisc::RankOf(*f)}, now});
        });
        Watch<const RdmaPort*, uint8_t, uint64_t, int64_t>(
            m_ports[0],
            "Queue",
            [this](const RdmaPort*, uint8_t, uint64_t bytes, int64_t) { queueBytes = bytes; });
    }

    ~DiscBench() override
    {
        Simulator::Destroy();
    }

    static RdmaFrame* Make(const Frame& frame)
    {
        RdmaFrame* f = RdmaFramePool::Get().Allocate();
        f->wireBytes = frame.wire;
        f->priority = frame.priority;
        f->opcode = RdmaOpcode::WRITE_MIDDLE;
        f->flags = 0;
        f->dscp = 0;
        f->src = frame.flow;
        f->dst = 0;
        f->destQp = 2;
        f->psn = frame.number;
        if (frame.rank)
        {
            f->extra = RdmaFramePool::Get().AllocateExtra();
            f->extra->rank = frame.rank;
        }
        return f;
    }

    void Enqueue(const Frame& frame)
    {
        m_ports[0]->Enqueue(Make(frame), RdmaClock::Now());
    }

    void OnFrame(RdmaPort*, RdmaFrame* frame, int64_t) override
    {
        RdmaFramePool::Get().Free(frame);
    }

    void OnDequeue(RdmaPort*, RdmaFrame*, uint64_t, int64_t) override
    {
    }

    RdmaFrame* Pull(RdmaPort*, uint8_t, int64_t) override
    {
        return nullptr;
    }

    Ptr<RdmaPort> operator->()
    {
        return m_ports[0];
    }

    std::vector<uint32_t> Numbers() const
    {
        std::vector<uint32_t> numbers;
        for (const Sent& s : sent)
        {
            numbers.push_back(s.number);
        }
        return numbers;
    }

    std::vector<Sent> sent;
    uint64_t queueBytes{0}; //!< as traced last

  private:
    std::array<Ptr<RdmaPort>, 2> m_ports;
};

} // namespace rdmatest
} // namespace ns3

#endif /* RDMA_DISC_BENCH_H */
