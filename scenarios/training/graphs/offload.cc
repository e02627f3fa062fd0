/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/offload.h"

#include "scenarios/training/host-work.h"

#include <algorithm>

namespace training
{

namespace
{

class HostPass
{
  public:
    HostPass(const TrainingOptions& options, const RankWork& work, std::vector<Transfer> transfers)
        : m_options(options),
          m_work(work),
          m_given(std::move(transfers)),
          m_at(m_given.size(), kNone)
    {
    }

    std::vector<Transfer> Run()
    {
        SendBack();
        for (uint32_t i = 0; i < m_given.size(); ++i)
        {
            Transfer& t = m_given[i];
            if (t.task.stream == kEmbeddingStream)
            {
                m_embedding = i;
            }
        }
        for (uint32_t i = 0; i < m_given.size(); ++i)
        {
            if (i == m_embedding)
            {
                continue; // went with the gradients that it waits for
            }
            if (m_given[i].task.phase == Phase::kGradient)
            {
                Reduce(i);
            }
            else
            {
                Gather(i);
            }
        }
        return std::move(m_out);
    }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t Add(Transfer t)
    {
        m_out.push_back(std::move(t));
        return static_cast<uint32_t>(m_out.size() - 1);
    }

    Transfer Copy(uint8_t stream, Phase phase, uint64_t bytes, const std::string& what) const
    {
        Transfer t;
        t.task.kind = TaskKind::kHost;
        t.task.phase = phase;
        t.task.stream = stream;
        t.task.bytes = bytes;
        t.task.duration = HostCopy(m_options, bytes);
        t.task.name = "copy " + what;
        t.inLine = true;
        return t;
    }

    /// Sends the updated parameters back. Parameters that live on the host stay there.
    void SendBack()
    {
        if (m_options.offload == Offload::kAll)
        {
            return;
        }
        const Position first = m_work.FirstOptimizer();
        const Position last = m_work.Optimizer();
        for (Position p = first; p <= last; ++p)
        {
            Transfer t = Copy(kFromHostStream,
                              Phase::kParameter,
                              m_work.order[p].updated * DtypeBytes(m_options.dtype),
                              "parameters" + (last > first ? " " + std::to_string(p - first) : ""));
            t.made = t.begin = p;
            m_back = Add(std::move(t));
        }
    }

    /// The number of ranks in a collective.
    uint32_t RanksOf(const Transfer& t) const
    {
        return t.task.stream == kExpertGradientStream || t.task.stream == kExpertParameterStream
                   ? m_options.ExpertReplicas()
                   : m_options.Replicas();
    }

    /// "bucket 3 micro-batch 1" of "reduce-scatter bucket 3 micro-batch 1".
    static std::string NameOf(const Transfer& t)
    {
        return t.task.name.substr(t.task.name.find(' ') + 1);
    }

    void PutRight(Transfer& t) const
    {
        std::vector<uint32_t> behind;
        for (const uint32_t other : t.behind)
        {
            if (m_at[other] != kNone)
            {
                behind.push_back(m_at[other]);
            }
        }
        t.behind = std::move(behind);
        for (Position& user : t.users)
        {
            user = user == m_work.Optimizer() ? m_work.FirstOptimizer() : user;
        }
    }

    void Reduce(uint32_t i)
    {
        Transfer t = m_given[i];
        PutRight(t);
        const uint32_t ranks = RanksOf(t);
        Transfer copy =
            Copy(kToHostStream, Phase::kGradient, t.task.bytes / ranks, "gradients " + NameOf(t));
        copy.made = t.made;
        copy.begin = t.begin;
        copy.behind = t.behind;
        copy.users = t.users;
        if (ranks > 1)
        {
            t.users.clear(); // they wait for the copy, which waits for it
            m_at[i] = Add(std::move(t));
            copy.behind = {m_at[i]};
        }
        // The gradients of the matrix on two stages are added up first. They are in a bucket before
        // this one, of the last stage; but the sum comes after this one.
        if (m_embedding != kNone && m_given[m_embedding].behind == std::vector<uint32_t>{i})
        {
            Transfer embedding = m_given[m_embedding];
            PutRight(embedding);
            copy.begin = copy.made = embedding.begin;
            const uint32_t at = Add(std::move(embedding));
            m_at[m_embedding] = at;
            copy.behind.push_back(at);
        }
        const uint32_t at = Add(std::move(copy));
        m_at[i] = m_at[i] == kNone ? at : m_at[i];
    }

    void Gather(uint32_t i)
    {
        Transfer t = m_given[i];
        PutRight(t);
        const uint32_t ranks = RanksOf(t);
        if (t.made == kStart && m_options.offload == Offload::kAll)
        {
            Transfer copy =
                Copy(kFromHostStream, Phase::kParameter, t.task.bytes / ranks, NameOf(t));
            copy.begin = t.begin;
            copy.behind = t.behind;
            copy.users = t.users;
            t.behind = {Add(std::move(copy))};
        }
        else if (t.made == m_work.Optimizer() && m_back != kNone)
        {
            t.behind.push_back(m_back);
        }
        if (ranks > 1)
        {
            m_at[i] = Add(std::move(t));
        }
    }

    const TrainingOptions& m_options;
    const RankWork& m_work;
    std::vector<Transfer> m_given;
    std::vector<uint32_t> m_at; ///< new place of each given transfer, or of its replacement
    std::vector<Transfer> m_out;
    uint32_t m_embedding = kNone;
    uint32_t m_back = kNone; ///< the last copy of updated parameters
};

} // namespace

std::vector<Transfer>
WithHost(const TrainingOptions& o, const RankWork& work, std::vector<Transfer> transfers)
{
    return o.offload == Offload::kNone ? std::move(transfers)
                                       : HostPass(o, work, std::move(transfers)).Run();
}

} // namespace training
