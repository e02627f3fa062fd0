/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the tests of congestion controls look at: flows of several hosts to one, what each gets in
 * each interval, and the queue in front of the receiver.
 */
#ifndef RDMA_CONGESTION_BED_H
#define RDMA_CONGESTION_BED_H

#include "rdma-test-fabric.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{
namespace rdmatest
{

/// Hosts 1 to n send to host 0 through one switch.
class CongestionBed : public Bed
{
  public:
    /// Before Build: the helper may be changed until then. \param interval between samples
    CongestionBed(uint32_t senders, uint64_t bps, Ptr<RdmaCongestionOps> ops, Time interval)
        : m_bps(bps),
          m_interval(interval)
    {
        Star(senders + 1, bps);
        helper.SetCongestionOps(ops);
    }

    /// Sender i starts at a time, with so many bytes.
    void Flow(uint32_t sender, Time start, uint64_t bytes)
    {
        const auto [from, to] = Connect(sender, 0);
        m_receivers.push_back(to);
        senders.push_back(from);
        Simulator::Schedule(start, [from = from, bytes]() { from->PostWrite(bytes, 1); });
    }

    /// Senders 1, 2, ... start one after the other, the first after one step; none gets through.
    void FlowsInTurn(uint32_t count, Time step)
    {
        for (uint32_t i = 1; i <= count; ++i)
        {
            Flow(i, step * i, 1000000000);
        }
    }

    void Run(Time until)
    {
        got.resize(m_receivers.size());
        const int64_t n = until.GetPicoSeconds() / m_interval.GetPicoSeconds();
        for (int64_t i = 1; i <= n; ++i)
        {
            Simulator::Schedule(m_interval * i, [this]() { Sample(); });
        }
        Simulator::Stop(until);
        Simulator::Run();
    }

    /// Flow 1 sends from the start on; flow 2 joins after 1 ms with 60 MB, which are 10 ms at half
    /// of 100 Gb/s. Runs for 16 ms. \return when flow 2 has arrived, ps
    int64_t JoinAndLeave()
    {
        Flow(1, MicroSeconds(0), 1000000000);
        Flow(2, MilliSeconds(1), 60000000);
        int64_t left = 0;
        notes.onMessage = [&](Notes::Message m) { left = m.at; };
        Run(MilliSeconds(16));
        notes.onMessage = nullptr;
        return left;
    }

    /// \return Jain's index of what the flows got from sample `from` up to `to`
    double Jain(size_t from, size_t to) const
    {
        double sum = 0;
        double squares = 0;
        for (const auto& flow : got)
        {
            const double x = Sum(flow, from, to);
            sum += x;
            squares += x * x;
        }
        return sum * sum / (static_cast<double>(got.size()) * squares);
    }

    /// \return what a flow (or all) got then, of what payload the line can carry
    double Share(size_t from, size_t to, int flow = -1) const
    {
        double bytes = 0;
        for (size_t i = 0; i < got.size(); ++i)
        {
            bytes += flow < 0 || i == static_cast<size_t>(flow) ? Sum(got[i], from, to) : 0;
        }
        const double seconds = m_interval.GetSeconds() * static_cast<double>(to - from);
        const RdmaNic& nic = *PeekPointer(fabric->GetNic(1));
        const double full = nic.GetMtu();
        return bytes * 8 / seconds / static_cast<double>(m_bps) *
               (nic.GetFrameSizes().dataOverhead + full) / full;
    }

    /// \return sampled queues, bytes, sorted
    std::vector<double> Queues(size_t from, size_t to) const
    {
        std::vector<double> q(queue.begin() + static_cast<std::ptrdiff_t>(from),
                              queue.begin() + static_cast<std::ptrdiff_t>(to));
        std::sort(q.begin(), q.end());
        return q;
    }

    std::vector<RdmaQueuePair*> senders;
    std::vector<std::vector<uint64_t>> got; //!< by flow and interval, bytes
    std::vector<double> queue;              //!< at the end of each interval, bytes

  private:
    void Sample()
    {
        m_last.resize(m_receivers.size());
        for (size_t i = 0; i < m_receivers.size(); ++i)
        {
            got[i].push_back(m_receivers[i]->GetBytesReceived() - m_last[i]);
            m_last[i] = m_receivers[i]->GetBytesReceived();
        }
        queue.push_back(static_cast<double>(Device()->GetPort(0)->GetQueuedBytes()));
    }

    static double Sum(const std::vector<uint64_t>& flow, size_t from, size_t to)
    {
        double sum = 0;
        for (size_t i = from; i < to; ++i)
        {
            sum += static_cast<double>(flow[i]);
        }
        return sum;
    }

    uint64_t m_bps;
    Time m_interval;
    std::vector<RdmaQueuePair*> m_receivers;
    std::vector<uint64_t> m_last;
};

/// What is asked of an algorithm when a second flow joins a first one, and leaves.
struct JoinExpectation
{
    double alone;     //!< what the first flow gets before
    double tolerance; //!< of that
    double again;     //!< more than this it gets after the second one has left:
    size_t from;      //!< from so many samples after that
    size_t to;        //!< to so many
};

/// A flow makes room for one that joins, and takes it back: CongestionBed::JoinAndLeave with
/// samples every 100 us.
class JoinTestCase : public TestCase
{
  public:
    /// \param make the algorithm, when the test runs
    JoinTestCase(const std::string& law,
                 uint64_t bps,
                 std::function<Ptr<RdmaCongestionOps>()> make,
                 const JoinExpectation& expected)
        : TestCase(law +
                   ": a flow makes room for one that joins, and takes it back when it leaves"),
          m_bps(bps),
          m_make(std::move(make)),
          m_expected(expected)
    {
    }

  private:
    /// Before and after the fabric is built.
    virtual void Prepare(CongestionBed&)
    {
    }

    virtual void Look(CongestionBed&)
    {
    }

    void DoRun() override
    {
        CongestionBed bed(2, m_bps, m_make(), MicroSeconds(100));
        Prepare(bed);
        bed.Build();
        Look(bed);
        const int64_t left = bed.JoinAndLeave();
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(5, 10, 0),
                                  m_expected.alone,
                                  m_expected.tolerance,
                                  "alone");
        NS_TEST_ASSERT_MSG_GT(left, 9000 * US, "flow 2 did not get more than its share by far");
        NS_TEST_ASSERT_MSG_LT(left, 14000 * US, "flow 2 is through");
        const auto end = static_cast<size_t>(left / (100 * US));
        NS_TEST_EXPECT_MSG_GT(bed.Jain(end - 20, end), 0.95, "fair in the 2 ms before");
        NS_TEST_EXPECT_MSG_GT(bed.Share(end + m_expected.from, end + m_expected.to, 0),
                              m_expected.again,
                              "all of it again");
    }

    uint64_t m_bps;
    std::function<Ptr<RdmaCongestionOps>()> m_make;
    JoinExpectation m_expected;
};

} // namespace rdmatest
} // namespace ns3

#endif /* RDMA_CONGESTION_BED_H */
